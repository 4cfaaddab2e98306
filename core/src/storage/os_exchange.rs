//! Where an unsynced replacement is cheaper by an exchange of names than by a rename.
//!
//! Renaming over a file makes ext4 write the new one out at once (`auto_da_alloc`, ext4(5)), and exchanging names does not.
//! Which file system a device holds is asked once in a process. Where another comes to hold it, what was learnt of the
//! first costs time and nothing else: who cannot exchange names renames.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;

/// By device number. Never waited for, because a forked child may find it locked by a thread that it does not have.
static LEARNT: Mutex<BTreeMap<u64, bool>> = Mutex::new(BTreeMap::new());

/// Whether exchanging names gains in this directory, which lies on that device where it is known.
pub(super) fn gains(directory: BorrowedFd<'_>, device: Option<u64>) -> bool {
    let learnt = device.and_then(|device| LEARNT.try_lock().ok()?.get(&device).copied());
    learnt.unwrap_or_else(|| {
        let gains = is_ext4(directory);
        if let (Some(device), Ok(mut learnt)) = (device, LEARNT.try_lock()) {
            learnt.insert(device, gains);
        }
        gains
    })
}

#[cfg(target_os = "linux")]
fn is_ext4(directory: BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|stat| stat.f_type == super::os_directory::EXT4_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_ext4(_: BorrowedFd<'_>) -> bool {
    false
}
