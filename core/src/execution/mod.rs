//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken.
//!
//! - [`cursor`]: what a provider's page cursor may be, how it is written, and what a gap is called after it;
//! - [`capability`]: what a provider can do, the one registry of that, and what is refused before anything is saved;
//! - [`contract`]: what a transport is asked and what its replies may be, judged as texts and without a call.

pub mod capability;
pub mod contract;
pub mod cursor;
mod words;

pub use capability::{Adapter, Capability, Choice, ExecutionRegistry};
pub use contract::{Acknowledgement, Method, TransportError};
pub use cursor::{Checked, Cursor, InvalidCursor};
