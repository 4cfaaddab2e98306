//! Section F: reading; and of section G, valid-until (HS-90) and the built-in probes (HS-94).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gallivant_core::harness_state::{
    Ask, BlockedOn, Derived, InputBuffer, LeaseProbe, Probe, ProcessProbe, Reader, Record, Session, State,
    UnknownReason,
};
use gallivant_core::process::{Liveness, ProcessIdentity, ProcessTable, SystemProcessTable};
use gallivant_core::testing::simulated_host;

use crate::support::{NOW, Seat, active, line, observe};

fn unknown(seat: &Seat) -> Derived {
    let derived = seat.read().expect("something stands there");
    assert_eq!(derived.state, State::Unknown);
    derived
}

fn assert_no_evidence(derived: &Derived) {
    assert_eq!(derived.observed_at_ms, None);
    assert_eq!((derived.ownership_sequence, derived.transition_sequence), (None, None));
    assert_eq!(derived.evidence_incarnation, None);
}

fn assert_all_evidence(derived: &Derived, stamp: u64) {
    assert_eq!(derived.harness.as_deref(), Some("codex"));
    assert_eq!(derived.observed_at_ms, Some(stamp));
    assert_eq!((derived.ownership_sequence, derived.transition_sequence), (Some(1), Some(1)));
    assert_eq!(derived.evidence_incarnation.as_deref(), Some("tok-a"));
}

/// A probe that counts how often it is asked.
#[derive(Debug)]
struct Counting(AtomicU32, Liveness);

impl Probe for Counting {
    fn liveness(&self, _record: &Record) -> Liveness {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1
    }
}

#[test]
fn hs_69_reading_takes_no_lock_and_creates_nothing() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let before = (seat.names(), seat.inode("harness-state"));
    let guard = writer.lock_current_ownership().expect("no error").expect("owned");
    assert_eq!(seat.reads().0, State::Active, "while a writer holds the lock");
    drop(guard);
    assert_eq!((seat.names(), seat.inode("harness-state")), before);
    let missing = Reader::open(seat.path("not/there"), &seat.options, seat.machine.host());
    assert_eq!(missing.read(None), None);
    assert!(!seat.path("not").exists());
}

#[test]
fn hs_70_not_found_is_never_observed_which_is_not_unknown() {
    let seat = Seat::new();
    assert_eq!(seat.read(), None);
    std::fs::remove_dir(&seat.dir).expect("removed");
    assert_eq!(seat.read(), None);
}

#[test]
fn hs_71_any_other_failure_to_read_is_unreadable() {
    for errno in ["EIO", "EACCES", "EMFILE", "ESTALE"] {
        let faults = format!(r#"[{{"on":"read","name":"harness-state","do":"error","errno":"{errno}"}}]"#);
        let seat = Seat::with_faults(Some(&faults));
        seat.plant("harness-state", line(&[]));
        let derived = unknown(&seat);
        assert_eq!(derived.unknown, Some(UnknownReason::UnreadableRecord), "{errno}");
        assert_eq!(derived.harness, None);
        assert_no_evidence(&derived);
    }
    let seat = Seat::new();
    seat.plant("file", "x");
    let below = Reader::open(seat.path("file/agent"), &seat.options, seat.machine.host());
    assert_eq!(below.read(None).and_then(|derived| derived.unknown), Some(UnknownReason::UnreadableRecord));
}

#[test]
fn hs_72_what_does_not_decode_is_malformed() {
    let seat = Seat::new();
    seat.plant("harness-state", "{");
    let derived = unknown(&seat);
    assert_eq!(derived.unknown, Some(UnknownReason::MalformedRecord));
    assert_eq!(derived.harness, None);
    assert_no_evidence(&derived);
}

#[test]
fn hs_73_a_foreign_schema_shows_its_harness_only() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("schema", "\"x\""), ("writtenAtMs", "0"), ("state", "\"y\"")]));
    let derived = unknown(&seat);
    assert_eq!(derived.unknown, Some(UnknownReason::UnsupportedSchema), "before any other row");
    assert_eq!(derived.harness.as_deref(), Some("codex"));
    assert_no_evidence(&derived);
}

