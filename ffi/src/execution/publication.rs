//! The ports of a publication that this machine can answer.
//!
//! A program that publishes calls `reconcileExecutionResult` by `gallivant_execution_boundary_call` and takes the raw steps. It
//! answers what is its own, pull requests and the registry, and has the rest answered here.

use std::ffi::c_char;

use gallivant_core::execution::Port;
use gallivant_core::publication::LocalPorts;
use gallivant_core::{Code, Error};

use super::abort_token::{gallivant_execution_abort_token, token_or_none};
use super::boundary::gallivant_execution_boundary;
use super::object;
use super::words::PORTS;
use crate::barrier::{answer, call};
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::view::gallivant_str;

/// A checkout, this system's sandbox, and a push by the program `git`.
///
/// Threads: any number at once. Free it with `gallivant_publication_ports_free`.
#[derive(Debug)]
pub struct gallivant_publication_ports {
    ports: LocalPorts,
}

impl Handle for gallivant_publication_ports {}

/// Makes the ports of a boundary's publications. `input_json` is the input of `reconcileExecutionResult` with `checkout` and
/// `scratch` besides, which are paths, and if wanted `runtime`, `environment` and `git` (docs/guides/publish-a-result.md). `token`
/// ends a command that runs, and may be NULL. Nothing is read yet.
///
/// Errors: `GALLIVANT_EXECUTION_INPUT` that names the member; `GALLIVANT_EXECUTION_CONFLICT` for commands whose source is not the
/// approved one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_publication_ports_open(
    boundary: *const gallivant_execution_boundary,
    input_json: *const c_char,
    input_json_length: usize,
    token: *const gallivant_execution_abort_token,
    ports: *mut *mut gallivant_publication_ports,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(boundary, "boundary")?;
            let input = gallivant_str::new(input_json, input_json_length).text("input_json")?;
            let out = Out::new(ports, "ports")?;
            let input = object(input, "input_json")?;
            let ports = LocalPorts::from_object(&handle.boundary, &input, token_or_none(token))?;
            out.set(give(gallivant_publication_ports { ports }));
            Ok(())
        })
    }
}

/// Answers a call of a machine, by the members of its step: everything of `GALLIVANT_PORT_GIT` and `GALLIVANT_PORT_VERIFICATION`, and
/// `push` of `GALLIVANT_PORT_PUBLISHER`. The answer is fed by `gallivant_execution_machine_reply`, and an error by
/// `gallivant_execution_machine_fail`. Blocks for as long as that takes, which for commands is minutes.
///
/// Errors: `GALLIVANT_EXECUTION_IO` where it failed, and where the call is the program's own to answer; `GALLIVANT_INPUT` with
/// reason `constant` for a number that is no port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_publication_ports_answer(
    ports: *const gallivant_publication_ports,
    port: i32,
    method: *const c_char,
    method_length: usize,
    input_json: *const c_char,
    input_json_length: usize,
    reply_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let handle = borrow(ports, "ports")?;
            let port: Port = PORTS.input(port)?;
            let method = gallivant_str::new(method, method_length).text("method")?;
            let input = gallivant_str::new(input_json, input_json_length).text("input_json")?;
            let out = Out::new(reply_json, "reply_json")?;
            let input = object(input, "input_json")?;
            let reply = handle.ports.answer(port.word(), method, &input);
            let reply = reply.map_err(|failure| Error::new(Code::ExecutionIo, failure.message))?;
            out.set(give(gallivant_text::new(&reply.to_json())));
            Ok(())
        })
    }
}

/// Frees the ports. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_publication_ports_free(ports: *mut gallivant_publication_ports) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(ports) });
}
