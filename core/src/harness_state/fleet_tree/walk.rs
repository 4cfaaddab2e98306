//! A walk through the tree, by which it becomes what the disk says.
//!
//! It goes in the order of the paths. Of each directory it asks `stat` first and the record afterwards, and it enters what is
//! below last, so that what was removed, moved or put in a place is noticed above before anything is read under that path.
//! Names are resolved below the root's descriptor, so that no directory is opened but to be listed.

use std::io;
use std::ops::Range;

use super::{Asked, Folder, Kept, Own, Pass, Scope};
use crate::harness_state::codec::MAX_RECORD_BYTES;
use crate::harness_state::fleet::LeftOut;
use crate::harness_state::seat::{Emptied, Stored, Unreadable};
use crate::storage::{Directory, FileType, Look, Metadata};

/// Where a pass stands.
pub(super) struct Walk<'a, 'b> {
    pub(super) pass: &'b mut Pass<'a>,
    pub(super) directory: &'b dyn Directory,
    /// The wall clock before the pass asked anything.
    pub(super) at_ms: u64,
    pub(super) counts_subdirectories: bool,
    pub(super) records_left: usize,
    pub(super) directories_left: usize,
    pub(super) leaves: usize,
    pub(super) linked: usize,
    pub(super) turn: usize,
    pub(super) turns: usize,
    pub(super) buffer: Vec<u8>,
    /// The memory of records that were handed on.
    pub(super) emptied: Emptied,
    /// What is in the directory that was listed last, where it is gone through name by name.
    pub(super) listed: Option<Names>,
    pub(super) left_out: LeftOut,
}

/// The names of the directories in one, in the memory of one text.
#[derive(Default)]
pub(super) struct Names {
    joined: String,
    places: Vec<Range<usize>>,
}

impl Names {
    fn push(&mut self, name: &str) {
        let begin = self.joined.len();
        self.joined.push_str(name);
        self.places.push(begin..self.joined.len());
    }

    fn sort(&mut self) {
        let joined = &self.joined;
        self.places.sort_unstable_by(|a, b| joined[a.clone()].cmp(&joined[b.clone()]));
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| &self.joined[place.clone()])
    }
}

/// Whether a directory stands where it was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unchanged,
    Changed,
    Gone,
}

impl Walk<'_, '_> {
    /// Goes through a directory and what is below it; `false` where it stands no longer.
    pub(super) fn go(&mut self, folder: &mut Folder, depth: u32) -> bool {
        self.directories_left -= 1;
        let asked = match &self.pass.scope {
            _ if folder.look.is_none() => Asked::Look,
            Scope::Everything => Asked::Look,
            Scope::Only(asked) => asked(folder.path()),
        };
        if asked == Asked::Anew {
            folder.look = None;
        }
        if asked != Asked::Nothing && !self.look_at(folder, depth) {
            return false;
        }
        if let Some(kept) = &folder.kept {
            self.linked += usize::from(kept.look.is_none() && kept.stored.record().is_some());
            self.records_left -= 1;
            self.leaves += usize::from(folder.below.is_empty());
        }
        if let Some(handed) = &mut self.pass.handed
            && let Some(kept) = folder.kept.take()
        {
            handed(self.directory, folder.path(), &kept.stored);
            if let Stored::Parsed(parsed) = kept.stored {
                self.emptied.give(parsed);
            }
        }
        self.sum_up(folder);
        if let Some(names) = self.listed.take() {
            self.go_by_name(folder, &names, depth);
            return true;
        }
        let is_shared = self.shares(folder.below.len());
        let mut position = if is_shared { self.share_below(folder, depth) } else { 0 };
        while position < folder.below.len() {
            if self.is_full() {
                let rest = folder.below.split_off(position);
                self.left_out.too_many += rest.len() as u64;
                rest.iter().for_each(|folder| self.tell_all(folder));
                // What was cut off may fit in the next time.
                folder.look = None;
                break;
            }
            if self.go(&mut folder.below[position], depth + 1) {
                position += 1;
            } else {
                let gone = folder.below.remove(position);
                self.tell_all(&gone);
            }
        }
        if self.pass.handed.is_some() {
            folder.below = Vec::new();
        }
        true
    }

