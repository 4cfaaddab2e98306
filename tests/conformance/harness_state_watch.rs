//! Of section G: watching (HS-93), and what it tells. What it costs is in `harness_state_watching.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gallivant_core::harness_state::{
    Change, FleetOptions, FleetProbe, NewSession, Noticing, Observation, Options, Probe, Record, Session,
    State, UnknownReason, Watch, WatchOptions, WatchProbe,
};
use gallivant_core::process::{Liveness, ProcessTable};
use gallivant_core::testing::{SimulatedProcesses, simulated_host};
use gallivant_core::{Code, Host};

use crate::support::ground::Ground;
use crate::support::line;

/// Longer than any wait that ends; a test that needs it has failed.
pub(crate) const LONG: Option<Duration> = Some(Duration::from_secs(120));
/// For the proof that nothing is told.
pub(crate) const QUIET: Option<Duration> = Some(Duration::from_millis(150));
/// Within which a change is told.
const BOUND: Duration = Duration::from_millis(50);

pub(crate) fn record(ground: &Ground, agent: &str) -> Watch {
    watching(ground, agent, WatchProbe::None, &WatchOptions::default(), ground.host())
}

/// A probe that a busy machine holds up beyond its budget has answered nothing, which would be told as a change.
fn patient() -> Options {
    Options { probe_budget: Duration::from_secs(60), ..Options::default() }
}

pub(crate) fn watching(
    ground: &Ground,
    agent: &str,
    probe: WatchProbe,
    watch: &WatchOptions,
    host: &Host,
) -> Watch {
    Watch::record(ground.path(agent), probe, watch, &patient(), host).expect("it watches")
}

pub(crate) fn fleet(ground: &Ground) -> Watch {
    fleet_with(ground, FleetProbe::None, &WatchOptions::default())
}

pub(crate) fn fleet_with(ground: &Ground, probe: FleetProbe, watch: &WatchOptions) -> Watch {
    let bounds = FleetOptions::default();
    Watch::fleet(ground.root(), &bounds, probe, watch, &patient(), ground.host()).expect("it watches")
}

pub(crate) fn words(change: &Change) -> Vec<String> {
    let word = |seat: &gallivant_core::harness_state::SeatChange| {
        let word = seat
            .derived
            .as_ref()
            .map_or("-", |derived| derived.unknown.map_or(derived.state.word(), UnknownReason::word));
        format!("{} {word}", seat.path)
    };
    change.seats.iter().map(word).collect()
}

/// The next change, which has to come.
pub(crate) fn told(watch: &mut Watch) -> Vec<String> {
    words(&watch.next(LONG).expect("no error").expect("a change"))
}

/// Reads changes until this one is told last of its seat.
pub(crate) fn told_at_last(watch: &mut Watch, expected: &str) {
    while !told(watch).iter().any(|word| word == expected) {}
}

pub(crate) fn is_quiet(watch: &mut Watch) -> bool {
    let told = watch.next(QUIET).expect("no error");
    told.iter().for_each(|change| println!("not quiet: {change:?}"));
    told.is_none()
}

pub(crate) fn session(ground: &Ground, agent: &str) -> Session {
    let new = NewSession {
        directory: ground.path(agent),
        agent: agent.to_owned(),
        harness: "codex".to_owned(),
        pty_session: Some("p".to_owned()),
        token: None,
    };
    let session = Session::start(new, &Options::default(), ground.host()).expect("starts");
    session.writer().observe(&Observation::new(State::Active)).expect("lands");
    session
}

/// What one of thirty attempts takes at least: a loaded machine may hold up any one of them.
fn quickest(mut attempt: impl FnMut(u32) -> Duration) -> Duration {
    let mut quickest = Duration::MAX;
    for number in 0..30 {
        quickest = quickest.min(attempt(number));
        if quickest <= BOUND {
            break;
        }
    }
    quickest
}

