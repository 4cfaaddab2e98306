//! Faults on a real disk: a file system that passes every operation on, except where a list of faults says
//! otherwise.
//!
//! It takes the same lists as the simulated machine and counts the same operations, so that a point means the same
//! in both. A crash here is real: the process kills itself. Bytes that are removed do not make room on a full disk
//! again, because the real disk has its own opinion of that.

mod ledger;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ledger::Ledger;

use super::fault::Fault;
use super::handles::below;
use super::operation::{OperationKind, OperationRecord, Request};
use crate::clock::Clock;
use crate::storage::data_file::{DataAccess, DataFile};
use crate::storage::directory::{
    Directory, FileIdentity, FileSystem, FileType, LockFile, Metadata, NewFile, OpenFile, Sharing,
};
use crate::storage::watch::{Alarm, Interest, Notice, Notifier, Waker, WatchId};

/// A file system with faults over another one. Cloning shares faults and trace.
#[derive(Clone, Debug)]
pub struct InjectingFileSystem {
    inner: Arc<dyn FileSystem>,
    ledger: Arc<Ledger>,
}

impl InjectingFileSystem {
    /// Passes everything on to `inner` and counts it.
    #[must_use]
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        InjectingFileSystem { inner, ledger: Arc::default() }
    }

    /// Replaces the faults. Operations keep their numbers; what is counted by kind or name is counted from now on.
    pub fn set_faults(&self, faults: impl IntoIterator<Item = Fault>) {
        self.ledger.set_faults(faults);
    }

    /// The operations that have ended, in the order of their ends.
    #[must_use]
    pub fn operations(&self) -> Vec<OperationRecord> {
        self.ledger.operations()
    }
}

impl FileSystem for InjectingFileSystem {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        let name = path.to_string_lossy();
        let request = Request::new(OperationKind::Open, &name).named(&name);
        let inner = self.ledger.perform(&request, || self.inner.open(path))?;
        Ok(self.directory(inner, &name))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        let name = path.to_string_lossy();
        let request = Request::new(OperationKind::Open, &name).named(&name);
        let inner = self.ledger.perform(&request, || self.inner.open_to_read(path))?;
        Ok(self.directory(inner, &name))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let directory = path.parent().unwrap_or(path).to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let request = Request::new(OperationKind::Metadata, &directory).named(&name);
        self.ledger.perform(&request, || self.inner.metadata(path))
    }

    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.absolute(path)
    }

    fn notifier(&self, clock: &Arc<dyn Clock>) -> io::Result<Box<dyn Notifier>> {
        let inner = self.inner.notifier(clock)?;
        Ok(Box::new(InjectingNotifier { inner, ledger: Arc::clone(&self.ledger) }))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let name = path.to_string_lossy();
        let request = Request::new(OperationKind::MakeDirectory, &name).named(&name);
        self.ledger.perform(&request, || self.inner.make_directory(path))
    }
}

/// Watching is an operation that may fail; what is told and waited for is the inner notifier's.
#[derive(Debug)]
struct InjectingNotifier {
    inner: Box<dyn Notifier>,
    ledger: Arc<Ledger>,
}

impl Notifier for InjectingNotifier {
    fn watch(&mut self, path: &Path, interest: Interest) -> io::Result<WatchId> {
        let name = path.to_string_lossy();
        let request = Request::new(OperationKind::Watch, &name).named(&name);
        self.ledger.perform(&request, || self.inner.watch(path, interest))
    }

    fn unwatch(&mut self, id: WatchId) {
        self.inner.unwatch(id);
    }

    fn watch_process(&mut self, pid: u32) -> io::Result<()> {
        self.inner.watch_process(pid)
    }

