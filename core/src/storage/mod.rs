//! The disk: every byte goes through one trait, and every file is replaced whole.
//!
//! - `directory`: the traits, and what each method promises;
//! - `os_directory`, `os_file`: the machine's file system behind them, and its open files;
//! - `data_file`: files that are read and written at offsets;
//! - [`faulty_directory`]: a file system in memory that fails, crashes and loses what was not synced;
//! - `look`: whether what was read still stands, by `stat` alone;
//! - `seen`: small files that are read once and looked at afterwards;
//! - `medium`: on what kind of file system a directory lies;
//! - `os_exchange`: where exchanging names is cheaper than renaming;
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
mod medium;
mod os_directory;
mod os_exchange;
mod os_file;
mod os_lock;
#[cfg(target_os = "linux")]
mod os_watch;
mod replace;
mod seen;
mod watch;

pub use data_file::{DataAccess, DataFile};
pub use directory::{
    Directory, FileIdentity, FileSystem, FileType, LockFile, Metadata, NewFile, OpenFile, Sharing,
};
pub use file_lock::{LockError, LockGuard, acquire, acquire_by_path, is_released};
pub(crate) use fork::{ForkSafe, counted_generation, generation as fork_generation, quiet};
pub use look::Look;
pub use medium::{Medium, medium};
pub use os_directory::OsFileSystem;
pub(crate) use replace::ABANDONED_AFTER;
pub use replace::{Durability, Replacement, StagedNames, publish, publish_pieces, sweep_abandoned};
pub(crate) use seen::Seen;
pub use watch::{Alarm, Interest, Notice, Notifier, PollingNotifier, Waker, WatchId};

/// File systems that other machines change too: NFS, SMB, CIFS, SMB2, 9p, Ceph, AFS, Coda, GFS2, OCFS2 (`f_type` by
/// statfs(2) and linux/magic.h).
#[cfg(target_os = "linux")]
pub(crate) const NETWORK_FILE_SYSTEMS: [rustix::fs::FsWord; 10] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x0102_1997,
    0x00c3_6400,
    0x6b41_4653,
    0x7375_7245,
    0x0116_1970,
    0x7461_636f,
];
