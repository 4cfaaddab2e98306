//! Replacing a file whole: stage beside it, then exchange names.
//!
//! Readers see the old bytes or the new bytes, never a mixture and never nothing. The caller holds the lock that
//! makes it the only writer; a program that ignores the lock is noticed where that costs nothing.

use std::io;
use std::time::Duration;

use super::directory::{Directory, FileType, Metadata, NewFile, OpenFile};
use crate::host::Host;

/// A staged file older than this belongs to nobody any more: a writer stages and publishes under one lock, whose
/// wait is bounded by seconds.
pub(crate) const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// What survives a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Atomic for readers, not synced: after a power loss the old content, the new one, or nothing usable.
    Observed,
    /// The content is synced and its name is not: after a power loss the old or the new file, whole.
    Whole,
    /// Synced, file and directory, before the call returns.
    Durable,
}

/// One replacement.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The name to replace.
    pub name: &'a str,
    /// Where the new content stands until it is published: a name of [`StagedNames`].
    pub staged: &'a str,
    /// The new content.
    pub bytes: &'a [u8],
    /// What survives a power loss.
    pub durability: Durability,
    /// Whether the new file is kept open and answered, for whoever goes on from it.
    pub keep: bool,
    /// The regular file that was judged under the lock and stands at the name itself, where there was one. Only
    /// then is an exchange of names possible.
    pub judged: Option<Metadata>,
}

/// Publishes a replacement.
///
/// # Errors
/// As the system says it. The old content stands then, and the staged file has been removed, with two exceptions:
/// after a failed sync of the directory the new content stands and only its durability is unknown; and where somebody
/// else put something in the file's place meanwhile and the names could not be exchanged back, the new content stands
/// and what was displaced stands under the staged name.
pub fn publish(directory: &dyn Directory, replacement: &Replacement<'_>) -> io::Result<Option<OpenFile>> {
    publish_pieces(directory, replacement, &[replacement.bytes])
}

/// As [`publish`], with the new content in pieces, which are not put together; the replacement's own bytes are not looked at.
///
/// # Errors
/// As [`publish`].
pub fn publish_pieces(
    directory: &dyn Directory,
    replacement: &Replacement<'_>,
    pieces: &[&[u8]],
) -> io::Result<Option<OpenFile>> {
    let staged = replacement.staged;
    let created = if replacement.keep { directory.create_to_keep(staged) } else { directory.create(staged) };
    let mut file = match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // A network file system may report a failure after the effect; nobody else uses the name.
            let _ = directory.remove(staged);
            return Err(error);
        }
        created => created?,
    };
    let durable = replacement.durability == Durability::Durable;
    let is_exchanged = replacement.durability == Durability::Observed;
    let filled = file.write_pieces(pieces).and_then(|()| if is_exchanged { Ok(()) } else { file.sync() });
    let mut new = Some(file).filter(|_| replacement.keep);
    let mut kept = None;
    let Err(failure) = filled.map_err(Failure::Staged).and_then(|()| match replacement.judged {
        Some(judged) if is_exchanged && directory.gains_by_exchange() => {
            exchange(directory, staged, replacement.name, &judged, || kept = keep(&mut new))
        }
        _ => directory
            .rename(staged, replacement.name)
            .map(|()| kept = keep(&mut new))
            .map_err(Failure::Staged),
    }) else {
        return if durable { directory.sync().map(|()| kept) } else { Ok(kept) };
    };
    match failure {
        Failure::Staged(error) => {
            // Ours: it was created exclusively above. If removing fails too, the next claim's sweep takes it.
            let _ = directory.remove(staged);
            Err(error)
        }
        Failure::Displaced(error) => Err(error),
    }
}

/// The new file as it stands under its own name. One that cannot be described is published all the same.
fn keep(new: &mut Option<Box<dyn NewFile>>) -> Option<OpenFile> {
    new.take().and_then(|file| file.into_open().ok())
}

/// What stands under the staged name after a failed publication.
enum Failure {
    /// The new content, which is ours to remove.
    Staged(io::Error),
    /// Somebody else's object, which is not.
    Displaced(io::Error),
}

