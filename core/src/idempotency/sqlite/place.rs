//! Whether a store's file still stands under its name.
//!
//! A file that was removed or replaced under an open store holds claims that nobody else will see. Whoever writes looks at
//! the name. Whoever only reads looks at the file itself, through a descriptor that cannot read or write, which costs half
//! as much: a file that is removed or replaced has no name left, and one that is moved has another time of change. What
//! that does not show is that a directory above it was moved, so that the name is looked at from time to time anyway.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::{Mutex, PoisonError};
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::failure::{refuse_no_file, unavailable};
#[cfg(target_os = "linux")]
use crate::clock::Clock;
use crate::error::Result;
use crate::host::Host;
use crate::storage::{FileIdentity, FileSystem, FileType, Metadata};

/// As many links as the system itself follows.
const MAX_LINKS: u32 = 40;

/// Where the file of a path stands itself, and what stands there; none where nothing does. SQLite has the log beside the file
/// and not beside a link to it, and a link stays as it is when its file is replaced.
///
/// # Errors
/// `IDEMPOTENCY_STORE_UNAVAILABLE` where that cannot be looked at, where a link leads to nothing, and for what is no regular
/// file.
pub(super) fn followed(path: &Path, host: &Host) -> Result<(PathBuf, Option<Metadata>)> {
    let failed = |error| unavailable(path, "the store cannot be looked at").with_source(error);
    let mut own = path.to_owned();
    for followed in 0..MAX_LINKS {
        let found = match host.files.metadata(&own) {
            Ok(found) => found,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Err(_) if followed == 0 => return Ok((own, None)),
            Err(error) => return Err(unavailable(path, "the link leads to nothing").with_source(error)),
        };
        if found.file_type != FileType::Link {
            refuse_no_file(path, &found)?;
            return Ok((own, Some(found)));
        }
        let to = retry_on_intr(|| rustix::fs::readlink(&own, Vec::new()));
        let to = to.map_err(|error| failed(error.into()))?.into_bytes();
        own = own.parent().unwrap_or(&own).join(OsString::from_vec(to));
    }
    Err(failed(Errno::LOOP.into()))
}

/// So long a look at the name holds for those who only read.
#[cfg(target_os = "linux")]
const HOLDS: Duration = Duration::from_millis(10);

/// Where a store's file stands.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    identity: FileIdentity,
    files: Arc<dyn FileSystem>,
    #[cfg(target_os = "linux")]
    clock: Arc<dyn Clock>,
    /// By its path alone: closing any other kind of descriptor would drop the locks that SQLite holds on the file.
    #[cfg(target_os = "linux")]
    file: Option<std::os::fd::OwnedFd>,
    #[cfg(target_os = "linux")]
    seen: Mutex<Seen>,
}

/// What the last look at the name was followed by.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Seconds and nanoseconds of the file's time of change.
    changed: (i64, u64),
    /// On the awake clock.
    holds_until: Duration,
}

impl Place {
    /// The place of the file that was opened under this path and found to be this one.
    pub(super) fn of(path: &Path, identity: FileIdentity, host: &Host) -> Self {
        #[cfg(target_os = "linux")]
        let file = {
            let file =
                rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            file.ok().filter(|_| host.files.metadata(path).is_ok_and(|found| found.identity == identity))
        };
        Place {
            path: path.to_owned(),
            identity,
            files: Arc::clone(&host.files),
            #[cfg(target_os = "linux")]
            clock: Arc::clone(&host.clock),
            #[cfg(target_os = "linux")]
            file,
            #[cfg(target_os = "linux")]
            seen: Mutex::new(Seen { changed: (0, 0), holds_until: Duration::ZERO }),
        }
    }

    /// Looks at the name.
    ///
    /// # Errors
    /// `IDEMPOTENCY_STORE_UNAVAILABLE` where the file does not stand there.
    pub(super) fn look(&self) -> Result<()> {
        match self.files.metadata(&self.path) {
            Ok(found) if found.identity == self.identity => Ok(()),
            Ok(_) => Err(unavailable(&self.path, "the store's file was replaced while it was open")),
            Err(error) => {
                Err(unavailable(&self.path, "the store's file is not there any more").with_source(error))
            }
        }
    }

    /// Looks at the file, and at the name where that says too little.
    ///
    /// # Errors
    /// As [`Place::look`].
    #[cfg(target_os = "linux")]
    pub(super) fn look_again(&self) -> Result<()> {
        let Some(changed) = self.changed() else { return self.look() };
        let now = self.clock.awake();
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.changed == changed && now < seen.holds_until {
            return Ok(());
        }
        self.look()?;
        let seen = Seen { changed, holds_until: now.saturating_add(HOLDS) };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn look_again(&self) -> Result<()> {
        self.look()
    }

    /// When the file was changed last; none where it has no name, or cannot be asked.
    #[cfg(target_os = "linux")]
    fn changed(&self) -> Option<(i64, u64)> {
        let found = rustix::fs::fstat(self.file.as_ref()?).ok()?;
        (found.st_nlink > 0).then_some((found.st_ctime, found.st_ctime_nsec))
    }
}
