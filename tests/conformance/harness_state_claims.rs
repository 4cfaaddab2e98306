//! Section E: claims, and the session that holds one.

use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::harness_state::{
    Claim, NewSession, Outcome, Session, SessionEnvironment, State, Tick, VARIABLES, claim, claim_wrapperless,
};
use gallivant_core::process::SystemProcessTable;

use crate::support::{NOW, Seat, active, claimant, idle, line, observe};

fn wrapperless(seat: &Seat) -> Option<Claim> {
    let claimant = claimant("claude-session-x");
    claim_wrapperless(&seat.dir, &claimant, &seat.options, seat.machine.host()).expect("no error")
}

#[test]
fn hs_55_a_claim_answers_a_sequence_and_is_not_idempotent() {
    let seat = Seat::new();
    assert_eq!(seat.claim("tok-a").sequence, 1);
    assert_eq!(seat.claim("tok-a").sequence, 2);
}

#[test]
fn hs_56_a_claim_supersedes_anything() {
    for planted in [
        line(&[("writtenAtMs", &NOW.to_string())]),
        "{corrupted".to_owned(),
        String::new(),
        line(&[("schema", "\"another\"")]),
    ] {
        let seat = Seat::new();
        seat.plant("harness-state", planted);
        seat.claim("tok-b");
        assert_eq!(seat.record().incarnation, "tok-b");
    }
}

#[test]
fn hs_57_the_highest_seen_is_the_greater_of_record_and_floor_even_of_damaged_ones() {
    let next = |record: &[u8], floor: &[u8]| {
        let seat = Seat::new();
        if !record.is_empty() {
            seat.plant("harness-state", record);
        }
        if !floor.is_empty() {
            seat.plant(".harness-state.seq", floor);
        }
        let claimed = seat.claim("tok-b");
        (claimed.sequence, claimed.floor_damage.is_some(), seat.record())
    };
    for (floor, sequence) in [("7", 8), ("+07\n", 8), ("\u{a0}\u{2003} 7 \n", 8), ("0", 1), ("2", 6)] {
        let record = if sequence == 6 { line(&[("seq", "5")]) } else { String::new() };
        assert_eq!(next(record.as_bytes(), floor.as_bytes()).0, sequence, "{floor:?}");
    }
    for damaged in ["x", "-1", "1.0", "0x7", "7 7", " ", "18446744073709551616", "++7"] {
        let (sequence, reported, _) = next(b"", damaged.as_bytes());
        assert_eq!((sequence, reported), (1, true), "{damaged:?}");
    }
    let bad_utf8 = [&b"7"[..], b"\xff"].concat();
    assert!(next(b"", &bad_utf8).1);
    assert!(!next(b"", b"").1, "a missing floor is no damage");
    // Numbers are taken from what does not decode.
    let doubled =
        line(&[]).replacen("{\"schema\"", "{\"seq\":9,\"seq\":4,\"transitions\":\"x\",\"schema\"", 1);
    let (sequence, _, record) = next(doubled.as_bytes(), b"");
    assert_eq!((sequence, record.transitions), (10, 2), "of a doubled number the greatest counts");
    let foreign_type = line(&[("state", "7"), ("seq", "5"), ("transitions", "8"), ("writtenAtMs", "1.5")]);
    let (sequence, _, record) = next(foreign_type.as_bytes(), b"");
    assert_eq!((sequence, record.transitions, record.written_at_ms), (6, 9, NOW));
    let stamped = line(&[("state", "7"), ("writtenAtMs", &(NOW + 5).to_string())]);
    assert_eq!(next(stamped.as_bytes(), b"").2.written_at_ms, NOW + 6);
    let surrogate = line(&[("\\ud800", "1"), ("seq", "5")]);
    assert_eq!(next(surrogate.as_bytes(), b"").0, 6);
    for nothing in [
        [line(&[("seq", "5")]).as_bytes(), b"\xff"].concat(),
        format!("[{}]", line(&[("seq", "5")]).trim_end()).into_bytes(),
        format!("{}x", line(&[("seq", "5")])).into_bytes(),
        format!("\u{feff}{}", line(&[("seq", "5")])).into_bytes(),
        line(&[("seq", "5")]).as_bytes()[..100].to_vec(),
    ] {
        assert_eq!(next(&nothing, b"").0, 1, "{}", String::from_utf8_lossy(&nothing));
    }
}

