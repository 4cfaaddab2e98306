//! `execution.lock` and `publication.lock`: who may write a task's files (EX-LED-16 to EX-LED-19, EX-LED-68 to EX-LED-71).
//!
//! The kernel alone decides who holds a lock. It serialises changes on one machine's local file system and is no lease
//! between hosts. What a holder writes into the file is a hint for people, and nothing is decided by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::clock::{Clock, ClockReading};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::{Object, Value};
use crate::process::RecordedProcess;
use crate::storage::{self, Directory, LockError, LockGuard, Sharing};

/// Excludes whoever else would write the task's files.
pub const EXECUTION_LOCK: &str = "execution.lock";
/// Excludes publication; taken before [`EXECUTION_LOCK`] wherever both are (EX-CAN-47).
pub const PUBLICATION_LOCK: &str = "publication.lock";

/// What a holder says of itself is a line; more is none of it.
const MAX_TEXT: u64 = 4096;

/// A token by which a caller ends its own waits.
#[derive(Clone, Debug, Default)]
pub struct AbortToken(Arc<AtomicBool>);

impl AbortToken {
    /// A token that has not fired.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the waits of whoever has this token.
    pub fn abort(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it has fired.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The host's clock, whose waits the caller's token ends too.
#[derive(Debug)]
struct AbortableClock<'a> {
    clock: &'a dyn Clock,
    abort: &'a AbortToken,
}

impl Clock for AbortableClock<'_> {
    fn wall_ms(&self) -> u64 {
        self.clock.wall_ms()
    }

    fn boot(&self) -> Duration {
        self.clock.boot()
    }

    fn awake(&self) -> Duration {
        self.clock.awake()
    }

    fn now(&self) -> ClockReading {
        self.clock.now()
    }

    fn sleep(&self, length: Duration) {
        self.clock.sleep(length);
    }

    fn is_cancelled(&self) -> bool {
        self.abort.is_aborted() || self.clock.is_cancelled()
    }
}

/// Takes a lock of a task's root, or of a health store's, and writes into the file who holds it. Waits for at most `wait`, and
/// never blocks in the kernel. The lock is released by dropping what this gives.
///
/// # Errors
/// `EXECUTION_BUSY` when somebody else held it until then, with the reason `aborted` when the caller's token ended the wait;
/// `EXECUTION_PUBLICATION_BUSY` when it was `execution.lock` and somebody holds the other one too; `EXECUTION_CAPABILITY`
/// with the reason `locking` where locks do not exclude; `EXECUTION_IO`. Nothing else was written.
pub fn acquire(
    root: &Arc<dyn Directory>,
    name: &'static str,
    wait: Duration,
    host: &Host,
    abort: &AbortToken,
) -> Result<LockGuard> {
    let clock = AbortableClock { clock: &*host.clock, abort };
    let guard = storage::acquire(root, name, wait, &clock).map_err(|error| match error {
        LockError::Busy if name == EXECUTION_LOCK && is_held(&**root, PUBLICATION_LOCK) => Error::new(
            Code::ExecutionPublicationBusy,
            format!("a publication step holds the task{}", holder(&**root, PUBLICATION_LOCK)),
        ),
        LockError::Busy => {
            Error::new(Code::ExecutionBusy, format!("another holder has {name}{}", holder(&**root, name)))
        }
        LockError::Cancelled => aborted(),
        LockError::DoesNotExclude => {
            Error::new(Code::ExecutionCapability, "locks do not exclude on the file system of the directory")
                .with_reason("locking")
                .with_remedy("move the directory to a local file system with working flock")
        }
        LockError::Moved => Error::new(Code::ExecutionIo, format!("{name} cannot be locked")),
        LockError::Io(error) => {
            Error::new(Code::ExecutionIo, format!("{name} cannot be locked")).with_source(error)
        }
    })?;
    // For diagnosis only (EX-LED-16).
    let _ = guard.file().set_contents(introduction(host).as_bytes());
    Ok(guard)
}

/// The caller's own token has ended a call that had not begun.
pub(crate) fn aborted() -> Error {
    Error::new(Code::ExecutionBusy, "the call was aborted before it had the task's lock")
        .with_reason("aborted")
}

/// Whether somebody holds a lock at this moment. Creates no file.
fn is_held(root: &dyn Directory, name: &str) -> bool {
    let tried = root.open_lock_to_look(name).and_then(|file| file.try_lock(Sharing::Exclusive));
    matches!(tried, Ok(false))
}

/// Who the file says to hold it, as a hint for a message.
fn holder(root: &dyn Directory, name: &str) -> String {
    let mut bytes = Vec::new();
    let read = root.read(name, MAX_TEXT, &mut bytes).ok();
    let value = read.and_then(|_| Value::parse(std::str::from_utf8(&bytes).ok()?).ok());
    let pid = value.as_ref().and_then(|value| value.get("pid")?.as_number()?.as_u64());
    pid.map(|pid| format!(", perhaps pid=`{pid}`")).unwrap_or_default()
}

fn introduction(host: &Host) -> String {
    let (pid, start) = host.processes.own();
    let RecordedProcess { identity, .. } = RecordedProcess::at(pid, start, &*host.processes);
    let number = |number: u64| Value::parse(&number.to_string()).unwrap_or(Value::Null);
    let mut object = Object::new();
    object.insert("version", number(1));
    object.insert("pid", number(u64::from(pid)));
    object.insert("identity", Value::String(identity));
    object.insert("token", Value::String(format!("{:016x}", host.random.next_u64())));
    object.insert("since", number(host.clock.wall_ms()));
    Value::Object(object).to_json()
}
