//! The files of a checkout, reached component by component from its pinned root, without following a link
//! (EX-ART-18, EX-ART-67).

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::detail::Detail;
use crate::digest::Hashing;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{DataAccess, DataFile, Directory, FileIdentity, FileType, Metadata};

/// How much of a file is read at once.
const PIECE: usize = 65_536;

/// The root of a work tree, kept open: what is renamed to its place afterwards is not this checkout.
#[derive(Clone, Debug)]
pub struct Checkout {
    root: Arc<dyn Directory>,
}

impl Checkout {
    /// Opens the root. A link in the path of the root itself is followed: it is the caller's own.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`.
    pub fn open(root: &Path, host: &Host) -> Result<Checkout> {
        let root = host.files.open(root).map_err(|error| failed("a checkout cannot be opened", error))?;
        Ok(Checkout { root })
    }

    /// The SHA-256 of a regular file with one name, by its canonical path; `None` where nothing stands there.
    ///
    /// # Errors
    /// `EXECUTION_RESULT`, reason `result-validation`, for whatever is no such file; `EXECUTION_IO`, reason `tree`.
    pub fn hash(&self, path: &str) -> Result<Option<[u8; 32]>> {
        let mut way = Way::new(self);
        let found = way.to(path).and_then(|place| place.map_or(Ok(None), |place| place.look()));
        found.map(|found| found.map(|found| found.hash)).map_err(|wrong| wrong.into_error(None))
    }
}

/// Why something of a checkout is not usable.
#[derive(Debug)]
pub(super) enum Wrong {
    /// By the rules.
    Refused(Detail),
    /// By the disk.
    Failed(&'static str, io::Error),
}

impl Wrong {
    pub(super) fn into_error(self, entry: Option<usize>) -> Error {
        match self {
            Wrong::Refused(detail) => detail.refuse(entry),
            Wrong::Failed(what, error) => failed(what, error),
        }
    }
}

impl From<Detail> for Wrong {
    fn from(detail: Detail) -> Self {
        Wrong::Refused(detail)
    }
}

/// A failure of the disk: retryable. The path is left out, because it may be what is rejected (EX-ART-45).
pub(super) fn failed(what: &'static str, error: io::Error) -> Error {
    Error::new(Code::ExecutionIo, what).with_reason("tree").with_source(error)
}

/// The directories that lead to one path after the other. Those that follow each other share what they have in common.
#[derive(Debug)]
pub(super) struct Way {
    root: Arc<dyn Directory>,
    open: Vec<(String, Arc<dyn Directory>)>,
}

impl Way {
    pub(super) fn new(checkout: &Checkout) -> Self {
        Way { root: Arc::clone(&checkout.root), open: Vec::new() }
    }

    /// Where a path stands; `None` where a directory above it is missing.
    pub(super) fn to<'a>(&mut self, path: &'a str) -> std::result::Result<Option<Place<'a>>, Wrong> {
        self.go(path, &mut |_, _| Ok(false))
    }

    /// As [`Way::to`], making directories that are missing. `made` is told of each, before it is made.
    pub(super) fn make_to<'a>(
        &mut self,
        path: &'a str,
        made: &mut dyn FnMut(&str),
    ) -> std::result::Result<Place<'a>, Wrong> {
        let mut make = |directory: &dyn Directory, above: &str| {
            made(above);
            let name = above.rsplit('/').next().unwrap_or(above);
            let was_made = match directory.make_public_directory(name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            };
            // Nothing of what is put into it would be durable before its name is.
            was_made.and_then(|()| directory.sync()).map(|()| true)
        };
        self.go(path, &mut make)?.ok_or(Wrong::Refused(Detail::Exchanged))
    }

    fn go<'a>(
        &mut self,
        path: &'a str,
        missing: &mut dyn FnMut(&dyn Directory, &str) -> io::Result<bool>,
    ) -> std::result::Result<Option<Place<'a>>, Wrong> {
        let (above, name) = path.rsplit_once('/').map_or(("", path), |(above, name)| (above, name));
        let components: Vec<&str> = above.split('/').filter(|component| !component.is_empty()).collect();
        let kept = self.open.iter().zip(&components).take_while(|((name, _), component)| name == *component);
        let kept = kept.count();
        self.open.truncate(kept);
        let mut length = components[..kept].iter().map(|component| component.len() + 1).sum::<usize>();
        for component in &components[kept..] {
            length += component.len();
            let directory = Arc::clone(self.last());
            let opened = match open_directory(&*directory, component)? {
                None if missing(&*directory, &above[..length])
                    .map_err(|error| Wrong::Failed("a directory of a checkout cannot be made", error))? =>
                {
                    open_directory(&*directory, component)?
                }
                opened => opened,
            };
            let Some(opened) = opened else { return Ok(None) };
            self.open.push(((*component).to_owned(), opened));
            length += 1;
        }
        Ok(Some(Place { root: Arc::clone(&self.root), parent: Arc::clone(self.last()), above, name }))
    }

    fn last(&self) -> &Arc<dyn Directory> {
        self.open.last().map_or(&self.root, |(_, directory)| directory)
    }
}

