//! The machine's file system: directories and the names in them. Its open files are in `os_file`; locks, watches and forks have
//! a file of their own.
//!
//! Every descriptor is close-on-exec from the call that opens it. Opening, reading, writing, syncing and locking are
//! repeated when a signal interrupts them; changes of names are not, because what was interrupted may have been done.

use std::ffi::CStr;
use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

#[cfg(any(target_os = "linux", target_os = "macos"))]
use rustix::fs::RenameFlags;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::data_file::{DataAccess, DataFile, OsDataFile};
use super::directory::{
    Directory, FileIdentity, FileSystem, FileType, LockFile, Metadata, NewFile, OpenFile,
};
use super::os_exchange;
use super::os_file::{
    OsNewFile, PRIVATE, UMASK_LEAVES_OWNER, file_type_of, grant_private_mode, metadata_of, read_opened,
    sync_whole, write_all,
};
use super::os_lock::OsLockFile;
#[cfg(target_os = "linux")]
use super::os_watch::InotifyNotifier;
#[cfg(target_os = "linux")]
use super::watch::Notifier;
#[cfg(target_os = "linux")]
use crate::clock::Clock;

/// `f_type` of ext2, ext3 and ext4 (statfs(2), EXT4_SUPER_MAGIC).
#[cfg(target_os = "linux")]
pub(super) const EXT4_MAGIC: fs::FsWord = 0xef53;
/// File systems on which a directory's link count is two and one for each directory in it: ext2, ext3 and ext4, XFS
/// (XFS_SUPER_MAGIC), tmpfs (TMPFS_MAGIC), by statfs(2). Where one of them stops counting, as ext4 does above 65,000,
/// it says one. Elsewhere the count is not trusted: many a FUSE file system says two for every directory.
#[cfg(target_os = "linux")]
const COUNTING: [fs::FsWord; 3] = [EXT4_MAGIC, 0x5846_5342, 0x0102_1994];

#[cfg(any(target_os = "linux", target_os = "macos"))]
const NEW: RenameFlags = RenameFlags::NOREPLACE;
#[cfg(any(target_os = "linux", target_os = "macos"))]
const EXCHANGING: RenameFlags = RenameFlags::EXCHANGE;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const NEW: () = ();
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const EXCHANGING: () = ();

/// The machine's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFileSystem;

impl FileSystem for OsFileSystem {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        Ok(Arc::new(OsDirectory::open(path)?))
    }

    #[cfg(target_os = "linux")]
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        match OsDirectory::open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Arc::new(OsDirectory::open_with(path, OFlags::PATH)?))
            }
            opened => Ok(Arc::new(opened?)),
        }
    }

    fn read_file(&self, path: &Path, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let (read, _) = read_opened(|flags| fs::open(path, flags, Mode::empty()), limit, into)?;
        Ok(read)
    }

    #[cfg(target_os = "linux")]
    fn notifier(&self, _clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Notifier>> {
        Ok(Box::new(InotifyNotifier::open()?))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        Ok(metadata_of(&fs::lstat(path)?))
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        std::path::absolute(path)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        fs::mkdir(path, Mode::from_raw_mode(0o777))?;
        grant_owner(path)
    }
}

/// A umask that takes the owner's bits away would leave a directory that nobody can use.
fn grant_owner(path: &Path) -> io::Result<()> {
    let mode = Mode::from_raw_mode(fs::stat(path)?.st_mode);
    if mode.contains(Mode::RWXU) { Ok(()) } else { Ok(fs::chmod(path, mode | Mode::RWXU)?) }
}

#[derive(Debug)]
struct OsDirectory {
    fd: OwnedFd,
    /// Asked for when it is needed first: a process that writes once needs neither.
    identity: OnceLock<FileIdentity>,
    gains_by_exchange: OnceLock<bool>,
    /// Of the lock files in it.
    device: OnceLock<u64>,
}

impl OsDirectory {
    fn open(path: &Path) -> io::Result<Self> {
        OsDirectory::open_with(path, OFlags::RDONLY)
    }

