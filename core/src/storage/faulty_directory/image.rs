//! One image of a file system: inodes, names, and the one function that changes them.
//!
//! The live image and every image after a crash come from the same effects by [`Image::apply`]. An effect says
//! which inode it concerns, not by which name that was reached, so leaving an effect out never turns a later one
//! on another file: a directory is a map from names to inodes, each effect on names is an atomic set of
//! assignments to that map, and one that was lost leaves its assignments out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use super::errno::Errno;
use crate::storage::directory::{FileIdentity, FileType, Metadata};

/// How many links a path may lead through, as on Linux.
const MOST_LINKS: u32 = 40;

/// Names an object for ever. The inode numbers that the code under test sees are used again; this is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub(super) u64);

/// The directory `/`.
pub(super) const ROOT: NodeId = NodeId(1);

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) mode: u32,
    pub(super) inode: u64,
    pub(super) modified_ns: i128,
    pub(super) changed_ns: i128,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    File(Arc<Vec<u8>>),
    Directory(BTreeMap<String, NodeId>),
    Link(String),
    Other,
}

/// What an operation does to an image.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Gives names of one directory to inodes, or takes them away, all at once.
    Names { directory: NodeId, set: Vec<(String, Option<NodeId>)> },
    /// Puts bytes at an offset; what lies between the present end and the offset becomes zeros.
    Write { node: NodeId, offset: u64, bytes: Arc<[u8]> },
    /// Takes away what follows this length; a file that is shorter stays as it is.
    Truncate { node: NodeId, length: u64 },
    /// Sets permission bits.
    Mode { node: NodeId, mode: u32 },
    /// Sets the time of the last change of the content.
    Modified { node: NodeId, modified_ns: i128 },
}

/// What has to be synced for an effect to be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    NamesOf(NodeId),
    ContentOf(NodeId),
}