    /// Goes through directories of which nothing is kept, in the memory of one.
    fn go_by_name(&mut self, above: &Folder, names: &Names, depth: u32) {
        let mut folder = Folder::root();
        for (position, name) in names.iter().enumerate() {
            if self.is_full() {
                self.left_out.too_many += (names.len() - position) as u64;
                break;
            }
            folder.put_below(above, name);
            self.go(&mut folder, depth + 1);
        }
    }

    /// Whether the bounds are reached.
    pub(super) fn is_full(&self) -> bool {
        self.records_left == 0 || self.directories_left == 0
    }

    /// Looks at the directory and then at the record in it.
    fn look_at(&mut self, folder: &mut Folder, depth: u32) -> bool {
        let is_leaf = folder.look.is_some() && folder.kept.is_some() && folder.below.is_empty();
        let its_turn = self.leaves % self.turns == self.turn || matches!(self.pass.scope, Scope::Only(_));
        let mut standing = Standing::Unchanged;
        let mut looked = false;
        if !is_leaf || its_turn {
            standing = self.look_at_directory(folder, depth);
            looked = true;
        }
        if standing == Standing::Gone {
            return false;
        }
        if self.look_at_record(folder, standing) {
            if let Some(touched) = &mut self.pass.touched {
                touched(folder.path());
            }
            // Whoever publishes changes the directory, and whoever changes an agent's directory may put another in it.
            if !looked && self.look_at_directory(folder, depth) == Standing::Gone {
                return false;
            }
        }
        true
    }

    fn look_at_directory(&mut self, folder: &mut Folder, depth: u32) -> Standing {
        if folder.look.is_none() {
            self.enter(folder.path());
            if !self.counts_subdirectories {
                return self.list(folder, depth);
            }
        }
        match self.directory.metadata(folder.path()) {
            Ok(now) if now.file_type != FileType::Directory => Standing::Gone,
            Ok(now) if folder.look.is_some_and(|look| look.still_holds(&now)) => Standing::Unchanged,
            Ok(now) => {
                let is_another = folder.look.is_some_and(|look| look.metadata().identity != now.identity);
                if is_another {
                    self.enter(folder.path());
                }
                if !is_another && self.holds_no_directory(&now) {
                    folder.below.iter().for_each(|folder| self.tell_all(folder));
                    folder.below.clear();
                    folder.left_out = Own::default();
                    folder.look = Some(Look::new(now, self.at_ms));
                    return Standing::Changed;
                }
                self.list(folder, depth)
            }
            Err(error) => self.unreadable(folder, error),
        }
    }

    /// By its link count. On another device, a mounted one, the count may mean something else.
    fn holds_no_directory(&self, metadata: &Metadata) -> bool {
        self.counts_subdirectories
            && metadata.links == 2
            && self.directory.identity().is_ok_and(|root| root.device == metadata.identity.device)
    }

    fn list(&mut self, folder: &mut Folder, depth: u32) -> Standing {
        let mut names = Names::default();
        let (mut own, enters) = (Own::default(), depth < self.pass.bounds.max_depth);
        let listed = self.directory.list(folder.path(), &mut |name, file_type| {
            if file_type == FileType::Directory {
                match std::str::from_utf8(name) {
                    _ if !enters => own.too_deep += 1,
                    Ok(name) => names.push(name),
                    Err(_) => own.unnameable += 1,
                }
            }
        });
        let metadata = match listed {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(folder, error),
        };
        folder.left_out = own;
        folder.look = Some(Look::new(metadata, self.at_ms));
        names.sort();
        if self.pass.handed.is_some() && !self.shares(names.len()) {
            self.listed = Some(names);
        } else {
            self.keep(folder, &names);
        }
        Standing::Changed
    }

