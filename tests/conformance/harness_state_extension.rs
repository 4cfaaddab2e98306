//! The extension object: clocks, the order and strength of evidence, children, the harness's process (HS-95 to HS-99,
//! HS-113, HS-114).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::clock::{Clock, ClockReading};
use gallivant_core::harness_state::adapters::{Child, ChildStep, Harness};
use gallivant_core::harness_state::{
    Claimant, Derived, Evidence, HookOutcome, HookReport, NewSession, Observation, Options, Outcome, Reader,
    Record, Refusal, Session, Skip, State, Tick, Writer, claim_wrapperless, decode, observe_hook,
};
use gallivant_core::process::ProcessFact;
use gallivant_core::testing::{OperationKind, Point, Simulation, simulated_host};

use crate::support::{Seat, active, idle, line, observe};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A session on a simulated machine that has been up for an hour.
struct Scene {
    simulation: Simulation,
    host: Host,
    options: Options,
    session: Session,
}

impl Scene {
    fn new() -> Self {
        Scene::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let (host, simulation) = simulated_host(1);
        simulation.clock.advance(HOUR);
        let new = NewSession {
            directory: "/agent".into(),
            agent: "host.worker".to_owned(),
            harness: "claude".to_owned(),
            pty_session: Some("worker".to_owned()),
            token: None,
        };
        let session = Session::start(new, &options, &host).expect("it starts");
        Scene { simulation, host, options, session }
    }

    fn writer(&self) -> &Writer {
        self.session.writer()
    }

    fn by(&self, evidence: Evidence) -> Writer {
        let writer = self.session.environment().writer(&self.options, &self.host).expect("a writer");
        writer.with_evidence(evidence).expect("it is known")
    }

    fn record(&self) -> Record {
        decode(&self.simulation.files.contents("/agent/harness-state").expect("a record")).expect("decodes")
    }

    fn text(&self) -> String {
        let bytes = self.simulation.files.contents("/agent/harness-state").expect("a record");
        String::from_utf8(bytes).expect("UTF-8")
    }

    fn read(&self) -> Derived {
        self.read_on(&self.host)
    }

    fn read_on(&self, host: &Host) -> Derived {
        Reader::open("/agent", &self.options, host).read(None).expect("something was observed")
    }

    fn reads(&self) -> (State, String) {
        let derived = self.read();
        (derived.state, derived.reason.map(Into::into).unwrap_or_default())
    }

    fn hook(&self, payload: &str) -> HookReport {
        let session = self.session.environment();
        observe_hook(Harness::Claude, payload.as_bytes(), Some(&session), &self.options, &self.host)
    }

    fn child(&self, id: &str, step: ChildStep) -> Outcome {
        let child = Child { id: id.to_owned(), step };
        self.writer().note_child(&child).expect("no error").outcome
    }
}

fn refusal(report: &HookReport) -> Option<Refusal> {
    match &report.outcome {
        HookOutcome::Observed(report) => report.outcome.refusal(),
        HookOutcome::Ignored(_) | HookOutcome::Failed(_) => None,
    }
}

