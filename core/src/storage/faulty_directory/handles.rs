//! The storage traits over the simulated machine: directories, new files, lock files.
//!
//! Where the machine's own directory answers a failure of its own making, the same words are used here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data::open_data;
use super::errno::Errno;
use super::file_system::{FaultyFileSystem, MODE_OF_DIRECTORIES, split};
use super::image::{Body, NodeId, Object, ROOT, index, text};
use super::machine::Purpose;
use super::operation::{OperationKind, Request};
use super::process::{OpenDescriptor, View, is_simulated_crash};
use crate::storage::data_file::{DataAccess, DataFile};
use crate::storage::directory::{
    Directory, FileIdentity, FileSystem, FileType, LockFile, Metadata, NewFile, OpenFile, Sharing,
};

pub(super) const MODE_OF_FILES: u32 = 0o600;
/// What [`Directory::make_directory`] creates.
const MODE_OF_RUN_DIRECTORIES: u32 = 0o700;
/// What a umask of 022 leaves of 0666.
const MODE_OF_PUBLIC_FILES: u32 = 0o644;

/// How a directory in another one is called in a trace.
pub(super) fn below(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

impl FileSystem for FaultyFileSystem {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn Directory>> {
        let name = text(path)?;
        let request = Request::new(OperationKind::Open, name).named(name);
        let (opened, identity) = self.view().perform(&request, |context| {
            let node = context.machine.disk.live().resolve(ROOT, path, true)?;
            context.machine.disk.live().entries(node)?;
            let identity = context.metadata(node)?.identity;
            Ok((context.open(node, Purpose::Plain), identity))
        })?;
        let descriptor = self.view().own(opened);
        Ok(Arc::new(FaultyDirectory { descriptor, path: name.to_owned(), identity }))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let (parent, name) = split(path)?;
        let request = Request::new(OperationKind::Metadata, text(parent)?).named(name);
        self.view().perform(&request, |context| {
            let node = context.machine.disk.live().resolve(ROOT, path, false)?;
            context.metadata(node)
        })
    }

    /// A simulated process works in the root.
    fn absolute(&self, path: &Path) -> io::Result<PathBuf> {
        if path.as_os_str().is_empty() {
            return Err(Errno::EINVAL.into());
        }
        Ok(Path::new("/").join(path))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = split(path)?;
        let label = text(path)?;
        let request = Request::new(OperationKind::MakeDirectory, label).named(label);
        self.view().perform(&request, |context| {
            let disk = &mut context.machine.disk;
            let parent = disk.live().resolve(ROOT, parent, true)?;
            let body = Body::Directory(Default::default());
            disk.create(parent, name, body, MODE_OF_DIRECTORIES, &context.stamp).map(drop)
        })
    }
}

#[derive(Debug)]
struct FaultyDirectory {
    descriptor: OpenDescriptor,
    path: String,
    identity: FileIdentity,
}

impl FaultyDirectory {
    fn view(&self) -> &View {
        self.descriptor.view()
    }

    fn node(&self) -> NodeId {
        self.descriptor.node()
    }

    fn request<'a>(&'a self, kind: OperationKind, name: &'a str) -> Request<'a> {
        Request::new(kind, &self.path).named(name)
    }

    fn create_with(&self, name: &str, mode: u32) -> io::Result<Box<dyn NewFile>> {
        let opened = self.view().perform(&self.request(OperationKind::Create, name), |context| {
            let body = Body::File(Arc::default());
            let disk = &mut context.machine.disk;
            let node = disk.create(self.node(), name, body, mode, &context.stamp)?;
            Ok(context.open(node, Purpose::Plain))
        })?;
        let descriptor = self.view().own(opened);
        Ok(Box::new(FaultyNewFile { descriptor, directory: self.path.clone(), name: name.to_owned() }))
    }

    fn make_directory_with(&self, name: &str, mode: u32) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::MakeDirectory, name), |context| {
            let body = Body::Directory(Default::default());
            let disk = &mut context.machine.disk;
            disk.create(self.node(), name, body, mode, &context.stamp).map(drop)
        })
    }

    fn open_lock_with(&self, kind: OperationKind, name: &str) -> io::Result<Box<dyn LockFile>> {
        let (opened, identity) = self.view().perform(&self.request(kind, name), |context| {
            let disk = &mut context.machine.disk;
            let found = match kind {
                OperationKind::LookLock => disk.live().resolve(self.node(), Path::new(name), false),
                _ => disk.live().lookup(self.node(), name),
            };
            let node = match found {
                Err(error) if kind == OperationKind::OpenLock && error.kind() == io::ErrorKind::NotFound => {
                    disk.create(self.node(), name, Body::File(Arc::default()), MODE_OF_FILES, &context.stamp)?
                }
                found => found?,
            };
            match disk.live().file_type(node) {
                FileType::Regular => {
                    Ok((context.open(node, Purpose::Lock), context.metadata(node)?.identity))
                }
                FileType::Directory => Err(Errno::EISDIR.into()),
                FileType::Link => Err(Errno::ELOOP.into()),
                FileType::Other => Err(io::Error::other("the lock file is not a regular file")),
            }
        })?;
        let descriptor = self.view().own(opened);
        Ok(Box::new(FaultyLockFile {
            descriptor,
            identity,
            directory: self.path.clone(),
            name: name.to_owned(),
        }))
    }
}

