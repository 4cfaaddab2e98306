//! The named points at which a test crashes, pauses or fails an operation (EX-SEA-04, EX-SEA-07).

use std::fmt;
use std::io;

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAnswer {
    /// Nothing.
    Go,
    /// The write reports an I/O error.
    Fail,
}

/// Asked at every point, in the order of their facts. A pause is a call that takes its time; a crash is one that does not
/// return. A point lies just after its fact, those of `persist:` and `remove:` just before.
pub trait Faults: Send + Sync + fmt::Debug {
    /// The library is at this point.
    fn at(&self, point: &str) -> FaultAnswer;
}

/// What a program that is not under test has.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn at(&self, _: &str) -> FaultAnswer {
        FaultAnswer::Go
    }
}

/// # Errors
/// Where the point is to fail.
pub(crate) fn pass(faults: &dyn Faults, point: &str) -> io::Result<()> {
    match faults.at(point) {
        FaultAnswer::Go => Ok(()),
        FaultAnswer::Fail => Err(io::Error::other("a fault point says so")),
    }
}
