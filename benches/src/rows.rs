//! One operation a row, over the core.
//!
//! A row is opened on a directory that `prepare` has made. Each checks what it is answered, so that nothing is measured
//! but what was asked for.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use gallivant_core::Host;
use gallivant_core::harness_state::{
    EntryRef, Fleet, FleetOptions, FleetProbe, FleetSummary, Heartbeat, Observation, Options, Outcome,
    ReadBuffer, Reader, State, Writer, claim, gather_fleet,
};
use gallivant_core::testing::{InjectingFileSystem, OperationKind};

use crate::Failure;
use crate::prepare::{claimant, identity};

/// An opened row.
pub(crate) struct Row {
    pub(crate) operation: Box<dyn FnMut() -> Result<(), Failure>>,
    /// How often a lock was tried so far, where the row counts that.
    pub(crate) tries: Option<Box<dyn Fn() -> usize>>,
}

/// How long a file rests before a look at it is believed, and then some.
const REST: std::time::Duration = std::time::Duration::from_millis(50);

/// How many threads share the walk of a fleet.
const SHARING: usize = 2;

/// None where there is no such row.
pub(crate) fn open(row: &str, directory: &str) -> Result<Option<Row>, Failure> {
    let host = Host::system();
    let row = match row {
        "restated" => restated(directory, &host)?,
        "transition" => transition(directory, &host)?,
        "first-transition" => first(directory, &host, transition_of)?,
        "first-heartbeat" => first(directory, &host, |writer, _| beat(writer))?,
        "contended" => contended(directory, &host)?,
        "contended-tries" => return tries(directory, host).map(Some),
        "heartbeat" => heartbeat(directory, &host)?,
        "read" => read(directory, &host),
        "fleet" => read_fleet(directory, &host, 1),
        "fleet-shared" => read_fleet(directory, &host, SHARING),
        "fleet-unchanged" => fleet_unchanged(directory, &host)?,
        "claim" => claiming(directory, host),
        _ => return Ok(None),
    };
    Ok(Some(Row { operation: row, tries: None }))
}

type Operation = Box<dyn FnMut() -> Result<(), Failure>>;

fn writer(directory: &str, host: &Host) -> Result<Writer, Failure> {
    Ok(Writer::open(directory, identity(), Some(1), &Options::default(), host)?)
}

/// A function that fails unless an observation has this outcome.
fn expect(outcome: Outcome, found: Outcome) -> Result<(), Failure> {
    if outcome == found { Ok(()) } else { Err(format!("{found:?} and not {outcome:?}").into()) }
}

fn restated(directory: &str, host: &Host) -> Result<Operation, Failure> {
    let writer = writer(directory, host)?;
    let active = Observation::new(State::Active);
    let restate = move || expect(Outcome::Coalesced, writer.observe(&active)?.outcome);
    restate()?;
    host.clock.sleep(REST);
    restate()?;
    Ok(Box::new(restate))
}

/// Observations that say something else each time.
fn alternating() -> impl FnMut() -> Observation {
    let mut is_active = true;
    move || {
        is_active = !is_active;
        Observation::new(if is_active { State::Active } else { State::Idle })
    }
}

fn transition(directory: &str, host: &Host) -> Result<Operation, Failure> {
    let writer = writer(directory, host)?;
    // Whatever a run before this one left there.
    writer.interrupt();
    let mut next = alternating();
    Ok(Box::new(move || expect(Outcome::Landed, writer.observe(&next())?.outcome)))
}

fn transition_of(writer: &Writer, next: &Observation) -> Result<(), Failure> {
    writer.interrupt();
    expect(Outcome::Landed, writer.observe(next)?.outcome)
}

/// The first write of a writer each time. The writers stay open to the end of the process and beyond, so that nothing is
/// counted but what the write makes.
fn first(
    directory: &str,
    host: &Host,
    write: impl Fn(&Writer, &Observation) -> Result<(), Failure> + 'static,
) -> Result<Operation, Failure> {
    let (directory, host) = (directory.to_owned(), host.clone());
    let mut next = alternating();
    let mut writers = ManuallyDrop::new(Vec::new());
    let mut write = move || {
        let writer = writer(&directory, &host)?;
        write(&writer, &next())?;
        writers.push(writer);
        Ok(())
    };
    // What a process learns once.
    write()?;
    Ok(Box::new(write))
}

/// Of several processes whose turns mix, any may find its own words standing already: an interrupt makes each call a
/// transition.
fn contended(directory: &str, host: &Host) -> Result<Operation, Failure> {
    let writer = writer(directory, host)?;
    let mut next = alternating();
    Ok(Box::new(move || {
        writer.interrupt();
        expect(Outcome::Landed, writer.observe(&next())?.outcome)
    }))
}

/// The same, counting how often the lock was tried. Counting costs time, so this row is not for its times.
fn tries(directory: &str, machine: Host) -> Result<Row, Failure> {
    let files = InjectingFileSystem::new(Arc::clone(&machine.files));
    let host = Host { files: Arc::new(files.clone()), ..machine };
    let operation = contended(directory, &host)?;
    let tries = move || {
        files.operations().iter().filter(|operation| operation.kind == OperationKind::TryLock).count()
    };
    Ok(Row { operation, tries: Some(Box::new(tries)) })
}

fn heartbeat(directory: &str, host: &Host) -> Result<Operation, Failure> {
    let writer = writer(directory, host)?;
    Ok(Box::new(move || beat(&writer)))
}

fn beat(writer: &Writer) -> Result<(), Failure> {
    match writer.heartbeat()? {
        Heartbeat::Landed { floor_failure: None } => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn read(directory: &str, host: &Host) -> Operation {
    let reader = Reader::open(directory, &Options::default(), host);
    let mut buffer = ReadBuffer::default();
    Box::new(move || match reader.read_into(None, &mut buffer) {
        Some(derived) if derived.state == State::Active => Ok(()),
        other => Err(format!("{other:?}").into()),
    })
}

/// Reads it once and keeps nothing.
fn read_fleet(directory: &str, host: &Host, threads: usize) -> Operation {
    let (directory, host) = (directory.to_owned(), host.clone());
    let bounds = FleetOptions { threads, ..FleetOptions::default() };
    Box::new(move || {
        let mut active = 0;
        let add = |part: &mut usize, entry: EntryRef<'_>| {
            *part += usize::from(entry.derived.state == State::Active);
        };
        let summary =
            gather_fleet(&directory, &bounds, FleetProbe::None, &Options::default(), &host, add, |part| {
                active += part
            })?;
        is_whole(&summary, active)
    })
}

/// Reads it again, where nothing has changed.
fn fleet_unchanged(directory: &str, host: &Host) -> Result<Operation, Failure> {
    let fleet = Fleet::open(directory, &FleetOptions::default(), &Options::default(), host)?;
    Ok(Box::new(move || {
        let mut active = 0;
        let summary = fleet.for_each(FleetProbe::None, |entry| {
            active += usize::from(entry.derived.state == State::Active);
        });
        is_whole(&summary, active)
    }))
}

fn is_whole(summary: &FleetSummary, active: usize) -> Result<(), Failure> {
    let whole = active == crate::prepare::FLEET && summary.entries == active;
    if whole { Ok(()) } else { Err(format!("{summary:?} with {active} active").into()) }
}

fn claiming(directory: &str, host: Host) -> Operation {
    let (directory, options) = (directory.to_owned(), Options::default());
    Box::new(move || {
        let claimed = claim(&directory, &claimant(), &options, &host)?;
        claimed.floor_failure.map_or(Ok(()), |failure| Err(failure.into()))
    })
}
