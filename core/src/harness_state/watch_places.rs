//! Which directories a watch is told of, and what a notice about one of them means.
//!
//! Every directory of a fleet is watched for its names. The directories above the root are watched for their own fate,
//! because moving one of them moves the root without any notice about it; the last one that exists, and one in which a
//! link leads on, for the next name too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::fleet_tree::Asked;
use super::seat::LEASE;
use super::watch::Noticing;
use crate::host::Host;
use crate::storage::{FileType, Interest, Notice, Notifier, WatchId};

/// Under what a failure to watch above the root is kept. No directory below a root has this path.
const ABOVE: &str = "..";

/// What the notices so far are about.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Anything may have happened.
    pub(super) everything: bool,
    /// The root may be another directory by now.
    pub(super) root: bool,
    /// The wall clock was set.
    pub(super) clock: bool,
    /// The watched process has ended.
    pub(super) process: bool,
    /// Directories in which something changed.
    pub(super) look: BTreeSet<String>,
    /// Directories that are no longer watched, with all below them.
    pub(super) anew: BTreeSet<String>,
    /// Directories whose lease may have been released.
    pub(super) leases: BTreeSet<String>,
}

impl Signs {
    /// Whether there is nothing that has to be looked at on disk.
    pub(super) fn is_empty(&self) -> bool {
        !self.everything
            && !self.root
            && self.look.is_empty()
            && self.anew.is_empty()
            && self.leases.is_empty()
    }

    /// What a pass asks of a directory.
    pub(super) fn asked(&self, path: &str) -> Asked {
        if !self.anew.is_empty() && self.is_anew(path) {
            Asked::Anew
        } else if self.everything || self.look.contains(path) {
            Asked::Look
        } else {
            Asked::Nothing
        }
    }

    fn is_anew(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        above.chain([path, "."]).any(|path| self.anew.contains(path))
    }
}

/// Why a directory is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// It lies above the root; this name in it leads there, where that has to be known.
    Above(Option<OsString>),
    /// It is this directory of the fleet.
    Folder(String),
}

/// What is watched at the moment.
#[derive(Debug, Default)]
pub(super) struct Places {
    roles: HashMap<WatchId, Vec<Role>>,
    folders: BTreeMap<String, WatchId>,
    /// What could not be watched and has to be looked at from time to time.
    failed: BTreeMap<String, Noticing>,
}

impl Places {
    /// How changes are noticed in all.
    pub(super) fn noticing(&self) -> Noticing {
        match self.failed.values().find(|failed| **failed == Noticing::PolledUnsupported) {
            Some(failed) => *failed,
            None if self.failed.is_empty() => Noticing::Notified,
            None => Noticing::PolledLimit,
        }
    }

    /// Enters what a notice means. `record` is the name of the record in each directory.
    pub(super) fn sort(&mut self, notice: Notice<'_>, record: &str, signs: &mut Signs) {
        match notice {
            Notice::Lost => signs.everything = true,
            Notice::ClockSet => signs.clock = true,
            Notice::ProcessEnded => signs.process = true,
            Notice::Name { id, name, is_directory } => {
                for role in self.roles.get(&id).into_iter().flatten() {
                    match role {
                        Role::Above(Some(leading)) => signs.root |= leading.as_bytes() == name,
                        Role::Above(None) => {}
                        Role::Folder(path) if name == LEASE.as_bytes() => {
                            signs.leases.insert(path.clone());
                        }
                        Role::Folder(path) if is_directory || name == record.as_bytes() => {
                            signs.look.insert(path.clone());
                            // Whether it can be listed may be what has changed.
                            if let (true, Ok(name)) = (is_directory, std::str::from_utf8(name)) {
                                signs.look.insert(joined(path, name));
                            }
                        }
                        Role::Folder(_) => {}
                    }
                }
            }
            Notice::Itself { id } => {
                for role in self.roles.get(&id).cloned().unwrap_or_default() {
                    match role {
                        Role::Above(_) => signs.root = true,
                        Role::Folder(path) => {
                            signs.root |= path == ".";
                            signs.look.insert(parent(&path).to_owned());
                            signs.anew.insert(path);
                        }
                    }
                }
            }
        }
    }

    /// Stops watching what is to be watched anew: the directories may have gone elsewhere.
    pub(super) fn let_go(&mut self, notifier: &mut dyn Notifier, anew: &BTreeSet<String>) {
        for path in anew {
            let below: Vec<String> = match path.as_str() {
                "." => self.folders.keys().cloned().collect(),
                path => {
                    let start = format!("{path}/");
                    let range = self.folders.range(start.clone()..);
                    range.map(|(path, _)| path.clone()).take_while(|path| path.starts_with(&start)).collect()
                }
            };
            for path in below.iter().chain([path]) {
                self.failed.remove(path);
                if let Some(id) = self.folders.remove(path) {
                    self.drop_role(notifier, id, &Role::Folder(path.clone()));
                }
            }
        }
    }

