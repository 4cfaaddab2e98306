//! What a crash of the machine may leave, case by case, against sets worked out by hand.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

type Found = BTreeMap<String, String>;

/// The names of `/agent` with their contents in each image; zeros show as `0`.
fn images(files: &FaultyFileSystem) -> BTreeSet<Found> {
    files.images_after_crash().map(|image| look(&image.files)).collect()
}

fn look(files: &FaultyFileSystem) -> Found {
    let names = files.names("/agent").unwrap_or_default();
    let content = |name: &str| match files.contents(format!("/agent/{name}")) {
        Ok(bytes) => String::from_utf8(bytes).expect("text").replace('\0', "0"),
        Err(error) => format!("({error})"),
    };
    names.into_iter().map(|name| (name.clone(), content(&name))).collect()
}

fn found<const N: usize>(files: [(&str, &str); N]) -> Found {
    files.into_iter().map(|(name, content)| (name.to_owned(), content.to_owned())).collect()
}

fn set<const N: usize>(images: [Found; N]) -> BTreeSet<Found> {
    images.into_iter().collect()
}

/// Everything that unsynced content of three bytes may look like, by the rules of the faulty directory.
const TORN_NEW: [&str; 8] = ["new", "", "n", "ne", "000", "n00", "ne0", "0ew"];

fn is_torn_new(content: &str) -> bool {
    TORN_NEW.contains(&content)
}

#[test]
fn what_was_synced_with_its_name_is_all_that_there_is() {
    let files = machine();
    let agent = open(&files);
    assert_eq!(images(&files), set([found([])]));
    fill(&*agent, "a", b"new", true).expect("filled");
    agent.sync().expect("synced");
    assert!(files.unsynced().is_empty());
    assert_eq!(images(&files), set([found([("a", "new")])]));
}

#[test]
fn a_synced_file_may_lack_its_name() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", b"new", true).expect("filled");
    assert_eq!(files.unsynced(), ["2 `create a`"]);
    assert_eq!(images(&files), set([found([]), found([("a", "new")])]));
}

#[test]
fn a_synced_name_may_lack_its_content() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", b"new", false).expect("filled");
    agent.sync().expect("synced");
    assert_eq!(files.unsynced(), ["3 `write a 3`"]);
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["a"].clone()).collect();
    assert!(seen.iter().all(|content| is_torn_new(content)), "{seen:?}");
    for expected in ["new", "", "n", "ne", "000"] {
        assert!(seen.contains(expected), "{expected:?} is missing in {seen:?}");
    }
}

#[test]
fn renaming_an_unsynced_file_can_lose_old_and_new() {
    let files = machine();
    files.plant_file("/agent/record", "old").expect("planted");
    let agent = open(&files);
    fill(&*agent, "staged", b"new", false).expect("filled");
    agent.rename("staged", "record").expect("renamed");
    let images = images(&files);
    let records: BTreeSet<&str> = images.iter().map(|image| image["record"].as_str()).collect();
    assert!(
        records.contains("old") && records.contains("new") && records.contains("") && records.contains("000")
    );
    for image in &images {
        let (record, staged) = (image["record"].as_str(), image.get("staged").map(String::as_str));
        // Rename is atomic: the file stands under one of its two names and never under both.
        assert!(if record == "old" {
            staged.is_none_or(is_torn_new)
        } else {
            is_torn_new(record) && staged.is_none()
        });
    }
    agent.sync().expect("synced");
    let files_now = self::images(&files);
    assert!(files_now.iter().all(|image| image.len() == 1 && is_torn_new(&image["record"])), "{files_now:?}");
    assert!(files_now.len() > 4, "the name is durable and the content is not: {files_now:?}");
}

#[test]
fn renaming_a_synced_file_leaves_old_or_new() {
    let files = machine();
    files.plant_file("/agent/record", "old").expect("planted");
    let agent = open(&files);
    fill(&*agent, "staged", b"new", true).expect("filled");
    agent.rename("staged", "record").expect("renamed");
    let (old, new) = (found([("record", "old")]), found([("record", "new")]));
    let staged = found([("record", "old"), ("staged", "new")]);
    assert_eq!(images(&files), set([old, staged, new.clone()]));
    agent.sync().expect("synced");
    assert_eq!(images(&files), set([new]));
}

#[test]
fn an_exchange_happens_to_both_names_or_to_neither() {
    let files = machine();
    files.plant_file("/agent/record", "old").expect("planted");
    files.plant_file("/agent/staged", "new").expect("planted");
    let agent = open(&files);
    agent.exchange("staged", "record").expect("exchanged");
    let before = found([("record", "old"), ("staged", "new")]);
    let after = found([("record", "new"), ("staged", "old")]);
    assert_eq!(images(&files), set([before.clone(), after.clone()]));
    agent.remove("staged").expect("removed");
    let done = found([("record", "new")]);
    // The removal alone, without the exchange before it, takes the name and not the record.
    assert_eq!(images(&files), set([before, after, found([("record", "old")]), done.clone()]));
    agent.sync().expect("synced");
    assert_eq!(images(&files), set([done]));
}

