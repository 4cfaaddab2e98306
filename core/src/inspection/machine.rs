//! Whether a machine and a directory give what the files need: tried, in a directory of its own that is removed again.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::host::Host;
use crate::storage::{self, Directory, Interest, LockError, Medium, Notice};

/// Before the name of the directory in which everything is tried.
const PROBE: &str = ".gallivant-doctor-";
const ONE: &str = "one";
const OTHER: &str = "other";
const LOCK: &str = "lock";
/// How long a notice is waited for. One comes within microseconds, and a loaded machine takes longer.
const NOTICE_WAIT: Duration = Duration::from_secs(1);

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What, as a stable word: `file-system` `write` `locks` `exchange` `notification` `boot` `processes`, `sandbox`,
    /// `gallivant-supervise`, the names of harnesses.
    pub what: &'static str,
    /// What was found, in one line.
    pub found: String,
    /// What follows and what to do, where it is not as it should be.
    pub remedy: Option<Cow<'static, str>>,
    /// Whether the files are not safe with it. Else it is only slower, or tells less.
    pub is_problem: bool,
}

impl Tried {
    pub(super) fn fine(what: &'static str, found: impl Into<String>) -> Self {
        Tried { what, found: found.into(), remedy: None, is_problem: false }
    }

    pub(super) fn less(
        what: &'static str,
        found: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Tried { remedy: Some(remedy.into()), ..Tried::fine(what, found) }
    }

    fn wrong(what: &'static str, found: impl Into<String>, remedy: &'static str) -> Self {
        Tried { is_problem: true, ..Tried::less(what, found, remedy) }
    }
}

/// Tries what the files of every domain need, where a directory is or would be: in the nearest one above that exists. What was
/// made for it has been removed once this has returned.
#[must_use]
pub fn try_machine(directory: &Path, host: &Host) -> Vec<Tried> {
    let mut tried = Vec::new();
    let place = existing(directory, host);
    tried.push(match storage::medium(&place) {
        Ok(Medium { name, is_network: true }) => Tried::wrong(
            "file-system",
            format!("{name}, which other machines change too, path=`{}`", place.display()),
            "use a local file system: locks exclude only who shares it",
        ),
        Ok(Medium { name, .. }) => Tried::fine("file-system", format!("{name}, path=`{}`", place.display())),
        Err(error) => Tried::less("file-system", format!("not told: {error}"), "see that it is a local one"),
    });
    let probe = place.join(format!("{PROBE}{:016x}", host.random.next_u64()));
    let made = host.files.make_directory(&probe).and_then(|()| host.files.open(&probe));
    match made {
        Ok(inner) => {
            try_directory(&inner, &probe, host, &mut tried);
            let removed = [ONE, OTHER, LOCK].into_iter().try_for_each(|name| match inner.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            });
            let name = probe.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let removed = removed.and_then(|()| host.files.open(&place)?.remove_directory(name));
            if let Err(error) = removed {
                let found =
                    format!("what was tried cannot be removed again, path=`{}`: {error}", probe.display());
                tried.push(Tried::wrong("write", found, "look at the disk, and remove it"));
            }
        }
        Err(error) => {
            let found = format!("nothing can be made here: {error}");
            tried.push(Tried::wrong(
                "write",
                found,
                "give this user the right to write here, or take another directory",
            ));
        }
    }
    let boot = host.processes.boot();
    tried.push(if boot.is_empty() {
        Tried::less(
            "boot",
            "the boot has no name",
            "mount /proc: without it no death is proved across a reboot",
        )
    } else {
        Tried::fine("boot", format!("has a name, boot=`{boot}`"))
    });
    tried.push(if host.processes.pid_namespace().is_empty() || host.processes.own_start() == 0 {
        Tried::less(
            "processes",
            "they cannot be looked at",
            "mount this namespace's own /proc: without it no process is proved to be gone",
        )
    } else {
        Tried::fine("processes", "can be told apart")
    });
    tried
}

fn existing(directory: &Path, host: &Host) -> PathBuf {
    let mut place = host.files.absolute(directory).unwrap_or_else(|_| directory.to_owned());
    while host.files.open(&place).is_err() {
        if !place.pop() {
            break;
        }
    }
    place
}

fn try_directory(inner: &Arc<dyn Directory>, path: &Path, host: &Host, tried: &mut Vec<Tried>) {
    match write(&**inner) {
        Ok(()) => tried.push(Tried::fine("write", "files can be made and synced")),
        Err(error) => {
            let found = format!("a file cannot be written: {error}");
            tried.push(Tried::wrong("write", found, "look at the disk: space, quota and rights"));
            return;
        }
    }
    tried.push(match storage::acquire(inner, LOCK, Duration::ZERO, &*host.clock) {
        Ok(_) => Tried::fine("locks", "exclude"),
        Err(LockError::DoesNotExclude) => Tried::wrong(
            "locks",
            "do not exclude here",
            "use a file system with working flock: every writer refuses this one",
        ),
        Err(error) => {
            Tried::wrong("locks", format!("cannot be taken: {error:?}"), "look at the disk and its rights")
        }
    });
    tried.push(match inner.exchange(ONE, OTHER) {
        Ok(()) => Tried::fine("exchange", "two names can be exchanged"),
        Err(error) => Tried::less(
            "exchange",
            format!("two names cannot be exchanged: {error}"),
            "nothing: files are replaced by renaming, which is as safe",
        ),
    });
    tried.push(match notified(inner, path, host) {
        Ok(true) => Tried::fine("notification", "changes are told"),
        Ok(false) => Tried::less("notification", "a change was not told in time", POLLED),
        Err(error) => Tried::less("notification", format!("changes are not told: {error}"), POLLED),
    });
}

const POLLED: &str =
    "nothing: watches look once a second; a limit of the system is fs.inotify.max_user_watches";

fn write(inner: &dyn Directory) -> io::Result<()> {
    for name in [ONE, OTHER] {
        let mut file = inner.create(name)?;
        file.write_all(name.as_bytes())?;
        file.sync()?;
    }
    inner.sync()
}

/// Whether a rename in the directory is told.
fn notified(inner: &Arc<dyn Directory>, path: &Path, host: &Host) -> io::Result<bool> {
    let mut notifier = host.files.notifier(&host.clock)?;
    notifier.watch(path, Interest::Names)?;
    inner.rename(ONE, OTHER)?;
    notifier.wait(Some(NOTICE_WAIT))?;
    let mut is_told = false;
    notifier.drain(&mut |notice| is_told |= matches!(notice, Notice::Name { .. }))?;
    Ok(is_told)
}
