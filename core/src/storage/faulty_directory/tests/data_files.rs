//! Data files: what a crash leaves of writes and cuts at offsets, and how they fail.

use std::collections::BTreeSet;

use super::super::Errno;
use super::*;
use crate::storage::{DataAccess, DataFile};

/// A durable file `log` with the content `old|`, open for writing.
fn log() -> (FaultyFileSystem, Box<dyn DataFile>) {
    let files = machine();
    files.plant_file("/agent/log", "old|").expect("planted");
    let opened = open(&files).open_data("log", DataAccess::Write).expect("opens");
    (files, opened)
}

fn contents(files: &FaultyFileSystem) -> BTreeSet<String> {
    let text = |image: FaultyFileSystem| {
        String::from_utf8(image.contents("/agent/log").expect("it is there"))
            .expect("text")
            .replace('\0', "0")
    };
    files.images_after_crash().map(|image| text(image.files)).collect()
}

fn set<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

#[test]
fn an_unsynced_tail_is_torn_and_what_precedes_it_is_not() {
    let (files, log) = log();
    log.write_at(4, b"new").expect("written");
    let torn = set(["old|", "old|n", "old|ne", "old|new", "old|000", "old|n00", "old|ne0", "old|0ew"]);
    let found = contents(&files);
    assert!(found.is_subset(&torn), "{found:?}");
    assert!(found.contains("old|") && found.contains("old|new") && found.contains("old|000"), "{found:?}");
    log.sync().expect("synced");
    assert_eq!(contents(&files), set(["old|new"]));
}

#[test]
fn a_cut_may_be_lost_until_it_is_synced() {
    let (files, log) = log();
    log.cut(2).expect("cut");
    assert_eq!(contents(&files), set(["old|", "ol"]));
    log.sync().expect("synced");
    assert_eq!(contents(&files), set(["ol"]));
}

#[test]
fn a_cut_after_an_unsynced_write_takes_it_away() {
    let (files, log) = log();
    log.write_at(4, b"n").expect("written");
    log.cut(4).expect("cut");
    let found = contents(&files);
    assert_eq!(found, set(["old|", "old|n", "old|0"]));
    log.sync().expect("synced");
    assert_eq!(contents(&files), set(["old|"]));
}

#[test]
fn a_full_disk_leaves_what_fits_and_a_cut_gives_it_back() {
    let (files, log) = log();
    files.set_room(Some(2));
    assert_eq!(errno(log.write_at(4, b"new")), Some(Errno::ENOSPC.raw()));
    assert_eq!(log.size().expect("told"), 6);
    log.cut(4).expect("cut");
    log.write_at(4, b"ab").expect("there is room again");
    assert_eq!(files.contents("/agent/log").expect("read"), b"old|ab");
}

#[test]
fn a_failed_sync_is_not_made_good_by_the_next() {
    let (files, log) = log();
    files.set_faults(Fault::parse_list(r#"[{"on": "sync", "do": "error", "errno": "EIO"}]"#).expect("good"));
    log.write_at(4, b"n").expect("written");
    assert_eq!(errno(log.sync()), Some(Errno::EIO.raw()));
    log.sync().expect("reported as synced");
    assert!(contents(&files).contains("old|"));
}
