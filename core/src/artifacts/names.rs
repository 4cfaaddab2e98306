//! Folded paths and every directory above them: which of them are one name to some file system (EX-ART-11 to EX-ART-15).

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use super::detail::Detail;
use super::fold::fold_into;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

/// A name that is asked for, and what was found of it among those that are tracked.
#[derive(Debug)]
pub(super) struct Name {
    spelling: Box<[u8]>,
    pub(super) kind: Kind,
    /// The first entry that uses it.
    pub(super) entry: usize,
    /// Tracked with this very spelling, as a directory and as a file.
    pub(super) is_directory: bool,
    pub(super) is_file: bool,
    /// Something with another spelling is tracked.
    pub(super) has_alias: bool,
}

/// Names by their foldings.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: HashMap<Box<[u8]>, Name>,
}

impl Names {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.names.values()
    }

    /// Adds a path with all directories above it.
    ///
    /// # Errors
    /// What it clashes with among those that were added before.
    pub(super) fn add(
        &mut self,
        path: &[u8],
        entry: usize,
        last: Kind,
        walk: &mut Walk,
    ) -> Result<(), Detail> {
        walk.visit(path, last, |spelling, folded, kind| match self.names.entry(folded.into()) {
            Slot::Vacant(free) => {
                let spelling = spelling.into();
                let name =
                    Name { spelling, kind, entry, is_directory: false, is_file: false, has_alias: false };
                free.insert(name);
                Ok(())
            }
            Slot::Occupied(taken) => {
                let taken = taken.get();
                match (&*taken.spelling == spelling, taken.kind == kind, kind) {
                    (true, true, Kind::Directory) => Ok(()),
                    (true, true, Kind::File) => Err(Detail::Duplicate),
                    (_, false, _) => Err(Detail::FileAndDirectory),
                    (false, true, _) => Err(Detail::Alias),
                }
            }
        })
    }

    /// Notes a tracked path, with all directories above it, where it meets a name. `exact` is told of the entry whose path it
    /// is. Where `aliases` is not set, only the same spelling counts.
    pub(super) fn meet(
        &mut self,
        path: &[u8],
        last: Kind,
        aliases: bool,
        walk: &mut Walk,
        mut exact: impl FnMut(usize),
    ) {
        let met = walk.visit(path, last, |spelling, folded, kind| {
            if let Some(name) = self.names.get_mut(folded) {
                if &*name.spelling != spelling {
                    name.has_alias |= aliases;
                } else if kind == Kind::Directory {
                    name.is_directory = true;
                } else {
                    name.is_file = true;
                    if name.kind == Kind::File {
                        exact(name.entry);
                    }
                }
            }
            Ok(())
        });
        debug_assert!(met.is_ok(), "nothing here refuses");
    }
}

/// Walks over paths, and over each directory once as long as paths that share it follow each other.
#[derive(Debug, Default)]
pub(super) struct Walk {
    path: Vec<u8>,
    folded: Vec<u8>,
    /// Where each directory of the last path ends, in itself and in its folding.
    ends: Vec<(usize, usize)>,
}

impl Walk {
    fn visit(
        &mut self,
        path: &[u8],
        last: Kind,
        mut each: impl FnMut(&[u8], &[u8], Kind) -> Result<(), Detail>,
    ) -> Result<(), Detail> {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        while self.ends.last().is_some_and(|(end, _)| *end >= common) {
            self.ends.pop();
        }
        let (mut from, kept) = self.ends.last().map_or((0, 0), |(end, folded)| (end + 1, *folded));
        self.folded.truncate(kept);
        self.path.clear();
        self.path.extend_from_slice(path);
        loop {
            let end = path[from..].iter().position(|byte| *byte == b'/').map(|length| from + length);
            if !self.ends.is_empty() {
                self.folded.push(b'/');
            }
            fold_into(&path[from..end.unwrap_or(path.len())], &mut self.folded);
            match end {
                Some(end) => {
                    self.ends.push((end, self.folded.len()));
                    each(&path[..end], &self.folded, Kind::Directory)?;
                    from = end + 1;
                }
                None => return each(path, &self.folded, last),
            }
        }
    }
}
