//! Of section G: reading a fleet again (HS-92). What is unchanged is asked by `stat` alone, and whatever changed is noticed.

use std::time::Duration;

use gallivant_core::harness_state::{Fleet, FleetOptions, FleetProbe, Options};
use gallivant_core::testing::{Fault, OperationKind};
use gallivant_core::{Code, Host};

use crate::allocations::allocations;
use crate::harness_state_fleet::{plant, read, simulated, simulated_fleet, words};
use crate::support::ground::Ground;

#[test]
fn hs_92_an_unchanged_fleet_is_read_by_stat_alone() {
    let ground = Ground::new();
    for agent in ["a", "b", "host/c", "host/d"] {
        ground.publish(agent, "active");
    }
    std::fs::write(ground.path("b/harness-state"), "{").expect("written");
    std::fs::create_dir(ground.path("empty")).expect("made");
    ground.settle();
    let fleet = ground.fleet();
    let first = read(&fleet);
    let operations = ground.operations(|| assert_eq!(read(&fleet), first));
    let stats = operations.iter().filter(|operation| operation.starts_with("stat ")).count();
    // Four records; the root, `host`, `empty` and the four agents' own directories.
    assert_eq!((stats, operations.len() - stats), (4 + 7, 1), "{operations:?}");
    assert!(operations[0].starts_with("open "), "{operations:?}");
}

#[test]
fn hs_92_an_unchanged_entry_costs_no_allocation() {
    let ground = Ground::new();
    let host = Host::system();
    let fleet =
        Fleet::open(ground.root(), &FleetOptions::default(), &Options::default(), &host).expect("opens");
    let per_read = |agents: u32| {
        (0..agents).for_each(|agent| ground.publish(&format!("agent-{agent}"), "active"));
        ground.settle();
        read(&fleet);
        read(&fleet);
        let mut live = 0;
        let made = allocations(|| {
            fleet.for_each(FleetProbe::None, |entry| live += u32::from(entry.derived.state.is_live()));
        });
        assert_eq!(live, agents);
        made
    };
    assert_eq!(per_read(2), per_read(200), "what a read allocates does not depend on the number of entries");
}

#[test]
fn hs_92_of_a_large_fleet_each_record_and_a_part_of_the_directories_is_asked() {
    let agents: Vec<String> = (0..1100).map(|number| format!("{number:04}")).collect();
    let (host, simulation) = simulated(&agents.iter().map(String::as_str).collect::<Vec<_>>());
    simulation.clock.advance(Duration::from_secs(3));
    let fleet = simulated_fleet(&host, &FleetOptions::default());
    assert_eq!(read(&fleet).len(), 1100);
    for _ in 0..2 {
        simulation.files.forget_operations();
        assert_eq!(read(&fleet).len(), 1100);
        let counts = simulation.files.counts();
        assert_eq!(counts[&OperationKind::Metadata], 1100 + 1 + 550);
        assert_eq!(counts.len(), 2, "{counts:?}");
    }
    // A new agent beside the others is seen at once, one below another's directory by the second read.
    plant(&simulation, "new", "idle");
    assert_eq!(read(&fleet).len(), 1101);
    plant(&simulation, "0001/below", "idle");
    plant(&simulation, "0002/below", "idle");
    read(&fleet);
    assert_eq!(read(&fleet).len(), 1103);
}

#[test]
fn hs_92_where_links_are_not_counted_directories_are_listed() {
    let (host, simulation) = simulated(&["a", "b/c"]);
    simulation.files.set_counts_subdirectories(false);
    let fleet = simulated_fleet(&host, &FleetOptions::default());
    assert_eq!(read(&fleet), ["a active", "b/c active"]);
    simulation.clock.advance(Duration::from_secs(3));
    read(&fleet);
    simulation.files.forget_operations();
    read(&fleet);
    assert_eq!(simulation.files.counts().get(&OperationKind::Names), None, "{:?}", simulation.files.trace());
    plant(&simulation, "a/below", "idle");
    assert_eq!(read(&fleet), ["a active", "a/below idle", "b/c active"]);
}

#[test]
fn hs_92_whatever_changed_is_read_again() {
    let ground = Ground::new();
    for agent in ["a", "b", "c/d", "e"] {
        ground.publish(agent, "active");
    }
    ground.settle();
    let fleet = ground.fleet();
    for _ in 0..3 {
        assert_eq!(read(&fleet), ["a active", "b active", "c/d active", "e active"]);
    }
    ground.publish("a", "idle");
    let stands = std::fs::read_to_string(ground.path("b/harness-state")).expect("it stands");
    std::fs::write(ground.path("b/harness-state"), stands.replace("active", "child ")).expect("in place");
    ground.publish("c/d/below", "ready");
    std::fs::remove_dir_all(ground.path("e")).expect("removed");
    ground.publish("f/g", "idle");
    let changed = ["a idle", "b literal-unknown", "c/d active", "c/d/below ready", "f/g idle"];
    assert_eq!(read(&fleet), changed);
    std::fs::rename(ground.path("c"), ground.path("h")).expect("moved");
    std::fs::remove_file(ground.path("a/harness-state")).expect("removed");
    let moved = ["b literal-unknown", "f/g idle", "h/d active", "h/d/below ready"];
    assert_eq!(read(&fleet), moved);
    std::fs::remove_dir_all(ground.path("b")).expect("removed");
    std::fs::write(ground.path("b"), "a file in its place").expect("written");
    assert_eq!(read(&fleet), moved[1..]);
}