#[test]
fn hs_58_the_next_sequence_is_one_above_and_the_last_one_can_be_used_up() {
    let seat = Seat::new();
    seat.plant(".harness-state.seq", (u64::MAX - 1).to_string());
    assert_eq!(seat.claim("tok-a").sequence, u64::MAX);
    let before = (seat.bytes("harness-state"), seat.bytes(".harness-state.seq"));
    let error =
        claim(&seat.dir, &claimant("tok-b"), &seat.options, seat.machine.host()).expect_err("none is left");
    assert_eq!(error.code().word(), "sequence-exhausted");
    assert_eq!((seat.bytes("harness-state"), seat.bytes(".harness-state.seq")), before);
}

#[test]
fn hs_59_the_placeholder() {
    let seat = Seat::plain();
    seat.claim("tok-a");
    assert_eq!(
        seat.text("harness-state").expect("a record"),
        format!(
            "{{\"schema\":\"st2.harness-state.v1\",\"agent\":\"host.worker\",\"harness\":\"codex\",\
             \"state\":\"ended\",\"blockedOn\":\"none\",\"inputBuffer\":\"unknown\",\"ask\":\"none\",\
             \"reason\":\"superseded\",\"incarnation\":\"tok-a\",\"seq\":1,\"sinceMs\":{NOW},\
             \"writtenAtMs\":{NOW},\"transitions\":0}}\n"
        )
    );
}

#[test]
fn hs_60_stamp_and_counters_of_a_claim() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("writtenAtMs", &(NOW + 10).to_string()), ("transitions", "41")]));
    seat.claim("tok-b");
    let record = seat.record();
    assert_eq!((record.written_at_ms, record.since_ms, record.transitions), (NOW + 11, NOW + 11, 42));
}

#[test]
fn hs_61_the_record_is_published_before_the_floor() {
    let seat = Seat::new();
    seat.claim("tok-a");
    let operations = seat.machine.operations();
    let at = |text: &str| operations.iter().position(|operation| operation.ends_with(text)).expect(text);
    assert!(at("-> harness-state") < at("-> .harness-state.seq"));
    assert!(at("open_lock .harness-state.lock") < at("-> harness-state"));
}

#[test]
fn hs_62_the_floor_is_a_decimal_line_never_lowered_and_its_failure_is_reported() {
    let seat = Seat::new();
    seat.plant(".harness-state.seq", "0009 ");
    seat.plant("harness-state", line(&[("seq", "2")]));
    assert_eq!(seat.claim("tok-a").sequence, 10);
    assert_eq!(seat.floor().as_deref(), Some("10\n"));
    assert_eq!(seat.mode(".harness-state.seq"), 0o600);
    let failing = Seat::with_faults(Some(
        r#"[{"on":"create","name":".harness-state.seq.tmp-*","do":"error","errno":"ENOSPC"}]"#,
    ));
    let claimed = failing.claim("tok-a");
    assert_eq!(claimed.sequence, 1);
    assert_eq!(claimed.floor_failure.expect("reported").os_error(), Some(libc::ENOSPC));
    assert_eq!(failing.record().seq, 1, "the claim stands");
}

#[test]
fn hs_63_a_claim_removes_the_context_sibling_under_its_lock() {
    let seat = Seat::new();
    seat.plant("harness-context", "window");
    assert!(seat.claim("tok-a").context_failure.is_none());
    assert!(!seat.path("harness-context").exists());
    assert!(seat.path(".harness-context.lock").exists());
    assert!(seat.claim("tok-b").context_failure.is_none(), "missing is success");
    let operations = seat.machine.operations();
    let state = operations.iter().position(|operation| operation.contains("open_lock .harness-state.lock"));
    let context =
        operations.iter().position(|operation| operation.contains("open_lock .harness-context.lock"));
    assert!(state < context);
    std::fs::create_dir(seat.path("harness-context")).expect("a directory");
    let claimed = seat.claim("tok-c");
    assert_eq!(claimed.context_failure.expect("reported").code(), Code::HarnessStateIo);
    assert_eq!(seat.record().seq, claimed.sequence);
}

#[test]
fn hs_64_a_wrapperless_claim_judges_and_claims_under_one_lock() {
    let seat = Seat::new();
    seat.plant(".harness-state.seq", "4\n");
    assert_eq!(wrapperless(&seat).expect("absent is eligible").sequence, 5, "the floor still counts");
    let seat = Seat::new();
    seat.plant("harness-state", "{x");
    assert!(wrapperless(&seat).is_none(), "unreadable is not");
    let operations = seat.machine.operations();
    assert_eq!(operations.iter().filter(|operation| operation.contains("open_lock")).count(), 1);
    assert_eq!(seat.text("harness-state").as_deref(), Some("{x"));
}

