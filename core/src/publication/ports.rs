//! The host's side in Rust: who answers the calls of a publication, and the loop that carries them out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Result;
use crate::execution::contract::{ErrorKind, TransportError};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::{Call, Machine, Port, Reply, Step};
use crate::json::{Object, Value};

/// How a port failed: the publication stays as it is, and may be repeated (EX-ART-47).
pub type Failure = TransportError;

/// One port of a publication, by the names of its methods.
///
/// `git`, the checkout. Every question has `{runId, inputHead}` and `files` or `pushedHead`:
///
/// | method | besides | answer |
/// | --- | --- | --- |
/// | `state` | `branch`, `base` | `{origin, branch, head, clean, resumable, baseMatches}` |
/// | `matches` | `head` | `{matches}` |
/// | `apply` | | `{}` |
/// | `commit` | `branch`, `message`, `name`, `email`, `seconds` | `{head}` |
///
/// `verification`, which runs the commands in their sandbox and leaves `verification.json` in the run's directory, as
/// [`verify`](crate::verification::verify()) does:
///
/// | method | input | answer |
/// | --- | --- | --- |
/// | `verify` | `{runId, directory, revision, commands, sourceHash}` | `{}`, or `{blocked: {reason, detail}}` |
///
/// `publisher`, where all inputs are `{runId, repo, origin, branch, base, head}`:
///
/// | method | besides | answer |
/// | --- | --- | --- |
/// | `push` | | `{}` |
/// | `findPullRequest` | | the pull request, or null |
/// | `createPullRequest` | `title`, `body` | the pull request |
///
/// `coordinator`: `entryStopped` with `{runId}`, which gives `{stopped}`.
///
/// `{invalid: word}` of `apply`, `commit` and `push` is a fault that stays, and blocks the publication; the word must hold
/// nothing of the result.
pub trait Answers: Send + Sync {
    /// Answers one call: an object or null.
    ///
    /// # Errors
    /// The failure.
    fn answer(&self, method: &str, input: &Object) -> std::result::Result<Value, Failure>;
}

/// Where a push and a pull request go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The run that is published.
    pub run_id: String,
    /// The repository, as results name it.
    pub repo: String,
    /// The URL of the remote.
    pub origin: String,
    /// The task branch, without `refs/heads/`.
    pub branch: String,
    /// The branch that the pull request goes to.
    pub base: String,
    /// The revision.
    pub head: String,
}

/// What a push has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The remote's branch is at the revision.
    Done,
    /// The remote has something else on the branch, which is not overwritten.
    Diverged,
}

/// The coordinator's way to a remote repository and to its pull requests (EX-ART-35). It reviews nothing and merges nothing.
///
/// Every method may be called again for the same place, because its answer may have been lost.
pub trait Publisher: Send + Sync {
    /// Brings the revision to the branch of the remote, forward only. One that is there already is well.
    ///
    /// # Errors
    /// The failure.
    fn push(&self, place: &Place) -> std::result::Result<Pushed, Failure>;

    /// The open pull request of the branch; none where there is none.
    ///
    /// # Errors
    /// The failure.
    fn find_pull_request(&self, place: &Place) -> std::result::Result<Option<Object>, Failure>;

    /// Opens a pull request, and gives what is to be saved of it. Asked for only where none was found.
    ///
    /// # Errors
    /// The failure.
    fn create_pull_request(
        &self,
        place: &Place,
        title: &str,
        body: &str,
    ) -> std::result::Result<Object, Failure>;
}

/// A [`Publisher`] as the port `publisher`.
#[derive(Debug)]
pub struct PublisherPort<P>(pub P);

impl<P: Publisher> Answers for PublisherPort<P> {
    fn answer(&self, method: &str, input: &Object) -> std::result::Result<Value, Failure> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let place = Place {
            run_id: text("runId"),
            repo: text("repo"),
            origin: text("origin"),
            branch: text("branch"),
            base: text("base"),
            head: text("head"),
        };
        match method {
            "push" => self.0.push(&place).map(|pushed| match pushed {
                Pushed::Done => Object::new().into(),
                Pushed::Diverged => member("invalid", "remote-branch"),
            }),
            "findPullRequest" => Ok(self.0.find_pull_request(&place)?.map_or(Value::Null, Value::Object)),
            "createPullRequest" => {
                self.0.create_pull_request(&place, &text("title"), &text("body")).map(Value::Object)
            }
            _ => Err(unknown(method)),
        }
    }
}

/// Whether the coordinator's registry has stopped the task's entry (EX-CAN-48), as a function of the run.
impl<F> Answers for F
where
    F: Fn(&str) -> std::result::Result<bool, Failure> + Send + Sync,
{
    fn answer(&self, method: &str, input: &Object) -> std::result::Result<Value, Failure> {
        if method != "entryStopped" {
            return Err(unknown(method));
        }
        let run_id = input.get("runId").and_then(Value::as_str).unwrap_or_default();
        let stopped = Value::Bool(self(run_id)?);
        Ok(Value::Object([("stopped", stopped)].into_iter().collect()))
    }
}

/// Everybody who answers a publication's calls.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// The checkout.
    pub git: &'a dyn Answers,
    /// The sandbox.
    pub verification: &'a dyn Answers,
    /// Push and pull requests.
    pub publisher: &'a dyn Answers,
    /// The coordinator's registry.
    pub coordinator: &'a dyn Answers,
}

impl Ports<'_> {
    fn answer(&self, call: &Call) -> Reply {
        let port = match call.port {
            Port::Git => self.git,
            Port::Verification => self.verification,
            Port::Publisher => self.publisher,
            Port::Coordinator => self.coordinator,
            Port::Transport | Port::Process => return Reply::Error(unknown(call.method)),
        };
        match catch_unwind(AssertUnwindSafe(|| port.answer(call.method, &call.input))) {
            Ok(Ok(value)) => Reply::Value(value.to_json()),
            Ok(Err(failure)) => Reply::Error(failure),
            Err(_) => Reply::Error(Failure::of(ErrorKind::Io, "the port has panicked")),
        }
    }
}

/// Drives a publication to its end, and gives what it has come to. Each port is called on this thread and is waited for; a call
/// that has fired `abort` before ends the one that is outstanding.
///
/// # Errors
/// Those of the publication; `EXECUTION_INPUT` with the reason `reply` where the boundary was dropped meanwhile, which equals a
/// crash.
pub fn drive(mut machine: Machine, ports: &Ports<'_>, abort: &AbortToken) -> Result<Value> {
    let mut step = machine.start();
    loop {
        let call = match step {
            Step::Done(outcome) => return outcome,
            Step::Call(call) => call,
        };
        step = if abort.is_aborted() {
            machine.abort(call.id)?
        } else {
            let reply = ports.answer(&call);
            machine.reply(call.id, reply)?
        };
    }
}

pub(super) fn unknown(method: &str) -> Failure {
    Failure::of(ErrorKind::Io, format!("the port has no such method, method=`{method}`"))
}

pub(super) fn member(key: &str, text: &str) -> Value {
    Value::Object([(key, Value::from(text))].into_iter().collect())
}
