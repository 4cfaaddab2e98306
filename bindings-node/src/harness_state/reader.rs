//! A reader for JavaScript, and the snapshot from which JavaScript derives with its own probe's answer.
//!
//! A probe that is a JavaScript function is never called from here: JavaScript takes a snapshot, asks whether a
//! probe's answer can make a difference, asks its function, and derives with the answer. No foreign code runs under
//! native code.

use gallivant_core::harness_state::{LeaseProbe, Moment, Options, Probe, ProcessProbe, Reader, Snapshot};
use gallivant_core::process::{Liveness, ProcessIdentity};
use gallivant_core::{Code, Error, Host, Result};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::parts::{DerivedParts, ProcessParts, RecordParts};
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::{OptionParts, options, unsigned, whole_ms};
use crate::waiting::{NativeWait, Patience};

/// A probe that needs no JavaScript: at most one member is set.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct ProbeParts {
    /// The session's lease.
    pub lease: bool,
    /// A fixed answer.
    pub liveness: Option<String>,
    /// A process identity.
    pub process: Option<ProcessParts>,
}

/// A reader. May be used by several calls at once.
#[napi]
#[derive(Debug)]
pub struct NativeReader {
    reader: Reader,
    host: Host,
}

impl NativeReader {
    fn take(&self) -> NativeSnapshot {
        NativeSnapshot { snapshot: self.reader.snapshot(), options: self.reader.options().clone() }
    }

    fn share(&self) -> Self {
        NativeReader { reader: self.reader.clone(), host: self.host.clone() }
    }

    fn read(&self, parts: ProbeParts) -> Result<Option<DerivedParts>> {
        let probe: Option<Box<dyn Probe>> = if parts.lease {
            Some(Box::new(LeaseProbe::new(&self.reader)))
        } else if let Some(word) = parts.liveness {
            Some(Box::new(liveness(&word)?))
        } else if let Some(process) = parts.process {
            Some(Box::new(ProcessProbe::new(ProcessIdentity::try_from(process)?, &self.host)))
        } else {
            None
        };
        Ok(self.reader.read(probe.as_deref()).map(DerivedParts::from))
    }
}

#[napi]
impl NativeReader {
    /// Opens a reader. Touches no file. The empty path is refused as a writer's is.
    #[napi(catch_unwind)]
    pub fn open(host: &NativeHost, path: String, set: OptionParts) -> Answer<NativeReader> {
        Answer::of(|| {
            let reader = Reader::try_open(path, &options(&set)?, &host.host)?;
            Ok(NativeReader { reader, host: host.host.clone() })
        })
    }

    /// How long a probe may take, in milliseconds.
    #[napi(catch_unwind)]
    pub fn probe_budget_ms(&self) -> BigInt {
        whole_ms(self.reader.options().probe_budget).into()
    }

    /// What may be concluded now; null when nothing was ever observed.
    #[napi(catch_unwind)]
    pub fn read_async(&self, probe: ProbeParts, wait: &NativeWait) -> Promised<Option<DerivedParts>> {
        let reader = self.share();
        promise(wait, Patience::OneTry, move || reader.read(probe))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn read_sync(&self, probe: ProbeParts) -> Answer<Option<DerivedParts>> {
        Answer::of(|| self.read(probe))
    }

    /// What stands there.
    #[napi(catch_unwind)]
    pub fn snapshot_async(&self, wait: &NativeWait) -> Promised<NativeSnapshot> {
        let reader = self.share();
        promise(wait, Patience::OneTry, move || Ok(reader.take()))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn snapshot_sync(&self) -> Answer<NativeSnapshot> {
        Answer::of(|| Ok(self.take()))
    }
}

/// What was found at one moment.
#[napi]
#[derive(Debug)]
pub struct NativeSnapshot {
    snapshot: Snapshot,
    options: Options,
}

impl NativeSnapshot {
    fn at(&self, now_ms: Option<&BigInt>) -> Result<Moment> {
        match now_ms {
            Some(now_ms) => Ok(self.snapshot.taken_at().moved_to(unsigned("nowMs", now_ms)?)),
            None => Ok(self.snapshot.taken_at().clone()),
        }
    }
}

#[napi]
impl NativeSnapshot {
    /// The record, or null where none was read and decoded.
    #[napi(catch_unwind)]
    pub fn record(&self) -> Option<RecordParts> {
        self.snapshot.record().map(RecordParts::from)
    }

    /// Why there is no record although something stands there.
    #[napi(catch_unwind)]
    pub fn damage(&self) -> Option<String> {
        self.snapshot.damage()
    }

    /// When it was taken, in milliseconds since 1970.
    #[napi(catch_unwind)]
    pub fn taken_at_ms(&self) -> BigInt {
        self.snapshot.taken_at().wall_ms.into()
    }

    /// Whether a probe's answer can make a difference.
    #[napi(catch_unwind)]
    pub fn wants_probe(&self, now_ms: Option<BigInt>) -> Answer<bool> {
        Answer::of(|| Ok(self.snapshot.wants_probe(&self.options, &self.at(now_ms.as_ref())?)))
    }

    /// What may be concluded with this probe's answer, or without a probe.
    #[napi(catch_unwind)]
    pub fn derive(&self, now_ms: Option<BigInt>, probe: Option<String>) -> Answer<Option<DerivedParts>> {
        Answer::of(|| {
            let answer = probe.as_deref().map(liveness).transpose()?;
            let at = self.at(now_ms.as_ref())?;
            let derived = match answer {
                Some(answer) => self.snapshot.derive(&self.options, &at, Some(&mut || answer)),
                None => self.snapshot.derive(&self.options, &at, None),
            };
            Ok(derived.map(DerivedParts::from))
        })
    }
}

fn liveness(word: &str) -> Result<Liveness> {
    Liveness::from_word(word).ok_or_else(|| {
        let message = format!("no answer of a probe, probe=`{word}`");
        Error::new(Code::HarnessStateInput, message).with_reason("probe")
    })
}
