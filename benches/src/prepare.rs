//! The directories that rows are opened on.

use std::path::Path;

use gallivant_core::Host;
use gallivant_core::harness_state::{
    Claimant, Observation, Options, State, Writer, WriterIdentity, claim, encode,
};

use crate::Failure;

const GROUPS: usize = 100;
const AGENTS: usize = 100;
/// How many records a fleet has.
pub(crate) const FLEET: usize = GROUPS * AGENTS;

pub(crate) fn identity() -> WriterIdentity {
    claimant().writer_identity(Some("worker".to_owned()))
}

pub(crate) fn claimant() -> Claimant {
    Claimant { agent: "host.worker".to_owned(), harness: "claude".to_owned(), token: "bench".to_owned() }
}

/// A seat with the sequence 1, observed active. Durable, as far as a claim is.
pub(crate) fn seat(directory: &str) -> Result<(), Failure> {
    let (options, host) = (Options::default(), Host::system());
    let claimed = claim(directory, &claimant(), &options, &host)?;
    let writer = Writer::open(directory, identity(), Some(claimed.sequence), &options, &host)?;
    writer.observe(&Observation::new(State::Active))?;
    Ok(())
}

/// A fleet: groups of agents, `g00/a00` to `g99/a99`, each with the record of a prepared seat and nothing else. It
/// counts as unchanged once its files have rested.
pub(crate) fn fleet(directory: &str) -> Result<(), Failure> {
    let root = Path::new(directory);
    let first = root.join("g00/a00");
    seat(first.to_str().ok_or("the directory's name is not UTF-8")?)?;
    let host = Host::system();
    let reader = gallivant_core::harness_state::Reader::open(&first, &Options::default(), &host);
    let snapshot = reader.snapshot();
    let line = encode(snapshot.record().ok_or("no record stands")?);
    for index in 1..FLEET {
        let agent = root.join(format!("g{:02}/a{:02}", index / AGENTS, index % AGENTS));
        let agent = host.files.open_or_create(&agent)?;
        agent.create("harness-state")?.write_all(&line)?;
    }
    Ok(())
}
