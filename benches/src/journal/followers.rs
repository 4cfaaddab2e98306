//! Many readers that follow one live log in one process, each on its own, and what each of them has to be told.
//!
//! Every reader proves of every row that it is the one that comes next: a row that is lost or comes twice ends the
//! program.

use std::sync::mpsc;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::journal::Replay;

use crate::reading::{acknowledged, expect_line, projecting};
use crate::rows::PAGE;
use crate::serving::{Failure, Operation};

/// How many readers there are.
const READERS: usize = 100;
/// How many pages are written in a row while the readers follow.
const BURST: usize = 10;
/// Longer than a row takes on a machine that works at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// One thread asks each reader for a page that another process has written: exactly one page is there each time.
pub(crate) fn polled(directory: &str) -> Result<Operation, Failure> {
    let mut readers = open(directory)?;
    Ok(Box::new(move || {
        for (replay, next) in &mut readers {
            let end = *next + PAGE as u64;
            while let Some(frame) = replay.poll()? {
                expect_line(&frame, next)?;
            }
            if *next != end {
                return Err(format!("a reader stands at {next} and not at {end}").into());
            }
        }
        Ok(())
    }))
}

/// Each reader waits in a thread of its own, while this thread writes page after page. An operation is a burst of pages
/// and ends when every reader has all of them.
pub(crate) fn woken(directory: &str) -> Result<Operation, Failure> {
    let mut write = projecting(directory)?;
    let (told, heard) = mpsc::channel();
    for (mut replay, mut next) in open(directory)? {
        let told = told.clone();
        std::thread::spawn(move || {
            loop {
                let done = follow(&mut replay, &mut next).map_err(|error| error.to_string());
                let failed = done.is_err();
                if told.send(done).is_err() || failed {
                    return;
                }
            }
        });
    }
    Ok(Box::new(move || {
        for _ in 0..BURST {
            write()?;
        }
        for _ in 0..READERS {
            heard.recv()??;
        }
        Ok(())
    }))
}

/// Readers that have read everything, each with the number that comes next.
fn open(directory: &str) -> Result<Vec<(Replay, u64)>, Failure> {
    let (host, last) = (Host::system(), acknowledged(directory)?);
    let mut readers = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        let mut replay = Replay::open(directory, Some(&last.to_string()), &host)?;
        if replay.descriptor().is_none() {
            return Err("a reader is told of nothing: this user has no further inotify instance".into());
        }
        if replay.poll()?.is_some() {
            return Err("a reader began before the end".into());
        }
        readers.push((replay, last + 1));
    }
    Ok(readers)
}

/// Waits until a burst of rows has come.
fn follow(replay: &mut Replay, next: &mut u64) -> Result<(), Failure> {
    let end = *next + (BURST * PAGE) as u64;
    while *next < end {
        let frame = replay.next(Some(PATIENCE))?.ok_or("no row within half a minute")?;
        if !frame.is_heartbeat() {
            expect_line(&frame, next)?;
        }
    }
    Ok(())
}
