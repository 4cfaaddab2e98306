//! Data files over the simulated machine.

use std::io;
use std::sync::Arc;

use super::errno::Errno;
use super::handles::MODE_OF_FILES;
use super::image::{Body, NodeId, Object, index};
use super::machine::Purpose;
use super::operation::{OperationKind, Request};
use super::process::{OpenDescriptor, View, is_simulated_crash};
use crate::storage::data_file::{DataAccess, DataFile};
use crate::storage::directory::{FileType, Metadata};

/// Opens a data file in a directory that is open as `path`.
///
/// # Errors
/// As [`Directory::open_data`](crate::storage::Directory::open_data).
pub(super) fn open_data(
    view: &View,
    directory: NodeId,
    path: &str,
    name: &str,
    access: DataAccess,
) -> io::Result<Box<dyn DataFile>> {
    let kind = if access == DataAccess::Read { OperationKind::LookData } else { OperationKind::OpenData };
    let opened = view.perform(&Request::new(kind, path).named(name), |context| {
        let disk = &mut context.machine.disk;
        let node = match disk.live().lookup(directory, name) {
            Err(error) if access == DataAccess::Create && error.kind() == io::ErrorKind::NotFound => {
                disk.create(directory, name, Body::File(Arc::default()), MODE_OF_FILES, &context.stamp)?
            }
            found => found?,
        };
        match (disk.live().file_type(node), access) {
            (FileType::Regular, _) => Ok(context.open(node, Purpose::Plain)),
            (FileType::Directory, DataAccess::Write | DataAccess::Create) => Err(Errno::EISDIR.into()),
            (FileType::Link, _) => Err(Errno::ELOOP.into()),
            (FileType::Directory | FileType::Other, _) => {
                Err(io::Error::other("what stands there is not a regular file"))
            }
        }
    })?;
    let descriptor = view.own(opened);
    Ok(Box::new(FaultyDataFile { descriptor, directory: path.to_owned(), name: name.to_owned() }))
}

#[derive(Debug)]
struct FaultyDataFile {
    descriptor: OpenDescriptor,
    directory: String,
    name: String,
}

impl FaultyDataFile {
    fn request(&self, kind: OperationKind) -> Request<'_> {
        Request::new(kind, &self.directory).named(&self.name)
    }

    fn node(&self) -> NodeId {
        self.descriptor.node()
    }
}

impl DataFile for FaultyDataFile {
    fn size(&self) -> io::Result<u64> {
        self.descriptor.view().perform(&self.request(OperationKind::Metadata), |context| {
            Ok(context.machine.disk.live().content(self.node()).len() as u64)
        })
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.descriptor
            .view()
            .perform(&self.request(OperationKind::Metadata), |context| context.metadata(self.node()))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.descriptor.view().perform(&self.request(OperationKind::ReadAt), |context| {
            let content = context.machine.disk.live().content(self.node());
            let rest = content.get(index(offset)..).unwrap_or_default();
            let read = rest.len().min(into.len());
            into[..read].copy_from_slice(&rest[..read]);
            Ok(read)
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let request = self.request(OperationKind::WriteAt).of_bytes(bytes.len());
        self.descriptor.view().perform_writing(&request, bytes, |context, done, part| {
            context.machine.disk.write(self.node(), offset + done as u64, part, &context.stamp)
        })
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.descriptor.view().perform(&self.request(OperationKind::Cut), |context| {
            let disk = &mut context.machine.disk;
            if (disk.live().content(self.node()).len() as u64) < length {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            disk.truncate(self.node(), length, &context.stamp);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        let synced = self.descriptor.view().perform(&self.request(OperationKind::Sync), |context| {
            context.machine.disk.sync(Object::ContentOf(self.node()));
            Ok(())
        });
        if synced.as_ref().is_err_and(|error| !is_simulated_crash(error)) {
            self.descriptor.view().shared.lock().disk.fail_sync(self.node());
        }
        synced
    }
}
