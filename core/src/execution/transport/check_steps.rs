//! The check of a transport as steps without I/O: which method is asked next, and with what (EX-TRA-07, EX-TRA-13, EX-TRA-21). What
//! is wrong with what was seen of it is judged beside, in `check_judge`. Whoever drives it calls the method, waits and counts.
//!
//! A job is made, looked at, collected, stopped twice with one key, and found by its key, while a key that nobody has sent finds
//! nothing. With a prompt whose job ends by itself, another one is followed to its end and collected. Its session goes on, or that
//! of the stopped one, and the turn that this makes is stopped.

use super::check_subject::{Finding, Subject};
use crate::execution::capability::RunKind;
use crate::execution::contract::question::{Intent, Job};
use crate::execution::contract::request::{ContinueRequest, PrepareRequest, SubmitRequest};
use crate::execution::contract::{Acknowledgement, Method, Methods, Phase};
use crate::execution::cursor::Cursor;
use crate::execution::keys;
use crate::execution::money::Nanos;
use crate::execution::states::{ProviderState, TerminalState};
use crate::json::{Object, Value};
use crate::redaction::{Patterns, Redactor};

/// For so long nobody asks the transport for anything, in milliseconds: long enough for a loop of its own to show.
pub const QUIET_MS: u64 = 250;

/// So often a job that is to end by itself is looked at, and then its result is asked for: ten seconds with [`QUIET_MS`] between.
pub(super) const MOST_LOOKS: u32 = 40;

/// A method that is to be called with this input.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which.
    pub method: Method,
    /// Its input.
    pub input: Object,
}

/// The check. [`CheckSteps::next`] and [`CheckSteps::saw`] take turns until there is nothing to ask any more.
pub struct CheckSteps<'a> {
    pub(super) subject: &'a Subject,
    methods: Methods,
    pub(super) redactor: Option<Redactor>,
    pub(super) stage: Stage,
    /// The turn that is stopped, the one that ends by itself, and the one that goes on.
    pub(super) stopped: Option<Turn>,
    pub(super) ended: Option<Turn>,
    pub(super) continued: Option<Turn>,
    pub(super) stops: Stops,
    pub(super) looks: u32,
    pub(super) findings: Vec<Finding>,
}

/// What came of the two stops.
#[derive(Debug, Default)]
pub(super) struct Stops {
    /// How many jobs were cancelled before the first.
    pub(super) before: u64,
    /// How many more after the second.
    pub(super) effects: Option<u64>,
    /// Whether one of them was confirmed.
    pub(super) is_confirmed: bool,
}

/// A turn that the provider owns, and what the last observation has said of it.
#[derive(Debug)]
pub(super) struct Turn {
    word: &'static str,
    pub(super) owned: Acknowledgement,
    pub(super) session: Option<String>,
    pub(super) cursor: Option<Cursor>,
    pub(super) started_at: u64,
    pub(super) observed_at: Option<u64>,
    pub(super) completed_at: Option<u64>,
    /// The last state, and when the first end was observed.
    pub(super) state: Option<ProviderState>,
    pub(super) terminal_observed_at: Option<u64>,
    /// Whether the last inspection had events, behind which there may be more.
    pub(super) has_events: bool,
}

/// What is to be asked next, where the transport has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Prepare,
    Submit,
    Inspect,
    Collect,
    Cancel,
    CancelAgain,
    InspectStopped,
    Lookup,
    LookupUnknown,
    SubmitEnding,
    InspectEnding,
    CollectEnded,
    Continue,
    InspectContinued,
    CancelContinued,
    Over,
}

impl<'a> CheckSteps<'a> {
    /// Of a transport that has these methods. One that the record needs and that is not there is found at once.
    #[must_use]
    pub fn new(methods: Methods, subject: &'a Subject) -> Self {
        let missing = Method::ALL
            .iter()
            .filter(|method| method.is_needed(subject.promised()) && !methods.has(**method));
        let findings = missing
            .map(|method| Finding {
                clause: "EX-TRA-01",
                method: *method,
                seen: "the method is missing".to_owned(),
            })
            .collect();
        CheckSteps {
            subject,
            methods,
            // Beyond what an automaton holds no words are shown at all.
            redactor: Redactor::new(&subject.secrets, Patterns::Recognised).ok(),
            stage: Stage::Prepare,
            stopped: None,
            ended: None,
            continued: None,
            stops: Stops::default(),
            looks: 0,
            findings,
        }
    }

    /// What is to be asked now. None at the end.
    #[allow(clippy::should_implement_trait, reason = "each step needs what was seen of the one before it")]
    pub fn next(&mut self) -> Option<Asked> {
        loop {
            let method = self.stage.method()?;
            let input = if self.methods.has(method) { self.input() } else { None };
            if let Some(Value::Object(input)) = input {
                return Some(Asked { method, input });
            }
            self.skipped();
            self.stage = self.stage.next();
        }
    }

