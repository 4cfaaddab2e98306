//! A session for JavaScript.

use std::path::PathBuf;
use std::sync::Arc;

use gallivant_core::Result;
use gallivant_core::harness_state::{NewSession, Session};
use napi::bindgen_prelude::ToNapiValue;
use napi_derive::napi;

use super::parts::{ClaimParts, EnvironmentParts, ProcessParts, ReportParts, TickParts};
use super::writer::NativeWriter;
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options};
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// What a session is started with.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct SessionParts {
    /// The agent's directory.
    pub directory: String,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The pty session in which the harness will run.
    pub pty_session: Option<String>,
    /// The token to claim with; left out: mint one.
    pub token: Option<String>,
}

/// A claimed session. Closing it, or collecting it, releases its lease and writes nothing.
#[napi]
#[derive(Debug)]
pub struct NativeSession {
    session: Arc<Slot<Session>>,
}

fn start(host: &NativeHost, parts: SessionParts, set: &OptionParts) -> Result<NativeSession> {
    let new = NewSession {
        directory: PathBuf::from(parts.directory),
        agent: parts.agent,
        harness: parts.harness,
        pty_session: parts.pty_session,
        token: parts.token,
    };
    let session = Session::start(new, &options(set)?, &host.host)?;
    Ok(NativeSession { session: Arc::new(Slot::new("Session", session)) })
}

impl NativeSession {
    fn promise<T: Send + ToNapiValue + 'static>(
        &self,
        wait: &NativeWait,
        action: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let slot = Arc::clone(&self.session);
        promise(wait, Patience::Slices, move || action(&*slot.get()?))
    }

    fn answer<T>(&self, action: impl FnOnce(&Session) -> Result<T>) -> Answer<T> {
        Answer::of(|| action(&*self.session.get()?))
    }
}

#[napi]
impl NativeSession {
    /// One try of starting a session.
    #[napi(catch_unwind)]
    pub fn start_async(
        host: &NativeHost,
        parts: SessionParts,
        set: OptionParts,
        wait: &NativeWait,
    ) -> Promised<NativeSession> {
        let host = NativeHost { host: host.host.clone(), seams: host.seams.clone() };
        promise(wait, Patience::SlicesUntilClockIsRead, move || start(&host, parts, &set))
    }

    /// Starts a session on the calling thread.
    #[napi(catch_unwind)]
    pub fn start_sync(host: &NativeHost, parts: SessionParts, set: OptionParts) -> Answer<NativeSession> {
        Answer::of(|| start(host, parts, &set))
    }

    /// The claim with which it started.
    #[napi(catch_unwind)]
    pub fn claim(&self) -> Answer<ClaimParts> {
        self.answer(|session| Ok(session.claim().into()))
    }

    /// Its writer.
    #[napi(catch_unwind)]
    pub fn writer(&self) -> NativeWriter {
        NativeWriter::of_session(&self.session)
    }

    /// Whether it holds its lease.
    #[napi(catch_unwind)]
    pub fn holds_lease(&self) -> Answer<bool> {
        self.answer(|session| Ok(session.holds_lease()))
    }

    /// What to hand to the harness and its hooks.
    #[napi(catch_unwind)]
    pub fn environment(&self) -> Answer<EnvironmentParts> {
        self.answer(|session| Ok(session.environment().into()))
    }

    /// The process that was attached.
    #[napi(catch_unwind)]
    pub fn harness_process(&self) -> Answer<Option<ProcessParts>> {
        self.answer(|session| Ok(session.harness_process().map(ProcessParts::from)))
    }

    /// One try of naming the harness process.
    #[napi(catch_unwind)]
    pub fn attach_async(&self, pid: u32, wait: &NativeWait) -> Promised<ProcessParts> {
        self.promise(wait, move |session| Ok(session.attach(pid)?.into()))
    }

    /// Names the harness process, on the calling thread.
    #[napi(catch_unwind)]
    pub fn attach_sync(&self, pid: u32) -> Answer<ProcessParts> {
        self.answer(|session| Ok(session.attach(pid)?.into()))
    }

    /// One try of a heartbeat that may be due.
    #[napi(catch_unwind)]
    pub fn heartbeat_async(&self, wait: &NativeWait) -> Promised<TickParts> {
        self.promise(wait, |session| Ok(session.heartbeat_if_due()?.into()))
    }

    /// A heartbeat that may be due, on the calling thread.
    #[napi(catch_unwind)]
    pub fn heartbeat_sync(&self) -> Answer<TickParts> {
        self.answer(|session| Ok(session.heartbeat_if_due()?.into()))
    }

    /// One try of ending the session.
    #[napi(catch_unwind)]
    pub fn end_async(&self, exit: Option<String>, wait: &NativeWait) -> Promised<ReportParts> {
        self.promise(wait, move |session| Ok(session.end(exit.as_deref())?.into()))
    }

    /// Ends the session on the calling thread.
    #[napi(catch_unwind)]
    pub fn end_sync(&self, exit: Option<String>) -> Answer<ReportParts> {
        self.answer(|session| Ok(session.end(exit.as_deref())?.into()))
    }

    /// Lets go of the lease and writes nothing. Answers whether it was still open.
    #[napi(catch_unwind)]
    pub fn close(&self) -> Answer<bool> {
        Answer::of(|| Ok(self.session.close()))
    }
}
