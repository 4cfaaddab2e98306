//! Local runs: a real harness process, started, watched, stopped and settled (EX-LOC).
//!
//! - [`ProcessHost`]: the built-in process host, which answers what a boundary asks of one (EX-SEA-06);
//! - `spec`: what is to be started; `launch`: how it is started, through the program `gallivant-supervise` that `supervisor` finds;
//! - `process`: what a job record says of a run's processes; `exit`: what the supervisor has recorded of their end;
//! - `session`: the harness state of a run, its lease, and what its hooks are given;
//! - `preparation`: the version of a harness, and the command line of a prepared turn;
//! - `observe`: what is left of a run's tree; `stop`: signals to it;
//! - [`profiles`]: harnesses as data, and what their output says of a run.
//!
//! Nothing here writes a ledger or a job record: that is done by `execution`, which asks.

mod exit;
mod host;
mod launch;
mod observe;
mod preparation;
mod process;
pub mod profiles;
mod session;
mod settle;
mod spec;
mod stop;
mod supervisor;

pub use exit::{EXIT, ExitRecord};
pub use host::{ProcessHost, Spawn, Spawned};
pub use launch::Gate;
pub use observe::{Member, Seen, is_led, observe};
pub use preparation::Unprepared;
pub use process::RunProcess;
pub use session::{RunSession, SESSION};
pub use settle::{Told, read_outcome};
pub use spec::{Launch, StartSpec};
pub use stop::{Sent, signal};

/// The variable by which a process of a run is known when its ancestors are gone: pid and identity of the harness, with an `@`
/// between them.
pub const PROCESS_MARK: &str = "GALLIVANT_RUN_PROCESS";
pub use supervisor::{PROGRAM, VARIABLE, find as find_supervisor};
