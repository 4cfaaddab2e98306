//! The trait through which facts about processes come in, and the machine's own table.

use std::fmt;

use super::ProcessIdentity;

/// Facts about processes of this machine, as this process's pid namespace counts them.
pub trait ProcessTable: Send + Sync + fmt::Debug {
    /// This process's pid. Read anew at each call, because a fork changes it.
    fn own_pid(&self) -> u32;
    /// What is known of a pid.
    fn fact(&self, pid: u32) -> ProcessFact;
    /// This process's start time in the table's unit; 0 where it cannot be read.
    fn own_start(&self) -> u64 {
        match self.fact(self.own_pid()) {
            ProcessFact::Running { start } => start,
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => 0,
        }
    }
    /// Identifies the present boot; empty where the system does not tell.
    fn boot(&self) -> String;
    /// Identifies this process's pid namespace; empty where the system does not tell.
    fn pid_namespace(&self) -> String;
    /// Identifies the machine; empty where the system does not tell.
    fn host(&self) -> String;

    /// The identity of a process that runs now; `None` when there is no such process or it cannot be read.
    fn identify(&self, pid: u32) -> Option<ProcessIdentity> {
        match self.fact(pid) {
            ProcessFact::Running { start } => Some(ProcessIdentity {
                pid,
                start,
                boot: self.boot(),
                pid_namespace: self.pid_namespace(),
                host: self.host(),
            }),
            ProcessFact::Zombie | ProcessFact::Absent | ProcessFact::Unreadable => None,
        }
    }
}

/// What is known of a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessFact {
    /// A process runs or is stopped under this pid.
    Running {
        /// Its start time in the table's unit.
        start: u64,
    },
    /// It has ended and only waits for its parent.
    Zombie,
    /// No process has this pid.
    Absent,
    /// The table cannot be read, or says nothing that can be understood.
    Unreadable,
}

/// The process table of the machine.
///
/// Linux: `/proc/<pid>/stat`, `/proc/sys/kernel/random/boot_id`, the link `/proc/self/ns/pid`, `/etc/machine-id`
/// or else the node name. Elsewhere a missing process is known by `kill(pid, 0)`, and nothing else is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProcessTable;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's process facts")]
impl ProcessTable for SystemProcessTable {
    fn own_pid(&self) -> u32 {
        std::process::id()
    }

    /// Read once for each pid that this process has had: a start time does not change, a fork changes the pid.
    fn own_start(&self) -> u64 {
        static KNOWN: std::sync::Mutex<Option<(u32, u64)>> = std::sync::Mutex::new(None);
        let pid = self.own_pid();
        let known = KNOWN.try_lock().ok().and_then(|known| *known);
        if let Some((_, start)) = known.filter(|(known_pid, _)| *known_pid == pid) {
            return start;
        }
        let ProcessFact::Running { start } = self.fact(pid) else { return 0 };
        // A fork while another thread held the mutex leaves it locked for ever; then nothing is remembered.
        if let Ok(mut known) = KNOWN.try_lock() {
            *known = Some((pid, start));
        }
        start
    }

    #[cfg(target_os = "linux")]
    fn fact(&self, pid: u32) -> ProcessFact {
        if pid == 0 {
            return ProcessFact::Absent;
        }
        match std::fs::read(format!("/proc/{pid}/stat")) {
            Ok(stat) => parse_stat(&stat),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => absent_if_proc_is_there(pid),
            // A process that ends between open and read answers ESRCH.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => ProcessFact::Absent,
            Err(_) => ProcessFact::Unreadable,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn fact(&self, pid: u32) -> ProcessFact {
        if absent_by_signal(pid) { ProcessFact::Absent } else { ProcessFact::Unreadable }
    }

    fn boot(&self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default()
    }

    fn pid_namespace(&self) -> String {
        std::fs::read_link("/proc/self/ns/pid")
            .map(|link| link.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    fn host(&self) -> String {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        match machine.trim() {
            "" => rustix::system::uname().nodename().to_string_lossy().into_owned(),
            id => id.to_owned(),
        }
    }
}

/// A missing entry proves absence only where `/proc` is mounted and shows every process (`hidepid` does not).
#[cfg(target_os = "linux")]
fn absent_if_proc_is_there(pid: u32) -> ProcessFact {
    if absent_by_signal(pid) { ProcessFact::Absent } else { ProcessFact::Unreadable }
}

fn absent_by_signal(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return true };
    match rustix::process::Pid::from_raw(pid) {
        Some(pid) => rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH),
        None => true,
    }
}

/// Reads state (field 3) and start time (field 22). The command name in field 2 may hold anything, closing
/// parentheses and line ends included, so the fields are counted from the last closing parenthesis.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &[u8]) -> ProcessFact {
    let Some(end) = stat.iter().rposition(|byte| *byte == b')') else { return ProcessFact::Unreadable };
    let Ok(rest) = std::str::from_utf8(&stat[end + 1..]) else { return ProcessFact::Unreadable };
    let mut fields = rest.split_ascii_whitespace();
    let (Some(state), Some(start)) = (fields.next(), fields.nth(18)) else { return ProcessFact::Unreadable };
    match (state, start.parse()) {
        ("Z" | "X" | "x", _) => ProcessFact::Zombie,
        (_, Ok(start)) => ProcessFact::Running { start },
        (_, Err(_)) => ProcessFact::Unreadable,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_with_parentheses_does_not_shift_the_fields() {
        let line = b"7 (a) R) b\n) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_stat(line), ProcessFact::Running { start: 4711 });
        let zombie = b"7 (x) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(parse_stat(zombie), ProcessFact::Zombie);
        assert_eq!(parse_stat(b"7 (x"), ProcessFact::Unreadable);
        assert_eq!(parse_stat(b"7 (x) S 1"), ProcessFact::Unreadable);
    }

    #[test]
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
        child.wait().expect("the child is reaped");
        assert_eq!(table.fact(child.id()), ProcessFact::Absent);
    }
}
