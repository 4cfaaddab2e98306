//! Section H as far as one hook call goes: identity, deadline, log.

use std::time::{Duration, Instant};

use gallivant_core::harness_state::adapters::{Harness, Ignored};
use gallivant_core::harness_state::{
    HookOutcome, HookReport, MAX_LOG_BYTES, Outcome, Refusal, SessionEnvironment, State, observe_hook,
};

use crate::support::{Seat, identity};

fn session(seat: &Seat) -> SessionEnvironment {
    let sequence = Some(seat.claim("tok-a").sequence);
    SessionEnvironment {
        agent_dir: seat.dir.to_str().expect("UTF-8").to_owned(),
        identity: identity("tok-a"),
        sequence,
    }
}

fn hook(seat: &Seat, session: Option<&SessionEnvironment>, payload: &str) -> HookReport {
    observe_hook(Harness::Claude, payload.as_bytes(), session, &seat.options, seat.machine.host())
}

fn prompt() -> &'static str {
    r#"{"hook_event_name":"UserPromptSubmit","session_id":"theirs","cwd":"/elsewhere"}"#
}

#[test]
fn hs_112_a_hook_without_identity_changes_nothing() {
    let seat = Seat::new();
    seat.claim("tok-a");
    let before = seat.bytes("harness-state");
    let report = hook(&seat, None, prompt());
    let HookOutcome::Observed(answer) = &report.outcome else { panic!("{report:?}") };
    assert_eq!(answer.outcome, Outcome::Refused(Refusal::IdentityMissing));
    assert_eq!(report.outcome.word(), "identity-missing");
    assert_eq!(seat.bytes("harness-state"), before);
    assert!(!seat.path(".harness-state.log").exists());
}

#[test]
fn hs_112_the_record_says_what_the_session_is_and_not_what_the_payload_calls_it() {
    let seat = Seat::new();
    let session = session(&seat);
    assert_eq!(hook(&seat, Some(&session), prompt()).outcome.word(), "landed");
    let record = seat.record();
    assert_eq!((record.agent.as_str(), record.incarnation.as_str(), record.seq), ("host.worker", "tok-a", 1));
    assert_eq!(seat.reads().0, State::Active);
    assert!(!seat.text("harness-state").expect("a record").contains("theirs"));
}

#[test]
fn hs_115_a_hook_gives_up_within_its_deadline_and_says_so_in_the_log() {
    let seat = Seat::new();
    let session = session(&seat);
    let owner = seat.writer("tok-a", Some(1));
    let guard = owner.lock_current_ownership().expect("no error").expect("owned");
    let takes = || {
        let started = Instant::now();
        let report = hook(&seat, Some(&session), prompt());
        let taken = started.elapsed();
        assert_eq!(report.outcome.word(), "HARNESS_STATE_BUSY");
        assert!(taken >= Duration::from_millis(250), "{taken:?}");
        taken
    };
    // A busy machine may delay any single one.
    assert!((0..20).any(|_| takes() < Duration::from_millis(900)));
    drop(guard);
    let log = seat.text(".harness-state.log").expect("a log");
    assert!(log.contains("UserPromptSubmit") && log.contains("HARNESS_STATE_BUSY"), "{log}");
    assert_eq!(seat.mode(".harness-state.log"), 0o600);
}

