//! The execution layer: paid work is recorded, never doubled, never lost and never mistaken.
//!
//! - [`cursor`]: what a provider's page cursor may be, how it is written, and what a gap is called after it.

pub mod cursor;

pub use cursor::{Checked, Cursor, InvalidCursor};
