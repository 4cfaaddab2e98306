//! What the disk itself takes for the pages of one call of a sweep.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE_BYTES: u64 = 4096;
/// Of a call that removes 32 claims whose names lie on a page each: those, as many rows' and expiry's, and the way to them.
const PAGES: u64 = 100;

/// So many calls, each the two syncs of a commit whose pages go into the store at once: the log's, and the store's own.
pub(crate) fn calls(store: &Path, folder: &Path, count: usize) -> Vec<Duration> {
    let copy = folder.join("bare.db");
    std::fs::copy(store, &copy).expect("it is copied");
    let (log, copy) = (opened(&folder.join("bare.log")), opened(&copy));
    let bytes = vec![b'p'; (PAGES * PAGE_BYTES) as usize];
    log.write_all_at(&bytes, 0).expect("it is written");
    log.sync_all().and_then(|()| copy.sync_all()).expect("it is synced");
    let pages = copy.metadata().expect("it is there").len() / PAGE_BYTES;
    // Far from each other, and every page once before any comes again.
    let mut page = 0;
    let mut next = || {
        page = (page + 40_503) % pages;
        page
    };
    let call = || {
        let began = Instant::now();
        log.write_all_at(&bytes, 0).and_then(|()| log.sync_data()).expect("the log is synced");
        for _ in 0..PAGES {
            copy.write_all_at(&bytes[..PAGE_BYTES as usize], next() * PAGE_BYTES).expect("it is written");
        }
        copy.sync_data().expect("the store is synced");
        began.elapsed()
    };
    std::iter::repeat_with(call).take(count).collect()
}

fn opened(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).expect("it opens")
}
