//! Who is proved to be of a run, over process tables as data: pids that were reused, tables that cannot be read, other boots and
//! namespaces, numbers that nobody may signal (EX-LOC-05 to 09, 28, 30; field case C-061).

use gallivant_core::json::Value;
use gallivant_core::local_runner::{ExitRecord, RunProcess, Seen, Sent, observe, signal};
use gallivant_core::process::{ProcessFact, ProcessTable, Signal, System};
use gallivant_core::testing::SimulatedProcesses;
use serde_json::{Value as Json, json};

use crate::ground::to_core;

const BOOT: &str = "00000000-0000-4000-8000-000000000001";

/// The coordinator 10 on a machine with the harness 4242 of start 900 below the supervisor 4000 of start 800.
fn machine() -> SimulatedProcesses {
    let table = SimulatedProcesses::new(10, 500);
    table.start_program(4000, 800, 1, &["gallivant-supervise"]);
    table.start_program(4242, 900, 4000, &["harness"]);
    table
}

fn identity(start: u64) -> String {
    format!("linux:{BOOT}:4026531836:{start}")
}

fn record() -> Json {
    json!({
        "pid": 4242, "identity": identity(900), "group": 4242,
        "supervisor": {"pid": 4000, "identity": identity(800)}
    })
}

fn known(process: &Json) -> Option<RunProcess> {
    RunProcess::of(&to_core(process), &Value::Null)
}

fn pids(seen: &Seen) -> Vec<u32> {
    match seen {
        Seen::Alive(members) => members.iter().map(|member| member.process.pid).collect(),
        other => panic!("{other:?}"),
    }
}

/// Nothing can be proved, and neither signal reaches anybody.
#[track_caller]
fn is_left_alone(process: &RunProcess, table: &SimulatedProcesses, seen: &Seen) {
    assert_eq!(observe(process, None, table), *seen);
    for wanted in [Signal::Term, Signal::Kill] {
        let sent = signal(process, None, wanted, table);
        assert_eq!(sent, Sent { whole: *seen == Seen::Gone, count: 0 });
    }
    assert_eq!(table.signals(), []);
}

#[test]
fn c_061_every_finding_of_the_case_is_judged_as_it_says() {
    let process = known(&json!({"pid": 4242, "identity": identity(900)})).expect("a record");
    let table = machine();
    assert_eq!(pids(&observe(&process, None, &table)), [4242]);
    table.start(4242, 15_000);
    is_left_alone(&process, &table, &Seen::Gone);
    let table = machine().rebooted();
    table.start(4242, 900);
    is_left_alone(&process, &table, &Seen::Gone);
    let table = machine();
    table.end(4242);
    is_left_alone(&process, &table, &Seen::Gone);
    let table = machine();
    table.set(4242, ProcessFact::Unreadable);
    is_left_alone(&process, &table, &Seen::Unreadable);
    let table = machine();
    table.set(4242, ProcessFact::Zombie);
    is_left_alone(&process, &table, &Seen::Gone);
}

#[test]
fn ex_loc_28_numbers_that_no_run_has_are_no_record() {
    for pid in
        [json!(0), json!(1), json!(-1), json!(-4242), json!(null), json!("4242"), json!(4_294_967_296_u64)]
    {
        let mut process = record();
        process["pid"] = pid.clone();
        assert_eq!(known(&process), None, "{pid}");
        let mut process = record();
        process["supervisor"]["pid"] = pid.clone();
        assert_eq!(known(&process), None, "{pid}");
    }
    for group in [json!(0), json!(1), json!(-4242)] {
        let mut process = record();
        process["group"] = group.clone();
        assert_eq!(known(&process), None, "{group}");
    }
    let kill = to_core(&json!({"pids": [{"pid": 1, "identity": identity(1)}]}));
    assert_eq!(RunProcess::of(&to_core(&record()), &kill), None);
}

#[test]
fn ex_loc_28_the_librarys_own_process_and_group_are_never_signalled() {
    let table = machine();
    let own = known(&json!({"pid": 10, "identity": identity(500)})).expect("a record");
    is_left_alone(&own, &table, &Seen::Unreadable);
    let mut process = record();
    process["group"] = json!(10);
    is_left_alone(&known(&process).expect("a record"), &table, &Seen::Unreadable);
    // This process in the group of the record: it would be signalled with it.
    table.set_group(10, 4242);
    is_left_alone(&known(&record()).expect("a record"), &table, &Seen::Unreadable);
}

#[test]
fn ex_loc_06_a_pid_that_names_another_process_is_never_signalled() {
    let process = known(&record()).expect("a record");
    let table = machine();
    table.end(4000);
    table.start(4242, 901);
    table.start_program(4300, 902, 4242, &["its child"]);
    is_left_alone(&process, &table, &Seen::Gone);
}