#[test]
fn hs_65_wrapperless_tokens() {
    let fresh = NOW.to_string();
    for (token, eligible) in [
        ("\"\"", true),
        ("\"claude-session-1\"", true),
        ("\"claude-session\"", false),
        ("\"x-claude-session-1\"", false),
        ("\"tok-a\"", false),
    ] {
        let seat = Seat::new();
        seat.plant("harness-state", line(&[("incarnation", token), ("writtenAtMs", &fresh)]));
        assert_eq!(wrapperless(&seat).is_some(), eligible, "{token}");
    }
    let mut seat = Seat::new();
    let refused = |seat: &Seat, token: &str| {
        claim_wrapperless(&seat.dir, &claimant(token), &seat.options, seat.machine.host())
            .map(|claim| claim.is_some())
    };
    assert_eq!(refused(&seat, "tok-a").expect_err("refused").code().word(), "bad-token");
    assert_eq!(refused(&seat, "").expect_err("refused").code().word(), "empty-token");
    assert!(seat.names().is_empty());
    seat.options.wrapperless_prefixes.push("codex-thread-".to_owned());
    assert!(refused(&seat, "codex-thread-1").expect("registered"), "adapters may register others");
}

#[test]
fn hs_66_endings_and_stale_records_are_eligible_and_nothing_fresh_of_a_wrapper_is() {
    let fresh = NOW.to_string();
    let stale = (NOW - 900_000).to_string();
    let nearly = (NOW - 899_999).to_string();
    let ahead = (NOW + 10_000_000).to_string();
    let cases: [(&[(&str, &str)], bool); 6] = [
        (&[("state", "\"ended\""), ("exit", "\"exit 0\""), ("writtenAtMs", &fresh)], true),
        (&[("state", "\"ended\""), ("reason", "\"superseded\""), ("writtenAtMs", &fresh)], false),
        (&[("writtenAtMs", &fresh)], false),
        (&[("writtenAtMs", &stale)], true),
        (&[("writtenAtMs", &nearly)], false),
        (&[("writtenAtMs", &ahead)], false),
    ];
    for (changes, eligible) in cases {
        let seat = Seat::new();
        seat.plant("harness-state", line(changes));
        assert_eq!(wrapperless(&seat).is_some(), eligible, "{changes:?}");
    }
}

#[test]
fn hs_67_a_session_is_handed_over_through_the_environment() {
    let seat = Seat::new();
    let new = seat.new_session();
    let session = Session::start(new, &seat.options, seat.machine.host()).expect("a session");
    let variables = session.environment().to_env();
    assert_eq!(
        VARIABLES,
        [
            "GALLIVANT_AGENT_DIR",
            "GALLIVANT_AGENT",
            "GALLIVANT_HARNESS",
            "GALLIVANT_SESSION_TOKEN",
            "GALLIVANT_SESSION_SEQ",
            "GALLIVANT_PTY_SESSION"
        ]
    );
    let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    assert!(VARIABLES.iter().all(|name| names.contains(name)));
    let look_up =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let handed = SessionEnvironment::from_env(look_up).expect("well formed").expect("a session");
    assert_eq!(handed, session.environment());
    let sibling = seat.writer_as(handed.identity.clone(), handed.sequence);
    assert_eq!(observe(&sibling, &active()), Outcome::Landed);

    for missing in ["GALLIVANT_AGENT_DIR", "GALLIVANT_AGENT", "GALLIVANT_HARNESS", "GALLIVANT_SESSION_TOKEN"]
    {
        let partial = SessionEnvironment::from_env(|name| if name == missing { None } else { look_up(name) });
        assert_eq!(partial.expect("no error"), None, "{missing}");
        let empty = |name: &str| if name == missing { Some(String::new()) } else { look_up(name) };
        assert_eq!(SessionEnvironment::from_env(empty).expect("no error"), None, "{missing}");
    }
    for bad in ["", "x", "-1", "+1", "1 ", "18446744073709551616"] {
        let wrong = |name: &str| {
            if name == "GALLIVANT_SESSION_SEQ" { Some(bad.to_owned()) } else { look_up(name) }
        };
        let error = SessionEnvironment::from_env(wrong).expect_err(bad);
        assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some("environment")));
    }
    let unfenced = |name: &str| if name == "GALLIVANT_PTY_SESSION" { None } else { look_up(name) };
    let handed = SessionEnvironment::from_env(unfenced).expect("well formed").expect("a session");
    assert_eq!(handed.identity.pty_session, None);
}

