//! The disk: every byte goes through one trait, and every file is replaced whole.
//!
//! - `directory`: the traits, and what each method promises;
//! - `os_directory`: the machine's file system behind them;
//! - `data_file`: files that are read and written at offsets;
//! - [`faulty_directory`]: a file system in memory that fails, crashes and loses what was not synced;
//! - `look`: whether what was read still stands, by `stat` alone;
//! - `replace`: staging and publication in two durabilities;
//! - `file_lock`: `flock` locks on permanent files, by polling;
//! - `watch`, `os_watch`: being told of changes;
//! - `fork`: what happens to lock descriptors in a forked child.

mod data_file;
mod directory;
pub mod faulty_directory;
mod file_lock;
mod fork;
mod look;
mod os_directory;
mod os_lock;
#[cfg(target_os = "linux")]
mod os_watch;
mod replace;
mod watch;

pub use data_file::{DataAccess, DataFile};
pub use directory::{
    Directory, FileIdentity, FileSystem, FileType, LockFile, Metadata, NewFile, OpenFile, Sharing,
};
pub use file_lock::{LockError, LockGuard, acquire, acquire_by_path, is_released};
pub(crate) use fork::{ForkSafe, generation as fork_generation, quiet};
pub use look::Look;
pub use os_directory::OsFileSystem;
pub use replace::{Durability, Replacement, StagedNames, publish, sweep_abandoned};
pub use watch::{Alarm, Interest, Notice, Notifier, PollingNotifier, Waker, WatchId};
