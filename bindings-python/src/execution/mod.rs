//! The execution layer: one file for each thing that a program has of it.
//!
//! - `boundary`: the boundary of a task, the token that ends its waits, and what lists a root's unresolved operations;
//! - `machine`: a running call, and what its steps come to;
//! - `registry`: capability records with their adapters;
//! - `health`: the health of accounts, as records of checks that somebody else makes;
//! - `lanes`: which of many tasks may start now;
//! - `points`: the points at which a test fails;
//! - `publication`: the ports of a publication that this machine answers;
//! - `functions`: the pure functions by their names, and the constants.
//!
//! Documents come and go as JSON text. What they are in Python is decided in `gallivant/execution.py`.

mod boundary;
mod functions;
mod health;
mod lanes;
mod machine;
mod points;
mod publication;
mod registry;

pub(crate) use boundary::{AbortToken, Boundary, UnresolvedOperation, unresolved};
pub(crate) use functions::{execution_constants, execution_function, sandbox_readiness_json};
pub(crate) use health::{HealthStore, Refresh};
pub(crate) use lanes::{DispatchLane, Lane};
pub(crate) use machine::{Call, Done, Machine};
pub(crate) use points::Points;
pub(crate) use publication::PublicationPorts;
pub(crate) use registry::{ExecutionRegistry, assert_execution_dependency};

use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error, Result};

/// The object that a JSON text is.
///
/// # Errors
/// `EXECUTION_INPUT` that names the argument.
fn object_of(text: &str, argument: &str) -> Result<Object> {
    let wrong = |message: String| Err(Error::new(Code::ExecutionInput, message));
    match Value::parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => wrong(format!("an argument is no JSON object, argument=`{argument}`")),
        Err(malformed) => wrong(format!("an argument is no JSON, argument=`{argument}`: {malformed}")),
    }
}
