//! Publication: the collected result of a run applied to a checkout, committed, verified, pushed and asked to be merged, each at
//! most once (EX-ART-33 to EX-ART-57). It never merges, and reviews nothing.
//!
//! - [`next`]: what is done next, as a pure function of the checkpoint and of what is found;
//! - [`functions`]: the pure functions under their public names.
//!
//! How far a publication has come stands in `result-application.json`
//! ([`execution::application`](crate::execution::application)).

pub mod functions;
pub mod next;

pub use crate::execution::application::{Checkpoint, OwnerKeys, Status};
pub use next::{Block, Facts, Found, Next, publication_next};
