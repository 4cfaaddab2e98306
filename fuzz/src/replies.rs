//! What a provider says of a job, and of its result: whatever text that is, it is taken whole and by the rules, or refused
//! with a reason, and what is taken makes a ledger that can be read again and in which nothing falls or moves.

use std::sync::OnceLock;

use gallivant_core::execution::contract::{Method, Reply};
use gallivant_core::execution::ledger::Ledger;
use gallivant_core::execution::ledger::record::Execution;
use gallivant_core::execution::limits::Limits;
use gallivant_core::execution::observation::{Observation, Recorded};
use gallivant_core::execution::result;
use gallivant_core::execution::transition::observe;
use gallivant_core::journal::Content;
use gallivant_core::json::Value;
use gallivant_core::{Code, Error};

const STARTED: u64 = 1_780_000_000_000;
const LAST: u64 = STARTED + 1_000;
const NOW: u64 = STARTED + 5_000;
const REASONS: [&str; 19] = [
    "shape",
    "cursor",
    "identity",
    "foreign",
    "session",
    "state",
    "time",
    "stale",
    "future",
    "completion",
    "page",
    "event",
    "incomplete",
    "contradiction",
    "ambiguous",
    "oversized",
    "missing",
    "ledger",
    "number",
];

/// A reply to an inspection and to a collection. Answers whether it was taken as one of them.
pub fn replies(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let (is_seen, is_collected) = (inspection(text), collection(text));
    is_seen || is_collected
}

fn inspection(text: &str) -> bool {
    let ledger = ledger("running", "null");
    let run = run_of(&ledger);
    let recorded = Recorded {
        provider_job_id: run.provider_job_id.as_deref(),
        turn_id: run.turn_id.as_deref(),
        session_id: run.session_id.as_deref(),
        started_at: run.started_at,
        observed_at: run.observed_at,
    };
    let limits = Limits::default();
    let judge = || match Reply::receive(Method::Inspect, text, limits.result_bytes)? {
        Some(reply) => Observation::judge(&reply, &recorded, &limits, NOW).map(Some),
        None => Ok(None),
    };
    let seen = match judge() {
        Err(error) => {
            is_refusal(&error, Code::ExecutionProtocol);
            return false;
        }
        Ok(None) => panic!("an inspection does not answer null"),
        Ok(Some(seen)) => seen,
    };
    assert_eq!(judge().expect("judged before").as_ref(), Some(&seen), "the same text is judged alike");
    assert_eq!((seen.identities.provider_job_id.as_str(), seen.identities.turn_id.as_str()), ("j-1", "t-1"));
    assert!(seen.session_id.as_deref().is_none_or(|session| session == "s-1"));
    assert!((LAST..=NOW).contains(&seen.observed_at));
    if let Some(completed) = seen.completed_at {
        assert!(seen.state.is_terminal() && (STARTED..=seen.observed_at).contains(&completed));
    }
    assert!(seen.cursor.as_ref().is_none_or(|cursor| cursor.as_json().len() <= 4_096));
    assert!(seen.events.len() <= 100);
    for event in &seen.events {
        assert!((1..=512).contains(&event.id.encode_utf16().count()));
        match &event.content {
            Content::Said { kind, .. } => assert!((1..=64).contains(&kind.len())),
            Content::Gap(_) => panic!("no event of a page is a gap"),
        }
    }
    let after = observe::observed(&ledger, "op-1", &seen, NOW, 10_000).expect("a small amount");
    stands(&ledger, &after);
    assert_eq!(run_of(&after).terminal_state, seen.state.terminal());
    assert!(!run_of(&after).collected);
    true
}

fn collection(text: &str) -> bool {
    let mut is_taken = false;
    for end in ["succeeded", "failed"] {
        let ledger = ledger("retrieving-results", &format!("\"{end}\""));
        let run = run_of(&ledger);
        let operation = ledger.operation_of(run).expect("its operation");
        let judged = match Reply::receive(Method::Collect, text, 8_388_608) {
            Err(error) => {
                is_refusal(&error, Code::ExecutionProtocol);
                return false;
            }
            Ok(None) => return false,
            Ok(Some(reply)) => match result::judge(&reply, &result::Owner::of(run, operation), NOW) {
                Err(error) => {
                    is_refusal(&error, Code::ExecutionResult);
                    continue;
                }
                Ok(judged) => judged,
            },
        };
        assert!(judged.completed_at.is_none_or(|completed| (STARTED..=LAST).contains(&completed)));
        let after = observe::collected(&ledger, "op-1", &judged, NOW, NOW).expect("a small amount");
        stands(&ledger, &after);
        let run = run_of(&after);
        assert!(run.collected && run.is_settled() && run.next_attempt_at.is_none());
        assert_eq!(run.terminal_state.map(|end| end.word()), Some(end), "a recorded end never changes");
        is_taken = true;
    }
    is_taken
}

fn is_refusal(error: &Error, code: Code) {
    let is_oversized = error.reason() == Some("oversized");
    assert!(error.code() == code || is_oversized, "{error}");
    assert!(error.reason().is_some_and(|reason| REASONS.contains(&reason)), "{error}");
}

/// What became of the ledger is one that can be read, with the same identities and nothing that fell.
fn stands(before: &Ledger, after: &Ledger) {
    let text = after.encode();
    let again = Ledger::parse(text.as_bytes()).expect("it is read again");
    assert_eq!(again.encode(), text);
    again.check_cursors().expect("its cursors are valid");
    let (was, is) = (run_of(before), run_of(&again));
    assert_eq!(
        (&was.provider_job_id, &was.turn_id, &was.session_id),
        (&is.provider_job_id, &is.turn_id, &is.session_id)
    );
    assert!(is.cost_usd >= was.cost_usd && after.allowance.charged_usd >= before.allowance.charged_usd);
    assert!(is.observed_at >= was.observed_at);
}

fn run_of(ledger: &Ledger) -> &Execution {
    ledger.current().expect("the current run")
}

/// A task with one run of a provider that was dispatched.
fn ledger(state: &str, end: &str) -> Ledger {
    static LEDGER: OnceLock<String> = OnceLock::new();
    let text = LEDGER.get_or_init(|| {
        let text = include_str!("../seeds/ledger.json");
        assert!(Value::parse(text).is_ok(), "the ledger is JSON");
        text.to_owned()
    });
    let text = text.replace("\"@state\"", &format!("\"{state}\"")).replace("\"@end\"", end);
    Ledger::parse(text.as_bytes()).expect("a ledger")
}
