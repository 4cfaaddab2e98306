//! What a watch does at each turn: sort the notices, look at what they are about, conclude, and set the next alarm.
//!
//! A directory is watched before it is looked at, so that what happens in between is told. What was told is kept, and
//! only a seat of which something else is to be concluded is told again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::derive::{Derived, derive};
use super::fleet::{FleetOptions, FleetProbe, LeftOut, ask_lease};
use super::fleet_tree::{Asked, Pass, Scope, Tree};
use super::moment::Moment;
use super::options::Options;
use super::probe::{LeaseProbe, Probe, ProcessProbe, ask_within_budget};
use super::reader::Reader;
use super::seat::RECORD;
use super::watch::{Change, Noticing, SeatChange, WatchOptions, WatchProbe};
use super::watch_places::{Places, Signs, is_gone};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::Liveness;
use crate::storage::{Alarm, FileType, Notifier};

/// A process that dies closes its files before it lets go of their locks, so that the lock may still be held when the
/// close is told. By then it is asked again.
const LEASE_AGAIN: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(30)];

/// A shorter interval would be a loop.
const SHORTEST: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Engine {
    pub(super) host: Host,
    pub(super) notifier: Box<dyn Notifier>,
    options: Options,
    watch: WatchOptions,
    target: Target,
    places: Places,
    signs: Signs,
    /// When a burst is looked at, on the awake clock.
    settled_at: Option<Duration>,
    next_poll: Duration,
    next_probe: Duration,
    /// When a seat's probe is asked again.
    again: BTreeSet<(Duration, String)>,
    told: BTreeMap<String, Told>,
    /// When what was told changes by time alone, on the wall clock.
    due: BTreeSet<(u64, String)>,
    /// The wall clock at the last turn.
    wall_ms: u64,
    has_begun: bool,
    process_is_watched: bool,
    /// Seats that could not be read for a reason that may be over soon.
    unread: BTreeSet<String>,
    left_out: LeftOut,
    left_out_told: LeftOut,
    noticing: Noticing,
}

#[derive(Debug)]
pub(super) enum Target {
    Record {
        reader: Reader,
        probe: WatchProbe,
        /// The directory in which the record is, and its name there.
        place: (PathBuf, String),
        is_link: bool,
    },
    Fleet {
        root: PathBuf,
        bounds: FleetOptions,
        probe: FleetProbe,
        tree: Tree,
    },
}

#[derive(Debug)]
struct Told {
    derived: Derived,
    /// Whether a probe's answer decides and has not been death.
    hangs_on_probe: bool,
}

impl Engine {
    pub(super) fn new(target: Target, watch: &WatchOptions, options: &Options, host: &Host) -> Result<Self> {
        let notifier = host.files.notifier(&host.clock).map_err(failed)?;
        Ok(Engine {
            host: host.clone(),
            notifier,
            options: options.clone(),
            watch: WatchOptions {
                poll_interval: watch.poll_interval.max(SHORTEST),
                probe_interval: watch.probe_interval.max(SHORTEST),
                ..*watch
            },
            target,
            places: Places::default(),
            signs: Signs::default(),
            settled_at: None,
            next_poll: Duration::ZERO,
            next_probe: Duration::ZERO,
            again: BTreeSet::new(),
            told: BTreeMap::new(),
            due: BTreeSet::new(),
            wall_ms: 0,
            has_begun: false,
            process_is_watched: false,
            unread: BTreeSet::new(),
            left_out: LeftOut::default(),
            left_out_told: LeftOut::default(),
            noticing: Noticing::Notified,
        })
    }

    /// One turn.
    pub(super) fn turn(&mut self) -> Result<Option<Change>> {
        let (places, signs) = (&mut self.places, &mut self.signs);
        let name = match &self.target {
            Target::Record { place: (_, name), .. } => name,
            Target::Fleet { .. } => RECORD,
        };
        self.notifier.drain(&mut |notice| places.sort(notice, name, signs)).map_err(failed)?;
        // To look at a lease that nobody holds is to open it for writing once, as the proof that locks exclude there, and
        // closing it is told to all who watch. A seat that hangs on no lease is not asked about for that, or two
        // watches of a dead session would wake each other for ever.
        let told = &self.told;
        self.signs.leases.retain(|path| told.get(path).is_some_and(|told| told.hangs_on_probe));
        let now = self.host.clock.awake();
        let at = Moment::now(&self.host);
        let wall_ms = at.wall_ms;
        if !self.signs.is_empty() && self.settled_at.is_none() {
            self.settled_at = Some(now.saturating_add(self.watch.settle));
        }
        let process_ended = std::mem::take(&mut self.signs.process);
        let clock_was_set = std::mem::take(&mut self.signs.clock) || wall_ms < self.wall_ms;
        self.wall_ms = wall_ms;

        let mut seats = BTreeSet::new();
        let polls = self.polls() && now >= self.next_poll;
        if !self.has_begun || polls || self.settled_at.is_some_and(|at| at <= now) {
            let mut signs = std::mem::take(&mut self.signs);
            self.settled_at = None;
            signs.root |= !self.has_begun;
            signs.everything |= !self.has_begun || polls;
            self.look(&signs, polls, &mut seats);
            for path in signs.leases {
                self.again.extend(LEASE_AGAIN.map(|after| (now.saturating_add(after), path.clone())));
                seats.insert(path);
            }
            self.next_poll = now.saturating_add(self.watch.poll_interval);
        }
        while self.again.first().is_some_and(|(at, _)| *at <= now) {
            seats.extend(self.again.pop_first().map(|(_, path)| path));
        }
        if polls || (self.asks_at_intervals() && now >= self.next_probe) {
            seats.extend(
                self.told.iter().filter(|(_, told)| told.hangs_on_probe).map(|(path, _)| path.clone()),
            );
            self.next_probe = now.saturating_add(self.watch.probe_interval);
        }
        if clock_was_set || process_ended {
            // A pid that is used again from now on is another process's.
            self.process_is_watched &= !process_ended;
            seats.extend(self.told.keys().cloned());
        }
        seats.extend(self.due.iter().take_while(|(at, _)| *at <= wall_ms).map(|(_, path)| path.clone()));

        let change = self.conclude(seats, &at);
        match self.set_alarm(now, wall_ms) {
            // What was concluded is told now or never; the next turn fails again.
            Err(_) if change.is_some() => Ok(change),
            alarm => alarm.map(|()| change),
        }
    }

