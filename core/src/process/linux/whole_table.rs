//! The machine's process table read as a whole, and what a process was started with.

use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::process::{Activity, TableEntry};

/// The environment of a process is looked through up to this many bytes.
const MAX_ENVIRONMENT: usize = 8 * 1024 * 1024;

/// Every process that `/proc` shows. One that ends meanwhile may be missing.
///
/// # Errors
/// As the system says it, and where a process says nothing that can be understood.
pub(super) fn read() -> io::Result<Vec<TableEntry>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = retry_on_intr(|| rustix::fs::open("/proc", flags, Mode::empty()))?;
    let mut entries = Vec::with_capacity(256);
    let mut text = Vec::with_capacity(1024);
    let mut path = String::with_capacity(24);
    for name in rustix::fs::Dir::read_from(&proc)? {
        let name = name?;
        let Some(pid) = name.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        path.clear();
        path.push_str(name.file_name().to_str().unwrap_or_default());
        path.push_str("/stat");
        match read_into(&proc, &path, &mut text) {
            Ok(()) => {}
            // It has ended between the listing and the reading.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::SRCH) => continue,
            Err(error) => return Err(error.into()),
        }
        entries.extend(entry(pid, &text)?);
    }
    Ok(entries)
}

/// None of a process that has ended.
fn entry(pid: u32, stat: &[u8]) -> io::Result<Option<TableEntry>> {
    if stat.is_empty() || is_being_removed(stat) {
        return Ok(None);
    }
    parse(pid, stat).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Whether the system was just taking the process out of its table, where it has no group any more (field 5).
fn is_being_removed(stat: &[u8]) -> bool {
    let end = stat.iter().rposition(|byte| *byte == b')').unwrap_or_default();
    stat[end..].split(u8::is_ascii_whitespace).nth(3) == Some(b"-1")
}

/// Whether a process was started with this variable, `NAME=value`; none where that cannot be read.
pub(super) fn was_started_with(pid: u32, variable: &str) -> Option<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file =
        retry_on_intr(|| rustix::fs::open(format!("/proc/{pid}/environ"), flags, Mode::empty())).ok()?;
    let mut bytes = Vec::with_capacity(8192);
    loop {
        let read =
            retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes))).ok()?;
        if read == 0 || bytes.len() > MAX_ENVIRONMENT {
            break;
        }
        bytes.reserve(bytes.len());
    }
    Some(bytes.split(|byte| *byte == 0).any(|found| found == variable.as_bytes()))
}

fn read_into(proc: &impl std::os::fd::AsFd, path: &str, text: &mut Vec<u8>) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = retry_on_intr(|| rustix::fs::openat(proc, path, flags, Mode::empty()))?;
    text.clear();
    // The line is shorter than the buffer, and the system makes it up in one read.
    retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(text))).map(drop)
}

/// State (field 3), parent, group and session (4 to 6), threads (20) and start (22), counted from the last closing parenthesis.
pub(super) fn parse(pid: u32, stat: &[u8]) -> Option<TableEntry> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(stat.get(end + 1..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // A process of an outer namespace has the group and session 0, and a kernel thread too.
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(13)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    let activity = match state {
        "Z" | "X" | "x" if threads <= 1 => Activity::Zombie,
        "T" => Activity::Stopped,
        _ => Activity::Running,
    };
    Some(TableEntry { pid, parent, group, session, start, activity })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_from_its_last_parenthesis() {
        let line = b"7 (a) R) b\n) S 1 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        let entry = parse(7, line).expect("it is whole");
        let wanted =
            TableEntry { pid: 7, parent: 1, group: 8, session: 9, start: 4711, activity: Activity::Running };
        assert_eq!(entry, wanted);
        assert_eq!(parse(7, b"7 (x) S 1"), None);
    }

    #[test]
    fn a_process_that_is_just_being_reaped_makes_no_table_unreadable() {
        let reaped = b"7 (a) X 0 -1 -1 0 -1 4227148 15 0 0 0 0 0 0 0 20 0 0 0 4711 0 0";
        assert_eq!(entry(7, reaped).expect("it is understood"), None);
        assert_eq!(entry(7, b"").expect("it is understood"), None);
        let named = b"7 (a) -1 -1) S 1 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        assert_eq!(entry(7, named).expect("it is understood").expect("it runs").group, 8);
        assert!(entry(7, b"7 (x) S 1").is_err());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test starts a process itself")]
    fn the_table_holds_this_process_with_its_children() {
        let mut child =
            std::process::Command::new("sleep").arg("30").env("MARK", "x1").spawn().expect("it starts");
        let entries = read().expect("it can be read");
        let entry = entries.iter().find(|entry| entry.pid == child.id()).expect("it runs");
        assert_eq!(entry.parent, rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
        // The caller goes on as soon as the old program is gone, and the new one's environment is there a moment later.
        while was_started_with(child.id(), "MARK=x1") != Some(true) {
            assert!(child.try_wait().expect("it can be looked at").is_none(), "it ended without the mark");
            std::thread::yield_now();
        }
        assert_eq!(was_started_with(child.id(), "MARK=x"), Some(false));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        assert_eq!(was_started_with(child.id(), "MARK=x1"), None);
    }
}
