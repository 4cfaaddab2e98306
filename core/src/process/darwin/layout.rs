//! What the bytes mean that macOS answers: `struct proc_bsdinfo` and `struct proc_bsdshortinfo` of `sys/proc_info.h`, and what
//! `KERN_PROCARGS2` gives.

use std::mem::offset_of;

use crate::process::Activity;

/// The size of `struct proc_bsdinfo`.
pub(super) const WHOLE_SIZE: usize = 136;
/// The size of `struct proc_bsdshortinfo`.
pub(super) const SHORT_SIZE: usize = 64;

/// `SSTOP` and `SZOMB` of `sys/proc.h`.
const STOPPED: u32 = 4;
const ZOMBIE: u32 = 5;

/// `struct proc_bsdinfo`, for the places of its members.
#[repr(C)]
struct BsdInfo {
    flags: u32,
    status: u32,
    exit_status: u32,
    pid: u32,
    parent: u32,
    /// User and group: effective, real, saved.
    owners: [u32; 6],
    reserved: u32,
    /// `MAXCOMLEN` bytes, and twice as many.
    command: [u8; 16],
    name: [u8; 32],
    files: u32,
    process_group: u32,
    job_control: u32,
    terminal: u32,
    terminal_group: u32,
    nice: i32,
    start_seconds: u64,
    start_microseconds: u64,
}

/// `struct proc_bsdshortinfo`, for the places of its members.
#[repr(C)]
struct BsdShortInfo {
    pid: u32,
    parent: u32,
    process_group: u32,
    status: u32,
    command: [u8; 16],
    flags: u32,
    owners: [u32; 6],
    reserved: u32,
}

const _: () = assert!(size_of::<BsdInfo>() == WHOLE_SIZE);
const _: () = assert!(size_of::<BsdShortInfo>() == SHORT_SIZE);

/// What is said of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) activity: Activity,
    /// Microseconds since 1970; 0 where it was not said.
    pub(super) start: u64,
    pub(super) name: String,
}

impl Info {
    /// Of `struct proc_bsdinfo`; none where it is not whole.
    pub(super) fn whole(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; WHOLE_SIZE] = bytes.try_into().ok()?;
        let seconds = long(bytes, offset_of!(BsdInfo, start_seconds))?;
        let microseconds = long(bytes, offset_of!(BsdInfo, start_microseconds))?;
        let (name, command) = (offset_of!(BsdInfo, name), offset_of!(BsdInfo, command));
        // A program that was started under no longer name has its command alone.
        let name = Some(text(bytes.get(name..name + 32)?)).filter(|name| !name.is_empty());
        Some(Info {
            pid: word(bytes, offset_of!(BsdInfo, pid))?,
            parent: word(bytes, offset_of!(BsdInfo, parent))?,
            group: word(bytes, offset_of!(BsdInfo, process_group))?,
            activity: activity(word(bytes, offset_of!(BsdInfo, status))?),
            start: seconds.checked_mul(1_000_000)?.checked_add(microseconds)?,
            name: name.unwrap_or(text(bytes.get(command..command + 16)?)),
        })
    }

    /// Of `struct proc_bsdshortinfo`; none where it is not whole.
    pub(super) fn short(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SHORT_SIZE] = bytes.try_into().ok()?;
        let command = offset_of!(BsdShortInfo, command);
        Some(Info {
            pid: word(bytes, offset_of!(BsdShortInfo, pid))?,
            parent: word(bytes, offset_of!(BsdShortInfo, parent))?,
            group: word(bytes, offset_of!(BsdShortInfo, process_group))?,
            activity: activity(word(bytes, offset_of!(BsdShortInfo, status))?),
            start: 0,
            name: text(bytes.get(command..command + 16)?),
        })
    }
}

/// With what a process was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Started<'a> {
    /// The program's own name first.
    pub(super) arguments: Vec<&'a [u8]>,
    /// `NAME=value` each. Empty also where the system keeps it back: of programs of its own that it protects.
    pub(super) environment: Vec<&'a [u8]>,
}

impl<'a> Started<'a> {
    /// Of what `KERN_PROCARGS2` gives: the number of arguments, the program's path, zeroes up to the next, the arguments, and
    /// the variables up to an empty one; behind that stand strings of the loader. None where it is not whole.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
        let path = rest.iter().position(|byte| *byte == 0)?;
        let behind = rest.get(path..)?;
        let padding = behind.iter().position(|byte| *byte != 0).unwrap_or(behind.len());
        let mut strings = behind.get(padding..)?.split(|byte| *byte == 0);
        // Each argument takes a byte at least, so that a count that is none cannot be believed.
        if count > bytes.len() {
            return None;
        }
        let mut arguments = Vec::with_capacity(count);
        for _ in 0..count {
            arguments.push(strings.next()?);
        }
        let environment = strings.take_while(|variable| !variable.is_empty()).collect();
        Some(Started { arguments, environment })
    }
}

fn activity(status: u32) -> Activity {
    match status {
        ZOMBIE => Activity::Zombie,
        STOPPED => Activity::Stopped,
        _ => Activity::Running,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