    fn open_with(path: &Path, access: OFlags) -> io::Result<Self> {
        let flags = access | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::open(path, flags, Mode::empty()))?;
        Ok(OsDirectory::of(fd))
    }

    fn of(fd: OwnedFd) -> Self {
        let (identity, gains_by_exchange, device) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        OsDirectory { fd, identity, gains_by_exchange, device }
    }

    fn open_lock_with(&self, name: &str, access: OFlags, create: bool) -> io::Result<Box<dyn LockFile>> {
        // NONBLOCK keeps a pipe that stands in the lock's place from holding the caller.
        let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        loop {
            match OsLockFile::open(|| retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty()))) {
                Err(error) if create && error.kind() == io::ErrorKind::NotFound => {}
                opened => {
                    let file = opened.and_then(refuse_irregular)?;
                    let _ = self.device.set(file.identity().device);
                    return Ok(file);
                }
            }
            let creating = flags | OFlags::CREATE | OFlags::EXCL;
            match OsLockFile::open(|| retry_on_intr(|| fs::openat(&self.fd, name, creating, PRIVATE))) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let created = created?;
                    created.grant_private_mode()?;
                    return Ok(Box::new(created));
                }
            }
        }
    }
}

fn refuse_irregular(file: OsLockFile) -> io::Result<Box<dyn LockFile>> {
    if file.is_regular() {
        Ok(Box::new(file))
    } else {
        Err(io::Error::other("the lock file is not a regular file"))
    }
}

impl Directory for OsDirectory {
    fn identity(&self) -> io::Result<FileIdentity> {
        if let Some(known) = self.identity.get() {
            return Ok(*known);
        }
        let identity = metadata_of(&fs::fstat(&self.fd)?).identity;
        Ok(*self.identity.get_or_init(|| identity))
    }

    fn read(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let open = |flags| fs::openat(&self.fd, name, flags, Mode::empty());
        let (read, fd) = read_opened(open, limit, into)?;
        Ok(OpenFile { pin: Box::new(fd), ..read })
    }

    fn read_and_close(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let (read, _) = read_opened(|flags| fs::openat(&self.fd, name, flags, Mode::empty()), limit, into)?;
        Ok(read)
    }

    fn metadata(&self, name: &str) -> io::Result<Metadata> {
        Ok(metadata_of(&fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, PRIVATE))?;
        if let Err(error) = grant_private_mode(&fd) {
            // Ours and not in use by anybody, so removing it leaves the disk as it was.
            let _ = fs::unlinkat(&self.fd, name, AtFlags::empty());
            return Err(error);
        }
        Ok(Box::new(OsNewFile { fd, is_private: true }))
    }

