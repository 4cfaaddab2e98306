//! The live image, the durable one, and the log of what lies between them.
//!
//! The log holds every effect since the durable base in the order in which it happened, each with a mark whether
//! it is durable. What a crash may leave is the base, all durable effects, and any of the others, always applied in
//! the order of the log. A durable effect moves from the log into the base as soon as nothing before it that is
//! not durable concerns the same names or the same content.
//!
//! What is guaranteed is what POSIX guarantees and no more: syncing a file makes its content durable and not its
//! name; syncing a directory makes the names in it durable, and neither the content of the files nor the name of
//! the directory itself.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

use super::errno::Errno;
use super::image::{Body, Effect, Image, Node, NodeId, Object, ROOT, index};
use crate::storage::directory::FileType;

/// Under what an operation's effects are entered into the log.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub(super) now_ns: i128,
    /// The operation's number and text, for those who read what was lost.
    pub(super) operation: Arc<str>,
    /// Whether the effects are durable at once, as what a test plants is.
    pub(super) durable: bool,
}

/// An effect that is not yet part of the durable base.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) effect: Effect,
    pub(super) at_ns: i128,
    pub(super) operation: Arc<str>,
    pub(super) durable: bool,
    /// A sync that should have written it failed: no later sync makes it durable.
    stuck: bool,
}

#[derive(Debug)]
pub(super) struct Disk {
    live: Image,
    base: Image,
    log: Vec<Entry>,
    next_node: u64,
    next_inode: u64,
    free_inodes: BTreeSet<u64>,
    /// How many open descriptors keep an inode in use.
    pins: BTreeMap<NodeId, u32>,
    /// Bytes of content for which there is room; without a limit when `None`.
    pub(super) room: Option<u64>,
}

impl Disk {
    /// A disk on which everything in the image is durable.
    pub(super) fn of(mut image: Image) -> Self {
        let mut numbers = BTreeSet::new();
        let mut doubled = Vec::new();
        let mut last = NodeId(0);
        for (id, node) in image.nodes_mut() {
            last = last.max(id);
            // An image that lost a removal still holds an inode whose number has been used again.
            if !numbers.insert(node.inode) {
                doubled.push(id);
            }
        }
        let mut next_inode = numbers.last().map_or(1, |highest| highest + 1);
        for (_, node) in image.nodes_mut().filter(|(id, _)| doubled.contains(id)) {
            node.inode = next_inode;
            next_inode += 1;
        }
        let free_inodes = (1..next_inode).filter(|number| !numbers.contains(number)).collect();
        Disk {
            base: image.clone(),
            live: image,
            log: Vec::new(),
            next_node: last.0 + 1,
            next_inode,
            free_inodes,
            pins: BTreeMap::new(),
            room: None,
        }
    }

    pub(super) fn live(&self) -> &Image {
        &self.live
    }

    pub(super) fn base(&self) -> &Image {
        &self.base
    }

    pub(super) fn log(&self) -> &[Entry] {
        &self.log
    }

    /// Makes an inode and gives it a name.
    ///
    /// # Errors
    /// `EEXIST` when anything stands there, `ENOENT` when the directory was removed, invalid names.
    pub(super) fn create(
        &mut self,
        directory: NodeId,
        name: &str,
        body: Body,
        mode: u32,
        stamp: &Stamp,
    ) -> io::Result<NodeId> {
        check_name(name)?;
        if self.live.entries(directory)?.contains_key(name) {
            return Err(Errno::EEXIST.into());
        }
        if !self.live.is_named(directory) {
            return Err(Errno::ENOENT.into());
        }
        let id = NodeId(self.next_node);
        self.next_node += 1;
        // The lowest free number, at once, as ext4 does: a mistaken identity shows up in the next operation.
        let inode = self.free_inodes.pop_first().unwrap_or_else(|| {
            self.next_inode += 1;
            self.next_inode - 1
        });
        let node = Node { body, mode, inode, modified_ns: stamp.now_ns, changed_ns: stamp.now_ns };
        // An inode without a name is invisible after a crash, so that it exists may be taken as durable.
        self.base.insert(id, node.clone());
        self.live.insert(id, node);
        self.set_names(directory, vec![(name.to_owned(), Some(id))], stamp);
        Ok(id)
    }

