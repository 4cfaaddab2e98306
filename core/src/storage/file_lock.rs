//! Taking a lock: poll, compare, prove.
//!
//! A lock file is permanent and nobody removes it. If an operator does, descriptor and path differ after the lock
//! has been taken, and it is taken again on the file that the path names now. The first lock that a process takes
//! in a directory proves with a second open that locks exclude there; the lock file stands for its directory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::directory::{Directory, FileIdentity, FileSystem, LockFile, Sharing};
use super::fork::{is_proven, remember_proven};
use crate::clock::Clock;

/// The first pause between two tries. Short, because a holder works for some 50 µs.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
/// Each pause is longer than the one before by this part of it. Little, because whoever pauses for a hundred times as long as
/// a holder works leaves the lock idle, and a try costs next to nothing.
const GROWTH: u32 = 8;
/// The longest pause, so that a waiter notices a release soon whatever the wait.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// A short wait has shorter pauses, so that every wait has as many tries as one of 10 s: each try has the same small
/// chance against holders who come again at once, and whoever may try only a few times loses to them.
const LEAST_TRIES: u32 = 200;

/// Why a lock was not taken. Nothing was written.
#[derive(Debug)]
pub enum LockError {
    /// Somebody else held it until the wait ended.
    Busy,
    /// The caller's own signal ended the wait.
    Cancelled,
    /// Locks do not exclude on this file system, or it has none.
    DoesNotExclude,
    /// The directory's path leads to another one by now, or to another lock file in it.
    Moved,
    /// The lock file could not be opened or locked.
    Io(io::Error),
}

/// A held lock, released by dropping it. In a forked child it is dead: dropping it there does nothing.
#[derive(Debug)]
pub struct LockGuard {
    file: Box<dyn LockFile>,
    directory: Arc<dyn Directory>,
}

impl LockGuard {
    /// Whether this guard came through a fork and so holds nothing.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        self.file.is_forked()
    }

    /// The directory in which the lock was taken.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// The locked file.
    #[must_use]
    pub fn file(&self) -> &dyn LockFile {
        &*self.file
    }
}

/// Takes the exclusive lock on `name`, creating the file where it is missing, and waits for at most `wait`.
///
/// # Errors
/// [`LockError`], but not that it moved; nothing is held then.
pub fn acquire(
    directory: &Arc<dyn Directory>,
    name: &str,
    wait: Duration,
    clock: &dyn Clock,
) -> Result<LockGuard, LockError> {
    acquire_named(directory, name, &Named::In(&**directory, name), wait, clock)
}

/// As [`acquire`], in a directory that was opened some time ago, while `path` leads to the lock file in it.
///
/// # Errors
/// [`LockError`]; nothing is held then.
pub fn acquire_by_path(
    files: &dyn FileSystem,
    directory: &Arc<dyn Directory>,
    name: &str,
    path: &Path,
    wait: Duration,
    clock: &dyn Clock,
) -> Result<LockGuard, LockError> {
    match acquire_named(directory, name, &Named::At(files, path), wait, clock) {
        // The directory may have been removed.
        Err(LockError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Err(LockError::Moved),
        taken => taken,
    }
}

/// By what a lock file is found again.
enum Named<'a> {
    In(&'a dyn Directory, &'a str),
    At(&'a dyn FileSystem, &'a Path),
}

