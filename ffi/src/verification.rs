//! Verification: whether the sandbox works here.

use std::ffi::c_char;
use std::path::Path;

use gallivant_core::Error;
use gallivant_core::verification::{SandboxCheck, SystemSandbox};

use crate::barrier::call;
use crate::buffer::gallivant_text;
use crate::error::gallivant_error;
use crate::execution::{gallivant_execution_abort_token, token_or_none};
use crate::handle::{Out, give};
use crate::host::{gallivant_host, host_or_system};
use crate::view::gallivant_str;

/// Checks that results could be verified on this machine: probes its sandbox in throw-away directories, with the empty environment
/// and an empty commit. Runs no code of a repository and leaves nothing on disk. Gives the evidence, `{"driver", "probe"}`, as JSON
/// text, for your own records.
///
/// `scratch` is an existing directory for the throw-away directories, and may be NULL for that of the system. `runtime` is an
/// installation that commands may read later, and `runtime_programs` the directory of its programs; both may be NULL. `token`
/// and `host` may be NULL. Takes as long as a dozen processes, and some ten seconds where the probe hangs.
///
/// Errors: `GALLIVANT_EXECUTION_VERIFICATION_SANDBOX` for whatever is not a proof, whose remedy says what this system lacks;
/// `GALLIVANT_EXECUTION_INPUT` for one of the two of a runtime alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_sandbox_readiness(
    scratch: *const c_char,
    scratch_length: usize,
    runtime: *const c_char,
    runtime_length: usize,
    runtime_programs: *const c_char,
    runtime_programs_length: usize,
    token: *const gallivant_execution_abort_token,
    host: *const gallivant_host,
    evidence_json: *mut *mut gallivant_text,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let optional = |data, length, name| {
                gallivant_str::new(data, length).optional(name).map(|text| text.map(Path::new))
            };
            let scratch = optional(scratch, scratch_length, "scratch")?;
            let directory = optional(runtime, runtime_length, "runtime")?;
            let programs = optional(runtime_programs, runtime_programs_length, "runtime_programs")?;
            let sandbox = SystemSandbox::of(scratch, directory, programs)?;
            let (token, host) = (token_or_none(token), host_or_system(host));
            let out = Out::new(evidence_json, "evidence_json")?;
            let evidence = sandbox.check(&host, &|| token.is_aborted())?;
            out.set(give(gallivant_text::new(&evidence.to_json())));
            Ok::<(), Error>(())
        })
    }
}
