//! `gallivant.SessionEnvironment`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::{SessionVariables, WriterIdentity};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::options::{Options, options_of};
use super::writer::Writer;
use crate::argument::Given;
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;

value! {
    /// What a claimer hands to its siblings through the environment: enough to open a writer that adopts the claim.
    SessionEnvironment {
        /// The agent's directory.
        agent_dir: String,
        /// The agent's name.
        agent: String,
        /// The harness's name.
        harness: String,
        /// The session's token.
        token: String,
        /// The pty session in which the harness runs.
        pty_session: Option<String> = None,
        /// The claimed sequence; None for a session that has claimed none.
        sequence: Option<u64> = None,
    }

    /// The variables to set, by name. Those of a pty session and a sequence are left out where there is none.
    #[pyo3(signature = () -> "dict[str, str]")]
    pub(super) fn to_env<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let variables = PyDict::new(py);
        for (name, value) in self.core().to_env() {
            variables.set_item(name, value)?;
        }
        Ok(variables)
    }

    /// A writer of this session, which adopts its claim: `Writer` with what the variables say. Touches no file.
    #[pyo3(signature = (*, evidence=None, options=None, host=None))]
    fn writer(
        &self,
        py: Python<'_>,
        evidence: Option<Given<String>>,
        options: Option<&Bound<'_, Options>>,
        host: Option<&Bound<'_, TestHost>>,
    ) -> PyResult<Writer> {
        let (options, host, session) = (options_of(options), host_of(host), self.core());
        Writer::own(py, evidence, || session.writer(&options, &host))
    }

    /// The session that `environ` names, which is `os.environ` where none is given; None where directory, agent,
    /// harness or token is missing or empty.
    ///
    /// Raises `HarnessStateInputError` with reason `environment` when the sequence is no decimal number of 64 bits, or
    /// a value is no Unicode.
    #[staticmethod]
    #[pyo3(signature = (environ: "collections.abc.Mapping[str, str] | None" = None))]
    fn from_env(py: Python<'_>, environ: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let variables = match environ {
            Some(environ) => variables_of(environ)?,
            None => variables_of(&py.import("os")?.getattr("environ")?)?,
        };
        let session = call::fallible(py, || variables.session())?;
        Ok(session.map(SessionEnvironment::from))
    }
}

impl SessionEnvironment {
    pub(super) fn core(&self) -> core::SessionEnvironment {
        core::SessionEnvironment {
            agent_dir: self.agent_dir.clone(),
            identity: WriterIdentity {
                agent: self.agent.clone(),
                harness: self.harness.clone(),
                pty_session: self.pty_session.clone(),
                token: self.token.clone(),
            },
            sequence: self.sequence,
        }
    }
}

impl From<core::SessionEnvironment> for SessionEnvironment {
    fn from(environment: core::SessionEnvironment) -> Self {
        let WriterIdentity { agent, harness, pty_session, token } = environment.identity;
        SessionEnvironment {
            agent_dir: environment.agent_dir,
            agent,
            harness,
            token,
            pty_session,
            sequence: environment.sequence,
        }
    }
}

/// A variable's value. Bytes that are no Unicode come as lone surrogates from the system, and are bytes again here; any
/// other lone surrogate stays what it is: no Unicode, for the core to name.
fn bytes_of(value: &Bound<'_, PyString>) -> PyResult<OsString> {
    value.extract::<OsString>().or_else(|_| {
        let bytes = value.call_method1("encode", ("utf-8", "surrogatepass"))?;
        Ok(OsString::from_vec(bytes.extract()?))
    })
}

/// Looks the six variables up in a mapping such as `os.environ`.
///
/// # Errors
/// What the mapping raises, except `KeyError`; `TypeError` for what is no mapping, and for a value that is no string.
pub(crate) fn variables_of(environ: &Bound<'_, PyAny>) -> PyResult<SessionVariables> {
    if !environ.hasattr("__getitem__")? {
        let message =
            format!("no session and no mapping of variables, given=`{}`", environ.get_type().name()?);
        return Err(PyTypeError::new_err(message));
    }
    let mut found = Vec::new();
    for name in core::VARIABLES {
        match environ.get_item(name) {
            Ok(value) => found.push((name, bytes_of(value.cast::<PyString>()?)?)),
            Err(missing) if missing.is_instance_of::<PyKeyError>(environ.py()) => {}
            Err(raised) => return Err(raised),
        }
    }
    Ok(SessionVariables::of(|name| {
        found.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }))
}
