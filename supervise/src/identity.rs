//! Who a process is, in the forms of EX-LOC-05.

use std::io;

use crate::system;

/// What the identities of all processes here have in common.
#[cfg(target_os = "linux")]
pub(crate) struct Machine {
    boot: String,
    namespace: String,
}

#[cfg(target_os = "linux")]
impl Machine {
    pub(crate) fn read() -> io::Result<Self> {
        let boot = system::read_text(c"/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let namespace = system::read_link(c"/proc/self/ns/pid")?;
        let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
        let is_known = !boot.is_empty() && !namespace.is_empty();
        is_known
            .then_some(Machine { boot, namespace })
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }

    /// `linux:<boot id>:<inode of the pid namespace>:<start ticks>`.
    pub(crate) fn identity(&self, pid: i32) -> io::Result<String> {
        let path = std::ffi::CString::new(format!("/proc/{pid}/stat"))?;
        let stat = system::read_text(&path)?;
        // The command name may hold anything, so the fields are counted from its last closing parenthesis: the start is field 22.
        let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
        let start = start.and_then(|start| start.parse::<u64>().ok());
        let start = start.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        let Machine { boot, namespace } = self;
        Ok(format!("linux:{boot}:{namespace}:{start}"))
    }
}

/// Nothing: a start is an instant.
#[cfg(target_os = "macos")]
pub(crate) struct Machine;

#[cfg(target_os = "macos")]
impl Machine {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Machine)
    }

    /// `darwin:<start seconds>.<microseconds>`, the latter in six digits.
    pub(crate) fn identity(&self, pid: i32) -> io::Result<String> {
        let (seconds, microseconds) = system::start(pid)?;
        Ok(format!("darwin:{seconds}.{microseconds:06}"))
    }
}
