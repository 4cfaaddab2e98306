//! What the traits promise, as far as it is more than the comparison with the machine's directory shows.

use super::super::Fault;
use super::*;
use crate::storage::directory::{FileType, Sharing};

#[test]
fn inode_numbers_are_used_again_unless_a_file_is_held() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "a", b"first", false).expect("filled");
    let first = agent.metadata("a").expect("there").identity;
    agent.remove("a").expect("removed");
    fill(&*agent, "a", b"other", false).expect("filled");
    assert_eq!(agent.metadata("a").expect("there").identity, first, "a number is used again at once");

    let mut into = Vec::new();
    let held = agent.read("a", 100, &mut into).expect("read");
    agent.remove("a").expect("removed");
    fill(&*agent, "a", b"third", false).expect("filled");
    assert_ne!(
        agent.metadata("a").expect("there").identity,
        held.metadata.identity,
        "held, so not used again"
    );
    drop(held);
    agent.create("b").expect("created");
    assert_eq!(agent.metadata("b").expect("there").identity, first, "let go of, so used again");
}

#[test]
fn everything_that_is_open_holds_its_inode() {
    let files = machine();
    let agent = open(&files);
    let new_file = agent.create("a").expect("created");
    let lock = agent.open_lock("b").expect("opens");
    let (first, second) = (agent.metadata("a").expect("there").identity, lock.identity());
    agent.remove("a").expect("removed");
    agent.remove("b").expect("removed");
    agent.create("c").expect("created");
    let third = agent.metadata("c").expect("there").identity;
    assert!(third != first && third != second);
    assert_eq!(lock.identity(), second);
    drop((new_file, lock));
    agent.create("d").expect("created");
    agent.create("e").expect("created");
    let mut inodes = ["d", "e"].map(|name| agent.metadata(name).expect("there").identity.inode);
    inodes.sort_unstable();
    assert_eq!(inodes, [first.inode, second.inode]);

    let directory = agent.identity().expect("it is open");
    assert_eq!(files.metadata("/agent").expect("there").identity, directory);
    files.unplant("/agent").expect("removed");
    files.plant_directory("/agent").expect("planted");
    assert_ne!(open(&files).identity().ok(), Some(directory), "the open directory holds its inode");
    assert_eq!(errno(agent.create("f")), Some(libc::ENOENT), "a removed directory takes no files");
    assert!(agent.names().expect("listed").is_empty());
}

#[test]
fn a_crash_lets_go_of_everything() {
    let files = machine();
    let agent = open(&files);
    let mut into = Vec::new();
    fill(&*agent, "a", b"x", false).expect("filled");
    let held = agent.read("a", 100, &mut into).expect("read");
    let lock = agent.open_lock("lock").expect("opens");
    assert!(lock.try_lock(Sharing::Exclusive).expect("locks"));
    files.kill();
    assert_eq!(files.lock_on("/agent/lock").expect("there"), None);
    let second = files.another_process();
    let agent = open(&second);
    agent.remove("a").expect("removed");
    agent.create("a").expect("created");
    assert_eq!(agent.metadata("a").expect("there").identity, held.metadata.identity);
    let mine = agent.open_lock("lock").expect("opens");
    assert!(mine.try_lock(Sharing::Exclusive).expect("locks"));
    assert!(crashed(lock.try_lock(Sharing::Exclusive)));
    drop((held, lock));
    assert_eq!(
        files.lock_on("/agent/lock").expect("there"),
        Some(Sharing::Exclusive),
        "the dead release nothing"
    );
}

