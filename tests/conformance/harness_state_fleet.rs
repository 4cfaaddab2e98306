//! Of section G: fleets (HS-92), what a read of one says.

use std::path::Path;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{
    Derived, EntryRef, Fleet, FleetOptions, FleetProbe, FleetView, NewSession, Options, Session, State,
    UnknownReason, gather_fleet, read_fleet,
};
use gallivant_core::testing::{Fault, Simulation, simulated_host};

use crate::support::ground::Ground;
use crate::support::{in_forked_child, line};

pub(crate) fn words(view: &FleetView) -> Vec<String> {
    let word = |entry: &gallivant_core::harness_state::FleetEntry| {
        let derived = &entry.derived;
        let word = derived.unknown.map_or(derived.state.word(), UnknownReason::word);
        format!("{} {word}", entry.path)
    };
    view.entries.iter().map(word).collect()
}

pub(crate) fn read(fleet: &Fleet) -> Vec<String> {
    words(&fleet.read(FleetProbe::None))
}

/// A simulated machine with records at these agents.
pub(crate) fn simulated(agents: &[&str]) -> (Host, Simulation) {
    let (host, simulation) = simulated_host(1);
    for agent in agents {
        plant(&simulation, agent, "active");
    }
    (host, simulation)
}

pub(crate) fn plant(simulation: &Simulation, agent: &str, state: &str) {
    let now = gallivant_core::clock::Clock::wall_ms(&*simulation.clock).to_string();
    let line = line(&[("state", &format!("\"{state}\"")), ("writtenAtMs", &now)]);
    simulation
        .files
        .plant_file(Path::new("/fleet").join(agent).join("harness-state"), line)
        .expect("planted");
}

pub(crate) fn simulated_fleet(host: &Host, bounds: &FleetOptions) -> Fleet {
    Fleet::open("/fleet", bounds, &Options::default(), host).expect("opens")
}

#[test]
fn hs_92_a_visit_says_what_a_fleet_says_and_keeps_nothing() {
    let (host, simulation) = simulated(&["b", "a/c/d", "a", "a-b"]);
    simulation.files.plant_file("/fleet/bad/harness-state", "{").expect("planted");
    simulation.files.plant_file("/fleet/too/deep/here/harness-state", "{").expect("planted");
    let bounds = FleetOptions { max_depth: 3, ..FleetOptions::default() };
    for bounds in [bounds, FleetOptions { max_records: 2, ..bounds }, FleetOptions { max_depth: 1, ..bounds }]
    {
        let view = simulated_fleet(&host, &bounds).read(FleetProbe::Lease);
        let add = |part: &mut Vec<(String, Derived)>, entry: EntryRef<'_>| {
            part.push((entry.path.to_owned(), entry.derived.to_derived()));
        };
        let mut visited = Vec::new();
        let take = |part: Vec<(String, Derived)>| visited.extend(part);
        let options = Options::default();
        let summary =
            gather_fleet("/fleet", &bounds, FleetProbe::Lease, &options, &host, add, take).expect("visited");
        let read: Vec<_> = view.entries.into_iter().map(|entry| (entry.path, entry.derived)).collect();
        assert_eq!(visited, read);
        assert_eq!((summary.entries, summary.left_out), (read.len(), view.left_out));
        assert_eq!(summary.valid_until_ms, view.valid_until_ms);
    }
}

#[test]
fn hs_92_every_record_below_a_directory_in_the_order_of_the_paths() {
    let ground = Ground::new();
    for (agent, state) in
        [("b", "idle"), ("a/c/d", "ready"), ("a", "active"), ("a-b", "child"), (".", "idle")]
    {
        ground.publish(agent, state);
    }
    std::fs::create_dir(ground.path("empty")).expect("made");
    std::fs::write(ground.path("file"), "x").expect("written");
    let expected = [". idle", "a active", "a/c/d ready", "a-b child", "b idle"];
    let view = read_fleet(
        ground.root(),
        &FleetOptions::default(),
        FleetProbe::None,
        &Options::default(),
        ground.host(),
    )
    .expect("read");
    assert_eq!(words(&view), expected);
    assert!(view.left_out.is_empty());
    let mut lent = Vec::new();
    let summary = ground.fleet().for_each(FleetProbe::None, |entry| {
        let record = entry.record.expect("it decodes");
        lent.push(format!("{} {}", entry.path, record.state.value.word()));
        assert_eq!(entry.derived.evidence_incarnation, Some(&*record.incarnation));
    });
    assert_eq!((lent.len(), summary.entries), (5, 5));
    assert_eq!(lent, expected);
}

