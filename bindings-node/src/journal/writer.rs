//! The journal and its projection for JavaScript. The calls of one are made one after another.

use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;
use gallivant_core::journal::{Event, Journal, Projection};
use napi::bindgen_prelude::{BigInt, ToNapiValue};
use napi_derive::napi;

use super::parts::{AppendedParts, OwnerParts, ProjectedParts, RecoveredParts};
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::unsigned;
use crate::redaction::NativeRedactor;
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// A writer that takes turns. Neither kind takes a lock, so that no call has anything to wait for but the disk.
#[derive(Debug)]
struct Turns<T>(Arc<Slot<Mutex<T>>>);

impl<T: Send + 'static> Turns<T> {
    fn new(what: &'static str, writer: T) -> Self {
        Turns(Arc::new(Slot::new(what, Mutex::new(writer))))
    }

    fn answer<R>(&self, action: impl FnOnce(&mut T) -> Result<R>) -> Answer<R> {
        Answer::of(|| with(&self.0, action))
    }

    fn promise<R: Send + ToNapiValue + 'static>(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&mut T) -> Result<R> + Send + 'static,
    ) -> Promised<R> {
        let slot = Arc::clone(&self.0);
        promise(wait, Patience::Unlimited, move || with(&slot, action))
    }
}

fn with<T, R>(slot: &Slot<Mutex<T>>, action: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
    action(&mut slot.get()?.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A journal. Nothing of it is lost by closing or collecting it.
#[napi]
#[derive(Debug)]
pub struct NativeJournal {
    journal: Turns<Journal>,
}

fn open_journal(host: &NativeHost, directory: &str, owner: OwnerParts, redactor: &NativeRedactor) -> Opening {
    let (host, redactor, directory) = (host.host.clone(), redactor.redactor.clone(), directory.to_owned());
    Box::new(move || {
        let journal = Journal::open(directory, owner.into(), &host, &redactor)?;
        Ok(NativeJournal { journal: Turns::new("Journal", journal) })
    })
}

type Opening = Box<dyn FnOnce() -> Result<NativeJournal> + Send>;

#[napi]
impl NativeJournal {
    /// Opens the journal in a run's directory.
    #[napi(catch_unwind)]
    pub fn open_async(
        host: &NativeHost,
        directory: String,
        owner: OwnerParts,
        redactor: &NativeRedactor,
        wait: &NativeWait,
    ) -> Promised<NativeJournal> {
        promise(wait, Patience::Unlimited, open_journal(host, &directory, owner, redactor))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn open_sync(
        host: &NativeHost,
        directory: String,
        owner: OwnerParts,
        redactor: &NativeRedactor,
    ) -> Answer<NativeJournal> {
        Answer::of(open_journal(host, &directory, owner, redactor))
    }

    /// Appends the events of a page that are not there yet. The page is the text of a JSON array.
    #[napi(catch_unwind)]
    pub fn append_async(&self, page: String, wait: &NativeWait) -> Promised<AppendedParts> {
        self.journal.promise(wait, move |journal| Ok(journal.append(&Event::page_from_json(&page)?)?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn append_sync(&self, page: String) -> Answer<AppendedParts> {
        self.journal.answer(|journal| Ok(journal.append(&Event::page_from_json(&page)?)?.into()))
    }

    /// Finishes a batch that was left pending.
    #[napi(catch_unwind)]
    pub fn recover_async(&self, wait: &NativeWait) -> Promised<RecoveredParts> {
        self.journal.promise(wait, |journal| Ok(journal.recover()?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn recover_sync(&self) -> Answer<RecoveredParts> {
        self.journal.answer(|journal| Ok(journal.recover()?.into()))
    }

    /// Lets go of its files. Answers whether it was still open.
    #[napi(catch_unwind)]
    pub fn close(&self) -> bool {
        self.journal.0.close()
    }
}

/// A projection. Nothing of it is lost by closing or collecting it.
#[napi]
#[derive(Debug)]
pub struct NativeProjection {
    projection: Turns<Projection>,
}

impl NativeProjection {
    fn over(projection: Projection) -> Self {
        NativeProjection { projection: Turns::new("Projection", projection) }
    }
}

#[napi]
impl NativeProjection {
    /// Opens the projection in a run's directory.
    #[napi(catch_unwind)]
    pub fn open_async(host: &NativeHost, directory: String, wait: &NativeWait) -> Promised<NativeProjection> {
        let host = host.host.clone();
        promise(wait, Patience::Unlimited, move || {
            Projection::open(directory, &host).map(NativeProjection::over)
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn open_sync(host: &NativeHost, directory: String) -> Answer<NativeProjection> {
        Answer::of(|| Projection::open(directory, &host.host).map(NativeProjection::over))
    }

    /// Writes a line for each record that has none yet.
    #[napi(catch_unwind)]
    pub fn catch_up_async(&self, wait: &NativeWait) -> Promised<ProjectedParts> {
        self.projection.promise(wait, |projection| Ok(projection.catch_up()?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn catch_up_sync(&self) -> Answer<ProjectedParts> {
        self.projection.answer(|projection| Ok(projection.catch_up()?.into()))
    }

    /// Drops whole old lines so that at most this many bytes stay.
    #[napi(catch_unwind)]
    pub fn trim_async(&self, keep_bytes: BigInt, wait: &NativeWait) -> Promised<ProjectedParts> {
        self.projection
            .promise(wait, move |projection| Ok(projection.trim(unsigned("keepBytes", &keep_bytes)?)?.into()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn trim_sync(&self, keep_bytes: BigInt) -> Answer<ProjectedParts> {
        self.projection.answer(|projection| Ok(projection.trim(unsigned("keepBytes", &keep_bytes)?)?.into()))
    }

    /// Lets go of its files. Answers whether it was still open.
    #[napi(catch_unwind)]
    pub fn close(&self) -> bool {
        self.projection.0.close()
    }
}