impl Directory for FaultyDirectory {
    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(self.identity)
    }

    fn read(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> io::Result<OpenFile> {
        let request = self.request(OperationKind::Read, name);
        let (opened, metadata, through_link) = self.view().perform(&request, |context| {
            let live = context.machine.disk.live();
            let found = live.resolve(self.node(), Path::new(name), false)?;
            let through_link = live.file_type(found) == FileType::Link;
            let node = match live.resolve(self.node(), Path::new(name), true) {
                // What a missing target means must not look like a missing name.
                Err(error) if through_link && error.kind() == io::ErrorKind::NotFound => {
                    return Err(io::Error::other("a link to nothing stands there"));
                }
                node => node?,
            };
            if live.file_type(node) != FileType::Regular {
                return Err(io::Error::other("what stands there is not a regular file"));
            }
            let metadata = context.metadata(node)?;
            into.clear();
            if metadata.size <= limit {
                into.extend_from_slice(context.machine.disk.live().content(node));
            }
            Ok((context.open(node, Purpose::Plain), metadata, through_link))
        })?;
        let pin = Box::new(self.view().own(opened));
        Ok(OpenFile { metadata, through_link, oversized: metadata.size > limit, pin })
    }

    fn metadata(&self, name: &str) -> io::Result<Metadata> {
        self.view().perform(&self.request(OperationKind::Metadata, name), |context| {
            let node = context.machine.disk.live().resolve(self.node(), Path::new(name), false)?;
            context.metadata(node)
        })
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        self.create_with(name, MODE_OF_FILES)
    }

    fn create_public(&self, name: &str, mode: Option<u32>) -> io::Result<Box<dyn NewFile>> {
        self.create_with(name, mode.unwrap_or(MODE_OF_PUBLIC_FILES))
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<u64> {
        let request = self.request(OperationKind::Append, name).of_bytes(bytes.len());
        self.view().perform_writing(&request, bytes, |context, _, part| {
            let disk = &mut context.machine.disk;
            let node = match disk.live().lookup(self.node(), name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disk.create(self.node(), name, Body::File(Arc::default()), MODE_OF_FILES, &context.stamp)?
                }
                found => found?,
            };
            match disk.live().file_type(node) {
                FileType::Regular => {}
                FileType::Directory => return Err(Errno::EISDIR.into()),
                FileType::Link => return Err(Errno::ELOOP.into()),
                // A pipe without a reader; a device that is a regular file's neighbour is refused likewise.
                FileType::Other => return Err(Errno::ENXIO.into()),
            }
            let end = disk.live().content(node).len() as u64;
            disk.write(node, end, part, &context.stamp)?;
            Ok(end + part.len() as u64)
        })
    }

    fn open_data(&self, name: &str, access: DataAccess) -> io::Result<Box<dyn DataFile>> {
        open_data(self.view(), self.node(), &self.path, name, access)
    }

    fn open_directory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        let (opened, identity) =
            self.view().perform(&self.request(OperationKind::Open, name), |context| {
                let live = context.machine.disk.live();
                let node = live.lookup(self.node(), name)?;
                live.entries(node)?;
                let identity = context.metadata(node)?.identity;
                Ok((context.open(node, Purpose::Plain), identity))
            })?;
        let descriptor = self.view().own(opened);
        Ok(Arc::new(FaultyDirectory { descriptor, path: below(&self.path, name), identity }))
    }

    fn make_directory(&self, name: &str) -> io::Result<()> {
        self.make_directory_with(name, MODE_OF_RUN_DIRECTORIES)
    }

    fn make_public_directory(&self, name: &str) -> io::Result<()> {
        self.make_directory_with(name, MODE_OF_DIRECTORIES)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::Rename, from).and(to), |context| {
            let disk = &mut context.machine.disk;
            if disk.live().lookup(self.node(), to).is_ok() {
                return Err(Errno::EEXIST.into());
            }
            disk.rename(self.node(), from, to, &context.stamp)
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::Rename, from).and(to), |context| {
            context.machine.disk.rename(self.node(), from, to, &context.stamp)
        })
    }

    fn exchange(&self, a: &str, b: &str) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::Exchange, a).and(b), |context| {
            if !context.machine.settings.exchanges {
                return Err(io::ErrorKind::Unsupported.into());
            }
            context.machine.disk.exchange(self.node(), a, b, &context.stamp)
        })
    }

    fn gains_by_exchange(&self) -> bool {
        self.view().shared.lock().settings.gains_by_exchange
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::Remove, name), |context| {
            context.machine.disk.remove(self.node(), name, &context.stamp)
        })
    }

    fn remove_directory(&self, name: &str) -> io::Result<()> {
        self.view().perform(&self.request(OperationKind::RemoveDirectory, name), |context| {
            context.machine.disk.remove_directory(self.node(), name, &context.stamp)
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.view().perform(&Request::new(OperationKind::SyncDirectory, &self.path), |context| {
            context.machine.disk.sync(Object::NamesOf(self.node()));
            Ok(())
        })
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.view().perform(&Request::new(OperationKind::Names, &self.path), |context| {
            Ok(context.machine.disk.live().entries(self.node())?.keys().cloned().collect())
        })
    }

    fn list(&self, path: &str, visit: &mut dyn FnMut(&[u8], FileType)) -> io::Result<Metadata> {
        // The names are visited outside the machine's mutex, because the visitor may be the code under test.
        let (metadata, listed) =
            self.view().perform(&self.request(OperationKind::Names, path), |context| {
                let live = context.machine.disk.live();
                let node = if path == "." {
                    self.node()
                } else {
                    live.resolve(self.node(), Path::new(path), false)?
                };
                if live.file_type(node) == FileType::Link {
                    return Err(Errno::ELOOP.into());
                }
                let entries = live.entries(node)?.iter();
                let listed: Vec<(String, FileType)> =
                    entries.map(|(name, id)| (name.clone(), live.file_type(*id))).collect();
                Ok((context.metadata(node)?, listed))
            })?;
        listed.iter().for_each(|(name, file_type)| visit(name.as_bytes(), *file_type));
        Ok(metadata)
    }

    fn counts_subdirectories(&self) -> bool {
        self.view().shared.lock().settings.counts_subdirectories
    }

    fn open_lock(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_with(OperationKind::OpenLock, name)
    }

    fn open_lock_to_look(&self, name: &str) -> io::Result<Box<dyn LockFile>> {
        self.open_lock_with(OperationKind::LookLock, name)
    }
}

#[derive(Debug)]
struct FaultyNewFile {
    descriptor: OpenDescriptor,
    directory: String,
    name: String,
}

impl NewFile for FaultyNewFile {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let node = self.descriptor.node();
        let request =
            Request::new(OperationKind::Write, &self.directory).named(&self.name).of_bytes(bytes.len());
        self.descriptor.view().perform_writing(&request, bytes, |context, _, part| {
            let disk = &mut context.machine.disk;
            let end = disk.live().content(node).len() as u64;
            disk.write(node, end, part, &context.stamp)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        let node = self.descriptor.node();
        let request = Request::new(OperationKind::Sync, &self.directory).named(&self.name);
        let synced = self.descriptor.view().perform(&request, |context| {
            context.machine.disk.sync(Object::ContentOf(node));
            Ok(())
        });
        if synced.as_ref().is_err_and(|error| !is_simulated_crash(error)) {
            self.descriptor.view().shared.lock().disk.fail_sync(node);
        }
        synced
    }

    fn into_open(self: Box<Self>) -> io::Result<OpenFile> {
        let FaultyNewFile { descriptor, directory, name } = *self;
        let request = Request::new(OperationKind::Metadata, &directory).named(&name);
        let metadata = descriptor.view().perform(&request, |context| context.metadata(descriptor.node()))?;
        Ok(OpenFile { metadata, through_link: false, oversized: false, pin: Box::new(descriptor) })
    }
}

#[derive(Debug)]
struct FaultyLockFile {
    descriptor: OpenDescriptor,
    identity: FileIdentity,
    directory: String,
    name: String,
}

impl FaultyLockFile {
    /// # Errors
    /// The object came through a fork.
    fn request(&self, kind: OperationKind) -> io::Result<Request<'_>> {
        if self.descriptor.is_forked() {
            return Err(io::Error::other("the lock came through a fork"));
        }
        Ok(Request::new(kind, &self.directory).named(&self.name))
    }
}

impl LockFile for FaultyLockFile {
    fn try_lock(&self, sharing: Sharing) -> io::Result<bool> {
        let request = self.request(OperationKind::TryLock)?;
        self.descriptor
            .view()
            .perform(&request, |context| Ok(context.machine.try_lock(self.descriptor.id(), sharing)))
    }

    fn identity(&self) -> FileIdentity {
        self.identity
    }

    fn contents(&self, limit: u64) -> io::Result<Vec<u8>> {
        let request = self.request(OperationKind::LockContents)?;
        self.descriptor.view().perform(&request, |context| {
            let content = context.machine.disk.live().content(self.descriptor.node());
            Ok(content[..content.len().min(index(limit))].to_vec())
        })
    }

    fn set_contents(&self, bytes: &[u8]) -> io::Result<()> {
        let request = self.request(OperationKind::SetLockContents)?.of_bytes(bytes.len());
        self.descriptor.view().perform_writing(&request, bytes, |context, offset, part| {
            let disk = &mut context.machine.disk;
            if offset == 0 {
                disk.truncate(self.descriptor.node(), 0, &context.stamp);
            }
            disk.write(self.descriptor.node(), offset as u64, part, &context.stamp)
        })
    }

    fn is_forked(&self) -> bool {
        self.descriptor.is_forked()
    }
}
