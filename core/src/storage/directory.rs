//! The traits through which every byte reaches the disk.
//!
//! All names are relative to an open directory; nothing resolves a path twice. Each method is at most a handful
//! of system calls and is one point at which the faulty directory can fail, crash or lose what was not synced.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data_file::{DataAccess, DataFile};
use super::watch::{Notifier, PollingNotifier};
use crate::clock::Clock;

/// Opens directories.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// Not found, not a directory, not permitted, as the system says it.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Directory>>;

    /// As [`FileSystem::open`], for reading files by their names alone: enough where a directory may be searched and
    /// not listed. Such a directory cannot be listed or synced.
    ///
    /// # Errors
    /// As [`FileSystem::open`].
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        self.open(path)
    }

    /// Describes what stands at the path itself, not what a link points to.
    ///
    /// # Errors
    /// As the system says it.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Reads a whole file by its path, as [`Directory::read`] does by its name, in as few calls as the system allows and
    /// without keeping anything open. `into` holds the content afterwards; what it has room for is used again.
    ///
    /// # Errors
    /// As [`FileSystem::open_to_read`] of the directory above and [`Directory::read`].
    fn read_file(&self, path: &Path, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
        let above = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let read = self.open_to_read(above)?.read(name, limit, into)?;
        Ok(OpenFile { pin: Box::new(()), ..read })
    }

    /// The same path from the root, so that it means the same when the process changes its working directory and in
    /// every process that it is handed to. Touches no disk and resolves no link.
    ///
    /// # Errors
    /// The empty path, or a working directory that cannot be told.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf>;

    /// Creates one directory that is missing in an existing one. It is accessible to its owner whatever the umask.
    /// Its name is not durable before its parent has been synced.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when anything stands there, else as the system says it.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// What tells of changes on this file system, waiting on this clock.
    ///
    /// # Errors
    /// As the system says it, among others that no descriptor is left.
    fn notifier(&self, clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Notifier>> {
        Ok(Box::new(PollingNotifier::new(Arc::clone(clock))))
    }

    /// Makes the name of an existing directory durable in its parent. A parent that this process may not read, or that
    /// cannot be written at all, holds no name that this process or its like could have made, and is left alone.
    ///
    /// # Errors
    /// As the system says it; then nothing is known about the name's durability.
    fn sync_parent(&self, path: &Path) -> io::Result<()> {
        let Some(parent) = path.parent() else { return Ok(()) };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        match self.open(parent).and_then(|parent| parent.sync()) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }

    /// Opens a directory, creating it and its parents where they are missing. The names of those that it created
    /// are durable once it has returned.
    ///
    /// # Errors
    /// As the system says it; what was created before the failure stays.
    fn open_or_create(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let mut missing = vec![path];
        let mut parent = loop {
            let above = missing.last().and_then(|path| path.parent()).ok_or(io::ErrorKind::NotFound)?;
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            match self.open(above) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(above),
                opened => break opened?,
            }
        };
        // What was found may be the last act of a process that died before it synced it. One level is enough: that
        // process had done the same for the level above.
        self.sync_parent(missing.last().and_then(|path| path.parent()).unwrap_or(path))?;
        for path in missing.into_iter().rev() {
            match self.make_directory(path) {
                // Somebody else was quicker, and may not have synced it yet.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            parent.sync()?;
            parent = self.open(path)?;
        }
        Ok(parent)
    }
}

/// One open directory. Names are single path components, but for the calls that say that they take a path below it.
pub trait Directory: Send + Sync + fmt::Debug {
    /// Which directory this is, for as long as it exists.
    ///
    /// # Errors
    /// As the system says it.
    fn identity(&self) -> io::Result<FileIdentity>;

