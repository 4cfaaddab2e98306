//! What a fleet keeps between two reads: the directories below a root, and the records in them.
//!
//! `walk` brings them to what the disk says; `sharing` has several threads do it where nothing is known yet.

mod sharing;
mod walk;

use std::io;
use std::path::Path;

pub(crate) use sharing::{PieceEnd, Sharing};
use walk::Walk;

use super::fleet::{FleetOptions, LeftOut};
use super::seat::{Emptied, RECORD, Stored, Unreadable};
use crate::host::Host;
use crate::storage::{Directory, FileIdentity, Look};

/// Up to so many agents' directories are each looked at in every pass.
const ALL_UP_TO: usize = 1024;
/// Of more of them one in so many, in turn.
const MOST_TURNS: usize = 8;

/// The directories below a root.
#[derive(Default)]
pub(crate) struct Tree {
    root: Option<(FileIdentity, Folder)>,
    /// How many agents' directories with nothing below them the last pass went through.
    leaves: usize,
    passes: usize,
    /// How many records were links at the last pass.
    linked: usize,
    /// What the last pass left out.
    left_out: LeftOut,
}

struct Folder {
    /// Where the record is or would be, below the root.
    record_path: String,
    /// How much of that is the directory's own path; nothing for the root.
    path_bytes: u32,
    /// What the directory looked like when it was listed last; none where it has to be listed again in any case.
    look: Option<Look>,
    /// The directories in it, by their names.
    below: Vec<Folder>,
    /// What stands at the record's name, where anything does.
    kept: Option<Kept>,
    left_out: Own,
}

/// What was left out in one directory.
#[derive(Default)]
struct Own {
    too_deep: u64,
    unnameable: u64,
    /// Why it could not be listed, or searched for a record.
    unreadable: Option<io::Error>,
}

struct Kept {
    stored: Stored,
    /// None where `stat` cannot tell whether it has changed.
    look: Option<Look>,
}

/// Which directories a pass asks anything of.
pub(crate) enum Scope<'a> {
    /// All of them.
    Everything,
    /// Those of which this says so, by their paths, and whatever is new.
    Only(&'a dyn Fn(&str) -> Asked),
}

/// What a pass asks of one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing.
    Nothing,
    /// Whether it has changed, and whether its record has.
    Look,
    /// The same, as if it had never been looked at.
    Anew,
}

/// One pass.
pub(crate) struct Pass<'a> {
    root: &'a Path,
    host: &'a Host,
    bounds: &'a FleetOptions,
    scope: Scope<'a>,
    /// Told of each directory just before anything in it is looked at for the first time.
    entering: Option<&'a mut dyn FnMut(&str)>,
    /// Told of each directory in which something was read anew, or stands no longer.
    touched: Option<&'a mut dyn FnMut(&str)>,
    /// Handed each record as soon as it was read, of which nothing is kept then: for a pass after which there is none.
    handed: Option<Taker<'a>>,
    /// Other threads that walk too, where the tree is new and nobody is told of anything.
    sharing: Option<Sharing<'a>>,
}

/// Who takes a record, by the root and the path of its directory below that.
pub(crate) type Taker<'a> = &'a mut dyn FnMut(&dyn Directory, &str, &Stored);

impl<'a> Pass<'a> {
    pub(crate) fn new(root: &'a Path, host: &'a Host, bounds: &'a FleetOptions, scope: Scope<'a>) -> Self {
        Pass { root, host, bounds, scope, entering: None, touched: None, handed: None, sharing: None }
    }

    /// With somebody who takes each record, so that the tree is worth nothing afterwards.
    pub(crate) fn handing(self, handed: Taker<'a>) -> Self {
        Pass { handed: Some(handed), ..self }
    }

    /// With other threads, for a tree of which nothing is known.
    pub(crate) fn sharing(self, sharing: Sharing<'a>) -> Self {
        Pass { sharing: Some(sharing), ..self }
    }

    /// With somebody who is told; see the fields.
    pub(crate) fn telling(self, entering: &'a mut dyn FnMut(&str), touched: &'a mut dyn FnMut(&str)) -> Self {
        Pass { entering: Some(entering), touched: Some(touched), ..self }
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tree").field("leaves", &self.leaves).finish_non_exhaustive()
    }
}

