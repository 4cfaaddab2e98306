//! Lists of faults, and what they do to operations.

use super::super::{Action, Errno, Fault, On, OperationKind, Point};
use super::*;
use crate::storage::directory::Sharing;

#[test]
fn a_list_of_faults_is_read_as_it_is_documented() {
    let list = Fault::parse_list(
        r#"[{"at": 7, "do": "crash"}, {"at": 7, "do": "crash-after"}, {"at": 3, "do": "error", "errno": "ENOSPC"},
            {"on": "rename", "nth": 2, "do": "error-after", "errno": "EIO"},
            {"on": "write", "do": "short", "bytes": 17, "errno": "EINTR"}, {"on": "append", "do": "torn", "bytes": 0},
            {"on": "mutating", "repeat": true, "do": "error", "errno": "EROFS"},
            {"name": ".seq*", "do": "error", "errno": "EACCES"}, {"do": "full", "bytes": 4096}]"#,
    );
    let short = Action::Short { bytes: 17, errno: Errno::EINTR };
    let expected = [
        Fault::crash_at(7),
        Fault::crash_after(7),
        Fault::error_at(3, Errno::ENOSPC),
        Fault::new(Point::on(OperationKind::Rename).nth(2), Action::ErrorAfter(Errno::EIO)).expect("good"),
        Fault::new(Point::on(OperationKind::Write), short).expect("good"),
        Fault::new(Point::on(OperationKind::Append), Action::Torn { bytes: 0 }).expect("good"),
        Fault::new(Point::on(On::Mutating).repeatedly(), Action::Error(Errno::EROFS)).expect("good"),
        Fault::new(Point::on(On::Any).named(".seq*"), Action::Error(Errno::EACCES)).expect("good"),
        Fault::new(Point::on(On::Any), Action::Full { bytes: 4096 }).expect("good"),
    ];
    let list = list.expect("the list is good");
    assert_eq!(list, expected);
    let written = serde_json::to_string(&list).expect("written");
    assert_eq!(Fault::parse_list(&written).expect("read back"), list, "{written}");
    assert!(written.starts_with(r#"[{"at":7,"do":"crash"},"#), "{written}");
}

#[test]
fn every_word_of_a_fault_names_one_thing() {
    for kind in OperationKind::ALL {
        assert_eq!(OperationKind::from_word(kind.word()), Some(*kind));
        assert_eq!(serde_json::to_string(kind).expect("written"), format!("\"{}\"", kind.word()));
    }
    for errno in Errno::ALL {
        assert_eq!(Errno::from_name(errno.name()), Some(*errno));
        assert_eq!(io::Error::from(*errno).raw_os_error(), Some(errno.raw()));
    }
    assert_eq!(Errno::from_name("EUNKNOWN"), None);
}

#[test]
fn what_is_no_fault_is_refused_and_named() {
    for (json, words) in [
        (r#"[{"at": 0, "do": "crash"}]"#, "counted from 1"),
        (r#"[{"on": "write", "nth": 0, "do": "crash"}]"#, "counted from 1"),
        (r#"[{"do": "crash"}]"#, "needs at, on or name"),
        (r#"[{"nth": 2, "do": "crash"}]"#, "needs at, on or name"),
        (r#"[{"at": 1, "on": "write", "do": "crash"}]"#, "either at a number or"),
        (r#"[{"at": 1, "do": "explode"}]"#, "do=`explode`"),
        (r#"[{"at": 1}]"#, "missing field `do`"),
        (r#"[{"on": "frobnicate", "do": "crash"}]"#, "on=`frobnicate`"),
        (r#"[{"at": 1, "do": "error"}]"#, "do=`error` key=`errno`"),
        (r#"[{"at": 1, "do": "error", "errno": "EFOO"}]"#, "errno=`EFOO`"),
        (r#"[{"at": 1, "do": "error", "errno": 28}]"#, "invalid type"),
        (r#"[{"at": 1, "do": "error", "errno": "EIO", "bytes": 1}]"#, "do=`error` key=`bytes`"),
        (r#"[{"at": 1, "do": "short", "bytes": 1}]"#, "do=`short` key=`errno`"),
        (r#"[{"at": 1, "do": "short", "errno": "EIO"}]"#, "do=`short` key=`bytes`"),
        (r#"[{"at": 1, "do": "torn"}]"#, "do=`torn` key=`bytes`"),
        (r#"[{"at": 1, "do": "torn", "bytes": 1, "errno": "EIO"}]"#, "do=`torn` key=`errno`"),
        (r#"[{"do": "full"}]"#, "do=`full` key=`bytes`"),
        (r#"[{"at": 1, "do": "crash", "errno": "EIO"}]"#, "do=`crash` key=`errno`"),
        (r#"[{"at": 1, "do": "crash", "bytes": 1}]"#, "do=`crash` key=`bytes`"),
        (r#"[{"on": "sync", "repeat": true, "do": "error", "errno": "EINTR"}]"#, "never ends"),
        (r#"[{"on": "sync", "do": "error-after", "errno": "EINTR"}]"#, "was not interrupted"),
        (r#"[{"do": "full", "bytes": 1, "repeat": true}]"#, "becomes full once"),
        (r#"[{"at": 1, "do": "crash", "when": "now"}]"#, "unknown field `when`"),
        (r#"[{"at": -1, "do": "crash"}]"#, "invalid value"),
        (r#"{"at": 1, "do": "crash"}"#, "invalid type"),
        ("", "EOF"),
    ] {
        let error = Fault::parse_list(json).expect_err(json);
        assert_eq!(error.code(), crate::Code::Input, "{json}");
        assert!(error.message().contains(words), "{json}: {}", error.message());
    }
    let error = Fault::new(Point::at(0), Action::Crash).expect_err("refused");
    assert_eq!(error.code(), crate::Code::Input);
}

#[test]
fn an_operation_fails_by_its_number_and_has_no_effect() {
    let files = with_faults(r#"[{"at": 4, "do": "error", "errno": "EIO"}]"#);
    let agent = open(&files);
    fill(&*agent, "a", b"12", false).expect("operations 2 and 3");
    assert_eq!(errno(agent.rename("a", "b")), Some(libc::EIO));
    assert_eq!(files.names("/agent").expect("listed"), ["a"]);
    agent.rename("a", "b").expect("a fault happens once");
    assert_eq!(files.trace(), ["open /agent", "create a", "write a 2", "rename a -> b", "rename a -> b"]);
    let records = files.operations();
    assert_eq!(records[3].error.as_deref(), Some("EIO"));
    assert_eq!(records[3].to_string(), "4 /agent: rename a -> b (EIO)");
    assert_eq!((records[4].number, records[4].error.as_deref()), (5, None));
    assert_eq!(files.counts()[&OperationKind::Rename], 2);
    assert_eq!(files.last_number(), 5);
    files.forget_operations();
    assert!(files.counts().is_empty() && files.last_number() == 5);
}

#[test]
fn operations_are_counted_by_kind_and_name() {
    let files = with_faults(
        r#"[{"on": "create", "name": ".tmp-*", "nth": 2, "do": "error", "errno": "EACCES"},
            {"on": "rename", "name": "floor", "do": "error", "errno": "EIO"},
            {"name": "exact", "repeat": true, "do": "error", "errno": "EPERM"}]"#,
    );
    let agent = open(&files);
    agent.create(".tmp-1").expect("the first");
    agent.create("other").expect("another name");
    assert_eq!(errno(agent.create(".tmp-2")), Some(libc::EACCES));
    agent.create(".tmp-3").expect("the third");
    agent.rename(".tmp-1", "record").expect("another name");
    assert_eq!(errno(agent.rename(".tmp-3", "floor")), Some(libc::EIO));
    for _ in 0..3 {
        assert_eq!(errno(agent.metadata("exact")), Some(libc::EPERM));
    }
    assert_eq!(errno(agent.metadata("exact-not")), Some(libc::ENOENT));
}

#[test]
fn the_first_of_two_faults_at_one_point_counts() {
    let files = with_faults(
        r#"[{"on": "create", "do": "error", "errno": "EIO"}, {"at": 2, "do": "error", "errno": "EACCES"}]"#,
    );
    assert_eq!(errno(open(&files).create("a")), Some(libc::EIO));
}

#[test]
fn a_read_only_disk_is_one_fault() {
    let files = with_faults(r#"[{"on": "mutating", "repeat": true, "do": "error", "errno": "EROFS"}]"#);
    files.plant_file("/agent/a", "old").expect("planting is no operation");
    let agent = open(&files);
    assert_eq!(errno(agent.create("b")), Some(libc::EROFS));
    assert_eq!(errno(agent.append("a", b"more")), Some(libc::EROFS));
    assert_eq!(errno(agent.open_lock("lock")), Some(libc::EROFS));
    assert_eq!(errno(files.open_or_create(Path::new("/new"))), Some(libc::EROFS));
    assert_eq!(read(&*agent, "a").expect("reading goes on"), b"old");
    assert_eq!(files.names("/agent").expect("listed"), ["a"]);
}

#[test]
fn an_interruption_is_repeated_where_the_machine_repeats_it() {
    let files = with_faults(
        r#"[{"at": 2, "do": "error", "errno": "EINTR"}, {"at": 3, "do": "error", "errno": "EINTR"},
            {"on": "write", "do": "short", "bytes": 2, "errno": "EINTR"},
            {"on": "rename", "do": "error", "errno": "EINTR"}]"#,
    );
    let agent = open(&files);
    fill(&*agent, "a", b"hello", true).expect("a signal is no failure");
    assert_eq!(files.contents("/agent/a").expect("there"), b"hello");
    assert_eq!(errno(agent.rename("a", "b")), Some(libc::EINTR), "rename is not repeated");
    let expected = [
        "open /agent",
        "create a",
        "create a",
        "create a",
        "write a 5",
        "write a 3",
        "sync a",
        "rename a -> b",
    ];
    assert_eq!(files.trace(), expected);
}

#[test]
fn a_short_count_goes_on_where_it_stopped() {
    let files = with_faults(
        r#"[{"on": "any", "name": "l*", "nth": 2, "do": "short", "bytes": 3, "errno": "EINTR"}]"#,
    );
    let agent = open(&files);
    files.plant_file("/agent/lock", "a longer content").expect("planted");
    let lock = agent.open_lock("lock").expect("opens");
    lock.set_contents(b"0123456").expect("written");
    assert_eq!(lock.contents(100).expect("read"), b"0123456");

    let files = with_faults(r#"[{"on": "append", "do": "short", "bytes": 1, "errno": "EINTR"}]"#);
    assert_eq!(open(&files).append("log", b"abc").expect("appended"), 3);
    assert_eq!(files.contents("/agent/log").expect("there"), b"abc");
}

#[test]
fn a_short_write_leaves_its_part() {
    let files = with_faults(r#"[{"on": "write", "do": "short", "bytes": 3, "errno": "EIO"}]"#);
    let agent = open(&files);
    assert_eq!(errno(fill(&*agent, "a", b"hello", true)), Some(libc::EIO));
    assert_eq!(files.contents("/agent/a").expect("there"), b"hel");

    let files = with_faults(r#"[{"on": "write_lock", "do": "short", "bytes": 0, "errno": "ENOSPC"}]"#);
    files.plant_file("/agent/lock", "old").expect("planted");
    let lock = open(&files).open_lock("lock").expect("opens");
    assert_eq!(errno(lock.set_contents(b"new")), Some(libc::ENOSPC));
    assert_eq!(files.contents("/agent/lock").expect("there"), b"", "it was emptied before");

    let files = with_faults(r#"[{"on": "remove", "do": "short", "bytes": 3, "errno": "EIO"}]"#);
    files.plant_file("/agent/a", "x").expect("planted");
    assert_eq!(errno(open(&files).remove("a")), Some(libc::EIO), "what writes no bytes just fails");
    assert!(files.contents("/agent/a").is_ok());
}

#[test]
fn an_error_after_the_effect_hides_the_effect() {
    let files = with_faults(
        r#"[{"on": "rename", "do": "error-after", "errno": "EIO"}, {"on": "create", "do": "error-after", "errno": "EIO"}]"#,
    );
    let agent = open(&files);
    assert_eq!(errno(agent.create("a")), Some(libc::EIO));
    let inode = files.metadata("/agent/a").expect("it is there").identity.inode;
    assert_eq!(errno(agent.rename("a", "b")), Some(libc::EIO));
    assert_eq!(files.names("/agent").expect("listed"), ["b"]);
    agent.remove("b").expect("removed");
    agent.create("c").expect("created");
    let again = files.metadata("/agent/c").expect("there").identity.inode;
    assert_eq!(again, inode, "the descriptor that nobody was given is closed");
}

#[test]
fn a_full_disk_takes_what_fits_and_gets_room_by_removing() {
    let files = with_faults(r#"[{"do": "full", "bytes": 10}]"#);
    let agent = open(&files);
    fill(&*agent, "a", b"123456", true).expect("it fits");
    assert_eq!(errno(fill(&*agent, "b", b"123456", true)), Some(libc::ENOSPC));
    assert_eq!(files.contents("/agent/b").expect("there"), b"1234");
    assert_eq!(errno(agent.append("a", b"7")), Some(libc::ENOSPC));
    agent.remove("b").expect("removed");
    assert_eq!(agent.append("a", b"7890").expect("the room of b"), 10);
    assert_eq!(errno(agent.append("a", b"1")), Some(libc::ENOSPC));
    let lock = agent.open_lock("lock").expect("a name takes no room");
    assert_eq!(errno(lock.set_contents(b"x")), Some(libc::ENOSPC));
    files.set_room(None);
    lock.set_contents(b"x").expect("there is room again");
    files.set_room(Some(0));
    lock.set_contents(b"y").expect("what is replaced gives its room");
    assert_eq!(errno(lock.set_contents(b"yz")), Some(libc::ENOSPC));

    let files = with_faults(r#"[{"on": "write", "nth": 2, "do": "full", "bytes": 0}]"#);
    let agent = open(&files);
    fill(&*agent, "a", b"1", true).expect("not yet full");
    assert_eq!(errno(fill(&*agent, "b", b"1", true)), Some(libc::ENOSPC));
}

#[test]
fn a_replaced_file_gives_its_room_back_when_nobody_has_it_open() {
    let files = machine();
    files.plant_file("/agent/a", "12345").expect("planted");
    let agent = open(&files);
    let mut into = Vec::new();
    let open_file = agent.read("a", 100, &mut into).expect("read");
    fill(&*agent, "b", b"1", false).expect("filled");
    files.set_room(Some(0));
    agent.rename("b", "a").expect("renamed");
    assert_eq!(errno(agent.append("a", b"2")), Some(libc::ENOSPC));
    drop(open_file);
    assert_eq!(agent.append("a", b"23456").expect("its five bytes"), 6);
}

#[test]
fn a_crash_has_no_effect_before_and_the_whole_effect_after() {
    for (fault, there) in [
        (r#"[{"on": "create", "do": "crash"}]"#, false),
        (r#"[{"on": "create", "do": "crash-after"}]"#, true),
    ] {
        let files = with_faults(fault);
        let agent = open(&files);
        assert!(crashed(agent.create("a")));
        assert!(files.is_dead());
        assert_eq!(files.contents("/agent/a").is_ok(), there);
        assert!(crashed(agent.names()) && crashed(agent.sync()) && crashed(files.open(Path::new("/agent"))));
        assert_eq!(files.last_number(), 2, "a dead process makes no operations");
        assert_eq!(files.operations()[1].error.as_deref(), Some("crash"));
    }
}

#[test]
fn a_torn_write_ends_the_process_half_way() {
    let files = with_faults(r#"[{"on": "append", "do": "torn", "bytes": 2}]"#);
    assert!(crashed(open(&files).append("log", b"abcdef")));
    assert_eq!(files.contents("/agent/log").expect("there"), b"ab");

    let files = with_faults(r#"[{"on": "rename", "do": "torn", "bytes": 2}]"#);
    files.plant_file("/agent/a", "x").expect("planted");
    assert!(crashed(open(&files).rename("a", "b")), "what writes no bytes just crashes");
    assert_eq!(files.names("/agent").expect("listed"), ["a"]);
}

#[test]
fn processes_have_their_own_faults_numbers_and_ends() {
    let first = with_faults(r#"[{"at": 2, "do": "crash"}]"#);
    let second = first.another_process();
    let other = open(&second);
    other.create("b").expect("the faults are the first one's");
    let agent = open(&first);
    let lock = other.open_lock("lock").expect("opens");
    assert!(lock.try_lock(Sharing::Exclusive).expect("locks"));
    assert!(crashed(agent.create("a")));
    assert!(!second.is_dead());
    assert_eq!(other.names().expect("listed"), ["b", "lock"]);
    assert_eq!(
        second.lock_on("/agent/lock").expect("there"),
        Some(Sharing::Exclusive),
        "only the dead lose locks"
    );
    assert_eq!(second.trace(), ["open /agent", "create b", "open_lock lock", "try_lock lock", "names"]);
    assert_eq!(first.trace(), ["open /agent", "create a"]);
}

#[test]
fn a_pause_lets_another_writer_act_at_one_point() {
    let files = machine();
    let agent = open(&files);
    fill(&*agent, "staged", b"mine", false).expect("filled");
    let another = files.another_process();
    files.pause_before(Point::on(OperationKind::Rename), move || {
        fill(&*open(&another), "record", b"theirs", false).expect("filled");
    });
    agent.exchange("staged", "record").expect_err("no rename, no pause, no record");
    agent.rename("staged", "record").expect("renamed");
    assert_eq!(files.contents("/agent/record").expect("there"), b"mine");
    fill(&*agent, "staged", b"again", false).expect("filled");
    agent.rename("staged", "record").expect("the pause happens once");
    assert_eq!(files.names("/agent").expect("listed"), ["record"]);

    let own = files.clone();
    files.pause_before(Point::at(files.last_number() + 1), move || own.kill());
    assert!(crashed(agent.remove("record")), "a process may end in a pause");
    assert!(files.contents("/agent/record").is_ok());
}