#[test]
fn hs_68_an_action_runs_under_the_lock_only_while_the_session_owns_the_seat() {
    let mut seat = Seat::new();
    seat.options.lock_wait = Duration::from_millis(crate::support::locks::BRIEF_WAIT_MS);
    let writer = seat.owner("tok-a");
    let other = seat.writer("tok-a", Some(1));
    let result =
        writer.with_current_ownership(|| other.observe(&active()).expect_err("the lock is held").code());
    assert_eq!(result.expect("no error"), Some(Code::HarnessStateBusy));
    observe(&writer, &active());
    assert_eq!(writer.with_current_ownership(|| 7).expect("no error"), Some(7));
    let never = |writer: &gallivant_core::harness_state::Writer| {
        writer.with_current_ownership(|| panic!("it ran")).expect("no error").is_none()
    };
    assert!(never(&seat.writer("tok-b", Some(1))), "another token");
    assert!(never(&seat.writer("tok-a", Some(2))), "another sequence");
    seat.plant(".harness-state.seq", "5\n");
    assert!(never(&writer), "the floor knows of a later claim");
    seat.plant(".harness-state.seq", "1\n");
    seat.plant("harness-state", line(&[("schema", "\"another\"")]));
    assert!(never(&writer), "another schema");
    seat.plant("harness-state", "{x");
    assert!(never(&writer));
    std::fs::remove_dir_all(&seat.dir).expect("removed");
    assert!(never(&writer));
    assert!(!seat.dir.exists());
}

#[test]
fn a_session_mints_claims_leases_attaches_beats_when_due_and_ends() {
    let seat = Seat::new();
    let new = seat.new_session();
    let session = Session::start(new.clone(), &seat.options, seat.machine.host()).expect("a session");
    assert!(session.holds_lease());
    assert_eq!(
        seat.text(".harness-state.lease").as_deref(),
        Some(session.writer().identity().token.as_str())
    );
    assert_eq!(seat.reads(), (State::Unknown, Some("claimed".to_owned())));
    let error = session.attach(u32::MAX - 1).expect_err("no such process");
    assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some("no-such-process")));

    let mut harness = std::process::Command::new("sleep").arg("600").spawn().expect("sleep starts");
    let process = session.attach(harness.id()).expect("attached");
    assert_eq!(process.pid, harness.id());
    assert_eq!(process.liveness(&SystemProcessTable), gallivant_core::process::Liveness::Alive);
    assert_eq!(seat.reads().0, State::Ready);
    observe(session.writer(), &idle());
    session.attach(harness.id()).expect("attached again");
    assert_eq!(seat.reads().0, State::Idle, "what was observed is not taken back");

    assert!(
        matches!(session.heartbeat_if_due().expect("no error"), Tick::NotDue(due) if due == NOW + 300_000)
    );
    seat.advance(200_000);
    let sibling = seat.writer_as(session.writer().identity().clone(), Some(1));
    observe(&sibling, &active());
    let stamp = seat.record().written_at_ms;
    seat.advance(150_000);
    assert!(
        matches!(session.heartbeat_if_due().expect("no error"), Tick::NotDue(due) if due == stamp + 300_000)
    );
    seat.advance(150_000);
    assert!(matches!(session.heartbeat_if_due().expect("no error"), Tick::Renewed));
    assert_eq!(seat.record().written_at_ms, NOW + 500_000);
    seat.advance(-400_000);
    assert!(matches!(session.heartbeat_if_due().expect("no error"), Tick::Renewed), "the clock was set back");

    harness.kill().expect("killed");
    harness.wait().expect("reaped");
    seat.advance(300_000);
    assert!(matches!(session.heartbeat_if_due().expect("no error"), Tick::HarnessGone));

    // A later session claims while the first still lives and holds the lease.
    let second = Session::start(new, &seat.options, seat.machine.host()).expect("a second session");
    assert_eq!(second.claim().sequence, 2);
    assert!(!second.holds_lease());
    let report = session.end(Some("signal 9")).expect("no error");
    assert!(report.outcome.refusal().is_some(), "the first no longer speaks");
    second.heartbeat_if_due().expect("no error");
    assert!(second.holds_lease(), "asked for again");
    second.end(Some("exit 0")).expect("no error");
    assert_eq!(seat.reads().0, State::Ended);
    assert!(!second.holds_lease());
}

