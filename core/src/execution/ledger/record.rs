//! What `execution.json` holds, record by record (EX-LED-01 to EX-LED-05).
//!
//! A member that is null may be missing: older packages of version 1 did not write all of them. Times are milliseconds since
//! 1970, amounts are US dollars to the nano-dollar.

use super::fields::{Field, Members, member, others, record, word_fields};
use crate::error::Error;
pub use crate::execution::capability::RunKind;
pub use crate::execution::contract::Phase;
use crate::execution::money::{Nanos, Round};
use crate::execution::states::{ProviderState, TerminalState};
use crate::json::{Object, Value};
use crate::words::words;

words! {
    /// How an operation was dispatched.
    Action {
        /// As a new job.
        Submit = "submit",
        /// In the session of an earlier run.
        Continue = "continue",
    }
}

words! {
    /// Whether the provider is known to own an operation.
    Acceptance {
        /// Not known. Nothing else of the task is dispatched.
        Unknown = "unknown",
        /// Known, with its identities.
        Accepted = "accepted",
        /// Proved by an operator never to have been accepted (EX-LED-63).
        Absent = "absent",
    }
}

words! {
    /// What an operator did to an operation (EX-LED-59, EX-LED-63).
    Act {
        /// Restored its exact ownership.
        Adopt = "adopt",
        /// Recorded that the provider never accepted it.
        SettleAbsent = "settle-absent",
    }
}

words! {
    /// Why dispatch is fenced.
    FenceKind {
        /// An operator's stop.
        Operator = "operator",
        /// A stop of the preparation.
        Preparation = "preparation",
        /// A stop by time.
        Timeout = "timeout",
    }
}

words! {
    /// Where the fenced work runs.
    FenceScope {
        /// On this machine.
        Local = "local",
        /// At a provider.
        Remote = "remote",
    }
}

words! {
    /// How far a stop has come (EX-CAN-21).
    CancellationStatus {
        /// To be sent, or its reply was lost.
        Pending = "pending",
        /// Received, and not seen to be done.
        Acknowledged = "acknowledged",
        /// Seen to be done.
        Confirmed = "confirmed",
        /// The provider has no stop.
        Unsupported = "unsupported",
        /// The run had ended by itself.
        Terminal = "terminal",
    }
}

word_fields!(
    Action,
    Acceptance,
    Act,
    FenceKind,
    FenceScope,
    CancellationStatus,
    RunKind,
    Phase,
    ProviderState,
    TerminalState
);

impl CancellationStatus {
    /// Whether nothing changes it any more (EX-CAN-18).
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, CancellationStatus::Confirmed | CancellationStatus::Terminal)
    }
}

record! {
    /// One authorised dispatch (EX-LED-02).
    pub struct Operation {
        /// Its own name.
        pub operation_id: String = "operationId",
        /// The run that it makes.
        pub run_id: String = "runId",
        /// Its place in the order of intents, from 1.
        pub sequence: u64 = "sequence",
        /// How it was dispatched.
        pub action: Action = "action",
        /// What it is for.
        pub kind: RunKind = "kind",
        /// Which turn of an intake it is.
        pub phase: Option<Phase> = "phase",
        /// The hash of its input (EX-LED-12).
        pub input_fingerprint: String = "inputFingerprint",
        /// The key that the provider is given (EX-LED-13).
        pub idempotency_key: String = "idempotencyKey",
        /// When its intent was saved.
        pub intent_at: u64 = "intentAt",
        /// The revision that it starts from.
        pub input_head: Option<String> = "inputHead",
        /// Whether the provider is known to own it.
        pub acceptance: Acceptance = "acceptance",
        /// When its ownership was adopted.
        pub accepted_at: Option<u64> = "acceptedAt",
        /// What the provider answered, as it was first adopted.
        pub acknowledgement: Option<OwnedIdentity> = "acknowledgement",
        /// The session that was sent, or preassigned.
        pub session_id: Option<String> = "sessionId",
        /// What was reserved for it.
        pub reservation_usd: Option<Nanos> = "reservationUsd",
        /// The most that it is known to have cost.
        pub cost_usd: Option<Nanos> = "costUsd",
        /// The run that was current before it.
        pub previous_run_id: Option<String> = "previousRunId",
        /// The receipt that it used.
        pub preparation: Option<String> = "preparation",
        /// The request that it answers.
        pub response: Option<Response> = "response",
        /// What an operator did to it.
        pub operator_act: Option<OperatorAct> = "operatorAct",
    }
}

