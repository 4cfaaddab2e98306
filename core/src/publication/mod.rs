//! Publication: the collected result of a run applied to a checkout, committed, verified, pushed and asked to be merged, each at
//! most once (EX-ART-33 to EX-ART-57). It never merges, and reviews nothing.
//!
//! - [`reconcile`](mod@reconcile): the publication as a machine, by what a coordinator has said of it beforehand ([`plan`]);
//! - [`next`]: what is done next, as a pure function of the checkpoint and of what is found;
//! - [`result`](mod@result): what of a private result is published;
//! - [`ports`]: who answers its calls in Rust, and the loop that carries them out;
//! - [`git`]: a checkout on this machine; [`remote`]: a publisher that pushes by the program `git`;
//!   [`sandbox`]: verification in this system's sandbox; [`local`]: these made of JSON, and the machine by its name;
//! - `ask`: the calls that it makes;
//! - [`functions`]: the pure functions under their public names.
//!
//! How far a publication has come stands in `result-application.json`
//! ([`execution::application`](crate::execution::application)).

mod ask;
pub mod functions;
pub mod git;
pub mod local;
pub mod next;
pub mod plan;
pub mod ports;
pub mod reconcile;
pub mod remote;
pub mod result;
pub mod sandbox;

pub use crate::execution::application::{Checkpoint, OwnerKeys, Status};
pub use git::GitCheckout;
pub use local::{LocalPorts, call};
pub use next::{Block, Facts, Found, Next, publication_next};
pub use plan::Plan;
pub use ports::{Answers, Failure, Place, Ports, Publisher, PublisherPort, Pushed, drive};
pub use reconcile::reconcile_execution_result;
pub use remote::{GitRemote, PullRequests};
pub use result::{Form, Publishable, PullRequestText};
pub use sandbox::{SandboxOptions, SystemVerification};
