//! A process whose system calls are counted: `counted ROW DIRECTORY COUNT` makes so many operations of one kind on a
//! directory that stands claimed by the token `counted` with the sequence 1, and observed active.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::execution::NoFaults;
use gallivant_core::execution::ledger::Owner;
use gallivant_core::execution::ledger::file::{LedgerFile, Writer as LedgerWriter};
use gallivant_core::harness_state::{
    Claimant, Heartbeat, Observation, Options, Outcome, ReadBuffer, Reader, State, Writer, claim,
};
use gallivant_core::{Error, Host};

/// How long a file rests before a look at it is believed, and then some.
const REST: Duration = Duration::from_millis(50);

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [row, directory, count] = arguments.as_slice() else { panic!("counted ROW DIRECTORY COUNT") };
    let count: u32 = count.parse().expect("a number");
    let (options, host) = (Options::default(), Host::system());
    let (agent, harness) = ("host.worker".to_owned(), "codex".to_owned());
    let claimant = Claimant { agent, harness, token: "counted".to_owned() };
    let identity = claimant.writer_identity(Some("worker".to_owned()));
    let writer = Writer::open(directory, identity.clone(), Some(1), &options, &host)?;
    let active = Observation::new(State::Active);
    match row.as_str() {
        "restated" => {
            assert_eq!(writer.observe(&active)?.outcome, Outcome::Coalesced);
            host.clock.sleep(REST);
            for _ in 0..=count {
                assert_eq!(writer.observe(&active)?.outcome, Outcome::Coalesced);
            }
        }
        "transition" => {
            // Whatever a run before this one left there.
            writer.interrupt();
            for index in 0..count {
                let seen = if index % 2 == 0 { &Observation::new(State::Idle) } else { &active };
                assert_eq!(writer.observe(seen)?.outcome, Outcome::Landed);
            }
        }
        "heartbeat" => {
            for _ in 0..count {
                assert!(matches!(writer.heartbeat()?, Heartbeat::Landed { floor_failure: None }));
            }
        }
        "first-transition" | "first-heartbeat" => {
            let mut writers = vec![writer];
            for index in 0..=count {
                let writer = Writer::open(directory, identity.clone(), Some(1), &options, &host)?;
                if row == "first-heartbeat" {
                    assert!(matches!(writer.heartbeat()?, Heartbeat::Landed { floor_failure: None }));
                } else {
                    let seen = if index % 2 == 0 { &Observation::new(State::Idle) } else { &active };
                    writer.interrupt();
                    assert_eq!(writer.observe(seen)?.outcome, Outcome::Landed);
                }
                writers.push(writer);
            }
            // Closing them is none of what a first write makes.
            std::mem::forget(writers);
        }
        "read" => {
            let reader = Reader::open(directory, &options, &host);
            let mut buffer = ReadBuffer::default();
            for _ in 0..count {
                assert_eq!(
                    reader.read_into(None, &mut buffer).map(|derived| derived.state),
                    Some(State::Active)
                );
            }
        }
        "claim" => {
            for _ in 0..count {
                assert!(claim(directory, &claimant, &options, &host)?.floor_failure.is_none());
            }
        }
        "persist" => persist(directory, count)?,
        other => panic!("no such row: {other}"),
    }
    Ok(())
}

/// So many Persists of a ledger.
fn persist(directory: &str, count: u32) -> Result<(), Error> {
    let host = Host::system();
    let root = host.files.open(Path::new(directory)).expect("it is there");
    let word = || "word".to_owned();
    let owner = Owner { task_id: word(), provider: word(), account: word() };
    let (mut file, mut writer) = (LedgerFile::default(), LedgerWriter::new(&host, Arc::new(NoFaults)));
    let mut ledger = file.read(&*root, &owner)?;
    for at in 0..count {
        ledger.created_at = Some(1_760_000_000_000 + u64::from(at));
        file.persist(&*root, &ledger, &mut writer)?;
    }
    assert_eq!(LedgerFile::default().read(&*root, &owner)?.created_at, ledger.created_at);
    Ok(())
}