#[test]
fn hs_95_our_writers_add_one_key_after_transitions() {
    let scene = Scene::new();
    scene.simulation.processes.start(4711, 99);
    scene.session.attach(4711).expect("it runs");
    scene.simulation.clock.suspend(MINUTE);
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    scene.child("a-1", ChildStep::Started);
    let expected = concat!(
        r#""transitions":2,"gallivant":{"bootId":"00000000-0000-4000-8000-000000000001","bootMs":3660000,"#,
        r#""awakeMs":3600000,"host":"simulated-host","eventMs":3660000,"evidence":"hook","children":["a-1"],"#,
        r#""process":{"pid":4711,"start":99,"pidns":"pid:[4026531836]"}}}"#,
    );
    assert!(scene.text().ends_with(&format!("{expected}\n")), "{}", scene.text());
    // What a later version adds inside stays, as what stands beside it does.
    let later = scene.text().replacen(r#""host""#, r#""later":[1, {"x":2}],"host""#, 1);
    scene.simulation.files.overwrite("/agent/harness-state", later.as_bytes()).expect("planted");
    scene.writer().heartbeat().expect("no error");
    assert!(scene.text().contains(r#""later":[1,{"x":2}]}}"#), "{}", scene.text());
    let claimed = Scene::new();
    assert!(claimed.text().contains(r#""gallivant":{"bootId""#), "a claim's placeholder too");
}

#[test]
fn hs_95_it_can_be_switched_off_and_what_is_damaged_is_none() {
    let plain = Scene::with(Options { extension: false, ..Options::default() });
    observe(plain.writer(), &active());
    plain.child("a-1", ChildStep::Started);
    assert!(!plain.text().contains("gallivant"));
    let seat = Seat::new();
    let whole = r#"{"bootId":"b","bootMs":1,"awakeMs":1,"host":"h","children":["c"]}"#;
    for (damaged, children) in [
        (whole.to_owned(), 1),
        ("null".to_owned(), 0),
        ("[]".to_owned(), 0),
        (whole.replace("\"bootMs\":1", "\"bootMs\":-1"), 0),
        (whole.replace("\"bootMs\":1,", ""), 0),
        (whole.replace("[\"c\"]", "\"c\""), 0),
        (whole.replace("\"h\"", "\"h\",\"host\":\"h\""), 0),
        (format!("{whole},\"gallivant\":{whole}"), 0),
    ] {
        seat.plant("harness-state", line(&[("state", "\"idle\""), ("gallivant", &damaged)]));
        let found = seat.record().extension.map_or(0, |extension| extension.children.len());
        assert_eq!(found, children, "{damaged}");
        let expected = if children == 1 { State::Active } else { State::Idle };
        assert_eq!(seat.reads().0, expected, "the record is one all the same: {damaged}");
    }
}

#[test]
fn hs_96_a_stepped_wall_clock_is_neither_staleness_nor_future_skew() {
    let scene = Scene::new();
    observe(scene.writer(), &active());
    let written = scene.record().written_at_ms;
    for stepped in [written - 7_200_000, written + 7_200_000] {
        scene.simulation.clock.set_wall_ms(stepped);
        assert_eq!(scene.read().state, State::Active);
        assert_eq!(scene.read().valid_until_ms, Some(stepped + 15 * 60_000), "HS-90 on the reader's clock");
    }
    scene.simulation.clock.set_wall_ms(written - 7_200_000);
    scene.simulation.clock.advance(15 * MINUTE);
    assert_eq!(scene.reads(), (State::Unknown, "stale".to_owned()), "the time passed all the same");
}

#[test]
fn hs_96_a_lid_closed_for_a_night_is_not_staleness() {
    let scene = Scene::new();
    observe(scene.writer(), &active());
    scene.simulation.clock.advance(4 * MINUTE);
    scene.simulation.clock.suspend(8 * HOUR);
    let seen = scene.read();
    assert_eq!(seen.reason.as_deref(), Some("host-suspended"));
    assert_eq!(seen.state, State::Unknown, "eight hours are not believed either");
    assert_eq!(seen.observed_at_ms, Some(scene.record().written_at_ms), "with the evidence");
    let grace_ends = scene.simulation.host().clock.wall_ms() + 6 * 60_000;
    assert_eq!(seen.valid_until_ms, Some(grace_ends), "one refresh to the stamp, and one after waking");
    // Its session renews it at once, and it is known again.
    assert_eq!(scene.session.heartbeat_if_due().expect("no error").word(), "renewed");
    assert_eq!(scene.reads(), (State::Active, String::new()));
    scene.simulation.clock.suspend(8 * HOUR);
    scene.simulation.clock.advance(10 * MINUTE);
    assert_eq!(scene.reads().1, "stale", "nobody came back");
    // A short sleep is no matter.
    observe(scene.writer(), &idle());
    scene.simulation.clock.suspend(14 * MINUTE);
    assert_eq!(scene.reads().0, State::Idle);
}

#[test]
fn hs_96_another_boot_of_the_same_host_is_told_and_other_clocks_are_not_compared() {
    let scene = Scene::new();
    observe(scene.writer(), &active());
    scene.simulation.files.sync_everything();
    let image = scene.simulation.files.images_after_crash().next().expect("there is always one");
    let after = scene.simulation.rebooted(&image.files);
    let seen = scene.read_on(&after.host());
    assert_eq!((seen.state, seen.reason.as_deref()), (State::Unknown, Some("rebooted")));
    assert_eq!(seen.valid_until_ms, None);
    after.processes.set_host("another");
    assert_eq!(scene.read_on(&after.host()).state, State::Active, "another machine: the wall clock decides");
    after.clock.advance(16 * MINUTE);
    assert_eq!(scene.read_on(&after.host()).reason.as_deref(), Some("stale"));
}

#[test]
fn hs_96_a_session_without_a_wrapper_takes_no_seat_that_only_slept() {
    let take = |scene: &Scene, host: &Host| {
        let claimant = Claimant {
            agent: "host.worker".to_owned(),
            harness: "claude".to_owned(),
            token: "claude-session-x".to_owned(),
        };
        claim_wrapperless("/agent", &claimant, &scene.options, host).expect("no error").is_some()
    };
    let scene = Scene::new();
    observe(scene.writer(), &active());
    scene.simulation.clock.suspend(8 * HOUR);
    assert!(!take(&scene, &scene.host), "its session is about to renew it");
    let image = scene.simulation.files.images_after_crash().last().expect("there is always one");
    assert!(take(&scene, &scene.simulation.rebooted(&image.files).host()), "no session outlives a boot");
}

#[test]
fn hs_97_an_older_event_does_not_replace_a_newer_one_and_is_counted() {
    let scene = Scene::new();
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    scene.simulation.clock.advance(Duration::from_secs(1));
    // This one waits for the lock while a later one lands.
    let (host, options) = (scene.simulation.another_process().host(), scene.options.clone());
    let environment = scene.session.environment();
    let clock = scene.simulation.clock.clone();
    scene.simulation.files.pause_before(Point::on(OperationKind::TryLock), move || {
        clock.advance(Duration::from_millis(100));
        let stop = br#"{"hook_event_name":"Stop"}"#;
        let report = observe_hook(Harness::Claude, stop, Some(&environment), &options, &host);
        assert_eq!(report.outcome.word(), "landed");
    });
    let late = scene.hook(r#"{"hook_event_name":"PostToolUse"}"#);
    assert_eq!(refusal(&late), Some(Refusal::Late));
    let record = scene.record();
    assert_eq!((record.state.value, record.transitions), (State::Idle, 2));
    assert_eq!(record.extension.expect("written").late, 1);
    assert_eq!(scene.reads(), (State::Idle, String::new()));
    let log = scene.simulation.files.contents("/agent/.harness-state.log").expect("noted");
    assert!(String::from_utf8_lossy(&log).contains("claude PostToolUse refused late"));
    // Whoever tells of the present is never late, and hooks of the same instant are not either.
    observe(scene.writer(), &active());
    assert_eq!(scene.hook(r#"{"hook_event_name":"Stop"}"#).outcome.word(), "landed");
    // Another incarnation begins anew.
    scene.simulation.files.set_faults([]);
    let next = Scene::new();
    assert_eq!(next.record().extension.expect("written").late, 0);
}

#[test]
fn hs_98_a_screen_never_replaces_fresh_stronger_evidence() {
    let scene = Scene::new();
    let screen = scene.by(Evidence::Screen);
    assert_eq!(observe(&screen, &idle()), Outcome::Landed, "over a placeholder");
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    let before = scene.text();
    assert_eq!(observe(&screen, &idle()), Outcome::Refused(Refusal::WeakerEvidence));
    assert_eq!(observe(&screen, &active()), Outcome::Coalesced, "it says what stands");
    assert_eq!(scene.text(), before);
    assert_eq!(observe(&scene.by(Evidence::Channel), &idle()), Outcome::Landed);
    assert_eq!(observe(&screen, &active()), Outcome::Refused(Refusal::WeakerEvidence));
    assert_eq!(observe(scene.writer(), &active()), Outcome::Landed, "a wrapper knows what it does");
    assert_eq!(observe(&screen, &idle()), Outcome::Landed, "and is no stronger than the screen");
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    scene.simulation.clock.advance(15 * MINUTE);
    assert_eq!(observe(&screen, &idle()), Outcome::Landed, "what is stale gives way");
    let refused = scene.by(Evidence::Wrapper).with_evidence(Evidence::Unknown).expect_err("no evidence");
    assert_eq!(refused.reason(), Some("word"));
}

#[test]
fn hs_99_children_keep_a_turn_that_ended_active() {
    let scene = Scene::new();
    let event = |name: &str, id: &str| format!(r#"{{"hook_event_name":"{name}","agent_id":"{id}"}}"#);
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    let turn = scene.record();
    assert_eq!(scene.hook(&event("SubagentStart", "a")).outcome.word(), "landed");
    assert_eq!(scene.hook(&event("PreToolUse", "b")).outcome.word(), "landed", "who works, runs");
    assert_eq!(scene.hook(&event("PostToolUse", "b")).outcome.word(), "child-event", "nothing new");
    let after = scene.record();
    assert_eq!((after.observation(), after.transitions), (turn.observation(), turn.transitions));
    assert_eq!(after.since_ms, turn.since_ms, "a child's events never write the turn");
    scene.hook(r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(scene.record().state.value, State::Idle);
    assert_eq!(scene.reads(), (State::Active, "children".to_owned()));
    scene.hook(&event("SubagentStop", "a"));
    assert_eq!(scene.reads().0, State::Active);
    scene.hook(&event("SubagentStop", "b"));
    assert_eq!(scene.reads(), (State::Idle, String::new()));
    // A child's work is a sign of life.
    scene.hook(&event("SubagentStart", "c"));
    scene.simulation.clock.advance(6 * MINUTE);
    let stamp = scene.record().written_at_ms;
    scene.hook(&event("PreToolUse", "c"));
    assert!(scene.record().written_at_ms > stamp);
    // The end of the incarnation clears the set, and afterwards nothing is noted.
    scene.hook(r#"{"hook_event_name":"SessionEnd","reason":"logout"}"#);
    assert!(scene.record().extension.expect("written").children.is_empty());
    assert_eq!(refusal(&scene.hook(&event("SubagentStop", "c"))), Some(Refusal::Terminal));
    assert_eq!(scene.reads().0, State::Ended);
    let reader_without = Options { extension: false, ..Options::default() };
    let other = Scene::new();
    observe(other.writer(), &idle());
    other.child("x", ChildStep::Started);
    let plain = Reader::open("/agent", &reader_without, &other.host).read(None).expect("a record");
    assert_eq!(plain.state, State::Idle, "who does not know it skips it");
}

#[test]
fn hs_99_an_id_that_is_no_childs_is_refused_by_name() {
    let scene = Scene::new();
    let longest = "x".repeat(Child::MAX_ID);
    for (id, reason) in [("", Some("child")), (&longest, None), (&format!("{longest}x"), Some("child"))] {
        let noted = scene.session.writer().note_child(&Child { id: id.to_owned(), step: ChildStep::Started });
        assert_eq!(noted.err().and_then(|error| error.reason()), reason, "{}", id.len());
    }
}

#[test]
fn hs_99_the_set_is_bounded_and_a_claim_begins_with_none() {
    let scene = Scene::new();
    observe(scene.writer(), &idle());
    for number in 0..gallivant_core::harness_state::MAX_CHILDREN {
        assert_eq!(scene.child(&number.to_string(), ChildStep::Started), Outcome::Landed);
    }
    assert_eq!(scene.child("one more", ChildStep::Started), Outcome::Coalesced);
    assert_eq!(scene.child("0", ChildStep::Stopped), Outcome::Landed);
    assert_eq!(scene.child("one more", ChildStep::Started), Outcome::Landed);
    let claimant = Claimant {
        agent: "host.worker".to_owned(),
        harness: "claude".to_owned(),
        token: "another".to_owned(),
    };
    gallivant_core::harness_state::claim("/agent", &claimant, &scene.options, &scene.host).expect("claims");
    assert!(scene.record().extension.expect("written").children.is_empty());
    assert_eq!(scene.child("late", ChildStep::Started), Outcome::Refused(Refusal::Superseded));
}

#[test]
fn hs_113_the_session_names_the_harness_in_the_record() {
    let scene = Scene::new();
    scene.simulation.processes.start(500, 5000);
    let identity = scene.session.attach(500).expect("it runs");
    assert_eq!(scene.reads().0, State::Ready);
    let named = |scene: &Scene| scene.record().extension.and_then(|extension| extension.process_identity());
    assert_eq!(named(&scene).as_ref(), Some(&identity));
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    observe(scene.writer(), &idle());
    scene.writer().heartbeat().expect("no error");
    assert_eq!(named(&scene), Some(identity), "whoever of the session writes keeps it");
    // A harness that was observed before it was attached keeps its state.
    let faster = Scene::new();
    faster.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    faster.simulation.processes.start(500, 5000);
    faster.session.attach(500).expect("it runs");
    assert_eq!(faster.reads().0, State::Active);
    assert_eq!((faster.record().transitions, named(&faster).map(|process| process.pid)), (1, Some(500)));
}

#[test]
fn hs_114_a_late_event_revives_nothing_and_is_told_while_the_harness_runs() {
    let scene = Scene::new();
    scene.simulation.processes.start(500, 5000);
    scene.session.attach(500).expect("it runs");
    scene.hook(r#"{"hook_event_name":"UserPromptSubmit"}"#);
    scene.hook(r#"{"hook_event_name":"SessionEnd","reason":"other"}"#);
    assert_eq!(scene.reads(), (State::Ended, "other".to_owned()), "it may be about to go");
    let ended = scene.record();
    let late = scene.hook(r#"{"hook_event_name":"PostToolUse"}"#);
    assert_eq!(refusal(&late), Some(Refusal::Terminal));
    let counted = scene.record();
    assert_eq!(counted.extension.as_ref().map(|extension| extension.late), Some(1));
    assert_eq!((counted.observation(), counted.written_at_ms), (ended.observation(), ended.written_at_ms));
    assert_eq!(scene.reads(), (State::Unknown, "activity-after-end".to_owned()));
    assert!(scene.read().exit.is_none() && scene.read().observed_at_ms.is_some());
    for unproved in [ProcessFact::Unreadable, ProcessFact::Zombie, ProcessFact::Absent] {
        scene.simulation.processes.set(500, unproved);
        assert_eq!(scene.reads().0, State::Ended, "{unproved:?}");
    }
    assert!(scene.host.processes.lineage(500).is_none());
    // The ending stays durable, however often it is counted over.
    scene.hook(r#"{"hook_event_name":"PostToolUse"}"#);
    for image in scene.simulation.files.images_after_crash() {
        let bytes = image.files.contents("/agent/harness-state").expect("it stands");
        assert!(decode(&bytes).expect("whole").is_terminal());
    }
    // Whoever is no hook may follow an ending as before, and only a claim starts again.
    assert_eq!(observe(scene.writer(), &Observation::ended(Some("exit 0"))), Outcome::Landed);
    assert_eq!(scene.record().extension.expect("written").late, 2);
}

#[test]
fn hs_114_the_same_ending_told_twice_is_no_activity() {
    let scene = Scene::new();
    scene.simulation.processes.start(500, 5000);
    scene.session.attach(500).expect("it runs");
    let end = r#"{"hook_event_name":"SessionEnd","reason":"other"}"#;
    scene.hook(end);
    assert_eq!(refusal(&scene.hook(end)), Some(Refusal::Terminal));
    assert_eq!(scene.record().extension.expect("written").late, 0);
    assert_eq!(scene.reads().0, State::Ended);
}

#[test]
fn a_session_that_lost_its_seat_says_so_at_once_and_lets_go_of_the_lease() {
    let scene = Scene::new();
    assert!(scene.session.holds_lease());
    let other = scene.simulation.another_process().host();
    let new = NewSession {
        directory: "/agent".into(),
        agent: "host.worker".to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some("worker".to_owned()),
        token: None,
    };
    let next = Session::start(new, &scene.options, &other).expect("it starts");
    assert!(!next.holds_lease(), "the first one still holds it");
    for _ in 0..2 {
        let tick = scene.session.heartbeat_if_due().expect("no error");
        assert!(matches!(tick, Tick::Skipped(Skip::Superseded)), "{tick:?}");
    }
    assert!(!scene.session.holds_lease());
    next.heartbeat_if_due().expect("no error");
    assert!(next.holds_lease(), "and its death can be seen from now on");
}

#[test]
fn hs_97_what_happens_now_is_not_older_than_what_was_stamped_in_the_same_millisecond() {
    for microseconds in [0, 400, 500, 900] {
        let scene = Scene::new();
        scene.simulation.clock.advance(Duration::from_micros(microseconds));
        observe(scene.writer(), &active());
        let report = scene.hook(r#"{"hook_event_name":"Stop"}"#);
        assert_eq!(report.outcome.word(), "landed", "{microseconds} µs into the millisecond");
    }
}

/// Clocks of which the next that is read makes its reader wait.
#[derive(Debug)]
struct WaitingClock {
    wall: Duration,
    boot: Duration,
    /// What has passed, and how long the next reader waits.
    passed: Mutex<(Duration, Duration)>,
}

impl WaitingClock {
    fn make_wait(&self, length: Duration) {
        self.passed.lock().expect("nobody panics").1 = length;
    }

    fn passed(&self) -> Duration {
        let mut passed = self.passed.lock().expect("nobody panics");
        let (now, wait) = *passed;
        *passed = (now + wait, Duration::ZERO);
        now
    }
}

impl Clock for WaitingClock {
    fn wall_ms(&self) -> u64 {
        u64::try_from(self.now().wall.as_millis()).expect("64 bits")
    }

    fn boot(&self) -> Duration {
        self.boot + self.passed()
    }

    fn awake(&self) -> Duration {
        self.boot()
    }

    fn now(&self) -> ClockReading {
        ClockReading { wall: self.wall + self.passed(), boot: self.boot(), awake: self.awake() }
    }

    fn sleep(&self, length: Duration) {
        self.passed.lock().expect("nobody panics").0 += length;
    }
}

#[test]
fn hs_97_who_is_made_to_wait_between_two_clocks_is_not_ahead_of_what_happens_next() {
    for (offset, waits) in (0..100).map(|number| (number / 10 * 100, number % 10 * 100)) {
        let scene = Scene::new();
        let now = scene.host.clock.now();
        let (wall, boot) = (now.wall, now.boot + Duration::from_micros(offset));
        let clock = Arc::new(WaitingClock { wall, boot, passed: Mutex::default() });
        let host = Host { clock: clock.clone(), ..scene.host.clone() };
        let session = scene.session.environment();
        let hook =
            |payload: &[u8]| observe_hook(Harness::Claude, payload, Some(&session), &scene.options, &host);
        clock.make_wait(Duration::from_micros(waits));
        hook(br#"{"hook_event_name":"UserPromptSubmit"}"#);
        let report = hook(br#"{"hook_event_name":"Stop"}"#);
        assert_eq!(
            report.outcome.word(),
            "landed",
            "clocks {offset} µs apart, {waits} µs between two of them"
        );
    }
}
