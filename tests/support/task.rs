//! A task's root on the real disk under a clock that the test sets, and a coordinator that answers the calls of its
//! machines from a list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, FaultAnswer, Faults, Machine, NoFaults, Reply, Step,
    TransportError,
};
use gallivant_core::json::{Object, Value};
use gallivant_core::testing::{TestHost, TestHostOptions};
use gallivant_core::{Code, Error};
use serde_json::{Value as Json, json};

use super::NOW;
use super::locks::{self, HeldLock};

pub(crate) const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// How the coordinator answers a call.
pub(crate) enum Answer {
    /// The method returns this.
    Says(Json),
    /// The method returns this text.
    Text(String),
    /// The method fails.
    Fails(TransportError),
    /// The method tells that it begins to send, and fails then.
    SendsAndFails(TransportError),
    /// The method ends after its deadline.
    Deadline,
    /// The caller gives the call up.
    Abort,
    /// The machine is dropped.
    Dropped,
}

/// What a machine came to, and what it asked.
pub(crate) struct Ended {
    result: Result<Json, Error>,
    pub(crate) calls: Vec<(&'static str, Json)>,
}

impl Ended {
    #[track_caller]
    pub(crate) fn ok(self) -> Json {
        self.result.expect("the call is well")
    }

    #[track_caller]
    pub(crate) fn error(self) -> Error {
        self.result.expect_err("the call is refused")
    }

    pub(crate) fn result_is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Code and reason of a refusal that made no call.
    #[track_caller]
    pub(crate) fn refusal(self) -> (Code, Option<&'static str>) {
        assert!(self.calls.is_empty(), "it called {:?}", self.calls);
        let error = self.error();
        (error.code(), error.reason())
    }

    /// The input of the only call.
    #[track_caller]
    pub(crate) fn input(&self, method: &str) -> Json {
        assert_eq!(self.calls.len(), 1, "one call");
        assert_eq!(self.calls[0].0, method);
        self.calls[0].1.clone()
    }
}

/// A task's root, and the options of its boundary as JSON.
pub(crate) struct TaskRoot {
    root: tempfile::TempDir,
    pub(crate) machine: TestHost,
    pub(crate) options: Json,
    pub(crate) faults: Arc<dyn Faults>,
}

impl TaskRoot {
    /// A root that does not exist yet, of a remote provider that can do everything.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let options = TestHostOptions { wall_ms: Some(NOW), ..TestHostOptions::default() };
        let machine = TestHost::new(options).expect("a host");
        TaskRoot { root, machine, options: remote_options(), faults: Arc::new(NoFaults) }
    }

    /// Holds a lock of the root as another program does.
    #[track_caller]
    pub(crate) fn hold(&self, name: &str) -> HeldLock {
        std::fs::create_dir_all(self.path()).expect("the root");
        HeldLock::take(&self.path().join(name))
    }

    /// Whether somebody holds a lock of the root now.
    pub(crate) fn is_held(&self, name: &str) -> bool {
        locks::is_held(&self.path().join(name))
    }

    /// Whether a lock of the root has been given back.
    pub(crate) fn comes_free(&self, name: &str) -> bool {
        locks::comes_free(&self.path().join(name))
    }

    /// One of a local runner.
    pub(crate) fn local() -> Self {
        let mut task = TaskRoot::new();
        let options = task.options.as_object_mut().expect("an object");
        options.remove("transport");
        options.insert("runner".to_owned(), json!(true));
        options["capabilities"]["location"] = json!("local");
        options["capabilities"]["models"] = json!("native");
        task
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join("task")
    }

    pub(crate) fn options(&self) -> ExecutionOptions {
        ExecutionOptions::from_object(self.path(), &object(&self.options), Arc::clone(&self.faults))
            .expect("the options are well formed")
    }

    pub(crate) fn boundary(&self) -> Boundary {
        Boundary::new(self.options(), self.machine.host()).expect("a boundary")
    }

