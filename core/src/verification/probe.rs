//! The trusted probe: before any code of the repository runs, the sandbox is shown to work by attempts of our own (EX-VER-28).
//!
//! A text of ours runs in the very sandbox that the commands get. It writes into the private directories, tries to read and to
//! write a canary outside, looks for Git's metadata, tries to connect to a socket that the host listens on, reads Git's view
//! and tries to write its index. What can be judged from outside is: the canary, and whether anybody has connected. Nothing
//! counts as proved that was not answered.

use std::ffi::OsStr;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::profile::{Profile, create};
use super::running::{CommandHost, End, Stop};
use super::sandbox::{Driver, Hidden, Sandbox};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::redaction::Redactor;

/// How long the probe may take (EX-VER-28).
pub const PROBE_MS: u64 = 10_000;
/// How much the probe may say. It says less than a tenth of it.
const MAX_BYTES: usize = 16_384;
/// How much of what a sandbox that does not start says is kept in evidence.
const MAX_SAID_BYTES: usize = 1_024;
/// The canary's content.
const CANARY: &[u8] = b"not to be read\n";

/// What has to be answered, and how.
const EXPECTED: [(&str, &str); 8] = [
    ("privateWrites", "work"),
    ("outsideReads", "fail"),
    ("outsideWrites", "fail"),
    ("gitMetadata", "hidden"),
    ("hostConnection", "fails"),
    ("gitReads", "work"),
    ("indexWrites", "fail"),
    ("end", "reached"),
];

/// `$1` is the canary, `$2` its directory, `$3` the real Git directory, `$4` the port, `$5` the commit. What is tried must not
/// end the shell, so each attempt that redirects stands in a shell of its own. Git connects by itself and needs no other program
/// for it; a Git that fails before it has tried proves nothing, so its own words count.
const SCRIPT: &str = r#"
say() { printf '%s=%s\n' "$1" "$2"; }
writes=work
for place in "$HOME" "$TMPDIR" "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME" "$XDG_DATA_HOME" "$XDG_RUNTIME_DIR" "$XDG_STATE_HOME"; do
    file="$place/.gallivant-probe"
    (printf x >"$file" && [ -s "$file" ] && rm "$file") 2>/dev/null || writes=fail
done
[ -w "$GIT_WORK_TREE" ] || writes=fail
say privateWrites "$writes"
reads=fail
(cat "$1") >/dev/null 2>&1 && reads=work
(ls "$2") >/dev/null 2>&1 && reads=work
say outsideReads "$reads"
writes=fail
(printf x >"$2/written") 2>/dev/null && writes=work
for place in / /usr /usr/local /etc /dev /proc/sys/kernel/hostname "$GIT_DIR"; do [ -w "$place" ] && writes=work; done
say outsideWrites "$writes"
metadata=hidden
[ -e "$3/HEAD" ] && metadata=seen
[ -e "$GIT_WORK_TREE/.git/HEAD" ] && metadata=seen
[ -f "$GIT_WORK_TREE/.git" ] && [ -s "$GIT_WORK_TREE/.git" ] && metadata=seen
say gitMetadata "$metadata"
connection=untried
said=$(LC_ALL=C git ls-remote "git://127.0.0.1:$4/probe" 2>&1) && connection=works
case $said in *"unable to connect"*) connection=fails ;; esac
say hostConnection "$connection"
reads=fail
[ "$(git rev-parse HEAD 2>/dev/null)" = "$5" ] && git ls-tree HEAD >/dev/null 2>&1 && git ls-files >/dev/null 2>&1 && reads=work
say gitReads "$reads"
writes=fail
git read-tree HEAD >/dev/null 2>&1 && writes=work
git update-index --force-remove -- nothing >/dev/null 2>&1 && writes=work
say indexWrites "$writes"
say end reached
"#;

/// What a probe has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// Milliseconds since 1970.
    pub ended_at: u64,
    /// What was answered, in the order of the attempts.
    pub checks: Vec<(String, String)>,
    /// Why it is not proved that the sandbox works: one line. None where it is.
    pub failure: Option<String>,
}

impl Probe {
    /// One that never ran.
    #[must_use]
    pub fn impossible(host: &Host, why: impl Into<String>) -> Probe {
        let now = host.clock.wall_ms();
        Probe { started_at: now, ended_at: now, checks: Vec::new(), failure: Some(why.into()) }
    }

    /// Whether everything that has to be proved is.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.failure.is_none()
    }

    /// The probe as it stands in evidence: `{status, startedAt, endedAt, checks, failure}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let checks = self.checks.iter().map(|(name, answer)| (name.clone(), Value::from(answer.as_str())));
        let members = [
            ("status", Value::from(if self.is_passed() { "passed" } else { "failed" })),
            ("startedAt", Value::from(self.started_at)),
            ("endedAt", Value::from(self.ended_at)),
            ("checks", Value::from(checks.collect::<Object>())),
            ("failure", self.failure.as_deref().map_or(Value::Null, Value::from)),
        ];
        Value::from(members.into_iter().collect::<Object>())
    }
}

