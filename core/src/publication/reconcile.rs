//! The publication of a run's result, as a machine: each status is on disk before the work that it names, and whatever comes in
//! between, what stands there decides how it goes on (EX-ART-33 to EX-ART-55).

use super::ask::{State, Step, Stop, ask, flag, judge, shapeless};
use super::next::{Block, Facts, Found, Next, publication_next};
use super::plan::Plan;
use super::result::{Form, Invalid, Publishable};
use crate::error::{Code, Error, Result};
use crate::execution::application::{APPLICATION, Checkpoint, Status};
use crate::execution::boundary::{Publishing, Subject};
use crate::execution::ledger::lock::AbortToken;
use crate::execution::machine::{Line, Machine, Port};
use crate::execution::{Boundary, keys};
use crate::json::{Object, Value};
use crate::verification::evidence::{self, EVIDENCE};

/// Publishes the collected result of a run: applied, committed, verified, pushed and asked to be merged, each at most once, and
/// goes on with a publication that was interrupted (EX-ART-33). Done, it gives one of
///
/// - `{status: "published", appliedHead, pr}`;
/// - `{status: "blocked", reason, detail, blockedAt, appliedHead}`, which no repetition changes;
/// - `{status: "nothing"}` for a result with nothing to publish.
///
/// Everything else that is published is durable once it is done; a call that fails leaves the last checkpoint, and may be
/// repeated. Its calls go to the ports `git`, `verification`, `publisher` and `coordinator`.
///
/// It fails with `EXECUTION_RESULT` (`not-publishable`, `foreign`, `missing` and the reasons of a result's judgement),
/// `EXECUTION_FENCED`, `EXECUTION_PUBLICATION_BUSY`, `EXECUTION_BUSY`, `EXECUTION_UNKNOWN_RUN`, `EXECUTION_INPUT`,
/// `EXECUTION_VERSION`, `EXECUTION_PROTOCOL`, `EXECUTION_DEADLINE` and `EXECUTION_IO`.
#[must_use]
pub fn reconcile_execution_result(
    boundary: &Boundary,
    run_id: impl Into<String>,
    plan: Plan,
    abort: AbortToken,
) -> Machine {
    let run_id = run_id.into();
    boundary.publishing(abort, move |publishing, line| reconcile(publishing, line, run_id, plan))
}

async fn reconcile(publishing: Publishing, line: Line, run_id: String, plan: Plan) -> Result<Value> {
    let mut subject = publishing.subject(&run_id)?;
    let (fingerprint, publishable) = Publishable::of(&subject.result);
    let ended = |checkpoint: Option<&Checkpoint>| ended(checkpoint, &subject, fingerprint.as_deref());
    if let Some(ended) = ended(Checkpoint::read(&*subject.directory)?.as_ref()) {
        return ended;
    }
    let is_nothing = publishable.as_ref().is_ok_and(|publishable| publishable.form == Form::Nothing);
    if let Some(hindrance) = subject.hindrance.take() {
        return Err(hindrance);
    }
    let _excluding = publishing.exclude(&subject)?;
    // Another publication may have ended while this one waited.
    let checkpoint = Checkpoint::read(&*subject.directory)?;
    let ended = |checkpoint: Option<&Checkpoint>| self::ended(checkpoint, &subject, fingerprint.as_deref());
    if let Some(ended) = ended(checkpoint.as_ref()) {
        return ended;
    }
    if checkpoint.is_none() && is_nothing {
        return Ok(object([("status", Value::from("nothing"))]).into());
    }
    let mut work = Work { publishing, line, subject, plan, fingerprint, checkpoint };
    match work.run(publishable).await {
        Ok(value) => Ok(value),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Block(block, detail)) => work.block(block, detail.as_deref()),
    }
}

/// What a checkpoint alone decides: whose it is, and whether it has ended. Nothing is asked for that.
fn ended(
    checkpoint: Option<&Checkpoint>,
    subject: &Subject,
    fingerprint: Option<&str>,
) -> Option<Result<Value>> {
    let checkpoint = checkpoint?;
    let facts = Facts {
        owner_matches: checkpoint.is_owned_by(&subject.owner),
        fingerprint_matches: checkpoint.fingerprint() == fingerprint,
        ..Facts::nothing()
    };
    match publication_next(Some(&found(checkpoint)), &facts) {
        Next::Refuse => Some(Err(foreign())),
        Next::Return => Some(Ok(answer(checkpoint))),
        _ => None,
    }
}

/// What evidence proves.
#[derive(Clone, Copy, Default)]
struct Proof {
    complete: bool,
    provenance: bool,
}