#[test]
fn a_name_that_was_removed_and_made_again_is_never_another_files() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", b"old", true).expect("filled");
    agent.sync().expect("synced");
    agent.remove("a").expect("removed");
    fill(&*agent, "a", b"new", true).expect("filled");
    agent.rename("a", "b").expect("renamed");
    let expected = set([found([("a", "old")]), found([]), found([("a", "new")]), found([("b", "new")])]);
    // Losing the removal does not make the rename move the old file.
    assert_eq!(images(&files), expected);
}

#[test]
fn an_unsynced_removal_may_come_back() {
    let files = machine();
    files.plant_file("/agent/a", "old").expect("planted");
    let agent = open(&files);
    agent.remove("a").expect("removed");
    assert_eq!(images(&files), set([found([("a", "old")]), found([])]));
    agent.sync().expect("synced");
    assert_eq!(images(&files), set([found([])]));
}

#[test]
fn appending_never_takes_what_was_there() {
    let files = machine();
    files.plant_file("/agent/log", "kept\n").expect("planted");
    open(&files).append("log", b"more\n").expect("appended");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["log"].clone()).collect();
    assert!(seen.iter().all(|content| content.starts_with("kept\n")), "{seen:?}");
    for expected in ["kept\n", "kept\nm", "kept\nmore", "kept\nmore\n", "kept\n00000"] {
        assert!(seen.contains(expected), "{expected:?} is missing in {seen:?}");
    }
}

#[test]
fn appending_to_a_missing_file_is_a_name_and_a_content() {
    let files = machine();
    open(&files).append("log", b"x").expect("appended");
    assert_eq!(files.unsynced(), ["2 `append log 1`", "2 `append log 1`"]);
    assert_eq!(
        images(&files),
        set([found([]), found([("log", "")]), found([("log", "0")]), found([("log", "x")])])
    );
}

#[test]
fn a_content_replaced_in_place_may_be_old_empty_or_torn() {
    let files = machine();
    files.plant_file("/agent/lock", "older").expect("planted");
    open(&files).open_lock("lock").and_then(|lock| lock.set_contents(b"new")).expect("set");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["lock"].clone()).collect();
    for expected in ["older", "", "new", "ne", "000"] {
        assert!(seen.contains(expected), "{expected:?} is missing in {seen:?}");
    }
}

#[test]
fn a_lost_write_in_the_middle_is_a_hole() {
    let files = machine();
    let agent = open(&files);
    let mut file = agent.create("a").expect("created");
    agent.sync().expect("synced");
    file.write_all(b"ab").expect("written");
    file.write_all(b"cd").expect("written");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["a"].clone()).collect();
    assert!(seen.contains("00cd") && seen.contains("ab") && seen.contains("ab00"), "{seen:?}");
    file.sync().expect("synced");
    file.write_all(b"ef").expect("written");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["a"].clone()).collect();
    assert!(seen.iter().all(|content| content.starts_with("abcd")), "{seen:?}");
}

#[test]
fn what_a_failed_sync_dropped_no_later_sync_brings_back() {
    let files = with_faults(r#"[{"on": "sync", "do": "error", "errno": "EIO"}]"#);
    let agent = open(&files);
    let mut file = agent.create("a").expect("created");
    agent.sync().expect("synced");
    file.write_all(b"lost").expect("written");
    assert_eq!(errno(file.sync()), Some(libc::EIO));
    file.sync().expect("the second says that all is well");
    assert_eq!(files.contents("/agent/a").expect("there"), b"lost", "until the machine goes down");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["a"].clone()).collect();
    assert!(seen.contains("") && seen.contains("0000") && seen.contains("lost"), "{seen:?}");
    file.write_all(b"kept").expect("written");
    file.sync().expect("synced");
    let seen: BTreeSet<String> = images(&files).into_iter().map(|image| image["a"].clone()).collect();
    assert!(seen.contains("0000kept") && seen.contains("lostkept"), "{seen:?}");
    assert!(seen.iter().all(|content| content.ends_with("kept") && content.len() == 8), "{seen:?}");
    files.sync_everything();
    assert_eq!(images(&files), set([found([("a", "lostkept")])]));
}

