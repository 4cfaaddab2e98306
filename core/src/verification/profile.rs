//! The private profile: one directory that holds whatever verification makes for itself (EX-VER-10, EX-VER-31).
//!
//! In it are the directories that commands write (home, XDG, temporary files, shared memory), the view of Git's data, and
//! small files that stand in the sandbox's `/etc`. It is empty at the start of a list, serves the whole list, and is removed
//! on every way out, also by unwinding. What only a killed process can leave behind is told by its lock: the next profile in
//! the same place removes every one whose lock nobody holds.
//!
//! It is made on the machine's own disk and not through `storage`: programs have to find it, and nothing of it is a record.

use std::ffi::CStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::environment::profile_directories;
use super::removal::remove_tree;
use super::sandbox::linux::{EMPTY, MADE};
use crate::error::{Code, Error, Result};
use crate::host::Host;

/// Before the name of every profile.
const PREFIX: &str = "gallivant-verification-";
/// Before the name of one that has no lock yet.
const STAGED: &str = "gallivant-verification-new-";
const LOCK: &str = "lock";
/// A profile is somebody's as long as anything of it is there: its lock goes last.
const LAST: &CStr = c"lock";
/// A profile without a lock that is older belongs to nobody: it gets its lock at once.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// A profile. Dropping it removes it; [`Profile::remove`] tells whether that went well.
#[derive(Debug)]
pub struct Profile {
    path: PathBuf,
    is_removed: bool,
    _lock: File,
}

impl Profile {
    /// A new profile in a directory of the coordinator's choice, which exists and lies outside of the checkout. What killed
    /// processes have left there is removed before.
    ///
    /// # Errors
    /// `EXECUTION_IO`; nothing is left of it then.
    pub fn create(scratch: &Path, host: &Host) -> Result<Profile> {
        let failed = |error| {
            let message = format!("the private profile cannot be made, scratch=`{}`", scratch.display());
            Error::new(Code::ExecutionIo, message).with_source(error)
        };
        let resolved = scratch.canonicalize().map_err(failed)?;
        // What cannot be removed now is left for the next time.
        let _ = sweep(&resolved, host);
        let number = host.random.next_u128();
        let staged = resolved.join(format!("{STAGED}{number:032x}"));
        let path = resolved.join(format!("{PREFIX}{number:032x}"));
        let fill = || {
            make_directory(&staged)?;
            let lock = create(&staged.join(LOCK), b"")?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            for below in profile_directories().chain(["etc", "canary"]) {
                make_directory(&staged.join(below))?;
            }
            for (name, text) in MADE {
                create(&staged.join("etc").join(name), text.as_bytes())?;
            }
            create(&staged.join(EMPTY), b"")?;
            rustix::fs::rename(&staged, &path)?;
            Ok(lock)
        };
        match fill() {
            Ok(lock) => Ok(Profile { path, is_removed: false, _lock: lock }),
            Err(error) => {
                let _ = remove_tree(&staged, LAST);
                Err(failed(error))
            }
        }
    }

    /// Where it is. Without a link in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    ///
    /// # Errors
    /// `EXECUTION_IO`; the next profile in the same place tries again.
    pub fn remove(mut self) -> Result<()> {
        self.is_removed = true;
        remove_tree(&self.path, LAST).map_err(|error| {
            Error::new(Code::ExecutionIo, "the private profile cannot be removed").with_source(error)
        })
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        if !self.is_removed {
            let _ = remove_tree(&self.path, LAST);
        }
    }
}

/// Removes the profiles in a directory that are this user's and belong to no process any more.
fn sweep(scratch: &Path, host: &Host) -> io::Result<()> {
    let ours = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(scratch)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        // Its owner may be removing it.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_dir() || metadata.uid() != ours {
            continue;
        }
        let age = Duration::from_millis(host.clock.wall_ms())
            .saturating_sub(Duration::from_secs(u64::try_from(metadata.mtime()).unwrap_or(0)));
        let _lock = if name.starts_with(STAGED) {
            if age <= ABANDONED_AFTER {
                continue;
            }
            None
        } else {
            match take_over(&entry.path().join(LOCK)) {
                Ok(lock) => Some(lock),
                // All else of it is gone already.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => continue,
            }
        };
        // What cannot be removed is no reason to leave the others.
        let _ = remove_tree(&entry.path(), LAST);
    }
    Ok(())
}

/// An abandoned profile's lock, held from now on; an error while it has an owner.
fn take_over(lock: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(lock)?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Creates a private file that must not exist.
pub(super) fn create(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(file)
}