#[test]
fn hs_74_a_stamp_beyond_the_skew_is_not_believed() {
    let seat = Seat::new();
    let beyond = NOW + 60_001;
    seat.plant("harness-state", line(&[("writtenAtMs", &beyond.to_string()), ("state", "\"y\"")]));
    let derived = unknown(&seat);
    assert_eq!(derived.unknown, Some(UnknownReason::FutureSkew));
    assert_all_evidence(&derived, beyond);
    seat.plant("harness-state", line(&[("writtenAtMs", &(NOW + 60_000).to_string())]));
    assert_eq!(seat.reads().0, State::Active);
}

#[test]
fn hs_75_age_makes_every_record_stale_also_a_terminal_one() {
    let seat = Seat::new();
    let old = (NOW - 900_000).to_string();
    for changes in
        [[("state", "\"ended\""), ("exit", "\"exit 0\"")], [("state", "\"y\""), ("reason", "\"r\"")]]
    {
        let mut changes = changes.to_vec();
        changes.push(("writtenAtMs", &old));
        seat.plant("harness-state", line(&changes));
        let derived = unknown(&seat);
        assert_eq!(derived.unknown, Some(UnknownReason::Stale));
        assert_all_evidence(&derived, NOW - 900_000);
    }
    seat.plant("harness-state", line(&[("writtenAtMs", &(NOW - 899_999).to_string())]));
    assert_eq!(seat.reads().0, State::Active);
}

#[test]
fn hs_76_the_evidence_fields() {
    let seat = Seat::new();
    seat.plant(
        "harness-state",
        line(&[("seq", "9007199254740993"), ("transitions", "18446744073709551615")]),
    );
    let derived = seat.read().expect("a record");
    assert_eq!(derived.harness.as_deref(), Some("codex"));
    assert_eq!(derived.observed_at_ms, Some(1_999_999_999_000));
    assert_eq!(derived.ownership_sequence, Some((1 << 53) + 1));
    assert_eq!(derived.transition_sequence, Some(u64::MAX));
    assert_eq!(derived.evidence_incarnation.as_deref(), Some("tok-a"));
}

#[test]
fn hs_77_an_unknown_state_word() {
    let seat = Seat::new();
    for word in ["\"unknown\"", "\"compacting\""] {
        seat.plant("harness-state", line(&[("state", word)]));
        let derived = unknown(&seat);
        assert_eq!(derived.unknown, Some(UnknownReason::LiteralUnknown));
        assert_all_evidence(&derived, 1_999_999_999_000);
    }
}

#[test]
fn hs_78_the_placeholder_is_claimed_and_nothing_else_is() {
    let seat = Seat::new();
    let ended = [("state", "\"ended\""), ("reason", "\"superseded\"")];
    seat.plant("harness-state", line(&ended));
    assert_eq!(unknown(&seat).unknown, Some(UnknownReason::Claimed));
    seat.plant("harness-state", line(&[ended[0], ended[1], ("exit", "\"exit 0\"")]));
    assert_eq!(seat.reads(), (State::Ended, Some("superseded".to_owned())));
    seat.plant("harness-state", line(&[ended[1]]));
    assert_eq!(seat.reads(), (State::Active, Some("superseded".to_owned())));
    seat.plant("harness-state", line(&[ended[0]]));
    assert_eq!(seat.reads(), (State::Ended, None));
}

#[test]
fn hs_79_the_probe_is_asked_only_where_its_answer_decides() {
    let seat = Seat::new();
    let asked = |changes: &[(&str, &str)]| {
        seat.plant("harness-state", line(changes));
        let probe = Counting(AtomicU32::new(0), Liveness::Dead);
        let _ = seat.reader().read(Some(&probe));
        probe.0.into_inner()
    };
    assert_eq!(asked(&[]), 1);
    for changes in [
        &[("schema", "\"x\"")][..],
        &[("writtenAtMs", "0")],
        &[("writtenAtMs", "2000000060001")],
        &[("state", "\"y\"")],
        &[("state", "\"ended\""), ("reason", "\"superseded\"")],
        &[("state", "\"ended\""), ("exit", "\"exit 0\"")],
        &[("state", "\"ended\"")],
        &[("ptySession", "")],
    ] {
        assert_eq!(asked(changes), 0, "{changes:?}");
    }
    seat.plant("harness-state", line(&[("ptySession", "")]));
    assert_eq!(seat.reads().0, State::Active, "without a probe a live record without session stays definite");
}

