//! The programs beside the library: what puts commands into a sandbox, the supervisor of local runs, the harnesses. Whoever does
//! not verify and runs nothing locally needs none of them, so that nothing here is a problem of the files.

use std::process::Command;

use super::machine::Tried;
use crate::harness_state::adapters::Harness;
use crate::host::Host;
use crate::local_runner::{self, find_supervisor};
use crate::process::bounded::{self, Bounds, Failure};
use crate::verification::SandboxCheck;

/// How long a harness may take to say its version, in milliseconds. Some of them start an interpreter.
const VERSION_MS: u64 = 10_000;
/// More than any program says of its version.
const VERSION_BYTES: usize = 64 * 1024;
const MAX_VERSION_CHARS: usize = 60;

/// Tries whether approved commands could be verified here: the probe of a boundary that asks before it dispatches, in
/// throw-away directories. What was found says which program is missing or what the system forbids, and the remedy is this
/// system's. Nothing is left on disk.
#[must_use]
pub fn try_sandbox(sandbox: &dyn SandboxCheck, host: &Host) -> Tried {
    match sandbox.check(host, &|| false) {
        Ok(evidence) => {
            let driver = evidence.get("driver").and_then(|driver| driver.as_str()).unwrap_or("a sandbox");
            Tried::fine("sandbox", format!("{driver} is proved to keep commands in"))
        }
        Err(error) => Tried::less("sandbox", error.message(), error.remedy().to_owned()),
    }
}

/// Looks for the supervisor of local runs where a boundary looks that was told of none.
#[must_use]
pub fn try_supervisor() -> Tried {
    const REMEDY: &str =
        "for local runs name its path in GALLIVANT_SUPERVISE, or put it beside the library or the program";
    let what = local_runner::PROGRAM;
    match find_supervisor(None) {
        Some(path) => Tried::fine(what, format!("found, path=`{}`", path.display())),
        None => Tried::less(what, "not found", REMEDY),
    }
}

/// Asks a harness for its version, by the program of its name on the PATH: the first line that it prints. It is given 10 seconds,
/// and nothing of its process group is left once this has returned.
#[must_use]
pub fn try_harness(harness: Harness, host: &Host) -> Tried {
    #[expect(clippy::disallowed_methods, reason = "the one place where a harness is asked for its version")]
    let mut command = Command::new(harness.name());
    command.arg("--version");
    Tried::fine(harness.name(), version(command, VERSION_MS, host))
}

fn version(command: Command, ms: u64, host: &Host) -> String {
    let bounds = Bounds { ms, bytes: VERSION_BYTES };
    let said = match bounded::run(command, &[], bounds, &*host.clock, &|| false) {
        Ok(output) => output.stdout,
        Err(Failure::Start(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return "not on the PATH".to_owned();
        }
        Err(Failure::Start(error)) => return format!("cannot be started: {error}"),
        Err(_) => Vec::new(),
    };
    let said = String::from_utf8_lossy(&said);
    match said.lines().next().unwrap_or_default().trim() {
        "" => "does not say its version".to_owned(),
        line => line.chars().take(MAX_VERSION_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, Error, Result};
    use crate::json::Value;
    use crate::verification::running::Stop;

    #[derive(Debug)]
    struct Says(std::result::Result<&'static str, &'static str>);

    impl SandboxCheck for Says {
        fn check(&self, _: &Host, _: Stop<'_>) -> Result<Value> {
            let refused = |why| Error::new(Code::ExecutionVerificationSandbox, why).with_remedy("install it");
            self.0.map(|evidence| Value::parse(evidence).expect("JSON")).map_err(refused)
        }
    }

    #[test]
    fn a_sandbox_that_is_not_proved_is_no_problem_of_the_files_and_has_its_own_remedy() {
        let host = Host::system();
        let tried =
            try_sandbox(&Says(Err("the sandbox's program is missing, program=`/usr/bin/bwrap`")), &host);
        assert_eq!((tried.what, tried.is_problem), ("sandbox", false));
        assert!(tried.found.contains("/usr/bin/bwrap"), "{tried:?}");
        assert_eq!(tried.remedy.as_deref(), Some("install it"));
        let tried = try_sandbox(&Says(Ok(r#"{"driver":"bubblewrap","probe":{}}"#)), &host);
        assert_eq!((&*tried.found, tried.remedy), ("bubblewrap is proved to keep commands in", None));
    }

    #[expect(clippy::disallowed_methods, reason = "a test starts a program of its own")]
    fn said(script: &str, ms: u64) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        version(command, ms, &Host::system())
    }

    #[test]
    fn a_version_is_the_first_line_cut() {
        let long = 60_000;
        assert_eq!(said("echo ' 1.2.3 '; echo more", long), "1.2.3");
        let cut = said("printf '%0100d' 7", long);
        assert_eq!(cut, "0".repeat(MAX_VERSION_CHARS));
        assert_eq!(said("echo oops >&2; exit 1", long), "does not say its version");
        assert_eq!(said("head -c 1000000 /dev/zero", long), "does not say its version");
    }

    #[test]
    fn a_program_that_leaves_another_one_with_its_output_is_not_waited_for() {
        assert_eq!(said("echo 1.2.3; sleep 1000 & exit 0", 100), "does not say its version");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a program of its own")]
    fn a_program_that_is_not_there_is_not_on_the_path() {
        let command = Command::new("gallivant-no-such-program");
        assert_eq!(version(command, 60_000, &Host::system()), "not on the PATH");
    }
}