/// How long after an act the waiting watch tells of it.
fn latency(watch: &mut Watch, act: impl FnOnce() + Send) -> Duration {
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            // So that the watch sleeps by then.
            std::thread::sleep(Duration::from_millis(30));
            let began = Instant::now();
            act();
            began
        });
        watch.next(LONG).expect("no error").expect("a change");
        let told = Instant::now();
        told.saturating_duration_since(acting.join().expect("acted"))
    })
}

#[test]
fn hs_93_the_first_call_tells_what_is_there() {
    let ground = Ground::new();
    let change = fleet(&ground).next(LONG).expect("no error").expect("told without a seat too");
    assert_eq!((change.seats.len(), change.noticing), (0, Noticing::Notified));
    assert!(change.left_out.is_empty());
    assert_eq!(told(&mut record(&ground, "a")), [". -"]);
    ground.publish("b", "idle");
    ground.publish("a", "active");
    let mut watch = fleet(&ground);
    assert_eq!(told(&mut watch), ["a active", "b idle"]);
    assert!(is_quiet(&mut watch));
    assert_eq!(told(&mut record(&ground, "a")), [". active"]);
    assert_eq!(told(&mut record(&ground, "a/harness-state")), [". active"], "by the record's own path");
    let options = (WatchOptions::default(), Options::default());
    let refused = Watch::record("", WatchProbe::None, &options.0, &options.1, ground.host());
    assert_eq!(refused.err().map(|error| error.code()), Some(Code::HarnessStateInput));
}

#[test]
fn hs_93_a_change_is_told_within_50_ms() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let states = ["idle", "active", "ready"];
    for mut watch in [record(&ground, "a"), fleet(&ground)] {
        told(&mut watch);
        let taken = quickest(|number| {
            latency(&mut watch, || ground.publish("a", states[number as usize % states.len()]))
        });
        assert!(taken <= BOUND, "{taken:?}");
    }
    let mut watch = fleet(&ground);
    told(&mut watch);
    // A seat that did not exist, three directories deep.
    let taken = quickest(|number| latency(&mut watch, || ground.publish(&format!("x/{number}/y"), "idle")));
    assert!(taken <= BOUND, "{taken:?}");
}

#[test]
fn hs_93_a_burst_is_told_once_with_its_latest_state() {
    let ground = Ground::new();
    ground.publish("a", "active");
    for mut watch in [record(&ground, "a"), fleet(&ground)] {
        told(&mut watch);
        for state in ["idle", "ready"].iter().cycle().take(40) {
            ground.publish("a", state);
        }
        ground.publish("a", "child");
        let change = told(&mut watch);
        assert!(change[0].ends_with(" child"), "{change:?}");
        assert!(is_quiet(&mut watch));
        ground.publish("a", "active");
        told(&mut watch);
    }
}

#[test]
fn hs_93_it_fires_at_valid_until() {
    let ground = Ground::new();
    let options = Options { stale_ms: 400, ..Options::default() };
    let taken = quickest(|_| {
        ground.publish("a", "active");
        let watch = WatchOptions::default();
        let mut watch = Watch::record(ground.path("a"), WatchProbe::None, &watch, &options, ground.host())
            .expect("it watches");
        let change = watch.next(LONG).expect("no error").expect("a change");
        let derived = change.seats[0].derived.clone().expect("it stands");
        if derived.unknown == Some(UnknownReason::Stale) {
            // Held up for all of its time.
            return Duration::MAX;
        }
        assert_eq!(derived.state, State::Active);
        let valid_until_ms = derived.valid_until_ms.expect("an instant");
        assert_eq!(told(&mut watch), [". stale"]);
        let now_ms = ground.host().clock.wall_ms();
        assert!(now_ms >= valid_until_ms, "not before it");
        Duration::from_millis(now_ms - valid_until_ms)
    });
    assert!(taken <= BOUND, "{taken:?}");
}

