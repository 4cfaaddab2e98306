//! A writer: one session's voice in one agent's directory.
//!
//! Every call that writes runs lock, read, decide, publish. Nothing is cached between calls but the interrupt flag,
//! the resolved sequence, and which file was judged last, pinned by an open descriptor (HS-30).

use std::io;
use std::mem::take;
use std::path::Path;
use std::sync::{Arc, MutexGuard};

use super::adapters::Child;
use super::codec::Encoded;
use super::extension::{Evidence, HarnessProcess};
use super::moment::Moment;
use super::observation::Observation;
use super::options::Options;
use super::outcome::{Heartbeat, Outcome, Report, Skip};
use super::ownership::{OwnershipGuard, raise_floor};
use super::publication::{Publication, publish_record};
use super::record::Record;
use super::seat::{Emptied, FLOOR, Floor, LOCK, ParsedRecord, RECORD, STAGED_RECORD, Seat, Stored};
use super::token::refuse_empty;
use super::transition::{self, Circumstances, Decision, Prior, Standing, Then};
use super::writer_memory::{Judged, JudgedFloor, Memory};
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::json::strict::Spare;
use crate::storage::{Directory, Durability, ForkSafe, LockGuard, StagedNames};

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterIdentity {
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The pty session in which the harness runs. Without one no live state can be written; the empty string counts
    /// as one.
    pub pty_session: Option<String>,
    /// The session's token, shared by all its writers. Never empty.
    pub token: String,
}

/// One session's voice in one agent's directory. May be shared by threads.
#[derive(Debug)]
pub struct Writer {
    seat: Seat,
    identity: WriterIdentity,
    evidence: Evidence,
    event_ms: Option<u64>,
    memory: ForkSafe<Memory>,
}

/// What becomes of the members of a record that this build does not know.
#[derive(Clone, Copy, Debug)]
enum Unknown {
    /// They stay as they stand: the record says what it said, and a little more.
    Kept,
    /// They go: the record is another.
    Dropped,
}

impl Writer {
    /// Opens a writer on an agent's directory, which need not exist yet. Touches no file.
    ///
    /// `sequence` is the one that a claim returned, for a writer that adopts the claim; without it the writer is
    /// token-only and writes where nobody has claimed, or where its own token stands.
    ///
    /// # Errors
    /// `HARNESS_STATE_EMPTY_TOKEN`; `HARNESS_STATE_INPUT` with reason `path` for the empty path.
    pub fn open(
        directory: impl AsRef<Path>,
        identity: WriterIdentity,
        sequence: Option<u64>,
        options: &Options,
        host: &Host,
    ) -> Result<Self> {
        refuse_empty(&identity.token)?;
        let memory = ForkSafe::new(move || Memory { sequence, ..Memory::default() });
        let seat = Seat::new(directory.as_ref(), host, options)?;
        Ok(Writer { seat, identity, evidence: Evidence::Wrapper, event_ms: None, memory })
    }

