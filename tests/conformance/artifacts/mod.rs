//! EX-ART, the part of artifacts: manifests, what Git says, applying. Publication has files of its own.

mod apply;
mod cases;
mod git;
mod hostile;
mod manifest;
mod modes;

use std::path::{Path, PathBuf};
use std::process::Command;

use gallivant_core::artifacts::{
    Checkout, Git, GitOptions, Manifest, Mode, NewCommit, Tracked, Tree, validate_manifest,
};
use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use gallivant_core::{Code, Error, Host, Result};
use serde_json::{Value as Json, json};

pub(crate) fn hash(text: &str) -> String {
    sha256_hex(text.as_bytes())
}

pub(crate) fn create(path: &str) -> Json {
    json!({ "path": path, "beforeHash": null, "afterHash": hash("n"), "text": "n" })
}

pub(crate) fn edit(path: &str, before: &str, after: &str) -> Json {
    json!({ "path": path, "beforeHash": hash(before), "afterHash": hash(after), "text": after })
}

pub(crate) fn delete(path: &str, before: &str) -> Json {
    json!({ "path": path, "beforeHash": hash(before), "afterHash": null, "text": null })
}

pub(crate) fn tracked(paths: &[&str]) -> Tree {
    let list: Vec<Tracked> = paths.iter().map(|path| Tracked::new(path, Mode::Regular)).collect();
    Tree::of(list)
}

pub(crate) fn validate(files: &[Json], tree: &Tree) -> Result<Manifest> {
    let files = Value::parse(&Json::from(files).to_string()).expect("it is JSON");
    validate_manifest(&files, tree)
}

/// Asserts a refusal that is lasting, and its detail, and that nothing of the path is in it.
#[track_caller]
pub(crate) fn assert_refused(refused: Result<impl std::fmt::Debug>, detail: &str) {
    let error = refused.expect_err("it is refused");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("result-validation")), "{error}");
    assert!(error.message().ends_with(&format!("detail=`{detail}`")), "{detail}: {error}");
}

#[track_caller]
pub(crate) fn assert_retryable(failed: &Error) {
    assert_eq!((failed.code(), failed.reason()), (Code::ExecutionIo, Some("tree")), "{failed}");
}

/// A repository in a temporary directory, with a commit on `refs/heads/task`.
pub(crate) struct Repository {
    above: tempfile::TempDir,
}

impl Repository {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let repository = Repository { above: tempfile::tempdir().expect("a directory") };
        std::fs::create_dir(repository.root()).expect("made");
        repository.git(&["init", "-q", "-b", "task"]);
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit();
        repository
    }

    pub(crate) fn above(&self) -> &Path {
        self.above.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.above.path().join("checkout")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a directory above")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "planted"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// What the program prints, run as a person would.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.root())
            .args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim_end_matches('\n').to_owned()
    }

    pub(crate) fn asked(&self) -> Git {
        self.asked_with(GitOptions::default())
    }

    pub(crate) fn asked_with(&self, options: GitOptions) -> Git {
        Git::new(&self.root(), options, &Host::system()).expect("a repository")
    }

    pub(crate) fn checkout(&self) -> Checkout {
        Checkout::open(&self.root(), &Host::system()).expect("a checkout")
    }

    pub(crate) fn head(&self) -> String {
        self.asked().head().expect("a commit")
    }

    pub(crate) fn tree(&self) -> Tree {
        self.asked().tree(&self.head()).expect("a tree")
    }

    pub(crate) fn validate(&self, files: &[Json]) -> Result<Manifest> {
        validate(files, &self.tree())
    }
}

pub(crate) fn new_commit(parent: &str) -> NewCommit<'_> {
    NewCommit {
        parent,
        branch: "refs/heads/task",
        message: "A result\n",
        name: "Coordinator",
        email: "coordinator@example.org",
        seconds: 1_780_000_000,
    }
}
