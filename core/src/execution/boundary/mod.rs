//! The boundary of one task: the object whose calls are the only ones that write its files (EX-BND).
//!
//! - `calls`: [`Boundary`]: how it is made, the machines that it gives, and what may be read of it; `inner`: what its clones and
//!   machines share;
//! - `input`: what a dispatch is given; `task`: a task under its lock;
//! - `dispatch`: submit and continue; `dispatch_checks`: what refuses them; `answers`: a lost answer, looked for again; `prepare`, `native`: receipts;
//! - `operator`: adopt and settle as absent;
//! - `pass`: the one path on which a provider is observed; `observe`: its look-up and inspection; `collect`: its result;
//! - `cancel`: stops; `local`: process runs; `process_host`: the host of processes that answers in the core; `facade`: the calls of
//!   local runs; `output`: their raw output in a pass;
//! - `publishing`: what a publication needs of the boundary;
//! - `by_name`: the methods under their public names;
//! - `projection`, `reading`: what may be read without a lock.

mod answers;
mod by_name;
mod calls;
mod cancel;
mod collect;
mod dispatch;
mod dispatch_checks;
mod facade;
mod inner;
mod input;
mod local;
mod native;
mod observe;
mod operator;
mod output;
mod pass;
mod prepare;
mod process_host;
mod projection;
mod publishing;
mod reading;
mod task;

pub use by_name::Called;
pub use calls::{Boundary, EXECUTION_VERSION};
pub use facade::KillLook;
use inner::{Inner, no_method};
pub use projection::{UnresolvedOperation, execution_live, unresolved};
pub(crate) use publishing::{Publishing, Subject, Verifying};
