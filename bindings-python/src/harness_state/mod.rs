//! Observed harness state: one file for each of the core's.
//!
//! - `options`, `observation`, `record`, `extension`, `outcome`: the values that go in and come out;
//! - `claims`, `writer`, `ownership`, `session`: writing;
//! - `reader`, `state`, `explain`, `probe`, `process`: reading;
//! - `fleet`, `watch`, `change`: reading many, and being told of changes;
//! - `environment`, `hook`: handing a session to its siblings, and what events of harnesses mean.

mod change;
mod claims;
mod environment;
mod explain;
mod extension;
mod fleet;
mod hook;
mod observation;
mod options;
mod outcome;
mod ownership;
mod probe;
mod process;
mod reader;
mod record;
mod session;
mod state;
mod watch;
mod writer;

pub(crate) use change::{Change, SeatChange};
pub(crate) use claims::{claim, claim_wrapperless, mint_token};
pub(crate) use environment::SessionEnvironment;
pub(crate) use explain::{Explanation, TriedRow};
pub(crate) use extension::Extension;
pub(crate) use fleet::{Fleet, FleetEntry, FleetView, LeftOut, read_fleet};
pub(crate) use hook::{HookReport, arm_hook_deadline, check_hook, observe_hook, serve_hook};
pub(crate) use observation::Observation;
pub(crate) use options::Options;
pub(crate) use outcome::{Claim, Heartbeat, Report, Tick};
pub(crate) use ownership::{CurrentOwnership, OwnershipGuard};
pub(crate) use process::ProcessIdentity;
pub(crate) use reader::{Reader, Snapshot};
pub(crate) use record::Record;
pub(crate) use session::Session;
pub(crate) use state::State;
pub(crate) use watch::Watch;
pub(crate) use writer::Writer;