    /// Waits until another turn may have something to tell.
    pub(super) fn wait(&mut self, longest: Option<Duration>) -> Result<()> {
        self.notifier.wait(longest).map_err(failed)
    }

    /// Watches and looks at what the signs are about; enters the seats at which something may be another.
    fn look(&mut self, signs: &Signs, polls: bool, seats: &mut BTreeSet<String>) {
        let (notifier, places) = (&mut *self.notifier, &mut self.places);
        if let (Target::Record { probe: WatchProbe::Process(process), .. }, false) =
            (&self.target, self.has_begun)
        {
            // Watched before it is asked, so that its end in between is told. Of a process that is not provably the
            // one that has the pid nothing is told.
            self.process_is_watched = notifier.watch_process(process.pid).is_ok()
                && process.liveness(&*self.host.processes) == Liveness::Alive;
        }
        places.let_go(notifier, &signs.anew);
        match &mut self.target {
            Target::Record { reader, place, is_link, .. } => {
                let found = locate(&self.host, reader.path());
                if *place != found || signs.root || !signs.anew.is_empty() {
                    *place = found;
                    places.let_go(notifier, &BTreeSet::from([".".to_owned()]));
                    places.watch_above(notifier, &self.host, &place.0);
                    places.watch_folder(notifier, &place.0, ".");
                    // It may have become another while nobody was told.
                    *place = locate(&self.host, reader.path());
                } else if polls {
                    if places.lack_above() {
                        places.watch_above(notifier, &self.host, &place.0);
                    }
                    places.retry(notifier, &place.0);
                }
                *is_link = stands_for_a_link(&self.host, place);
                seats.insert(".".to_owned());
            }
            Target::Fleet { root, bounds, tree, .. } => {
                if signs.root || (polls && places.lack_above()) {
                    places.watch_above(notifier, &self.host, root);
                }
                if polls {
                    places.retry(notifier, root);
                }
                let asked = |path: &str| match signs.asked(path) {
                    // The root is another by now, or is there for the first time.
                    Asked::Nothing if signs.root && path == "." => Asked::Look,
                    asked => asked,
                };
                let mut entering = |path: &str| places.watch_folder(notifier, root, path);
                let mut touched = |path: &str| {
                    seats.insert(path.to_owned());
                };
                let pass = Pass::new(root, &self.host, bounds, Scope::Only(&asked));
                self.left_out = tree.refresh(&mut pass.telling(&mut entering, &mut touched));
            }
        }
    }

    /// Concludes anew for these seats; what is to be told, if anything is.
    fn conclude(&mut self, seats: BTreeSet<String>, at: &Moment) -> Option<Change> {
        let mut changes = Vec::new();
        for path in seats {
            let Found { derived, hangs_on_probe, is_passing } = self.derive(&path, at);
            if is_passing {
                self.unread.insert(path.clone());
            } else {
                self.unread.remove(&path);
            }
            let told = self.told.get(&path);
            if let Some(at) = told.and_then(|told| told.derived.valid_until_ms) {
                self.due.remove(&(at, path.clone()));
            }
            let is_another = match (told, &derived) {
                (Some(told), Some(derived)) => !told.derived.concludes_the_same(derived),
                (told, derived) => told.is_some() != derived.is_some(),
            };
            if let Some(at) = derived.as_ref().and_then(|derived| derived.valid_until_ms) {
                self.due.insert((at, path.clone()));
            }
            match &derived {
                Some(derived) => {
                    self.told.insert(path.clone(), Told { derived: derived.clone(), hangs_on_probe });
                }
                None => {
                    self.told.remove(&path);
                }
            }
            if is_another || !self.has_begun {
                changes.push(SeatChange { path, derived });
            }
        }
        let noticing = match &self.target {
            _ if self.places.noticing() != Noticing::Notified => self.places.noticing(),
            // Nobody tells of what a link leads to.
            Target::Record { is_link: true, .. } => Noticing::PolledUnsupported,
            Target::Fleet { tree, .. } if tree.has_linked_record() => Noticing::PolledUnsupported,
            Target::Record { .. } | Target::Fleet { .. } => Noticing::Notified,
        };
        let tells = !changes.is_empty()
            || !self.has_begun
            || noticing != self.noticing
            || self.left_out_told != self.left_out;
        self.noticing = noticing;
        self.has_begun = true;
        if !tells {
            return None;
        }
        self.left_out_told = self.left_out.clone();
        changes.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
        Some(Change { seats: changes, left_out: self.left_out.clone(), noticing })
    }

