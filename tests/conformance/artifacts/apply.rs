//! Applying a manifest (EX-ART-18, 19, 21, 31, 45, 67): what is refused, and what stands afterwards.

use std::os::unix::fs::{MetadataExt, symlink};

use gallivant_core::Code;
use gallivant_core::artifacts::{Applied, Checkout, Start, apply, check, validate_manifest};
use gallivant_core::json::Value;
use gallivant_core::testing::{TestHost, TestHostOptions};
use serde_json::Value as Json;

use super::{Repository, assert_refused, create, delete, edit, hash, tracked};

fn plain() -> Repository {
    Repository::new(&[("a", "1"), ("d/b", "1"), ("d/e/c", "1"), ("gone/x/y", "1")])
}

fn everything() -> [Json; 4] {
    [edit("d/b", "1", "2"), delete("gone/x/y", "1"), create("new/z/n"), edit("a", "1", "1")]
}

/// All that is below a directory, with what it holds.
pub(crate) fn contents(root: &std::path::Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).expect("listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name == ".git" {
            continue;
        }
        let kind = std::fs::symlink_metadata(&path).expect("there").file_type();
        if kind.is_dir() {
            found.push((format!("{name}/"), String::new()));
            found.extend(contents(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)));
        } else if kind.is_file() {
            found.push((name, std::fs::read_to_string(&path).expect("read")));
        } else {
            found.push((name, "no file".to_owned()));
        }
    }
    found.sort();
    found
}

#[test]
fn ex_art_31_edits_deletions_and_creations_are_applied_and_nothing_is_left_beside_them() {
    let repository = plain();
    let manifest = repository.validate(&everything()).expect("valid");
    let applied = apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
    assert_eq!(applied, Applied { written: 2, removed: 1, unchanged: 1 });
    let names: Vec<String> = contents(&repository.root()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "d/", "d/b", "d/e/", "d/e/c", "new/", "new/z/", "new/z/n"]);
    assert_eq!(repository.read("d/b").as_deref(), Some("2"));
    // A second time it is no fresh application, and nothing is left to do.
    assert_refused(apply(&repository.checkout(), &manifest, Start::Fresh), "content");
    let again = apply(&repository.checkout(), &manifest, Start::Resumed).expect("applied");
    assert_eq!(again, Applied { written: 0, removed: 0, unchanged: 4 });
}

#[test]
fn ex_art_21_what_is_to_stay_as_it_is_is_not_written() {
    let repository = plain();
    let before = std::fs::metadata(repository.path("a")).expect("there");
    let manifest = repository.validate(&[edit("a", "1", "1")]).expect("valid");
    apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
    let after = std::fs::metadata(repository.path("a")).expect("there");
    assert_eq!((before.ino(), before.ctime_nsec()), (after.ino(), after.ctime_nsec()));
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    // Its content is judged all the same.
    repository.write("a", "3");
    assert_refused(check(&repository.checkout(), &manifest, Start::Fresh), "content");
}

#[test]
fn ex_art_19_a_mismatch_refuses_before_any_change() {
    type Spoil = fn(&Repository);
    let spoils: [(&str, Spoil); 8] = [
        ("content", |repository| repository.write("d/b", "3")),
        ("content", |repository| repository.write("gone/x/y", "")),
        ("missing", |repository| std::fs::remove_file(repository.path("d/b")).expect("removed")),
        ("missing", |repository| std::fs::remove_dir_all(repository.path("gone")).expect("removed")),
        ("present", |repository| repository.write("new/z/n", "n")),
        ("special", |repository| std::fs::create_dir_all(repository.path("new/z/n")).expect("made")),
        ("link-in-path", |repository| repository.write("new", "a file")),
        ("content", |repository| repository.write("a", "2")),
    ];
    for (detail, spoil) in spoils {
        let repository = plain();
        let manifest = repository.validate(&everything()).expect("valid");
        spoil(&repository);
        let before = contents(&repository.root());
        assert_refused(check(&repository.checkout(), &manifest, Start::Fresh), detail);
        assert_refused(apply(&repository.checkout(), &manifest, Start::Fresh), detail);
        assert_eq!(contents(&repository.root()), before, "{detail}");
    }
}

#[test]
fn ex_art_18_neither_a_target_nor_a_parent_is_a_link_or_anything_but_a_file_and_directories() {
    type Spoil = fn(&Repository);
    let spoils: [(&str, &str, Spoil); 6] = [
        ("link", "d/b", |repository| symlink("../a", repository.path("d/b")).expect("linked")),
        ("link", "d/b", |repository| symlink("nowhere", repository.path("d/b")).expect("linked")),
        ("link-in-path", "d", |repository| symlink("../outside", repository.path("d")).expect("linked")),
        ("link-in-path", "d", |repository| symlink("d", repository.path("d")).expect("a loop")),
        ("special", "d/b", |repository| {
            let made = std::process::Command::new("mkfifo").arg(repository.path("d/b")).status();
            assert!(made.expect("mkfifo starts").success());
        }),
        ("special", "d/b", |repository| {
            let socket = std::os::unix::net::UnixListener::bind(repository.path("d/b"));
            drop(socket.expect("a socket"));
        }),
    ];
    for (detail, spoiled, spoil) in spoils {
        let repository = plain();
        let outside = repository.above().join("outside");
        std::fs::create_dir(&outside).expect("made");
        std::fs::write(outside.join("b"), "1").expect("written");
        let manifest = repository.validate(&everything()).expect("valid");
        let path = repository.path(spoiled);
        if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) }
            .expect("removed");
        spoil(&repository);
        let before = contents(repository.above());
        assert_refused(apply(&repository.checkout(), &manifest, Start::Fresh), detail);
        assert_eq!(contents(repository.above()), before, "{detail}");
    }
}