#[test]
fn locks_exclude_by_open_file_and_inode() {
    let files = machine();
    let agent = open(&files);
    let (first, second) = (agent.open_lock("lock").expect("opens"), agent.open_lock("lock").expect("opens"));
    assert!(first.try_lock(Sharing::Exclusive).expect("locks"));
    assert!(first.try_lock(Sharing::Exclusive).expect("the holder may ask again"));
    assert!(!second.try_lock(Sharing::Exclusive).expect("excluded within one process"));
    assert!(!second.try_lock(Sharing::Shared).expect("excluded"));
    assert!(first.try_lock(Sharing::Shared).expect("becomes shared"));
    assert!(second.try_lock(Sharing::Shared).expect("shared with it"));
    assert!(!first.try_lock(Sharing::Exclusive).expect("the other one shares"));
    assert!(second.try_lock(Sharing::Exclusive).expect("the refused one has lost its share, as in flock(2)"));
    drop(second);
    assert!(first.try_lock(Sharing::Exclusive).expect("released by dropping"));

    agent.remove("lock").expect("an operator");
    let replaced = agent.open_lock("lock").expect("opens");
    assert!(replaced.try_lock(Sharing::Exclusive).expect("another inode, another lock"));
    assert_ne!(replaced.identity(), first.identity());
}

#[test]
fn a_file_system_may_not_exclude_or_have_no_locks() {
    let files = machine();
    files.set_locks_exclude(false);
    let agent = open(&files);
    let (first, second) = (agent.open_lock("lock").expect("opens"), agent.open_lock("lock").expect("opens"));
    assert!(first.try_lock(Sharing::Exclusive).expect("locks"));
    assert!(second.try_lock(Sharing::Exclusive).expect("locks as well"));

    let fault = r#"[{"on": "try_lock", "repeat": true, "do": "error", "errno": "ENOLCK"}]"#;
    files.set_faults(Fault::parse_list(fault).expect("good"));
    for _ in 0..2 {
        assert_eq!(errno(second.try_lock(Sharing::Shared)), Some(libc::ENOLCK));
    }
}

#[test]
fn what_came_through_a_fork_holds_and_releases_nothing() {
    let files = machine();
    let agent = open(&files);
    let lock = agent.open_lock("lock").expect("opens");
    assert!(lock.try_lock(Sharing::Exclusive).expect("locks"));
    assert!(!lock.is_forked());
    files.simulate_fork();
    assert!(lock.is_forked());
    assert!(lock.try_lock(Sharing::Shared).is_err());
    assert!(lock.contents(1).is_err() && lock.set_contents(b"").is_err());
    drop(lock);
    let fresh = agent.open_lock("lock").expect("a child opens its own");
    assert!(!fresh.is_forked());
    assert!(!fresh.try_lock(Sharing::Exclusive).expect("the parent holds it still"));
    files.simulate_fork();
    assert!(
        !agent
            .open_lock("lock")
            .and_then(|lock| lock.try_lock(Sharing::Exclusive))
            .expect("and so for a grandchild")
    );
    files.end_parents();
    assert!(
        agent
            .open_lock("lock")
            .and_then(|lock| lock.try_lock(Sharing::Exclusive))
            .expect("the parents have ended")
    );
}

#[test]
fn reading_follows_links_and_refuses_what_is_no_file() {
    let files = machine();
    files.plant_file("/elsewhere/real", "content").expect("planted");
    files.plant_link("/agent/relative", "../elsewhere/real").expect("planted");
    files.plant_link("/agent/absolute", "/agent/relative").expect("planted");
    files.plant_link("/agent/loop", "loop").expect("planted");
    files.plant_link("/agent/dangling", "nowhere").expect("planted");
    files.plant_link("/linked", "agent").expect("planted");
    files.plant_pipe("/agent/pipe").expect("planted");
    let agent = files.open(Path::new("/linked")).expect("opens through a link");
    for name in ["relative", "absolute"] {
        let mut into = b"before".to_vec();
        let read = agent.read(name, 100, &mut into).expect("read");
        assert_eq!((into.as_slice(), read.through_link, read.metadata.size), (&b"content"[..], true, 7));
        assert_eq!(agent.metadata(name).expect("there").file_type, FileType::Link);
    }
    assert_eq!(errno(read(&*agent, "loop")), Some(libc::ELOOP));
    assert_eq!(errno(read(&*agent, "missing")), Some(libc::ENOENT));
    for name in ["relative", "dangling", "loop"] {
        let metadata = files.metadata(format!("/agent/{name}")).expect("there");
        assert_eq!((metadata.file_type, metadata.mode), (FileType::Link, 0o777));
    }
    for name in ["dangling", "pipe"] {
        let error = read(&*agent, name).expect_err("refused");
        assert_ne!(error.kind(), io::ErrorKind::NotFound, "{name}");
    }
    let mut into = Vec::new();
    let large = agent.read("relative", 6, &mut into).expect("opened");
    assert!(large.oversized && into.is_empty());
}