#[test]
fn a_directory_without_its_own_name_is_lost_with_all_in_it() {
    let files = machine();
    files.make_directory(Path::new("/agent/a")).expect("made");
    files.make_directory(Path::new("/agent/a/b")).expect("made");
    let directory = files.open(Path::new("/agent/a/b")).expect("opened");
    fill(&*directory, "file", b"new", true).expect("filled");
    directory.sync().expect("synced");
    let there =
        |path: &str| files.images_after_crash().map(|image| image.files.contents(path).is_ok()).collect();
    let seen: BTreeSet<bool> = there("/agent/a/b/file");
    assert_eq!(seen, BTreeSet::from([false, true]));
    files.open(Path::new("/agent/a")).and_then(|parent| parent.sync()).expect("synced");
    let seen: BTreeSet<bool> = there("/agent/a/b/file");
    assert_eq!(seen, BTreeSet::from([false, true]), "the grandparent has not been synced");
    open(&files).sync().expect("synced");
    let seen: BTreeSet<bool> = there("/agent/a/b/file");
    assert_eq!(seen, BTreeSet::from([true]));
}

#[test]
fn a_crash_of_the_process_alone_loses_nothing() {
    let files = with_faults(r#"[{"on": "rename", "do": "crash-after"}]"#);
    files.plant_file("/agent/record", "old").expect("planted");
    let agent = open(&files);
    fill(&*agent, "staged", b"new", false).expect("filled");
    assert!(crashed(agent.rename("staged", "record")));
    let next = files.another_process();
    assert_eq!(read(&*open(&next), "record").expect("read"), b"new");
    open(&next).sync().expect("another process's sync makes names durable too");
    assert!(images(&files).iter().all(|image| is_torn_new(&image["record"])));
}

#[test]
fn an_image_is_a_machine_of_its_own_that_can_crash_again() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", b"1", true).expect("filled");
    let lock = agent.open_lock("lock").expect("opens");
    assert!(lock.try_lock(crate::storage::Sharing::Exclusive).expect("locks"));
    files.set_gains_by_exchange(false);
    files.set_room(Some(0));
    let last = files.images_after_crash().filter(|image| image.files.contents("/agent/a").is_ok()).last();
    let booted = last.expect("one has it").files;
    assert!(booted.unsynced().is_empty());
    let agent = open(&booted);
    assert!(!agent.gains_by_exchange(), "the file system is the same");
    fill(&*agent, "b", b"2", false).expect("and the room is not");
    assert!(
        agent
            .open_lock("lock")
            .and_then(|lock| lock.try_lock(crate::storage::Sharing::Exclusive))
            .expect("locks")
    );
    agent.sync().expect("synced");
    assert_eq!(files.names("/agent").expect("listed"), ["a", "lock"], "the first machine is not touched");
    assert!(images(&booted).iter().all(|image| image.contains_key("a") && image.contains_key("b")));
}

#[test]
fn an_image_with_a_lost_removal_has_no_inode_twice() {
    let files = machine();
    let agent = open(&files);
    files.plant_file("/agent/a", "old").expect("planted");
    agent.remove("a").expect("removed");
    fill(&*agent, "b", b"new", true).expect("filled");
    let mut both = 0;
    for image in files.images_after_crash() {
        let inode = |name| image.files.metadata(name).map(|metadata| metadata.identity.inode).ok();
        if let (Some(a), Some(b)) = (inode("/agent/a"), inode("/agent/b")) {
            assert_ne!(a, b);
            both += 1;
        }
    }
    assert_eq!(both, 1);
}

#[test]
fn a_booted_machine_uses_free_inode_numbers_first() {
    let files = machine();
    let agent = open(&files);
    for name in ["a", "b"] {
        agent.create(name).expect("created");
    }
    let free = agent.metadata("a").expect("there").identity.inode;
    agent.remove("a").expect("removed");
    agent.sync().expect("synced");
    let booted = files.images_after_crash().next().expect("there is always one").files;
    open(&booted).create("c").expect("created");
    assert_eq!(booted.metadata("/agent/c").expect("there").identity.inode, free);
}

#[test]
fn content_of_several_writes_can_be_lost_whole() {
    let files = machine();
    files.plant_file("/agent/record", "old").expect("planted");
    let agent = open(&files);
    let mut file = agent.create("staged").expect("created");
    for part in ["12345", "67890"] {
        file.write_all(part.as_bytes()).expect("written");
    }
    agent.rename("staged", "record").expect("renamed");
    let empty =
        files.images_after_crash().seeded(0, 0).any(|image| look(&image.files) == found([("record", "")]));
    assert!(empty, "the name without any of its content");
}

#[test]
fn every_beginning_is_there() {
    let files = machine();
    let agent = open(&files);
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        fill(&*agent, name, b"x", true).expect("filled");
    }
    let images: Vec<Found> =
        files.images_after_crash().seeded(0, 0).map(|image| look(&image.files)).collect();
    for count in 0..=names.len() {
        let beginning: Found =
            names[..count].iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        assert!(images.contains(&beginning), "{count} of {names:?}");
    }
    for lost in names {
        let others = names.iter().filter(|name| **name != lost);
        let others: Found = others.map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        assert!(images.contains(&others), "all but {lost}");
    }
    assert_eq!(images.len(), 7 + 6 - 1, "losing the last alone is a beginning");
}