#[test]
fn ex_loc_07_a_table_that_cannot_be_read_and_another_namespace_prove_nothing() {
    let process = known(&record()).expect("a record");
    let table = machine();
    table.set_readable(false);
    is_left_alone(&process, &table, &Seen::Unreadable);
    let table = machine();
    table.set_pid_namespace("pid:[1]");
    is_left_alone(&process, &table, &Seen::Unreadable);
    table.set_pid_namespace("");
    is_left_alone(&process, &table, &Seen::Unreadable);
    let table = machine();
    table.set_boot("");
    is_left_alone(&process, &table, &Seen::Unreadable);
    for identity in ["", "darwin:1.5", "linux:x", "nonsense"] {
        let table = machine();
        let process = known(&json!({"pid": 4242, "identity": identity}));
        match process {
            None => assert_eq!(identity, ""),
            Some(process) => is_left_alone(&process, &table, &Seen::Unreadable),
        }
    }
}

#[test]
fn ex_loc_05_another_boot_proves_the_end_of_everything() {
    let process = known(&record()).expect("a record");
    let table = machine();
    assert_eq!(observe(&process, None, &table.rebooted()), Seen::Gone);
}

#[test]
fn ex_loc_08_the_tree_is_the_process_its_group_and_all_below_whatever_group_they_went_to() {
    let process = known(&record()).expect("a record");
    let table = machine();
    table.start_program(4300, 910, 4242, &["child"]);
    table.start_program(4301, 911, 4300, &["grandchild"]);
    table.set_group(4300, 4242);
    // Taken in by the supervisor when its parent ended, in a session of its own.
    table.start_program(4302, 912, 4000, &["orphan"]);
    // In the group, below somebody else.
    table.start_program(4303, 913, 1, &["member"]);
    table.set_group(4303, 4242);
    // Strangers.
    table.start_program(4304, 914, 1, &["stranger"]);
    table.start_program(4305, 915, 10, &["the coordinator's own child"]);
    let seen = observe(&process, None, &table);
    assert_eq!(pids(&seen), [4242, 4300, 4301, 4302, 4303], "the harness first, the supervisor not at all");
    let sent = signal(&process, None, Signal::Kill, &table);
    assert_eq!(sent, Sent { whole: true, count: 5 });
    let mut reached: Vec<u32> = table.signals().iter().map(|(pid, _)| *pid).collect();
    reached.sort_unstable();
    reached.dedup();
    assert_eq!(reached, [4242, 4300, 4301, 4302, 4303]);
}

#[test]
fn ex_loc_09_saved_descendants_and_reuse_decide_what_is_gone() {
    let kill = to_core(&json!({"pids": [{"pid": 4400, "identity": identity(950)}]}));
    let process =
        RunProcess::of(&to_core(&json!({"pid": 4242, "identity": identity(900)})), &kill).expect("a record");
    let table = machine();
    table.end(4242);
    table.end(4000);
    table.start_program(4400, 950, 1, &["escaped"]);
    assert_eq!(pids(&observe(&process, None, &table)), [4400]);
    // Its pid names another one by now.
    table.start(4400, 2000);
    assert_eq!(observe(&process, None, &table), Seen::Gone);
    // The harness's own number names another group: that group is a stranger's.
    table.start(4242, 3000);
    table.start(4500, 3001);
    table.set_group(4500, 4242);
    assert_eq!(observe(&process, None, &table), Seen::Gone);
    let _ = signal(&process, None, Signal::Kill, &table);
    assert_eq!(table.signals(), []);
    // The number names a group without its leader: whose it is, nobody can tell.
    table.end(4242);
    is_left_alone(&process, &table, &Seen::Unreadable);
    // Unless it was started with the mark of the run.
    let mark = format!("GALLIVANT_RUN_PROCESS=4242@{}", identity(900));
    table.start_program(4500, 3001, 1, &["member", &mark]);
    assert_eq!(pids(&observe(&process, None, &table)), [4500]);
}

/// As [`machine`] and [`record`], on macOS.
fn macos() -> (SimulatedProcesses, Json) {
    let table = machine();
    table.set_system(System::MacOs);
    let record = json!({
        "pid": 4242, "identity": "darwin:0.000900", "group": 4242,
        "supervisor": {"pid": 4000, "identity": "darwin:0.000800"}
    });
    (table, record)
}

