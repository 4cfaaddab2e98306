//! The faulty file system as a test holds it: processes, faults, pauses, and what it can plant and look at.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::crash::CrashImages;
use super::disk::{Disk, Stamp};
use super::errno::Errno;
use super::fault::{Armed, Fault, Point};
use super::image::{Body, Effect, Image, NodeId, ROOT, text};
use super::machine::{Machine, Pause, Settings, Shared};
use super::operation::{OperationKind, OperationRecord};
use super::process::View;
use crate::clock::Clock;
use crate::storage::directory::{Metadata, Sharing};

pub(super) const MODE_OF_DIRECTORIES: u32 = 0o755;

/// Each machine has a device number of its own, so that what code remembers of one directory for the life of its
/// process is never taken for another machine's. No real device has so high a number.
static NEXT_DEVICE: AtomicU64 = AtomicU64::new(0x7a00_0000_0000_0000);

/// A file system in memory, as one process of a simulated machine sees it.
///
/// It implements [`FileSystem`](crate::storage::FileSystem). Each value made by [`FaultyFileSystem::new`] or
/// [`FaultyFileSystem::another_process`] is a process: it has its own count of operations, its own faults and its
/// own trace, and when it crashes the others live on and its locks are released. Cloning a value does not make a
/// process. All paths are absolute and UTF-8.
///
/// What tests plant and look at is no operation: it is not counted, never fails by a fault, works after a crash,
/// and what is planted is durable at once.
#[derive(Clone, Debug)]
pub struct FaultyFileSystem {
    view: View,
}