    /// What may be concluded of a seat now, and how that may change without a sign.
    fn derive(&self, path: &str, at: &Moment) -> Found {
        let mut answer = None;
        let mut keep = |liveness| *answer.insert(liveness);
        let (derived, is_passing) = match &self.target {
            Target::Record { reader, probe, .. } => {
                let snapshot = reader.snapshot();
                let mut ask = |probe: &dyn Probe| match snapshot.record() {
                    Some(record) => {
                        let budget = self.options.probe_budget;
                        keep(ask_within_budget(probe, record, &*self.host.clock, budget))
                    }
                    None => Liveness::Indeterminate,
                };
                let derived = match probe {
                    WatchProbe::None => snapshot.derive(&self.options, at, None),
                    WatchProbe::Lease => {
                        let lease = LeaseProbe::new(reader);
                        snapshot.derive(&self.options, at, Some(&mut || ask(&lease)))
                    }
                    WatchProbe::Process(process) => {
                        let probe = ProcessProbe::new(process.clone(), &self.host);
                        snapshot.derive(&self.options, at, Some(&mut || ask(&probe)))
                    }
                    WatchProbe::Own(own) => snapshot.derive(&self.options, at, Some(&mut || ask(&**own))),
                };
                (derived, snapshot.is_passing())
            }
            Target::Fleet { root, probe, tree, .. } => match tree.get(path) {
                None => (None, false),
                Some(stored) => {
                    let mut ask = || keep(ask_lease(root, path, stored, &self.options, &self.host));
                    let ask: Option<&mut dyn FnMut() -> Liveness> = match probe {
                        FleetProbe::None => None,
                        FleetProbe::Lease => Some(&mut ask),
                    };
                    let derived = derive(stored, &self.options, at, ask);
                    (derived.map(|derived| derived.to_derived()), stored.is_passing())
                }
            },
        };
        let hangs_on_probe = answer.is_some_and(|answer| answer != Liveness::Dead);
        Found { derived, hangs_on_probe, is_passing }
    }

    /// Whether something is to be looked at without a sign, at every poll interval.
    fn polls(&self) -> bool {
        self.noticing != Noticing::Notified || self.left_out.unreadable > 0 || !self.unread.is_empty()
    }

    /// Whether a probe is to be asked whose answer nothing announces.
    fn asks_at_intervals(&self) -> bool {
        let asks = match &self.target {
            Target::Record { probe: WatchProbe::Process(_), .. } => !self.process_is_watched,
            Target::Record { probe: WatchProbe::Own(_), .. } => true,
            Target::Record { .. } | Target::Fleet { .. } => false,
        };
        asks && self.told.values().any(|told| told.hangs_on_probe)
    }

    fn set_alarm(&mut self, now: Duration, wall_ms: u64) -> Result<()> {
        let awake = [
            self.settled_at,
            self.polls().then_some(self.next_poll),
            self.asks_at_intervals().then_some(self.next_probe),
            self.again.first().map(|(at, _)| *at),
        ];
        let awake = awake.into_iter().flatten().min().map(|at| at.saturating_sub(now));
        let wall = self.due.first().map(|(at, _)| Duration::from_millis(at.saturating_sub(wall_ms)));
        self.notifier.set_alarm(&Alarm { awake, wall }).map_err(failed)
    }
}

/// What one seat says.
struct Found {
    derived: Option<Derived>,
    hangs_on_probe: bool,
    /// Whether it could not be read for a reason that may be over soon.
    is_passing: bool,
}

/// The directory in which a record is, and its name there: as a reader finds it.
pub(super) fn locate(host: &Host, path: &Path) -> (PathBuf, String) {
    let opened = host.files.open_to_read(path);
    let is_no_directory = opened.is_err_and(|error| is_gone(&error));
    match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) if is_no_directory => (parent.to_path_buf(), name.to_owned()),
        _ => (path.to_path_buf(), RECORD.to_owned()),
    }
}

fn stands_for_a_link(host: &Host, (directory, name): &(PathBuf, String)) -> bool {
    let found = host.files.open_to_read(directory).and_then(|directory| directory.metadata(name));
    // What cannot be told now is looked at until it can.
    found.map_or_else(|error| !is_gone(&error), |found| found.file_type == FileType::Link)
}

fn failed(error: io::Error) -> Error {
    Error::new(Code::HarnessStateIo, "changes cannot be waited for").with_source(error)
}