/// One publication under its lock.
struct Work {
    publishing: Publishing,
    line: Line,
    subject: Subject,
    plan: Plan,
    fingerprint: Option<String>,
    checkpoint: Option<Checkpoint>,
}

impl Work {
    async fn run(&mut self, publishable: std::result::Result<Publishable, Invalid>) -> Step<Value> {
        if let Some(checkpoint) = &self.checkpoint
            && let Next::Block(block) = publication_next(Some(&found(checkpoint)), &Facts::nothing())
            && block == Block::Interrupted
        {
            return Err(Stop::Block(block, None));
        }
        self.entry_is_open().await?;
        let publishable = publishable.map_err(Stop::invalid)?;
        let input_head = self.subject.input_head.clone();
        let input_head = input_head.ok_or_else(|| Stop::invalid("input-head"))?;
        let state = self.state(&publishable, &input_head).await?;
        self.check_ownership(&publishable, &state)?;
        let checkpoint = match self.checkpoint.clone() {
            Some(checkpoint) => checkpoint,
            None => {
                let now = self.publishing.now();
                let begun = Checkpoint::begun(&self.subject.owner, self.fingerprint.as_deref(), now);
                self.save(begun.clone())?;
                self.publishing.point("publish.applying")?;
                begun
            }
        };
        let facts = self.facts(&checkpoint, &publishable, &input_head, &state).await?;
        match publication_next(Some(&found(&checkpoint)), &facts) {
            Next::Apply => {
                let head = self.apply(&publishable, &input_head).await?;
                self.publishing.point("publish.commit")?;
                self.verify(&head, &publishable, &input_head).await
            }
            Next::Verify => {
                let head = facts.head.unwrap_or_default();
                self.verify(&head, &publishable, &input_head).await
            }
            // What was verified has to be the result still, with its exact modes (EX-ART-30).
            Next::Publish if !facts.applied_matches => Err(Stop::invalid("applied-revision")),
            Next::Publish => self.publish(&publishable, &input_head).await,
            Next::Block(block) => Err(Stop::Block(block, None)),
            Next::Return => Ok(answer(&checkpoint)),
            Next::Refuse => Err(Stop::Failed(foreign())),
        }
    }

    /// Asks the coordinator's registry whether the task's entry was stopped (EX-CAN-48).
    async fn entry_is_open(&self) -> Result<()> {
        let input = object([("runId", Value::from(self.subject.run_id.as_str()))]);
        let reply = ask(&self.line, Port::Coordinator, "entryStopped", input).await?;
        if flag(&reply, "stopped", Port::Coordinator)? {
            return Err(Error::new(Code::ExecutionFenced, "the coordinator has stopped the task's entry")
                .with_run_id(self.subject.run_id.clone()));
        }
        Ok(())
    }

    async fn state(&self, publishable: &Publishable, input_head: &str) -> Result<State> {
        let mut input = self.work(publishable, input_head);
        input.insert("branch", Value::from(self.plan.branch.as_str()));
        input.insert("base", Value::from(self.plan.base.as_str()));
        State::read(&ask(&self.line, Port::Git, "state", input).await?)
    }

    /// What every question about the result holds.
    fn work(&self, publishable: &Publishable, input_head: &str) -> Object {
        let mut input = object([
            ("runId", Value::from(self.subject.run_id.as_str())),
            ("inputHead", Value::from(input_head)),
        ]);
        match &publishable.form {
            Form::Nothing => {}
            Form::Files(files) => {
                input.insert("files", Value::from(files.clone()));
            }
            Form::Pushed(head) => {
                input.insert("pushedHead", Value::from(head.as_str()));
            }
        }
        input
    }

    /// EX-ART-34, EX-IDN-23: repository, origin, branch and base. The run's own identities were judged with its result.
    fn check_ownership(&self, publishable: &Publishable, state: &State) -> Step<()> {
        let is_own = |what: &str, text: Option<&String>, expected: &str| {
            if text.map(String::as_str) == Some(expected) { Ok(()) } else { Err(Stop::invalid(what)) }
        };
        is_own("repository", publishable.repo.as_ref(), &self.plan.repo)?;
        is_own("branch", publishable.branch.as_ref(), &self.plan.branch)?;
        is_own("origin", state.origin.as_ref(), self.plan.origin())?;
        is_own("checkout-branch", state.branch.as_ref(), &self.plan.branch)?;
        if state.base_matches { Ok(()) } else { Err(Stop::invalid("base")) }
    }

