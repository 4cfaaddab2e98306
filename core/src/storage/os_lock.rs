//! `flock` on the machine's file system.
//!
//! `fs2` is called by its explicit path: methods of the standard library shadow the trait's.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};

use super::directory::{FileIdentity, FileType, LockFile, Metadata, Sharing};
use super::fork::ForkGuarded;
use super::os_file::{grant_private_mode, metadata_of, write_all};

/// An open lock file. Dropping it closes the descriptor, which releases the lock; in a forked child dropping it
/// does nothing.
#[derive(Debug)]
pub(super) struct OsLockFile {
    descriptor: ForkGuarded,
    opened: Metadata,
}

impl OsLockFile {
    pub(super) fn open(open: impl FnOnce() -> Result<OwnedFd, Errno>) -> io::Result<Self> {
        let descriptor = ForkGuarded::open(open)?;
        let fd = descriptor.get().ok_or_else(forked)?;
        let opened = metadata_of(&rustix::fs::fstat(fd)?);
        Ok(OsLockFile { descriptor, opened })
    }

    pub(super) fn is_regular(&self) -> bool {
        self.opened.file_type == FileType::Regular
    }

    pub(super) fn grant_private_mode(&self) -> io::Result<()> {
        grant_private_mode(self.fd()?)
    }

    fn fd(&self) -> io::Result<&OwnedFd> {
        self.descriptor.get().ok_or_else(forked)
    }
}

fn forked() -> io::Error {
    io::Error::other("the lock came through a fork")
}

impl LockFile for OsLockFile {
    fn try_lock(&self, sharing: Sharing) -> io::Result<bool> {
        let file = BorrowedFile::new(self.fd()?);
        loop {
            let tried = match sharing {
                Sharing::Exclusive => fs2::FileExt::try_lock_exclusive(file.get()),
                Sharing::Shared => fs2::FileExt::try_lock_shared(file.get()),
            };
            match tried {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn identity(&self) -> FileIdentity {
        self.opened.identity
    }

    fn contents(&self, limit: u64) -> io::Result<Vec<u8>> {
        let fd = self.fd()?;
        let mut bytes = vec![0; usize::try_from(limit).unwrap_or(usize::MAX)];
        let read = retry_on_intr(|| rustix::io::pread(fd, &mut *bytes, 0))?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn set_contents(&self, bytes: &[u8]) -> io::Result<()> {
        let fd = self.fd()?;
        retry_on_intr(|| rustix::fs::ftruncate(fd, 0))?;
        rustix::fs::seek(fd, rustix::fs::SeekFrom::Start(0))?;
        write_all(fd.as_fd(), bytes)
    }

    fn is_forked(&self) -> bool {
        self.descriptor.is_forked()
    }
}

/// Lends a descriptor to an interface that wants a `File`, without closing it afterwards.
struct BorrowedFile(std::mem::ManuallyDrop<File>);

impl BorrowedFile {
    fn new(fd: &OwnedFd) -> Self {
        use std::os::fd::{AsRawFd, FromRawFd};
        // SAFETY: the descriptor is open for as long as the borrow of `fd` in the only caller, and the `File` is
        // never dropped, so it is not closed here.
        BorrowedFile(std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd.as_raw_fd()) }))
    }

    fn get(&self) -> &File {
        &self.0
    }
}
