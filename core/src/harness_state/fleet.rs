//! A fleet: every record below a directory, in one call (HS-92).
//!
//! The first read walks the tree. What it found is kept, and the next read asks `stat` only for what stands there still.
//! Conclusions are drawn anew at each read, because the clock moves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::derive::{Derived, DerivedRef, derive};
use super::fleet_tree::{Pass, PieceEnd, Scope, Sharing, Taker, Tree};
use super::moment::Moment;
use super::options::Options;
use super::probe::{lease_liveness, lease_liveness_at, within_budget};
use super::record::Record;
use super::seat::{LEASE, Stored};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::Liveness;
use crate::storage::{Directory, ForkSafe};

/// Entries in a part that the calling thread gathers alone.
const ENTRIES_A_PART: usize = 512;

/// How far a fleet is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetOptions {
    /// How many levels of directories below the root are entered; 0 looks at the root alone. Default 8 (HS-92), at
    /// most 128.
    pub max_depth: u32,
    /// How many records are read, at least 1. Default 100,000 (HS-92).
    pub max_records: usize,
    /// How many directories are entered, whether they hold a record or not. Default 200,000: as many again as records,
    /// so that a tree of something else below the root ends the walk within seconds.
    pub max_directories: usize,
    /// How many threads walk a tree of which nothing is known yet: the calling one alone by default, because a library starts
    /// no threads unasked; at most 64. The others have ended once the call returns. What is found, its order and what is left
    /// out are the same whatever the number.
    pub threads: usize,
}

impl Default for FleetOptions {
    fn default() -> Self {
        FleetOptions { max_depth: 8, max_records: 100_000, max_directories: 200_000, threads: 1 }
    }
}

impl FleetOptions {
    /// The root is always looked at. A walk deeper than 128 levels would follow paths that the system refuses.
    pub(crate) fn within_reason(&self) -> Self {
        FleetOptions {
            max_depth: self.max_depth.min(128),
            max_records: self.max_records.max(1),
            max_directories: self.max_directories.max(1),
            threads: self.threads.clamp(1, 64),
        }
    }
}

/// Whether the sessions behind live records are asked for (HS-80).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FleetProbe {
    /// No: a live record counts as it stands.
    #[default]
    None,
    /// The lease of each seat, as [`LeaseProbe`](super::LeaseProbe) does. Some ten system calls for each live record.
    Lease,
}

/// What a walk did not look at. Nothing of it hides anything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Directories below the last level that is entered.
    pub too_deep: u64,
    /// Directories that were known and not entered when the number of records or of directories was reached. They are
    /// the last ones in the order of their paths.
    pub too_many: u64,
    /// Directories that could not be listed or searched. Where the record in one can be read, it is.
    pub unreadable: u64,
    /// Directories whose names are not UTF-8.
    pub unnameable: u64,
    /// The first of the unreadable directories and why, in one line for people.
    pub example: Option<String>,
}

impl LeftOut {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.too_deep == 0 && self.too_many == 0 && self.unreadable == 0 && self.unnameable == 0
    }
}

/// One record of a fleet, lent for the length of a visit.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    /// The agent's directory by its path below the root, `.` for the root itself.
    pub path: &'a str,
    /// What may be concluded from what stands there.
    pub derived: DerivedRef<'a>,
    /// The record, where one was read and decoded.
    pub record: Option<&'a Record>,
}

/// What a visit says besides its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetSummary {
    /// How many entries there were.
    pub entries: usize,
    /// The instant at which the first of these answers changes by time alone, wall clock in ms since 1970; none where
    /// time alone changes none (HS-90).
    pub valid_until_ms: Option<u64>,
    /// What was not looked at.
    pub left_out: LeftOut,
}

/// One record of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetEntry {
    /// As [`EntryRef::path`].
    pub path: String,
    /// What may be concluded from what stands there.
    pub derived: Derived,
}

/// Every record of a fleet, in the order of their paths: name by name, each by its bytes, a directory before what is
/// below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetView {
    /// The records.
    pub entries: Vec<FleetEntry>,
    /// As [`FleetSummary::valid_until_ms`].
    pub valid_until_ms: Option<u64>,
    /// What was not looked at.
    pub left_out: LeftOut,
}

/// A root directory whose records are read again and again. May be shared by threads, of which one reads at a time. A
/// forked child may go on using it, and begins with a walk.
///
/// Links are not followed on the way; a record may be a link, as everywhere (HS-28). A record that stands unchanged is
/// not opened again; unchanged is what [`Look::still_holds`](crate::storage::Look::still_holds) says. So is a directory
/// without changes not listed again. What costs a system call in an unchanged fleet: each record, each directory that
/// holds none or that has directories in it, and of the others (an agent's own, with nothing below) all in a fleet of up
/// to 1,024 of them, else a part in turn, an eighth at least. In such a large fleet a record that appears *below* an
/// agent's own directory, where no directory was before, is found by the eighth read at the latest.
#[derive(Debug)]
pub struct Fleet {
    root: PathBuf,
    bounds: FleetOptions,
    options: Options,
    host: Host,
    tree: ForkSafe<Tree>,
}

