//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken.
//!
//! What stands here so far are pure functions: they reach neither disk nor clock.
//!
//! - [`states`]: what is known of a run at its provider;
//! - [`limits`]: what may be set, and what it is when nothing is set;
//! - [`money`]: amounts of nano-dollars; [`cost`]: what is charged, and what may be dispatched for it;
//! - [`keys`]: ids, and the keys and fingerprints that are hashed of them;
//! - [`cursor`]: what a provider's page cursor may be, how it is written, and what a gap is called after it;
//! - [`backoff`]: how long to wait after failures;
//! - [`health`]: whether an account of a provider may be dispatched to;
//! - [`initial_dispatch`]: the marker of a start that may not have been dispatched yet.

pub mod backoff;
pub mod cost;
pub mod cursor;
pub mod health;
pub mod initial_dispatch;
pub mod keys;
pub mod limits;
pub mod money;
pub mod states;

pub use backoff::{FixedJitter, Jitter, RandomJitter};
pub use cost::HardCap;
pub use cursor::{Checked, Cursor, InvalidCursor};
pub use health::{ExternalHealth, FixedHealth, Health, HealthRecord};
pub use initial_dispatch::{InitialDispatch, unsubmitted_initial_dispatch};
pub use keys::FingerprintInput;
pub use limits::{EXECUTION_LIMITS, Limit, Limits};
pub use money::{Nanos, Remaining, Round};
pub use states::{PROVIDER_STATES, ProviderState, TerminalState};