#[test]
fn hs_80_a_dead_session_or_an_unnamed_one_is_unknown_where_a_probe_is_given() {
    let seat = Seat::new();
    let with = |liveness: Liveness| seat.reader().read(Some(&liveness)).expect("a record");
    for state in ["ready", "idle", "active", "child"] {
        seat.plant("harness-state", line(&[("state", &format!("\"{state}\""))]));
        let derived = with(Liveness::Dead);
        assert_eq!(derived.unknown, Some(UnknownReason::SessionDead), "{state}");
        assert_all_evidence(&derived, 1_999_999_999_000);
        seat.plant("harness-state", line(&[("state", &format!("\"{state}\"")), ("ptySession", "")]));
        for liveness in [Liveness::Alive, Liveness::Dead, Liveness::Indeterminate] {
            assert_eq!(with(liveness).unknown, Some(UnknownReason::UnfencedRecord), "{state}");
        }
    }
    seat.plant("harness-state", line(&[("state", "\"ended\""), ("exit", "\"exit 0\""), ("ptySession", "")]));
    assert_eq!(with(Liveness::Dead).state, State::Ended);
}

#[test]
fn hs_81_alive_and_indeterminate_downgrade_nothing_and_a_failing_probe_is_indeterminate() {
    #[derive(Debug)]
    struct Panicking;
    impl Probe for Panicking {
        fn liveness(&self, _record: &Record) -> Liveness {
            std::panic::resume_unwind(Box::new("a probe that throws"))
        }
    }
    #[derive(Debug)]
    struct Slow(Duration);
    impl Probe for Slow {
        fn liveness(&self, _record: &Record) -> Liveness {
            std::thread::sleep(self.0);
            Liveness::Dead
        }
    }
    let mut seat = Seat::new();
    seat.options.probe_budget = Duration::from_millis(20);
    seat.plant("harness-state", line(&[]));
    let state = |probe: &dyn Probe| seat.reader().read(Some(probe)).expect("a record").state;
    assert_eq!(state(&Liveness::Alive), State::Active);
    assert_eq!(state(&Liveness::Indeterminate), State::Active);
    assert_eq!(state(&Panicking), State::Active);
    assert_eq!(state(&Slow(Duration::from_millis(60))), State::Active);
    let patient = {
        let mut patient = Seat::new();
        patient.options.probe_budget = Duration::from_secs(10);
        patient.plant("harness-state", line(&[]));
        patient.reader().read(Some(&Slow(Duration::from_millis(1)))).expect("a record").state
    };
    assert_eq!(patient, State::Unknown);
}

#[test]
fn hs_83_every_unknown_result_is_blank() {
    let words: Vec<&str> = UnknownReason::ALL.iter().map(|reason| reason.word()).collect();
    assert_eq!(
        words,
        [
            "unreadable-record",
            "malformed-record",
            "unsupported-schema",
            "future-skew",
            "stale",
            "literal-unknown",
            "claimed",
            "unfenced-record",
            "session-dead",
            "host-suspended",
            "rebooted",
            "activity-after-end"
        ]
    );
    let seat = Seat::new();
    let mut seen = Vec::new();
    let full = [("blockedOn", "\"human\""), ("ask", "\"question\""), ("inputBuffer", "\"empty\"")];
    for change in [
        ("schema", "\"x\""),
        ("writtenAtMs", "2000000060001"),
        ("writtenAtMs", "1"),
        ("state", "\"y\""),
        ("seq", "x"),
        ("ptySession", ""),
        ("ptySession", "\"s\""),
    ] {
        let mut changes = full.to_vec();
        changes.extend([change, ("exit", "\"e\"")]);
        seat.plant("harness-state", line(&changes));
        let derived = seat.reader().read(Some(&Liveness::Dead)).expect("a record");
        assert_eq!(
            (derived.state, derived.blocked_on, derived.input_buffer, derived.ask),
            (State::Unknown, BlockedOn::Unknown, InputBuffer::Unknown, Ask::Unknown)
        );
        assert_eq!((derived.since_ms, derived.exit.as_ref()), (None, None));
        assert_eq!(derived.reason.as_deref(), derived.unknown.map(UnknownReason::word));
        seen.push(derived.unknown.expect("a reason"));
    }
    assert_eq!(seen.len(), 7);
}