#[test]
fn hs_115_what_could_not_be_done_is_logged_without_the_payloads_content() {
    let seat = Seat::new();
    let session = session(&seat);
    for (payload, word) in [
        (
            r#"{"hook_event_name":"Notification","message":"secret-1","notification_type":"later"}"#,
            "unknown-notification",
        ),
        (r#"{"hook_event_name":"Notification","message":"secret-2"}"#, "untyped-notification"),
        (r#"{"hook_event_name":"secret-3"#, "HARNESS_STATE_INPUT"),
        (r#"{"hook_event_name":"Stop","hook_event_name":"Stop","x":"secret-4"}"#, "HARNESS_STATE_INPUT"),
        ("", "HARNESS_STATE_INPUT"),
    ] {
        let before = seat.bytes("harness-state");
        assert_eq!(hook(&seat, Some(&session), payload).outcome.word(), word, "{payload}");
        assert_eq!(seat.bytes("harness-state"), before);
    }
    let log = seat.text(".harness-state.log").expect("a log");
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(!log.contains("secret"), "{log}");
    let quiet = hook(&seat, Some(&session), r#"{"hook_event_name":"ConfigChange"}"#);
    assert!(matches!(quiet.outcome, HookOutcome::Ignored(Ignored::NoChange)), "{quiet:?}");
    assert_eq!(seat.text(".harness-state.log").expect("a log").lines().count(), 5, "nothing to look into");
}

#[test]
fn hs_115_the_log_is_bounded_and_drops_its_oldest_half() {
    let seat = Seat::new();
    let session = session(&seat);
    for round in 0..2_000 {
        seat.machine.set_wall_ms(crate::support::NOW + round);
        hook(&seat, Some(&session), r#"{"hook_event_name":"Notification"}"#);
        let size = std::fs::metadata(seat.path(".harness-state.log")).expect("a log").len();
        assert!(size <= MAX_LOG_BYTES, "{size}");
    }
    let log = seat.text(".harness-state.log").expect("a log");
    let stamps: Vec<u64> = log
        .lines()
        .map(|line| line.split(' ').next().and_then(|ms| ms.parse().ok()).expect("whole lines"))
        .collect();
    assert_eq!(*stamps.last().expect("lines"), crate::support::NOW + 1_999, "the newest is there");
    assert!(stamps.windows(2).all(|pair| pair[1] == pair[0] + 1), "in order and without holes");
    assert!(log.len() as u64 > MAX_LOG_BYTES / 4);
}

#[test]
fn hs_115_a_log_that_cannot_be_written_breaks_nothing() {
    for plant in ["directory", "link", "pipe"] {
        let seat = Seat::new();
        let session = session(&seat);
        let path = seat.path(".harness-state.log");
        match plant {
            "directory" => std::fs::create_dir(&path).expect("a directory"),
            "link" => std::os::unix::fs::symlink(seat.path("elsewhere"), &path).expect("a link"),
            _ => {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
                    .expect("a pipe");
            }
        }
        let report = hook(&seat, Some(&session), r#"{"hook_event_name":"Notification"}"#);
        assert_eq!(report.outcome.word(), "untyped-notification", "{plant}");
        assert!(!seat.path("elsewhere").exists());
    }
}

#[test]
fn an_ending_of_the_session_is_not_revived_by_a_late_hook() {
    let seat = Seat::new();
    let session = session(&seat);
    hook(&seat, Some(&session), prompt());
    let ended = hook(&seat, Some(&session), r#"{"hook_event_name":"SessionEnd","reason":"logout"}"#);
    assert_eq!(ended.outcome.word(), "landed");
    assert_eq!(hook(&seat, Some(&session), prompt()).outcome.word(), "terminal");
    assert_eq!(seat.reads().0, State::Ended);
}

#[test]
fn hs_115_no_umask_takes_the_log_from_its_owner() {
    let seat = Seat::new();
    let session = session(&seat);
    let status = crate::support::in_forked_child(|| {
        // SAFETY: the umask of the forked child only.
        unsafe { libc::umask(0o777) };
        hook(&seat, Some(&session), r#"{"hook_event_name":"Notification"}"#);
        0
    });
    assert_eq!(status, 0);
    assert_eq!(seat.mode(".harness-state.log"), 0o600);
}

#[test]
fn hs_115_a_log_that_others_may_read_is_narrowed_by_the_next_entry() {
    let seat = Seat::new();
    let session = session(&seat);
    seat.plant(".harness-state.log", "1 older\n");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(seat.path(".harness-state.log"), everybody).expect("its owner may");
    hook(&seat, Some(&session), r#"{"hook_event_name":"Notification"}"#);
    assert_eq!(seat.mode(".harness-state.log"), 0o600);
    let log = seat.text(".harness-state.log").expect("it stands");
    assert_eq!(log.lines().count(), 2, "{log}");
}

#[test]
fn hs_115_an_unknown_events_own_name_is_not_logged() {
    let seat = Seat::new();
    let session = session(&seat);
    hook(&seat, Some(&session), "{\"hook_event_name\":\"secret-name\",\"source\":\"\\ud800\"}");
    let log = seat.text(".harness-state.log").expect("it was lossy");
    assert!(log.contains("claude - lossy") && !log.contains("secret"), "{log}");
}