    fn drain(&mut self, visit: &mut dyn FnMut(Notice<'_>)) -> io::Result<()> {
        self.inner.drain(visit)
    }

    fn set_alarm(&mut self, alarm: &Alarm) -> io::Result<()> {
        self.inner.set_alarm(alarm)
    }

    fn wait(&mut self, longest: Option<Duration>) -> io::Result<()> {
        self.inner.wait(longest)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn waker(&self) -> Waker {
        self.inner.waker()
    }

    fn was_woken(&mut self) -> bool {
        self.inner.was_woken()
    }

    fn is_forked(&self) -> bool {
        self.inner.is_forked()
    }
}

impl InjectingFileSystem {
    fn directory(&self, inner: Arc<dyn Directory>, path: &str) -> Arc<dyn Directory> {
        Arc::new(InjectingDirectory { inner, path: path.to_owned(), ledger: Arc::clone(&self.ledger) })
    }
}

#[derive(Debug)]
struct InjectingDirectory {
    inner: Arc<dyn Directory>,
    path: String,
    ledger: Arc<Ledger>,
}

impl InjectingDirectory {
    fn request<'a>(&'a self, kind: OperationKind, name: &'a str) -> Request<'a> {
        Request::new(kind, &self.path).named(name)
    }

    fn lock_file(&self, inner: Box<dyn LockFile>, name: &str) -> Box<dyn LockFile> {
        let (directory, name) = (self.path.clone(), name.to_owned());
        Box::new(InjectingLockFile { inner, directory, name, ledger: Arc::clone(&self.ledger) })
    }

    fn new_file(&self, inner: Box<dyn NewFile>, name: &str) -> Box<dyn NewFile> {
        let (directory, name) = (self.path.clone(), name.to_owned());
        Box::new(InjectingNewFile { inner, directory, name, ledger: Arc::clone(&self.ledger) })
    }
}

impl Directory for InjectingDirectory {
    fn identity(&self) -> io::Result<FileIdentity> {
        self.inner.identity()
    }

    fn read(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let request = self.request(OperationKind::Read, name);
        self.ledger.perform(&request, || self.inner.read(name, limit, into))
    }

    fn metadata(&self, name: &str) -> io::Result<Metadata> {
        self.ledger.perform(&self.request(OperationKind::Metadata, name), || self.inner.metadata(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let request = self.request(OperationKind::Create, name);
        let inner = self.ledger.perform(&request, || self.inner.create(name))?;
        Ok(self.new_file(inner, name))
    }

    fn create_to_keep(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let request = self.request(OperationKind::Create, name);
        let inner = self.ledger.perform(&request, || self.inner.create_to_keep(name))?;
        Ok(self.new_file(inner, name))
    }

    fn create_public(&self, name: &str, mode: Option<u32>) -> io::Result<Box<dyn NewFile>> {
        let request = self.request(OperationKind::Create, name);
        let inner = self.ledger.perform(&request, || self.inner.create_public(name, mode))?;
        Ok(self.new_file(inner, name))
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<u64> {
        let request = self.request(OperationKind::Append, name).of_bytes(bytes.len());
        self.ledger.perform_writing(&request, bytes, |part| self.inner.append(name, part))
    }

    fn open_data(&self, name: &str, access: DataAccess) -> io::Result<Box<dyn DataFile>> {
        let kind = if access == DataAccess::Read { OperationKind::LookData } else { OperationKind::OpenData };
        let inner = self.ledger.perform(&self.request(kind, name), || self.inner.open_data(name, access))?;
        let (directory, name) = (self.path.clone(), name.to_owned());
        Ok(Box::new(InjectingDataFile { inner, directory, name, ledger: Arc::clone(&self.ledger) }))
    }

    fn open_directory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        let request = self.request(OperationKind::Open, name);
        let inner = self.ledger.perform(&request, || self.inner.open_directory(name))?;
        let (path, ledger) = (below(&self.path, name), Arc::clone(&self.ledger));
        Ok(Arc::new(InjectingDirectory { inner, path, ledger }))
    }

    fn make_directory(&self, name: &str) -> io::Result<()> {
        let request = self.request(OperationKind::MakeDirectory, name);
        self.ledger.perform(&request, || self.inner.make_directory(name))
    }

    fn make_public_directory(&self, name: &str) -> io::Result<()> {
        let request = self.request(OperationKind::MakeDirectory, name);
        self.ledger.perform(&request, || self.inner.make_public_directory(name))
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let request = self.request(OperationKind::Rename, from).and(to);
        self.ledger.perform(&request, || self.inner.rename_new(from, to))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let request = self.request(OperationKind::Rename, from).and(to);
        self.ledger.perform(&request, || self.inner.rename(from, to))
    }

    fn exchange(&self, a: &str, b: &str) -> io::Result<()> {
        let request = self.request(OperationKind::Exchange, a).and(b);
        self.ledger.perform(&request, || self.inner.exchange(a, b))
    }

    fn gains_by_exchange(&self) -> bool {
        self.inner.gains_by_exchange()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.ledger.perform(&self.request(OperationKind::Remove, name), || self.inner.remove(name))
    }

    fn remove_directory(&self, name: &str) -> io::Result<()> {
        let request = self.request(OperationKind::RemoveDirectory, name);
        self.ledger.perform(&request, || self.inner.remove_directory(name))
    }

    fn sync(&self) -> io::Result<()> {
        let request = Request::new(OperationKind::SyncDirectory, &self.path);
        self.ledger.perform(&request, || self.inner.sync())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let request = Request::new(OperationKind::Names, &self.path);
        self.ledger.perform(&request, || self.inner.names())
    }

    fn list(&self, path: &str, visit: &mut dyn FnMut(&[u8], FileType)) -> io::Result<Metadata> {
        let request = self.request(OperationKind::Names, path);
        self.ledger.perform(&request, || self.inner.list(path, visit))
    }

    fn counts_subdirectories(&self) -> bool {
        self.inner.counts_subdirectories()
    }

    fn open_lock(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        let request = self.request(OperationKind::OpenLock, name);
        let inner = self.ledger.perform(&request, || self.inner.open_lock(name))?;
        Ok(self.lock_file(inner, name))
    }

    fn open_lock_to_look(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        let request = self.request(OperationKind::LookLock, name);
        let inner = self.ledger.perform(&request, || self.inner.open_lock_to_look(name))?;
        Ok(self.lock_file(inner, name))
    }

    fn open_lock_to_share(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        let request = self.request(OperationKind::LookLock, name);
        let inner = self.ledger.perform(&request, || self.inner.open_lock_to_share(name))?;
        Ok(self.lock_file(inner, name))
    }
}

#[derive(Debug)]
struct InjectingNewFile {
    inner: Box<dyn NewFile>,
    directory: String,
    name: String,
    ledger: Arc<Ledger>,
}

impl NewFile for InjectingNewFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let request =
            Request::new(OperationKind::Write, &self.directory).named(&self.name).of_bytes(bytes.len());
        self.ledger.perform_writing(&request, bytes, |part| self.inner.write_all(part))
    }

    fn sync(&mut self) -> io::Result<()> {
        let request = Request::new(OperationKind::Sync, &self.directory).named(&self.name);
        self.ledger.perform(&request, || self.inner.sync())
    }

    fn into_open(self: Box<Self>) -> io::Result<OpenFile> {
        let InjectingNewFile { inner, directory, name, ledger } = *self;
        let request = Request::new(OperationKind::Metadata, &directory).named(&name);
        let mut inner = Some(inner);
        ledger.perform(&request, || match inner.take() {
            Some(inner) => inner.into_open(),
            None => Err(io::ErrorKind::Interrupted.into()),
        })
    }
}

#[derive(Debug)]
struct InjectingDataFile {
    inner: Box<dyn DataFile>,
    directory: String,
    name: String,
    ledger: Arc<Ledger>,
}

impl InjectingDataFile {
    fn request(&self, kind: OperationKind) -> Request<'_> {
        Request::new(kind, &self.directory).named(&self.name)
    }
}

impl DataFile for InjectingDataFile {
    fn size(&self) -> io::Result<u64> {
        self.ledger.perform(&self.request(OperationKind::Metadata), || self.inner.size())
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.ledger.perform(&self.request(OperationKind::Metadata), || self.inner.metadata())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.ledger.perform(&self.request(OperationKind::ReadAt), || self.inner.read_at(offset, into))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let request = self.request(OperationKind::WriteAt).of_bytes(bytes.len());
        let mut at = offset;
        self.ledger.perform_writing(&request, bytes, |part| {
            let written = self.inner.write_at(at, part);
            at += part.len() as u64;
            written
        })
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.ledger.perform(&self.request(OperationKind::Cut), || self.inner.cut(length))
    }

