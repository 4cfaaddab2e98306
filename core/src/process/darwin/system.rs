//! The calls of macOS themselves.

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

use super::calls::Calls;
use super::layout::{SHORT_SIZE, WHOLE_SIZE};
use super::table::DarwinTable;
use crate::clock::{Clock, SystemClock};
use crate::process::{
    Lineage, ProcessFact, ProcessTable, Signal, Signalled, System, SystemProcessTable, TableEntry,
};

const TABLE: DarwinTable<SystemCalls> = DarwinTable(SystemCalls);

const _: () = assert!(size_of::<libc::proc_bsdinfo>() == WHOLE_SIZE);
const _: () = assert!(size_of::<libc::proc_bsdshortinfo>() == SHORT_SIZE);
const _: () = assert!(libc::PROC_PIDTBSDINFO == super::calls::WHOLE);
const _: () = assert!(libc::PROC_PIDT_SHORTBSDINFO == super::calls::SHORT);

/// The machine.
#[derive(Clone, Copy, Debug)]
struct SystemCalls;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's process facts")]
impl Calls for SystemCalls {
    fn own_pid(&self) -> u32 {
        std::process::id()
    }

    fn info(&self, pid: u32, kind: i32, out: &mut [u8]) -> Result<usize, Errno> {
        // An argument of 1 has zombies looked for too.
        // SAFETY: there is room for as many bytes as are said.
        let written =
            unsafe { libc::proc_pidinfo(number(pid)?, kind, 1, out.as_mut_ptr().cast(), size(out.len())) };
        counted(written)
    }

    fn pids(&self, out: &mut [i32]) -> Result<usize, Errno> {
        let bytes = size(size_of_val(out));
        // SAFETY: there is room for as many bytes as are said.
        counted(unsafe { libc::proc_listallpids(out.as_mut_ptr().cast(), bytes) })
    }

    fn session(&self, pid: u32) -> Result<u32, Errno> {
        let pid = Pid::from_raw(number(pid)?);
        rustix::process::getsid(pid).map(|session| session.as_raw_nonzero().get().unsigned_abs())
    }

    fn arguments(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno> {
        let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, number(pid)?];
        let mut written = out.len();
        // SAFETY: three numbers, room for as many bytes as are said, and nothing is set.
        let answer = unsafe {
            libc::sysctl(
                name.as_mut_ptr(),
                3,
                out.as_mut_ptr().cast(),
                &raw mut written,
                std::ptr::null_mut::<c_void>(),
                0,
            )
        };
        done(answer).map(|()| written)
    }

    fn executable(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno> {
        let room = u32::try_from(out.len()).unwrap_or(u32::MAX);
        // SAFETY: there is room for as many bytes as are said.
        let written = unsafe { libc::proc_pidpath(number(pid)?, out.as_mut_ptr().cast(), room) };
        counted(written)
    }

    fn variable(&self, name: &CStr, out: &mut [u8]) -> Result<usize, Errno> {
        let mut written = out.len();
        // SAFETY: the name is terminated, there is room for as many bytes as are said, and nothing is set.
        let answer = unsafe {
            libc::sysctlbyname(
                name.as_ptr(),
                out.as_mut_ptr().cast(),
                &raw mut written,
                std::ptr::null_mut::<c_void>(),
                0,
            )
        };
        done(answer).map(|()| written)
    }

    fn host_id(&self) -> Result<[u8; 16], Errno> {
        let mut id = [0; 16];
        let at_once = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        // SAFETY: an id has 16 bytes, and the time lives here.
        let answer = unsafe { libc::gethostuuid(id.as_mut_ptr(), &raw const at_once) };
        done(answer).map(|()| id)
    }

    fn node_name(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn signal(&self, pid: u32, signal: Option<Signal>) -> Result<(), Errno> {
        let pid = Pid::from_raw(number(pid)?).ok_or(Errno::SRCH)?;
        match signal {
            Some(signal) => rustix::process::kill_process(pid, signal.number()),
            None => rustix::process::test_kill_process(pid),
        }
    }
}

impl ProcessTable for SystemProcessTable {
    fn system(&self) -> System {
        TABLE.system()
    }

    fn own_pid(&self) -> u32 {
        TABLE.own_pid()
    }

    fn fact(&self, pid: u32) -> ProcessFact {
        TABLE.fact(pid)
    }

    /// Read once: no process outlives its boot.
    fn boot(&self) -> Arc<str> {
        static KNOWN: OnceLock<Arc<str>> = OnceLock::new();
        Arc::clone(KNOWN.get_or_init(|| TABLE.boot()))
    }

    fn pid_namespace(&self) -> String {
        TABLE.pid_namespace()
    }

    /// Read once: a machine keeps its id, and its name is the one that it had at the first question.
    fn host(&self) -> Arc<str> {
        static KNOWN: OnceLock<Arc<str>> = OnceLock::new();
        Arc::clone(KNOWN.get_or_init(|| TABLE.host()))
    }

    fn lineage(&self, pid: u32) -> Option<Lineage> {
        TABLE.lineage(pid)
    }

    fn own_parent(&self) -> Option<u32> {
        Some(rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs()))
    }

    fn own_group(&self) -> Option<u32> {
        TABLE.own_group()
    }

    fn entries(&self) -> Option<Vec<TableEntry>> {
        TABLE.entries()
    }

    fn was_started_with(&self, pid: u32, variable: &str) -> Option<bool> {
        TABLE.was_started_with(pid, variable)
    }

    fn signal(&self, pid: u32, start: u64, signal: Signal) -> Signalled {
        TABLE.signal(pid, start, signal)
    }
}

/// A start time as time since boot, by the machine's clocks.
pub(in crate::process) fn since_boot(start: u64) -> Option<Duration> {
    super::table::since_boot(start, SystemClock.now())
}

fn number(pid: u32) -> Result<c_int, Errno> {
    c_int::try_from(pid).map_err(|_| Errno::SRCH)
}

fn size(bytes: usize) -> c_int {
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

/// What a call of `libproc` has answered: a count, which is never 0 where it went well.
fn counted(answer: c_int) -> Result<usize, Errno> {
    usize::try_from(answer).ok().filter(|count| *count > 0).ok_or_else(last_error)
}

/// What a call has answered that says 0 where it went well.
fn done(answer: c_int) -> Result<(), Errno> {
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
