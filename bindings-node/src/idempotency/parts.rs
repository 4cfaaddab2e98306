//! Plain objects: what a store is opened with and asked, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use gallivant_core::idempotency::{Ask, Begin, ClaimView, Fingerprint, StoreOptions};
use gallivant_core::{Code, Error, Result};
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;

use super::claims::{NativeFinished, NativeTicket, NativeUnknown};
use super::reservation::NativeReservation;
use crate::options::unsigned;
use crate::waiting::Wait;

/// What may be set when a store is opened; what is left out has the core's default.
#[napi(object)]
#[derive(Clone, Debug, Default)]
pub struct StoreOptionParts {
    /// Milliseconds.
    pub window_ms: Option<BigInt>,
    /// Milliseconds.
    pub max_reservation_ms: Option<BigInt>,
    /// Bytes.
    pub max_answer_bytes: Option<BigInt>,
    /// Milliseconds.
    pub busy_ms: Option<BigInt>,
}

pub(super) fn store_options(parts: &StoreOptionParts) -> Result<StoreOptions> {
    let defaults = StoreOptions::default();
    let number = |name, given: &Option<BigInt>| given.as_ref().map(|given| unsigned(name, given)).transpose();
    let length = |name, given, default| -> Result<Duration> {
        Ok(number(name, given)?.map_or(default, Duration::from_millis))
    };
    let bytes = number("maxAnswerBytes", &parts.max_answer_bytes)?;
    Ok(StoreOptions {
        window: length("windowMs", &parts.window_ms, defaults.window)?,
        max_reservation: length("maxReservationMs", &parts.max_reservation_ms, defaults.max_reservation)?,
        max_answer_bytes: bytes
            .map_or(defaults.max_answer_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        busy: length("busyMs", &parts.busy_ms, defaults.busy)?,
    })
}

/// A deadline as JavaScript gives it.
pub(super) fn deadline(given: Option<&BigInt>) -> Result<Option<Duration>> {
    given.map(|given| Ok(Duration::from_millis(unsigned("deadlineMs", given)?))).transpose()
}

/// One create that asks what its key means.
#[napi(object, object_to_js = false)]
pub struct AskParts {
    /// The namespace of the key.
    pub operation: String,
    /// Whom the key belongs to, outermost first.
    pub scope: Vec<String>,
    /// The caller's key.
    pub key: String,
}

impl AskParts {
    pub(super) fn with<T>(
        &self,
        fingerprint: Fingerprint,
        deadline: Option<Duration>,
        action: impl FnOnce(&Ask<'_>) -> T,
    ) -> T {
        let scope: Vec<&str> = self.scope.iter().map(String::as_str).collect();
        action(&Ask { operation: &self.operation, scope: &scope, key: &self.key, fingerprint, deadline })
    }
}

/// A fingerprint as JavaScript gives it.
pub(super) fn fingerprint(given: &[u8]) -> Result<Fingerprint> {
    let bytes = <[u8; 32]>::try_from(given);
    bytes
        .map(Fingerprint::from_bytes)
        .map_err(|_| Error::new(Code::Input, "a fingerprint is 32 bytes").with_reason("argument"))
}

/// What a create is to do. Exactly one of the four objects is there.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct BeginParts {
    /// `create`, `replay`, `in_progress` or `unknown`.
    pub kind: &'static str,
    /// How it came about.
    pub how: &'static str,
    /// The right to make the thing.
    pub reservation: Option<NativeReservation>,
    /// What was made.
    pub finished: Option<NativeFinished>,
    /// The id of what was made.
    pub resource: Option<String>,
    /// How it was answered; left out where no answer was saved.
    pub answer: Option<Buffer>,
    /// When it finished, in milliseconds since 1970.
    pub completed_ms: Option<BigInt>,
    /// A create that runs.
    pub ticket: Option<NativeTicket>,
    /// A create of which nobody knows whether it made its thing.
    pub unknown: Option<NativeUnknown>,
}

impl From<Begin> for BeginParts {
    fn from(begin: Begin) -> Self {
        let mut parts = BeginParts { kind: begin.word(), how: begin.how().word(), ..BeginParts::default() };
        match begin {
            Begin::Create(reservation) => parts.reservation = Some(NativeReservation::new(reservation)),
            Begin::Replay(claim) => {
                parts.resource = Some(claim.resource().to_owned());
                parts.answer = claim.answer().map(|answer| answer.to_vec().into());
                parts.completed_ms = Some(claim.completed_ms().into());
                parts.finished = Some(NativeFinished { claim });
            }
            Begin::InProgress(ticket) => parts.ticket = Some(NativeTicket { ticket }),
            Begin::Unknown(claim) => parts.unknown = Some(NativeUnknown { claim }),
        }
        parts
    }
}

/// What stands on disk for a name.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct ClaimViewParts {
    /// `reserved`, `marked` or `finished`.
    pub state: &'static str,
    /// The id of what was made.
    pub resource: Option<String>,
    /// How it was answered.
    pub answer: Option<Buffer>,
}

impl From<ClaimView> for ClaimViewParts {
    fn from(view: ClaimView) -> Self {
        ClaimViewParts {
            state: view.state.word(),
            resource: view.resource,
            answer: view.answer.map(Buffer::from),
        }
    }
}

/// What one call of a sweep did.
#[napi(object, object_from_js = false)]
pub struct SweptParts {
    /// Expired claims that are gone.
    pub removed: BigInt,
    /// Whether another call is worth while.
    pub has_more: bool,
}

/// What is left of a call's deadline, for the try that runs.
pub(super) fn left(wait: &Arc<Wait>) -> Option<Duration> {
    Some(wait.left())
}