    fn create_to_keep(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        if !UMASK_LEAVES_OWNER.load(Ordering::Relaxed) {
            let created = self.create(name)?;
            UMASK_LEAVES_OWNER.store(true, Ordering::Relaxed);
            return Ok(created);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, PRIVATE))?;
        Ok(Box::new(OsNewFile { fd, is_private: true }))
    }

    fn create_public(&self, name: &str, mode: Option<u32>) -> io::Result<Box<dyn NewFile>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let initial = if mode.is_some() { PRIVATE } else { Mode::from_raw_mode(0o666) };
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, initial))?;
        if let Some(mode) = mode
            && let Err(error) = fs::fchmod(&fd, mode_of(mode))
        {
            // Ours and not in use by anybody, so removing it leaves the disk as it was.
            let _ = fs::unlinkat(&self.fd, name, AtFlags::empty());
            return Err(error.into());
        }
        Ok(Box::new(OsNewFile { fd, is_private: false }))
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<u64> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, PRIVATE))?;
        if metadata_of(&fs::fstat(&fd)?).file_type != FileType::Regular {
            return Err(io::Error::other("what stands there is not a regular file"));
        }
        // It may be this call that created it, or somebody else who let everybody read it. Where it belongs to
        // another user it is left as it is.
        if let Err(error) = grant_private_mode(&fd)
            && error.kind() != io::ErrorKind::PermissionDenied
        {
            return Err(error);
        }
        write_all(&fd, bytes)?;
        Ok(metadata_of(&fs::fstat(&fd)?).size)
    }

    fn open_data(&self, name: &str, access: DataAccess) -> io::Result<Box<dyn DataFile>> {
        let mode = if access == DataAccess::Read { OFlags::RDONLY } else { OFlags::RDWR };
        let flags = mode | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        loop {
            match retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty())) {
                Err(Errno::NOENT) if access == DataAccess::Create => {}
                opened => {
                    let fd = opened?;
                    if metadata_of(&fs::fstat(&fd)?).file_type != FileType::Regular {
                        return Err(io::Error::other("what stands there is not a regular file"));
                    }
                    return Ok(Box::new(OsDataFile::new(fd)));
                }
            }
            let creating = flags | OFlags::CREATE | OFlags::EXCL;
            match retry_on_intr(|| fs::openat(&self.fd, name, creating, PRIVATE)) {
                Err(Errno::EXIST) => {}
                created => {
                    let fd = created?;
                    grant_private_mode(&fd)?;
                    return Ok(Box::new(OsDataFile::new(fd)));
                }
            }
        }
    }

    fn open_directory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, Mode::empty()))?;
        Ok(Arc::new(OsDirectory::of(fd)))
    }

    fn make_directory(&self, name: &str) -> io::Result<()> {
        fs::mkdirat(&self.fd, name, Mode::RWXU)?;
        let stat = fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU) {
            return Ok(());
        }
        // A umask that takes the owner's bits away would leave a directory that nobody can use.
        Ok(fs::chmodat(&self.fd, name, Mode::RWXU, AtFlags::empty())?)
    }

    fn make_public_directory(&self, name: &str) -> io::Result<()> {
        Ok(fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        rename_with(&self.fd, from, to, NEW)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    fn exchange(&self, a: &str, b: &str) -> io::Result<()> {
        rename_with(&self.fd, a, b, EXCHANGING)
    }

    fn gains_by_exchange(&self) -> bool {
        let device = self.device.get().copied();
        *self.gains_by_exchange.get_or_init(|| os_exchange::gains(self.fd.as_fd(), device))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    fn remove_directory(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    fn sync(&self) -> io::Result<()> {
        sync_whole(&self.fd)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn list(&self, path: &str, visit: &mut dyn FnMut(&[u8], FileType)) -> io::Result<Metadata> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, path, flags, Mode::empty()))?;
        let metadata = metadata_of(&fs::fstat(&fd)?);
        each_entry(&fd, |name, file_type| {
            let file_type = match file_type {
                // The file system does not say it in its listing.
                fs::FileType::Unknown => match fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => metadata_of(&stat).file_type,
                    // Removed since.
                    Err(Errno::NOENT) => return Ok(()),
                    Err(error) => return Err(error),
                },
                told => file_type_of(told),
            };
            if !matches!(name.to_bytes(), b"." | b"..") {
                visit(name.to_bytes(), file_type);
            }
            Ok(())
        })?;
        Ok(metadata)
    }

    fn counts_subdirectories(&self) -> bool {
        #[cfg(target_os = "linux")]
        return fs::fstatfs(&self.fd).is_ok_and(|stat| COUNTING.contains(&stat.f_type));
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    fn open_lock(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_with(name, OFlags::RDWR, true)
    }

    fn open_lock_to_look(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_with(name, OFlags::RDWR, false)
    }

    fn open_lock_to_share(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_with(name, OFlags::RDONLY, false)
    }
}

/// Renames inside a directory in a way that is not that of every file system.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_with(fd: &OwnedFd, from: &str, to: &str, how: RenameFlags) -> io::Result<()> {
    match fs::renameat_with(fd, from, fd, to, how) {
        // Elsewhere than on Linux the last two are two.
        Err(error) if [Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        done => Ok(done?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_with(_fd: &OwnedFd, _from: &str, _to: &str, _how: ()) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Visits what is in an open directory, itself and the one above it included.
#[cfg(target_os = "linux")]
fn each_entry(
    fd: &OwnedFd,
    mut visit: impl FnMut(&CStr, fs::FileType) -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    // For some hundred names at a time, of which none is copied.
    let mut room = [MaybeUninit::<u8>::uninit(); 16 * 1024];
    let mut entries = fs::RawDir::new(fd, &mut room);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        visit(entry.file_name(), entry.file_type())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_entry(
    fd: &OwnedFd,
    mut visit: impl FnMut(&CStr, fs::FileType) -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    for entry in fs::Dir::read_from(fd)? {
        let entry = entry?;
        visit(entry.file_name(), entry.file_type())?;
    }
    Ok(())
}

/// The bits of a mode, which fit in the narrowest type of it.
#[allow(clippy::unnecessary_cast, reason = "how wide they are depends on the platform")]
fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode((bits & 0o7777) as fs::RawMode)
}
