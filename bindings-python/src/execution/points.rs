//! A test's function that is asked at every point (EX-SEA-04).

use gallivant_core::execution::{FaultAnswer, Faults};
use gallivant_core::{Code, Error};
use pyo3::prelude::*;

use crate::{call, error};

/// A function that is called with the name of each point, on the thread whose call is there. It answers `"go"` or `"fail"`;
/// a pause is one that takes its time, a crash one that ends the process.
#[derive(Debug)]
pub(crate) struct Points(pub(crate) Py<PyAny>);

impl Faults for Points {
    fn at(&self, point: &str) -> FaultAnswer {
        let ask = |py: Python<'_>| -> PyResult<bool> {
            let answer = self.0.bind(py).call1((point,))?;
            match answer.extract::<String>()?.as_str() {
                "go" => Ok(true),
                "fail" => Ok(false),
                _ => {
                    let message = "a point is answered by go or fail, argument=`points`";
                    Err(error::raise(py, &Error::new(Code::Input, message)))
                }
            }
        };
        // None from an interpreter that is being shut down.
        match Python::try_attach(ask) {
            Some(Ok(true)) | None => FaultAnswer::Go,
            Some(Ok(false)) => FaultAnswer::Fail,
            Some(Err(raised)) => {
                call::raise_afterwards(raised);
                FaultAnswer::Fail
            }
        }
    }
}
