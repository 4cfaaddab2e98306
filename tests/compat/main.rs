//! Files that each release has written, read and continued by this one.
//!
//! `tests/compat/<version>/` holds what that release left on disk, and never changes again. `GALLIVANT_COMPAT=write cargo test
//! -p gallivant-tests --test compat` writes those of this version, where there are none yet; it is done for each release. Every
//! test copies a version's files, reads them, and goes on where they end.
#![allow(missing_docs, reason = "a test's name says what it shows")]
#![allow(clippy::disallowed_methods, reason = "the tests copy files")]

mod claims;
mod health;
mod observed;
mod paid;
mod runs;

use std::path::{Path, PathBuf};

use gallivant_core::testing::{TestHost, TestHostOptions};

/// When the files were written, by the clock that they show.
const WRITTEN: u64 = 1_700_000_000_000;

/// What a domain has: a folder of its own, and how its files are made there.
struct Domain {
    folder: &'static str,
    write: fn(&Path, &TestHost),
}

const DOMAINS: &[Domain] =
    &[observed::DOMAIN, runs::JOURNAL, runs::LOCAL_OUTPUT, paid::DOMAIN, health::DOMAIN, claims::DOMAIN];

/// A machine of a given name, in a given boot, at a given time: nothing of the machine that runs the tests gets into the files.
fn machine(boot: &str, wall_ms: u64) -> TestHost {
    let options = TestHostOptions {
        wall_ms: Some(wall_ms),
        machine: Some("compat"),
        boot: Some(boot),
        ..TestHostOptions::default()
    };
    TestHost::new(options).expect("a host")
}

fn writing() -> TestHost {
    machine("00000000-0000-4000-8000-000000000001", WRITTEN)
}

/// The same machine an hour later, after it was booted again.
fn later() -> TestHost {
    machine("00000000-0000-4000-8000-000000000002", WRITTEN + 3_600_000)
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("compat")
}

/// The files of a domain as every release has left them, each in a copy of its own.
fn every_version(domain: &Domain, mut test: impl FnMut(&str, &Path, &TestHost)) {
    let mut versions = 0;
    for entry in std::fs::read_dir(kept()).expect("the folder") {
        let entry = entry.expect("an entry");
        let from = entry.path().join(domain.folder);
        if !from.is_dir() {
            continue;
        }
        let copy = tempfile::tempdir().expect("a temporary directory");
        duplicate(&from, copy.path());
        test(&entry.file_name().to_string_lossy(), copy.path(), &later());
        versions += 1;
    }
    assert!(versions > 0, "no release has left files of {}", domain.folder);
}

fn duplicate(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
        if entry.is_dir() {
            duplicate(&entry, &to.join(name));
        } else {
            std::fs::copy(&entry, to.join(name)).expect("copied");
        }
    }
}

#[test]
fn this_version_has_left_its_files_once() {
    let folder = kept().join(gallivant_core::VERSION);
    let is_wanted = std::env::var("GALLIVANT_COMPAT").is_ok_and(|word| word == "write");
    for domain in DOMAINS {
        let own = folder.join(domain.folder);
        if is_wanted && !own.exists() {
            // Whole or not at all: the other tests of this run look at what is there.
            let made = folder.join(format!(".{}", domain.folder));
            std::fs::create_dir_all(&made).expect("a folder");
            (domain.write)(&made, &writing());
            std::fs::rename(&made, &own).expect("renamed");
        }
        assert!(own.is_dir(), "{} is missing; GALLIVANT_COMPAT=write writes it", own.display());
    }
}

/// A release writes today what it wrote then, name by name: a new file is a new format, which the kept folder has to show.
#[test]
fn the_names_of_what_is_written_are_those_that_are_kept() {
    for domain in DOMAINS {
        let fresh = tempfile::tempdir().expect("a temporary directory");
        (domain.write)(fresh.path(), &writing());
        let own = kept().join(gallivant_core::VERSION).join(domain.folder);
        assert_eq!(names(fresh.path()), names(&own), "{}", domain.folder);
    }
}

/// The paths below a folder, sorted. Empty directories, which no archive of sources keeps, are left out.
fn names(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).expect("below it").to_path_buf());
            }
        }
    }
    found.sort();
    found
}