    /// Watches a directory of the fleet.
    pub(super) fn watch_folder(&mut self, notifier: &mut dyn Notifier, root: &Path, path: &str) {
        // The caller's own path may lead through a link; on the way through the fleet none is followed.
        let (place, interest) = match path {
            "." => (root.to_path_buf(), Interest::NamesThroughLink),
            path => (root.join(path), Interest::Names),
        };
        self.failed.remove(path);
        let before = match notifier.watch(&place, interest) {
            Ok(id) => {
                let role = Role::Folder(path.to_owned());
                let roles = self.roles.entry(id).or_default();
                if !roles.contains(&role) {
                    roles.push(role);
                }
                self.folders.insert(path.to_owned(), id).filter(|before| *before != id)
            }
            Err(error) => {
                if !is_gone(&error) {
                    self.failed.insert(path.to_owned(), why(&error));
                }
                self.folders.remove(path)
            }
        };
        if let Some(before) = before {
            self.drop_role(notifier, before, &Role::Folder(path.to_owned()));
        }
    }

    /// Tries again what could not be watched, until that fails again.
    pub(super) fn retry(&mut self, notifier: &mut dyn Notifier, root: &Path) {
        while let Some(path) = self.failed.keys().find(|path| *path != ABOVE).cloned() {
            self.watch_folder(notifier, root, &path);
            if self.failed.contains_key(&path) {
                break;
            }
        }
    }

    /// Whether what leads to the root is not watched as it should be.
    pub(super) fn lack_above(&self) -> bool {
        self.failed.contains_key(ABOVE)
    }

    /// Watches what leads to the root.
    pub(super) fn watch_above(&mut self, notifier: &mut dyn Notifier, host: &Host, root: &Path) {
        let above: Vec<(WatchId, Role)> = self
            .roles
            .iter()
            .flat_map(|(id, roles)| roles.iter().map(|role| (*id, role.clone())))
            .filter(|(_, role)| matches!(role, Role::Above(_)))
            .collect();
        for (id, role) in above {
            self.drop_role(notifier, id, &role);
        }
        self.failed.remove(ABOVE);
        let mut directory = PathBuf::new();
        for component in root.components() {
            let name = component.as_os_str();
            if !directory.as_os_str().is_empty() {
                match notifier.watch(&directory, Interest::Itself) {
                    Ok(id) => self.roles.entry(id).or_default().push(Role::Above(None)),
                    // What its user may not list is not watched for being moved, and nor is another file system above
                    // the root's.
                    Err(error) if why(&error) == Noticing::PolledUnsupported => {}
                    Err(error) => self.fail_above(&error),
                }
                if !matches!(next(host, &directory, name), Ok(FileType::Directory)) {
                    match notifier.watch(&directory, Interest::NamesThroughLink) {
                        Ok(id) => {
                            self.roles.entry(id).or_default().push(Role::Above(Some(name.to_owned())));
                        }
                        Err(error) if is_gone(&error) => {}
                        Err(error) => self.fail_above(&error),
                    }
                    // It may have come before it was watched for.
                    match next(host, &directory, name) {
                        Ok(FileType::Directory | FileType::Link) => {}
                        Ok(_) => break,
                        Err(error) if is_gone(&error) => break,
                        Err(error) => self.fail_above(&error),
                    }
                }
            }
            directory.push(name);
        }
    }

    fn fail_above(&mut self, error: &io::Error) {
        self.failed.insert(ABOVE.to_owned(), why(error));
    }

    fn drop_role(&mut self, notifier: &mut dyn Notifier, id: WatchId, role: &Role) {
        let Some(roles) = self.roles.get_mut(&id) else { return };
        roles.retain(|kept| kept != role);
        if roles.is_empty() {
            self.roles.remove(&id);
            notifier.unwatch(id);
        }
    }
}

/// What stands at a name above the root. A name that is not UTF-8 is taken for a directory's: the root may be below.
fn next(host: &Host, directory: &Path, name: &OsStr) -> io::Result<FileType> {
    let Some(name) = name.to_str() else { return Ok(FileType::Directory) };
    Ok(host.files.open_to_read(directory)?.metadata(name)?.file_type)
}

/// Whether nothing stands there, or nothing that could be entered.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ELOOP)
}

fn why(error: &io::Error) -> Noticing {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EMFILE | libc::ENFILE | libc::ENOMEM) => Noticing::PolledLimit,
        _ => Noticing::PolledUnsupported,
    }
}

fn joined(path: &str, name: &str) -> String {
    if path == "." { name.to_owned() } else { format!("{path}/{name}") }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(parent, _)| parent)
}
