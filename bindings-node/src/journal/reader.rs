//! Reading for JavaScript: windows of lines, what a journal is worth, the result of a run. Nothing of it takes a lock.

use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::journal::{LogReader, MAX_ROWS, Window, check, read_run_result, retention_candidates};
use napi_derive::napi;

use super::parts::{CheckedParts, WindowParts};
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// A reader of one run's lines. May be used by several calls at once.
#[napi]
#[derive(Debug)]
pub struct NativeLogReader {
    reader: Arc<Slot<LogReader>>,
}

impl NativeLogReader {
    fn over(reader: LogReader) -> Self {
        NativeLogReader { reader: Arc::new(Slot::new("LogReader", reader)) }
    }

    fn promise(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&LogReader) -> Result<Window> + Send + 'static,
    ) -> Promised<WindowParts> {
        let slot = Arc::clone(&self.reader);
        promise(wait, Patience::Unlimited, move || Ok(action(&*slot.get()?)?.into()))
    }

    fn answer(&self, action: impl FnOnce(&LogReader) -> Result<Window>) -> Answer<WindowParts> {
        Answer::of(|| Ok(action(&*self.reader.get()?)?.into()))
    }
}

fn limit(given: Option<u32>) -> usize {
    given.map_or(MAX_ROWS, |given| given as usize)
}

#[napi]
impl NativeLogReader {
    /// Reads in a run's directory.
    #[napi(catch_unwind)]
    pub fn open_async(host: &NativeHost, directory: String, wait: &NativeWait) -> Promised<NativeLogReader> {
        let host = host.host.clone();
        promise(wait, Patience::Unlimited, move || {
            LogReader::open(directory, &host).map(NativeLogReader::over)
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn open_sync(host: &NativeHost, directory: String) -> Answer<NativeLogReader> {
        Answer::of(|| LogReader::open(directory, &host.host).map(NativeLogReader::over))
    }

    /// The last rows.
    #[napi(catch_unwind)]
    pub fn tail_async(&self, wait: &NativeWait) -> Promised<WindowParts> {
        self.promise(wait, LogReader::tail)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn tail_sync(&self) -> Answer<WindowParts> {
        self.answer(LogReader::tail)
    }

    /// The rows just before the one with this id.
    #[napi(catch_unwind)]
    pub fn history_async(&self, before: String, wait: &NativeWait) -> Promised<WindowParts> {
        self.promise(wait, move |reader| reader.history(&before))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn history_sync(&self, before: String) -> Answer<WindowParts> {
        self.answer(|reader| reader.history(&before))
    }

    /// At most so many rows just after the one with this id.
    #[napi(catch_unwind)]
    pub fn lines_async(
        &self,
        after: Option<String>,
        most: Option<u32>,
        wait: &NativeWait,
    ) -> Promised<WindowParts> {
        self.promise(wait, move |reader| reader.lines(after.as_deref(), limit(most)))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn lines_sync(&self, after: Option<String>, most: Option<u32>) -> Answer<WindowParts> {
        self.answer(|reader| reader.lines(after.as_deref(), limit(most)))
    }

    /// Lets go of the run's directory. Answers whether it was still open.
    #[napi(catch_unwind)]
    pub fn close(&self) -> bool {
        self.reader.close()
    }
}

/// What the journal in a run's directory is worth.
#[napi(catch_unwind)]
pub fn check_journal_async(
    host: &NativeHost,
    directory: String,
    wait: &NativeWait,
) -> Promised<CheckedParts> {
    let host = host.host.clone();
    promise(wait, Patience::Unlimited, move || Ok(check(directory, &host)?.into()))
}

/// The same on the calling thread.
#[napi(catch_unwind)]
pub fn check_journal_sync(host: &NativeHost, directory: String) -> Answer<CheckedParts> {
    Answer::of(|| Ok(check(directory, &host.host)?.into()))
}

/// The view of a run's result as JSON, or null.
#[napi(catch_unwind)]
pub fn read_run_result_async(
    host: &NativeHost,
    directory: String,
    wait: &NativeWait,
) -> Promised<Option<String>> {
    let host = host.host.clone();
    promise(wait, Patience::Unlimited, move || {
        Ok(read_run_result(directory, &host)?.map(|view| view.to_json()))
    })
}

/// The same on the calling thread.
#[napi(catch_unwind)]
pub fn read_run_result_sync(host: &NativeHost, directory: String) -> Answer<Option<String>> {
    Answer::of(|| Ok(read_run_result(directory, &host.host)?.map(|view| view.to_json())))
}

/// The runs below a root whose raw output can be cleaned up by hand.
#[napi(catch_unwind)]
pub fn retention_candidates_async(
    host: &NativeHost,
    root: String,
    wait: &NativeWait,
) -> Promised<Vec<String>> {
    let host = host.host.clone();
    promise(wait, Patience::Unlimited, move || retention_candidates(root, &host))
}

/// The same on the calling thread.
#[napi(catch_unwind)]
pub fn retention_candidates_sync(host: &NativeHost, root: String) -> Answer<Vec<String>> {
    Answer::of(|| retention_candidates(root, &host.host))
}