#[test]
fn ex_art_67_a_file_with_two_names_is_refused() {
    let repository = plain();
    let manifest = repository.validate(&everything()).expect("valid");
    std::fs::hard_link(repository.path("d/b"), repository.above().join("other")).expect("linked");
    assert_refused(apply(&repository.checkout(), &manifest, Start::Fresh), "names");
    assert_eq!(repository.read("d/b").as_deref(), Some("1"));
    std::fs::remove_file(repository.above().join("other")).expect("removed");
    apply(&repository.checkout(), &manifest, Start::Fresh).expect("applied");
}

#[test]
fn ex_art_67_the_root_is_pinned() {
    let repository = plain();
    let manifest = repository.validate(&everything()).expect("valid");
    let checkout = repository.checkout();
    let moved = repository.above().join("moved");
    std::fs::rename(repository.root(), &moved).expect("moved");
    std::fs::create_dir_all(repository.path("d")).expect("another one");
    std::fs::write(repository.path("d/b"), "1").expect("written");
    apply(&checkout, &manifest, Start::Fresh).expect("applied to what was opened");
    assert_eq!(std::fs::read_to_string(moved.join("d/b")).expect("read"), "2");
    assert_eq!(repository.read("d/b").as_deref(), Some("1"));
}

#[test]
fn ex_art_45_no_error_holds_what_was_rejected() {
    let secret = "Hidden-\u{1}Name";
    let entry = |path: &str, before: Json, text: &str| serde_json::json!({ "path": path, "beforeHash": before, "afterHash": hash("x"), "text": text });
    let tree = tracked(&[&secret.to_lowercase(), "plain"]);
    let lists = [
        vec![entry(&format!("{secret}/../x"), Json::Null, secret)],
        vec![entry(&format!("/{secret}"), Json::Null, "x")],
        vec![entry(secret, Json::Null, "x")],
        vec![entry(&format!("{secret}."), Json::Null, "x")],
        vec![entry(&format!("{secret}2"), Json::from(secret), "x")],
        vec![entry("new", Json::Null, secret)],
        vec![entry(&format!("{secret}3"), Json::Null, "x"), entry(&format!("./{secret}3"), Json::Null, "x")],
    ];
    for list in lists {
        let files = Value::parse(&Json::from(list).to_string()).expect("it is JSON");
        let before = files.to_json();
        let error = validate_manifest(&files, &tree).expect_err("refused");
        for shown in [error.to_string(), error.remedy().to_owned(), format!("{error:?}")] {
            assert!(!shown.contains("Hidden") && !shown.contains("Name"), "{shown}");
        }
        assert!(error.message().contains("entry=`"), "{error}");
        assert_eq!(files.to_json(), before, "the payload is as it was");
    }
    // Nor one of the disk.
    let repository = Repository::new(&[("Hidden-Name/x", "1")]);
    let manifest = repository.validate(&[edit("Hidden-Name/x", "1", "2")]).expect("valid");
    std::fs::remove_dir_all(repository.path("Hidden-Name")).expect("removed");
    std::fs::write(repository.path("Hidden-Name"), "").expect("written");
    let error = apply(&repository.checkout(), &manifest, Start::Fresh).expect_err("refused");
    assert!(!format!("{error} {error:?}").contains("Hidden"), "{error:?}");
}

#[test]
fn ex_art_31_a_full_disk_changes_nothing_and_leaves_nothing() {
    let mut failed = 0;
    for room in [0, 1, 2, 3, 4, 5] {
        let repository = plain();
        let files = [edit("d/b", "1", "22"), create("new/n"), edit("a", "1", "33"), delete("gone/x/y", "1")];
        let manifest = repository.validate(&files).expect("valid");
        let before = contents(&repository.root());
        let faults = format!(r#"[{{"do":"full","bytes":{room}}}]"#);
        let options = TestHostOptions { faults_json: Some(&faults), ..TestHostOptions::default() };
        let host = TestHost::new(options).expect("a list of faults");
        let checkout = Checkout::open(&repository.root(), host.host()).expect("a checkout");
        match apply(&checkout, &manifest, Start::Fresh) {
            Ok(_) => assert_eq!(room, 5),
            Err(error) => {
                failed += 1;
                assert_eq!((error.code(), error.reason()), (Code::ExecutionIo, Some("tree")), "{error}");
                assert_eq!(contents(&repository.root()), before, "room for {room}");
                apply(&repository.checkout(), &manifest, Start::Fresh).expect("there is room again");
            }
        }
        assert_eq!(repository.read("new/n").as_deref(), Some("n"));
    }
    assert_eq!(failed, 5);
}
