//! A checkout, a sandbox, a remote and a coordinator as data, which answer the calls of a publication. What they have done survives
//! every crash of whoever publishes.

use std::collections::BTreeMap;
use std::path::Path;

use gallivant_core::Error;
use gallivant_core::digest::sha256_hex;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{AbortToken, Boundary, Call, Port, Reply, Step, TransportError};
use gallivant_core::json::Value;
use gallivant_core::publication::{Plan, reconcile_execution_result};
use gallivant_core::testing::FaultyFileSystem;
use serde_json::{Value as Json, json};

use super::pass::{observation, result_with, says};
use super::task::{HEAD, TaskRoot, from_core, object};

/// What the result becomes when it is committed.
pub(crate) const APPLIED: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
pub(crate) const OTHER: &str = "cccccccccccccccccccccccccccccccccccccccc";
pub(crate) const APPLICATION: &str = "run-1/result-application.json";
pub(crate) const VERIFICATION: &str = "run-1/verification.json";
const HASH: &str = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

/// How a call ends, where it does not simply end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has no effect, and fails.
    Fails,
    /// It has its effect, and the answer is lost.
    Lost,
    /// It has its effect, and the deadline passes.
    Late,
    /// Whoever publishes is gone before it has any effect.
    GoneBefore,
    /// Whoever publishes is gone behind its effect.
    GoneAfter,
}

impl Fate {
    pub(crate) const ALL: [Fate; 5] =
        [Fate::Fails, Fate::Lost, Fate::Late, Fate::GoneBefore, Fate::GoneAfter];
}

/// The world outside of a task's root.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) origin: String,
    pub(crate) branch: String,
    pub(crate) base_matches: bool,
    pub(crate) head: String,
    /// What the work tree holds beside its head.
    pub(crate) is_dirty: bool,
    /// Whether the files of the result stand in the work tree, uncommitted.
    pub(crate) is_written: bool,
    pub(crate) commits: u32,
    /// The remote's task branch.
    pub(crate) remote: Option<String>,
    pub(crate) pushes: u32,
    pub(crate) pull_requests: Vec<Json>,
    pub(crate) stopped: bool,
    pub(crate) has_sandbox: bool,
    /// How often each command ran, and what each exits with.
    pub(crate) ran: BTreeMap<String, u32>,
    pub(crate) exits: BTreeMap<String, i64>,
    /// The command that leaves a dirty tree.
    pub(crate) dirties: Option<String>,
    /// Before which command whoever publishes is gone, from 0.
    pub(crate) gone_in: Option<usize>,
    /// Where a sandbox leaves evidence; the machine's own disk where there is none.
    pub(crate) disk: Option<FaultyFileSystem>,
    /// What a method answers instead.
    pub(crate) says: BTreeMap<&'static str, Json>,
    /// Every call, as `port.method`.
    pub(crate) calls: Vec<String>,
    /// What becomes of the nth call, from 1.
    pub(crate) fate: Option<(usize, Fate)>,
}

impl Field {
    pub(crate) fn new() -> Self {
        Field {
            origin: "https://example.org/org/repo.git".to_owned(),
            branch: "task/1".to_owned(),
            base_matches: true,
            head: HEAD.to_owned(),
            is_dirty: false,
            is_written: false,
            commits: 0,
            remote: Some(HEAD.to_owned()),
            pushes: 0,
            pull_requests: Vec::new(),
            stopped: false,
            has_sandbox: true,
            ran: BTreeMap::new(),
            exits: BTreeMap::new(),
            dirties: None,
            gone_in: None,
            disk: None,
            says: BTreeMap::new(),
            calls: Vec::new(),
            fate: None,
        }
    }

    /// How often a method was called, such as `publisher.push`.
    pub(crate) fn called(&self, method: &str) -> usize {
        self.calls.iter().filter(|call| *call == method).count()
    }

