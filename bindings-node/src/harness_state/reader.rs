//! A reader for JavaScript, and the snapshot from which JavaScript derives with its own probe's answer.
//!
//! A probe that is a JavaScript function is never called from here: JavaScript takes a snapshot, asks whether a
//! probe's answer can make a difference, asks its function, and derives with the answer. No foreign code runs under
//! native code.

use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::harness_state::{
    Derived, LeaseProbe, Moment, Options, Probe, ProcessProbe, ReadBuffer, Reader, Snapshot,
};
use gallivant_core::process::{Liveness, ProcessIdentity};
use gallivant_core::{Code, Error, Host, Result};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Either, Function};
use napi_derive::napi;

use super::explain::ExplanationParts;
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

/// What one read without a probe leaves to the next.
#[derive(Debug, Default)]
struct Again {
    buffer: ReadBuffer,
    /// The number of the answer below; 0 where there was none yet.
    mark: u32,
    told: Option<Derived>,
}

/// An answer, and the number by which JavaScript says that it has it.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct MarkedParts {
    /// At least 1, and another than that of the answer before.
    pub mark: u32,
    /// What may be concluded; null when nothing was ever observed.
    pub state: Option<DerivedParts>,
}

/// See [`NativeReader::reading`].
type Reading<'env> = Function<'env, u32, Either<u32, MarkedParts>>;

impl Again {
    fn read(&mut self, reader: &Reader, known: u32) -> Either<u32, MarkedParts> {
        let derived = reader.read_into(None, &mut self.buffer);
        let is_told = self.mark != 0 && derived == self.told.as_ref().map(Derived::lend);
        if is_told && self.mark == known {
            return Either::A(known);
        }
        if !is_told {
            self.told = derived.map(|derived| derived.to_derived());
            self.mark = self.mark.checked_add(1).unwrap_or(1);
        }
        Either::B(MarkedParts { mark: self.mark, state: self.told.clone().map(DerivedParts::from) })
    }
}

impl NativeReader {
    fn new(reader: Reader, host: Host) -> Self {
        NativeReader { reader, host }
    }

    fn take(&self) -> NativeSnapshot {
        NativeSnapshot { snapshot: self.reader.snapshot(), options: self.reader.options().clone() }
    }

    fn share(&self) -> Self {
        NativeReader::new(self.reader.clone(), self.host.clone())
    }

    fn probe(&self, parts: ProbeParts) -> Result<Option<Arc<dyn Probe + Send + Sync>>> {
        if parts.lease {
            return Ok(Some(Arc::new(LeaseProbe::new(&self.reader))));
        }
        own_probe(parts, &self.host)
    }

    fn read(&self, parts: ProbeParts) -> Result<Option<DerivedParts>> {
        let probe = self.probe(parts)?;
        let derived = self.reader.read(probe.as_deref().map(|probe| probe as &dyn Probe));
        Ok(derived.map(DerivedParts::from))
    }

    fn explain(&self, parts: ProbeParts) -> Result<ExplanationParts> {
        let probe = self.probe(parts)?;
        Ok(self.reader.explain(probe.as_deref().map(|probe| probe as &dyn Probe)).into())
    }
}

/// A probe that asks neither a lease nor JavaScript.
pub(super) fn own_probe(parts: ProbeParts, host: &Host) -> Result<Option<Arc<dyn Probe + Send + Sync>>> {
    if let Some(word) = parts.liveness {
        return Ok(Some(Arc::new(liveness(&word)?)));
    }
    let Some(process) = parts.process else { return Ok(None) };
    Ok(Some(Arc::new(ProcessProbe::new(ProcessIdentity::try_from(process)?, host))))
}

#[napi]
impl NativeReader {
    /// Opens a reader. Touches no file. The empty path is refused as a writer's is.
    #[napi(catch_unwind)]
    pub fn open(host: &NativeHost, path: String, set: OptionParts) -> Answer<NativeReader> {
        Answer::of(|| {
            let reader = Reader::try_open(path, &options(&set)?, &host.host)?;
            Ok(NativeReader::new(reader, host.host.clone()))
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

    /// A function that does the same without a probe, for whoever has the answer with the number that it is given: that
    /// number again where it is still the answer. Making an object out of an answer takes several times as long as reading it,
    /// and finding what is behind an object whose method is called as long as a system call.
    #[napi(catch_unwind)]
    pub fn reading<'env>(&self, env: &'env Env) -> napi::Result<Reading<'env>> {
        let reader = self.reader.clone();
        // Only JavaScript's own thread takes it.
        let again: Mutex<Again> = Mutex::default();
        env.create_function_from_closure("reading", move |call| {
            let known = call.get(0)?;
            Ok(again.lock().unwrap_or_else(PoisonError::into_inner).read(&reader, known))
        })
    }

    /// Why what may be concluded now is concluded.
    #[napi(catch_unwind)]
    pub fn explain_async(&self, probe: ProbeParts, wait: &NativeWait) -> Promised<ExplanationParts> {
        let reader = self.share();
        promise(wait, Patience::OneTry, move || reader.explain(probe))
    }

    /// The same on the calling thread.
    #[napi(catch_unwind)]
    pub fn explain_sync(&self, probe: ProbeParts) -> Answer<ExplanationParts> {
        Answer::of(|| self.explain(probe))
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

    /// The same, and which row of the table decided.
    #[napi(catch_unwind)]
    pub fn explain(&self, now_ms: Option<BigInt>, probe: Option<String>) -> Answer<ExplanationParts> {
        Answer::of(|| {
            let answer = probe.as_deref().map(liveness).transpose()?;
            let at = self.at(now_ms.as_ref())?;
            Ok(match answer {
                Some(answer) => self.snapshot.explain(&self.options, &at, Some(&mut || answer)),
                None => self.snapshot.explain(&self.options, &at, None),
            }
            .into())
        })
    }
}

pub(super) fn liveness(word: &str) -> Result<Liveness> {
    Liveness::from_word(word).ok_or_else(|| {
        let message = format!("the answer of a probe is alive, dead or indeterminate, given=`{word}`");
        Error::new(Code::HarnessStateInput, message).with_reason("probe")
    })
}