#[test]
fn nobody_writes_over_a_floor_that_cannot_be_read_just_now() {
    let faults = r#"[{"on":"read","name":".harness-state.seq","do":"error","errno":"EIO"}]"#;
    let seat = Seat::with_faults(Some(faults));
    seat.plant(".harness-state.seq", "41\n");
    let claimed = claim(&seat.dir, &claimant("tok-a"), &seat.options, seat.machine.host());
    assert_eq!(claimed.expect_err("it may remember more").code(), Code::HarnessStateIo);
    assert_eq!(seat.names(), [".harness-state.lock", ".harness-state.seq"], "nothing was written");
    assert_eq!(seat.claim("tok-b").sequence, 42, "once it can be read it counts again");
    seat.machine.set_faults(faults).expect("well formed");
    seat.plant(".harness-state.seq", "50\n");
    let error = seat.writer("tok-b", Some(42)).observe(&active()).expect_err("it may fence this writer");
    assert_eq!(error.code(), Code::HarnessStateIo);
}

#[test]
fn a_session_is_not_started_where_its_directory_could_not_be_handed_over() {
    let seat = Seat::new();
    let odd = std::os::unix::ffi::OsStrExt::as_bytes(seat.dir.as_os_str()).to_vec();
    let odd: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec([odd, b"\xff".to_vec()].concat());
    let new = NewSession {
        directory: odd.into(),
        agent: "a".to_owned(),
        harness: "codex".to_owned(),
        pty_session: None,
        token: None,
    };
    let error = Session::start(new.clone(), &seat.options, seat.machine.host()).expect_err("not UTF-8");
    assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some("path")));
    let relative = NewSession { directory: "relative/agent".into(), ..new };
    let handed = crate::support::in_forked_child(|| {
        std::env::set_current_dir(seat.root()).expect("there");
        let session = Session::start(relative, &seat.options, seat.machine.host()).expect("a session");
        u8::from(!session.environment().agent_dir.starts_with('/'))
    });
    assert_eq!(handed, 0, "a hook may run in another directory");
}

#[test]
fn hs_57_a_floor_may_be_long_and_what_can_never_be_read_counts_as_none() {
    for floor in [format!("{}7{}", " ".repeat(5_000), "\n".repeat(5_000)), format!("{}7", "0".repeat(5_000))]
    {
        let seat = Seat::new();
        seat.plant(".harness-state.seq", floor);
        assert_eq!(seat.claim("tok-a").sequence, 8);
    }
    for target in [".harness-state.seq", "file/below", "nowhere"] {
        let seat = Seat::new();
        seat.plant("file", "x");
        std::os::unix::fs::symlink(target, seat.path(".harness-state.seq")).expect("a link");
        let claimed = seat.claim("tok-a");
        assert_eq!((claimed.sequence, claimed.floor_damage.is_some()), (1, true), "{target}");
        assert_eq!(seat.floor().as_deref(), Some("1\n"), "{target} is replaced");
    }
}

#[test]
fn hs_65_a_prefix_that_minted_tokens_may_have_is_refused() {
    for prefix in ["", "1"] {
        let mut seat = Seat::new();
        seat.options.wrapperless_prefixes = vec![prefix.to_owned()];
        let token = format!("{prefix}x");
        let refused = claim_wrapperless(&seat.dir, &claimant(&token), &seat.options, seat.machine.host());
        assert_eq!(refused.expect_err("refused").reason(), Some("wrapperless-prefix"), "{prefix:?}");
        assert!(seat.names().is_empty());
    }
}

#[test]
fn hs_67_what_no_environment_holds_starts_no_session() {
    let seat = Seat::new();
    let new = seat.new_session();
    for broken in [
        NewSession { agent: String::new(), ..new.clone() },
        NewSession { harness: String::new(), ..new.clone() },
        NewSession { agent: "a\0b".to_owned(), ..new.clone() },
        NewSession { pty_session: Some("\0".to_owned()), ..new.clone() },
        NewSession { token: Some("t\0".to_owned()), ..new.clone() },
    ] {
        let error = Session::start(broken, &seat.options, seat.machine.host()).expect_err("refused");
        assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some("environment")));
    }
    let empty = NewSession { token: Some(String::new()), ..new };
    let error = Session::start(empty, &seat.options, seat.machine.host()).expect_err("refused");
    assert_eq!(error.code(), Code::HarnessStateEmptyToken);
    assert!(seat.names().is_empty());
}
