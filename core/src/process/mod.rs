//! Facts about processes: who a process is, and whether it is provably gone.
//!
//! - `identity`: pid, start time, boot, pid namespace and host, the five that together name one process;
//! - `table`: the trait through which all such facts come in, and the machine's own table.

mod identity;
mod table;

pub use identity::{Liveness, ProcessIdentity};
pub use table::{Lineage, ProcessFact, ProcessTable, SystemProcessTable, since_boot};
