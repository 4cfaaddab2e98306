//! `.harness-state.log`: what hooks could not do, beside the record (HS-115).
//!
//! One line an entry, mode 0600, at most 64 KiB; above that the oldest half is dropped. Appending takes no lock, so
//! that a hook never waits in order to log. What others append while one drops the oldest half may be lost with it.

use crate::host::Host;
use crate::storage::{Directory, Durability, Replacement, StagedNames, publish};

use super::seat::LOG;

/// The most that the log holds (HS-115).
pub const MAX_LOG_BYTES: u64 = 64 * 1024;
/// A longer entry is cut: one entry never takes more than a sixteenth of the log.
const MAX_ENTRY_BYTES: usize = 4096;
/// Begins like a staged record, so that a claim's sweep takes an abandoned one.
const STAGED_LOG: &str = ".harness-state.tmp-log-";

/// Appends an entry. A log that cannot be written is given up in silence: there is nowhere left to say so.
pub(crate) fn append(directory: &dyn Directory, host: &Host, entry: &str) {
    let mut line = format!("{} {}", host.clock.wall_ms(), entry.replace(['\n', '\r'], " "));
    if line.len() >= MAX_ENTRY_BYTES {
        let mut end = MAX_ENTRY_BYTES - 1;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
    }
    line.push('\n');
    let held = directory.metadata(LOG).map_or(0, |metadata| metadata.size);
    if held + line.len() as u64 > MAX_LOG_BYTES {
        drop_oldest_half(directory, host);
    }
    let held = directory.append(LOG, line.as_bytes());
    if held.is_ok_and(|held| held > MAX_LOG_BYTES) {
        drop_oldest_half(directory, host);
    }
}

fn drop_oldest_half(directory: &dyn Directory, host: &Host) {
    let mut bytes = Vec::new();
    // Whatever wrote more than this into the log was not us; the newest half of nothing is nothing.
    let kept = match directory.read(LOG, 4 * MAX_LOG_BYTES, &mut bytes) {
        Ok(file) if !file.oversized => newest_half(&bytes),
        Ok(_) => &[],
        Err(_) => return,
    };
    let replacement = Replacement {
        name: LOG,
        staged: &StagedNames::new(host).next(STAGED_LOG),
        bytes: kept,
        durability: Durability::Observed,
        keep: false,
        judged: None,
    };
    // As with appending: there is nowhere to report it.
    let _ = publish(directory, &replacement);
}

/// Whole lines from the newer half of the limit.
fn newest_half(bytes: &[u8]) -> &[u8] {
    let half = usize::try_from(MAX_LOG_BYTES / 2).unwrap_or(usize::MAX);
    let from = bytes.len().saturating_sub(half);
    if from == 0 {
        return bytes;
    }
    let start = bytes[from - 1..].iter().position(|byte| *byte == b'\n');
    start.map_or(&[], |start| &bytes[from + start..])
}