    /// What was found. Without findings the transport has kept what was looked at.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// The turn that a stage is about.
    pub(super) fn turn(&mut self) -> &mut Option<Turn> {
        match self.stage {
            Stage::SubmitEnding | Stage::InspectEnding | Stage::CollectEnded => &mut self.ended,
            Stage::Continue | Stage::InspectContinued | Stage::CancelContinued => &mut self.continued,
            _ => &mut self.stopped,
        }
    }

    /// The turn whose session goes on: the one that has ended by itself, where there is one.
    pub(super) fn previous(&self) -> Option<&Turn> {
        self.ended.as_ref().filter(|turn| turn.end().is_some()).or(self.stopped.as_ref())
    }

    /// The input of the stage's method; none where there is nothing to ask.
    fn input(&self) -> Option<Value> {
        let can_cancel = |turn: &&Turn| self.subject.cancel && turn.end().is_none();
        match self.stage {
            Stage::Prepare => self.prepare(),
            Stage::Submit => Some(self.submit("run", &self.subject.prompt).to_value()),
            Stage::SubmitEnding => {
                let prompt = self.subject.ending_prompt.as_deref()?;
                Some(self.submit("ending", prompt).to_value())
            }
            Stage::Inspect | Stage::InspectContinued => {
                let turn = if self.stage == Stage::Inspect { &self.stopped } else { &self.continued };
                turn.as_ref().map(|turn| self.inspect(turn))
            }
            Stage::InspectStopped => {
                self.stops.effects?;
                self.stopped.as_ref().map(|turn| self.inspect(turn))
            }
            Stage::InspectEnding => self.ended.as_ref().map(|turn| self.inspect(turn)),
            Stage::Collect => self.stopped.as_ref().and_then(|turn| self.collect(turn)),
            Stage::CollectEnded => {
                let turn = self.ended.as_ref().filter(|turn| turn.end().is_some());
                turn.and_then(|turn| self.collect(turn))
            }
            Stage::Cancel => self.stopped.as_ref().filter(can_cancel).map(|turn| self.cancel(turn)),
            Stage::CancelAgain => self.stopped.as_ref().filter(can_cancel).map(|turn| self.cancel(turn)),
            Stage::CancelContinued => {
                self.continued.as_ref().filter(can_cancel).map(|turn| self.cancel(turn))
            }
            Stage::Lookup => self.stopped.as_ref().map(|turn| self.lookup("run", turn.started_at)),
            Stage::LookupUnknown => self.stopped.as_ref().map(|turn| self.lookup("unknown", turn.started_at)),
            Stage::Continue => self.go_on(),
            Stage::Over => None,
        }
    }

    fn prepare(&self) -> Option<Value> {
        self.subject.preparation.as_ref()?;
        let input = PrepareRequest {
            scope: self.subject.scope(),
            phase: Phase::Draft,
            prompt: &self.subject.prompt,
            environment: &self.subject.environment,
            allowance_usd: &Nanos::ZERO.to_number(),
        };
        Some(input.to_value())
    }

    fn submit(&'a self, word: &str, prompt: &'a str) -> Submit<'a> {
        let (run_id, operation_id, key) = self.names(word);
        Submit { steps: self, run_id, operation_id, key, prompt }
    }

    fn go_on(&self) -> Option<Value> {
        let turn = self.previous().filter(|_| self.subject.continuation)?;
        let session = turn.session.as_deref()?;
        let submit = self.submit("next", &self.subject.prompt);
        let input = ContinueRequest {
            submit: submit.request(),
            session_id: session,
            previous_job_id: &turn.owned.provider_job_id,
            previous_turn_id: Some(&turn.owned.turn_id),
            response: None,
        };
        Some(input.to_value())
    }

    fn lookup(&self, word: &str, intent_at_ms: u64) -> Value {
        let (run_id, operation_id, key) = self.names(word);
        let intent = Intent {
            run_id: &run_id,
            operation_id: &operation_id,
            idempotency_key: &key,
            input_head: self.subject.input_head.as_deref(),
            intent_at_ms,
            continued_session: None,
        };
        intent.lookup(&self.subject.scope(), None)
    }

    fn inspect(&self, turn: &Turn) -> Value {
        let run_id = self.subject.id(turn.word);
        turn.job(&run_id).inspect(&self.subject.scope(), turn.cursor.as_ref(), turn.started_at)
    }

    /// Of a turn that has not ended too, whose result is not there yet: what it says then is judged with care.
    fn collect(&self, turn: &Turn) -> Option<Value> {
        let end = match turn.end() {
            Some(TerminalState::Cancelled) => return None,
            Some(end) => end,
            None => TerminalState::Succeeded,
        };
        let run_id = self.subject.id(turn.word);
        let head = self.subject.input_head.as_deref();
        Some(turn.job(&run_id).collect(&self.subject.task_id, head, end.word()))
    }

    fn cancel(&self, turn: &Turn) -> Value {
        let run_id = self.subject.id(turn.word);
        let scope = self.subject.scope();
        let key = keys::cancellation_key(scope.task_id, scope.provider, scope.account, &run_id);
        turn.job(&run_id).cancel(&scope, &key)
    }

    /// Run, operation and key of a dispatch.
    fn names(&self, word: &str) -> (String, String, String) {
        let (run_id, operation_id) = (self.subject.id(word), self.subject.id(&format!("op-{word}")));
        let scope = self.subject.scope();
        let key = keys::dispatch_key(scope.task_id, scope.provider, scope.account, &run_id, &operation_id);
        (run_id, operation_id, key)
    }
}