impl Named<'_> {
    fn is(&self, file: &dyn LockFile) -> io::Result<bool> {
        let found = match self {
            Named::In(directory, name) => directory.metadata(name),
            Named::At(files, path) => files.metadata(path),
        };
        match found {
            Ok(found) => Ok(found.identity == file.identity()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

fn acquire_named(
    directory: &Arc<dyn Directory>,
    name: &str,
    named: &Named<'_>,
    wait: Duration,
    clock: &dyn Clock,
) -> Result<LockGuard, LockError> {
    // The wait begins with the first try that fails; most do not.
    let mut deadline = None;
    let mut left = || {
        let now = clock.awake();
        deadline.get_or_insert_with(|| now.saturating_add(wait)).saturating_sub(now)
    };
    let mut pause = FIRST_PAUSE;
    let longest = (wait / LEAST_TRIES).clamp(FIRST_PAUSE, LONGEST_PAUSE);
    let mut file = directory.open_lock(name).map_err(LockError::Io)?;
    loop {
        match file.try_lock(Sharing::Exclusive) {
            Ok(true) => {
                if is_the_lock(&**directory, name, named, &*file)? {
                    return Ok(LockGuard { file, directory: Arc::clone(directory) });
                }
                if let Named::At(..) = named {
                    return Err(LockError::Moved);
                }
                // Somebody replaced the file: whoever comes next locks the new one.
                if left().is_zero() {
                    return Err(LockError::Busy);
                }
                file = directory.open_lock(name).map_err(LockError::Io)?;
            }
            Ok(false) => {
                let left = left();
                if left.is_zero() {
                    return Err(LockError::Busy);
                }
                clock.sleep(pause.min(left));
                if clock.is_cancelled() {
                    return Err(LockError::Cancelled);
                }
                pause = (pause + pause / GROWTH).min(longest);
            }
            Err(error) if has_no_locks(&error) => return Err(LockError::DoesNotExclude),
            Err(error) => return Err(LockError::Io(error)),
        }
    }
}

/// Whether nobody holds the lock on an existing file; `None` where that cannot be known, because the file was
/// replaced, or because locks do not exclude there.
///
/// Looks by taking a shared lock for a moment, so that lookers do not see each other. Takes a path below the directory.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] where there is no such file, else as the system says it.
pub fn is_released(directory: &dyn Directory, name: &str) -> io::Result<(Option<bool>, Vec<u8>)> {
    let file = directory.open_lock_to_share(name)?;
    let contents = file.contents(LOOK_LIMIT)?;
    match file.try_lock(Sharing::Shared) {
        Ok(false) => Ok((Some(false), contents)),
        Ok(true) => {
            let proved = is_proven(file.identity()) || excludes(directory, name, &*file)? == Some(true);
            if proved {
                remember_proven(file.identity());
            }
            let same = Named::In(directory, name).is(&*file)?;
            Ok(((proved && same).then_some(true), contents))
        }
        Err(error) if has_no_locks(&error) => Ok((None, contents)),
        Err(error) => Err(error),
    }
}

/// A lease holds a token; a longer content is no token of ours.
const LOOK_LIMIT: u64 = 4096;

/// Whether the locked file is still the one that the path names, in a directory where locks exclude.
fn is_the_lock(
    directory: &dyn Directory,
    name: &str,
    named: &Named<'_>,
    file: &dyn LockFile,
) -> Result<bool, LockError> {
    let identity: FileIdentity = file.identity();
    // The proof opens the file by its name in the directory, and so says which one that is; by its path it has to be
    // asked for all the same.
    let proven = is_proven(identity);
    if (proven || matches!(named, Named::At(..))) && !named.is(file).map_err(LockError::Io)? {
        return Ok(false);
    }
    if proven {
        return Ok(true);
    }
    match excludes(directory, name, file).map_err(LockError::Io)? {
        None => Ok(false),
        Some(false) => Err(LockError::DoesNotExclude),
        Some(true) => {
            remember_proven(identity);
            Ok(true)
        }
    }
}

/// Whether a second open of a lock that this process holds is kept out; none when the path names another file by
/// now.
fn excludes(directory: &dyn Directory, name: &str, held: &dyn LockFile) -> io::Result<Option<bool>> {
    let second = match directory.open_lock_to_look(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        second => second?,
    };
    if second.identity() != held.identity() {
        return Ok(None);
    }
    match second.try_lock(Sharing::Exclusive) {
        Ok(taken) => Ok(Some(!taken)),
        Err(error) if has_no_locks(&error) => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

fn has_no_locks(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL))
}
