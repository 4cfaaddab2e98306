//! Linux: what `/proc` says of one process.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;

use super::whole_table;
use crate::forks::OncePerProcess;
use crate::process::signal::{self, Signal, Signalled};
use crate::process::table::absent_by_signal;
use crate::process::{Lineage, ProcessFact, ProcessTable, SystemProcessTable, TableEntry};

impl SystemProcessTable {
    /// Right in any namespace, whichever `/proc` is mounted.
    fn own_fact(&self) -> ProcessFact {
        read_whole("/proc/self/stat").map_or(ProcessFact::Unreadable, |stat| parse_stat(&stat))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's process facts")]
impl ProcessTable for SystemProcessTable {
    fn own_pid(&self) -> u32 {
        std::process::id()
    }

    fn own_start(&self) -> u64 {
        self.own().1
    }

    /// Read once, and again in a forked child.
    fn own(&self) -> (u32, u64) {
        static KNOWN: OncePerProcess<(u32, u64)> = OncePerProcess::new();
        let read = KNOWN.get_or_try(|| match self.own_fact() {
            ProcessFact::Running { start } => Some((self.own_pid(), start)),
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => None,
        });
        read.unwrap_or_else(|| (self.own_pid(), 0))
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        if pid == 0 {
            return ProcessFact::Absent;
        }
        if pid == self.own_pid() {
            return self.own_fact();
        }
        if !proc_counts_as_we_do() {
            return absent_where_nothing_is_shown(pid);
        }
        match read_whole(&format!("/proc/{pid}/stat")) {
            Ok(stat) => parse_stat(&stat),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => absent_where_nothing_is_shown(pid),
            // A process that ends between open and read answers ESRCH.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => ProcessFact::Absent,
            Err(_) => ProcessFact::Unreadable,
        }
    }

    /// Read once: no process outlives its boot.
    fn boot(&self) -> Arc<str> {
        static KNOWN: OnceLock<Arc<str>> = OnceLock::new();
        let known = KNOWN.get_or_init(|| {
            let id = read_whole("/proc/sys/kernel/random/boot_id").ok();
            id.and_then(|id| Some(std::str::from_utf8(&id).ok()?.trim().into())).unwrap_or_default()
        });
        Arc::clone(known)
    }

    /// Empty also where `/proc` is another namespace's: what it says of a pid is then said of a stranger.
    fn pid_namespace(&self) -> String {
        if !proc_counts_as_we_do() {
            return String::new();
        }
        std::fs::read_link("/proc/self/ns/pid")
            .map(|link| link.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// Read once: what names a machine is there before its first process of ours, and stays.
    fn host(&self) -> Arc<str> {
        static KNOWN: OnceLock<Arc<str>> = OnceLock::new();
        let known = KNOWN.get_or_init(|| {
            let machine = read_whole("/etc/machine-id").unwrap_or_default();
            match std::str::from_utf8(&machine).unwrap_or_default().trim() {
                "" => rustix::system::uname().nodename().to_string_lossy().into(),
                id => id.into(),
            }
        });
        Arc::clone(known)
    }

    fn own_group(&self) -> Option<u32> {
        let stat = read_whole("/proc/self/stat").ok().filter(|_| proc_counts_as_we_do())?;
        whole_table::parse(self.own_pid(), &stat).map(|entry| entry.group)
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        if proc_counts_as_we_do() { whole_table::read().ok() } else { None }
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        if proc_counts_as_we_do() { whole_table::was_started_with(pid, variable) } else { None }
    }

    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        if pid < 2 || pid == self.own_pid() {
            return Signalled::Refused;
        }
        signal::send(pid, start, signal, |pid| self.fact(pid))
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        if !proc_counts_as_we_do() {
            return None;
        }
        let mut lineage = parse_lineage(&read_whole(&format!("/proc/{pid}/stat")).ok()?)?;
        let arguments = read_whole(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let arguments = arguments.strip_suffix(&[0]).unwrap_or(&arguments);
        if !arguments.is_empty() {
            let text = |argument: &[u8]| String::from_utf8_lossy(argument).into_owned();
            lineage.arguments = arguments.split(|byte| *byte == 0).map(text).collect();
        }
        Some(lineage)
    }

    fn own_parent(&self) -> Option<u32> {
        let counts = proc_counts_as_we_do();
        counts.then(|| {
            rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs())
        })
    }
}

/// Reads a file that the system makes up, or one that is replaced whole, in three system calls: a read that leaves room
/// has met the end of such a file. A hook is a process of one write, which pays for all of them.
fn read_whole(path: &str) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
    let mut bytes = Vec::with_capacity(2048);
    loop {
        let room = bytes.capacity() - bytes.len();
        let read = retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)))?;
        if read < room {
            return Ok(bytes);
        }
        bytes.reserve(bytes.len());
    }
}

/// Whether `/proc` is mounted for the pid namespace in which this process runs. In a new namespace without a `/proc` of
/// its own the old one is still there, with the old one's pids: another process stands under every number.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's process facts")]
fn proc_counts_as_we_do() -> bool {
    // Asked once, and again in a forked child: nobody is moved into another namespace, children are.
    static KNOWN: OncePerProcess<bool> = OncePerProcess::new();
    let read = KNOWN.get_or_try(|| {
        let status = read_whole("/proc/self/status").unwrap_or_default();
        let ours = is_of_one_namespace(&status).unwrap_or_else(|| {
            let pid = std::process::id().to_string();
            std::fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == pid.as_str())
        });
        Some(ours)
    });
    read.unwrap_or_default()
}

