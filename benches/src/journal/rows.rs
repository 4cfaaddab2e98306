//! One operation a row. Each checks what it is answered, so that nothing is measured but what was asked for.

use std::path::Path;

use gallivant_core::Host;
use gallivant_core::journal::{
    AppendPoint, CHECKPOINT, Content, Event, How, Journal, LOG, Owner, Provenance, check,
};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use rusqlite::Connection;

use crate::reading;
use crate::serving::{Failure, Operation, serve, serve_prepared};

/// How many events a page has.
pub(crate) const PAGE: usize = 100;
/// Bytes of an event's own text: id, type, number, time and data together have about 300.
pub(crate) const DATA: usize = 210;

/// What a row does with a page that was made for it.
type OnPage = Box<dyn FnMut(&Vec<Event>) -> Result<(), Failure>>;

/// Is a row until standard input ends. What makes the events of a page is no part of any row.
pub(crate) fn run(row: &str, directory: &str) -> Result<(), Failure> {
    match row {
        "append" => serve_prepared(pages(), append(directory)?),
        "append-alone" => serve_prepared(pages(), append_alone(directory)?),
        "sqlite" => serve_prepared(pages(), sqlite(directory)?),
        "known" => serve(known(directory)?),
        "open" => serve(opening(directory)?),
        "check" => serve(checking(directory)?),
        _ => serve(reading::open(row, directory)?),
    }
}

fn redactor() -> Result<Redactor, Failure> {
    Ok(Redactor::new(&Secrets::none(), Patterns::Recognised)?)
}

pub(crate) fn journal(directory: &str) -> Result<Journal, Failure> {
    journal_with(directory, &redactor()?)
}

fn journal_with(directory: &str, redactor: &Redactor) -> Result<Journal, Failure> {
    let owner = Owner {
        task_id: "task-1".to_owned(),
        run_id: "run-1".to_owned(),
        provider: "provider".to_owned(),
        job_id: Some("job-1".to_owned()),
        turn_id: Some("turn-1".to_owned()),
    };
    Ok(Journal::open(directory, owner, &Host::system(), redactor)?)
}

/// Pages of new events, each with ids that no page before had.
pub(crate) fn pages() -> impl FnMut() -> Vec<Event> {
    let mut next = Host::system().random.next_u64();
    let data: String = "all is well so far, ".chars().cycle().take(DATA).collect();
    move || {
        (0..PAGE)
            .map(|_| {
                next = next.wrapping_add(1);
                Event {
                    id: format!("event-{next:016x}"),
                    provider_sequence: Some(next.into()),
                    provenance: Provenance::Provider,
                    timestamp: Some(1_779_999_940_000_u64.into()),
                    content: Content::Said { kind: "output".to_owned(), data: data.as_str().into() },
                }
            })
            .collect()
    }
}

pub(crate) fn expect_all(how: How, journal: &mut Journal, page: &[Event]) -> Result<(), Failure> {
    let appended = journal.append(page)?;
    if appended.placed.iter().all(|placed| placed.how == how) {
        Ok(())
    } else {
        Err(format!("not all are {how:?}").into())
    }
}

/// Makes a journal of so many records and two pages more, and a file `sizes` with the bytes of a page: its pending checkpoint, its batch,
/// its acknowledged checkpoint.
pub(crate) fn prepare(directory: &str, records: u64) -> Result<(), Failure> {
    let run = Host::system().files.open_or_create(Path::new(directory))?;
    let mut journal = journal(directory)?;
    let mut next = pages();
    let size = |name: &str| Ok::<u64, Failure>(run.metadata(name)?.size);

    for _ in 0..=records / PAGE as u64 {
        expect_all(How::Recorded, &mut journal, &next())?;
    }

    let start = size(LOG)?;
    let page = next();
    let mut under_way = journal.begin(&page)?;
    let mut pending = 0;
    while let Some(point) = journal.advance(&mut under_way)? {
        if point == AppendPoint::Pending {
            pending = size(CHECKPOINT)?;
        }
    }
    let sizes = format!("{pending} {} {}\n", size(LOG)? - start, size(CHECKPOINT)?);
    run.create("sizes")?.write_all(sizes.as_bytes())?;
    Ok(())
}

fn append(directory: &str) -> Result<OnPage, Failure> {
    let mut journal = journal(directory)?;
    expect_all(How::Recorded, &mut journal, &pages()())?;
    Ok(Box::new(move |page: &Vec<Event>| expect_all(How::Recorded, &mut journal, page)))
}

fn append_alone(directory: &str) -> Result<OnPage, Failure> {
    let (directory, redactor) = (directory.to_owned(), redactor()?);
    Ok(Box::new(move |page: &Vec<Event>| {
        expect_all(How::Recorded, &mut journal_with(&directory, &redactor)?, page)
    }))
}

fn known(directory: &str) -> Result<Operation, Failure> {
    let mut journal = journal(directory)?;
    let page = pages()();
    expect_all(How::Recorded, &mut journal, &page)?;
    Ok(Box::new(move || expect_all(How::Known, &mut journal, &page)))
}

/// Everything that the first page of a process waits for before it is written.
fn opening(directory: &str) -> Result<Operation, Failure> {
    let directory = directory.to_owned();
    let (page, redactor) = (pages()(), redactor()?);
    Ok(Box::new(move || {
        let mut journal = journal_with(&directory, &redactor)?;
        journal.begin(&page)?;
        Ok(())
    }))
}

fn checking(directory: &str) -> Result<Operation, Failure> {
    let (directory, host) = (directory.to_owned(), Host::system());
    Ok(Box::new(move || {
        let checked = check(&directory, &host)?;
        if checked.gaps.is_empty() && checked.records == checked.end.sequence {
            Ok(())
        } else {
            Err("the journal is not whole".into())
        }
    }))
}

/// What a program would do that keeps its events in a database: one durable transaction a page, one unique key an event.
fn sqlite(directory: &str) -> Result<OnPage, Failure> {
    let mut database = Connection::open(Path::new(directory).join("events.sqlite"))?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch(
        "CREATE TABLE IF NOT EXISTS events (sequence INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, record TEXT NOT NULL)",
    )?;
    let mut insert = move |page: &Vec<Event>| -> Result<(), Failure> {
        let transaction = database.transaction()?;
        {
            let mut statement =
                transaction.prepare("INSERT OR IGNORE INTO events (key, record) VALUES (?1, ?2)")?;
            for event in page {
                let key = gallivant_core::journal::replay_key(
                    Some("provider"),
                    Some("job-1"),
                    Some("turn-1"),
                    Some(&event.id),
                );
                let Content::Said { data, .. } = &event.content else { continue };
                let record = format!(
                    "{{\"version\":1,\"taskId\":\"task-1\",\"runId\":\"run-1\",\"provider\":\"provider\",\"eventId\":\"{}\",\
                     \"provenance\":\"provider\",\"timestamp\":1779999940000,\"type\":\"output\",\"data\":{data}}}",
                    event.id
                );
                if statement.execute((&key[..], &record))? != 1 {
                    return Err("an event was known".into());
                }
            }
        }
        transaction.commit()?;
        Ok(())
    };
    // As many as the journal beside it has, so that both are of one length.
    let records = check(directory, &Host::system()).map_or(0, |checked| checked.records);
    let mut next = pages();
    for _ in 0..records / PAGE as u64 {
        insert(&next())?;
    }
    Ok(Box::new(insert))
}