/// A name in a directory that is open.
#[derive(Debug)]
pub(super) struct Place<'a> {
    root: Arc<dyn Directory>,
    pub(super) parent: Arc<dyn Directory>,
    above: &'a str,
    pub(super) name: &'a str,
}

/// A regular file with one name, as it was read.
#[derive(Debug)]
pub(super) struct Found {
    /// Before and after it was read.
    pub(super) metadata: Metadata,
    pub(super) hash: [u8; 32],
    /// Keeps the number of its inode from being used again.
    _open: Box<dyn DataFile>,
}

impl Place<'_> {
    /// What stands there, read whole; `None` for nothing.
    pub(super) fn look(&self) -> std::result::Result<Option<Found>, Wrong> {
        self.look_at(self.name)
    }

    /// As [`Place::look`], of a name beside it.
    pub(super) fn look_at(&self, name: &str) -> std::result::Result<Option<Found>, Wrong> {
        let file = match self.parent.open_data(name, DataAccess::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return match self.parent.metadata(name).map(|metadata| metadata.file_type) {
                    Ok(FileType::Link) => Err(Detail::Link.into()),
                    Ok(FileType::Directory | FileType::Other) => Err(Detail::Special.into()),
                    Ok(FileType::Regular) if was_something_else(&error) => Err(Detail::Exchanged.into()),
                    _ => Err(Wrong::Failed("a file of a checkout cannot be opened", error)),
                };
            }
        };
        let unread = |error| Wrong::Failed("a file of a checkout cannot be read", error);
        let metadata = file.metadata().map_err(unread)?;
        if metadata.links != 1 {
            return Err(Detail::Names.into());
        }
        let mut hashing = Hashing::default();
        let mut piece = vec![0; PIECE.min(usize::try_from(metadata.size).unwrap_or(PIECE)).max(1)];
        let mut at = 0;
        // One byte beyond its size ends it: a file that grows is not read for ever, and is not what was judged.
        while at <= metadata.size {
            let read = file.read_at(at, &mut piece).map_err(unread)?;
            hashing.add(&piece[..read]);
            at += read as u64;
            if read < piece.len() {
                break;
            }
        }
        if at != metadata.size || !is_same(&file.metadata().map_err(unread)?, &metadata) {
            return Err(Detail::Exchanged.into());
        }
        Ok(Some(Found { metadata, hash: hashing.finish(), _open: file }))
    }

    /// Whether the path leads here still, walked anew from the root.
    pub(super) fn is_there(&self) -> std::result::Result<bool, Wrong> {
        if self.above.is_empty() {
            return Ok(true);
        }
        let mut directory = Arc::clone(&self.root);
        for component in self.above.split('/') {
            match open_directory(&*directory, component) {
                Ok(Some(opened)) => directory = opened,
                Ok(None) | Err(Wrong::Refused(_)) => return Ok(false),
                Err(failed) => return Err(failed),
            }
        }
        Ok(identity(&*directory)? == identity(&*self.parent)?)
    }
}

/// Whether a file is the same and was not changed. Its names may have been: that changes the last of its times.
pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.identity, a.file_type, a.size, a.mode, a.links, a.modified_ns)
        == (b.identity, b.file_type, b.size, b.mode, b.links, b.modified_ns)
}

fn identity(directory: &dyn Directory) -> std::result::Result<FileIdentity, Wrong> {
    directory
        .identity()
        .map_err(|error| Wrong::Failed("a directory of a checkout cannot be looked at", error))
}

/// Whether opening failed because of what stood there then: a link, no directory, a socket or a device.
fn was_something_else(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::LOOP, Errno::NOTDIR, Errno::ISDIR, Errno::NXIO].contains(&errno))
}

fn open_directory(
    directory: &dyn Directory,
    name: &str,
) -> std::result::Result<Option<Arc<dyn Directory>>, Wrong> {
    match directory.open_directory(name) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => match directory.metadata(name).map(|metadata| metadata.file_type) {
            Ok(FileType::Directory) if was_something_else(&error) => Err(Detail::Exchanged.into()),
            Ok(FileType::Directory) | Err(_) => {
                Err(Wrong::Failed("a directory of a checkout cannot be opened", error))
            }
            Ok(_) => Err(Detail::LinkInPath.into()),
        },
    }
}