/// Reads the line of a process's pids, one for each namespace from that of the mount down to its own; `None` where an
/// old kernel has no such line.
fn is_of_one_namespace(status: &[u8]) -> Option<bool> {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let pids = line.split(u8::is_ascii_whitespace).filter(|pid| !pid.is_empty());
    Some(pids.count() == 1)
}

/// A missing entry proves absence only where `/proc` is mounted and shows every process (`hidepid` does not). A signal
/// counts pids as this process does.
fn absent_where_nothing_is_shown(pid: u32) -> ProcessFact {
    if absent_by_signal(pid) { ProcessFact::Absent } else { ProcessFact::Unreadable }
}

/// Ticks since boot as a time.
pub(in crate::process) fn since_boot(start: u64) -> Option<Duration> {
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    if start == 0 || ticks_per_second == 0 {
        return None;
    }
    Some(Duration::from_millis(start.saturating_mul(1000) / ticks_per_second))
}

/// Reads state (field 3), the number of threads (field 20) and start time (field 22). The command name in field 2 may hold anything, closing
/// parentheses and line ends included, so the fields are counted from the last closing parenthesis.
fn parse_stat(stat: &[u8]) -> ProcessFact {
    let Some(end) = stat.iter().rposition(|byte| *byte == b')') else { return ProcessFact::Unreadable };
    let Ok(rest) = std::str::from_utf8(&stat[end + 1..]) else { return ProcessFact::Unreadable };
    let mut fields = rest.split_ascii_whitespace();
    let (Some(state), Some(threads), Some(start)) = (fields.next(), fields.nth(16), fields.nth(1)) else {
        return ProcessFact::Unreadable;
    };
    // A process whose first thread has ended looks like a zombie while its other threads work on.
    let has_others = threads.parse::<u32>().is_ok_and(|threads| threads > 1);
    match (state, start.parse()) {
        ("Z" | "X" | "x", _) if !has_others => ProcessFact::Zombie,
        (_, Ok(start)) => ProcessFact::Running { start },
        (_, Err(_)) => ProcessFact::Unreadable,
    }
}

/// Reads the name (field 2), the parent (field 4) and the start time (field 22); the arguments stand elsewhere.
fn parse_lineage(stat: &[u8]) -> Option<Lineage> {
    let (begin, end) =
        (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
    let name = String::from_utf8_lossy(stat.get(begin + 1..end)?).into_owned();
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Lineage { start, parent, name, arguments: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_parentheses_does_not_shift_the_fields() {
        let line = b"7 (a) R) b\n) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_stat(line), ProcessFact::Running { start: 4711 });
        let zombie = b"7 (x) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_stat(zombie), ProcessFact::Zombie);
        let without_leader = b"7 (x) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 2 0 4711 1 1";
        assert_eq!(
            parse_stat(without_leader),
            ProcessFact::Running { start: 4711 },
            "its other thread works on"
        );
        assert_eq!(parse_stat(b"7 (x"), ProcessFact::Unreadable);
        assert_eq!(parse_stat(b"7 (x) S 1"), ProcessFact::Unreadable);
        let lineage = parse_lineage(line).expect("it is whole");
        assert_eq!((lineage.parent, lineage.start, &*lineage.name), (1, 4711, "a) R) b\n"));
        assert_eq!(parse_lineage(b"7 (x) S 1"), None);
    }

    #[test]
    fn a_proc_of_an_outer_namespace_is_told_by_its_pids() {
        assert_eq!(is_of_one_namespace(b"Name:\tx\nNSpid:\t42\nNSsid:\t1\n"), Some(true));
        assert_eq!(is_of_one_namespace(b"Name:\tx\nNSpid:\t4711\t1\nNSsid:\t1\t0\n"), Some(false));
        assert_eq!(is_of_one_namespace(b"Name:\tx\n"), None, "a kernel before 4.1");
        assert!(proc_counts_as_we_do());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a process itself")]
    fn the_own_process_is_alive_and_a_zombie_is_dead() {
        let table = SystemProcessTable;
        let own = table.identify(table.own_pid()).expect("this process runs");
        assert_eq!(own.liveness(&table), crate::process::Liveness::Alive);
        let mut child = std::process::Command::new("true").spawn().expect("true starts");
        let deadline = std::time::Duration::from_secs(10);
        let clock = crate::clock::SystemClock;
        let started = crate::clock::Clock::awake(&clock);
        while table.fact(child.id()) != ProcessFact::Zombie {
            assert!(crate::clock::Clock::awake(&clock) - started < deadline, "the child never ended");
            crate::clock::Clock::sleep(&clock, std::time::Duration::from_millis(1));
        }
        let lineage = table.lineage(child.id()).expect("a zombie has a parent");
        assert_eq!((lineage.parent, &*lineage.name), (table.own_pid(), "true"));
        child.wait().expect("the child is reaped");
        assert_eq!(table.lineage(child.id()), None);
        let own = table.lineage(table.own_pid()).expect("this process runs");
        assert_eq!(own.arguments, std::env::args().collect::<Vec<_>>());
        assert_eq!(table.fact(child.id()), ProcessFact::Absent);
    }
}
