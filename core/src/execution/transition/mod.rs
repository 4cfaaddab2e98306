//! What a ledger becomes, as pure functions of what it was and what has happened.
//!
//! - [`dispatch`]: an intent, and the four ways in which it can end;
//! - [`local`]: process runs;
//! - [`operator`]: what an operator has found out and restores or settles;
//! - [`observe`]: ownership that is found, observations, failed passes, results;
//! - [`repair`]: records of older packages;
//! - [`cancel`]: stop requests, their replies, and fences.

pub mod cancel;
pub mod dispatch;
pub mod local;
pub mod observe;
pub mod operator;
pub mod repair;