    #[track_caller]
    pub(crate) fn submit(&self, input: Json, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().submit(object(&input), AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn continue_run(&self, input: Json, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().continue_run(object(&input), AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn prepare(&self, input: Json, answers: impl IntoIterator<Item = Answer>) -> Ended {
        drive(self.boundary().prepare(object(&input), AbortToken::new()), self, answers)
    }

    #[track_caller]
    pub(crate) fn recover(
        &self,
        operation_id: &str,
        input: Json,
        answers: impl IntoIterator<Item = Answer>,
    ) -> Ended {
        let boundary = self.boundary();
        let machine = boundary.recover_response(operation_id.to_owned(), object(&input), AbortToken::new());
        drive(machine, self, answers)
    }

    #[track_caller]
    pub(crate) fn adopt(&self, input: Json) -> Ended {
        drive(self.boundary().adopt(object(&input), AbortToken::new()), self, [])
    }

    #[track_caller]
    pub(crate) fn settle_absent(&self, input: Json) -> Ended {
        drive(self.boundary().settle_absent(object(&input), AbortToken::new()), self, [])
    }

    pub(crate) fn inspect(&self) -> Json {
        from_core(&self.boundary().inspect().expect("inspected"))
    }

    /// Submits `op-n` as `run-n`, which the provider accepts as its job `j-n`.
    #[track_caller]
    pub(crate) fn accepted(&self, n: u32) -> Json {
        self.submit(dispatch(n), [Answer::Says(acknowledgement(n))]).ok()
    }

    /// Submits `op-n` as `run-n` and loses the reply.
    #[track_caller]
    pub(crate) fn lost(&self, n: u32) {
        let error = self.submit(dispatch(n), [Answer::Fails(io_error())]).error();
        assert_eq!(error.code(), Code::ExecutionAcceptanceUnknown);
    }

    /// Has a run collected, as a pass does.
    pub(crate) fn settle(&self, n: u32) {
        self.edit(|ledger| {
            let run = &mut ledger["executions"][format!("run-{n}")];
            run["collected"] = json!(true);
            run["state"] = json!("succeeded");
            run["terminalState"] = json!("succeeded");
        });
    }

    pub(crate) fn edit(&self, change: impl FnOnce(&mut Json)) {
        let mut ledger = self.ledger();
        change(&mut ledger);
        self.replace("execution.json", ledger.to_string());
    }

    pub(crate) fn ledger(&self) -> Json {
        serde_json::from_str(&self.text("execution.json")).expect("the ledger is JSON")
    }

    pub(crate) fn operation(&self, n: u32) -> Json {
        self.ledger()["operations"][format!("op-{n}")].clone()
    }

    pub(crate) fn run(&self, n: u32) -> Json {
        self.ledger()["executions"][format!("run-{n}")].clone()
    }

    pub(crate) fn job(&self, n: u32) -> Json {
        serde_json::from_str(&self.text(&format!("run-{n}/job.json"))).expect("the job record is JSON")
    }

    pub(crate) fn text(&self, path: &str) -> String {
        let path = self.path().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    pub(crate) fn plant(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("planted");
    }

    /// As [`TaskRoot::plant`], where a process may be reading meanwhile: it finds the old file or the whole new one.
    pub(crate) fn replace(&self, path: &str, text: impl AsRef<[u8]>) {
        let (path, staged) = (self.path().join(path), self.path().join(format!("{path}.staged")));
        std::fs::write(&staged, text).expect("staged");
        if let Ok(replaced) = std::fs::metadata(&path) {
            std::fs::set_permissions(&staged, replaced.permissions()).expect("rights");
        }
        std::fs::rename(&staged, &path).expect("replaced");
    }

    /// A stop that waits to be applied.
    pub(crate) fn plant_control(&self) {
        self.plant("controls/stop-1.json", control());
    }

    /// Every file below the root with its bytes, but for the two lock files.
    pub(crate) fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tree = BTreeMap::new();
        collect(&self.path(), "", &mut tree);
        tree
    }

    /// The refusal of this, which changes no file and makes no call.
    #[track_caller]
    pub(crate) fn refused(&self, action: impl FnOnce(&Self) -> Ended) -> (Code, Option<&'static str>) {
        let before = self.tree();
        let refusal = action(self).refusal();
        assert!(before == self.tree(), "a refusal changes no file: {refusal:?}");
        refusal
    }
}

fn collect(directory: &Path, below: &str, tree: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries {
        let entry = entry.expect("an entry");
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type().expect("a type").is_dir() {
            collect(&entry.path(), &format!("{name}/"), tree);
            tree.insert(format!("{name}/"), Vec::new());
        } else if !name.ends_with(".lock") {
            tree.insert(name, std::fs::read(entry.path()).expect("a file"));
        }
    }
}

/// Runs a machine to its end. A call for which no answer is left fails the test.
#[track_caller]
pub(crate) fn drive(
    mut machine: Machine,
    task: &TaskRoot,
    answers: impl IntoIterator<Item = Answer>,
) -> Ended {
    let mut answers = answers.into_iter();
    let mut calls = Vec::new();
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(result) => {
                assert!(answers.next().is_none(), "a call was expected after {calls:?}");
                return Ended { result: result.map(|value| from_core(&value)), calls };
            }
            Step::Call(call) => call,
        };
        calls.push((call.method, from_core(&Value::Object(call.input.clone()))));
        let answer = answers.next().unwrap_or_else(|| panic!("an unexpected call: {}", call.method));
        let next = match answer {
            Answer::Says(value) => machine.reply(call.id, Reply::Value(value.to_string())),
            Answer::Text(text) => machine.reply(call.id, Reply::Value(text)),
            Answer::Fails(error) => machine.reply(call.id, Reply::Error(error)),
            Answer::SendsAndFails(error) => {
                machine.sending(call.id).expect("it is outstanding");
                machine.reply(call.id, Reply::Error(error))
            }
            Answer::Deadline => {
                task.machine.set_wall_ms(call.deadline_at);
                machine.deadline(call.id)
            }
            Answer::Abort => machine.abort(call.id),
            Answer::Dropped => {
                drop(machine);
                let error = Error::new(Code::Internal, "the machine was dropped");
                return Ended { result: Err(error), calls };
            }
        };
        step = next.expect("the call is outstanding");
    }
}

pub(crate) fn object(value: &Json) -> Object {
    match Value::parse(&value.to_string()).expect("JSON") {
        Value::Object(object) => object,
        _ => panic!("no object: {value}"),
    }
}

pub(crate) fn from_core(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).expect("JSON")
}

/// A remote provider that can do everything.
pub(crate) fn remote_options() -> Json {
    json!({
        "taskId": "t-1", "provider": "prov", "account": "acct",
        "capabilities": {
            "provider": "prov", "transport": "managed-rest", "location": "remote",
            "newDispatch": {"available": true, "reason": null},
            "authentication": {"scheme": "none", "secretNames": []},
            "environments": {"required": false, "allowed": null},
            "models": "required",
            "policies": {"required": true, "allowed": ["safe"]},
            "preparation": {"version": 1, "boundary": "text-only", "authority": "provider", "environment": null},
            "continuation": "native", "observability": "events", "cancel": true, "interrupt": true,
            "cost": {"reports": true, "hardCap": true}, "qualification": null
        },
        "transport": {"methods":
            ["prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup", "recoverResponse"]},
        "budgetUsd": 8, "health": "external"
    })
}

/// The input of a submit of `op-n` as `run-n`.
pub(crate) fn dispatch(n: u32) -> Json {
    json!({
        "operationId": format!("op-{n}"), "runId": format!("run-{n}"), "prompt": "do it", "inputHead": HEAD,
        "policy": "safe", "model": "m-1", "environment": "env-1", "reservationUsd": 0.5
    })
}

/// That with some members replaced or added.
pub(crate) fn dispatch_with(n: u32, changes: Json) -> Json {
    with(dispatch(n), changes)
}

pub(crate) fn with(mut value: Json, changes: Json) -> Json {
    let Json::Object(changes) = changes else { panic!("changes are an object") };
    for (key, change) in changes {
        value[key] = change;
    }
    value
}

pub(crate) fn acknowledgement(n: u32) -> Json {
    json!({"providerJobId": format!("j-{n}"), "turnId": format!("t-{n}"), "sessionId": "s-1"})
}

pub(crate) fn accepts(n: u32) -> [Answer; 1] {
    [Answer::Says(acknowledgement(n))]
}

pub(crate) fn io_error() -> TransportError {
    TransportError::of(ErrorKind::Io, "the line is gone")
}

pub(crate) fn control() -> String {
    json!({"version": 1, "controlId": "stop-1", "runId": null, "reason": "enough", "requestedAt": NOW,
        "status": "queued"})
    .to_string()
}

type Act = Box<dyn FnMut() -> FaultAnswer + Send>;

/// Notes every fault point, and does something at one of them.
pub(crate) struct Points {
    seen: Mutex<Vec<String>>,
    at: &'static str,
    act: Mutex<Act>,
}

impl Points {
    pub(crate) fn new(at: &'static str, act: impl FnMut() -> FaultAnswer + Send + 'static) -> Arc<Self> {
        Arc::new(Points { seen: Mutex::default(), at, act: Mutex::new(Box::new(act)) })
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no panic").clone()
    }
}

impl std::fmt::Debug for Points {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Points").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Faults for Points {
    fn at(&self, point: &str) -> FaultAnswer {
        self.seen.lock().expect("no panic").push(point.to_owned());
        if point == self.at { (self.act.lock().expect("no panic"))() } else { FaultAnswer::Go }
    }
}