#[test]
fn hs_93_a_clock_that_is_set_is_seen() {
    let (host, simulation) = simulated_host(1);
    let now = simulation.host().clock.wall_ms();
    let text = line(&[("writtenAtMs", &now.to_string())]);
    simulation.files.plant_file("/fleet/a/harness-state", text).expect("planted");
    let options = Options::default();
    let (bounds, watch) = (FleetOptions::default(), WatchOptions::default());
    let mut watch =
        Watch::fleet("/fleet", &bounds, FleetProbe::None, &watch, &options, &host).expect("it watches");
    let mut poll = || watch.poll().expect("no error").as_ref().map(words).unwrap_or_default();
    assert_eq!(poll(), ["a active"]);
    assert_eq!(poll(), [""; 0]);
    simulation.clock.set_wall_ms(now + options.stale_ms);
    assert_eq!(poll(), ["a stale"]);
    simulation.clock.set_wall_ms(now + 1);
    assert_eq!(poll(), ["a active"]);
    simulation.clock.set_wall_ms(now - options.future_skew_ms - 1);
    assert_eq!(poll(), ["a future-skew"]);
    simulation.clock.set_wall_ms(now - options.future_skew_ms);
    assert_eq!(poll(), ["a active"]);
}

#[test]
fn hs_93_it_fires_when_the_session_dies() {
    let ground = Ground::new();
    let options = WatchOptions::default();
    let taken = quickest(|_| {
        let session = session(&ground, "a");
        let mut watch = watching(&ground, "a", WatchProbe::Lease, &options, ground.host());
        assert_eq!(told(&mut watch), [". active"]);
        latency(&mut watch, || drop(session))
    });
    assert!(taken <= BOUND, "{taken:?}");
    let (session, other) = (session(&ground, "a"), session(&ground, "b"));
    let mut watch = fleet_with(&ground, FleetProbe::Lease, &options);
    assert_eq!(told(&mut watch), ["a active", "b active"]);
    drop(session);
    assert_eq!(told(&mut watch), ["a session-dead"]);
    assert!(is_quiet(&mut watch));
    drop(other);
}

#[test]
fn hs_93_it_fires_when_the_session_is_killed() {
    let ground = Ground::new();
    let mut watch = fleet_with(&ground, FleetProbe::Lease, &WatchOptions::default());
    told(&mut watch);
    // SAFETY: the child starts a session, sleeps, and never returns; see `in_forked_child` for its allocations.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let _session = session(&ground, "a");
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    told_at_last(&mut watch, "a active");
    // SAFETY: the pid is that of the child, which has not been waited for.
    unsafe {
        assert_eq!(libc::kill(child, libc::SIGKILL), 0);
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
    }
    told_at_last(&mut watch, "a session-dead");
}

#[test]
fn hs_93_it_fires_when_the_harness_process_ends() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let taken = quickest(|_| {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep starts");
        let identity = ground.host().processes.identify(child.id()).expect("it runs");
        // Nothing but the announcement tells.
        let options = WatchOptions { probe_interval: Duration::from_secs(1000), ..WatchOptions::default() };
        let mut watch =
            watching(&ground, "a", WatchProbe::Process(identity.clone()), &options, ground.host());
        assert_eq!(told(&mut watch), [". active"]);
        assert!(is_quiet(&mut watch));
        let taken = latency(&mut watch, || child.kill().expect("killed"));
        child.wait().expect("reaped");
        assert!(is_quiet(&mut watch), "it is told once");
        let mut late = watching(&ground, "a", WatchProbe::Process(identity), &options, ground.host());
        assert_eq!(told(&mut late), [". session-dead"]);
        taken
    });
    assert!(taken <= BOUND, "{taken:?}");
}

