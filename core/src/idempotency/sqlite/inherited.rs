//! Connections in a forked child.
//!
//! SQLite keeps, for each process, what it believes to hold of a file's locks. A child inherits that belief and not the
//! locks, so that a fresh store there would trust locks which it does not have. Before a child opens its first store,
//! every connection that came through the fork is therefore closed, without a checkpoint: closing descriptors drops the
//! child's own locks only, and it has none. No thread is inside SQLite at the moment of a fork (`storage::quiet`), so
//! each of them is idle and whole.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rusqlite::config::DbConfig;

use super::SqliteClaims;
use crate::storage::{fork_generation, quiet};

/// Where a sweep begins: before every row.
pub(super) const BEGINNING: (i64, i64) = (i64::MIN, i64::MIN);

/// Every engine of this process and of those that it was forked from. Locked only by whoever keeps forks away.
static OPEN: Mutex<Vec<Weak<SqliteClaims>>> = Mutex::new(Vec::new());

/// Remembers an engine, so that a child can close its copy.
pub(super) fn remember(engine: &Arc<SqliteClaims>) {
    let _quiet = quiet();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|engine| engine.strong_count() > 0);
    open.push(Arc::downgrade(engine));
}

/// Closes what came through a fork.
pub(super) fn close_all() {
    let _quiet = quiet();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    for engine in open.iter().filter_map(Weak::upgrade) {
        if engine.generation == fork_generation() {
            continue;
        }
        if let Some(connection) = engine.connection().take() {
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            if let Err((connection, _)) = connection.close() {
                std::mem::forget(connection);
            }
        }
    }
    open.retain(|engine| engine.upgrade().is_some_and(|engine| engine.generation == fork_generation()));
}
