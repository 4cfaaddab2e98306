//! What the process table of macOS asks of the system: numbers and bytes, out of which `layout` reads.
//!
//! It has no opinion on what they mean, so that the same table can be tested on any system over bytes that were made there.

use std::ffi::CStr;
use std::fmt;

use rustix::io::Errno;

use crate::process::Signal;

/// `PROC_PIDTBSDINFO` of `sys/proc_info.h`: a process of the same user, or any for root, with its start time.
pub(super) const WHOLE: i32 = 3;
/// `PROC_PIDT_SHORTBSDINFO` of `sys/proc_info.h`: any process, without its start time.
pub(super) const SHORT: i32 = 13;

/// The calls. Each error is the system's own number.
pub(super) trait Calls: Send + Sync + fmt::Debug {
    /// `getpid`.
    fn own_pid(&self) -> u32;

    /// `proc_pidinfo` of this kind, zombies included; how many bytes it has written.
    ///
    /// # Errors
    /// `ESRCH` for no such process, `EPERM` for one of another user whose kind of fact is not for everybody.
    fn info(&self, pid: u32, kind: i32, out: &mut [u8]) -> Result<usize, Errno>;

    /// `proc_listallpids`; how many pids it has written. As many as there is room for means that there may be more.
    ///
    /// # Errors
    /// As the system says it.
    fn pids(&self, out: &mut [i32]) -> Result<usize, Errno>;

    /// `getsid`.
    ///
    /// # Errors
    /// `ESRCH` for no such process and for a zombie.
    fn session(&self, pid: u32) -> Result<u32, Errno>;

    /// `sysctl` with `KERN_PROCARGS2`: how many bytes it has written.
    ///
    /// # Errors
    /// `EINVAL` for no such process, a zombie, and one of another user.
    fn arguments(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno>;

    /// `proc_pidpath`: how many bytes it has written, without a terminating zero.
    ///
    /// # Errors
    /// As the system says it.
    fn executable(&self, pid: u32, out: &mut [u8]) -> Result<usize, Errno>;

    /// `sysctlbyname`: how many bytes it has written.
    ///
    /// # Errors
    /// As the system says it.
    fn variable(&self, name: &CStr, out: &mut [u8]) -> Result<usize, Errno>;

    /// `gethostuuid`.
    ///
    /// # Errors
    /// As the system says it.
    fn host_id(&self) -> Result<[u8; 16], Errno>;

    /// The node name of `uname`.
    fn node_name(&self) -> String;

    /// `kill`; without a signal it only asks whether there is such a process, which is also said of a zombie.
    ///
    /// # Errors
    /// `ESRCH` for no such process, `EPERM` for one that may not be signalled.
    fn signal(&self, pid: u32, signal: Option<Signal>) -> Result<(), Errno>;
}
