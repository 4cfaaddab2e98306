//! The execution layer for JavaScript: the same split as in the core.
//!
//! - `boundary`: a task's boundary;
//! - `call`: one running call of it, as a machine that is stepped;
//! - `told`: a step on the pool, and what it has come to in few values;
//! - `health`: the health of providers' accounts;
//! - `lanes`: which of many tasks may start now;
//! - `publication`: what this machine answers of a publication, on threads of its own;
//! - `registry`: what providers can do;
//! - `functions`: constants, pure functions, and what is read without a boundary;
//! - `fault_points`: the points at which a test crashes, fails or pauses a call.
//!
//! Rich documents come and go as JSON text, so that numbers keep their digits.

mod boundary;
mod call;
mod fault_points;
mod functions;
mod health;
mod lanes;
mod publication;
mod registry;
mod told;

pub(crate) use fault_points::{NativePauses, script};
