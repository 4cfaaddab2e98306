//! Observed harness state: a small record of what a harness is *seen* doing.
//!
//! The processes that drive a session write it (the wrapper that launched the harness, its channel, its hooks);
//! everyone else reads it. Files in an agent's directory: `harness-state` (the record), `.harness-state.lock`,
//! `.harness-state.seq` (the sequence floor), `.harness-state.lease`, `.harness-state.log`. Every byte is described in
//! `docs/format/harness-state.md`, every rule in `docs/spec/harness-state.md`.
//!
//! In reading order:
//!
//! - [`Observation`], [`Record`], [`decode`] and [`encode`]: what is said, what stands on disk, and its bytes;
//! - [`Options`];
//! - `transition`: what a record becomes, as pure functions; `publication`: how it takes its place; `ownership`: what fences;
//! - [`claim`], [`Writer`], [`Session`]: writing;
//! - [`Reader`], [`Snapshot`], [`Derived`], [`Probe`]: reading;
//! - [`Fleet`], [`read_fleet`], [`Watch`]: reading many, and being told of changes;
//! - [`SessionEnvironment`]: handing a session to its siblings;
//! - [`adapters`], [`observe_hook`]: what events of real harnesses mean; [`serve_hook`]: a process that is a hook;
//!   [`check_hook`]: what such a process would find.
//!
//! - [`Extension`]: what our writers add to a record, and [`Moment`]: how old it then is.

pub mod adapters;
mod ancestry;
mod claim;
mod codec;
mod derive;
mod environment;
mod explain;
mod extension;
mod fleet;
mod fleet_sheet;
mod fleet_tree;
mod hook;
mod hook_check;
mod hook_process;
mod line;
mod log;
mod moment;
mod observation;
mod options;
mod outcome;
mod ownership;
mod probe;
mod publication;
mod reader;
mod record;
mod seat;
mod session;
mod token;
mod transition;
mod watch;
mod watch_engine;
mod watch_places;
mod writer;
mod writer_memory;

pub use claim::{Claim, Claimant, claim, claim_wrapperless};
pub use codec::{MAX_RECORD_BYTES, Salvage, decode, encode, encode_keeping_unknown, salvage};
pub use derive::{Derived, DerivedRef, Snapshot, UnknownReason};
pub use environment::{
    AGENT, AGENT_DIR, HARNESS, PTY_SESSION, SESSION_SEQ, SESSION_TOKEN, SessionEnvironment, SessionVariables,
    VARIABLES,
};
pub use explain::{Explanation, TriedRow};
pub use extension::{EXTENSION, Evidence, Extension, HarnessProcess, MAX_CHILDREN};
pub use fleet::{
    EntryRef, Fleet, FleetEntry, FleetOptions, FleetProbe, FleetSummary, FleetView, LeftOut, gather_fleet,
    read_fleet,
};
pub use fleet_sheet::{FleetComparison, FleetSheet};
pub use hook::{
    HOOK_DEADLINE, HOOK_LOCK_WAIT, HookOutcome, HookReport, note, observe_hook, observe_hook_for,
};
pub use hook_check::{Checked, Finding, HookCheck, check_hook};
pub use hook_process::{hold_through_signals, keep_hook_deadline, serve_hook};
pub use log::MAX_LOG_BYTES;
pub use moment::Moment;
pub use observation::{Ask, BlockedOn, InputBuffer, Observation, State};
pub use options::{Options, SCHEMA, WRAPPERLESS_PREFIX};
pub use outcome::{Heartbeat, Outcome, Refusal, Report, Skip};
pub use ownership::OwnershipGuard;
pub(crate) use probe::lease_names_another;
pub use probe::{LeaseProbe, Probe, ProcessProbe};
pub use reader::{ReadBuffer, Reader};
pub use record::{Record, Word};
pub(crate) use seat::floor_damage;
pub use seat::{FLOOR, LEASE, LOCK, LOG, RECORD};
pub use session::{NewSession, Session, Tick};
pub use token::mint_token;
pub use watch::{Change, Noticing, SeatChange, Watch, WatchOptions, WatchProbe, WatchWaker};
pub use writer::{Writer, WriterIdentity};