    /// Writes at an offset.
    ///
    /// # Errors
    /// `ENOSPC` when the disk has no room for all; what fits has been written.
    pub(super) fn write(&mut self, node: NodeId, offset: u64, bytes: &[u8], stamp: &Stamp) -> io::Result<()> {
        let length = self.live.content(node).len() as u64;
        let growth = (offset + bytes.len() as u64).saturating_sub(length);
        let lacking = self.room.map_or(0, |room| growth.saturating_sub(room));
        let fitting = &bytes[..bytes.len().saturating_sub(index(lacking))];
        self.room = self.room.map(|room| room.saturating_sub(growth));
        if !fitting.is_empty() {
            self.record(Effect::Write { node, offset, bytes: fitting.into() }, stamp);
        }
        if lacking > 0 { Err(Errno::ENOSPC.into()) } else { Ok(()) }
    }

    /// Takes away what follows this length.
    pub(super) fn truncate(&mut self, node: NodeId, length: u64, stamp: &Stamp) {
        let freed = (self.live.content(node).len() as u64).saturating_sub(length);
        self.room = self.room.map(|room| room + freed);
        self.record(Effect::Truncate { node, length }, stamp);
    }

    /// Renames within a directory.
    ///
    /// # Errors
    /// As rename(2): among others `ENOENT`, `EISDIR`, `ENOTDIR`, `ENOTEMPTY`.
    pub(super) fn rename(
        &mut self,
        directory: NodeId,
        from: &str,
        to: &str,
        stamp: &Stamp,
    ) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        let moved = self.live.lookup(directory, from)?;
        if let Ok(displaced) = self.live.lookup(directory, to) {
            if displaced == moved {
                // Two names of one file: nothing happens, and both stay.
                return Ok(());
            }
            let is_directory = |id| self.live.file_type(id) == FileType::Directory;
            match (is_directory(moved), is_directory(displaced)) {
                (false, true) => return Err(Errno::EISDIR.into()),
                (true, false) => return Err(Errno::ENOTDIR.into()),
                (true, true) if !self.live.entries(displaced)?.is_empty() => {
                    return Err(Errno::ENOTEMPTY.into());
                }
                (true, true) | (false, false) => {}
            }
        }
        self.set_names(directory, vec![(from.to_owned(), None), (to.to_owned(), Some(moved))], stamp);
        Ok(())
    }

    /// Exchanges two names of a directory.
    ///
    /// # Errors
    /// `ENOENT` when either is missing.
    pub(super) fn exchange(&mut self, directory: NodeId, a: &str, b: &str, stamp: &Stamp) -> io::Result<()> {
        check_name(a)?;
        check_name(b)?;
        let (at_a, at_b) = (self.live.lookup(directory, a)?, self.live.lookup(directory, b)?);
        if at_a != at_b {
            self.set_names(directory, vec![(a.to_owned(), Some(at_b)), (b.to_owned(), Some(at_a))], stamp);
        }
        Ok(())
    }

    /// Takes a name away from whatever is not a directory.
    ///
    /// # Errors
    /// `ENOENT`, `EISDIR`.
    pub(super) fn remove(&mut self, directory: NodeId, name: &str, stamp: &Stamp) -> io::Result<()> {
        check_name(name)?;
        let node = self.live.lookup(directory, name)?;
        if self.live.file_type(node) == FileType::Directory {
            return Err(Errno::EISDIR.into());
        }
        self.set_names(directory, vec![(name.to_owned(), None)], stamp);
        Ok(())
    }

    /// Takes the name of an empty directory away.
    ///
    /// # Errors
    /// `ENOENT`, `ENOTDIR`, `ENOTEMPTY`.
    pub(super) fn remove_directory(
        &mut self,
        directory: NodeId,
        name: &str,
        stamp: &Stamp,
    ) -> io::Result<()> {
        check_name(name)?;
        let node = self.live.lookup(directory, name)?;
        if self.live.file_type(node) != FileType::Directory {
            return Err(Errno::ENOTDIR.into());
        }
        if !self.live.entries(node)?.is_empty() {
            return Err(Errno::ENOTEMPTY.into());
        }
        self.set_names(directory, vec![(name.to_owned(), None)], stamp);
        Ok(())
    }

    /// Takes a name away together with everything below it.
    pub(super) fn remove_tree(&mut self, directory: NodeId, name: &str, stamp: &Stamp) -> io::Result<()> {
        let node = self.live.lookup(directory, name)?;
        let below: Vec<String> =
            self.live.entries(node).map(|entries| entries.keys().cloned().collect()).unwrap_or_default();
        for name in below {
            self.remove_tree(node, &name, stamp)?;
        }
        self.set_names(directory, vec![(name.to_owned(), None)], stamp);
        Ok(())
    }

    /// Enters an effect on an inode into the log and applies it to the live image.
    pub(super) fn record(&mut self, effect: Effect, stamp: &Stamp) {
        self.live.apply(&effect, stamp.now_ns);
        let operation = Arc::clone(&stamp.operation);
        let entry = Entry { effect, at_ns: stamp.now_ns, operation, durable: stamp.durable, stuck: false };
        self.log.push(entry);
        if stamp.durable {
            self.settle();
        }
    }

    fn set_names(&mut self, directory: NodeId, set: Vec<(String, Option<NodeId>)>, stamp: &Stamp) {
        let before: Vec<NodeId> =
            set.iter().filter_map(|(name, _)| self.live.lookup(directory, name).ok()).collect();
        self.record(Effect::Names { directory, set }, stamp);
        for node in before {
            self.free_if_unused(node);
        }
    }

    /// Makes durable what of an object is not, unless a sync of it failed before.
    pub(super) fn sync(&mut self, object: Object) {
        for entry in &mut self.log {
            entry.durable |= entry.effect.object() == object && !entry.stuck;
        }
        self.settle();
    }

    /// Makes everything durable, what a failed sync has dropped included.
    pub(super) fn sync_all(&mut self) {
        for entry in &mut self.log {
            entry.durable = true;
        }
        self.settle();
    }

    /// A sync of a file failed: the system drops what it could not write, and no later sync brings it back. Until
    /// the machine goes down it is still read.
    pub(super) fn fail_sync(&mut self, node: NodeId) {
        for entry in &mut self.log {
            entry.stuck |= !entry.durable && entry.effect.object() == Object::ContentOf(node);
        }
    }

    /// Moves into the base what is durable and follows nothing of the same object that is not.
    fn settle(&mut self) {
        let mut blocked = HashSet::new();
        let base = &mut self.base;
        self.log.retain(|entry| {
            let object = entry.effect.object();
            if entry.durable && !blocked.contains(&object) {
                base.apply(&entry.effect, entry.at_ns);
                return false;
            }
            blocked.insert(object);
            true
        });
        if self.base.len() > 2 * self.live.len() + 64 {
            self.drop_garbage();
        }
    }

    /// Drops from the base the inodes to which no name can lead any more, whatever a crash leaves. A file without a
    /// name can still be open; what is written to it is lost in any case.
    fn drop_garbage(&mut self) {
        let mut pending: Vec<NodeId> = vec![ROOT];
        for entry in &self.log {
            if let Effect::Names { directory, set } = &entry.effect {
                pending.push(*directory);
                pending.extend(set.iter().filter_map(|(_, node)| *node));
            }
        }
        let mut used = HashSet::new();
        while let Some(id) = pending.pop() {
            if used.insert(id)
                && let Ok(entries) = self.base.entries(id)
            {
                pending.extend(entries.values());
            }
        }
        self.base.retain(|id| used.contains(&id));
    }

    /// Keeps an inode's number from being used again.
    pub(super) fn pin(&mut self, node: NodeId) {
        *self.pins.entry(node).or_default() += 1;
    }

    pub(super) fn unpin(&mut self, node: NodeId) {
        if let Some(count) = self.pins.get_mut(&node) {
            *count -= 1;
            if *count == 0 {
                self.pins.remove(&node);
                self.free_if_unused(node);
            }
        }
    }

    fn free_if_unused(&mut self, node: NodeId) {
        if self.pins.contains_key(&node) || self.live.is_named(node) {
            return;
        }
        let length = self.live.content(node).len() as u64;
        if let Some(freed) = self.live.forget(node) {
            self.room = self.room.map(|room| room + length);
            self.free_inodes.insert(freed.inode);
        }
    }
}

/// # Errors
/// Invalid input for what is not one path component, `ENAMETOOLONG`.
fn check_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name is one path component"));
    }
    if name.len() > 255 {
        return Err(Errno::ENAMETOOLONG.into());
    }
    Ok(())
}