    /// The same voice, knowing what it observes by this evidence and not by that of a wrapper. Screens give way to
    /// what hooks and channels have told, while that is fresh (HS-98).
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `word` for unknown evidence.
    pub fn with_evidence(self, evidence: Evidence) -> Result<Self> {
        if evidence == Evidence::Unknown {
            let message = "unknown is derived by readers, and nothing is observed by it";
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("word"));
        }
        Ok(Writer { evidence, ..self })
    }

    /// By what it knows what it observes.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// The voice of a hook: what it tells of happened at this time on the boot clock. It gives way to what stands of a
    /// later event (HS-97).
    pub(crate) fn of_hook(self, event_ms: u64) -> Self {
        Writer { evidence: Evidence::Hook, event_ms: Some(event_ms), ..self }
    }

    /// Who writes.
    #[must_use]
    pub fn identity(&self) -> &WriterIdentity {
        &self.identity
    }

    /// The agent's directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.seat.path
    }

    /// The sequence that was adopted or resolved; none before a token-only writer's first accepted call.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.memory().sequence
    }

    /// Records what is seen. When it answers [`Outcome::Landed`] every reader sees it; an ending with an exit is
    /// then also durable, anything else may be lost with the machine's power.
    ///
    /// # Errors
    /// The codes of [`Observation::validate`] before anything is touched; `HARNESS_STATE_INPUT` with reason
    /// `too-large` for what could not be read again; `HARNESS_STATE_BUSY`, `_LOCKING`, `_IO` with nothing written,
    /// except that the record may stand after a failed sync, and after a failed attempt to give a stranger's file its
    /// name back.
    pub fn observe(&self, observation: &Observation) -> Result<Report> {
        self.decide_and_publish(Some(observation), |_| None, false)
    }

    /// As [`Writer::observe`], unless the session's own ending with an exit stands: then nothing is written and the
    /// answer is refused as `terminal`.
    ///
    /// # Errors
    /// As [`Writer::observe`].
    pub fn observe_unless_ended(&self, observation: &Observation) -> Result<Report> {
        self.decide_and_publish(Some(observation), |_| None, true)
    }

    /// As [`Writer::observe_unless_ended`] with an observation that depends on what stands, judged under the lock.
    /// `choose` gets what the own record says, or none where another's or nothing stands; none from it writes
    /// nothing and answers none.
    ///
    /// # Errors
    /// As [`Writer::observe`].
    pub fn observe_over_own(
        &self,
        choose: impl FnOnce(Option<&Observation>) -> Option<Observation>,
    ) -> Result<Option<Report>> {
        let mut chosen = false;
        let report = self.decide_and_publish(
            None,
            |own| {
                let choice = choose(own);
                chosen = choice.is_some();
                choice
            },
            true,
        )?;
        Ok(chosen.then_some(report))
    }

    /// Records the end: `observe` of ended, with this exit, e.g. `exit 0` or `signal 9`. A repeat coalesces, another
    /// exit replaces. Durable when it lands with an exit. A plain [`Writer::observe`] may follow and lands (HS-42).
    ///
    /// # Errors
    /// As [`Writer::observe`].
    pub fn ended(&self, exit: Option<&str>) -> Result<Report> {
        self.observe(&Observation::ended(exit))
    }

    /// Notes what became of a child of the session's: a subagent that starts, works or stops. The turn stays as it is;
    /// a reader that finds it over while children run answers `active` (HS-99). Not synced. Where the session has no
    /// record, where it has ended, and with the extension switched off, there is nothing to note.
    ///
    /// # Errors
    /// As [`Writer::observe`]; `HARNESS_STATE_INPUT` with reason `child` for an id that is empty or longer than
    /// [`Child::MAX_ID`].
    pub fn note_child(&self, child: &Child) -> Result<Report> {
        if !(1..=Child::MAX_ID).contains(&child.id.len()) {
            let bytes = child.id.len();
            let message = format!("a child's id has 1 to {} bytes, bytes=`{bytes}`", Child::MAX_ID);
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("child"));
        }
        self.beside_the_turn(|at, who| transition::child(at, who, child))
    }

    /// Names the harness's process in the record's extension, and records `ready` where nothing has been observed since
    /// the claim and the writer names a pty session. Not synced.
    ///
    /// # Errors
    /// As [`Writer::observe`].
    pub(crate) fn attach(&self, process: &HarnessProcess) -> Result<Report> {
        self.beside_the_turn(|at, who| transition::attach(at, who, process))
    }

    /// Makes the next landed observation a transition even if it says what stands, because what stands was
    /// interrupted. Touches no file.
    pub fn interrupt(&self) {
        self.memory().interrupts += 1;
    }

    /// Renews the stamp of the session's live record, whoever of the session wrote it, and keeps everything else as
    /// it stood, unknown members included. Not synced. Where there is nothing to renew it is quiet.
    ///
    /// # Errors
    /// `HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`, and `_INPUT` with reason `too-large` for a record at its largest whose
    /// stamp grew by a digit; nothing is written.
    pub fn heartbeat(&self) -> Result<Heartbeat> {
        // No directory: there is nothing to renew, and nothing is created for it.
        let Some(lock) = self.lock_existing()? else { return Ok(Heartbeat::Skipped(Skip::Absent)) };
        let directory = &**lock.directory();
        let (stored, mut emptied) = self.stored(directory);
        let floor = self.floor(directory)?;
        let now = Moment::now(&self.seat.host);
        let at = self.circumstances(&stored, floor.value, &now);
        let decided = transition::heartbeat(at, &self.identity.token, self.sequence(), &mut emptied.texts);
        let next = match decided {
            Ok(next) => next,
            Err(skip) => return Ok(Heartbeat::Skipped(skip)),
        };
        let Stored::Parsed(parsed) = stored else { unreachable!("a heartbeat lands over a record") };
        let encoded = kept(&next, &parsed, &mut emptied);
        let sequence = next.seq;
        self.publish(directory, next, encoded, Durability::Observed, Some(&parsed), &mut emptied)?;
        emptied.give(parsed);
        self.memory().emptied = emptied;
        Ok(Heartbeat::Landed { floor_failure: self.raise_floor(directory, &floor, sequence) })
    }

    /// The harness's process that the own record names, read without the lock. Directory and file stay open: as long as they
    /// stand where they are, the next call reads neither again.
    pub(crate) fn look_for_attached(&self) -> Option<HarnessProcess> {
        let directory = self.seat.host.files.open(&self.seat.path).ok()?;
        let read_at_ms = self.seat.host.clock.wall_ms();
        let stored = Stored::read(&*directory, RECORD);
        let mut memory = self.memory();
        memory.directory = Some(directory);
        let Stored::Parsed(parsed) = stored else { return None };
        let own = Some(&parsed.record).filter(|record| record.incarnation == self.identity.token);
        let process = own.and_then(|record| record.extension.as_ref()?.process.clone());
        memory.judged = Judged::read(parsed, read_at_ms);
        process
    }

    /// Whether the floor says that another session has claimed; a look without the lock, which is enough because a floor
    /// never falls. What cannot be read now says nothing.
    pub(crate) fn is_fenced_by_floor(&self) -> bool {
        let now = self.seat.host.files.metadata(&self.seat.floor_path);
        let (sequence, known) = {
            let memory = self.memory();
            let known = memory.floor.as_ref().filter(|floor| floor.stands(&now));
            (memory.sequence, known.map(|floor| floor.floor.value))
        };
        let Some(sequence) = sequence else { return false };
        let value = known.or_else(|| {
            let directory = self.seat.host.files.open_to_read(&self.seat.path).ok()?;
            let read_at_ms = self.seat.host.clock.wall_ms();
            let (floor, file) = self.seat.floor(&*directory).ok()?;
            self.memory().floor = JudgedFloor::read(&floor, file, read_at_ms);
            Some(floor.value)
        });
        value.is_some_and(|value| value > sequence)
    }

    /// Runs `action` under the lock while schema, token and sequence of the record are this session's, and answers
    /// its result; answers none, without running it, where they are not.
    ///
    /// # Errors
    /// As [`Writer::lock_current_ownership`].
    pub fn with_current_ownership<R>(&self, action: impl FnOnce() -> R) -> Result<Option<R>> {
        Ok(self.lock_current_ownership()?.map(|_guard| action()))
    }

    /// Takes the lock while schema, token and sequence of the record are this session's; none where they are not.
    ///
    /// # Errors
    /// `HARNESS_STATE_BUSY`, `_LOCKING`, `_IO`.
    pub fn lock_current_ownership(&self) -> Result<Option<OwnershipGuard>> {
        let Some(lock) = self.lock_existing()? else { return Ok(None) };
        let (stored, _) = self.stored(&**lock.directory());
        let floor = self.floor(&**lock.directory())?;
        let own = stored.record().filter(|record| {
            let sequence = self.sequence().unwrap_or(record.seq);
            self.seat.options.accepts(&record.schema)
                && record.incarnation == self.identity.token
                && record.seq == sequence
                && floor.value <= sequence
        });
        Ok(own.map(|record| record.seq).map(|sequence| OwnershipGuard::new(lock, sequence)))
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    /// `given` is validated before anything is touched; `choose` is asked under the lock where nothing is given.
    fn decide_and_publish(
        &self,
        given: Option<&Observation>,
        choose: impl FnOnce(Option<&Observation>) -> Option<Observation>,
        keep_ending: bool,
    ) -> Result<Report> {
        let has_pty_session = self.identity.pty_session.is_some();
        if let Some(observation) = given {
            observation.validate(has_pty_session)?;
            if let Some(report) = self.coalesce_without_lock(observation, keep_ending) {
                return Ok(report);
            }
        }
        let lock = self.lock()?;
        let directory = &**lock.directory();
        let read_at_ms = self.seat.host.clock.wall_ms();
        let (stored, mut emptied) = self.stored(directory);
        let chosen;
        let observation = match given {
            Some(observation) => observation,
            None => {
                let own = stored.record().filter(|record| {
                    record.incarnation == self.identity.token && self.seat.options.accepts(&record.schema)
                });
                match choose(own.map(Record::observation).as_ref()) {
                    Some(choice) => chosen = choice,
                    None => return Ok(Report::of(Outcome::Coalesced)),
                }
                chosen.validate(has_pty_session)?;
                &chosen
            }
        };
        let floor = self.floor(directory)?;
        let now = Moment::now(&self.seat.host);
        let at = self.circumstances(&stored, floor.value, &now);
        let (standing, interrupts) = self.standing();
        let decision = transition::observe(at, standing, observation, keep_ending, &mut emptied.texts);
        let is_coalesced = matches!(&decision, Decision::Resolved { then: Then::Coalesce, .. });
        let report = self.carry_out(directory, &stored, &floor, decision, Unknown::Dropped, &mut emptied)?;
        match report.outcome {
            Outcome::Landed => {
                if let Stored::Parsed(parsed) = stored {
                    emptied.give(parsed);
                }
                let mut memory = self.memory();
                memory.answered_interrupts = interrupts;
                memory.emptied = emptied;
            }
            _ if is_coalesced => self.remember_judged(stored, read_at_ms),
            Outcome::Coalesced | Outcome::Refused(_) => {}
        }
        Ok(report)
    }

    /// Decides under the lock what concerns the own record without being an observation of the turn.
    fn beside_the_turn(
        &self,
        decide: impl FnOnce(Circumstances<'_>, Standing<'_>) -> Decision,
    ) -> Result<Report> {
        let Some(lock) = self.lock_existing()? else { return Ok(Report::of(Outcome::Coalesced)) };
        let directory = &**lock.directory();
        let (stored, mut emptied) = self.stored(directory);
        let floor = self.floor(directory)?;
        let now = Moment::now(&self.seat.host);
        let decision = decide(self.circumstances(&stored, floor.value, &now), self.standing().0);
        self.carry_out(directory, &stored, &floor, decision, Unknown::Kept, &mut emptied)
    }

    /// What this writer brings to a decision, and how often it has been interrupted by now.
    fn standing(&self) -> (Standing<'_>, u64) {
        let memory = self.memory();
        (self.standing_with(&memory), memory.interrupts)
    }

    fn standing_with(&self, memory: &Memory) -> Standing<'_> {
        Standing {
            identity: &self.identity,
            sequence: memory.sequence,
            interrupted: memory.is_interrupted(),
            evidence: self.evidence,
            event_ms: self.event_ms,
        }
    }

    fn carry_out(
        &self,
        directory: &dyn Directory,
        stored: &Stored,
        floor: &Floor,
        decision: Decision,
        unknown: Unknown,
        emptied: &mut Emptied,
    ) -> Result<Report> {
        let (sequence, then) = match decision {
            Decision::Refused(refusal) => return Ok(Report::of(Outcome::Refused(refusal))),
            Decision::Resolved { sequence, then } => (sequence, then),
        };
        self.memory().sequence = Some(sequence);
        let (record, unknown, outcome) = match then {
            Then::Coalesce => return Ok(Report::of(Outcome::Coalesced)),
            Then::Refuse(refusal, None) => return Ok(Report::of(Outcome::Refused(refusal))),
            Then::Refuse(refusal, Some(counted)) => (counted, Unknown::Kept, Outcome::Refused(refusal)),
            Then::Land(record) => (record, unknown, Outcome::Landed),
        };
        let durability = if record.is_terminal() { Durability::Durable } else { Durability::Observed };
        let parsed = match stored {
            Stored::Parsed(parsed) => Some(&**parsed),
            Stored::Absent | Stored::Unreadable(_) => None,
        };
        let encoded = match (unknown, parsed) {
            (Unknown::Kept, Some(parsed)) => kept(&record, parsed, emptied),
            _ => Encoded::plain(&record, take(&mut emptied.bytes)),
        };
        let sequence = record.seq;
        match (self.publish(directory, *record, encoded, durability, parsed, emptied), outcome) {
            // The refusal stands whether or not the event could be counted.
            (Err(_), Outcome::Refused(_)) => return Ok(Report::of(outcome)),
            (published, _) => published?,
        }
        Ok(Report { outcome, floor_failure: self.raise_floor(directory, floor, sequence) })
    }

    /// HS-20: a call that publishes nothing may decide without the lock where one look at the record is a valid
    /// point in time. The judged file is pinned, so an unchanged `stat` means unchanged bytes; the floor is looked at
    /// afterwards, so a claim in between is seen by one of the two.
    fn coalesce_without_lock(&self, observation: &Observation, keep_ending: bool) -> Option<Report> {
        let directory = {
            let memory = self.memory();
            let judged = memory.judged.as_ref().filter(|judged| judged.record().says(observation));
            judged.filter(|_| !memory.is_interrupted())?;
            memory.directory.clone()?
        };
        // By its path: where that leads to the judged file, it leads through the directory that is open.
        let record_now = self.seat.host.files.metadata(&self.seat.record_path).ok()?;
        let floor_now = directory.metadata(FLOOR);
        let memory = self.memory();
        let judged = memory.judged.as_ref().filter(|judged| judged.stands(&record_now))?;
        let floor = memory.floor.as_ref().filter(|floor| floor.stands(&floor_now))?;
        // The stamp of what stands is judged by the wall clock alone (HS-43), and nothing else is answered here.
        let now = Moment::wall(self.seat.host.clock.wall_ms());
        let at = Circumstances {
            prior: Prior::Record(judged.record()),
            floor: floor.floor.value,
            now: &now,
            options: &self.seat.options,
        };
        let spare = &mut Spare::default();
        match transition::observe(at, self.standing_with(&memory), observation, keep_ending, spare) {
            Decision::Resolved { then: Then::Coalesce, .. } => Some(Report::of(Outcome::Coalesced)),
            Decision::Resolved { .. } | Decision::Refused(_) => None,
        }
    }

    /// Takes the lock, creating the directory where it is missing.
    fn lock(&self) -> Result<LockGuard> {
        if let Some(lock) = self.lock_again()? {
            return Ok(lock);
        }
        let lock = self.seat.lock()?;
        self.memory().directory = Some(Arc::clone(lock.directory()));
        Ok(lock)
    }

    /// Takes the lock; none where there is no directory.
    fn lock_existing(&self) -> Result<Option<LockGuard>> {
        if let Some(lock) = self.lock_again()? {
            return Ok(Some(lock));
        }
        let directory = match self.seat.host.files.open(&self.seat.path) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.seat.io("open", error)),
        };
        let lock = self.seat.lock_named(&directory, LOCK, self.seat.options.lock_wait)?;
        self.memory().directory = Some(directory);
        Ok(Some(lock))
    }

    /// Takes the lock in the directory that is open; none where the path leads elsewhere by now.
    fn lock_again(&self) -> Result<Option<LockGuard>> {
        let directory = self.memory().directory.clone();
        let Some(directory) = directory else { return Ok(None) };
        let lock = self.seat.lock_again(&directory)?;
        if lock.is_none() {
            self.memory().directory = None;
        }
        Ok(lock)
    }

    /// What stands at the record's name, under the lock: what was judged last if that is it, else read anew. With it the
    /// memory for the record that comes next.
    fn stored(&self, directory: &dyn Directory) -> (Stored, Emptied) {
        let (judged, mut emptied) = {
            let mut memory = self.memory();
            (memory.judged.take(), take(&mut memory.emptied))
        };
        let stored = match judged {
            Some(judged) if directory.metadata(RECORD).is_ok_and(|now| judged.stands_under_lock(&now)) => {
                Stored::Parsed(judged.into_parsed())
            }
            _ => Stored::read_with(directory, RECORD, &mut emptied),
        };
        (stored, emptied)
    }

    fn remember_judged(&self, stored: Stored, read_at_ms: u64) {
        if let Stored::Parsed(parsed) = stored {
            self.memory().judged = Judged::read(parsed, read_at_ms);
        }
    }

    /// The floor, read again only when its file has changed since it was last judged (HS-38).
    fn floor(&self, directory: &dyn Directory) -> Result<Floor> {
        let is_known = self.memory().floor.is_some();
        if is_known {
            let now = directory.metadata(FLOOR);
            if let Some(judged) = self.memory().floor.as_ref().filter(|judged| judged.stands(&now)) {
                return Ok(judged.floor.clone());
            }
        }
        let read_at_ms = self.seat.host.clock.wall_ms();
        let (floor, file) = self.seat.floor(directory)?;
        self.memory().floor = JudgedFloor::read(&floor, file, read_at_ms);
        Ok(floor)
    }

    fn circumstances<'a>(&'a self, stored: &'a Stored, floor: u64, now: &'a Moment) -> Circumstances<'a> {
        Circumstances { prior: Prior::of(stored), floor, now, options: &self.seat.options }
    }

    /// Publishes a record and keeps it open, as what will be judged next.
    fn publish(
        &self,
        directory: &dyn Directory,
        record: Record,
        encoded: Encoded,
        durability: Durability,
        judged: Option<&ParsedRecord>,
        emptied: &mut Emptied,
    ) -> Result<()> {
        let staged = {
            let mut memory = self.memory();
            memory.names.get_or_insert_with(|| StagedNames::new(&self.seat.host)).next(STAGED_RECORD)
        };
        let publication = Publication { bytes: &encoded.bytes, durability, judged };
        let published = publish_record(&self.seat, directory, &staged, &publication)?;
        self.memory().judged = published.map(|file| Judged::published(record, encoded, file, emptied));
        Ok(())
    }

    /// HS-50: any landed write above the floor raises it, after the record.
    fn raise_floor(&self, directory: &dyn Directory, floor: &Floor, sequence: u64) -> Option<Error> {
        if sequence <= floor.value {
            return None;
        }
        let settled = self.seat.settle(floor);
        settled.and_then(|()| raise_floor(directory, floor, sequence, &self.seat.host)).err()
    }
}

/// A record that says what stood and a little more keeps what this build does not know of it.
fn kept(record: &Record, stood: &ParsedRecord, emptied: &mut Emptied) -> Encoded {
    let bytes = take(&mut emptied.bytes);
    match stood.all_known {
        true => Encoded::plain(record, bytes),
        false => Encoded::keeping_unknown(record, &stood.bytes, bytes),
    }
}