    /// Reads a regular file through links, never blocking on a pipe or device. Takes a path below the directory.
    ///
    /// The returned [`OpenFile`] keeps the file's inode from being reused for as long as it lives.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] means that nothing at all is there; a dangling link, a pipe, a device and a
    /// directory are other errors.
    fn read(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile>;

    /// As [`Directory::read`], for whoever keeps many files in mind and none open: nothing is pinned.
    ///
    /// # Errors
    /// As [`Directory::read`].
    fn read_and_close(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let read = self.read(name, limit, into)?;
        Ok(OpenFile { pin: Box::new(()), ..read })
    }

    /// Describes what stands at the name itself, not what a link points to. Takes a path below the directory.
    ///
    /// # Errors
    /// As the system says it.
    fn metadata(&self, name: &str) -> io::Result<Metadata>;

    /// Creates a file of mode 0600 that must not exist, whatever the umask.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when anything stands there; it is left alone.
    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>>;

    /// As [`Directory::create`], for a file that is kept open: where an earlier one of this process had the right mode, it is
    /// looked at only by [`NewFile::into_open`].
    ///
    /// # Errors
    /// As [`Directory::create`].
    fn create_to_keep(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        self.create(name)
    }

    /// As [`Directory::create`], for a file of somebody's own tree: with exactly these permission bits, or with those that the
    /// umask leaves of 0666.
    ///
    /// # Errors
    /// As [`Directory::create`].
    fn create_public(&self, name: &str, mode: Option<u32>) -> io::Result<Box<dyn NewFile>>;

    /// Appends to a file, creating it with mode 0600, and answers its size afterwards. Refuses links.
    ///
    /// # Errors
    /// As the system says it.
    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<u64>;

    /// Opens a file that is read and written at offsets. Never blocks on a pipe or device.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where nothing is there and it is not to be created; a link or anything else that is
    /// not a regular file is refused.
    fn open_data(&self, name: &str, access: DataAccess) -> io::Result<Box<dyn DataFile>>;

    /// Opens a directory that stands in this one. A link is refused.
    ///
    /// # Errors
    /// As the system says it.
    fn open_directory(&self, name: &str) -> io::Result<Arc<dyn Directory>>;

    /// Creates a directory of mode 0700 in this one, whatever the umask. Its name is not durable before this directory
    /// has been synced.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when anything stands there, else as the system says it.
    fn make_directory(&self, name: &str) -> io::Result<()>;

    /// As [`Directory::make_directory`], for a directory of somebody's own tree: with what the umask leaves of 0777.
    ///
    /// # Errors
    /// As [`Directory::make_directory`].
    fn make_public_directory(&self, name: &str) -> io::Result<()>;

    /// Renames to a name at which nothing stands, atomically.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] when anything stands there, [`io::ErrorKind::Unsupported`] where the file system
    /// cannot do it atomically, else as the system says it.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;

    /// Puts `from` in the place of `to`, atomically for every reader.
    ///
    /// # Errors
    /// As the system says it, among others when `to` is a directory.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Exchanges two existing names atomically.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file system cannot.
    fn exchange(&self, a: &str, b: &str) -> io::Result<()>;

    /// Whether an unsynced replacement is cheaper by exchange than by rename here.
    fn gains_by_exchange(&self) -> bool;

    /// Removes a name that is not a directory.
    ///
    /// # Errors
    /// As the system says it.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Removes an empty directory that stands in this one.
    ///
    /// # Errors
    /// As the system says it, among others when it is not empty or is no directory.
    fn remove_directory(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals in this directory durable.
    ///
    /// # Errors
    /// As the system says it; then nothing is known about their durability.
    fn sync(&self) -> io::Result<()>;

    /// The names in this directory.
    ///
    /// # Errors
    /// As the system says it.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Lists a directory by its path below this one, `.` for this one itself: each name as its bytes, with what stands
    /// there. Answers what was known of the directory before it was listed, so that what changes meanwhile shows.
    /// A link in the directory's own place is not followed.
    ///
    /// # Errors
    /// As the system says it; some of the names may have been visited.
    fn list(&self, path: &str, visit: &mut dyn FnMut(&[u8], FileType)) -> io::Result<Metadata>;

    /// Whether [`Metadata::links`] of a directory on this file system is two and one for each directory in it, so that
    /// a directory with two holds no other.
    fn counts_subdirectories(&self) -> bool;

    /// Opens a permanent lock file for reading and writing, creating it with mode 0600 where it is missing.
    ///
    /// # Errors
    /// A link or anything else that is not a regular file is refused.
    fn open_lock(&self, name: &str) -> io::Result<Box<dyn LockFile>>;

    /// Opens an existing lock file for looking at it, without creating it. Takes a path below the directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where there is none; a link or anything else irregular is refused.
    fn open_lock_to_look(&self, name: &str) -> io::Result<Box<dyn LockFile>>;

    /// As [`Directory::open_lock_to_look`], for a shared lock and for reading only: closing it tells nobody that the
    /// file was written, so that those who watch a lease do not wake each other by looking.
    ///
    /// # Errors
    /// As [`Directory::open_lock_to_look`].
    fn open_lock_to_share(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_to_look(name)
    }
}

/// A file under creation.
pub trait NewFile: fmt::Debug {
    /// Writes all the bytes at the end.
    ///
    /// # Errors
    /// As the system says it; some of the bytes may have been written.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Writes all the pieces at the end, one after the other, as [`NewFile::write_all`] would the whole of them.
    ///
    /// # Errors
    /// As [`NewFile::write_all`].
    fn write_pieces(&mut self, pieces: &[&[u8]]) -> io::Result<()> {
        match pieces {
            [bytes] => self.write_all(bytes),
            pieces => self.write_all(&pieces.concat()),
        }
    }

    /// Makes the content durable. The name is durable only after [`Directory::sync`].
    ///
    /// # Errors
    /// As the system says it.
    fn sync(&mut self) -> io::Result<()>;

    /// Keeps the file open and says what `stat` says of it now. A mode that a changed umask took from its owner is given
    /// back.
    ///
    /// # Errors
    /// As the system says it.
    fn into_open(self: Box<Self>) -> io::Result<OpenFile>;
}

/// An open lock file. Its lock is released by dropping it, and by nothing else.
pub trait LockFile: Send + Sync + fmt::Debug {
    /// Tries to take the lock without waiting; `false` when somebody else holds it.
    ///
    /// # Errors
    /// Whatever is not contention, among others a file system without locks.
    fn try_lock(&self, sharing: Sharing) -> io::Result<bool>;

    /// Which file is open, as it was seen when it was opened.
    fn identity(&self) -> FileIdentity;

    /// The file's content, up to `limit` bytes.
    ///
    /// # Errors
    /// As the system says it.
    fn contents(&self, limit: u64) -> io::Result<Vec<u8>>;

    /// Replaces the file's content in place.
    ///
    /// # Errors
    /// As the system says it; the content may then be empty.
    fn set_contents(&self, bytes: &[u8]) -> io::Result<()>;

    /// Whether this object came through a fork: its lock belongs to the parent and was let go of here.
    fn is_forked(&self) -> bool;
}

/// How a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Excludes everybody.
    Exclusive,
    /// Excludes exclusive holders only.
    Shared,
}

/// Which file an open descriptor or a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number on that device.
    pub inode: u64,
}

/// What stands at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// What `stat` says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Which file.
    pub identity: FileIdentity,
    /// What it is.
    pub file_type: FileType,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// How many names it has; what that means for a directory [`Directory::counts_subdirectories`] says.
    pub links: u64,
    /// Time of the last change of its content, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Time of the last change of anything about it, in nanoseconds since 1970.
    pub changed_ns: i128,
}

/// A file that was read and is still open, so that no other file can get its inode number.
pub struct OpenFile {
    /// What `stat` said of the open file before it was read.
    pub metadata: Metadata,
    /// Whether the name was a link to the file.
    pub through_link: bool,
    /// Whether the file was larger than the limit; its content was then not read.
    pub oversized: bool,
    /// Whatever keeps the inode in use.
    pub pin: Box<dyn Send + Sync>,
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OpenFile")
            .field("metadata", &self.metadata)
            .field("through_link", &self.through_link)
            .field("oversized", &self.oversized)
            .finish_non_exhaustive()
    }
}
