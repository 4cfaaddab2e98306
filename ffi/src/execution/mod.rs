//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken.
//!
//! In reading order: `words` (the constants), `failure` (how a transport's method fails), `abort_token`, `points` (where a test fails it),
//! `registry`, `scope` `refresh` `health` (accounts, their checks, and what is on disk of them), `boundary`, `machine` (the raw steps),
//! `publication` (the ports that this machine answers), `transport` (a table of callbacks), `drive` (a machine to its end), `lanes`
//! `dispatch_lane` (many tasks), `local_runs` (processes of this machine), `functions` (what needs no boundary).

mod abort_token;
mod boundary;
mod dispatch_lane;
mod drive;
mod failure;
mod functions;
mod health;
mod lanes;
mod local_runs;
mod machine;
mod points;
mod publication;
mod refresh;
mod registry;
mod scope;
mod transport;
mod words;

pub use abort_token::*;
pub use boundary::*;
pub use dispatch_lane::*;
pub use drive::*;
pub use failure::*;
pub use functions::*;
pub use health::*;
pub use lanes::*;
pub use local_runs::*;
pub use machine::*;
pub use points::*;
pub use publication::*;
pub use refresh::*;
pub use registry::*;
pub use scope::*;
pub use transport::*;
pub use words::*;

use gallivant_core::json::{Object, Value};
use gallivant_core::{Code, Error, Result};

/// The members of an input that is JSON text. The message quotes nothing of the text.
///
/// # Errors
/// `GALLIVANT_EXECUTION_INPUT` with reason `shape`, naming the argument.
fn object(text: &str, argument: &'static str) -> Result<Object> {
    let wrong = |message: String| Err(Error::new(Code::ExecutionInput, message).with_reason("shape"));
    match Value::parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => wrong(format!("a text is no JSON object, argument=`{argument}`")),
        Err(malformed) => wrong(format!("a text is no JSON, argument=`{argument}`: {malformed}")),
    }
}

/// The error of a step that the machine does not wait for.
fn not_outstanding(message: &str) -> Error {
    Error::new(Code::ExecutionInput, message).with_reason("reply")
}