#[test]
fn hs_93_a_process_of_another_namespace_is_asked_at_intervals() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let processes = SimulatedProcesses::new(10, 500);
    let identity = processes.identify(10).expect("it runs");
    processes.set_pid_namespace("pid:[1]");
    let host = Host { processes: Arc::new(processes.clone()), ..ground.host().clone() };
    let options = WatchOptions { probe_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let mut watch = watching(&ground, "a", WatchProbe::Process(identity.clone()), &options, &host);
    assert_eq!(told(&mut watch), [". active"], "indeterminate downgrades nothing");
    processes.set_pid_namespace(&identity.pid_namespace);
    processes.end(10);
    assert_eq!(told(&mut watch), [". session-dead"]);
}

/// Says whatever it is set to.
#[derive(Debug, Default)]
struct Switch(AtomicBool);

impl Probe for Switch {
    fn liveness(&self, _record: &Record) -> Liveness {
        if self.0.load(Ordering::Relaxed) { Liveness::Dead } else { Liveness::Alive }
    }
}

#[test]
fn hs_93_a_probe_of_the_callers_own_is_asked_at_its_interval() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let switch = Arc::new(Switch::default());
    let options = WatchOptions { probe_interval: Duration::from_millis(20), ..WatchOptions::default() };
    let mut watch =
        watching(&ground, "a", WatchProbe::Own(Arc::clone(&switch) as _), &options, ground.host());
    assert_eq!(told(&mut watch), [". active"]);
    assert!(is_quiet(&mut watch));
    switch.0.store(true, Ordering::Relaxed);
    assert_eq!(told(&mut watch), [". session-dead"]);
    let before = ground.machine.operations().len();
    assert!(is_quiet(&mut watch));
    assert_eq!(ground.machine.operations().len(), before, "what is dead is not asked again");
}

#[test]
fn hs_93_an_instant_that_is_reckoned_anew_is_no_change() {
    // Its record has an extension, so that `valid_until` is reckoned on the machine's own clocks at each question.
    let ground = Ground::new();
    let _session = session(&ground, "a");
    let switch = Arc::new(Switch::default());
    let options = WatchOptions { probe_interval: Duration::from_millis(10), ..WatchOptions::default() };
    let mut watch =
        watching(&ground, "a", WatchProbe::Own(Arc::clone(&switch) as _), &options, ground.host());
    assert_eq!(told(&mut watch), [". active"]);
    assert_eq!(watch.next(Some(Duration::from_millis(500))).expect("no error"), None);
    switch.0.store(true, Ordering::Relaxed);
    assert_eq!(told(&mut watch), [". session-dead"]);
}

#[test]
fn hs_93_the_file_may_be_replaced_in_every_way() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let path = ground.path("a/harness-state");
    let watches = [
        (record(&ground, "a"), " unreadable-record"),
        (fleet(&ground), " unreadable-record"),
        // A directory at the path that was given is taken for an agent's, by readers too.
        (record(&ground, "a/harness-state"), " -"),
    ];
    for (mut watch, of_a_directory) in watches {
        ground.publish("a", "active");
        // What is told in between is told of the moment in between.
        let mut ends =
            |expected: &str| while !told(&mut watch).iter().any(|word| word.ends_with(expected)) {};
        ends(" active");
        std::fs::remove_file(&path).expect("removed");
        ends(" -");
        std::fs::write(&path, "{").expect("written");
        ends(" malformed-record");
        ground.publish("a", "idle");
        ends(" idle");
        let text = std::fs::read_to_string(&path).expect("it stands");
        std::fs::write(&path, text.replace("idle", "ready")).expect("in place");
        ends(" ready");
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("made");
        ends(of_a_directory);
        std::fs::remove_dir(&path).expect("removed");
        // By exchange of names, as our own writers do on ext4.
        ground.publish("a", "active");
        ends(" active");
        let staged = ground.path("a/staged");
        let text = std::fs::read_to_string(&path).expect("it stands");
        std::fs::write(&staged, text.replace("active", "child")).expect("written");
        let cwd = rustix::fs::CWD;
        match rustix::fs::renameat_with(cwd, &staged, cwd, &path, rustix::fs::RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // The file system cannot.
            Err(_) => std::fs::rename(&staged, &path).expect("renamed"),
        }
        ends(" child");
    }
}