    fn sync(&self) -> io::Result<()> {
        self.ledger.perform(&self.request(OperationKind::Sync), || self.inner.sync())
    }
}

#[derive(Debug)]
struct InjectingLockFile {
    inner: Box<dyn LockFile>,
    directory: String,
    name: String,
    ledger: Arc<Ledger>,
}

impl InjectingLockFile {
    fn request(&self, kind: OperationKind) -> Request<'_> {
        Request::new(kind, &self.directory).named(&self.name)
    }
}

impl LockFile for InjectingLockFile {
    fn try_lock(&self, sharing: Sharing) -> io::Result<bool> {
        self.ledger.perform(&self.request(OperationKind::TryLock), || self.inner.try_lock(sharing))
    }

    fn identity(&self) -> FileIdentity {
        self.inner.identity()
    }

    fn contents(&self, limit: u64) -> io::Result<Vec<u8>> {
        self.ledger.perform(&self.request(OperationKind::LockContents), || self.inner.contents(limit))
    }

    fn set_contents(&self, bytes: &[u8]) -> io::Result<()> {
        let request = self.request(OperationKind::SetLockContents).of_bytes(bytes.len());
        self.ledger.perform_writing(&request, bytes, |part| self.inner.set_contents(part))
    }

    fn is_forked(&self) -> bool {
        self.inner.is_forked()
    }
}
