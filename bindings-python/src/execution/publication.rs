//! The ports of a publication that this machine answers, behind `gallivant.execution_result`.

use gallivant_core::publication::LocalPorts;
use gallivant_core::{Code, Error};
use pyo3::prelude::*;

use super::boundary::{AbortToken, Boundary};
use super::object_of;
use crate::argument::Given;
use crate::call;

/// A checkout, this system's sandbox, and a push by the program `git`. Threads may share it.
#[pyclass(frozen, module = "gallivant._native")]
pub(crate) struct PublicationPorts {
    ports: LocalPorts,
}

#[pymethods]
impl PublicationPorts {
    /// Makes the ports that the input of `reconcileExecutionResult` describes, with `checkout` and `scratch` in it. `token` ends a
    /// command that runs. Reads nothing yet.
    #[new]
    fn new(
        py: Python<'_>,
        boundary: &Bound<'_, Boundary>,
        input_json: Given<String>,
        token: &Bound<'_, AbortToken>,
    ) -> PyResult<Self> {
        let (boundary, token) = (boundary.get(), token.get().token.clone());
        let ports = call::fallible(py, || {
            LocalPorts::from_object(&boundary.opened()?, &object_of(&input_json.0, "input")?, token)
        })?;
        Ok(PublicationPorts { ports })
    }

    /// Answers a call of a machine: JSON text. Blocks for as long as that takes. Raises `ExecutionIoError` where it failed.
    fn answer(
        &self,
        py: Python<'_>,
        port: Given<String>,
        method: Given<String>,
        input_json: Given<String>,
    ) -> PyResult<String> {
        call::fallible(py, || {
            let reply = self.ports.answer(&port.0, &method.0, &object_of(&input_json.0, "input")?);
            let reply = reply.map_err(|failure| Error::new(Code::ExecutionIo, failure.message))?;
            Ok(reply.to_json())
        })
    }
}
