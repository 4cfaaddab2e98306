//! A fleet: every record below a directory, in one call (HS-92).
//!
//! The first read walks the tree. What it found is kept, and the next read asks `stat` only for what stands there still.
//! Conclusions are drawn anew at each read, because the clock moves.

use std::path::{Path, PathBuf};

use super::derive::{Derived, DerivedRef, derive};
use super::fleet_tree::{Pass, Scope, Tree};
use super::moment::Moment;
use super::options::Options;
use super::probe::{lease_liveness, within_budget};
use super::record::Record;
use super::seat::Stored;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::Liveness;
use crate::storage::ForkSafe;

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
}

impl Default for FleetOptions {
    fn default() -> Self {
        FleetOptions { max_depth: 8, max_records: 100_000, max_directories: 200_000 }
    }
}

impl FleetOptions {
    /// The root is always looked at. A walk deeper than 128 levels would follow paths that the system refuses.
    pub(crate) fn within_reason(&self) -> Self {
        FleetOptions {
            max_depth: self.max_depth.min(128),
            max_records: self.max_records.max(1),
            max_directories: self.max_directories.max(1),
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

/// As [`read_fleet`], lending each entry as soon as its record was read and keeping nothing of it: what a program does that
/// reads once and ends.
///
/// # Errors
/// As [`Fleet::open`].
pub fn visit_fleet(
    root: impl AsRef<Path>,
    bounds: &FleetOptions,
    probe: FleetProbe,
    options: &Options,
    host: &Host,
    mut visit: impl FnMut(EntryRef<'_>),
) -> Result<FleetSummary> {
    let root = absolute(root.as_ref(), host)?;
    let bounds = bounds.within_reason();
    let mut summary = FleetSummary::default();
    let mut now = Moment::now(host);
    let mut hand = |path: &str, stored: &Stored| {
        // No record that was read is of the future.
        if stored.record().is_some_and(|record| record.written_at_ms > now.wall_ms) {
            now = Moment::now(host);
        }
        let Some(derived) = derive_seat(&root, path, stored, probe, &now, options, host) else { return };
        summary.entries += 1;
        summary.valid_until_ms = earlier(summary.valid_until_ms, derived.valid_until_ms);
        visit(EntryRef { path, derived, record: stored.record() });
    };
    let mut pass = Pass::new(&root, host, &bounds, Scope::Everything).handing(&mut hand);
    let left_out = Tree::default().refresh(&mut pass);
    summary.left_out = left_out;
    Ok(summary)
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
        let left_out = tree.refresh(&mut Pass::new(&self.root, &self.host, &self.bounds, Scope::Everything));
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
    let mut ask = || ask_lease(root, path, stored, options, host);
    let ask: Option<&mut dyn FnMut() -> Liveness> = match probe {
        FleetProbe::None => None,
        FleetProbe::Lease => Some(&mut ask),
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
