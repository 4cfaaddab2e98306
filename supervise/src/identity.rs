//! Who a process is, in the forms of EX-LOC-05.

use alloc::format;
use alloc::string::String;

#[cfg(target_os = "linux")]
use crate::error::Error;
use crate::error::Result;
use crate::system;

/// What the identities of all processes here have in common.
#[cfg(target_os = "linux")]
pub(crate) struct Machine {
    boot: String,
    namespace: String,
}

#[cfg(target_os = "linux")]
impl Machine {
    pub(crate) fn read() -> Result<Self> {
        let boot = String::from(system::read_text(c"/proc/sys/kernel/random/boot_id")?.trim());
        let namespace = system::read_link(c"/proc/self/ns/pid")?;
        let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
        let is_known = !boot.is_empty() && !namespace.is_empty();
        is_known.then_some(Machine { boot, namespace }).ok_or(Error::INVALID)
    }

    /// `linux:<boot id>:<inode of the pid namespace>:<start ticks>`.
    pub(crate) fn identity(&self, pid: i32) -> Result<String> {
        let path = alloc::ffi::CString::new(format!("/proc/{pid}/stat")).map_err(|_| Error::INVALID)?;
        let stat = system::read_text(&path)?;
        // The command name may hold anything, so the fields are counted from its last closing parenthesis: the start is field 22.
        let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
        let start = start.and_then(|start| start.parse::<u64>().ok());
        let start = start.ok_or(Error::INVALID)?;
        let Machine { boot, namespace } = self;
        Ok(format!("linux:{boot}:{namespace}:{start}"))
    }
}

/// Nothing: a start is an instant.
#[cfg(target_os = "macos")]
pub(crate) struct Machine;

#[cfg(target_os = "macos")]
impl Machine {
    pub(crate) fn read() -> Result<Self> {
        Ok(Machine)
    }

    /// `darwin:<start seconds>.<microseconds>`, the latter in six digits.
    pub(crate) fn identity(&self, pid: i32) -> Result<String> {
        let (seconds, microseconds) = system::start(pid)?;
        Ok(format!("darwin:{seconds}.{microseconds:06}"))
    }
}
