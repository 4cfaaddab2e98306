//! The journal of a run: what its provider or its process said, each event once; its public lines, and following them.
//!
//! In reading order: `words` (the constants), `writer`, `projection`, `log_reader`, `replay`, `frame` (on the wire), `look`
//! (what is asked of a run's files without opening anything).

mod frame;
mod log_reader;
mod look;
mod projection;
mod replay;
mod words;
mod writer;

pub use frame::*;
pub use log_reader::*;
pub use look::*;
pub use projection::*;
pub use replay::*;
pub use words::*;
pub use writer::*;
