//! What a command finds in its environment, and what is kept out of its output.
//!
//! Nothing is inherited (EX-VER-08, EX-VER-09). The coordinator's environment is handed in as a value; of it only variables
//! about language, time and colours go on, and the values of all the others are secrets in the output (EX-RED-19).

use std::ffi::OsString;
use std::path::Path;

use crate::error::Result;
use crate::redaction::{Patterns, Redactor, Secrets};

/// Variables of the coordinator that go on as they are. All `LC_` variables do so too.
const PASSED_ON: [&str; 7] = ["LANG", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CI"];

/// Where the private profile's directories are, by variable (EX-VER-10).
const PROFILE: [(&str, &str); 7] = [
    ("HOME", "home"),
    ("XDG_CACHE_HOME", "xdg/cache"),
    ("XDG_CONFIG_HOME", "xdg/config"),
    ("XDG_DATA_HOME", "xdg/data"),
    ("XDG_RUNTIME_DIR", "xdg/runtime"),
    ("XDG_STATE_HOME", "xdg/state"),
    ("TMPDIR", "tmp"),
];

/// What keeps Git and npm to what they are given (EX-VER-11). `GIT_CONFIG_COUNT` carries a setting that empties the list of
/// credential helpers whatever a repository's own configuration names.
const KEPT_TO_ITSELF: [(&str, &str); 11] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "credential.helper"),
    ("GIT_CONFIG_VALUE_0", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("npm_config_userconfig", "/dev/null"),
    ("npm_config_globalconfig", "/dev/null"),
];

/// A value of the coordinator's environment with fewer bytes is no secret. The number is ours, that of EX-RED-22: `1` and
/// `xterm` stand in every second line. A shorter secret is given as one.
const SHORTEST_SECRET_VALUE: usize = 8;

/// The coordinator's environment, as it hands it in.
pub type Variables = [(String, String)];

/// Where things are inside of the sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The directory that holds the profile's directories.
    pub profile: &'a Path,
    /// The view of Git's data.
    pub git_view: &'a Path,
    /// The checkout.
    pub checkout: &'a Path,
    /// The directory of the named runtime's programs.
    pub runtime: Option<&'a Path>,
}

/// Everything that a command finds in its environment, by name.
#[must_use]
pub fn environment(places: &Places<'_>, coordinator: &Variables) -> Vec<(OsString, OsString)> {
    let mut path = OsString::new();
    if let Some(runtime) = places.runtime {
        path.push(runtime);
        path.push(":");
    }
    path.push("/usr/bin:/bin");
    let mut out = vec![
        ("PATH".into(), path),
        ("GIT_DIR".into(), places.git_view.into()),
        ("GIT_WORK_TREE".into(), places.checkout.into()),
    ];
    out.extend(PROFILE.iter().map(|(name, below)| ((*name).into(), places.profile.join(below).into())));
    out.extend(KEPT_TO_ITSELF.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    for (name, value) in coordinator {
        if goes_on(name) && !value.contains('\0') {
            out.push((name.into(), value.into()));
        }
    }
    out.sort();
    // A name that the coordinator has twice is passed on with its first value.
    out.dedup_by(|later, earlier| later.0 == earlier.0);
    out
}

/// The directories that a new profile has, below its own.
pub(super) fn profile_directories() -> impl Iterator<Item = &'static str> {
    ["xdg"].into_iter().chain(PROFILE.iter().map(|(_, below)| *below)).chain(["shm"])
}

/// What redacts output: recognised credentials, the secrets of execution and run, and the values of the coordinator's
/// environment that commands do not have, in one pass (EX-RED-19).
///
/// # Errors
/// As [`Redactor::new`].
pub fn redactor(coordinator: &Variables, secrets: &Secrets) -> Result<Redactor> {
    let hidden = coordinator
        .iter()
        .filter(|(name, value)| !goes_on(name) && value.len() >= SHORTEST_SECRET_VALUE)
        .map(|(_, value)| value);
    Redactor::new(&secrets.and(hidden), Patterns::Recognised)
}

fn goes_on(name: &str) -> bool {
    let is_locale = name.strip_prefix("LC_").is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    });
    is_locale || PASSED_ON.contains(&name)
}