    async fn facts(
        &self,
        checkpoint: &Checkpoint,
        publishable: &Publishable,
        input_head: &str,
        state: &State,
    ) -> Step<Facts> {
        let is_at_input = state.head.as_deref() == Some(input_head);
        let applied_matches = match &state.head {
            Some(head) if !is_at_input => self.matches(publishable, input_head, head).await?,
            _ => false,
        };
        let proof = self.proof(checkpoint.applied_head())?;
        Ok(Facts {
            owner_matches: checkpoint.is_owned_by(&self.subject.owner),
            fingerprint_matches: checkpoint.fingerprint() == self.fingerprint.as_deref(),
            head: state.head.clone(),
            input_head: Some(input_head.to_owned()),
            applied_matches,
            clean: state.clean || (checkpoint.status() == Status::Applying && is_at_input && state.resumable),
            evidence_complete: proof.complete,
            provenance: proof.provenance,
        })
    }

    /// Whether a revision is the result: a child of the input head that differs from it by exactly the files, or the pushed
    /// revision, with an allowed tree (EX-ART-40, EX-ART-55).
    async fn matches(&self, publishable: &Publishable, input_head: &str, head: &str) -> Step<bool> {
        if let Form::Pushed(pushed) = &publishable.form
            && pushed != head
        {
            return Ok(false);
        }
        let mut input = self.work(publishable, input_head);
        input.insert("head", Value::from(head));
        let reply = ask(&self.line, Port::Git, "matches", input).await?;
        Ok(flag(&reply, "matches", Port::Git)?)
    }

    /// Applies and commits. Answers the revision that the result has become.
    async fn apply(&self, publishable: &Publishable, input_head: &str) -> Step<String> {
        if let Form::Pushed(_) = publishable.form {
            // Fetching it is the coordinator's. Until that is done nothing is known of the revision.
            return Err(Stop::Failed(
                Error::new(Code::ExecutionIo, "the pushed revision is not checked out")
                    .with_reason("tree")
                    .with_remedy(
                        "fetch the task branch and check the pushed revision out, then publish again",
                    ),
            ));
        }
        let mut input = self.work(publishable, input_head);
        judge(&self.line, Port::Git, "apply", input.clone()).await?;
        let message = self.plan.message.clone();
        let message = message.unwrap_or_else(|| format!("Apply the result of {}\n", self.subject.run_id));
        let plan = &self.plan;
        for (key, text) in [
            ("branch", plan.branch.as_str()),
            ("message", &message),
            ("name", &plan.author_name),
            ("email", &plan.author_email),
        ] {
            input.insert(key, Value::from(text));
        }
        // The same commit whenever it is made again.
        input.insert("seconds", Value::from(self.subject.collected_at / 1000));
        let reply = judge(&self.line, Port::Git, "commit", input).await?;
        let head = reply.get("head").and_then(Value::as_str).filter(|head| keys::is_revision(head));
        Ok(head.ok_or_else(|| shapeless("head", Port::Git))?.to_owned())
    }

    /// What the saved evidence proves of a revision: success of every approved command, and the sandbox of each.
    fn proof(&self, applied_head: Option<&str>) -> Result<Proof> {
        let evidence = match applied_head {
            Some(_) => evidence::read(&*self.subject.directory)?,
            None => None,
        };
        let (Some(evidence), Some(head)) = (evidence, applied_head) else { return Ok(Proof::default()) };
        Ok(Proof {
            complete: evidence::is_complete(&evidence, &self.plan.commands, head),
            provenance: evidence::has_provenance(&evidence),
        })
    }

    /// Runs the approved commands at the applied revision, once, and publishes.
    async fn verify(&mut self, head: &str, publishable: &Publishable, input_head: &str) -> Step<Value> {
        self.advance(Status::Verifying, [("appliedHead", Value::from(head))])?;
        self.publishing.point("publish.verifying")?;
        let commands = &self.plan.commands;
        let list = commands.commands().iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
        let directory = self.publishing.run_path(&self.subject).to_string_lossy().into_owned();
        let input = object([
            ("runId", Value::from(self.subject.run_id.as_str())),
            ("directory", Value::from(directory)),
            ("revision", Value::from(head)),
            ("commands", Value::from(list)),
            ("sourceHash", Value::from(commands.source_hash())),
        ]);
        let verdict = ask(&self.line, Port::Verification, "verify", input).await?;
        if let Some(blocked) = verdict.get("blocked").filter(|blocked| !blocked.is_null()) {
            let text = |key: &str| blocked.get(key).and_then(Value::as_str);
            let block = text("reason").and_then(Block::from_word).unwrap_or(Block::Verification);
            return Err(Stop::Block(block, text("detail").map(str::to_owned)));
        }
        // What a host says is no evidence; what stands on disk is.
        let proof = self.proof(Some(head))?;
        if !proof.provenance {
            return Err(Stop::Block(Block::SandboxUnavailable, None));
        }
        if !proof.complete {
            return Err(Stop::Block(Block::Verification, None));
        }
        self.advance(Status::Verified, [("evidence", Value::from(EVIDENCE))])?;
        self.publishing.point("publish.verified")?;
        self.publish(publishable, input_head).await
    }

