//! What happens to lock descriptors in a forked child.
//!
//! `flock` belongs to the open file description, which a child shares with its parent: a child that keeps the
//! descriptor keeps the lock alive after its parent's death, and one that unlocked it would take the lock from its
//! parent. So a fork handler closes the child's copies, and nothing else ever closes or uses them there.
//!
//! Opening a lock file and entering it into the registry happen under one mutex, which the handler holds across
//! the fork: no descriptor can be open and unknown at the moment of a fork, and no child inherits the mutex locked.
//! What else a process knows of its locks lives under the same mutex for the same reason.

use std::cell::{Cell, UnsafeCell};
use std::collections::BTreeSet;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{
    Mutex, MutexGuard, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use super::directory::FileIdentity;
use crate::forks;

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { open: Vec::new(), proven: BTreeSet::new(), abandoned: Vec::new() });
static INSTALL: Once = Once::new();
static ACROSS_FORK: AcrossFork = AcrossFork(UnsafeCell::new(None));
/// Held for reading by whoever is inside a library that a fork must not find in the middle of something.
static QUIET: RwLock<()> = RwLock::new(());

thread_local! {
    static QUIET_DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// No thread forks while somebody holds this. A thread may hold it more than once, and must not fork itself then.
pub(crate) fn quiet() -> Quiet {
    install_handlers();
    let depth = QUIET_DEPTH.get();
    QUIET_DEPTH.set(depth + 1);
    // Taken once a thread: a second reader would wait for a fork that waits for the first.
    let guard = (depth == 0).then(|| QUIET.read().unwrap_or_else(PoisonError::into_inner));
    Quiet { _guard: guard }
}

/// See [`quiet`].
pub(crate) struct Quiet {
    _guard: Option<RwLockReadGuard<'static, ()>>,
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET_DEPTH.set(QUIET_DEPTH.get() - 1);
    }
}

/// What a process knows of its locks.
struct Registry {
    /// The descriptors of open lock files.
    open: Vec<RawFd>,
    /// The lock files on which it has been seen that locks exclude.
    proven: BTreeSet<FileIdentity>,
    /// Addresses of slots that came through a fork. They are kept, because what another thread may have been changing at
    /// that moment can neither be used nor be dropped, and so that it is seen that they are kept.
    abandoned: Vec<usize>,
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether it has been seen in this process that locks exclude on this file.
pub(super) fn is_proven(lock: FileIdentity) -> bool {
    registry().proven.contains(&lock)
}

/// Remembers that locks exclude on this file.
pub(super) fn remember_proven(lock: FileIdentity) {
    registry().proven.insert(lock);
}

/// Counts the forks between the first process that used the library and this one. Takes no mutex.
pub(crate) fn generation() -> u64 {
    forks::count()
}

/// As [`generation`], for whoever has opened nothing yet: from now on forks are counted.
pub(crate) fn counted_generation() -> u64 {
    install_handlers();
    generation()
}

/// A value behind a mutex that a forked child does not find locked by a thread which it does not have: there the value
/// is made anew.
pub(crate) struct ForkSafe<T> {
    slot: AtomicPtr<Slot<T>>,
    renew: Box<dyn Fn() -> T + Send + Sync>,
}

struct Slot<T> {
    generation: u64,
    value: Mutex<T>,
}

impl<T> ForkSafe<T> {
    /// A value, and how to make it again.
    pub(crate) fn new(renew: impl Fn() -> T + Send + Sync + 'static) -> Self {
        // Registered before anything can be locked, so that every fork is counted.
        install_handlers();
        let renew = Box::new(renew);
        let slot = Slot { generation: generation(), value: Mutex::new(renew()) };
        ForkSafe { slot: AtomicPtr::new(Box::into_raw(Box::new(slot))), renew }
    }

    /// Locks the value of this process.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        loop {
            let current = self.slot.load(Ordering::Acquire);
            // SAFETY: a slot is freed by `drop` only, which nobody can call while `self` is borrowed.
            let slot = unsafe { &*current };
            if slot.generation == generation() {
                return slot.value.lock().unwrap_or_else(PoisonError::into_inner);
            }
            let renewed = Slot { generation: generation(), value: Mutex::new((self.renew)()) };
            let renewed = Box::into_raw(Box::new(renewed));
            match self.slot.compare_exchange(current, renewed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(inherited) => registry().abandoned.push(inherited as usize),
                // SAFETY: nobody else has seen it.
                Err(_) => drop(unsafe { Box::from_raw(renewed) }),
            }
        }
    }
}

impl<T> Drop for ForkSafe<T> {
    fn drop(&mut self) {
        let current = *self.slot.get_mut();
        // SAFETY: the pointer came from a box that nobody has freed.
        let slot = unsafe { &*current };
        // Locked by a thread that this process does not have: the value may be half changed.
        let is_torn =
            slot.generation != generation() && matches!(slot.value.try_lock(), Err(TryLockError::WouldBlock));
        if is_torn {
            registry().abandoned.push(current as usize);
        } else {
            // SAFETY: the pointer came from a box, and `&mut self` says that nobody borrows it.
            drop(unsafe { Box::from_raw(current) });
        }
    }
}

