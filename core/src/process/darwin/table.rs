//! The process table of macOS, over its calls.
//!
//! Start times are microseconds since 1970, taken when a process is forked and kept when it executes another program. A process
//! of another user shows its parent and group and not its start, which names nobody: it may be seen, and is never signalled.

use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::calls::{self, Calls};
use super::layout::{Info, SHORT_SIZE, Started, WHOLE_SIZE};
use crate::clock::ClockReading;
use crate::process::signal::{not_meant, outcome};
use crate::process::{Activity, Lineage, ProcessFact, ProcessTable, Signal, Signalled, System, TableEntry};

/// The system has no pid namespaces; what stands in their place is the same on every machine.
const NAMESPACE: &str = "darwin";
/// Names are kept up to so many bytes.
const LONGEST_NAME: usize = 31;
/// `ARG_MAX` of `sys/syslimits.h`: more arguments and variables no process has.
const MAX_ARGUMENTS: usize = 1024 * 1024;
/// `PROC_PIDPATHINFO_MAXSIZE` of `sys/proc_info.h`.
const MAX_PATH: usize = 4096;
/// A list of pids that grows while it is made is made so often.
const TRIES: u32 = 8;

/// The process table of macOS.
#[derive(Clone, Copy, Debug)]
pub(super) struct DarwinTable<C>(pub(super) C);

impl<C: Calls> DarwinTable<C> {
    fn whole(&self, pid: u32) -> Result<Info, Errno> {
        let mut bytes = [0; WHOLE_SIZE];
        let written = self.0.info(pid, calls::WHOLE, &mut bytes)?;
        understood(bytes.get(..written).and_then(Info::whole), pid)
    }

    fn short(&self, pid: u32) -> Result<Info, Errno> {
        let mut bytes = [0; SHORT_SIZE];
        let written = self.0.info(pid, calls::SHORT, &mut bytes)?;
        understood(bytes.get(..written).and_then(Info::short), pid)
    }

    /// All pids at one moment; none where that cannot be said.
    fn pids(&self) -> Option<Vec<i32>> {
        let mut pids = vec![0; 1024];
        for _ in 0..TRIES {
            let written = self.0.pids(&mut pids).ok()?;
            if written < pids.len() {
                pids.truncate(written);
                return Some(pids);
            }
            pids.resize(pids.len() * 2, 0);
        }
        None
    }

    /// # Errors
    /// [`Errno::SRCH`] for a process that has gone, and what makes the table unreadable.
    fn entry(&self, pid: u32) -> Result<TableEntry, Errno> {
        let Info { parent, group, activity, start, .. } = match self.whole(pid) {
            Err(Errno::PERM) => self.short(pid)?,
            whole => whole?,
        };
        let session = match self.0.session(pid) {
            // A zombie has none any more.
            Err(Errno::SRCH | Errno::PERM) => 0,
            session => session?,
        };
        Ok(TableEntry { pid, parent, group, session, start, activity })
    }

    /// With what a process was started, as its bytes.
    fn started(&self, pid: u32) -> Option<Vec<u8>> {
        let mut bytes = vec![0; MAX_ARGUMENTS];
        let written = self.0.arguments(pid, &mut bytes).ok()?;
        bytes.truncate(written);
        Some(bytes)
    }

    /// The file name of the program that a process runs.
    fn program(&self, pid: u32) -> Option<String> {
        let mut bytes = [0; MAX_PATH];
        let written = self.0.executable(pid, &mut bytes).ok()?;
        let name = bytes.get(..written)?.rsplit(|byte| *byte == b'/').next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

impl<C: Calls> ProcessTable for DarwinTable<C> {
    fn system(&self) -> System {
        System::MacOs
    }

    fn own_pid(&self) -> u32 {
        self.0.own_pid()
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        if pid == 0 {
            return ProcessFact::Absent;
        }
        match self.whole(pid) {
            Ok(Info { activity: Activity::Zombie, .. }) => ProcessFact::Zombie,
            Ok(Info { start, .. }) => ProcessFact::Running { start },
            Err(Errno::SRCH) if self.0.signal(pid, None) == Err(Errno::SRCH) => ProcessFact::Absent,
            Err(_) => ProcessFact::Unreadable,
        }
    }

    fn boot(&self) -> Arc<str> {
        let mut bytes = [0; 64];
        let written = self.0.variable(c"kern.bootsessionuuid", &mut bytes).unwrap_or(0);
        let text = bytes.get(..written).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
        text.trim_end_matches('\0').into()
    }

    fn pid_namespace(&self) -> String {
        NAMESPACE.to_owned()
    }

    fn host(&self) -> Arc<str> {
        match self.0.host_id() {
            Ok(id) if id != [0; 16] => format!("{:032x}", u128::from_be_bytes(id)).into(),
            _ => self.0.node_name().into(),
        }
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        let info = self.whole(pid).or_else(|_| self.short(pid)).ok()?;
        let name = if info.name.len() < LONGEST_NAME { None } else { self.program(pid) };
        let started = self.started(pid).unwrap_or_default();
        let arguments = Started::of(&started).unwrap_or_default().arguments;
        Some(Lineage {
            start: info.start,
            parent: info.parent,
            name: name.unwrap_or(info.name),
            arguments: arguments.into_iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect(),
        })
    }

    fn own_group(&self) -> Option<u32> {
        self.whole(self.own_pid()).ok().map(|own| own.group)
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        let mut entries = Vec::with_capacity(512);
        for pid in self.pids()? {
            // The kernel's own process is 0.
            let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid != 0) else { continue };
            match self.entry(pid) {
                Ok(entry) => entries.push(entry),
                // It has ended between the listing and the reading.
                Err(Errno::SRCH) => {}
                Err(_) => return None,
            }
        }
        Some(entries)
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        let bytes = self.started(pid)?;
        let environment = Started::of(&bytes)?.environment;
        // Kept back, or there is none: the two look alike.
        if environment.is_empty() {
            return None;
        }
        Some(environment.contains(&variable.as_bytes()))
    }

    /// There are no handles of processes: the start is read just before the signal.
    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        if pid < 2 || i32::try_from(pid).is_err() || pid == self.own_pid() {
            return Signalled::Refused;
        }
        match not_meant(self.fact(pid), start) {
            Some(refused) => refused,
            None => outcome(self.0.signal(pid, Some(signal))),
        }
    }
}

/// A start time as time since boot: as long ago by the boot clock as it is by the wall clock. The instant of the boot that the
/// system tells moves when the clock is set; this is wrong only where that has happened since the start.
pub(super) fn since_boot(start: u64, now: ClockReading) -> Option<Duration> {
    let age = now.wall.checked_sub(Duration::from_micros(start))?;
    if start == 0 { None } else { now.boot.checked_sub(age) }
}

/// What was understood, of the process that was asked for.
fn understood(info: Option<Info>, pid: u32) -> Result<Info, Errno> {
    info.filter(|info| info.pid == pid).ok_or(Errno::INVAL)
}