#[test]
fn ex_loc_08_on_macos_an_orphan_is_known_by_its_mark_also_while_the_supervisor_lives() {
    let (table, record) = macos();
    let process = known(&record).expect("a record");
    table.start_program(4300, 910, 4242, &["child"]);
    // They have left the group, and their parents are gone: the first process has taken them in. The clock was set back before
    // the second one was started.
    table.start_program(4301, 911, 1, &["orphan", "GALLIVANT_RUN_PROCESS=4242@darwin:0.000900"]);
    table.start_program(4302, 5, 1, &["orphan", "GALLIVANT_RUN_PROCESS=4242@darwin:0.000900"]);
    table.start_program(4303, 913, 1, &["another run's", "GALLIVANT_RUN_PROCESS=4242@darwin:0.000901"]);
    assert_eq!(pids(&observe(&process, None, &table)), [4242, 4300, 4301, 4302]);
    let Seen::Alive(members) = observe(&process, None, &table) else { panic!("it lives") };
    assert_eq!(members[2].process.identity, "darwin:0.000911");
    // On Linux the supervisor would have taken them in.
    let linux = machine();
    linux.start_program(4301, 911, 1, &["a stranger", "GALLIVANT_RUN_PROCESS=4242@darwin:0.000900"]);
    assert_eq!(pids(&observe(&known(&self::record()).expect("a record"), None, &linux)), [4242]);
}

#[test]
fn ex_loc_09_on_macos_no_supervisor_proves_that_nobody_is_left() {
    let (table, record) = macos();
    let process = known(&record).expect("a record");
    table.end(4242);
    table.end(4000);
    table.start_program(4301, 911, 1, &["orphan", "GALLIVANT_RUN_PROCESS=4242@darwin:0.000900"]);
    let exit = ExitRecord {
        was_started: true,
        exit: Some(0),
        signal: Value::Null,
        ended_at: 1,
        tree_ended_at: Some(2),
    };
    assert_eq!(pids(&observe(&process, Some(&exit), &table)), [4301]);
    let sent = signal(&process, Some(&exit), Signal::Kill, &table);
    assert_eq!(sent, Sent { whole: true, count: 1 });
    assert_eq!(observe(&process, Some(&exit), &table), Seen::Gone);
    // A record of Linux says nothing about a process of this system.
    let (table, _) = macos();
    is_left_alone(&known(&self::record()).expect("a record"), &table, &Seen::Unreadable);
}

#[test]
fn ex_loc_07_a_harness_that_runs_is_proved_without_the_whole_table_and_only_then() {
    use gallivant_core::local_runner::is_led;
    let process = known(&record()).expect("a record");
    let table = machine();
    assert!(is_led(&process, &table));
    table.set_group(10, 4242);
    assert!(!is_led(&process, &table), "the library's own group is no run's");
    for pid in [4242, 4000] {
        let table = machine();
        table.set(pid, ProcessFact::Unreadable);
        assert!(!is_led(&process, &table), "{pid}");
    }
    let table = machine();
    table.set_readable(false);
    assert!(!is_led(&process, &table));
    for fact in [ProcessFact::Zombie, ProcessFact::Absent, ProcessFact::Running { start: 901 }] {
        let table = machine();
        table.set(4242, fact);
        assert!(!is_led(&process, &table), "{fact:?}");
    }
    assert!(!is_led(&process, &machine().rebooted()));
}

#[test]
fn ex_loc_30_what_may_not_be_inspected_is_never_gone() {
    let process = known(&record()).expect("a record");
    for pid in [4242, 4000] {
        let table = machine();
        table.set(pid, ProcessFact::Unreadable);
        is_left_alone(&process, &table, &Seen::Unreadable);
    }
    let kill = to_core(&json!({"pids": [{"pid": 4400, "identity": identity(950)}]}));
    let process = RunProcess::of(&to_core(&record()), &kill).expect("a record");
    let table = machine();
    table.end(4242);
    table.end(4000);
    table.set(4400, ProcessFact::Unreadable);
    is_left_alone(&process, &table, &Seen::Unreadable);
    // A real one of another user: 1 runs, and nobody here may signal it, or it is refused by its number.
    let system = gallivant_core::process::SystemProcessTable;
    let ProcessFact::Running { start } = system.fact(1) else { panic!("it runs") };
    assert_eq!(system.signal(1, start, Signal::Continue), gallivant_core::process::Signalled::Refused);
}

#[test]
fn a_supervisor_that_has_not_recorded_the_end_keeps_the_run_alive() {
    let process = known(&record()).expect("a record");
    let table = machine();
    table.end(4242);
    assert_eq!(observe(&process, None, &table), Seen::Alive(Vec::new()));
    let exit = ExitRecord {
        was_started: true,
        exit: Some(0),
        signal: Value::Null,
        ended_at: 1,
        tree_ended_at: Some(2),
    };
    assert_eq!(observe(&process, Some(&exit), &table), Seen::Gone, "it has recorded that nobody is left");
    table.end(4000);
    assert_eq!(observe(&process, None, &table), Seen::Gone);
}