    /// EX-VER-12 to EX-VER-15.
    async fn check_clean(&self, head: &str, publishable: &Publishable, input_head: &str) -> Step<()> {
        let state = self.state(publishable, input_head).await?;
        if state.head.as_deref() != Some(head) {
            return Err(Stop::Block(Block::RevisionChanged, None));
        }
        if state.clean { Ok(()) } else { Err(Stop::Block(Block::Dirty, None)) }
    }

    /// The last step: under both locks from here until `published` is saved (EX-CAN-48).
    async fn publish(&mut self, publishable: &Publishable, input_head: &str) -> Step<Value> {
        let head = self.checkpoint.as_ref().and_then(Checkpoint::applied_head).unwrap_or_default().to_owned();
        let _locks = self.publishing.last_step(&self.subject)?;
        self.entry_is_open().await?;
        self.check_clean(&head, publishable, input_head).await?;
        let mut place = object([
            ("runId", Value::from(self.subject.run_id.as_str())),
            ("repo", Value::from(self.plan.repo.as_str())),
            ("origin", Value::from(self.plan.origin())),
            ("branch", Value::from(self.plan.branch.as_str())),
            ("base", Value::from(self.plan.base.as_str())),
            ("head", Value::from(head.as_str())),
        ]);
        judge(&self.line, Port::Publisher, "push", place.clone()).await?;
        self.publishing.point("publish.push")?;
        let mut request = Value::Null;
        if let Some(text) = &publishable.pull_request {
            request = ask(&self.line, Port::Publisher, "findPullRequest", place.clone()).await?;
            if request.is_null() {
                place.insert("title", Value::from(text.title.as_str()));
                place.insert("body", Value::from(text.body.as_str()));
                request = ask(&self.line, Port::Publisher, "createPullRequest", place).await?;
            }
            if request.is_null() {
                return Err(Stop::Failed(shapeless("pr", Port::Publisher)));
            }
            self.publishing.point("publish.pr")?;
        }
        self.advance(Status::Published, [("pr", request)])?;
        self.publishing.point("publish.published")?;
        Ok(self.checkpoint.as_ref().map_or(Value::Null, answer))
    }

    fn advance<const N: usize>(&mut self, status: Status, members: [(&'static str, Value); N]) -> Result<()> {
        let now = self.publishing.now();
        let checkpoint = self.checkpoint.as_ref().map(|checkpoint| checkpoint.advanced(status, members, now));
        self.save(checkpoint.ok_or_else(foreign)??)
    }

    /// Once it is saved, and only then, the checkpoint is what stands (EX-ART-48).
    fn save(&mut self, checkpoint: Checkpoint) -> Result<()> {
        self.publishing.save(&self.subject, APPLICATION, &checkpoint.encode())?;
        self.checkpoint = Some(checkpoint);
        Ok(())
    }

    /// Saves the block, and gives it.
    fn block(&mut self, block: Block, detail: Option<&str>) -> Result<Value> {
        let now = self.publishing.now();
        let standing = self.checkpoint.clone();
        let standing = standing
            .unwrap_or_else(|| Checkpoint::begun(&self.subject.owner, self.fingerprint.as_deref(), now));
        let detail = detail.map(|detail| self.publishing.redacted(detail));
        let blocked = standing.blocked(block.word(), detail.as_deref(), now)?;
        self.save(blocked.clone())?;
        Ok(answer(&blocked))
    }
}

fn found(checkpoint: &Checkpoint) -> Found {
    let applied_head = checkpoint.applied_head().map(str::to_owned);
    Found { status: checkpoint.status(), applied_head }
}

/// What a publication that has ended gives.
fn answer(checkpoint: &Checkpoint) -> Value {
    let mut out = object([("status", Value::from(checkpoint.status().word()))]);
    let members: &[&str] = match checkpoint.status() {
        Status::Blocked => &["reason", "detail", "blockedAt", "appliedHead"],
        _ => &["appliedHead", "pr"],
    };
    for key in members {
        out.insert(*key, checkpoint.member(key));
    }
    out.into()
}

fn foreign() -> Error {
    let message = format!("{APPLICATION} belongs to another result than the run's");
    Error::new(Code::ExecutionResult, message).with_reason("foreign").with_remedy(
        "keep the file, and restore the run's own result and checkpoint from the same backup; do not dispatch",
    )
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Object {
    members.into_iter().collect()
}
