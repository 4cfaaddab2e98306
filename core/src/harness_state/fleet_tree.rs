//! What a fleet keeps between two reads: the directories below a root, and the records in them.
//!
//! A pass goes through the tree in the order of the paths. Of each directory it asks `stat` first and the record
//! afterwards, and it enters what is below last, so that what was removed, moved or put in a place is noticed above
//! before anything is read under that path. Names are resolved below the root's descriptor, so that no directory is
//! opened but to be listed.

mod sharing;

use std::io;
use std::path::Path;

pub(crate) use sharing::{PieceEnd, Sharing};

use super::codec::{self, MAX_RECORD_BYTES};
use super::fleet::{FleetOptions, LeftOut};
use super::seat::{RECORD, Stored, Unreadable};
use crate::host::Host;
use crate::json::strict::Spare;
use crate::storage::{Directory, FileIdentity, FileType, Look, Metadata};

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
    record_path: Box<str>,
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

/// Where a pass stands.
struct Walk<'a, 'b> {
    pass: &'b mut Pass<'a>,
    directory: &'b dyn Directory,
    /// The wall clock before the pass asked anything.
    at_ms: u64,
    counts_subdirectories: bool,
    records_left: usize,
    directories_left: usize,
    leaves: usize,
    linked: usize,
    turn: usize,
    turns: usize,
    buffer: Vec<u8>,
    /// The memory of records that were handed on.
    spare: Spare,
    left_out: LeftOut,
}

/// Whether a directory stands where it was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unchanged,
    Changed,
    Gone,
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
        let (_, folder) = self.root.get_or_insert_with(|| (identity, Folder::new(RECORD.into())));
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
            spare: Spare::default(),
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

impl Folder {
    fn new(record_path: Box<str>) -> Self {
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

impl Walk<'_, '_> {
    /// Goes through a directory and what is below it; `false` where it stands no longer.
    fn go(&mut self, folder: &mut Folder, depth: u32) -> bool {
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
            if let Stored::Parsed(mut parsed) = kept.stored {
                codec::take_apart(&mut parsed.record, &mut self.spare);
            }
        }
        self.sum_up(folder);
        let mut position = if self.is_shared(folder) { self.share_below(folder, depth) } else { 0 };
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

    /// Whether the bounds are reached.
    fn is_full(&self) -> bool {
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
        let (mut joined, mut places) = (String::new(), Vec::new());
        let (mut own, enters) = (Own::default(), depth < self.pass.bounds.max_depth);
        let listed = self.directory.list(folder.path(), &mut |name, file_type| {
            if file_type == FileType::Directory {
                match std::str::from_utf8(name) {
                    _ if !enters => own.too_deep += 1,
                    Ok(name) => {
                        places.push(joined.len()..joined.len() + name.len());
                        joined.push_str(name);
                    }
                    Err(_) => own.unnameable += 1,
                }
            }
        });
        let metadata = match listed {
            Ok(metadata) => metadata,
            Err(error) => return self.unreadable(folder, error),
        };
        let mut names: Vec<&str> = places.into_iter().map(|place| &joined[place]).collect();
        names.sort_unstable();
        let mut known =
            std::mem::replace(&mut folder.below, Vec::with_capacity(names.len())).into_iter().peekable();
        for name in names {
            while let Some(gone) = known.next_if(|folder| folder.name() < name) {
                self.tell_all(&gone);
            }
            folder.below.push(match known.next_if(|folder| folder.name() == name) {
                Some(folder) => folder,
                None if folder.path() == "." => Folder::new([name, "/", RECORD].concat().into()),
                None => Folder::new([folder.path(), "/", name, "/", RECORD].concat().into()),
            });
        }
        known.for_each(|gone| self.tell_all(&gone));
        folder.left_out = own;
        folder.look = Some(Look::new(metadata, self.at_ms));
        Standing::Changed
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
        let mut stored = Stored::of_with(file, bytes, &mut self.spare);
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