impl Effect {
    pub(super) fn object(&self) -> Object {
        match self {
            Effect::Names { directory, .. } => Object::NamesOf(*directory),
            Effect::Write { node, .. }
            | Effect::Truncate { node, .. }
            | Effect::Mode { node, .. }
            | Effect::Modified { node, .. } => Object::ContentOf(*node),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Image {
    nodes: BTreeMap<NodeId, Node>,
}

impl Image {
    /// An image with an empty root directory.
    pub(super) fn new(now_ns: i128) -> Self {
        let body = Body::Directory(BTreeMap::new());
        let root = Node { body, mode: 0o755, inode: ROOT.0, modified_ns: now_ns, changed_ns: now_ns };
        Image { nodes: BTreeMap::from([(ROOT, root)]) }
    }

    /// Adds an inode to which no name leads yet.
    pub(super) fn insert(&mut self, id: NodeId, node: Node) {
        self.nodes.insert(id, node);
    }

    pub(super) fn forget(&mut self, id: NodeId) -> Option<Node> {
        self.nodes.remove(&id)
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = (NodeId, &mut Node)> {
        self.nodes.iter_mut().map(|(id, node)| (*id, node))
    }

    /// Keeps only the inodes that this allows.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(NodeId) -> bool) {
        self.nodes.retain(|id, _| keep(*id));
    }

    /// Applies one effect. One that concerns an inode which is not in the image has no effect.
    pub(super) fn apply(&mut self, effect: &Effect, at_ns: i128) {
        match effect {
            Effect::Names { directory, set } => self.assign(*directory, set, at_ns),
            Effect::Write { node, offset, bytes } => self.change_content(*node, at_ns, |content| {
                let offset = index(*offset);
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[offset..end].copy_from_slice(bytes);
            }),
            Effect::Truncate { node, length } => {
                self.change_content(*node, at_ns, |content| content.truncate(index(*length)));
            }
            Effect::Mode { node, mode } => {
                if let Some(node) = self.nodes.get_mut(node) {
                    node.mode = *mode;
                    node.changed_ns = at_ns;
                }
            }
            Effect::Modified { node, modified_ns } => {
                if let Some(node) = self.nodes.get_mut(node) {
                    node.modified_ns = *modified_ns;
                    node.changed_ns = at_ns;
                }
            }
        }
    }

    /// Changes a file's content; whatever is not a file stays as it is.
    pub(super) fn change_content(&mut self, node: NodeId, at_ns: i128, change: impl FnOnce(&mut Vec<u8>)) {
        if let Some(Node { body: Body::File(content), modified_ns, changed_ns, .. }) =
            self.nodes.get_mut(&node)
        {
            change(Arc::make_mut(content));
            *modified_ns = at_ns;
            *changed_ns = at_ns;
        }
    }

    fn assign(&mut self, directory: NodeId, set: &[(String, Option<NodeId>)], at_ns: i128) {
        let Some(Node { body: Body::Directory(entries), modified_ns, changed_ns, .. }) =
            self.nodes.get_mut(&directory)
        else {
            return;
        };
        *modified_ns = at_ns;
        *changed_ns = at_ns;
        let mut touched = Vec::new();
        for (name, target) in set {
            let before = match target {
                Some(target) => entries.insert(name.clone(), *target),
                None => entries.remove(name),
            };
            touched.extend(before.into_iter().chain(*target));
        }
        // Gaining, changing or losing a name changes the inode too.
        for node in touched {
            if let Some(node) = self.nodes.get_mut(&node) {
                node.changed_ns = at_ns;
            }
        }
    }

    /// The names in a directory.
    ///
    /// # Errors
    /// `ENOTDIR`; `ENOENT` where there is no such inode.
    pub(super) fn entries(&self, directory: NodeId) -> io::Result<&BTreeMap<String, NodeId>> {
        match self.nodes.get(&directory).map(|node| &node.body) {
            Some(Body::Directory(entries)) => Ok(entries),
            Some(_) => Err(Errno::ENOTDIR.into()),
            None => Err(Errno::ENOENT.into()),
        }
    }

    /// What stands at a name, links not followed.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`.
    pub(super) fn lookup(&self, directory: NodeId, name: &str) -> io::Result<NodeId> {
        self.entries(directory)?.get(name).copied().ok_or_else(|| Errno::ENOENT.into())
    }

    /// A file's bytes; nothing for whatever else there is.
    pub(super) fn content(&self, node: NodeId) -> &[u8] {
        match self.nodes.get(&node).map(|node| &node.body) {
            Some(Body::File(content)) => content,
            _ => &[],
        }
    }

    pub(super) fn file_type(&self, node: NodeId) -> FileType {
        match self.nodes.get(&node).map(|node| &node.body) {
            Some(Body::File(_)) => FileType::Regular,
            Some(Body::Directory(_)) => FileType::Directory,
            Some(Body::Link(_)) => FileType::Link,
            Some(Body::Other) | None => FileType::Other,
        }
    }

    /// What `stat` says of an inode.
    ///
    /// # Errors
    /// `ENOENT`.
    pub(super) fn metadata(&self, id: NodeId, device: u64) -> io::Result<Metadata> {
        let node = self.nodes.get(&id).ok_or(Errno::ENOENT)?;
        let size = match &node.body {
            Body::File(content) => content.len() as u64,
            Body::Directory(_) => 4096,
            Body::Link(target) => target.len() as u64,
            Body::Other => 0,
        };
        Ok(Metadata {
            identity: FileIdentity { device, inode: node.inode },
            file_type: self.file_type(id),
            size,
            mode: node.mode,
            links: self.links(id),
            modified_ns: node.modified_ns,
            changed_ns: node.changed_ns,
        })
    }

    /// As ext4 counts them: a directory has its own name, the one in itself, and one in each directory in it. A file has
    /// one name here.
    fn links(&self, id: NodeId) -> u64 {
        let Ok(entries) = self.entries(id) else { return 1 };
        2 + entries.values().filter(|entry| self.file_type(**entry) == FileType::Directory).count() as u64
    }

    /// Whether any name leads to the inode.
    pub(super) fn is_named(&self, id: NodeId) -> bool {
        id == ROOT || self.parent(id).is_some()
    }

    fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes.iter().find_map(|(directory, node)| match &node.body {
            Body::Directory(entries) if entries.values().any(|entry| *entry == id) => Some(*directory),
            _ => None,
        })
    }

    /// Follows a path from a directory, links in its middle always and one at its end if `follow_last`.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `ELOOP`; invalid input for a path that is not UTF-8.
    pub(super) fn resolve(&self, from: NodeId, path: &Path, follow_last: bool) -> io::Result<NodeId> {
        if path.as_os_str().is_empty() {
            return Err(Errno::ENOENT.into());
        }
        let mut current = from;
        let mut links = 0;
        let mut pending = Vec::new();
        push_steps(&mut pending, path)?;
        while let Some(step) = pending.pop() {
            match step {
                Step::Root => current = ROOT,
                Step::Parent => {
                    self.entries(current)?;
                    current = self.parent(current).unwrap_or(ROOT);
                }
                Step::Name(name) => {
                    let found = self.lookup(current, &name)?;
                    match self.nodes.get(&found).map(|node| &node.body) {
                        Some(Body::Link(target)) if follow_last || !pending.is_empty() => {
                            links += 1;
                            if links > MOST_LINKS {
                                return Err(Errno::ELOOP.into());
                            }
                            push_steps(&mut pending, Path::new(target))?;
                        }
                        _ => current = found,
                    }
                }
            }
        }
        Ok(current)
    }

    /// The inodes to which a path from the root leads, with that path, in the order of the paths.
    pub(super) fn reachable(&self) -> BTreeMap<String, NodeId> {
        let mut found = BTreeMap::new();
        let mut directories = vec![(String::new(), ROOT)];
        let mut seen = BTreeSet::from([ROOT]);
        while let Some((path, directory)) = directories.pop() {
            let Ok(entries) = self.entries(directory) else { continue };
            for (name, id) in entries {
                let path = format!("{path}/{name}");
                if self.file_type(*id) == FileType::Directory && seen.insert(*id) {
                    directories.push((path.clone(), *id));
                }
                found.insert(path, *id);
            }
        }
        found
    }
}

enum Step {
    Root,
    Parent,
    Name(String),
}

/// Pushes a path's steps so that the first one is popped first.
fn push_steps(pending: &mut Vec<Step>, path: &Path) -> io::Result<()> {
    for component in path.components().rev() {
        match component {
            Component::RootDir => pending.push(Step::Root),
            Component::ParentDir => pending.push(Step::Parent),
            Component::CurDir => {}
            Component::Normal(name) => pending.push(Step::Name(text(Path::new(name))?.to_owned())),
            Component::Prefix(_) => return Err(Errno::EINVAL.into()),
        }
    }
    Ok(())
}

/// A path as text.
///
/// # Errors
/// Invalid input where it is not UTF-8.
pub(super) fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a simulated path is UTF-8"))
}

/// An offset within content that is in memory and so fits.
pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
