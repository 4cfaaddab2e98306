//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken.
//!
//! What a coordinator calls:
//!
//! - [`boundary`]: the object whose calls write a task's files, made of [`options`];
//! - [`machine`]: a running call, which hands out what the transport is to do and is fed what came of it;
//! - [`transport`]: a transport in Rust, and the drivers that carry a machine's calls out.
//!
//! What is on disk, and what becomes of it:
//!
//! - [`ledger`]: `execution.json`, its records, its lock; [`job`]: the record beside a run; [`controls`]: queued stops;
//! - [`application`]: how far the publication of a run's result has come;
//! - [`health_store`]: the records of whether accounts may be dispatched to, and the refreshes that are under way;
//! - [`transition`]: what a ledger becomes, as pure functions;
//! - [`existing`]: the boundary of a root as its files have it;
//! - [`version`]: which versions of the files are supported.
//!
//! The rules, as pure functions that reach neither disk nor clock:
//!
//! - [`capability`]: what a provider can do, the one registry of that, and what is refused before anything is saved;
//! - [`contract`]: what a transport is asked and what its replies may be, judged as texts and without a call;
//! - [`observation`]: what a provider says of a job, and [`result`](mod@result): what it made, judged before use;
//! - [`states`]: what is known of a run at its provider;
//! - [`limits`]: what may be set, and what it is when nothing is set;
//! - [`money`]: amounts of nano-dollars; [`cost`]: what is charged, and what may be dispatched for it;
//! - [`keys`]: ids, and the keys and fingerprints that are hashed of them;
//! - [`cursor`]: what a provider's page cursor may be, how it is written, and what a gap is called after it;
//! - [`backoff`]: how long to wait after failures;
//! - [`health`]: whether an account of a provider may be dispatched to;
//! - [`initial_dispatch`]: the marker of a start that may not have been dispatched yet;
//! - [`outcome`]: what a settled run has come to; [`preparation`]: how an intake turn stands, and whether it came in time;
//! - [`functions`]: the pure functions under their public names;
//! - [`faults`]: the points at which a test fails.

pub mod application;
pub mod backoff;
pub mod boundary;
pub mod capability;
pub mod contract;
pub mod controls;
pub mod cost;
pub mod cursor;
pub mod existing;
pub mod faults;
pub mod functions;
pub mod health;
mod health_files;
pub mod health_store;
pub mod initial_dispatch;
pub mod job;
pub mod keys;
pub mod lanes;
pub mod ledger;
pub mod limits;
pub mod local_runs;
pub mod machine;
pub mod money;
pub mod observation;
pub mod options;
pub mod outcome;
pub mod preparation;
pub mod result;
pub mod states;
pub mod transition;
pub mod transport;
pub mod version;

pub use backoff::{FixedJitter, Jitter, RandomJitter};
pub use boundary::{
    Boundary, Called, EXECUTION_VERSION, KillLook, UnresolvedOperation, execution_live, unresolved,
};
pub use capability::{Adapter, Capability, Choice, ExecutionRegistry, Runtime, assert_execution_dependency};
pub use contract::{
    Acknowledgement, Method, TransportError, collection_validation_error, dispatch_not_sent_error,
};
pub use cost::HardCap;
pub use cursor::{Checked, Cursor, EXECUTION_CURSOR_BYTES, InvalidCursor};
pub use existing::{execution_on_disk, execution_runner, ledger_on_disk};
pub use faults::{FaultAnswer, Faults, NoFaults};
pub use health::{ExternalHealth, FixedHealth, Health, HealthRecord, HealthScope, ProbeResult};
pub use health_store::{HealthOptions, HealthStore, Joined, Refresh};
pub use initial_dispatch::{InitialDispatch, unsubmitted_initial_dispatch};
pub use keys::FingerprintInput;
pub use lanes::{DispatchLane, Dispatched, Lane, Progress, ProgressLane};
pub use ledger::Ledger;
pub use ledger::lock::AbortToken;
pub use limits::{EXECUTION_LIMITS, Limit, Limits};
pub use local_runs::LocalRuns;
pub use machine::{Call, Machine, Port, Reply, Step};
pub use money::{Nanos, Remaining, Round};
pub use observation::Observation;
pub use options::{Capabilities, ExecutionOptions};
pub use preparation::{Judgement, NextAction, Standing};
pub use states::{PROVIDER_STATES, ProviderState, TerminalState};
#[cfg(feature = "async")]
pub use transport::{AsyncTransport, ReplyFuture, drive_async};
pub use transport::{Transport, TransportCall, check_transport, drive};
pub use version::check_version;