record! {
    /// The names under which a provider owns an operation. Older records may lack the root turn.
    pub struct OwnedIdentity {
        /// Its job.
        pub provider_job_id: Option<String> = "providerJobId",
        /// The native session.
        pub session_id: Option<String> = "sessionId",
        /// Its root turn.
        pub turn_id: Option<String> = "turnId",
        /// Where its pages begin.
        pub cursor: Value = "cursor",
    }
}

record! {
    /// Which request an answer was for. The answer itself is not kept.
    pub struct Response {
        /// The exact request's name.
        pub signature: String = "signature",
    }
}

record! {
    /// An operator's act and what it rests on (EX-LED-67).
    pub struct OperatorAct {
        /// What was done.
        pub act: Act = "act",
        /// When.
        pub at: u64 = "at",
        /// What was seen, where and by whom; redacted.
        pub evidence: String = "evidence",
    }
}

record! {
    /// What is known of a run (EX-LED-03).
    pub struct Execution {
        /// Its own name.
        pub run_id: String = "runId",
        /// The operation that made it; none only for a run from before the ledger.
        pub operation_id: Option<String> = "operationId",
        /// What it is for.
        pub kind: RunKind = "kind",
        /// Whether it is from before the ledger.
        pub legacy: bool = "legacy",
        /// The kind of transport.
        pub transport: String = "transport",
        /// The receipt of an intake.
        pub receipt: Option<String> = "receipt",
        /// The job that owns it; for a local run the local run's id.
        pub provider_job_id: Option<String> = "providerJobId",
        /// Its native session.
        pub session_id: Option<String> = "sessionId",
        /// Its root turn.
        pub turn_id: Option<String> = "turnId",
        /// The environment, as sent or as echoed.
        pub environment: Value = "environment",
        /// The model, as sent or as echoed.
        pub model: Value = "model",
        /// The policy, as sent or as echoed.
        pub policy: Value = "policy",
        /// What it was last seen doing.
        pub state: ProviderState = "state",
        /// How its root turn ended.
        pub terminal_state: Option<TerminalState> = "terminalState",
        /// When it began at the earliest.
        pub started_at: u64 = "startedAt",
        /// The time of the last accepted observation.
        pub observed_at: Option<u64> = "observedAt",
        /// When the last pass was.
        pub reconciled_at: Option<u64> = "reconciledAt",
        /// When the next pass is due.
        pub next_attempt_at: Option<u64> = "nextAttemptAt",
        /// The time of the first terminal observation.
        pub terminal_observed_at: Option<u64> = "terminalObservedAt",
        /// When its root turn ended, exactly.
        pub completed_at: Option<u64> = "completedAt",
        /// When its result was collected.
        pub collected_at: Option<u64> = "collectedAt",
        /// Whether only a bound of its end is known.
        pub completion_inferred: bool = "completionInferred",
        /// Failed passes in a row.
        pub failures: u64 = "failures",
        /// The last failure that was saved.
        pub last_error: Option<LastError> = "lastError",
        /// The last validated cursor.
        pub cursor: Value = "cursor",
        /// The most that it is known to have cost.
        pub cost_usd: Option<Nanos> = "costUsd",
        /// Whether its result is collected.
        pub collected: bool = "collected",
        /// Whether its output must not be published.
        pub quarantined: bool = "quarantined",
        /// Whether its result was rejected.
        pub result_rejected: bool = "resultRejected",
        /// Whether its operation was settled as absent.
        pub absent: bool = "absent",
        /// The controls that were applied to it.
        pub controls: Vec<String> = "controls",
        /// Its stop.
        pub cancellation: Option<Cancellation> = "cancellation",
        /// The exit that a stop has met.
        pub exit_snapshot: Option<ExitSnapshot> = "exitSnapshot",
        /// The coordinator's own note, as it was given.
        pub workflow: Value = "workflow",
    }
}

impl Execution {
    /// A run of which nothing is known but that it may have begun, at this time at the earliest, in milliseconds since 1970.
    #[must_use]
    pub fn begun(run_id: String, kind: RunKind, transport: String, started_at: u64) -> Self {
        Execution {
            run_id,
            operation_id: None,
            kind,
            legacy: false,
            transport,
            receipt: None,
            provider_job_id: None,
            session_id: None,
            turn_id: None,
            environment: Value::Null,
            model: Value::Null,
            policy: Value::Null,
            state: ProviderState::StatusUnknown,
            terminal_state: None,
            started_at,
            observed_at: None,
            reconciled_at: None,
            next_attempt_at: None,
            terminal_observed_at: None,
            completed_at: None,
            collected_at: None,
            completion_inferred: false,
            failures: 0,
            last_error: None,
            cursor: Value::Null,
            cost_usd: None,
            collected: false,
            quarantined: false,
            result_rejected: false,
            absent: false,
            controls: Vec::new(),
            cancellation: None,
            exit_snapshot: None,
            workflow: Value::Null,
            unknown: Object::new(),
        }
    }