impl<T> std::fmt::Debug for ForkSafe<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ForkSafe").finish_non_exhaustive()
    }
}

fn install_handlers() {
    forks::counted();
    // SAFETY: the three handlers are plain functions that live as long as the process. Where registration fails (no
    // memory), forked children keep their copies, which close-on-exec still bounds.
    INSTALL.call_once(|| unsafe {
        libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
    });
}

/// What is held from just before a fork until just after it: that nobody is in the middle of something, and the
/// registry.
struct AcrossFork(UnsafeCell<Option<(RwLockWriteGuard<'static, ()>, MutexGuard<'static, Registry>)>>);

// SAFETY: the cell is written by `prepare`, which then owns the registry's mutex, and is emptied by the same thread
// in `parent`, or by its only copy in `child`; the mutex keeps every other thread away in between.
unsafe impl Sync for AcrossFork {}

/// A descriptor that the child of a fork does not inherit.
#[derive(Debug)]
pub(super) struct ForkGuarded {
    fd: Option<OwnedFd>,
    generation: u64,
}

impl ForkGuarded {
    /// Opens a descriptor and registers it in one step, as far as any fork can see.
    pub(super) fn open<E>(open: impl FnOnce() -> Result<OwnedFd, E>) -> Result<Self, E> {
        install_handlers();
        let mut registry = registry();
        let fd = open()?;
        registry.open.push(fd.as_raw_fd());
        Ok(ForkGuarded { fd: Some(fd), generation: generation() })
    }

    /// The descriptor; `None` in a child to which it came through a fork.
    pub(super) fn get(&self) -> Option<&OwnedFd> {
        if self.is_forked() { None } else { self.fd.as_ref() }
    }

    pub(super) fn is_forked(&self) -> bool {
        self.generation != generation()
    }
}

impl Drop for ForkGuarded {
    fn drop(&mut self) {
        let Some(fd) = self.fd.take() else { return };
        if self.is_forked() {
            // The handler closed it; the number may belong to another file by now.
            let _ = fd.into_raw_fd();
            return;
        }
        let mut registry = registry();
        if let Some(position) = registry.open.iter().position(|open| *open == fd.as_raw_fd()) {
            registry.open.swap_remove(position);
        }
        drop(fd);
    }
}

extern "C" fn prepare() {
    // In this order, because whoever is in the middle of something may open or close a lock file there.
    let held = (QUIET.write().unwrap_or_else(PoisonError::into_inner), registry());
    // SAFETY: see `AcrossFork`.
    unsafe { *ACROSS_FORK.0.get() = Some(held) };
}

extern "C" fn parent() {
    // SAFETY: see `AcrossFork`.
    drop(unsafe { (*ACROSS_FORK.0.get()).take() });
}

/// Runs in the child, where only async-signal-safe calls are allowed: it closes, clears without freeing, and
/// releases a futex.
extern "C" fn child() {
    // SAFETY: see `AcrossFork`.
    let Some((_quiet, mut registry)) = (unsafe { (*ACROSS_FORK.0.get()).take() }) else { return };
    for fd in &registry.open {
        // SAFETY: the number was registered by its owner, whose copy in this process will not use it any more,
        // because the generation has changed before the fork returns.
        unsafe { libc::close(*fd) };
    }
    registry.open.clear();
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    static DROPPED: AtomicBool = AtomicBool::new(false);

    struct Noted;

    impl Drop for Noted {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a forked child that drops its copy drops the value in it.
    fn child_drops(value: &ForkSafe<Noted>) -> bool {
        // SAFETY: the child drops its own copy, which nothing of it uses again, and leaves by `_exit`.
        unsafe {
            match libc::fork() {
                0 => {
                    drop(std::ptr::read(value));
                    libc::_exit(i32::from(DROPPED.load(Ordering::Relaxed)));
                }
                child => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                    libc::WEXITSTATUS(status) == 1
                }
            }
        }
    }

    #[test]
    fn what_another_thread_held_at_the_fork_is_not_dropped_in_the_child() {
        let value = ForkSafe::new(|| Noted);
        assert!(child_drops(&value));
        std::thread::scope(|scope| {
            let (holds, held) = std::sync::mpsc::channel();
            let (over, wait) = std::sync::mpsc::channel::<()>();
            let value = &value;
            scope.spawn(move || {
                let _guard = value.lock();
                holds.send(()).expect("the test waits");
                let _ = wait.recv();
            });
            held.recv().expect("the thread holds it");
            assert!(!child_drops(value));
            drop(over);
        });
    }
}