    /// The answer to a call, with its effect.
    fn answer(&mut self, call: &Call) -> Result<Json, TransportError> {
        let input = from_core(&Value::Object(call.input.clone()));
        if let Some(said) = self.says.get(call.method) {
            return Ok(said.clone());
        }
        Ok(match (call.port, call.method) {
            (Port::Coordinator, "entryStopped") => json!({"stopped": self.stopped}),
            (Port::Git, "state") => json!({
                "origin": self.origin, "branch": self.branch, "head": self.head,
                "clean": !self.is_dirty && !self.is_written,
                "resumable": self.is_written && !self.is_dirty, "baseMatches": self.base_matches
            }),
            (Port::Git, "matches") => {
                let pushed = input["pushedHead"].as_str();
                json!({"matches": input["head"] == pushed.unwrap_or(APPLIED)})
            }
            (Port::Git, "apply") => {
                assert!(!self.is_dirty && self.head == HEAD, "nothing is applied over anything else");
                self.is_written = true;
                json!({})
            }
            (Port::Git, "commit") => {
                assert!(self.is_written, "nothing is committed that was not written");
                (self.is_written, self.head) = (false, APPLIED.to_owned());
                self.commits += 1;
                json!({"head": APPLIED})
            }
            (Port::Verification, "verify") => self.verify(&input),
            (Port::Publisher, "push") => {
                let head = input["head"].as_str().expect("a head").to_owned();
                if self.remote.as_deref() != Some(&head) {
                    self.pushes += 1;
                }
                self.remote = Some(head);
                json!({})
            }
            (Port::Publisher, "findPullRequest") => self.pull_requests.first().cloned().unwrap_or(Json::Null),
            (Port::Publisher, "createPullRequest") => {
                let number = self.pull_requests.len() + 1;
                let made = json!({"number": number, "title": input["title"], "head": input["head"]});
                self.pull_requests.push(made.clone());
                made
            }
            (port, method) => panic!("{}.{method} is no call of a publication", port.word()),
        })
    }

    /// Runs the commands, and leaves evidence as a sandbox does; whoever is gone meanwhile leaves what there is of it.
    pub(crate) fn verify(&mut self, input: &Json) -> Json {
        let passed = if self.has_sandbox { "passed" } else { "failed" };
        let sandbox = json!({"driver": "bubblewrap", "probe": {"status": passed}});
        let list: Vec<&str> = input["commands"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|text| text.as_str().expect("a text"))
            .collect();
        let mut evidence = json!({
            "version": 1, "revision": input["revision"], "sourceHash": input["sourceHash"],
            "listHash": sha256_hex(json!(list).to_string().as_bytes()), "sandbox": sandbox, "startedAt": 1,
            "endedAt": null, "commands": [], "blocked": null
        });
        let path = Path::new(input["directory"].as_str().expect("a path")).join("verification.json");
        let disk = self.disk.clone();
        let save = |evidence: &Json| match &disk {
            Some(disk) => disk.plant_file(&path, evidence.to_string()).expect("saved"),
            None => std::fs::write(&path, evidence.to_string()).expect("saved"),
        };
        let mut blocked = None;
        if !self.has_sandbox {
            blocked = Some(
                json!({"reason": "verification-sandbox-unavailable", "detail": "bwrap is not installed"}),
            );
        }
        for (position, command) in list.into_iter().enumerate() {
            if blocked.is_some() {
                break;
            }
            if self.gone_in == Some(position) {
                return json!({"gone": true});
            }
            let exit = self.exits.get(command).copied().unwrap_or(0);
            *self.ran.entry(command.to_owned()).or_default() += 1;
            evidence["commands"].as_array_mut().expect("a list").push(json!({
                "command": command, "exitCode": exit, "startedAt": 1, "endedAt": 2, "revision": input["revision"],
                "output": "said", "truncated": false, "failure": null, "sandbox": sandbox
            }));
            save(&evidence);
            self.is_dirty |= self.dirties.as_deref() == Some(command);
            if exit != 0 {
                blocked = Some(json!({"reason": "command-failed", "detail": "a command of 2 has failed"}));
            } else if self.is_dirty {
                blocked = Some(json!({"reason": "dirty", "detail": "the checkout is not what was applied"}));
            }
        }
        evidence["endedAt"] = json!(3);
        evidence["blocked"] = blocked.clone().unwrap_or(Json::Null);
        save(&evidence);
        blocked.map_or(json!({}), |blocked| json!({"blocked": blocked}))
    }

    /// Publishes `run-1`; none where whoever publishes is gone before the end.
    pub(crate) fn publish(&mut self, boundary: &Boundary, plan: &Plan) -> Option<Result<Json, Error>> {
        self.publish_watched(boundary, plan, &mut |_, _| {})
    }

    /// As [`Field::publish`], as long as this says at a call that whoever publishes is still there.
    pub(crate) fn publish_while(
        &mut self,
        boundary: &Boundary,
        plan: &Plan,
        is_alive: &mut dyn FnMut(&str, &mut Field) -> bool,
    ) -> Option<Result<Json, Error>> {
        self.run(boundary, plan, is_alive)
    }

