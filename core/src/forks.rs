//! How often this process has come out of a fork: by what whoever remembers something of a process knows that it is another
//! one by now, without asking the system at each look.
//!
//! The C library's `fork` is counted, as everything in `storage` that outlives a fork relies on it. A process that is made
//! by the bare system call has to begin with an `exec`.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// The forks between the first process that used the library and this one, as far as they were counted. Takes no mutex.
pub(crate) fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// As [`count`], for whoever remembers something under the answer: from now on forks are counted.
pub(crate) fn counted() -> u64 {
    static INSTALL: Once = Once::new();
    // SAFETY: the handler is a plain function that lives as long as the process. Where registration fails (no memory), a
    // forked child takes itself for its parent.
    INSTALL.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(child));
    });
    count()
}

/// Runs in the child, where only async-signal-safe calls are allowed.
extern "C" fn child() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_counts_one_more_than_its_parent() {
        let before = counted();
        // SAFETY: the child only loads a number and leaves by `_exit`.
        let status = unsafe {
            match libc::fork() {
                0 => libc::_exit(i32::from(count() == before + 1)),
                child => {
                    let mut status = 0;
                    assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                    libc::WEXITSTATUS(status)
                }
            }
        };
        assert_eq!((status, count()), (1, before));
    }
}
