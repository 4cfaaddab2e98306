//! Facts about processes: who a process is, and whether it is provably gone.
//!
//! - `identity`: pid, start time, boot, pid namespace and host, the five that together name one process;
//! - `recorded`: a process as a record on disk names it;
//! - `table`: the trait through which all such facts come in; `linux`, `darwin` and `other`: the machine's own table;
//! - [`bounded`]: a process that is run to its end for what it prints;
//! - `tree`: which processes stand below others; `signal`: how one is signalled, and no other.

pub mod bounded;
// Its decisions are tested on every system, over bytes as macOS says them.
#[cfg(any(target_os = "macos", test))]
mod darwin;
mod identity;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod other;
mod recorded;
mod signal;
mod table;
mod tree;

#[cfg(target_os = "macos")]
use darwin as machine;
#[cfg(target_os = "linux")]
use linux as machine;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use other as machine;

pub use identity::{Liveness, ProcessIdentity};
pub use recorded::{RecordedProcess, Standing};
pub use signal::{Signal, Signalled};
pub use table::{Lineage, ProcessFact, ProcessTable, System, SystemProcessTable, since_boot};
pub use tree::{Activity, TableEntry, descendants};