impl FaultyFileSystem {
    /// A new machine with an empty disk and one process. Files take their times from this clock.
    ///
    /// Locks exclude, names can be exchanged, and [`Directory::gains_by_exchange`] is true, until a test says
    /// otherwise.
    ///
    /// [`Directory::gains_by_exchange`]: crate::storage::Directory::gains_by_exchange
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let now_ns = i128::from(clock.wall_ms()) * 1_000_000;
        FaultyFileSystem::boot(Image::new(now_ns), Settings::default(), clock)
    }

    pub(super) fn boot(image: Image, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let device = NEXT_DEVICE.fetch_add(1, Ordering::Relaxed);
        let mut machine = Machine::new(Disk::of(image), device, settings);
        let process = machine.add_process();
        FaultyFileSystem { view: View { shared: Arc::new(Shared::new(machine, clock)), process } }
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Another process of the same machine, which may be one that is started after the first has crashed.
    #[must_use]
    pub fn another_process(&self) -> Self {
        let process = self.view.shared.lock().add_process();
        FaultyFileSystem { view: View { shared: Arc::clone(&self.view.shared), process } }
    }

    /// Takes file times from this clock from now on.
    pub fn set_clock(&self, clock: Arc<dyn Clock>) {
        self.view.shared.set_clock(clock);
    }

    /// Replaces the faults of this process. Operations keep their numbers; what is counted by kind or name is
    /// counted from now on.
    pub fn set_faults(&self, faults: impl IntoIterator<Item = Fault>) {
        let armed = faults.into_iter().map(|fault| (Armed::new(fault.point().clone()), fault)).collect();
        self.view.shared.lock().process(self.view.process).faults = armed;
    }

    /// Runs an action once, just before an operation of this process and after it was counted: the place for
    /// another writer to act.
    pub fn pause_before(&self, point: Point, action: impl FnOnce() + Send + 'static) {
        let pause = Pause { point: Armed::new(point), action: Box::new(action) };
        self.view.shared.lock().process(self.view.process).pauses.push(pause);
    }

    /// The operations of this process that have ended, in the order of their ends.
    #[must_use]
    pub fn operations(&self) -> Vec<OperationRecord> {
        self.view.shared.lock().process(self.view.process).records.clone()
    }

    /// The same as lines, such as `create a`, `write a 12`, `sync a`, `rename a -> b`, `exchange a <-> b`,
    /// `syncdir`.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.operations().into_iter().map(|operation| operation.text).collect()
    }

    /// How many operations of each kind this process has made. Kinds that it has not used are missing.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<OperationKind, u64> {
        let mut counts = BTreeMap::new();
        for record in &self.view.shared.lock().process(self.view.process).records {
            *counts.entry(record.kind).or_default() += 1;
        }
        counts
    }

    /// Forgets the operations so far for [`FaultyFileSystem::operations`], `trace` and `counts`. Numbers go on.
    pub fn forget_operations(&self) {
        self.view.shared.lock().process(self.view.process).records.clear();
    }

    /// The number of the last operation that this process has begun; 0 before the first.
    #[must_use]
    pub fn last_number(&self) -> u64 {
        self.view.shared.lock().process(self.view.process).started
    }

    /// Ends this process now, as a crash does: what it had open is closed, its locks are released, and each of its
    /// operations answers [`SimulatedCrash`](super::SimulatedCrash).
    pub fn kill(&self) {
        self.view.shared.lock().end(self.view.process);
    }

    /// Whether this process has crashed or was killed.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.view.shared.lock().process(self.view.process).dead
    }

    /// From now on this is the child of a fork: lock files that were open came through it and hold nothing here.
    /// The parent keeps their locks until [`FaultyFileSystem::end_parents`].
    pub fn simulate_fork(&self) {
        self.view.shared.lock().fork(self.view.process);
    }

    /// Ends the processes from which this one was forked and so releases their locks.
    pub fn end_parents(&self) {
        self.view.shared.lock().end_parents(self.view.process);
    }

    /// What [`Directory::gains_by_exchange`](crate::storage::Directory::gains_by_exchange) answers.
    pub fn set_gains_by_exchange(&self, gains: bool) {
        self.view.shared.lock().settings.gains_by_exchange = gains;
    }

    /// Whether names can be exchanged; where not, that is answered as unsupported.
    pub fn set_exchange_supported(&self, supported: bool) {
        self.view.shared.lock().settings.exchanges = supported;
    }

    /// Whether locks exclude each other. Where they do not, every try succeeds.
    pub fn set_locks_exclude(&self, exclude: bool) {
        self.view.shared.lock().settings.locks_exclude = exclude;
    }

    /// What [`Directory::counts_subdirectories`](crate::storage::Directory::counts_subdirectories) answers. The counts
    /// themselves are right in any case.
    pub fn set_counts_subdirectories(&self, counts: bool) {
        self.view.shared.lock().settings.counts_subdirectories = counts;
    }

    /// How many more bytes of content the disk has room for; without a limit when `None`. What is removed gives
    /// its bytes back.
    pub fn set_room(&self, bytes: Option<u64>) {
        self.view.shared.lock().disk.room = bytes;
    }

    /// Makes everything durable that is not.
    pub fn sync_everything(&self) {
        self.view.shared.lock().disk.sync_all();
    }

    /// The effects that are not durable, in the order in which they happened, each by the operation of which it
    /// is one. An operation may have more than one: appending to a file that was missing has a name and content.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        let machine = self.view.shared.lock();
        let pending = machine.disk.log().iter().filter(|entry| !entry.durable);
        pending.map(|entry| entry.operation.to_string()).collect()
    }

    /// Every state in which the disk may be found if the machine goes down now; see [`CrashImages`].
    #[must_use]
    pub fn images_after_crash(&self) -> CrashImages {
        CrashImages::of(Arc::clone(&self.view.shared))
    }

    /// Puts a directory there and its parents where they are missing.
    ///
    /// # Errors
    /// Something else stands there or in the way.
    pub fn plant_directory(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.planting(path.as_ref(), |disk, path, stamp| plant_directories(disk, path, stamp).map(drop))
    }

    /// Puts a regular file there in the place of whatever there is, with a new inode and mode 0600. Parents are
    /// planted where they are missing.
    ///
    /// # Errors
    /// Something else stands in the place of a parent.
    pub fn plant_file(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> io::Result<()> {
        self.plant(path.as_ref(), Body::File(Arc::new(bytes.into())), 0o600)
    }

    /// Puts a symbolic link there in the place of whatever there is.
    ///
    /// # Errors
    /// As [`FaultyFileSystem::plant_file`].
    pub fn plant_link(&self, path: impl AsRef<Path>, target: &str) -> io::Result<()> {
        self.plant(path.as_ref(), Body::Link(target.to_owned()), 0o777)
    }

    /// Puts a pipe there in the place of whatever there is.
    ///
    /// # Errors
    /// As [`FaultyFileSystem::plant_file`].
    pub fn plant_pipe(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.plant(path.as_ref(), Body::Other, 0o600)
    }

    /// Replaces a file's content in place, under the same inode.
    ///
    /// # Errors
    /// Nothing is there; the disk has no room.
    pub fn overwrite(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        self.planting(path.as_ref(), |disk, path, stamp| {
            let node = disk.live().resolve(ROOT, path, true)?;
            disk.truncate(node, 0, stamp);
            disk.write(node, 0, bytes, stamp)
        })
    }

    /// Takes whatever stands at the path away, a directory with all that is in it.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn unplant(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.planting(path.as_ref(), |disk, path, stamp| {
            let (parent, name) = split(path)?;
            let parent = disk.live().resolve(ROOT, parent, true)?;
            disk.remove_tree(parent, name, stamp)
        })
    }

    /// Sets the time of the last change of a content, in nanoseconds since 1970.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn set_modified_ns(&self, path: impl AsRef<Path>, modified_ns: i128) -> io::Result<()> {
        self.planting(path.as_ref(), |disk, path, stamp| {
            let node = disk.live().resolve(ROOT, path, false)?;
            disk.record(Effect::Modified { node, modified_ns }, stamp);
            Ok(())
        })
    }

    /// Sets permission bits. They are only told: nothing is refused because of them.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn set_mode(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        self.planting(path.as_ref(), |disk, path, stamp| {
            let node = disk.live().resolve(ROOT, path, false)?;
            disk.record(Effect::Mode { node, mode }, stamp);
            Ok(())
        })
    }

    /// A file's bytes as processes see them now, links followed.
    ///
    /// # Errors
    /// As the system says it; what is not a regular file is refused.
    pub fn contents(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let machine = self.view.shared.lock();
        let live = machine.disk.live();
        let node = live.resolve(ROOT, path.as_ref(), true)?;
        match live.get(node).map(|node| &node.body) {
            Some(Body::File(content)) => Ok(content.to_vec()),
            _ => Err(io::Error::other("what stands there is not a regular file")),
        }
    }

    /// What stands at the path itself now.
    ///
    /// # Errors
    /// As the system says it.
    pub fn metadata(&self, path: impl AsRef<Path>) -> io::Result<Metadata> {
        let machine = self.view.shared.lock();
        let node = machine.disk.live().resolve(ROOT, path.as_ref(), false)?;
        machine.disk.live().metadata(node, machine.device)
    }

    /// The names in a directory now, in alphabetical order.
    ///
    /// # Errors
    /// As the system says it.
    pub fn names(&self, path: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let machine = self.view.shared.lock();
        let live = machine.disk.live();
        let node = live.resolve(ROOT, path.as_ref(), true)?;
        Ok(live.entries(node)?.keys().cloned().collect())
    }

    /// How a file is locked now, by whatever process; `None` when it is not.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn lock_on(&self, path: impl AsRef<Path>) -> io::Result<Option<Sharing>> {
        let machine = self.view.shared.lock();
        let node = machine.disk.live().resolve(ROOT, path.as_ref(), true)?;
        Ok(machine.lock_on(node))
    }

    fn plant(&self, path: &Path, body: Body, mode: u32) -> io::Result<()> {
        self.planting(path, |disk, path, stamp| {
            let (parent, name) = split(path)?;
            let parent = plant_directories(disk, parent, stamp)?;
            if disk.live().lookup(parent, name).is_ok() {
                disk.remove_tree(parent, name, stamp)?;
            }
            disk.create(parent, name, body, mode, stamp).map(drop)
        })
    }

    fn planting<T>(
        &self,
        path: &Path,
        act: impl FnOnce(&mut Disk, &Path, &Stamp) -> io::Result<T>,
    ) -> io::Result<T> {
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a simulated path is absolute"));
        }
        let stamp = Stamp { now_ns: self.view.shared.now_ns(), operation: "planted".into(), durable: true };
        act(&mut self.view.shared.lock().disk, path, &stamp)
    }
}

fn plant_directories(disk: &mut Disk, path: &Path, stamp: &Stamp) -> io::Result<NodeId> {
    match disk.live().resolve(ROOT, path, true) {
        Ok(node) => disk.live().entries(node).map(|_| node),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (parent, name) = split(path)?;
            let parent = plant_directories(disk, parent, stamp)?;
            disk.create(parent, name, Body::Directory(BTreeMap::new()), MODE_OF_DIRECTORIES, stamp)
        }
        Err(error) => Err(error),
    }
}

/// A path's parent and last name.
///
/// # Errors
/// A path without a last name, or one that is not UTF-8.
pub(super) fn split(path: &Path) -> io::Result<(&Path, &str)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok((parent, text(Path::new(name))?)),
        _ => Err(Errno::EINVAL.into()),
    }
}
