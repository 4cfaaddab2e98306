//! The simulated machine: one disk, its open descriptors and their locks, and the processes that use it.
//!
//! Everything is under one mutex, so that an operation's fault, its effect and its record are one step for every
//! thread. Nothing that may call back, such as a clock or a pause, runs while it is held.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::Disk;
use super::fault::{Armed, Fault};
use super::image::NodeId;
use super::operation::OperationRecord;
use crate::clock::Clock;
use crate::storage::directory::Sharing;

/// What a file system can do, apart from what goes wrong on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) gains_by_exchange: bool,
    pub(super) exchanges: bool,
    pub(super) locks_exclude: bool,
    pub(super) counts_subdirectories: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            gains_by_exchange: true,
            exchanges: true,
            locks_exclude: true,
            counts_subdirectories: true,
        }
    }
}

/// What all processes of a machine share.
pub(super) struct Shared {
    clock: Mutex<Arc<dyn Clock>>,
    machine: Mutex<Machine>,
}

impl Shared {
    pub(super) fn new(machine: Machine, clock: Arc<dyn Clock>) -> Self {
        Shared { clock: Mutex::new(clock), machine: Mutex::new(machine) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_clock(&self, clock: Arc<dyn Clock>) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = clock;
    }

    /// What a file's times are taken from.
    pub(super) fn now_ns(&self) -> i128 {
        i128::from(self.clock().wall_ms()) * 1_000_000
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessId(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DescriptorId(u64);

pub(super) struct Machine {
    pub(super) disk: Disk,
    pub(super) device: u64,
    pub(super) settings: Settings,
    processes: Vec<Process>,
    descriptors: BTreeMap<DescriptorId, Descriptor>,
    next_descriptor: u64,
}

#[derive(Default)]
pub(super) struct Process {
    pub(super) dead: bool,
    /// How many forks lie between the process in which this began and the one that it is now.
    pub(super) forks: u64,
    /// The process that keeps the locks from before the last fork.
    parent: Option<ProcessId>,
    pub(super) started: u64,
    pub(super) faults: Vec<(Armed, Fault)>,
    pub(super) pauses: Vec<Pause>,
    pub(super) records: Vec<OperationRecord>,
}

/// Something that happens just before an operation.
pub(super) struct Pause {
    pub(super) point: Armed,
    pub(super) action: Box<dyn FnOnce() + Send>,
}

/// An open file description.
#[derive(Debug)]
struct Descriptor {
    node: NodeId,
    process: ProcessId,
    lock: Option<Sharing>,
    purpose: Purpose,
}

/// What a descriptor was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A lock file, which a forked child closes.
    Lock,
    /// Anything else.
    Plain,
}

impl Machine {
    pub(super) fn new(disk: Disk, device: u64, settings: Settings) -> Self {
        Machine {
            disk,
            device,
            settings,
            processes: Vec::new(),
            descriptors: BTreeMap::new(),
            next_descriptor: 0,
        }
    }

    pub(super) fn add_process(&mut self) -> ProcessId {
        self.processes.push(Process::default());
        ProcessId(self.processes.len() - 1)
    }

    pub(super) fn process(&mut self, id: ProcessId) -> &mut Process {
        &mut self.processes[id.0]
    }

    pub(super) fn open(&mut self, process: ProcessId, node: NodeId, purpose: Purpose) -> DescriptorId {
        let id = DescriptorId(self.next_descriptor);
        self.next_descriptor += 1;
        self.disk.pin(node);
        self.descriptors.insert(id, Descriptor { node, process, lock: None, purpose });
        id
    }

    /// Closes a descriptor, which releases its lock. One that is closed already stays so.
    pub(super) fn close(&mut self, id: DescriptorId) {
        if let Some(descriptor) = self.descriptors.remove(&id) {
            self.disk.unpin(descriptor.node);
        }
    }

    /// The process is gone, and with it everything that it had open.
    pub(super) fn end(&mut self, process: ProcessId) {
        self.process(process).dead = true;
        let open: Vec<DescriptorId> = self
            .descriptors
            .iter()
            .filter(|(_, descriptor)| descriptor.process == process)
            .map(|(id, _)| *id)
            .collect();
        for id in open {
            self.close(id);
        }
    }

    /// The process becomes its own child: its lock files stay with the parent, which lives on and does nothing.
    pub(super) fn fork(&mut self, process: ProcessId) {
        let parent = self.add_process();
        for descriptor in self.descriptors.values_mut() {
            if descriptor.process == process && descriptor.purpose == Purpose::Lock {
                descriptor.process = parent;
            }
        }
        let grandparent = self.process(process).parent.replace(parent);
        self.process(process).forks += 1;
        self.process(parent).parent = grandparent;
    }

    /// Ends all the processes from which this one was forked.
    pub(super) fn end_parents(&mut self, process: ProcessId) {
        let mut next = self.process(process).parent.take();
        while let Some(parent) = next {
            self.end(parent);
            next = self.process(parent).parent;
        }
    }

    /// As flock(2): a descriptor that holds a lock gives it up before it asks for another, and does not get it
    /// back when it is refused.
    pub(super) fn try_lock(&mut self, id: DescriptorId, sharing: Sharing) -> bool {
        let Some(own) = self.descriptors.get_mut(&id) else { return false };
        own.lock = None;
        let node = own.node;
        let excluded = self.settings.locks_exclude
            && self.descriptors.values().any(|other| {
                other.node == node
                    && match other.lock {
                        Some(Sharing::Exclusive) => true,
                        Some(Sharing::Shared) => sharing == Sharing::Exclusive,
                        None => false,
                    }
            });
        if let Some(own) = self.descriptors.get_mut(&id).filter(|_| !excluded) {
            own.lock = Some(sharing);
        }
        !excluded
    }

    /// How an inode is locked at the moment, if it is.
    pub(super) fn lock_on(&self, node: NodeId) -> Option<Sharing> {
        self.descriptors.values().filter(|descriptor| descriptor.node == node).find_map(|found| found.lock)
    }
}
