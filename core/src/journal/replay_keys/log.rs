//! Reading the keys of the log, fast and within one buffer.
//!
//! A record is judged by its last member alone: the check value of the bytes before it. What it proves was written by
//! this library in the order of EX-JRN-03, so that the key is found where it has to stand. What is not proved is corrupt
//! (EX-JRN-83) and has no key here.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::entry::Key;
use super::{Reach, Trouble};
use crate::error::{Code, Error};
use crate::storage::DataFile;

/// Bytes read at a time. It holds several of the longest lines, 65,537 bytes with their newline (EX-JRN-08).
const BUFFER: usize = 256 * 1024;
/// A longer line is corrupt, whatever it holds.
const LONGEST_LINE: usize = 65_536;
/// `,"crc":"`, eight digits, `"}` (EX-JRN-88).
const CRC_MEMBER: usize = 18;

/// In a string of JSON a quotation mark has a backslash before it, so these bytes begin a member; what could hold one of
/// the same name, `data`, stands behind the key.
static KEY_MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#","key":""#));

/// One good record: its key, and the reach of an index that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keyed {
    pub(super) key: Key,
    pub(super) reach: Reach,
}

/// Visits the good records between two offsets in the log's order. `after` is the number before the first and `last` the
/// highest that can be good.
///
/// # Errors
/// `EXECUTION_JOURNAL` (`short`) where the log ends before `to`; as the system or the visitor says it.
pub(super) fn scan(
    log: &dyn DataFile,
    from: u64,
    to: u64,
    after: u64,
    last: u64,
    visit: &mut dyn FnMut(Keyed) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let room = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).min(BUFFER);
    let mut buffer = vec![0; room];
    // The buffer begins at `start` of the log, and `held` bytes of it have been read.
    let (mut start, mut held) = (from, 0);
    let mut sequence = after;
    // Right behind a good record comes the next number; behind what is corrupt, any higher one (EX-JRN-83).
    let mut corrupt = false;
    let mut skipping = false;
    while start + (held as u64) < to {
        let wanted = usize::try_from(to - start).unwrap_or(usize::MAX).min(buffer.len());
        let read = log.read_at(start + held as u64, &mut buffer[held..wanted])?;
        if read < wanted - held {
            return Err(Trouble::Log(short(to)));
        }
        held = wanted;
        let mut used = 0;
        for newline in memchr::memchr_iter(b'\n', &buffer[..held]) {
            let line = &buffer[used..newline];
            used = newline + 1;
            if std::mem::take(&mut skipping) {
                continue;
            }
            let highest = if corrupt { last } else { last.min(sequence + 1) };
            let judged = judge(line, start + used as u64);
            let Some(keyed) = judged.filter(|keyed| (sequence + 1..=highest).contains(&keyed.reach.sequence))
            else {
                corrupt = true;
                continue;
            };
            (sequence, corrupt) = (keyed.reach.sequence, false);
            visit(keyed)?;
        }
        if used == 0 && held == buffer.len() {
            // No record is that long: its bytes are let go of up to the next newline.
            (skipping, corrupt, used) = (true, true, held);
        }
        buffer.copy_within(used..held, 0);
        (start, held) = (start + used as u64, held - used);
    }
    Ok(())
}

/// The last whole line before an offset, if it is a good record.
///
/// # Errors
/// As the system says it.
pub(super) fn last_before(log: &dyn DataFile, offset: u64) -> Result<Option<Keyed>, Trouble> {
    let start = offset.saturating_sub(LONGEST_LINE as u64 + 2);
    let mut buffer = vec![0; usize::try_from(offset - start).unwrap_or(usize::MAX)];
    if log.read_at(start, &mut buffer)? < buffer.len() {
        return Ok(None);
    }
    let Some((b'\n', lines)) = buffer.split_last() else { return Ok(None) };
    let line = match memchr::memrchr(b'\n', lines) {
        Some(newline) => &lines[newline + 1..],
        None if start == 0 => lines,
        None => return Ok(None),
    };
    Ok(judge(line, offset))
}

fn short(to: u64) -> Error {
    Error::new(
        Code::ExecutionJournal,
        format!("the journal is shorter than what was acknowledged, offset=`{to}`"),
    )
    .with_reason("short")
}

/// A line without its newline as a record that ends at this offset.
fn judge(line: &[u8], end: u64) -> Option<Keyed> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let (proved, member) = line.split_at_checked(line.len().checked_sub(CRC_MEMBER)?)?;
    let digits = member.strip_prefix(br#","crc":""#)?.strip_suffix(br#""}"#)?;
    let mut crc = [0; 4];
    decode_hex(digits, &mut crc)?;
    let crc = u32::from_be_bytes(crc);
    if crc32c::crc32c(proved) != crc {
        return None;
    }
    let at = KEY_MEMBER.find(proved)? + KEY_MEMBER.needle().len();
    let (digits, rest) = proved.get(at..)?.split_at_checked(64)?;
    let mut key = [0; 32];
    decode_hex(digits, &mut key)?;
    let number = rest.strip_prefix(br#"","sequence":"#)?;
    let number = &number[..memchr::memchr(b',', number)?];
    let sequence = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some(Keyed { key, reach: Reach { offset: end, sequence, crc } })
}

/// Lower-case hexadecimal digits, two a byte.
fn decode_hex(digits: &[u8], into: &mut [u8]) -> Option<()> {
    if digits.len() != into.len() * 2 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(())
}
