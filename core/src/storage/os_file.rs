//! The machine's files once they are open: a new one that is written, reading the whole of one, its mode, its durability, and what
//! `stat` says of it.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::directory::{FileIdentity, FileType, Metadata, NewFile, OpenFile};

/// As many pieces as Linux and macOS take in one call.
const MOST_SLICES: usize = 1024;

/// Mode of every file that the library creates for itself.
pub(super) const PRIVATE: Mode = Mode::from_raw_mode(0o600);

#[derive(Debug)]
pub(super) struct OsNewFile {
    pub(super) fd: OwnedFd,
    /// Whether mode 0600 was asked for, whatever the umask.
    pub(super) is_private: bool,
}

/// Whether a file that this process created had the mode that was asked for, so that its umask leaves the owner's bits.
/// The umask may change, or be another's after a fork; [`NewFile::into_open`] looks at each file.
pub(super) static UMASK_LEAVES_OWNER: AtomicBool = AtomicBool::new(false);

impl NewFile for OsNewFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_all(&self.fd, bytes)
    }

    fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        if let [piece] = pieces {
            return write_all(&self.fd, piece);
        }
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut rest = &mut slices[..];
        // Empty ones at the front, so that a call that writes nothing is a failure.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let now = rest.len().min(MOST_SLICES);
            match retry_on_intr(|| rustix::io::writev(&self.fd, &rest[..now]))? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut rest, written),
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn sync(&mut self) -> io::Result<()> {
        // Times may be lost; the length is part of what reading the data needs, and is written (fdatasync(2)). The mode is that
        // of the creation, which the sync of the directory makes durable.
        Ok(retry_on_intr(|| fs::fdatasync(&self.fd))?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync(&mut self) -> io::Result<()> {
        sync_whole(&self.fd)
    }

    fn into_open(self: Box<Self>) -> io::Result<OpenFile> {
        let mut stat = fs::fstat(&self.fd)?;
        if self.is_private && Mode::from_raw_mode(stat.st_mode) != PRIVATE {
            UMASK_LEAVES_OWNER.store(false, Ordering::Relaxed);
            fs::fchmod(&self.fd, PRIVATE)?;
            stat = fs::fstat(&self.fd)?;
        }
        let metadata = metadata_of(&stat);
        Ok(OpenFile { metadata, through_link: false, oversized: false, pin: Box::new(self.fd) })
    }
}

/// Gives a file that this process has just created mode 0600 whatever the umask took away.
pub(super) fn grant_private_mode(fd: impl AsFd) -> io::Result<()> {
    let mode = Mode::from_raw_mode(fs::fstat(&fd)?.st_mode);
    if mode == PRIVATE { Ok(()) } else { Ok(fs::fchmod(fd, PRIVATE)?) }
}

pub(super) fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match retry_on_intr(|| rustix::io::write(&fd, bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

/// Opens a regular file, through a link where one stands there, and reads the whole of it.
pub(super) fn read_opened(
    open: impl Fn(OFlags) -> rustix::io::Result<OwnedFd>,
    limit: u64,
    into: &mut Vec<u8>,
) -> io::Result<(OpenFile, OwnedFd)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = |flags| retry_on_intr(|| open(flags));
    let (fd, through_link) = match open(flags | OFlags::NOFOLLOW) {
        Ok(fd) => (fd, false),
        Err(Errno::LOOP) => match open(flags) {
            Ok(fd) => (fd, true),
            // What a missing target means must not look like a missing name.
            Err(Errno::NOENT) => return Err(io::Error::other("a link to nothing stands there")),
            Err(error) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
    };
    let metadata = metadata_of(&fs::fstat(&fd)?);
    if metadata.file_type != FileType::Regular {
        return Err(io::Error::other("what stands there is not a regular file"));
    }
    into.clear();
    let oversized = metadata.size > limit || !read_to_end(&fd, metadata.size, limit, into)?;
    Ok((OpenFile { metadata, through_link, oversized, pin: Box::new(()) }, fd))
}

/// Reads the whole file; `false` when it grew above the limit meanwhile.
fn read_to_end(fd: &OwnedFd, size: u64, limit: u64, into: &mut Vec<u8>) -> io::Result<bool> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // One byte more than the size, so that an unchanged file is known to have ended after one short read.
    into.reserve_exact(
        usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1).min(limit.saturating_add(1)),
    );
    loop {
        if into.len() > limit {
            into.clear();
            return Ok(false);
        }
        if into.len() == into.capacity() {
            into.reserve(into.len().max(4096));
        }
        let spare = into.capacity() - into.len();
        let read = retry_on_intr(|| rustix::io::read(fd, rustix::buffer::spare_capacity(into)))?;
        if read < spare && (read == 0 || into.len() as u64 == size) {
            return Ok(true);
        }
    }
}

pub(super) fn file_type_of(told: fs::FileType) -> FileType {
    match told {
        fs::FileType::RegularFile => FileType::Regular,
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Link,
        _ => FileType::Other,
    }
}

/// Makes a file or directory durable. By fsync(2) of macOS its `fsync` leaves what is written in the drive; what is asked there
/// instead, a file system may not know.
pub(super) fn sync_whole(fd: &OwnedFd) -> io::Result<()> {
    #[cfg(target_os = "macos")]
    if fs::fcntl_fullfsync(fd).is_ok() {
        return Ok(());
    }
    Ok(retry_on_intr(|| fs::fsync(fd))?)
}

#[allow(clippy::unnecessary_cast, reason = "how wide these are depends on the platform")]
pub(super) fn metadata_of(stat: &fs::Stat) -> Metadata {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Metadata {
        identity: FileIdentity { device: stat.st_dev as u64, inode: stat.st_ino },
        file_type: file_type_of(fs::FileType::from_raw_mode(stat.st_mode)),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: stat.st_mode as u32 & 0o7777,
        links: stat.st_nlink as u64,
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64),
    }
}