/// Reads every record below a directory once. For more than one read open a [`Fleet`].
///
/// # Errors
/// As [`Fleet::open`].
pub fn read_fleet(
    root: impl AsRef<Path>,
    bounds: &FleetOptions,
    probe: FleetProbe,
    options: &Options,
    host: &Host,
) -> Result<FleetView> {
    Ok(Fleet::open(root, bounds, options, host)?.read(probe))
}

/// As [`read_fleet`], keeping nothing: what a program does that reads once and ends. `add` makes of each entry, as soon as its
/// record was read, what is wanted of it, and adds that to a part; `take` is handed the parts, on the calling thread and in
/// the order of the paths. A part is of some hundred entries, or what one thread has of a piece of the tree where
/// [`FleetOptions::threads`] says several: then `add` runs on each of them.
///
/// # Errors
/// As [`Fleet::open`].
pub fn gather_fleet<P: Default + Send>(
    root: impl AsRef<Path>,
    bounds: &FleetOptions,
    probe: FleetProbe,
    options: &Options,
    host: &Host,
    add: impl Fn(&mut P, EntryRef<'_>) + Sync,
    take: impl FnMut(P),
) -> Result<FleetSummary> {
    let root = absolute(root.as_ref(), host)?;
    let bounds = bounds.within_reason();
    let see =
        |part: &mut Part<P>, now: &mut Moment, directory: &dyn Directory, path: &str, stored: &Stored| {
            // No record that was read is of the future.
            if stored.record().is_some_and(|record| record.written_at_ms > now.wall_ms) {
                *now = Moment::now(host);
            }
            let mut ask = || ask_lease_below(directory, path, stored, options, host);
            let Some(derived) = derive_asking(stored, probe, now, options, &mut ask) else { return };
            part.entries += 1;
            part.valid_until_ms = earlier(part.valid_until_ms, derived.valid_until_ms);
            add(&mut part.own, EntryRef { path, derived, record: stored.record() });
        };
    let gathered = Mutex::new(BTreeMap::new());
    let pieces = || gathered.lock().unwrap_or_else(PoisonError::into_inner);
    let gather = |number: usize, walk: &mut dyn FnMut(Taker<'_>)| {
        let (mut part, mut now) = (Part::default(), Moment::now(host));
        walk(&mut |directory, path, stored| see(&mut part, &mut now, directory, path, stored));
        pieces().insert(number, part);
    };
    let taking = RefCell::new(Taking { take, part: Part::default(), summary: FleetSummary::default() });
    let mut end = |number: usize, how: PieceEnd| {
        let part = pieces().remove(&number);
        if let Some(part) = part.filter(|_| how == PieceEnd::Kept) {
            let taking = &mut *taking.borrow_mut();
            taking.hand_over();
            taking.part = part;
            taking.hand_over();
        }
    };
    let mut now = Moment::now(host);
    let mut hand = |directory: &dyn Directory, path: &str, stored: &Stored| {
        let taking = &mut *taking.borrow_mut();
        see(&mut taking.part, &mut now, directory, path, stored);
        if taking.part.entries >= ENTRIES_A_PART {
            taking.hand_over();
        }
    };
    let mut pass = Pass::new(&root, host, &bounds, Scope::Everything).handing(&mut hand);
    if bounds.threads > 1 {
        pass = pass.sharing(Sharing::handing(bounds.threads, &gather, &mut end));
    }
    let left_out = Tree::default().refresh(&mut pass);
    let mut taking = taking.into_inner();
    taking.hand_over();
    Ok(FleetSummary { left_out, ..taking.summary })
}

/// What one thread has gathered.
#[derive(Default)]
struct Part<P> {
    own: P,
    entries: usize,
    valid_until_ms: Option<u64>,
}

/// What is handed over on the calling thread.
struct Taking<P, T> {
    take: T,
    /// What this thread has gathered since.
    part: Part<P>,
    summary: FleetSummary,
}

impl<P: Default, T: FnMut(P)> Taking<P, T> {
    fn hand_over(&mut self) {
        let part = std::mem::take(&mut self.part);
        if part.entries > 0 {
            self.summary.entries += part.entries;
            self.summary.valid_until_ms = earlier(self.summary.valid_until_ms, part.valid_until_ms);
            (self.take)(part.own);
        }
    }
}

impl Fleet {
    /// A fleet below a directory that need not exist yet. Touches no file.
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `path` for the empty path and for a working directory that cannot be told.
    pub fn open(
        root: impl AsRef<Path>,
        bounds: &FleetOptions,
        options: &Options,
        host: &Host,
    ) -> Result<Self> {
        let root = absolute(root.as_ref(), host)?;
        let bounds = bounds.within_reason();
        let tree = ForkSafe::new(Tree::default);
        Ok(Fleet { root, bounds, options: options.clone(), host: host.clone(), tree })
    }

    /// The root, as an absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every record, and what may be concluded from each now. Never fails: a record that cannot be read is an entry that
    /// is unknown, what was not looked at is said, and a root that does not exist has no entries.
    #[must_use]
    pub fn read(&self, probe: FleetProbe) -> FleetView {
        let mut entries = Vec::new();
        let summary = self.for_each(probe, |entry| {
            entries.push(FleetEntry { path: entry.path.to_owned(), derived: entry.derived.to_derived() });
        });
        FleetView { entries, valid_until_ms: summary.valid_until_ms, left_out: summary.left_out }
    }

    /// As [`Fleet::read`], lending each entry in turn and copying none: nothing is allocated for an entry that stands
    /// unchanged. `visit` runs while the fleet is locked and so must not read the same fleet.
    pub fn for_each(&self, probe: FleetProbe, mut visit: impl FnMut(EntryRef<'_>)) -> FleetSummary {
        let mut tree = self.tree.lock();
        let mut pass = Pass::new(&self.root, &self.host, &self.bounds, Scope::Everything);
        if self.bounds.threads > 1 && tree.is_new() {
            pass = pass.sharing(Sharing::among(self.bounds.threads));
        }
        let left_out = tree.refresh(&mut pass);
        let now = Moment::now(&self.host);
        let mut summary = FleetSummary { left_out, ..FleetSummary::default() };
        tree.for_each(&mut |path, stored| {
            let derived = derive_seat(&self.root, path, stored, probe, &now, &self.options, &self.host);
            let Some(derived) = derived else { return };
            summary.entries += 1;
            summary.valid_until_ms = earlier(summary.valid_until_ms, derived.valid_until_ms);
            visit(EntryRef { path, derived, record: stored.record() });
        });
        summary
    }

    /// Forgets what was found, so that the next read walks the whole tree again.
    pub fn forget(&self) {
        *self.tree.lock() = Tree::default();
    }
}

/// # Errors
/// `HARNESS_STATE_INPUT` with reason `path`.
pub(crate) fn absolute(path: &Path, host: &Host) -> Result<PathBuf> {
    host.files.absolute(path).map_err(|error| {
        let message = format!("the directory's path cannot be used, path=`{}`", path.display());
        Error::new(Code::HarnessStateInput, message).with_reason("path").with_source(error)
    })
}

/// The earlier of two instants, of which either may be missing.
pub(crate) fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What may be concluded of one seat of a fleet.
pub(crate) fn derive_seat<'a>(
    root: &Path,
    path: &str,
    stored: &'a Stored,
    probe: FleetProbe,
    at: &Moment,
    options: &Options,
    host: &Host,
) -> Option<DerivedRef<'a>> {
    derive_asking(stored, probe, at, options, &mut || ask_lease(root, path, stored, options, host))
}