#[test]
fn hs_92_a_root_may_be_missing_vanish_and_be_replaced() {
    let ground = Ground::new();
    let fleet = ground.fleet();
    let view = fleet.read(FleetProbe::None);
    assert!(view.entries.is_empty() && view.left_out.is_empty());
    ground.publish("a", "active");
    assert_eq!(read(&fleet), ["a active"]);
    std::fs::rename(ground.root(), ground.beside("away")).expect("moved");
    assert_eq!(read(&fleet), [""; 0]);
    ground.publish("b", "idle");
    assert_eq!(read(&fleet), ["b idle"]);
    std::fs::rename(ground.root(), ground.beside("second")).expect("moved");
    std::fs::rename(ground.beside("away"), ground.root()).expect("moved");
    assert_eq!(read(&fleet), ["a active"], "another directory, not an unchanged one");
    let refused = Fleet::open("", &FleetOptions::default(), &Options::default(), ground.host());
    assert_eq!(refused.err().map(|error| error.code()), Some(Code::HarnessStateInput));
}

#[test]
fn hs_92_a_root_that_cannot_be_opened_now_makes_nothing_absent() {
    let ground = Ground::new();
    ground.publish("a", "active");
    let fleet = ground.fleet();
    assert_eq!(read(&fleet), ["a active"]);
    ground.machine.set_faults(r#"[{"on":"open","do":"error","errno":"EMFILE"}]"#).expect("faults");
    let view = fleet.read(FleetProbe::None);
    assert_eq!(words(&view), ["a unreadable-record"]);
    assert_eq!(view.left_out.unreadable, 1);
    assert_eq!(read(&fleet), ["a active"]);
    ground
        .machine
        .set_faults(r#"[{"on":"any","repeat":true,"do":"error","errno":"EMFILE"}]"#)
        .expect("faults");
    let view = ground.fleet().read(FleetProbe::None);
    assert_eq!((view.entries.len(), view.left_out.unreadable), (0, 1));
}

#[test]
fn hs_92_whatever_operation_fails_the_next_read_is_whole() {
    let prepare = || {
        let (host, simulation) = simulated(&["a", "b/c", "d"]);
        simulation.clock.advance(Duration::from_secs(3));
        let fleet = simulated_fleet(&host, &FleetOptions::default());
        (simulation, fleet)
    };
    let whole = ["a active", "b/c active", "d active"];
    let (simulation, fleet) = prepare();
    assert_eq!((read(&fleet).len(), read(&fleet).len()), (3, 3));
    let operations = simulation.files.last_number();
    assert!(operations > 15, "{:?}", simulation.files.trace());
    for errno in ["EIO", "EMFILE", "EACCES"] {
        for number in 1..=operations {
            let (simulation, fleet) = prepare();
            let fault = format!(r#"[{{"at":{number},"do":"error","errno":"{errno}"}}]"#);
            simulation.files.set_faults(Fault::parse_list(&fault).expect("faults"));
            let mut views = [fleet.read(FleetProbe::None), fleet.read(FleetProbe::None)].into_iter();
            // Nothing is missing without a word.
            assert!(
                views.all(|view| view.entries.len() == 3 || !view.left_out.is_empty()),
                "{number} {errno}"
            );
            assert_eq!(read(&fleet), whole, "{number} {errno}: {:?}", simulation.files.trace());
            // From one operation on all of them fail: what was known is not gone.
            let fault =
                format!(r#"[{{"on":"any","nth":{number},"repeat":true,"do":"error","errno":"{errno}"}}]"#);
            simulation.files.set_faults(Fault::parse_list(&fault).expect("faults"));
            for agent in ["a", "b/c", "d"] {
                plant(&simulation, agent, "active");
            }
            let views = [fleet.read(FleetProbe::None), fleet.read(FleetProbe::None)];
            assert!(views.iter().all(|view| view.entries.len() == 3), "{number} {errno}: {views:?}");
            simulation.files.set_faults([]);
            assert_eq!(read(&fleet), whole, "{number} {errno}: {:?}", simulation.files.trace());
        }
    }
}

#[test]
fn hs_92_a_change_in_the_tick_of_the_last_read_is_not_missed() {
    let (host, simulation) = simulated(&["a"]);
    let fleet = simulated_fleet(&host, &FleetOptions::default());
    assert_eq!(read(&fleet), ["a active"]);
    // The same inode, size and times: only its age at the last read tells.
    let stands = simulation.files.contents("/fleet/a/harness-state").expect("it stands");
    let text = String::from_utf8(stands).expect("UTF-8");
    simulation
        .files
        .overwrite("/fleet/a/harness-state", text.replace("active", "ready ").as_bytes())
        .expect("in place");
    assert_eq!(read(&fleet), ["a literal-unknown"]);
    for (rest, is_read) in [(Duration::from_millis(2_000), true), (Duration::from_millis(2), false)] {
        simulation.clock.advance(rest);
        read(&fleet);
        simulation.files.forget_operations();
        read(&fleet);
        let counts = simulation.files.counts();
        // The simulated clock began at a whole second, which looks like a file system that keeps no parts of one.
        assert_eq!(counts.contains_key(&OperationKind::Read), is_read, "{:?}", simulation.files.trace());
    }
}