#[test]
fn hs_92_one_bad_entry_hides_no_other() {
    let ground = Ground::new();
    ground.publish("a", "active");
    ground.publish("z/below", "idle");
    ground.publish("locked/below", "idle");
    let bad = |agent: &str| {
        let directory = ground.path(agent);
        std::fs::create_dir_all(&directory).expect("made");
        directory.join("harness-state")
    };
    std::fs::write(bad("malformed"), "{").expect("written");
    std::fs::write(bad("empty"), "").expect("written");
    std::fs::write(bad("foreign"), line(&[("schema", "\"x\"")])).expect("written");
    std::fs::create_dir(bad("directory")).expect("made");
    std::os::unix::fs::symlink("harness-state", bad("loop")).expect("linked");
    std::os::unix::fs::symlink("nowhere", bad("dangling")).expect("linked");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bad("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
    ground
        .machine
        .set_faults(r#"[{"on":"names","name":"locked","repeat":true,"do":"error","errno":"EACCES"}]"#)
        .expect("faults");
    let fleet = ground.fleet();
    for _ in 0..3 {
        let view = fleet.read(FleetProbe::None);
        assert_eq!(
            words(&view),
            [
                "a active",
                "dangling unreadable-record",
                "directory unreadable-record",
                "empty malformed-record",
                "foreign unsupported-schema",
                "loop unreadable-record",
                "malformed malformed-record",
                "pipe unreadable-record",
                "z/below idle",
            ]
        );
        assert_eq!(view.left_out.unreadable, 1);
        let example = view.left_out.example.expect("an example");
        assert!(example.starts_with("locked: "), "{example}");
        ground.settle();
    }
}

#[test]
fn hs_92_a_directory_that_cannot_be_searched_is_left_out_and_no_entry() {
    let (host, simulation) = simulated(&["a", "b"]);
    let faults = ["read", "stat"].map(|kind| {
        format!(r#"{{"on":"{kind}","name":"b/harness-state","repeat":true,"do":"error","errno":"EACCES"}}"#)
    });
    simulation.files.set_faults(Fault::parse_list(&format!("[{}]", faults.join(","))).expect("faults"));
    let view = simulated_fleet(&host, &FleetOptions::default()).read(FleetProbe::None);
    assert_eq!(words(&view), ["a active"]);
    assert_eq!(view.left_out.unreadable, 1);
}

#[test]
fn hs_92_links_are_not_followed_on_the_way() {
    let ground = Ground::new();
    ground.publish("a", "active");
    ground.publish_in(&ground.beside("outside"), "idle");
    std::os::unix::fs::symlink("../outside", ground.path("link")).expect("linked");
    std::os::unix::fs::symlink(".", ground.path("a/round")).expect("linked");
    std::fs::create_dir(ground.path("through")).expect("made");
    std::os::unix::fs::symlink("../../outside/harness-state", ground.path("through/harness-state"))
        .expect("linked");
    let fleet = ground.fleet();
    for _ in 0..2 {
        assert_eq!(read(&fleet), ["a active", "through idle"], "a record may be a link");
        ground.settle();
    }
    ground.publish_in(&ground.beside("outside"), "ready");
    assert_eq!(read(&fleet), ["a active", "through ready"], "and its target is read each time");
}

#[test]
fn hs_92_depth_and_count_are_bounded_and_what_was_left_out_is_said() {
    let bounds = FleetOptions::default();
    assert_eq!((bounds.max_depth, bounds.max_records), (8, 100_000));
    let eight = "1/2/3/4/5/6/7/8";
    let (host, simulation) = simulated(&[eight, "b", "c"]);
    plant(&simulation, &format!("{eight}/9"), "idle");
    plant(&simulation, &format!("{eight}/9b"), "idle");
    let fleet = simulated_fleet(&host, &bounds);
    for _ in 0..2 {
        let view = fleet.read(FleetProbe::None);
        assert_eq!(words(&view), [format!("{eight} active"), "b active".into(), "c active".into()]);
        assert_eq!((view.left_out.too_deep, view.left_out.too_many), (2, 0));
        simulation.clock.advance(Duration::from_secs(3));
    }

    let fleet = simulated_fleet(&host, &FleetOptions { max_records: 2, ..bounds });
    for _ in 0..2 {
        let view = fleet.read(FleetProbe::None);
        assert_eq!(words(&view), [format!("{eight} active"), "b active".into()], "the first by their paths");
        assert_eq!(view.left_out.too_many, 1);
        simulation.clock.advance(Duration::from_secs(3));
    }
    plant(&simulation, "a", "ready");
    assert_eq!(read(&fleet), [format!("{eight} active"), "a ready".into()]);
    simulation.files.unplant("/fleet/a").expect("removed");
    simulation.files.unplant("/fleet/1").expect("removed");
    let view = fleet.read(FleetProbe::None);
    assert_eq!(words(&view), ["b active", "c active"]);
    assert!(view.left_out.is_empty(), "what was cut off fits in again: {:?}", view.left_out);

    let fleet = simulated_fleet(&host, &FleetOptions { max_directories: 2, ..bounds });
    let view = fleet.read(FleetProbe::None);
    assert_eq!((words(&view), view.left_out.too_many), (vec!["b active".to_owned()], 1));
    let fleet = simulated_fleet(&host, &FleetOptions { max_depth: 0, ..bounds });
    let view = fleet.read(FleetProbe::None);
    assert_eq!((view.entries.len(), view.left_out.too_deep), (0, 2));
}

#[test]
fn hs_92_a_name_that_is_not_utf_8_is_said() {
    use std::os::unix::ffi::OsStrExt;

    let ground = Ground::new();
    ground.publish("a", "active");
    std::fs::create_dir(ground.root().join(std::ffi::OsStr::from_bytes(b"\xff"))).expect("made");
    let view = ground.fleet().read(FleetProbe::None);
    assert_eq!((words(&view), view.left_out.unnameable), (vec!["a active".to_owned()], 1));
}

#[test]
fn hs_92_conclusions_follow_the_clock_and_say_until_when_they_hold() {
    let (host, simulation) = simulated(&["a"]);
    simulation.clock.advance(Duration::from_secs(60));
    plant(&simulation, "b", "idle");
    let fleet = simulated_fleet(&host, &FleetOptions::default());
    let view = fleet.read(FleetProbe::None);
    assert_eq!(view.valid_until_ms, view.entries[0].derived.valid_until_ms);
    assert_eq!(view.valid_until_ms, Some(1_700_000_000_000 + 15 * 60 * 1000));
    simulation.clock.set_wall_ms(view.valid_until_ms.expect("an instant") - 1);
    assert_eq!(read(&fleet), ["a active", "b idle"]);
    simulation.clock.set_wall_ms(view.valid_until_ms.expect("an instant"));
    assert_eq!(read(&fleet), ["a stale", "b idle"]);
}

#[test]
fn hs_92_the_lease_of_each_seat_is_asked_where_it_decides() {
    let ground = Ground::new();
    let start = |agent: &str| {
        let new = NewSession {
            directory: ground.path(agent),
            agent: agent.to_owned(),
            harness: "codex".to_owned(),
            pty_session: Some("p".to_owned()),
            token: None,
        };
        let session = Session::start(new, &Options::default(), ground.host()).expect("starts");
        let observation = gallivant_core::harness_state::Observation::new(State::Active);
        session.writer().observe(&observation).expect("lands");
        session
    };
    let (alive, dies, ended) = (start("alive"), start("dies"), start("ended"));
    ended.end(Some("exit 0")).expect("ends");
    let fleet = ground.fleet();
    let all = ["alive active", "dies active", "ended ended"];
    assert_eq!(words(&fleet.read(FleetProbe::Lease)), all);
    drop(dies);
    assert!(crate::support::locks::comes_free(&ground.path("dies/.harness-state.lease")));
    assert_eq!(words(&fleet.read(FleetProbe::None)), all);
    let looks = ground.operations(|| {
        let dead = ["alive active", "dies session-dead", "ended ended"];
        assert_eq!(words(&fleet.read(FleetProbe::Lease)), dead);
    });
    let opened = looks.iter().filter(|line| line.starts_with("open ")).count();
    assert_eq!(opened, 1 + 2, "the root and the two live seats: {looks:?}");
    drop(alive);
}

#[test]
fn hs_92_threads_share_a_fleet_and_a_forked_child_begins_anew() {
    let ground = Ground::new();
    for agent in ["a", "b"] {
        ground.publish(agent, "active");
    }
    let host = Host::system();
    let fleet =
        Fleet::open(ground.root(), &FleetOptions::default(), &Options::default(), &host).expect("opens");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    assert_eq!(read(&fleet).len(), 2);
                }
            });
        }
    });
    // One thread is inside a read at the moment of the fork, so that its mutex never opens in the child.
    let (inside, entered) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let fleet = &fleet;
        scope.spawn(move || {
            let mut first = true;
            fleet.for_each(FleetProbe::None, |_| {
                if std::mem::take(&mut first) {
                    inside.send(()).expect("told");
                    left.recv().expect("told");
                }
            });
        });
        entered.recv().expect("inside");
        assert_eq!(in_forked_child(|| u8::try_from(read(fleet).len()).unwrap_or(255)), 2);
        leave.send(()).expect("told");
    });
    assert_eq!(read(&fleet).len(), 2, "the parent's goes on");
    fleet.forget();
    assert_eq!(read(&fleet).len(), 2);
}