    /// As [`Field::publish`], and does something whenever a call is handed out, before it has any effect.
    pub(crate) fn publish_watched(
        &mut self,
        boundary: &Boundary,
        plan: &Plan,
        watch: &mut dyn FnMut(&str, &mut Field),
    ) -> Option<Result<Json, Error>> {
        self.run(boundary, plan, &mut |call, field| {
            watch(call, field);
            true
        })
    }

    fn run(
        &mut self,
        boundary: &Boundary,
        plan: &Plan,
        is_alive: &mut dyn FnMut(&str, &mut Field) -> bool,
    ) -> Option<Result<Json, Error>> {
        let mut machine = reconcile_execution_result(boundary, "run-1", plan.clone(), AbortToken::new());
        let mut step = machine.start();
        loop {
            let call = match step {
                Step::Done(result) => return Some(result.map(|value| from_core(&value))),
                Step::Call(call) => call,
            };
            let name = format!("{}.{}", call.port.word(), call.method);
            if !is_alive(&name, self) {
                return None;
            }
            self.calls.push(name);
            let fate = self.fate.filter(|(nth, _)| *nth == self.calls.len()).map(|(_, fate)| fate);
            let io = || Reply::Error(TransportError::of(ErrorKind::Io, "the line is gone"));
            if fate == Some(Fate::GoneBefore) {
                return None;
            }
            let next = if fate == Some(Fate::Fails) {
                machine.reply(call.id, io())
            } else {
                let answer = self.answer(&call);
                if answer.as_ref().is_ok_and(|answer| answer["gone"] == true) {
                    return None;
                }
                match fate {
                    Some(Fate::GoneAfter) => return None,
                    Some(Fate::Late) => machine.deadline(call.id),
                    Some(_) => machine.reply(call.id, io()),
                    None => machine.reply(
                        call.id,
                        match answer {
                            Ok(value) => Reply::Value(value.to_string()),
                            Err(error) => Reply::Error(error),
                        },
                    ),
                }
            };
            step = next.expect("the call is outstanding");
        }
    }
}

/// What the coordinator says of `run-1`, with two commands.
pub(crate) fn plan() -> Plan {
    plan_with(json!({}))
}

pub(crate) fn plan_with(changes: Json) -> Plan {
    let plan = json!({
        "repo": "org/repo", "origin": "https://example.org/org/repo.git", "branch": "task/1", "base": "main",
        "verification": verification(json!(["make check", "make test"])),
        "author": {"name": "A Coordinator", "email": "coordinator@example.org"}
    });
    Plan::from_object(&object(&super::task::with(plan, changes))).expect("the plan is well formed")
}

/// A list of commands with the source that it was read from, approved.
pub(crate) fn verification(commands: Json) -> Json {
    let source = commands.to_string();
    json!({"approvedHash": sha256_hex(source.as_bytes()), "commands": commands, "source": source})
}

/// A result with one new file and the text of a pull request.
pub(crate) fn published_result() -> Json {
    json!({
        "repo": "org/repo", "branch": "task/1", "pr": {"title": "A title", "body": "A body"},
        "files": [{"path": "a.txt", "beforeHash": null, "afterHash": HASH, "text": "a"}]
    })
}

impl TaskRoot {
    /// A task whose `run-1` is collected and may be published, with these members of its result changed.
    pub(crate) fn publishable(changes: Json) -> Self {
        let task = TaskRoot::new();
        task.collected_for_publication(changes);
        task
    }

    pub(crate) fn collected_for_publication(&self, changes: Json) {
        self.accepted(1);
        let result = result_with(1, super::task::with(published_result(), changes));
        let report = self.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
        assert_eq!(report["error"], Json::Null);
        assert_eq!(self.run(1)["collected"], true);
    }

    /// Publishes `run-1` to its end.
    #[track_caller]
    pub(crate) fn publishes(&self, field: &mut Field) -> Result<Json, Error> {
        self.publishes_by(field, &plan())
    }

    #[track_caller]
    pub(crate) fn publishes_by(&self, field: &mut Field, plan: &Plan) -> Result<Json, Error> {
        let boundary = self.boundary();
        field.publish(&boundary, plan).expect("nobody is gone")
    }

    pub(crate) fn checkpoint(&self) -> Json {
        serde_json::from_str(&self.text(APPLICATION)).expect("the checkpoint is JSON")
    }

    pub(crate) fn evidence(&self) -> Json {
        serde_json::from_str(&self.text(VERIFICATION)).expect("the evidence is JSON")
    }
}