#[test]
fn hs_93_the_directory_may_be_missing_vanish_and_be_replaced() {
    let ground = Ground::new();
    let root = ground.root();
    for (mut watch, agent) in [
        (record(&ground, "host/a"), "."),
        (fleet(&ground), "host/a"),
        (record(&ground, "host/a/harness-state"), "."),
    ] {
        std::fs::remove_dir_all(&root).ok();
        told(&mut watch);
        let at = |word: &str| format!("{agent} {word}");
        // Missing at the start, with its parents.
        ground.publish("host/a", "active");
        told_at_last(&mut watch, &at("active"));
        ground.publish("host/a", "idle");
        told_at_last(&mut watch, &at("idle"));
        // Removed and made again.
        std::fs::remove_dir_all(ground.path("host/a")).expect("removed");
        ground.publish("host/a", "ready");
        told_at_last(&mut watch, &at("ready"));
        // Moved away, and another in its place.
        std::fs::rename(ground.path("host/a"), ground.beside("away")).expect("moved");
        told_at_last(&mut watch, &at("-"));
        ground.publish("host/a", "child");
        told_at_last(&mut watch, &at("child"));
        // The same with a directory above it, which says nothing about those in it.
        std::fs::rename(&root, ground.beside("root")).expect("moved");
        told_at_last(&mut watch, &at("-"));
        ground.publish("host/a", "idle");
        told_at_last(&mut watch, &at("idle"));
        ground.publish_in(&ground.beside("root").join("host/a"), "ready");
        assert!(is_quiet(&mut watch), "what was moved away is nobody's");
        std::fs::remove_dir_all(&root).expect("removed");
        std::fs::rename(ground.beside("root"), &root).expect("moved");
        told_at_last(&mut watch, &at("ready"));
        std::fs::remove_dir_all(ground.beside("away")).expect("removed");
    }
}

#[test]
fn hs_93_a_link_on_the_way_may_be_turned() {
    let ground = Ground::new();
    ground.publish_in(&ground.beside("one").join("a"), "active");
    ground.publish_in(&ground.beside("two").join("a"), "idle");
    std::os::unix::fs::symlink("one", ground.root()).expect("linked");
    for (mut watch, agent) in [(record(&ground, "a"), "."), (fleet(&ground), "a")] {
        told_at_last(&mut watch, &format!("{agent} active"));
        std::os::unix::fs::symlink("two", ground.beside("new")).expect("linked");
        std::fs::rename(ground.beside("new"), ground.root()).expect("turned");
        told_at_last(&mut watch, &format!("{agent} idle"));
        std::os::unix::fs::symlink("one", ground.beside("new")).expect("linked");
        std::fs::rename(ground.beside("new"), ground.root()).expect("turned");
        told_at_last(&mut watch, &format!("{agent} active"));
    }
}

#[test]
fn hs_93_a_fleet_grows_shrinks_and_moves() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let mut watch = fleet(&ground);
    assert_eq!(told(&mut watch), ["a active"]);
    ground.publish("a/b/c", "idle");
    assert_eq!(told(&mut watch), ["a/b/c idle"]);
    ground.publish("a/b/c", "ready");
    assert_eq!(told(&mut watch), ["a/b/c ready"]);
    std::fs::rename(ground.path("a"), ground.path("z")).expect("moved");
    assert_eq!(told(&mut watch), ["a -", "a/b/c -", "z active", "z/b/c ready"]);
    ground.publish("z/b/c", "child");
    assert_eq!(told(&mut watch), ["z/b/c child"], "where it was moved to it is watched");
    std::fs::remove_dir_all(ground.path("z/b")).expect("removed");
    assert_eq!(told(&mut watch), ["z/b/c -"]);
    assert!(is_quiet(&mut watch));
}
