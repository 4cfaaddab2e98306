//! The process table of macOS over bytes as its headers lay them out, and over a system that refuses, tears and changes.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::calls::{self, Calls};
use super::layout::{Info, SHORT_SIZE, Started, WHOLE_SIZE};
use super::table::{DarwinTable, since_boot};
use crate::clock::ClockReading;
use crate::process::{
    Activity, Lineage, Liveness, ProcessFact, ProcessTable, RecordedProcess, Signal, Signalled, Standing,
    TableEntry,
};

const START: u64 = 1_700_000_000_000_321;

/// A process of the machine, as its kernel would tell it.
#[derive(Clone, Debug)]
struct Process {
    parent: u32,
    group: u32,
    session: u32,
    status: u32,
    start: u64,
    name: &'static str,
    /// Another user's.
    is_foreign: bool,
    arguments: Vec<u8>,
}

impl Process {
    fn new(parent: u32, start: u64) -> Self {
        let (status, name, is_foreign, arguments) = (2, "harness", false, Vec::new());
        Process { parent, group: 4242, session: 4242, status, start, name, is_foreign, arguments }
    }

    /// `struct proc_bsdinfo`, member by member in the order of the header.
    fn whole(&self, pid: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [0x10, self.status, 0, pid, self.parent, 501, 20, 501, 20, 501, 20, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(padded(self.name, 16));
        bytes.extend(padded(self.name, 32));
        for word in [3, self.group, 1, 0x1000_0001, self.group, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(u64::to_ne_bytes(self.start / 1_000_000));
        bytes.extend(u64::to_ne_bytes(self.start % 1_000_000));
        bytes
    }

    /// `struct proc_bsdshortinfo`.
    fn short(&self, pid: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [pid, self.parent, self.group, self.status] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(padded(self.name, 16));
        for word in [0x10, 0, 0, 0, 0, 0, 0, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes
    }
}

fn padded(text: &str, length: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes()[..text.len().min(length - 1)].to_vec();
    bytes.resize(length, 0);
    bytes
}

/// What `KERN_PROCARGS2` gives of a program that was started so.
fn started_with(path: &str, arguments: &[&str], environment: &[&str]) -> Vec<u8> {
    let mut bytes = i32::try_from(arguments.len()).expect("a few").to_ne_bytes().to_vec();
    bytes.extend(path.as_bytes());
    bytes.extend([0; 5]);
    for text in arguments.iter().chain(environment) {
        bytes.extend(text.as_bytes());
        bytes.push(0);
    }
    if !environment.is_empty() {
        bytes.extend(b"\0ptr_munge=\0main_stack=\0");
    }
    bytes
}

/// A machine with macOS.
#[derive(Clone, Debug, Default)]
struct Machine(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    processes: BTreeMap<u32, Process>,
    /// What every question is answered with.
    refusal: Option<Errno>,
    /// How many bytes are missing of each answer.
    missing: usize,
    /// These are listed too, though they have ended.
    ended: Vec<u32>,
    sent: Vec<(u32, Signal)>,
}

impl Machine {
    fn with(processes: impl IntoIterator<Item = (u32, Process)>) -> DarwinTable<Machine> {
        let machine = Machine::default();
        machine.lock().processes.extend(processes);
        DarwinTable(machine)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn process(&self, pid: u32) -> Result<Process, Errno> {
        let state = self.lock();
        match state.refusal {
            Some(refusal) => Err(refusal),
            None => state.processes.get(&pid).cloned().ok_or(Errno::SRCH),
        }
    }

    fn answer(&self, bytes: &[u8], out: &mut [u8]) -> Result<usize, Errno> {
        let length = bytes.len().saturating_sub(self.lock().missing);
        let room = out.get_mut(..length).ok_or(Errno::NOMEM)?;
        room.copy_from_slice(&bytes[..length]);
        Ok(length)
    }
}

impl Calls for Machine {
    fn own_pid(&self) -> u32 {
        10
    }

    fn info(&self, pid: u32, kind: i32, out: &mut [u8]) -> Result<usize, Errno> {
        let process = self.process(pid)?;
        match kind {
            calls::WHOLE if process.is_foreign => Err(Errno::PERM),
            calls::WHOLE => self.answer(&process.whole(pid), out),
            calls::SHORT => self.answer(&process.short(pid), out),
            _ => Err(Errno::INVAL),
        }
    }

    fn pids(&self, out: &mut [i32]) -> Result<usize, Errno> {
        let state = self.lock();
        if let Some(refusal) = state.refusal {
            return Err(refusal);
        }
        let pids = std::iter::once(&0).chain(state.processes.keys()).chain(&state.ended);
        let places = out.iter_mut().zip(pids);
        Ok(places.map(|(place, pid)| *place = pid.cast_signed()).count())
    }

    fn session(&self, pid: u32) -> Result<u32, Errno> {
        let process = self.process(pid)?;
        if process.status == 5 { Err(Errno::SRCH) } else { Ok(process.session) }
    }

    fn arguments(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno> {
        let process = self.process(pid).map_err(|_| Errno::INVAL)?;
        if process.is_foreign { Err(Errno::INVAL) } else { self.answer(&process.arguments, out) }
    }

    fn executable(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno> {
        let process = self.process(pid)?;
        self.answer(format!("/opt/bin/{}", process.name).as_bytes(), out)
    }

    fn variable(&self, name: &CStr, out: &mut [u8]) -> Result<usize, Errno> {
        if name != c"kern.bootsessionuuid" {
            return Err(Errno::NOENT);
        }
        self.answer(b"5B6A6A0E-0000-4000-8000-0123456789AB\0", out)
    }

    fn host_id(&self) -> Result<[u8; 16], Errno> {
        self.lock().refusal.map_or(Ok([0x5b; 16]), Err)
    }

    fn node_name(&self) -> String {
        "a-mac.local".to_owned()
    }

    fn signal(&self, pid: u32, signal: Option<Signal>) -> Result<(), Errno> {
        let process = self.process(pid)?;
        if process.is_foreign {
            return Err(Errno::PERM);
        }
        let mut state = self.lock();
        state.sent.extend(signal.map(|signal| (pid, signal)));
        Ok(())
    }
}

#[test]
fn the_structures_are_read_at_the_places_of_the_header() {
    let process = Process::new(4000, START);
    assert_eq!((process.whole(7).len(), process.short(7).len()), (WHOLE_SIZE, SHORT_SIZE));
    let info = Info::whole(&process.whole(7)).expect("it is whole");
    let wanted = Info {
        pid: 7,
        parent: 4000,
        group: 4242,
        activity: Activity::Running,
        start: START,
        name: "harness".to_owned(),
    };
    assert_eq!(info, wanted);
    assert_eq!(Info::short(&process.short(7)), Some(Info { start: 0, ..wanted }));
    for length in 0..WHOLE_SIZE {
        assert_eq!(Info::whole(&process.whole(7)[..length]), None, "{length}");
        assert!(length >= SHORT_SIZE || Info::short(&process.short(7)[..length]).is_none(), "{length}");
    }
    let unnamed = Process { name: "", ..process };
    assert_eq!(Info::whole(&unnamed.whole(7)).expect("it is whole").name, "");
}

#[test]
fn what_a_process_was_started_with_is_read_up_to_the_end_of_its_variables() {
    let bytes = started_with("/usr/local/bin/node", &["node", "", "a b"], &["PATH=/bin", "MARK=x"]);
    let started = Started::of(&bytes).expect("it is whole");
    assert_eq!(started.arguments, [&b"node"[..], b"", b"a b"]);
    assert_eq!(started.environment, [&b"PATH=/bin"[..], b"MARK=x"], "the loader's strings are none of it");
    let kept_back = started_with("/bin/sh", &["sh", "-c", "sleep 1"], &[]);
    let started = Started::of(&kept_back).expect("it is whole");
    assert_eq!((started.arguments.len(), started.environment.len()), (3, 0));
    for nonsense in
        [&b""[..], b"\x01", b"\x01\0\0\0", b"\xff\xff\xff\xffpath\0a\0", b"\xff\xff\xff\x7fp\0a\0"]
    {
        assert_eq!(Started::of(nonsense), None, "{nonsense:?}");
    }
}

#[test]
fn ex_loc_05_a_process_is_told_by_its_start_and_a_zombie_runs_no_more() {
    let table = Machine::with([(4242, Process::new(4000, START)), (10, Process::new(1, 5))]);
    assert_eq!(table.fact(4242), ProcessFact::Running { start: START });
    assert_eq!((table.own(), table.own_parent()), ((10, 5), Some(1)));
    let process = RecordedProcess::of(4242, &table).expect("it runs");
    assert_eq!(process.identity, "darwin:1700000000.000321");
    assert_eq!(process.standing(&table), Standing::Alive { start: START });
    let identity = table.identify(4242).expect("it runs");
    assert_eq!(identity.liveness(&table), Liveness::Alive, "boot, namespace and host are told");
    assert_eq!(identity.boot, "5B6A6A0E-0000-4000-8000-0123456789AB");
    table.0.lock().processes.get_mut(&4242).expect("it is there").status = 5;
    assert_eq!(process.standing(&table), Standing::Zombie);
    table.0.lock().processes.insert(4242, Process::new(1, START + 1));
    assert_eq!(process.standing(&table), Standing::Gone, "its pid was used again");
    table.0.lock().processes.remove(&4242);
    assert_eq!(process.standing(&table), Standing::Gone);
}

#[test]
fn ex_loc_30_a_process_of_another_user_is_seen_and_neither_gone_nor_named() {
    let foreign = Process { is_foreign: true, parent: 4242, ..Process::new(4242, START) };
    let table = Machine::with([(4242, Process::new(1, START)), (4300, foreign)]);
    assert_eq!(table.fact(4300), ProcessFact::Unreadable);
    assert_eq!(table.signal(4300, START, Signal::Kill), Signalled::Refused);
    assert_eq!(table.signal(4300, 0, Signal::Kill), Signalled::Refused);
    let entries = table.entries().expect("the table is readable");
    let wanted = TableEntry {
        pid: 4300,
        parent: 4242,
        group: 4242,
        session: 4242,
        start: 0,
        activity: Activity::Running,
    };
    assert_eq!(entries[1], wanted);
    assert_eq!(table.was_started_with(4300, "MARK=x"), None);
    let saved = RecordedProcess::at(4300, 0, &table);
    assert_eq!(saved.standing(&table), Standing::Unproved);
}

#[test]
fn ex_loc_07_a_table_that_refuses_or_tears_its_answers_proves_nothing() {
    let table = Machine::with([(4242, Process::new(4000, START))]);
    let process = RecordedProcess::of(4242, &table).expect("it runs");
    for refusal in [Errno::PERM, Errno::INVAL, Errno::NOMEM, Errno::NOSYS] {
        table.0.lock().refusal = Some(refusal);
        assert_eq!(table.fact(4242), ProcessFact::Unreadable, "{refusal}");
        assert_eq!((process.standing(&table), table.entries()), (Standing::Unproved, None), "{refusal}");
        assert_eq!(table.signal(4242, START, Signal::Term), Signalled::Refused, "{refusal}");
        assert_eq!(&*table.host(), "a-mac.local");
    }
    table.0.lock().refusal = None;
    assert_eq!(&*table.host(), "5b".repeat(16));
    table.0.lock().missing = 1;
    assert_eq!((table.fact(4242), table.entries()), (ProcessFact::Unreadable, None));
    assert_eq!(table.0.lock().sent, []);
}

#[test]
fn the_whole_table_leaves_out_the_kernel_and_who_has_ended_meanwhile() {
    let many = (100..3_100).map(|pid| (pid, Process::new(1, START)));
    let table = Machine::with(many);
    table.0.lock().ended = vec![9_000, 9_001];
    let zombie = Process { status: 5, ..Process::new(1, START) };
    table.0.lock().processes.insert(100, zombie);
    table.0.lock().processes.get_mut(&101).expect("it is there").status = 4;
    let entries = table.entries().expect("it can be read");
    assert_eq!(entries.len(), 3_000, "more than one list has room for");
    assert_eq!((entries[0].activity, entries[0].session), (Activity::Zombie, 0));
    assert_eq!(entries[1].activity, Activity::Stopped);
}

#[test]
fn a_process_is_known_by_the_variable_with_which_it_was_started() {
    let mark = "GALLIVANT_RUN_PROCESS=4242@darwin:1700000000.000321";
    let own = started_with("/opt/bin/harness", &["harness"], &["PATH=/bin", mark]);
    let other = started_with("/opt/bin/harness", &["harness", mark], &["PATH=/bin"]);
    let protected = started_with("/bin/sh", &["sh"], &[]);
    let process = |arguments: Vec<u8>| Process { arguments, ..Process::new(1, START) };
    let table = Machine::with([(1000, process(own)), (1001, process(other)), (1002, process(protected))]);
    assert_eq!(table.was_started_with(1000, mark), Some(true));
    assert_eq!(table.was_started_with(1001, mark), Some(false), "an argument is no variable");
    assert_eq!(table.was_started_with(1002, mark), None, "the system keeps it back");
    assert_eq!(table.was_started_with(1003, mark), None);
}

#[test]
fn a_long_name_is_taken_from_the_program_s_path() {
    let long = "a-harness-whose-name-is-longer-than-that";
    let arguments = started_with("/opt/bin/x", &["x", "run"], &["A=b"]);
    let short = Process { arguments, ..Process::new(1, START) };
    let table = Machine::with([(7, Process { name: long, ..short.clone() }), (8, short)]);
    assert_eq!(table.lineage(7).expect("it runs").name, long);
    let wanted = Lineage {
        start: START,
        parent: 1,
        name: "harness".to_owned(),
        arguments: vec!["x".to_owned(), "run".to_owned()],
    };
    assert_eq!(table.lineage(8), Some(wanted));
    assert_eq!(table.lineage(9), None);
}

#[test]
fn ex_loc_06_a_signal_reaches_the_process_that_is_meant_and_no_other() {
    let table = Machine::with([(4242, Process::new(1, START)), (1, Process::new(0, START))]);
    assert_eq!(table.signal(4242, START, Signal::Term), Signalled::Sent);
    assert_eq!(table.signal(4242, START + 1, Signal::Term), Signalled::Gone);
    assert_eq!(table.signal(4243, START, Signal::Term), Signalled::Gone);
    for pid in [0, 1, 10, 1 << 31, u32::MAX] {
        assert_eq!(table.signal(pid, START, Signal::Kill), Signalled::Refused, "{pid}");
    }
    assert_eq!(table.0.lock().sent, [(4242, Signal::Term)]);
}

#[test]
fn a_start_is_as_long_ago_by_the_boot_clock_as_by_the_wall_clock() {
    let (wall, boot) = (Duration::from_micros(START + 2_000_000), Duration::from_secs(100));
    let now = ClockReading { wall, boot, awake: Duration::from_secs(90) };
    assert_eq!(since_boot(START, now), Some(Duration::from_secs(98)));
    assert_eq!(since_boot(0, now), None);
    assert_eq!(since_boot(START + 3_000_000, now), None, "the wall clock was set back since");
    assert_eq!(since_boot(1, now), None, "it was set forward by more than the machine has been up");
}
