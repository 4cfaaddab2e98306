//! How often this process has come out of a fork: by what whoever remembers something of a process knows that it is another
//! one by now, without asking the system at each look.
//!
//! The C library's `fork` is counted, as everything in `storage` that outlives a fork relies on it. A process that is made
//! by the bare system call has to begin with an `exec`.

#[cfg(target_os = "linux")]
use std::sync::Mutex;
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

/// What is asked of the system once in the life of a process, and anew in a child that it forks.
#[cfg(target_os = "linux")]
pub(crate) struct OncePerProcess<T>(Mutex<Option<(u64, T)>>);

#[cfg(target_os = "linux")]
impl<T: Copy> OncePerProcess<T> {
    /// Nothing is known yet.
    pub(crate) const fn new() -> Self {
        OncePerProcess(Mutex::new(None))
    }

    /// What is known, else what `read` answers, which is remembered unless it is none.
    pub(crate) fn get_or_try(&self, read: impl FnOnce() -> Option<T>) -> Option<T> {
        let process = counted();
        // A fork while another thread held the mutex leaves it locked for ever; then nothing is remembered.
        let known = self.0.try_lock().ok().and_then(|known| *known);
        if let Some((_, value)) = known.filter(|(of, _)| *of == process) {
            return Some(value);
        }
        let value = read()?;
        if let Ok(mut known) = self.0.try_lock() {
            *known = Some((process, value));
        }
        Some(value)
    }
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
