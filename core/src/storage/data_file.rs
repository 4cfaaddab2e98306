//! Files that are read and written at offsets, and stay open: a log and what is built beside it.
//!
//! Nothing here keeps a position, so that one open file serves several readers. Whoever writes is the only writer by
//! a lock of its own domain.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs;
use rustix::io::retry_on_intr;

use super::directory::Metadata;
use super::os_file::metadata_of;

/// How a data file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAccess {
    /// An existing file, for reading only.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// For reading and writing; created with mode 0600 where it is missing, whatever the umask. Its name is not durable
    /// before the directory has been synced.
    Create,
}

/// An open regular file.
pub trait DataFile: Send + Sync + fmt::Debug {
    /// The file's length in bytes.
    ///
    /// # Errors
    /// As the system says it.
    fn size(&self) -> io::Result<u64>;

    /// What `stat` says of the open file now, whatever its name stands for by now.
    ///
    /// # Errors
    /// As the system says it.
    fn metadata(&self) -> io::Result<Metadata>;

    /// Reads from an offset until the buffer is full or the file has ended, and answers how many bytes it has read.
    ///
    /// # Errors
    /// As the system says it; the buffer's content is then anything.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes all the bytes at an offset.
    ///
    /// # Errors
    /// As the system says it; some of the bytes may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Takes away what follows the first `length` bytes. Never makes a file longer.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a file that is shorter, else as the system says it.
    fn cut(&self, length: u64) -> io::Result<()>;

    /// Makes content and length durable. The name is durable only after [`Directory::sync`](super::Directory::sync).
    ///
    /// # Errors
    /// As the system says it; then nothing is known about what is durable, and a later sync that succeeds proves nothing.
    fn sync(&self) -> io::Result<()>;
}

/// A data file of the machine.
#[derive(Debug)]
pub(super) struct OsDataFile {
    fd: OwnedFd,
}

impl OsDataFile {
    pub(super) fn new(fd: OwnedFd) -> Self {
        OsDataFile { fd }
    }
}

impl DataFile for OsDataFile {
    fn size(&self) -> io::Result<u64> {
        Ok(metadata_of(&fs::fstat(&self.fd)?).size)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(metadata_of(&fs::fstat(&self.fd)?))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < into.len() {
            let rest = &mut into[done..];
            match retry_on_intr(|| rustix::io::pread(&self.fd, &mut *rest, offset + done as u64))? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match retry_on_intr(|| rustix::io::pwrite(&self.fd, &bytes[done..], offset + done as u64))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => done += written,
            }
        }
        Ok(())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        if self.size()? < length {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(retry_on_intr(|| fs::ftruncate(&self.fd, length))?)
    }

    #[cfg(target_os = "linux")]
    fn sync(&self) -> io::Result<()> {
        // Times may be lost; the length is part of what reading the data needs, and is written (fdatasync(2)).
        Ok(retry_on_intr(|| fs::fdatasync(&self.fd))?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync(&self) -> io::Result<()> {
        super::os_file::sync_whole(&self.fd)
    }
}
