//! The programs beside the library that some of its calls need: what puts commands into a sandbox, and the supervisor of local
//! runs. Whoever does not verify and runs nothing locally needs neither, so that nothing here is a problem of the files.

use super::machine::Tried;
use crate::host::Host;
use crate::local_runner::{self, find_supervisor};
use crate::verification::SandboxCheck;

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
}
