//! What the tests of this folder share: a task's root on the real disk with the machine's own processes, and scripts as harnesses.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gallivant_core::execution::{AbortToken, ExecutionOptions, Faults, LocalRuns, NoFaults};
use gallivant_core::json::{Object, Value};
use gallivant_core::process::{ProcessFact, ProcessTable, SystemProcessTable};
use gallivant_core::{Error, Host};
use serde_json::{Value as Json, json};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A task of local runs.
pub(crate) struct Ground {
    root: tempfile::TempDir,
    pub(crate) host: Host,
    pub(crate) options: Json,
    pub(crate) faults: Arc<dyn Faults>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        Ground { root, host: Host::system(), options: options(), faults: Arc::new(NoFaults) }
    }

    /// A directory beside the task's, for scripts to leave marks in.
    pub(crate) fn place(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn task(&self) -> PathBuf {
        self.root.path().join("task")
    }

    pub(crate) fn runs(&self) -> LocalRuns {
        let options =
            ExecutionOptions::from_object(self.task(), &object(&self.options), Arc::clone(&self.faults));
        LocalRuns::open(options.expect("the options are well formed"), &self.host).expect("a boundary")
    }

    /// The input of a run of a shell script.
    pub(crate) fn script(&self, n: u32, script: &str) -> Json {
        json!({
            "operationId": format!("op-{n}"), "runId": format!("run-{n}"), "prompt": "do it", "policy": "safe",
            "spec": {"argv": ["/bin/sh", "-c", script], "cwd": self.place(), "env": {"PATH": "/usr/bin:/bin"}}
        })
    }

    #[track_caller]
    pub(crate) fn start(&self, n: u32, script: &str) -> Json {
        self.start_with(self.script(n, script)).expect("it starts")
    }

    pub(crate) fn start_with(&self, input: Json) -> Result<Json, Error> {
        let runs = self.runs();
        runs.start(object(&input), &AbortToken::new()).map(|job| from_core(&Value::Object(job)))
    }

    #[track_caller]
    pub(crate) fn pass(&self) -> Json {
        from_core(&self.runs().pass(&AbortToken::new()).expect("a pass"))
    }

    #[track_caller]
    pub(crate) fn kill(&self, n: u32, kill_after_ms: u64) -> Json {
        let input = json!({"runId": format!("run-{n}"), "reason": "enough", "killAfterMs": kill_after_ms});
        from_core(&self.runs().kill(object(&input), &AbortToken::new()).expect("a stop"))
    }

    #[track_caller]
    pub(crate) fn wait_for_kill(&self, n: u32, timeout: Duration) -> bool {
        self.runs()
            .wait_for_kill(&format!("run-{n}"), timeout, &AbortToken::new())
            .expect("it can be looked at")
    }

    pub(crate) fn settle(&self, n: u32) -> Result<Json, Error> {
        self.runs().settle(&format!("run-{n}"), &AbortToken::new()).map(|outcome| from_core(&outcome))
    }

    /// Settles a run once its whole tree is gone.
    #[track_caller]
    pub(crate) fn settled(&self, n: u32) -> Json {
        assert!(self.wait_for_kill(n, PATIENCE), "the tree never went");
        self.settle(n).expect("it is settled")
    }

    pub(crate) fn file(&self, name: &str) -> Json {
        serde_json::from_str(&self.text(name)).expect("JSON")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let path = self.task().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn job(&self, n: u32) -> Json {
        self.file(&format!("run-{n}/job.json"))
    }

    pub(crate) fn run(&self, n: u32) -> Json {
        self.file("execution.json")["executions"][format!("run-{n}")].clone()
    }

    pub(crate) fn edit_job(&self, n: u32, change: impl FnOnce(&mut Json)) {
        let mut job = self.job(n);
        change(&mut job);
        std::fs::write(self.task().join(format!("run-{n}/job.json")), job.to_string()).expect("planted");
    }

    /// Waits for a mark that a script leaves, and gives what it says.
    #[track_caller]
    pub(crate) fn mark(&self, name: &str) -> String {
        let path = self.place().join(name);
        let text = || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        eventually(&format!("the mark {name}"), || text().is_some());
        text().expect("it is there").trim().to_owned()
    }

    #[track_caller]
    pub(crate) fn marked_pid(&self, name: &str) -> u32 {
        self.mark(name).parse().expect("a pid")
    }

    pub(crate) fn has_mark(&self, name: &str) -> bool {
        self.place().join(name).exists()
    }
}

/// Whatever a test leaves alive ends with it: only what its own records name.
impl Drop for Ground {
    fn drop(&mut self) {
        let Ok(entries) = std::fs::read_dir(self.task()) else { return };
        for entry in entries.flatten() {
            let Ok(text) = std::fs::read_to_string(entry.path().join("job.json")) else { continue };
            let Ok(job) = serde_json::from_str::<Json>(&text) else { continue };
            let known = gallivant_core::local_runner::RunProcess::of(&to_core(&job["process"]), &Value::Null);
            if let Some(known) = known {
                let kill = gallivant_core::process::Signal::Kill;
                let _ = gallivant_core::local_runner::signal(&known, None, kill, &SystemProcessTable);
            }
        }
    }
}

/// The supervisor that was built with these tests.
pub(crate) fn supervisor() -> &'static str {
    env!("CARGO_BIN_EXE_supervise-for-tests")
}

pub(crate) fn options() -> Json {
    json!({
        "taskId": "t-1", "provider": "prov", "account": "acct", "health": "external",
        "runner": {"supervisor": supervisor()},
        "limits": {"killAfterMs": 1000},
        "capabilities": {
            "provider": "prov", "transport": "process", "location": "local",
            "newDispatch": {"available": true, "reason": null},
            "authentication": {"scheme": "none", "secretNames": []},
            "environments": {"required": false, "allowed": null}, "models": "native",
            "policies": {"required": true, "allowed": ["safe"]},
            "preparation": null,
            "continuation": "native", "observability": "events", "cancel": true, "interrupt": true,
            "cost": {"reports": true, "hardCap": false}, "qualification": null
        }
    })
}

pub(crate) fn object(value: &Json) -> Object {
    match to_core(value) {
        Value::Object(object) => object,
        _ => panic!("no object: {value}"),
    }
}

pub(crate) fn to_core(value: &Json) -> Value {
    Value::parse(&value.to_string()).expect("JSON")
}

pub(crate) fn from_core(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).expect("JSON")
}

#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        pause(2);
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    matches!(SystemProcessTable.fact(pid), ProcessFact::Running { .. })
}

pub(crate) fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

pub(crate) fn pid(value: &Json) -> u32 {
    u32::try_from(value["pid"].as_u64().expect("a pid")).expect("a pid")
}

/// Ends a process of a run that the test itself has started.
pub(crate) fn sigkill(pid: u32) {
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a pid"), rustix::process::Signal::KILL).expect("it is ours");
}
