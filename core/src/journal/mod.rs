//! The journal of a run: what happened, kept for ever in one file, and what is built beside it.

pub(crate) mod replay_keys;
