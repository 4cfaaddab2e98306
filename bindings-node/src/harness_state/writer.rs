//! A writer for JavaScript, of its own or a session's, and the guard of the record's lock.

use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::harness_state::adapters::{Child, ChildStep};
use gallivant_core::harness_state::{Evidence, Observation, OwnershipGuard, Session, Writer, WriterIdentity};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::parts::{HeartbeatParts, ObservationParts, ReportParts, sequence};
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// Who writes, and where.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct WriterParts {
    /// The agent's directory.
    pub directory: String,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The pty session in which the harness runs.
    pub pty_session: Option<String>,
    /// The session's token.
    pub token: String,
    /// The sequence of the claim that the writer adopts.
    pub sequence: Option<BigInt>,
    /// By what it knows what it observes; left out: as a wrapper.
    pub evidence: Option<String>,
}

/// A writer. May be used by several calls at once.
#[napi]
#[derive(Debug)]
pub struct NativeWriter {
    voice: Voice,
}

/// Whose voice a writer is.
#[derive(Clone, Debug)]
pub(super) enum Voice {
    Own(Arc<Writer>),
    /// The session's own writer. It does not keep the session, and so its lease, from being closed.
    OfSession(Arc<Slot<Session>>),
}

impl Voice {
    fn with<T>(&self, action: impl FnOnce(&Writer) -> Result<T>) -> Result<T> {
        match self {
            Voice::Own(writer) => action(writer),
            Voice::OfSession(session) => action(session.get()?.writer()),
        }
    }
}

impl NativeWriter {
    pub(super) fn of_session(session: &Arc<Slot<Session>>) -> Self {
        NativeWriter { voice: Voice::OfSession(Arc::clone(session)) }
    }

    fn promise<T: Send + napi::bindgen_prelude::ToNapiValue + 'static>(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&Writer) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let voice = self.voice.clone();
        promise(wait, Patience::Slices, move || voice.with(action))
    }

    fn answer<T>(&self, action: impl FnOnce(&Writer) -> Result<T>) -> Answer<T> {
        Answer::of(|| self.voice.with(action))
    }
}

#[napi]
impl NativeWriter {
    /// Opens a writer. Touches no file.
    #[napi(catch_unwind)]
    pub fn open(host: &NativeHost, parts: WriterParts, set: OptionParts) -> Answer<NativeWriter> {
        Answer::of(|| {
            let identity = WriterIdentity {
                agent: parts.agent,
                harness: parts.harness,
                pty_session: parts.pty_session,
                token: parts.token,
            };
            let sequence = sequence(parts.sequence.as_ref())?;
            let mut writer = Writer::open(parts.directory, identity, sequence, &options(&set)?, &host.host)?;
            if let Some(word) = parts.evidence {
                writer = writer.with_evidence(Evidence::parse("evidence", &word)?)?;
            }
            Ok(NativeWriter { voice: Voice::Own(Arc::new(writer)) })
        })
    }

    /// The sequence that was adopted or resolved.
    #[napi(catch_unwind)]
    pub fn sequence(&self) -> Answer<Option<BigInt>> {
        self.answer(|writer| Ok(writer.sequence().map(BigInt::from)))
    }

    /// Makes the next landed observation a transition.
    #[napi(catch_unwind)]
    pub fn interrupt(&self) -> Answer<bool> {
        self.answer(|writer| {
            writer.interrupt();
            Ok(true)
        })
    }

    /// One try of an observation.
    #[napi(catch_unwind)]
    pub fn observe_async(&self, seen: ObservationParts, wait: &NativeWait) -> Promised<ReportParts> {
        self.promise(wait, move |writer| Ok(writer.observe(&Observation::try_from(seen)?)?.into()))
    }

    /// An observation on the calling thread.
    #[napi(catch_unwind)]
    pub fn observe_sync(&self, seen: ObservationParts) -> Answer<ReportParts> {
        self.answer(|writer| Ok(writer.observe(&Observation::try_from(seen)?)?.into()))
    }

    /// One try of an observation that leaves the session's own ending alone.
    #[napi(catch_unwind)]
    pub fn observe_unless_ended_async(
        &self,
        seen: ObservationParts,
        wait: &NativeWait,
    ) -> Promised<ReportParts> {
        self.promise(wait, move |writer| {
            Ok(writer.observe_unless_ended(&Observation::try_from(seen)?)?.into())
        })
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn observe_unless_ended_sync(&self, seen: ObservationParts) -> Answer<ReportParts> {
        self.answer(|writer| Ok(writer.observe_unless_ended(&Observation::try_from(seen)?)?.into()))
    }

    /// One try of recording the end.
    #[napi(catch_unwind)]
    pub fn ended_async(&self, exit: Option<String>, wait: &NativeWait) -> Promised<ReportParts> {
        self.promise(wait, move |writer| Ok(writer.ended(exit.as_deref())?.into()))
    }

    /// The end on the calling thread.
    #[napi(catch_unwind)]
    pub fn ended_sync(&self, exit: Option<String>) -> Answer<ReportParts> {
        self.answer(|writer| Ok(writer.ended(exit.as_deref())?.into()))
    }

    /// One try of noting what became of a child.
    #[napi(catch_unwind)]
    pub fn note_child_async(&self, id: String, step: String, wait: &NativeWait) -> Promised<ReportParts> {
        self.promise(wait, move |writer| note_child(writer, &id, &step))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn note_child_sync(&self, id: String, step: String) -> Answer<ReportParts> {
        self.answer(|writer| note_child(writer, &id, &step))
    }

    /// One try of a heartbeat.
    #[napi(catch_unwind)]
    pub fn heartbeat_async(&self, wait: &NativeWait) -> Promised<HeartbeatParts> {
        self.promise(wait, |writer| Ok(writer.heartbeat()?.into()))
    }

    /// A heartbeat on the calling thread.
    #[napi(catch_unwind)]
    pub fn heartbeat_sync(&self) -> Answer<HeartbeatParts> {
        self.answer(|writer| Ok(writer.heartbeat()?.into()))
    }

    /// One try of taking the lock; null where the session does not own the seat.
    #[napi(catch_unwind)]
    pub fn lock_async(&self, wait: &NativeWait) -> Promised<Option<NativeGuard>> {
        self.promise(wait, lock)
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn lock_sync(&self) -> Answer<Option<NativeGuard>> {
        self.answer(lock)
    }
}

fn note_child(writer: &Writer, id: &str, step: &str) -> Result<ReportParts> {
    let child = Child { id: id.to_owned(), step: ChildStep::parse(step)? };
    Ok(writer.note_child(&child)?.into())
}

fn lock(writer: &Writer) -> Result<Option<NativeGuard>> {
    Ok(writer
        .lock_current_ownership()?
        .map(|guard| NativeGuard { guard: Slot::new("OwnershipGuard", guard) }))
}

/// Holds the record's lock until it is released, or collected.
#[napi]
#[derive(Debug)]
pub struct NativeGuard {
    guard: Slot<OwnershipGuard>,
}

#[napi]
impl NativeGuard {
    /// The sequence that was found to be the session's.
    #[napi(catch_unwind)]
    pub fn sequence(&self) -> Answer<BigInt> {
        Answer::of(|| Ok(self.guard.get()?.sequence()?.into()))
    }

    /// Releases the lock. Answers whether it was still held.
    #[napi(catch_unwind)]
    pub fn release(&self) -> Answer<bool> {
        Answer::of(|| Ok(self.guard.close()))
    }
}
