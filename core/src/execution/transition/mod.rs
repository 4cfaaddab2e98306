//! What a ledger becomes, as pure functions of what it was and what has happened.
//!
//! - [`dispatch`]: an intent, and the four ways in which it can end;
//! - [`operator`]: what an operator has found out and restores or settles.

pub mod dispatch;
pub mod operator;
