//! A bare repository, a checkout of it at a task branch, and the ports of a publication over both: real Git, and as data what a
//! coordinator and a sandbox say.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use gallivant_core::artifacts::GitOptions;
use gallivant_core::execution::contract::ErrorKind;
use gallivant_core::execution::{AbortToken, Boundary, Call, Port, Reply, Step, TransportError};
use gallivant_core::json::{Object, Value};
use gallivant_core::publication::{
    Answers, Failure, GitCheckout, GitRemote, Place, Plan, PublisherPort, PullRequests,
    reconcile_execution_result,
};
use gallivant_core::{Error, Host};
use serde_json::{Value as Json, json};

use super::pass::{observation, result_with, says};
use super::publication::{Fate, Field, plan_with};
use super::task::{Answer, TaskRoot, acknowledgement, dispatch_with, from_core, with};

/// Runs git for a test, and gives what it prints.
#[track_caller]
pub(crate) fn git(at: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(at)
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@example.org")])
        .envs([("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@example.org")])
        .stdin(Stdio::null())
        .output()
        .expect("git runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}

/// The pull requests of a service, as data.
#[derive(Debug, Default)]
pub(crate) struct Service(pub(crate) Mutex<Vec<Object>>);

impl PullRequests for &Service {
    fn find(&self, place: &Place) -> Result<Option<Object>, Failure> {
        let open = self.0.lock().expect("no panic");
        let is_of = |made: &&Object| made.get("branch").and_then(Value::as_str) == Some(&place.branch);
        Ok(open.iter().find(is_of).cloned())
    }

    fn create(&self, place: &Place, title: &str, _: &str) -> Result<Object, Failure> {
        let mut open = self.0.lock().expect("no panic");
        let number = open.len() as u64 + 1;
        let made = [
            ("number", Value::from(number)),
            ("branch", Value::from(place.branch.as_str())),
            ("title", Value::from(title)),
        ];
        open.push(made.into_iter().collect());
        Ok(open[open.len() - 1].clone())
    }
}

/// A sandbox in which every command succeeds at once.
struct Trusting;

impl Answers for Trusting {
    fn answer(&self, _: &str, input: &Object) -> Result<Value, Failure> {
        let input = from_core(&Value::Object(input.clone()));
        let said = Field::new().verify(&input);
        Ok(Value::parse(&said.to_string()).expect("JSON"))
    }
}

/// A repository with its remote, and a task whose `run-1` started from its first commit.
pub(crate) struct Repository {
    directory: tempfile::TempDir,
    pub(crate) input_head: String,
    pub(crate) service: Service,
    /// Where the checkout's remote is, where that is not the bare repository's path.
    pub(crate) origin: Option<String>,
    pub(crate) calls: Mutex<Vec<String>>,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let at = directory.path();
        git(at, &["init", "-q", "--bare", "--initial-branch=main", "origin.git"]);
        git(at, &["init", "-q", "--initial-branch=main", "checkout"]);
        let checkout = at.join("checkout");
        std::fs::create_dir(checkout.join("src")).expect("a directory");
        std::fs::write(checkout.join("README"), "one\n").expect("written");
        std::fs::write(checkout.join("src/run.sh"), "#!/bin/sh\n").expect("written");
        std::fs::write(checkout.join("src/old"), "old\n").expect("written");
        std::fs::write(checkout.join(".gitignore"), "target/\n").expect("written");
        mode(&checkout.join("src/run.sh"), 0o755);
        git(&checkout, &["add", "-A"]);
        git(&checkout, &["commit", "-q", "-m", "first"]);
        let origin = at.join("origin.git").display().to_string();
        git(&checkout, &["remote", "add", "origin", &origin]);
        git(&checkout, &["push", "-q", "origin", "main"]);
        git(&checkout, &["checkout", "-q", "-b", "task/1"]);
        let input_head = git(&checkout, &["rev-parse", "HEAD"]);
        Repository {
            directory,
            input_head,
            service: Service::default(),
            origin: None,
            calls: Mutex::default(),
        }
    }

    pub(crate) fn checkout(&self) -> PathBuf {
        self.directory.path().join("checkout")
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.directory.path().join("origin.git")
    }

    /// The revision of a branch of the remote; none where it has none.
    pub(crate) fn remote_head(&self, branch: &str) -> Option<String> {
        let refs = git(&self.remote(), &["for-each-ref", "--format=%(objectname) %(refname)"]);
        let found = refs.lines().find(|line| line.ends_with(&format!(" refs/heads/{branch}")));
        found.map(|line| line.split(' ').next().expect("an object").to_owned())
    }

    pub(crate) fn head(&self) -> String {
        git(&self.checkout(), &["rev-parse", "HEAD"])
    }

    /// How many commits stand above the input.
    pub(crate) fn commits(&self) -> usize {
        let range = format!("{}..HEAD", self.input_head);
        git(&self.checkout(), &["rev-list", "--count", &range]).parse().expect("a number")
    }

    pub(crate) fn plan(&self) -> Plan {
        let origin = self.origin.clone().unwrap_or_else(|| self.remote().display().to_string());
        plan_with(json!({"origin": origin}))
    }

    /// A task whose `run-1` is collected with this work.
    pub(crate) fn task(&self, changes: Json) -> TaskRoot {
        let task = TaskRoot::new();
        task.submit(
            dispatch_with(1, json!({"inputHead": self.input_head})),
            [Answer::Says(acknowledgement(1))],
        )
        .ok();
        let work = json!({
            "inputHead": self.input_head, "repo": "org/repo", "branch": "task/1",
            "pr": {"title": "A title", "body": "A body"}, "files": files()
        });
        let result = result_with(1, with(work, changes));
        let report = task.due_pass([says(observation(1, "succeeded")), says(result)]).ok();
        assert_eq!(report["error"], Json::Null);
        task
    }

    /// Publishes `run-1` to its end; none where whoever publishes is gone at the nth call.
    pub(crate) fn publish(
        &self,
        task: &TaskRoot,
        fate: Option<(usize, Fate)>,
    ) -> Option<Result<Json, Error>> {
        let boundary = task.boundary();
        self.publish_by(&boundary, &Trusting, &self.plan(), fate)
    }

    /// As [`Repository::publish`], with a sandbox and a plan of the test's.
    pub(crate) fn publish_by(
        &self,
        boundary: &Boundary,
        verification: &dyn Answers,
        plan: &Plan,
        fate: Option<(usize, Fate)>,
    ) -> Option<Result<Json, Error>> {
        let host = Host::system();
        let checkout = GitCheckout::new(&self.checkout(), GitOptions::default(), &host).expect("a checkout");
        let remote = GitRemote::new(&self.checkout(), GitOptions::default(), &self.service, &host);
        let publisher = PublisherPort(remote.expect("a publisher"));
        let open = |_: &str| Ok(false);
        let mut machine = reconcile_execution_result(boundary, "run-1", plan.clone(), AbortToken::new());
        let (mut step, mut count) = (machine.start(), 0);
        loop {
            let call: Call = match step {
                Step::Done(result) => return Some(result.map(|value| from_core(&value))),
                Step::Call(call) => call,
            };
            count += 1;
            self.calls.lock().expect("no panic").push(format!("{}.{}", call.port.word(), call.method));
            let fate = fate.filter(|(nth, _)| *nth == count).map(|(_, fate)| fate);
            let io = || Reply::Error(TransportError::of(ErrorKind::Io, "the line is gone"));
            if fate == Some(Fate::GoneBefore) {
                return None;
            }
            let port: &dyn Answers = match call.port {
                Port::Git => &checkout,
                Port::Publisher => &publisher,
                Port::Verification => verification,
                _ => &open,
            };
            let reply = if fate == Some(Fate::Fails) {
                io()
            } else {
                let answer = port.answer(call.method, &call.input);
                match fate {
                    Some(Fate::GoneAfter) => return None,
                    Some(_) => io(),
                    None => answer.map_or_else(Reply::Error, |value| Reply::Value(value.to_json())),
                }
            };
            step = machine.reply(call.id, reply).expect("the call is outstanding");
        }
    }

    #[track_caller]
    pub(crate) fn publishes(&self, task: &TaskRoot) -> Result<Json, Error> {
        self.publish(task, None).expect("nobody is gone")
    }
}

/// One edit of each kind: a file, an executable one, a new one in a new directory, and one that goes.
pub(crate) fn files() -> Json {
    json!([
        entry("README", Some("one\n"), Some("two\n")),
        entry("src/run.sh", Some("#!/bin/sh\n"), Some("#!/bin/sh\nexit 0\n")),
        entry("new/deep/file.txt", None, Some("new")),
        entry("src/old", Some("old\n"), None),
    ])
}

pub(crate) fn entry(path: &str, before: Option<&str>, after: Option<&str>) -> Json {
    let hash = |text: &str| gallivant_core::digest::sha256_hex(text.as_bytes());
    json!({"path": path, "beforeHash": before.map(hash), "afterHash": after.map(hash), "text": after})
}

pub(crate) fn mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its mode is set");
}