fn derive_asking<'a>(
    stored: &'a Stored,
    probe: FleetProbe,
    at: &Moment,
    options: &Options,
    ask: &mut dyn FnMut() -> Liveness,
) -> Option<DerivedRef<'a>> {
    let ask = match probe {
        FleetProbe::None => None,
        FleetProbe::Lease => Some(ask),
    };
    derive(stored, options, at, ask)
}

/// What the lease of one seat proves.
pub(crate) fn ask_lease(
    root: &Path,
    path: &str,
    stored: &Stored,
    options: &Options,
    host: &Host,
) -> Liveness {
    let Some(record) = stored.record() else { return Liveness::Indeterminate };
    within_budget(&*host.clock, options.probe_budget, || match host.files.open_to_read(&root.join(path)) {
        Ok(directory) => lease_liveness(&*directory, record),
        Err(_) => Liveness::Indeterminate,
    })
}

/// As [`ask_lease`], below the root that was opened: where no lease stands, one call says so.
fn ask_lease_below(
    root: &dyn Directory,
    path: &str,
    stored: &Stored,
    options: &Options,
    host: &Host,
) -> Liveness {
    let Some(record) = stored.record() else { return Liveness::Indeterminate };
    within_budget(&*host.clock, options.probe_budget, || {
        let lease = [path, "/", LEASE].concat();
        // Locks are opened one at a time in a process, for the sake of forks; that none stands there threads see at once.
        match root.metadata(&lease) {
            Ok(_) => lease_liveness_at(root, &lease, record),
            Err(_) => Liveness::Indeterminate,
        }
    })
}