impl Tree {
    /// Makes the tree what the disk says, and answers what was left out.
    pub(crate) fn refresh(&mut self, pass: &mut Pass<'_>) -> LeftOut {
        let at_ms = pass.host.clock.wall_ms();
        let opened = pass.host.files.open(pass.root).and_then(|directory| {
            let identity = directory.identity()?;
            Ok((directory, identity))
        });
        let (directory, identity) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                    self.forget_all(pass);
                } else {
                    let example = Some(format!("{}: {error}", pass.root.display()));
                    self.left_out = LeftOut { unreadable: 1, example, ..LeftOut::default() };
                    if let Some((_, folder)) = &mut self.root {
                        folder.cannot_be_read(&error);
                        if let Some(touched) = &mut pass.touched {
                            folder.tell_all(*touched);
                        }
                    }
                }
                return self.left_out.clone();
            }
        };
        if self.root.as_ref().is_some_and(|(known, _)| *known != identity) {
            self.forget_all(pass);
        }
        let (_, folder) = self.root.get_or_insert_with(|| (identity, Folder::root()));
        let turns = self.leaves.div_ceil(ALL_UP_TO).clamp(1, MOST_TURNS);
        let mut walk = Walk {
            directory: &*directory,
            at_ms,
            counts_subdirectories: directory.counts_subdirectories(),
            records_left: pass.bounds.max_records,
            directories_left: pass.bounds.max_directories,
            leaves: 0,
            linked: 0,
            turn: self.passes % turns,
            turns,
            buffer: Vec::new(),
            emptied: Emptied::default(),
            listed: None,
            left_out: LeftOut::default(),
            pass,
        };
        let stands = walk.go(folder, 0);
        let leaves = walk.leaves;
        self.linked = walk.linked;
        self.left_out = walk.left_out;
        if matches!(pass.scope, Scope::Everything) {
            self.leaves = leaves;
            self.passes = self.passes.wrapping_add(1);
        }
        if !stands {
            self.forget_all(pass);
        }
        self.left_out.clone()
    }

    /// Whether nothing is known of it.
    pub(crate) fn is_new(&self) -> bool {
        self.root.is_none()
    }

    fn forget_all(&mut self, pass: &mut Pass<'_>) {
        if let (Some((_, folder)), Some(touched)) = (self.root.take(), &mut pass.touched) {
            folder.tell_all(*touched);
        }
        self.left_out = LeftOut::default();
    }

    /// Visits every directory in which something stands, in the order of their paths.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, &'a Stored)) {
        if let Some((_, folder)) = &self.root {
            folder.for_each(visit);
        }
    }

    /// What stands in one directory, by its path.
    pub(crate) fn get(&self, path: &str) -> Option<&Stored> {
        let (_, root) = self.root.as_ref()?;
        let mut folder = root;
        for name in path.split('/').filter(|name| *name != ".") {
            let position = folder.below.binary_search_by(|below| below.name().cmp(name)).ok()?;
            folder = &folder.below[position];
        }
        folder.kept.as_ref().map(|kept| &kept.stored)
    }

    /// Whether a record is a link, of whose target no directory here tells.
    pub(crate) fn has_linked_record(&self) -> bool {
        self.linked > 0
    }
}

/// Where the record of a directory in another one is.
fn join(record_path: &mut String, above: &Folder, name: &str) {
    if above.path_bytes > 0 {
        record_path.push_str(above.path());
        record_path.push('/');
    }
    for part in [name, "/", RECORD] {
        record_path.push_str(part);
    }
}

impl Folder {
    /// The root, or a directory that is given its place afterwards.
    fn root() -> Self {
        Folder::at(RECORD.to_owned())
    }

    /// A directory in another one.
    fn below(above: &Folder, name: &str) -> Self {
        let length = above.path_bytes as usize + "/".len() + name.len() + "/".len() + RECORD.len();
        let mut record_path = String::with_capacity(length);
        join(&mut record_path, above, name);
        Folder::at(record_path)
    }

    /// The same in the memory of one of which nothing is kept.
    fn put_below(&mut self, above: &Folder, name: &str) {
        let mut record_path = std::mem::take(&mut self.record_path);
        record_path.clear();
        join(&mut record_path, above, name);
        *self = Folder::at(record_path);
    }

    fn at(record_path: String) -> Self {
        let above = record_path.len().saturating_sub("/".len() + RECORD.len());
        let path_bytes = u32::try_from(above).unwrap_or_default();
        Folder {
            record_path,
            path_bytes,
            look: None,
            below: Vec::new(),
            kept: None,
            left_out: Own::default(),
        }
    }

    /// The directory below the root, `.` for the root itself.
    fn path(&self) -> &str {
        match self.path_bytes as usize {
            0 => ".",
            length => &self.record_path[..length],
        }
    }

    fn name(&self) -> &str {
        self.path().rsplit('/').next().unwrap_or_default()
    }

    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, &'a Stored)) {
        if let Some(kept) = &self.kept {
            visit(self.path(), &kept.stored);
        }
        for folder in &self.below {
            folder.for_each(visit);
        }
    }

    /// What is known to have stood there cannot be read at the moment, which is not that nothing stands there.
    fn cannot_be_read(&mut self, error: &io::Error) {
        self.look = None;
        if let Some(kept) = &mut self.kept {
            let error = match error.raw_os_error() {
                Some(errno) => io::Error::from_raw_os_error(errno),
                None => error.kind().into(),
            };
            *kept = Kept { stored: Stored::Unreadable(Unreadable::Io(error)), look: None };
        }
        self.below.iter_mut().for_each(|folder| folder.cannot_be_read(error));
    }

    fn tell_all(&self, touched: &mut dyn FnMut(&str)) {
        if self.kept.is_some() {
            touched(self.path());
        }
        for folder in &self.below {
            folder.tell_all(touched);
        }
    }
}