/// Exchanges names and then removes what was displaced. A crash in between leaves the old content under a staged
/// name, which is swept and never published.
fn exchange(
    directory: &dyn Directory,
    staged: &str,
    name: &str,
    judged: &Metadata,
    published: impl FnOnce(),
) -> Result<(), Failure> {
    match directory.exchange(staged, name) {
        Ok(()) => {}
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound) => {
            return directory.rename(staged, name).map(|()| published()).map_err(Failure::Staged);
        }
        Err(error) => return Err(Failure::Staged(error)),
    }
    let displaced = directory.metadata(staged);
    if !displaced.as_ref().is_ok_and(|displaced| displaced.identity == judged.identity) {
        directory.exchange(staged, name).map_err(Failure::Displaced)?;
        let message = "something else took the file's place while the lock was held";
        return Err(Failure::Staged(io::Error::other(message)));
    }
    published();
    // The new content is published; what is left behind otherwise is swept.
    let _ = directory.remove(staged);
    Ok(())
}

/// Removes staged files that were abandoned more than an hour ago and answers how many.
///
/// # Errors
/// The directory cannot be listed. A file that cannot be removed is left for the next sweep.
pub fn sweep_abandoned(directory: &dyn Directory, prefixes: &[&str], host: &Host) -> io::Result<u32> {
    let now_ns = i128::from(host.clock.wall_ms()) * 1_000_000;
    let mut removed = 0;
    for name in directory.names()? {
        if !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let Ok(metadata) = directory.metadata(&name) else { continue };
        let age_ns = now_ns - metadata.modified_ns;
        let abandoned =
            metadata.file_type == FileType::Regular && age_ns > ABANDONED_AFTER.as_nanos() as i128;
        if abandoned && directory.remove(&name).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// For 36 random bits.
const NUMBER_DIGITS: usize = 7;

/// Names under which one process stages: unique by pid, start time and random bits, so that pid namespaces which share a
/// directory never collide. The bits are drawn once and counted up.
///
/// Each part is written in 36 digits, because Linux keeps a name of up to 39 bytes in its cache of names itself, and for a longer
/// one allocates.
///
/// A forked child makes its own.
#[derive(Debug)]
pub struct StagedNames {
    host: Host,
    process: String,
    /// The number of the next name.
    digits: [u8; NUMBER_DIGITS],
    generation: u64,
}

impl StagedNames {
    /// Names for this process.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        let generation = super::fork::counted_generation();
        let (pid, start) = host.processes.own();
        let process = format!("{}-{}", in_digits(u64::from(pid)), in_digits(start));
        let mut number = host.random.next_u64();
        let digits = std::array::from_fn(|_| {
            let digit = DIGITS[(number % 36) as usize];
            number /= 36;
            digit
        });
        StagedNames { process, digits, generation, host: host.clone() }
    }

    /// The next name that begins with this.
    pub fn next(&mut self, prefix: &str) -> String {
        if self.generation != super::fork_generation() {
            *self = StagedNames::new(&self.host);
        }
        let digits = std::str::from_utf8(&self.digits).expect("digits are ASCII");
        let mut name = String::with_capacity(prefix.len() + self.process.len() + "-".len() + digits.len());
        for part in [prefix, &self.process, "-", digits] {
            name.push_str(part);
        }
        count_on(&mut self.digits);
        name
    }
}

fn in_digits(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.insert(0, char::from(DIGITS[(number % 36) as usize]));
        number /= 36;
    }
    digits.into_iter().collect()
}

/// The next number; after the last one the first.
fn count_on(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = match *digit {
            b'9' => b'a',
            b'z' => {
                *digit = b'0';
                continue;
            }
            digit => digit + 1,
        };
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::{count_on, in_digits};

    #[test]
    fn names_are_counted_on_and_begin_anew_after_the_last() {
        let mut digits = *b"00zx";
        for expected in 36 * 36 - 2..5 * 36 * 36 {
            count_on(&mut digits);
            let digits = std::str::from_utf8(&digits).expect("ASCII");
            assert_eq!(digits.trim_start_matches('0'), in_digits(expected));
        }
        let mut last = *b"zzzz";
        count_on(&mut last);
        assert_eq!(&last, b"0000");
        assert_eq!((&*in_digits(0), &*in_digits(u64::MAX)), ("0", "3w5e11264sgsf"));
    }
}