    /// Whether nothing more is to come of it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.collected || self.result_rejected || self.absent || self.state == ProviderState::Cancelled
    }
}

record! {
    /// A failure that was saved.
    pub struct LastError {
        /// The error's code.
        pub code: String = "code",
        /// The error's reason.
        pub reason: Option<String> = "reason",
        /// When.
        pub at: u64 = "at",
    }
}

impl LastError {
    /// A failure at a time, in milliseconds since 1970.
    #[must_use]
    pub fn of(error: &Error, at: u64) -> Self {
        let reason = error.reason().map(str::to_owned);
        LastError { code: error.code().name().to_owned(), reason, at, unknown: Object::new() }
    }
}

record! {
    /// A stop (EX-CAN-02).
    pub struct Cancellation {
        /// How far it has come.
        pub status: CancellationStatus = "status",
        /// Why it was first asked for.
        pub reason: String = "reason",
        /// When it was first asked for.
        pub requested_at: u64 = "requestedAt",
        /// The key that the provider is given (EX-LED-14).
        pub idempotency_key: String = "idempotencyKey",
        /// Stop calls that were made.
        pub attempts: u64 = "attempts",
        /// Lost replies in a row.
        pub failures: u64 = "failures",
        /// When the last stop call was.
        pub last_attempt_at: Option<u64> = "lastAttemptAt",
        /// When the next one is due.
        pub next_attempt_at: Option<u64> = "nextAttemptAt",
        /// When it was confirmed or met an ended run.
        pub resolved_at: Option<u64> = "resolvedAt",
    }
}

record! {
    /// How a local process had ended when its stop came (EX-CAN-33).
    pub struct ExitSnapshot {
        /// Its exit status.
        pub exit: Option<i64> = "exit",
        /// The signal that ended it.
        pub signal: Value = "signal",
        /// When it ended.
        pub ended_at: Option<u64> = "endedAt",
    }
}

record! {
    /// What forbids new dispatch for the task (EX-LED-05).
    pub struct StopFence {
        /// Its rank.
        pub kind: FenceKind = "kind",
        /// Where the work runs.
        pub scope: FenceScope = "scope",
        /// The run that it names.
        pub run_id: Option<String> = "runId",
        /// When it was set.
        pub at: u64 = "at",
        /// Why.
        pub reason: String = "reason",
    }
}

/// The task's money.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowance {
    /// The budget, set by the first intent.
    pub budget_usd: Option<Nanos>,
    /// What is charged against it.
    pub charged_usd: Nanos,
    /// Members that this package does not know, kept on rewrite.
    pub unknown: Object,
}

/// Budgets are rounded down, everything else up (EX-COST-20): a budget with more digits, from an older package, has to equal
/// the one that its coordinator still gives.
impl Field for Allowance {
    fn read(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        let budget_usd = match object.get("budgetUsd") {
            None | Some(Value::Null) => None,
            Some(budget) => Some(Nanos::from_value(budget, Round::Down)?),
        };
        Some(Allowance {
            budget_usd,
            charged_usd: member(object, "chargedUsd").ok()?,
            unknown: others(object, &["budgetUsd", "chargedUsd"]),
        })
    }

    fn write(&self, out: &mut String) {
        let mut members = Members::begin(out);
        members.put("budgetUsd", &self.budget_usd);
        members.put("chargedUsd", &self.charged_usd);
        members.end(&self.unknown);
    }
}

record! {
    /// What a preparation has authorised (EX-PRE-02).
    pub struct Receipt {
        /// 1.
        pub version: u64 = "version",
        /// The provider.
        pub provider: String = "provider",
        /// The account.
        pub account: String = "account",
        /// The declared authority.
        pub authority: String = "authority",
        /// The declared boundary.
        pub boundary: String = "boundary",
        /// The task.
        pub task_id: String = "taskId",
        /// The hash of the exact input (EX-PRE-03).
        pub input_fingerprint: String = "inputFingerprint",
        /// When it was issued.
        pub issued_at: u64 = "issuedAt",
        /// The turn that it is for.
        pub phase: Phase = "phase",
    }
}

record! {
    /// A proven refusal (EX-LED-38).
    pub struct DispatchRefusal {
        /// The operation.
        pub operation_id: String = "operationId",
        /// The run that it would have made.
        pub run_id: String = "runId",
        /// When.
        pub at: u64 = "at",
        /// The transport's word for the cause.
        pub code: String = "code",
    }
}
