//! `gallivant.claim`, `claim_wrapperless` and `mint_token`.

use std::path::PathBuf;

use gallivant_core::harness_state as core;
use pyo3::prelude::*;

use super::options::{Options, options_of};
use super::outcome::Claim;
use crate::argument::Given;
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;

/// Takes the seat in `directory` for the session of `token`, whatever stands there: live records, unreadable bytes,
/// foreign schemas. Creates the directory where it is missing. The same token claiming twice gets two sequences.
///
/// Once it has returned, record and floor are durable. Raises `HarnessStateEmptyTokenError`,
/// `HarnessStateSequenceExhaustedError`, `HarnessStateBusyError`, `HarnessStateLockingError` or `HarnessStateIoError`
/// with nothing written, except that after a failed sync of the directory the placeholder may stand.
#[pyfunction]
#[pyo3(signature = (directory, agent, harness, token, *, options=None, host=None))]
pub(crate) fn claim(
    py: Python<'_>,
    directory: Given<PathBuf>,
    agent: Given<String>,
    harness: Given<String>,
    token: Given<String>,
    options: Option<&Bound<'_, Options>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Claim> {
    let (options, host) = (options_of(options), host_of(host));
    let claimant = core::Claimant { agent: agent.0, harness: harness.0, token: token.0 };
    let claim = call::fallible(py, || core::claim(directory.0, &claimant, &options, &host))?;
    Claim::of(py, &claim)
}

/// Takes the seat for a session that no wrapper launched, if it is free for one; None where it is not.
///
/// Free is: nothing stands there; the record's token is empty or carries a wrapperless prefix; an ending with an
/// exit; a stale record. Raises as `claim`, and `HarnessStateBadTokenError` when `token` carries no wrapperless
/// prefix.
#[pyfunction]
#[pyo3(signature = (directory, agent, harness, token, *, options=None, host=None))]
pub(crate) fn claim_wrapperless(
    py: Python<'_>,
    directory: Given<PathBuf>,
    agent: Given<String>,
    harness: Given<String>,
    token: Given<String>,
    options: Option<&Bound<'_, Options>>,
    host: Option<&Bound<'_, TestHost>>,
) -> PyResult<Option<Claim>> {
    let (options, host) = (options_of(options), host_of(host));
    let claimant = core::Claimant { agent: agent.0, harness: harness.0, token: token.0 };
    let claim = call::fallible(py, || core::claim_wrapperless(directory.0, &claimant, &options, &host))?;
    claim.map(|claim| Claim::of(py, &claim)).transpose()
}

/// Mints a session token that neither a reused pid nor a fork nor a copied container repeats.
#[pyfunction]
#[pyo3(signature = (*, host=None))]
pub(crate) fn mint_token(py: Python<'_>, host: Option<&Bound<'_, TestHost>>) -> PyResult<String> {
    let host = host_of(host);
    call::infallible(py, || core::mint_token(&host))
}
