//! Observed harness state: a small record of what a harness is seen doing, in an agent's directory.
//!
//! In reading order: `words` (the constants), `options`, `record` (what stands on disk and what a reader concludes),
//! `probe`, `reader`, `snapshot`, `fleet`, `watch`; `identity`, `report`, `claim`, `writer`, `ownership`, `session`, `environment`, `hook`.

mod claim;
mod environment;
mod fleet;
mod hook;
mod identity;
mod options;
mod ownership;
mod probe;
mod reader;
mod record;
mod report;
mod session;
mod snapshot;
mod watch;
mod words;
mod writer;

pub use claim::*;
pub use environment::*;
pub use fleet::*;
pub use hook::*;
pub use identity::*;
pub use options::*;
pub use ownership::*;
pub use probe::*;
pub use reader::*;
pub use record::*;
pub use report::*;
pub use session::*;
pub use snapshot::*;
pub use watch::*;
pub use words::*;
pub use writer::*;