#[test]
fn a_directory_is_made_with_its_parents_once() {
    let files = machine();
    files.open_or_create(Path::new("/a/b/c")).expect("made");
    files.open_or_create(Path::new("/a/b/c")).expect("opened");
    let changes: Vec<String> =
        files.trace().into_iter().filter(|line| line.starts_with("mkdir") || line == "syncdir").collect();
    assert_eq!(changes, ["mkdir /a", "syncdir", "mkdir /a/b", "syncdir", "mkdir /a/b/c", "syncdir"]);
    assert!(files.images_after_crash().all(|image| image.files.metadata("/a/b/c").is_ok()));
    files.plant_file("/a/file", "x").expect("planted");
    assert_eq!(errno(files.open_or_create(Path::new("/a/file"))), Some(libc::ENOTDIR));
    assert_eq!(errno(files.open_or_create(Path::new("/a/file/below"))), Some(libc::ENOTDIR));
    assert_eq!(errno(files.open(Path::new("/missing"))), Some(libc::ENOENT));
    assert!(files.plant_file("relative", "x").is_err());
}

#[test]
fn times_come_from_the_clock() {
    let clock = Arc::new(SimulatedClock::new(1_000));
    let files = FaultyFileSystem::new(Arc::clone(&clock) as _);
    files.plant_directory("/agent").expect("planted");
    let agent = open(&files);
    let mut file = agent.create("a").expect("created");
    clock.set_wall_ms(2_000);
    file.write_all(b"x").expect("written");
    clock.set_wall_ms(3_000);
    agent.rename("a", "b").expect("renamed");
    let metadata = agent.metadata("b").expect("there");
    assert_eq!((metadata.modified_ns, metadata.changed_ns), (2_000_000_000, 3_000_000_000));
    assert_eq!(files.metadata("/agent").expect("there").modified_ns, 3_000_000_000);
    files.set_modified_ns("/agent/b", 5).expect("set");
    files.set_mode("/agent/b", 0o400).expect("set");
    let metadata = agent.metadata("b").expect("there");
    assert_eq!((metadata.modified_ns, metadata.mode, metadata.size), (5, 0o400, 1));
    let before = metadata.identity;
    files.overwrite("/agent/b", b"longer").expect("overwritten");
    assert_eq!(
        (agent.metadata("b").expect("there").identity, read(&*agent, "b").expect("read")),
        (before, b"longer".to_vec())
    );
}

#[test]
fn exchange_can_be_missing_and_worthless() {
    let files = machine();
    files.plant_file("/agent/a", "a").expect("planted");
    files.plant_directory("/agent/b").expect("planted");
    let agent = open(&files);
    assert!(agent.gains_by_exchange());
    files.set_gains_by_exchange(false);
    assert!(!agent.gains_by_exchange());
    agent.exchange("a", "b").expect("exchanged");
    assert_eq!(agent.metadata("a").expect("there").file_type, FileType::Directory);
    files.set_exchange_supported(false);
    assert_eq!(agent.exchange("a", "b").expect_err("refused").kind(), io::ErrorKind::Unsupported);
}

#[test]
fn two_machines_never_share_an_identity() {
    let (first, second) = (machine(), machine());
    assert_ne!(open(&first).identity().ok(), open(&second).identity().ok());
    let image = first.images_after_crash().next().expect("there is always one");
    assert_ne!(open(&first).identity().ok(), open(&image.files).identity().ok());
    let mut names = vec![String::new(); 2];
    names[0] = open(&first).create("a/b").expect_err("refused").to_string();
    names[1] = open(&first).create("..").expect_err("refused").to_string();
    assert_eq!(names, ["a name is one path component"; 2]);
}