#[test]
fn hs_84_otherwise_the_recorded_tuple() {
    let seat = Seat::new();
    seat.plant(
        "harness-state",
        line(&[
            ("blockedOn", "\"human\""),
            ("ask", "\"review\""),
            ("inputBuffer", "\"nonempty\""),
            ("reason", "\"why\""),
            ("exit", "\"odd\""),
            ("sinceMs", "5"),
        ]),
    );
    let derived = seat.read().expect("a record");
    assert_eq!(
        (derived.state, derived.blocked_on, derived.input_buffer, derived.ask),
        (State::Active, BlockedOn::Human, InputBuffer::Nonempty, Ask::Review)
    );
    assert_eq!(
        (derived.since_ms, derived.exit.as_deref(), derived.reason.as_deref()),
        (Some(5), Some("odd"), Some("why"))
    );
    assert_eq!(derived.unknown, None);
    assert_all_evidence(&derived, 1_999_999_999_000);
}

#[test]
fn hs_90_the_answer_holds_until_the_instant_it_names_and_changes_there() {
    let seat = Seat::new();
    let stamp = NOW.to_string();
    let skewed = (NOW + 60_001).to_string();
    for changes in [
        vec![("writtenAtMs", stamp.as_str())],
        vec![("writtenAtMs", &stamp), ("state", "\"y\"")],
        vec![("writtenAtMs", &stamp), ("state", "\"ended\""), ("reason", "\"superseded\"")],
        vec![("writtenAtMs", &skewed)],
    ] {
        seat.plant("harness-state", line(&changes));
        seat.machine.set_wall_ms(NOW);
        let now = seat.read().expect("a record");
        let until = now.valid_until_ms.expect("time changes it");
        assert!(until > NOW);
        seat.machine.set_wall_ms(until - 1);
        assert_eq!(seat.read().as_ref(), Some(&now), "{changes:?}");
        seat.machine.set_wall_ms(until);
        assert_ne!(seat.read().as_ref(), Some(&now), "{changes:?}");
    }
    seat.machine.set_wall_ms(NOW);
    for forever in ["{".to_owned(), line(&[("schema", "\"x\"")]), line(&[("writtenAtMs", "0")])] {
        seat.plant("harness-state", forever);
        assert_eq!(seat.read().expect("a record").valid_until_ms, None, "time alone changes nothing");
    }
    seat.machine.set_wall_ms(u64::MAX - 5);
    seat.plant("harness-state", line(&[("writtenAtMs", &(u64::MAX - 5).to_string())]));
    assert_eq!(
        seat.read().expect("a record").valid_until_ms,
        None,
        "it would be stale after the end of time"
    );
}

#[test]
fn hs_94_the_session_lease_is_released_by_death() {
    let seat = Seat::new();
    let new = seat.new_session();
    let session = Session::start(new, &seat.options, seat.machine.host()).expect("a session");
    observe(session.writer(), &active());
    let probe = LeaseProbe::new(&seat.reader());
    let read = || seat.reader().read(Some(&probe)).expect("a record");
    assert_eq!(read().state, State::Active);
    let record = seat.record();
    assert_eq!(probe.liveness(&record), Liveness::Alive);
    assert_eq!(
        probe.liveness(&Record { incarnation: "tok-b".to_owned(), ..record.clone() }),
        Liveness::Indeterminate
    );
    drop(session);
    assert!(crate::support::locks::comes_free(&seat.path(".harness-state.lease")));
    assert_eq!(probe.liveness(&record), Liveness::Dead);
    assert_eq!(read().unknown, Some(UnknownReason::SessionDead));
    // A replaced or missing lease proves nothing.
    std::fs::remove_file(seat.path(".harness-state.lease")).expect("removed");
    assert_eq!(probe.liveness(&record), Liveness::Indeterminate);
    std::os::unix::fs::symlink("elsewhere", seat.path(".harness-state.lease")).expect("a link");
    assert_eq!(probe.liveness(&record), Liveness::Indeterminate);
    assert!(!seat.path("elsewhere").exists());
}

