//! What a provider can do, and what is refused before anything is saved or called (EX-CAP).
//!
//! - [`Capability`]: the record of one provider, read strictly and kept whole ([`record`]);
//! - [`ExecutionRegistry`]: one record for each provider name, and what adapter comes with it ([`registry`]);
//! - `shipped`: the records that come with the library, as data;
//! - [`Choice`]: what a caller wants of a provider, and the checks in their order ([`check`]);
//! - [`assert_execution_dependency`]: whether a runtime has what the layer needs ([`dependency`]).
//!
//! Nothing here reads a disk, a clock or the environment. No check reads `qualification`, and none tests a provider's
//! name: what a provider may do stands in its record alone (EX-CAP-13, EX-CAP-14).

pub mod adapter;
pub mod check;
pub mod dependency;
mod members;
pub mod record;
pub mod registry;
mod shipped;

pub use adapter::{Adapter, RunnerParts};
pub use check::{Action, Choice, RunKind};
pub use dependency::{EXECUTION_VERSION, Runtime, assert_execution_dependency};
pub use record::Capability;
pub use registry::{ExecutionRegistry, Registered};
