//! libgallivant: crash-safe on-disk state for coordinators of coding agents. The C interface.
//!
//! CONVENTIONS
//!
//! Names. Everything begins with `gallivant_` or `GALLIVANT_`, then the domain (`harness_state`, `idempotency`, `journal`,
//! `execution`) or a type that needs none, then the type, then the verb.
//!
//! Order. A function takes its receiver, then its inputs, then its outputs, then `error`, which is last.
//!
//! Status. A function that can fail answers an `int32_t`: 0 (`GALLIVANT_OK`), or one of the numbers below, which
//! are never reused. A refusal by the rules of a domain is an answer and comes with `GALLIVANT_OK`. On failure the
//! outputs are untouched. Functions that cannot fail answer their value.
//!
//! Error. `gallivant_error **error` may be NULL. Where it is not, a failed call puts a new `gallivant_error`
//! there, whatever stood there before, and a successful call leaves it alone: initialise it with NULL, and free
//! what you got with `gallivant_error_free`. There is no last error and nothing is kept for a thread.
//!
//! NULL is checked for every argument. It is allowed where the comment of the function or member says so, and for
//! every free function; elsewhere the call answers `GALLIVANT_INPUT` and has done nothing. Any other pointer has to
//! point to what its type says.
//!
//! Constants are `int32_t` wherever they are passed or stored. A number that is no constant of its family is an
//! error as an input, and may be one of a later release as an output. 0 always means "none" or "not known".
//!
//! Strings come in as pointer and length and have to be UTF-8, paths too; they are copied where they are kept. They go
//! out as `gallivant_str`, as `const char *` that end in a zero byte where they can hold no other, or into a buffer of
//! the caller. Bodies and answers are bytes of any kind: `const void *` and length, and out as `gallivant_bytes`. Names and
//! words that a function answers for a constant live for ever and are never NULL.
//!
//! Structs whose first member is `struct_size` have a macro `..._INIT`: begin with it, also for outputs. Later releases
//! append members; the size tells the library which ones the program knows.
//!
//! Ownership. A function whose output is `type **` makes a handle that the caller owns and frees with the one function
//! that the type's comment names. Handles may be freed in any order: what one needs of another stays alive. Freeing an
//! execution boundary ends its machines, whose handles still stand and are freed like all others. A handle that is lent, as
//! part of another, is a pointer to const and lives as long as that one. Memory comes from the library and goes back to it,
//! never through `free`.
//!
//! Threads. Each handle's comment says by how many threads it may be used at once. A handle for one thread at a time may
//! change threads between calls; a call that finds it in use answers `GALLIVANT_HANDLE_BUSY` and has done nothing.
//! Freeing a handle while a call uses it is a bug of the caller. The library has no threads of its own, but for those on
//! which `gallivant_execution_drive` runs the methods of a transport that does not keep its deadlines, and on which lanes run tasks.
//!
//! Callbacks run on the calling thread, inside the call, but for those methods and tasks. They return normally: no `longjmp`, no C++
//! exception, no thread cancellation may pass through the library.
//!
//! Forks. Handles may be used in a forked child, except that locks, leases and watches stay with the parent: a guard,
//! session or watch that came through a fork answers `GALLIVANT_HARNESS_STATE_INPUT` with reason `forked`, and freeing it is
//! harmless. So do stores of claims and all that comes from them, which answer `GALLIVANT_IDEMPOTENCY_FORKED`, and replays,
//! machines and health stores, which answer `GALLIVANT_EXECUTION_INPUT` with reason `forked`. A child of a process that had several
//! threads may only call `exec` and the like, as always.
//!
//! The library prints nothing, installs no signal handler and keeps no configuration. Of the environment it reads by itself
//! `GALLIVANT_SUPERVISE`, where the supervisor of local runs is, `TMPDIR`, where a sandbox is proved, and `PATH`, where it starts
//! a program that has no path. A bug that would have been a crash of the library is answered as `GALLIVANT_INTERNAL`.

#![allow(non_camel_case_types, reason = "the names are those of C")]
#![allow(clippy::missing_safety_doc, reason = "what every export asks of its caller stands above, once")]

mod barrier;
mod buffer;
mod error;
mod execution;
mod handle;
mod harness_state;
mod host;
mod idempotency;
mod journal;
mod names;
mod options;
mod process;
mod redaction;
mod status;
mod testing;
mod verification;
mod version;
mod view;

pub use buffer::*;
pub use error::*;
pub use execution::*;
pub use harness_state::*;
pub use host::*;
pub use idempotency::*;
pub use journal::*;
pub use process::*;
pub use redaction::*;
pub use status::*;
pub use testing::*;
pub use verification::*;
pub use version::*;
pub use view::*;