/// A dispatch and its names.
struct Submit<'a> {
    steps: &'a CheckSteps<'a>,
    run_id: String,
    operation_id: String,
    key: String,
    prompt: &'a str,
}

impl Submit<'_> {
    fn request(&self) -> SubmitRequest<'_> {
        let subject = self.steps.subject;
        SubmitRequest {
            scope: subject.scope(),
            run_id: &self.run_id,
            operation_id: &self.operation_id,
            idempotency_key: &self.key,
            kind: RunKind::Implementation,
            prompt: self.prompt,
            input_head: subject.input_head.as_deref(),
            policy: &subject.policy,
            model: &subject.model,
            environment: &subject.environment,
            reservation_usd: None,
            hard_cap_usd: None,
            preparation: None,
        }
    }

    fn to_value(&self) -> Value {
        self.request().to_value()
    }
}

impl Turn {
    /// A turn that was asked for at this time, and is owned now. `session` is what was sent with it.
    pub(super) fn new(
        stage: Stage,
        owned: Acknowledgement,
        session: Option<String>,
        asked_at_ms: u64,
    ) -> Self {
        let word = match stage {
            Stage::SubmitEnding => "ending",
            Stage::Continue => "next",
            _ => "run",
        };
        Turn {
            word,
            session: owned.session_id.clone().or(session),
            cursor: owned.cursor.clone(),
            owned,
            started_at: asked_at_ms,
            observed_at: None,
            completed_at: None,
            state: None,
            terminal_observed_at: None,
            has_events: false,
        }
    }

    /// How it has ended, as far as it was observed.
    pub(super) fn end(&self) -> Option<TerminalState> {
        self.state.and_then(ProviderState::terminal)
    }

    fn job<'t>(&'t self, run_id: &'t str) -> Job<'t> {
        Job {
            run_id,
            provider_job_id: &self.owned.provider_job_id,
            session_id: self.session.as_deref(),
            turn_id: &self.owned.turn_id,
        }
    }
}

impl Stage {
    /// In their order; what is asked more than once is the judge's to say.
    pub(super) fn next(self) -> Stage {
        match self {
            Stage::Prepare => Stage::Submit,
            Stage::Submit => Stage::Inspect,
            Stage::Inspect => Stage::Collect,
            Stage::Collect => Stage::Cancel,
            Stage::Cancel => Stage::CancelAgain,
            Stage::CancelAgain => Stage::InspectStopped,
            Stage::InspectStopped => Stage::Lookup,
            Stage::Lookup => Stage::LookupUnknown,
            Stage::LookupUnknown => Stage::SubmitEnding,
            Stage::SubmitEnding => Stage::InspectEnding,
            Stage::InspectEnding => Stage::CollectEnded,
            Stage::CollectEnded => Stage::Continue,
            Stage::Continue => Stage::InspectContinued,
            Stage::InspectContinued => Stage::CancelContinued,
            Stage::CancelContinued | Stage::Over => Stage::Over,
        }
    }

    pub(super) fn method(self) -> Option<Method> {
        Some(match self {
            Stage::Prepare => Method::Prepare,
            Stage::Submit | Stage::SubmitEnding => Method::Submit,
            Stage::Inspect | Stage::InspectStopped | Stage::InspectEnding | Stage::InspectContinued => {
                Method::Inspect
            }
            Stage::Collect | Stage::CollectEnded => Method::Collect,
            Stage::Cancel | Stage::CancelAgain | Stage::CancelContinued => Method::Cancel,
            Stage::Lookup | Stage::LookupUnknown => Method::Lookup,
            Stage::Continue => Method::Continue,
            Stage::Over => return None,
        })
    }
}

impl std::fmt::Debug for CheckSteps<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("CheckSteps")
            .field("stage", &self.stage)
            .field("findings", &self.findings)
            .finish_non_exhaustive()
    }
}