/// Where driver and probe stand in evidence (EX-VER-30): `{driver, probe}`.
#[must_use]
pub fn provenance(driver: Option<Driver>, probe: &Probe) -> Value {
    let driver = driver.map_or(Value::Null, |driver| Value::from(driver.name()));
    Value::from([("driver", driver), ("probe", probe.to_value())].into_iter().collect::<Object>())
}

/// Probes a sandbox whose view is of this commit. Leaves nothing behind but what stood in the profile.
#[must_use]
pub fn probe(
    sandbox: &Sandbox,
    profile: &Profile,
    commit: &str,
    commands: &dyn CommandHost,
    host: &Host,
    redactor: &Redactor,
    stop: Stop<'_>,
) -> Probe {
    let started_at = host.clock.wall_ms();
    let mut probe = Probe { started_at, ended_at: started_at, checks: Vec::new(), failure: None };
    let attempt = Attempt { sandbox, profile, commit, commands, redactor, stop };
    probe.failure = attempt.run(&mut probe.checks).err();
    probe.ended_at = host.clock.wall_ms();
    probe
}

struct Attempt<'a> {
    sandbox: &'a Sandbox,
    profile: &'a Profile,
    commit: &'a str,
    commands: &'a dyn CommandHost,
    redactor: &'a Redactor,
    stop: Stop<'a>,
}

impl Attempt<'_> {
    fn run(&self, checks: &mut Vec<(String, String)>) -> Result<(), String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        let directory = self.profile.path().join("canary");
        let canary = directory.join("canary");
        create(&canary, CANARY).map_err(failed("the canary cannot be made"))?;
        let listener = Listener::open().map_err(failed("the host cannot listen"))?;
        let said = self.say(&canary, &directory, listener.port)?;
        for line in said.lines() {
            if let Some((name, answer)) = line.split_once('=') {
                checks.push((name.to_owned(), answer.to_owned()));
            }
        }
        for (name, wanted) in EXPECTED {
            let answers: Vec<_> = checks.iter().filter(|(said, _)| said == name).collect();
            match answers[..] {
                [(_, answer)] if answer == wanted => {}
                [(_, answer)] => {
                    return Err(format!(
                        "it is disproved, check=`{name}` wanted=`{wanted}` found=`{answer}`"
                    ));
                }
                _ => return Err(format!("it is not proved, check=`{name}`")),
            }
        }
        // What was tried is judged from outside as well.
        if listener.was_reached().map_err(failed("the host's socket cannot be judged"))? {
            return Err("a connection from the sandbox reached the host".to_owned());
        }
        let kept = std::fs::metadata(&canary).is_ok_and(|found| found.len() == CANARY.len() as u64);
        if !kept || directory.join("written").symlink_metadata().is_ok() {
            return Err("the sandbox has written outside".to_owned());
        }
        Ok(())
    }

    fn say(&self, canary: &Path, directory: &Path, port: u16) -> Result<String, String> {
        let hidden = self.sandbox.layout().hidden.iter().rev().find_map(|hidden| match hidden {
            Hidden::Directory(path) => Some(path.clone()),
            Hidden::File(_) => None,
        });
        let git = hidden.unwrap_or_else(|| self.sandbox.layout().checkout.join(".git"));
        let port = port.to_string();
        let parameters = [
            canary.as_os_str(),
            directory.as_os_str(),
            git.as_os_str(),
            OsStr::new(&port),
            OsStr::new(self.commit),
        ];
        let invocation = self.sandbox.invocation(SCRIPT, &parameters, PROBE_MS);
        let mut said = Vec::new();
        let mut take = |piece: &[u8]| {
            let room = MAX_BYTES - said.len();
            said.extend_from_slice(&piece[..piece.len().min(room)]);
            piece.len() <= room
        };
        let ended = self.commands.run(&invocation, &mut take, self.stop);
        let text = String::from_utf8_lossy(&said);
        let said_so = || {
            let line = text.lines().last().unwrap_or_default();
            self.redactor.beginning(line, MAX_SAID_BYTES)
        };
        let program = invocation.program.display();
        match ended {
            Ok(End::Exited(0)) => Ok(text.into_owned()),
            Ok(End::TimedOut) => Err(format!("the probe did not end in time, ms=`{PROBE_MS}`")),
            Ok(End::Stopped) if (self.stop)() => Err("the probe was aborted".to_owned()),
            Ok(End::Unreported | End::Signalled(_) | End::Stopped | End::Exited(_)) => {
                Err(format!("the sandbox does not run the probe, program=`{program}` said=`{}`", said_so()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("the sandbox's program is missing, program=`{program}`"))
            }
            Err(error) => {
                Err(format!("the sandbox's program cannot be started: {error}, program=`{program}`"))
            }
        }
    }
}

/// A socket of the host that can be connected to, as the host itself has shown.
struct Listener {
    listener: TcpListener,
    port: u16,
}

impl Listener {
    fn open() -> io::Result<Listener> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let from = TcpStream::connect(("127.0.0.1", port))?.local_addr()?;
        // Only the one that was just made counts as the host's own.
        let (_, to) = listener.accept()?;
        listener.set_nonblocking(true)?;
        if from == to { Ok(Listener { listener, port }) } else { Err(io::ErrorKind::AddrInUse.into()) }
    }

    fn was_reached(&self) -> io::Result<bool> {
        match self.listener.accept() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
