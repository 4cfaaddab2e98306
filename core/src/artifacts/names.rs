//! Folded names, directory by directory: which paths, and which directories above them, are one name to some file system
//! (EX-ART-11 to EX-ART-15).
//!
//! A tree of components, each found by its directory and its folding. A long path costs what it is long, and not that for
//! each of its directories.

use std::collections::HashMap;

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
pub(super) struct Name<'a> {
    /// Its last component.
    spelling: &'a [u8],
    pub(super) kind: Kind,
    /// The first entry that uses it.
    pub(super) entry: usize,
    /// Tracked with this very spelling, as a directory and as a file.
    pub(super) is_directory: bool,
    pub(super) is_file: bool,
    /// Something with another spelling is tracked.
    pub(super) has_alias: bool,
}

/// The number of the root, which has no name.
const ROOT: u32 = u32::MAX;

/// Names by their directory and their folding.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    names: Vec<Name<'a>>,
    /// The number of the directory, then the folded component.
    numbers: HashMap<Box<[u8]>, u32>,
    key: Vec<u8>,
}

impl<'a> Names<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Name<'a>> {
        self.names.iter()
    }

    /// The number of a component, with its key left in `self.key`.
    fn find(&mut self, directory: u32, component: &[u8]) -> Option<u32> {
        self.key.clear();
        self.key.extend_from_slice(&directory.to_le_bytes());
        fold_into(component, &mut self.key);
        self.numbers.get(&*self.key).copied()
    }

    /// Adds a path with all directories above it.
    ///
    /// # Errors
    /// What it clashes with among those that were added before; the names are of no use then.
    pub(super) fn add(
        &mut self,
        path: &'a [u8],
        entry: usize,
        last: Kind,
        walk: &mut Walk,
    ) -> Result<(), Detail> {
        let (mut from, Step { node, .. }) = walk.resume(path);
        let mut directory = node.unwrap_or(ROOT);
        loop {
            let (component, end, kind) = component(path, from, last);
            let number = match self.find(directory, component) {
                None => {
                    let number = u32::try_from(self.names.len()).unwrap_or(ROOT);
                    let (is_directory, is_file, has_alias) = (false, false, false);
                    let name = Name { spelling: component, kind, entry, is_directory, is_file, has_alias };
                    self.names.push(name);
                    self.numbers.insert(self.key.as_slice().into(), number);
                    number
                }
                Some(number) => {
                    let name = &self.names[number as usize];
                    match (name.spelling == component, name.kind == kind, kind) {
                        (true, true, Kind::Directory) => number,
                        (true, true, Kind::File) => return Err(Detail::Duplicate),
                        (_, false, _) => return Err(Detail::FileAndDirectory),
                        (false, true, _) => return Err(Detail::Alias),
                    }
                }
            };
            if end == path.len() {
                return Ok(());
            }
            walk.steps.push(Step { end, node: Some(number), differs: false });
            (from, directory) = (end + 1, number);
        }
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
        let (mut from, Step { node, mut differs, .. }) = walk.resume(path);
        let mut directory = node;
        while let Some(number) = directory {
            let (component, end, kind) = component(path, from, last);
            directory = self.find(number, component);
            if let Some(number) = directory {
                let name = &mut self.names[number as usize];
                differs |= name.spelling != component;
                if differs {
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
            if end == path.len() {
                return;
            }
            // Below a name that is not asked for there is nothing to meet.
            walk.steps.push(Step { end, node: directory, differs });
            from = end + 1;
        }
    }
}

/// The component that begins there, where it ends, and what it stands for.
fn component(path: &[u8], from: usize, last: Kind) -> (&[u8], usize, Kind) {
    match path[from..].iter().position(|byte| *byte == b'/') {
        Some(length) => (&path[from..from + length], from + length, Kind::Directory),
        None => (&path[from..], path.len(), last),
    }
}

/// The directories of the path before, so that each is looked up once as long as paths that share it follow each other.
#[derive(Debug, Default)]
pub(super) struct Walk {
    path: Vec<u8>,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Where the directory ends in the path.
    end: usize,
    /// Its number; `None` where nothing asks for it.
    node: Option<u32>,
    /// Whether it, or a directory above it, is spelled differently.
    differs: bool,
}

impl Walk {
    /// Where the first component begins that this path does not share with the one before, and the directory that it is in.
    fn resume(&mut self, path: &[u8]) -> (usize, Step) {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        while self.steps.last().is_some_and(|step| step.end >= common) {
            self.steps.pop();
        }
        self.path.clear();
        self.path.extend_from_slice(path);
        match self.steps.last() {
            Some(step) => (step.end + 1, *step),
            None => (0, Step { end: 0, node: Some(ROOT), differs: false }),
        }
    }
}