    /// Keeps of what is below a directory what is in it still, and makes what is new.
    fn keep(&mut self, folder: &mut Folder, names: &Names) {
        let mut known =
            std::mem::replace(&mut folder.below, Vec::with_capacity(names.len())).into_iter().peekable();
        for name in names.iter() {
            while let Some(gone) = known.next_if(|folder| folder.name() < name) {
                self.tell_all(&gone);
            }
            let below = known.next_if(|folder| folder.name() == name);
            let below = below.unwrap_or_else(|| Folder::below(folder, name));
            folder.below.push(below);
        }
        known.for_each(|gone| self.tell_all(&gone));
    }

    fn unreadable(&mut self, folder: &mut Folder, error: io::Error) -> Standing {
        let is_gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            || error.raw_os_error() == Some(libc::ELOOP);
        if is_gone {
            return Standing::Gone;
        }
        // What was known to be below is asked for itself.
        folder.look = None;
        folder.left_out = Own { unreadable: Some(error), ..Own::default() };
        Standing::Changed
    }

    /// Whether what stands there is another than before.
    fn look_at_record(&mut self, folder: &mut Folder, standing: Standing) -> bool {
        match &folder.kept {
            // A name that was missing in a directory without changes is still missing.
            None if standing == Standing::Unchanged => return false,
            Some(Kept { look: Some(look), .. }) => match self.directory.metadata(&folder.record_path) {
                Ok(now) if look.still_holds(&now) => return false,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    folder.kept = None;
                    return true;
                }
                Ok(_) | Err(_) => {}
            },
            None | Some(Kept { look: None, .. }) => {}
        }
        let was_there = folder.kept.take().is_some();
        folder.kept = self.read(folder, was_there);
        was_there || folder.kept.is_some()
    }

    fn read(&mut self, folder: &mut Folder, was_there: bool) -> Option<Kept> {
        let mut bytes = std::mem::take(&mut self.buffer);
        // A fleet cannot keep a descriptor for each record. The change that a reused inode would hide has a later time
        // of change, because the one that is kept was old when it was read.
        let file = self.directory.read_and_close(&folder.record_path, MAX_RECORD_BYTES, &mut bytes);
        let look = match &file {
            Ok(file) if !file.through_link => Some(Look::new(file.metadata, self.at_ms)),
            Ok(_) | Err(_) => None,
        };
        let mut stored = Stored::of_with(file, bytes, &mut self.emptied);
        match &mut stored {
            Stored::Absent => return None,
            Stored::Parsed(parsed) => self.buffer = std::mem::take(&mut parsed.bytes),
            // It could not be opened. Whether there is anything to be opened is another question.
            Stored::Unreadable(Unreadable::Io(_)) => match self.directory.metadata(&folder.record_path) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(error) => {
                    folder.left_out.unreadable.get_or_insert(error);
                    // Or the directory, which is as it was, would be taken for one without a record.
                    folder.look = None;
                    if !was_there {
                        return None;
                    }
                }
            },
            Stored::Unreadable(Unreadable::Malformed(..)) => {}
        }
        Some(Kept { stored, look })
    }

    fn sum_up(&mut self, folder: &Folder) {
        self.left_out.too_deep += folder.left_out.too_deep;
        self.left_out.unnameable += folder.left_out.unnameable;
        if let Some(error) = &folder.left_out.unreadable {
            self.left_out.unreadable += 1;
            if self.left_out.example.is_none() {
                self.left_out.example = Some(format!("{}: {error}", folder.path()));
            }
        }
    }

    fn enter(&mut self, path: &str) {
        if let Some(entering) = &mut self.pass.entering {
            entering(path);
        }
    }

    fn tell_all(&mut self, folder: &Folder) {
        if let Some(touched) = &mut self.pass.touched {
            folder.tell_all(*touched);
        }
    }
}