#[test]
fn what_is_planted_outlasts_what_was_not_synced_before() {
    let files = machine();
    files.plant_file("/agent/lock", "kept").expect("planted");
    let agent = open(&files);
    fill(&*agent, "a", b"unsynced", false).expect("filled");
    agent.open_lock("lock").and_then(|lock| lock.set_contents(b"unsynced")).expect("set");
    files.plant_file("/agent/a", "planted").expect("planted");
    files.overwrite("/agent/lock", b"planted").expect("overwritten");
    assert_eq!(images(&files), set([found([("a", "planted"), ("lock", "planted")])]));
}

#[test]
fn nothing_is_logged_where_nothing_changes() {
    let files = machine();
    files.plant_file("/agent/a", "x").expect("planted");
    let agent = open(&files);
    agent.exchange("a", "a").expect("exchanged with itself");
    agent.rename("a", "a").expect("renamed to itself");
    assert!(files.unsynced().is_empty(), "{:?}", files.unsynced());
}

#[test]
fn images_come_once_and_a_seed_replays_them() {
    let files = machine();
    let agent = open(&files);
    for name in ["a", "b", "c", "d", "e"] {
        fill(&*agent, name, name.repeat(30).as_bytes(), false).expect("filled");
    }
    agent.rename("a", "b").expect("renamed");
    let list = |seed, selections| -> Vec<(String, Found)> {
        let images = files.images_after_crash().seeded(seed, selections);
        images.map(|image| (image.description, look(&image.files))).collect()
    };
    let first = list(7, 40);
    assert_eq!(first, list(7, 40));
    assert_ne!(first, list(8, 40));
    assert!(list(7, 0).len() < first.len(), "selections add to the rest");
    let looks: BTreeSet<&Found> = first.iter().map(|(_, found)| found).collect();
    assert_eq!(looks.len(), first.len(), "each look comes once");
    assert_eq!(first[0].1, found([]), "the first has nothing that was not synced");
    assert!(first.iter().any(|(_, found)| *found == look(&files)), "one has everything");
    assert!(
        first.iter().any(|(words, _)| words.starts_with("without effect 3 of 11 (of 4 `create b`)")),
        "{first:?}"
    );
    assert!(first.iter().any(|(words, _)| words.contains("/agent/b cut at byte 29")));
    assert!(first.iter().any(|(words, _)| words.starts_with("only effects [")));
}

#[test]
fn long_content_loses_single_pages_too() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", &[b'x'; 10_000], false).expect("filled");
    agent.sync().expect("synced");
    let hole = files.images_after_crash().any(|image| {
        let content = image.files.contents("/agent/a").expect("the name is durable");
        // Two full pages and 1,808 bytes.
        content.len() == 10_000 && [4096, 1808].contains(&content.iter().filter(|byte| **byte == 0).count())
    });
    assert!(hole);
}

#[test]
fn a_long_run_keeps_what_a_crash_may_bring_back_and_nothing_else() {
    let files = machine();
    files.plant_file("/elsewhere/kept", "x").expect("planted");
    let elsewhere = files.open(Path::new("/elsewhere")).expect("opens");
    let below = files.open_or_create(Path::new("/elsewhere/below")).expect("made");
    fill(&*below, "synced", b"x", true).expect("filled");
    below.sync().expect("synced");
    // The name of a directory and all of a file are taken away again, none of it durably.
    elsewhere.rename("below", "moved").expect("renamed");
    fill(&*elsewhere, "removed", b"x", true).expect("filled");
    elsewhere.remove("removed").expect("removed");
    drop((elsewhere, below));
    let agent = open(&files);
    agent.append("never-synced", b"x").expect("appended");
    for round in 0..2_000 {
        fill(&*agent, "staged", round.to_string().as_bytes(), true).expect("filled");
        agent.rename("staged", "record").expect("renamed");
        agent.sync().expect("synced");
    }
    {
        let machine = files.view().shared.lock();
        assert_eq!(machine.disk.log().len(), 4, "{:?}", machine.disk.log());
        assert!(machine.disk.base().len() < 200, "{} inodes are kept", machine.disk.base().len());
    }
    for path in
        ["/elsewhere/removed", "/elsewhere/moved/synced", "/elsewhere/below/synced", "/elsewhere/kept"]
    {
        assert!(files.images_after_crash().any(|image| image.files.contents(path).is_ok()), "{path}");
    }
    let records: BTreeSet<String> = images(&files).into_iter().map(|image| image["record"].clone()).collect();
    assert_eq!(records, BTreeSet::from(["1999".to_owned()]));
}
