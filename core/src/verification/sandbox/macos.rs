//! macOS: `sandbox-exec` with a profile that denies whatever it does not name (EX-VER-21). It is written for and not tried.
//!
//! There is no private tree: paths are those of the machine, and what is not granted cannot be read. A rule that comes later
//! wins, so what hides Git's metadata stands last. There are no namespaces either: what a command leaves behind is ended with
//! its process group only.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use super::layout::{GIT_VIEW, Hidden, Layout};

/// The system's program.
pub const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// What to do where it does not work.
pub const REMEDY: &str = "repair /usr/bin/sandbox-exec and /System/Library/Sandbox/Profiles/dyld-support.sb, and install the \
     Command Line Tools in /Library/Developer/CommandLineTools (xcode-select --install), then resume";

/// What can be read: programs, libraries, the fixed Command Line Tools (EX-VER-35).
const READABLE: [&str; 10] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/lib",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
    "/System",
    "/Library/Developer/CommandLineTools",
    "/private/var/db/timezone",
];

/// The arguments of `sandbox-exec` before the command.
#[must_use]
pub fn arguments(layout: &Layout) -> Vec<OsString> {
    vec!["-p".into(), profile(layout).into()]
}

/// The profile of a layout.
#[must_use]
pub fn profile(layout: &Layout) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(import \"dyld-support.sb\")\n(allow process-fork)\n(allow process-exec)\n\
         (allow signal (target same-sandbox))\n(allow sysctl-read)\n(allow file-read-metadata)\n\
         (allow file-read* file-write* (literal \"/dev/null\") (literal \"/dev/zero\"))\n\
         (allow file-read* (literal \"/\") (literal \"/dev/random\") (literal \"/dev/urandom\"))\n",
    );
    for path in READABLE {
        allow(&mut text, "file-read*", Path::new(path));
    }
    if let Some(runtime) = &layout.runtime {
        allow(&mut text, "file-read*", &runtime.directory);
    }
    for directory in ["home", "xdg", "tmp", "shm"] {
        allow(&mut text, "file-read* file-write*", &layout.profile.join(directory));
    }
    allow(&mut text, "file-read*", &layout.profile.join(GIT_VIEW));
    allow(&mut text, "file-read* file-write*", &layout.checkout);
    for hidden in &layout.hidden {
        let (Hidden::Directory(path) | Hidden::File(path)) = hidden;
        let _ = writeln!(text, "(deny file-read* file-write* (subpath {}))", quoted(path));
    }
    text
}

fn allow(text: &mut String, what: &str, path: &Path) {
    let _ = writeln!(text, "(allow {what} (subpath {}))", quoted(path));
}

/// A path as a string of the profile's language.
fn quoted(path: &Path) -> String {
    let mut out = String::from("\"");
    for character in path.to_string_lossy().chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::sandbox::Runtime;

    fn layout() -> Layout {
        Layout {
            checkout: "/Users/o/a \"quoted\" checkout".into(),
            profile: "/private/var/folders/p".into(),
            runtime: Some(Runtime { directory: "/opt/node".into(), programs: "/opt/node/bin".into() }),
            hidden: vec![Hidden::File("/Users/o/a \"quoted\" checkout/.git".into())],
        }
    }

    #[test]
    fn everything_is_denied_that_is_not_named() {
        let text = profile(&layout());
        assert!(text.starts_with("(version 1)\n(deny default)\n(import \"dyld-support.sb\")\n"));
        assert!(!text.contains("network"), "no rule permits it");
        let writable: Vec<_> = text.lines().filter(|line| line.contains("file-write*")).collect();
        assert_eq!(
            writable.len(),
            7,
            "devices, four of the profile, the checkout, and what is hidden: {text}"
        );
    }

    #[test]
    fn what_hides_stands_last_and_names_are_quoted() {
        let text = profile(&layout());
        let last = text.lines().last().expect("a rule");
        assert_eq!(last, r#"(deny file-read* file-write* (subpath "/Users/o/a \"quoted\" checkout/.git"))"#);
        assert!(text.contains(r#"(allow file-read* (subpath "/private/var/folders/p/git"))"#));
        assert!(text.contains(r#"(allow file-read* (subpath "/opt/node"))"#));
    }
}
