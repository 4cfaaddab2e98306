//! Locks as another program holds and tries them.
//!
//! A process that another test of the same program is just starting has a copy of every descriptor until it executes, and
//! with it keeps a lock that was given back by closing meanwhile. So what a test holds is unlocked, and what has to come
//! free is waited for.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// For the `lockWaitMs` of a task in which a call is to be refused: longer than a process takes from its start until it
/// executes, so that nobody else is refused.
pub(crate) const BRIEF_WAIT_MS: u64 = 2_000;
/// Longer than anybody keeps a lock that he has given back.
const PATIENCE: Duration = Duration::from_secs(60);

/// A lock that is unlocked when it is dropped, whoever has a copy of its descriptor.
pub(crate) struct HeldLock(File);

impl HeldLock {
    /// Takes the lock, whose file is made where it is missing.
    #[track_caller]
    pub(crate) fn take(path: &Path) -> Self {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).expect("it opens");
        assert!(comes(|| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()), "it is free");
        HeldLock(file)
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        flock(&self.0, FlockOperation::Unlock).expect("it is unlocked");
    }
}

/// Whether somebody holds the lock now.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            drop(HeldLock(file));
            false
        }
        Err(_) => true,
    }
}

/// Whether the lock has been given back.
pub(crate) fn comes_free(path: &Path) -> bool {
    comes(|| !is_held(path))
}

fn comes(mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
