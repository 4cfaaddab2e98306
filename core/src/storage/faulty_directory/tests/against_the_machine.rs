//! Random operations made here and in the machine's own directory answer the same.

use std::path::PathBuf;

use super::super::{OperationKind, Point};
use super::*;
use crate::process::{ProcessTable, SystemProcessTable};
use crate::random::{Random, SystemRandom};
use crate::storage::directory::{FileType, LockFile, Sharing};
use crate::storage::faulty_directory::split_mix;
use crate::storage::{DataAccess, OsFileSystem};

const NAMES: [&str; 8] = ["a", "b", "c", "directory", "link", "dangling", "loop", "pipe"];

/// A directory of the machine that is removed with its content.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        let (pid, random) = (SystemProcessTable.own_pid(), SystemRandom.next_u64());
        Temporary(std::env::temp_dir().join(format!("gallivant-faulty-{pid}-{random:016x}")))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The same objects in both: a directory with something in it, links, a pipe.
#[expect(clippy::disallowed_methods, reason = "a test starts a program of its own")]
fn plant(real: &Path, files: &FaultyFileSystem) {
    OsFileSystem.open_or_create(&real.join("directory")).expect("made").create("inside").expect("created");
    for (name, target) in [("link", "a"), ("dangling", "nowhere"), ("loop", "loop")] {
        std::os::unix::fs::symlink(target, real.join(name)).expect("linked");
        files.plant_link(format!("/agent/{name}"), target).expect("planted");
    }
    let made = std::process::Command::new("mkfifo").arg(real.join("pipe")).status().expect("mkfifo starts");
    assert!(made.success());
    files.plant_file("/agent/directory/inside", "").expect("planted");
    files.plant_pipe("/agent/pipe").expect("planted");
}

/// What an operation answered, without what differs from machine to machine.
fn words<T: std::fmt::Debug>(answer: io::Result<T>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => {
            error.raw_os_error().map_or_else(|| error.to_string(), |errno| format!("errno {errno}"))
        }
    }
}

fn act(directory: &dyn Directory, locks: &mut Vec<Box<dyn LockFile>>, state: &mut u64) -> (String, String) {
    let mut pick = |from: usize| usize::try_from(split_mix(state) % from as u64).expect("small");
    let (one, other) = (NAMES[pick(NAMES.len())], NAMES[pick(NAMES.len())]);
    let sharing = [Sharing::Exclusive, Sharing::Shared][pick(2)];
    let number = pick(8);
    match pick(16) {
        0 => (format!("create {one}"), words(fill(directory, one, b"created", number % 2 == 0))),
        1 => (format!("append {one}"), words(directory.append(one, b"appended"))),
        2 | 3 => (format!("rename {one} {other}"), words(directory.rename(one, other))),
        4 => (format!("exchange {one} {other}"), words(directory.exchange(one, other))),
        5 => (format!("remove {one}"), words(directory.remove(one))),
        6 => {
            let mut into = b"before".to_vec();
            let limit = [100, 7, 6, 0][number % 4];
            let read = directory.read(one, limit, &mut into).map(|read| {
                (read.through_link, read.oversized, read.metadata.size, read.metadata.mode, into)
            });
            (format!("read {one}"), words(read))
        }
        7 => {
            let metadata = directory.metadata(one).map(|metadata| {
                let regular = metadata.file_type == FileType::Regular;
                (metadata.file_type, regular.then_some((metadata.size, metadata.mode)))
            });
            (format!("stat {one}"), words(metadata))
        }
        8 => {
            let opened = if number < 4 { directory.open_lock(one) } else { directory.open_lock_to_look(one) };
            let tried = opened.and_then(|lock| {
                let tried = lock.try_lock(sharing)?;
                locks.push(lock);
                Ok(tried)
            });
            (format!("lock {one} {sharing:?}"), words(tried))
        }
        9 if !locks.is_empty() => {
            let at = number % locks.len();
            if number < 3 {
                drop(locks.remove(at));
                return (format!("unlock {at}"), String::new());
            }
            let set = if number < 5 { locks[at].set_contents(b"owner") } else { Ok(()) };
            let done = set.and_then(|()| Ok((locks[at].contents(3)?, locks[at].try_lock(sharing)?)));
            (format!("use lock {at} {sharing:?}"), words(done))
        }
        10 | 11 => {
            let access = [DataAccess::Read, DataAccess::Write, DataAccess::Create][number % 3];
            (
                format!("data {one} {access:?} {number}"),
                words(use_data(directory, one, access, number as u64)),
            )
        }
        12 | 13 => {
            let made = if number < 2 { words(directory.make_directory(one)) } else { String::new() };
            let mut opened = words(directory.open_directory(one).and_then(|below| below.names()));
            // What a link is refused with when a directory is asked for differs from kernel to kernel.
            if directory.metadata(one).is_ok_and(|found| found.file_type != FileType::Directory) {
                opened = opened.starts_with("errno").to_string();
            }
            (format!("directory {one} {number}"), made + &opened)
        }
        14 => {
            let path = [".", "directory", one][number % 3];
            let mut listed = Vec::new();
            let known = directory.list(path, &mut |name, file_type| {
                listed.push((String::from_utf8(name.to_vec()).expect("UTF-8"), file_type));
            });
            listed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let below = directory.metadata("directory/inside").map(|metadata| metadata.file_type);
            let counted = directory.counts_subdirectories();
            // What a link is refused with when a directory is asked for differs from kernel to kernel.
            let known = known.map(|known| (known.file_type, counted.then_some(known.links), listed));
            (format!("list {path}"), format!("{:?} {}", known.ok(), words(below)))
        }
        _ => {
            let names = directory.names().map(|mut names| {
                names.sort_unstable();
                names
            });
            (format!("names, sync {:?}", directory.sync().is_ok()), words(names))
        }
    }
}

/// Writes, cuts and reads a data file at offsets.
fn use_data(
    directory: &dyn Directory,
    name: &str,
    access: DataAccess,
    number: u64,
) -> io::Result<(u64, Vec<u8>, Option<String>)> {
    let file = directory.open_data(name, access)?;
    let mut refused = None;
    if access != DataAccess::Read {
        file.write_at(number, b"data")?;
        refused = file.cut(number * 2).err().map(|error| format!("{:?}", error.kind()));
        file.sync()?;
    }
    let mut into = vec![0; 9];
    let read = file.read_at(number / 2, &mut into)?;
    into.truncate(read);
    Ok((file.size()?, into, refused))
}

#[test]
fn both_answer_the_same() {
    for seed in 0..60 {
        let temporary = Temporary::new();
        let real = OsFileSystem.open_or_create(&temporary.0).expect("made");
        let files = machine();
        let simulated = open(&files);
        plant(&temporary.0, &files);
        let probe = real.exchange("link", "loop").and_then(|()| real.exchange("link", "loop"));
        files.set_exchange_supported(probe.is_ok());
        files.set_counts_subdirectories(real.counts_subdirectories());
        let (mut real_state, mut simulated_state) = (seed, seed);
        let (mut real_locks, mut simulated_locks) = (Vec::new(), Vec::new());
        for step in 0..200 {
            let expected = act(&*real, &mut real_locks, &mut real_state);
            let answered = act(&*simulated, &mut simulated_locks, &mut simulated_state);
            assert_eq!(answered, expected, "seed {seed} step {step}");
        }
    }
}

#[test]
fn a_pause_is_no_operation() {
    let files = machine();
    let agent = open(&files);
    files.pause_before(Point::on(OperationKind::Names), || {});
    agent.names().expect("listed");
    assert_eq!(files.last_number(), 2);
}
