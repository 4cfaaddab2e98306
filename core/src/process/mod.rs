//! Facts about processes: who a process is, and whether it is provably gone.
//!
//! - `identity`: pid, start time, boot, pid namespace and host, the five that together name one process;
//! - `recorded`: a process as a record on disk names it;
//! - `table`: the trait through which all such facts come in, and the machine's own table; `whole_table`: all of it at once;
//! - `tree`: which processes stand below others; `signal`: how one is signalled, and no other.

mod identity;
mod recorded;
mod signal;
mod table;
mod tree;
#[cfg(target_os = "linux")]
mod whole_table;

pub use identity::{Liveness, ProcessIdentity};
pub use recorded::{RecordedProcess, Standing};
pub use signal::{Signal, Signalled};
pub use table::{Lineage, ProcessFact, ProcessTable, SystemProcessTable, since_boot};
pub use tree::{Activity, TableEntry, descendants};