#[test]
fn hs_94_where_locks_do_not_exclude_the_lease_proves_nothing() {
    let (host, simulation) = simulated_host(1);
    simulation.files.set_locks_exclude(false);
    simulation.files.plant_directory("/agent").expect("planted");
    simulation.files.plant_file("/agent/.harness-state.lease", b"tok-a".to_vec()).expect("planted");
    simulation.files.plant_file("/agent/harness-state", line(&[])).expect("planted");
    let reader = Reader::open("/agent", &Default::default(), &host);
    let record = gallivant_core::harness_state::decode(line(&[]).as_bytes()).expect("it decodes");
    assert_eq!(LeaseProbe::new(&reader).liveness(&record), Liveness::Indeterminate);
    simulation.files.set_locks_exclude(true);
    assert_eq!(LeaseProbe::new(&reader).liveness(&record), Liveness::Dead);
}

#[test]
fn hs_94_process_identity_is_pid_start_boot_and_namespace() {
    let seat = Seat::new();
    let record = gallivant_core::harness_state::decode(line(&[]).as_bytes()).expect("it decodes");
    let own = SystemProcessTable.identify(std::process::id()).expect("this process runs");
    let judge = |process: ProcessIdentity| ProcessProbe::new(process, seat.machine.host()).liveness(&record);
    assert_eq!(judge(own.clone()), Liveness::Alive);
    assert_eq!(
        judge(ProcessIdentity { start: own.start + 1, ..own.clone() }),
        Liveness::Dead,
        "a reused pid"
    );
    assert_eq!(
        judge(ProcessIdentity { boot: "other".to_owned(), ..own.clone() }),
        Liveness::Dead,
        "a reboot"
    );
    for doubt in [
        ProcessIdentity { pid_namespace: "other".to_owned(), ..own.clone() },
        ProcessIdentity { pid_namespace: String::new(), ..own.clone() },
        ProcessIdentity { host: "other".to_owned(), boot: "other".to_owned(), ..own.clone() },
        ProcessIdentity { boot: String::new(), ..own.clone() },
    ] {
        assert_eq!(judge(doubt), Liveness::Indeterminate);
    }
    // Not permitted is alive: pid 1 is another user's wherever the tests do not run as root.
    let init = SystemProcessTable.identify(1).expect("pid 1 runs");
    assert_eq!(judge(init), Liveness::Alive);
}

#[test]
fn hs_71_a_directory_that_may_only_be_searched_can_be_read_from() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[]));
    let mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&seat.dir, permissions).expect("chmod");
    };
    mode(0o111);
    std::fs::set_permissions(seat.root(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("chmod");
    std::fs::set_permissions(seat.path("harness-state"), std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .expect("chmod");
    let status = crate::support::in_forked_child(|| {
        if rustix::process::geteuid().is_root() {
            // SAFETY: another user in the forked child only; root may list everything.
            let dropped =
                unsafe { libc::setgroups(0, std::ptr::null()) + libc::setgid(65534) + libc::setuid(65534) };
            assert_eq!(dropped, 0);
        }
        u8::from(seat.reads().0 != State::Active)
    });
    mode(0o755);
    assert_eq!(status, 0);
}

#[test]
fn a_path_that_somebody_gave_has_to_be_one() {
    let (host, _) = simulated_host(1);
    let refused = Reader::try_open("", &Default::default(), &host).expect_err("the empty path");
    assert_eq!((refused.code(), refused.reason()), (gallivant_core::Code::HarnessStateInput, Some("path")));
    let reader = Reader::try_open("/agent", &Default::default(), &host).expect("a path");
    assert_eq!(reader.path(), std::path::Path::new("/agent"));
    assert_eq!(reader.read(None), None);
}
