//! One commit of exactly the paths of a manifest, with their exact bytes and modes.
//!
//! It is written from the manifest and its parent alone, and not from the work tree: no filter, no attribute and no file
//! beside the manifest takes part. The same input gives the same commit, so that a lost reply leads to no second one.
//! Objects are durable before the index names them, and the index holds them before the branch moves; a crash between two
//! steps leaves a state from which all three can be taken again.

use std::ffi::OsStr;

use super::run::Bounds;
use super::{Difference, Git, malformed, object};
use crate::artifacts::manifest::{Change, Manifest};
use crate::artifacts::tree::Mode;
use crate::digest;
use crate::error::{Code, Error, Result};

/// How long writing a commit's objects, or comparing them, may take. They are as large as the manifest, and are no query.
const WRITING_MS: u64 = 120_000;

/// Who commits, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCommit<'a> {
    /// The commit that it follows.
    pub parent: &'a str,
    /// The branch that is checked out, as a whole ref.
    pub branch: &'a str,
    /// The message, whole.
    pub message: &'a str,
    /// Author's and committer's name.
    pub name: &'a str,
    /// Author's and committer's address.
    pub email: &'a str,
    /// When, in seconds since 1970, in UTC.
    pub seconds: u64,
}

impl Git {
    /// Commits the manifest upon its parent: objects, index, branch. Answers the commit.
    ///
    /// Once it has returned the branch stands at the commit, durably, and the index agrees with it for every path of the
    /// manifest. The work tree is not touched.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a name, address or branch that is none; `EXECUTION_IO`, reason `tree`, where Git fails, among
    /// others where the branch is not at the parent any more. It may be taken again then.
    pub fn commit(&self, manifest: &Manifest, new: &NewCommit<'_>) -> Result<String> {
        let commit = self.write_commit(manifest, new)?;
        self.stage_commit(manifest, new.parent, &commit)?;
        self.move_branch(new, &commit)?;
        Ok(commit)
    }

    /// The first step: the objects are in the repository, durably, and nothing names them but a ref of the library's own,
    /// `refs/gallivant/…`, which keeps them until the branch moves.
    ///
    /// # Errors
    /// As [`Git::commit`].
    pub fn write_commit(&self, manifest: &Manifest, new: &NewCommit<'_>) -> Result<String> {
        let is_plain = |text: &str| !text.contains(['<', '>', '\n', '\0']);
        if !is_plain(new.name) || !is_plain(new.email) || new.message.contains('\0') {
            return Err(Error::new(Code::ExecutionInput, "the author or message of a commit is not usable"));
        }
        let stream = stream(manifest, new)?;
        let bounds = Bounds { ms: WRITING_MS, ..Bounds::QUERY };
        let args = ["fast-import", "--quiet", "--force", "--done", "--date-format=raw"];
        let commit = self.ask_with(&[], &args, &stream, bounds)?;
        let commit = std::str::from_utf8(&commit).ok().and_then(|line| line.strip_suffix('\n'));
        let commit =
            object(commit.ok_or_else(|| malformed("fast-import"))?).map_err(|_| malformed("fast-import"))?;
        if !self.is_applied(manifest, new.parent, commit)? {
            return Err(malformed("fast-import"));
        }
        Ok(commit.to_owned())
    }

    /// The second step: the index holds what the commit holds, for every path of the manifest and no other.
    ///
    /// # Errors
    /// As [`Git::commit`].
    pub fn stage_commit(&self, manifest: &Manifest, parent: &str, commit: &str) -> Result<()> {
        let mut lines = Vec::new();
        for Difference { path, after, object, .. } in self.differences(parent, commit)? {
            if !manifest.entries().iter().any(|entry| entry.path().as_bytes() == path) {
                return Err(malformed("diff-tree"));
            }
            let (mode, object) = match (after, object) {
                (Some(mode), Some(object)) => (mode.digits(), object),
                _ => ("0", "0".repeat(parent.len())),
            };
            lines.extend_from_slice(format!("{mode} {object}\t").as_bytes());
            lines.extend_from_slice(&path);
            lines.push(0);
        }
        if !lines.is_empty() {
            // Writing the index looks into files that were changed as it was, through their filters.
            let settings = self.without_filters()?;
            self.ask_with(&settings, &["update-index", "-z", "--index-info"], &lines, Bounds::QUERY)?;
        }
        Ok(())
    }

    /// The third step: the branch moves from the parent to the commit, if it is at the parent, and durably.
    ///
    /// # Errors
    /// As [`Git::commit`].
    pub fn move_branch(&self, new: &NewCommit<'_>, commit: &str) -> Result<()> {
        if !new.branch.starts_with("refs/heads/") || self.branch()?.as_deref() != Some(new.branch) {
            return Err(Error::new(
                Code::ExecutionIo,
                "another branch is checked out than the one to commit to",
            )
            .with_reason("tree"));
        }
        self.ask(&["update-ref", "--create-reflog", new.branch, object(commit)?, object(new.parent)?])?;
        self.ask(&["update-ref", "-d", &kept_ref(new)])?;
        Ok(())
    }

    /// Whether a commit differs from its input by exactly this manifest, with exact content and exact modes: what a lost
    /// reply is resolved by (EX-ART-40).
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`; `EXECUTION_INPUT` for what is no commit's hash.
    pub fn is_applied(&self, manifest: &Manifest, input: &str, commit: &str) -> Result<bool> {
        let differences = self.differences(input, commit)?;
        let wanted: Vec<_> = manifest.entries().iter().filter(|entry| entry.changes()).collect();
        if wanted.len() != differences.len() {
            return Ok(false);
        }
        let mut blobs = Vec::new();
        for entry in wanted {
            let Some(found) = differences.iter().find(|found| found.path == entry.path().as_bytes()) else {
                return Ok(false);
            };
            let before = (entry.change() != Change::Create).then(|| entry.mode());
            let after = (entry.change() != Change::Delete).then(|| entry.mode());
            if (found.before, found.after) != (before, after) {
                return Ok(false);
            }
            if let (Some(text), Some(object)) = (entry.text(), &found.object) {
                blobs.push((object.as_str(), text));
            }
        }
        self.hold(&blobs)
    }

    /// Whether objects hold these texts.
    fn hold(&self, blobs: &[(&str, &str)]) -> Result<bool> {
        if blobs.is_empty() {
            return Ok(true);
        }
        let names: String = blobs.iter().flat_map(|(object, _)| [object, "\n"]).collect();
        let mut expected = Vec::new();
        for (object, text) in blobs {
            expected.extend_from_slice(format!("{object} blob {}\n", text.len()).as_bytes());
            expected.extend_from_slice(text.as_bytes());
            expected.push(b'\n');
        }
        let args = ["cat-file", "--batch"].map(OsStr::new);
        let bounds = Bounds { ms: WRITING_MS, bytes: expected.len() };
        match self.run(&args, names.as_bytes(), bounds) {
            // More than was expected is something else.
            Err(super::Failure::Oversized) => Ok(false),
            Err(failure) => Err(failure.into_error("cat-file")),
            Ok(output) if output.status.success() => Ok(output.stdout == expected),
            Ok(output) => Err(super::unanswered("cat-file", &output)),
        }
    }
}

/// What git-fast-import(1) reads. Paths are quoted, so that any byte may stand in them.
fn stream(manifest: &Manifest, new: &NewCommit<'_>) -> Result<Vec<u8>> {
    let mut out = format!(
        "commit {}\nmark :1\ncommitter {} <{}> {} +0000\ndata {}\n{}\nfrom {}\n",
        kept_ref(new),
        new.name,
        new.email,
        new.seconds,
        new.message.len(),
        new.message,
        object(new.parent)?
    )
    .into_bytes();
    for entry in manifest.entries().iter().filter(|entry| entry.changes()) {
        let path = entry.path().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        match entry.text() {
            Some(text) => {
                let mode = if entry.mode() == Mode::Executable { "100755" } else { "100644" };
                let head = format!("M {mode} inline \"{path}\"\ndata {}\n", text.len());
                out.extend_from_slice(head.as_bytes());
                out.extend_from_slice(text.as_bytes());
                out.push(b'\n');
            }
            None => out.extend_from_slice(format!("D \"{path}\"\n").as_bytes()),
        }
    }
    out.extend_from_slice(b"\nget-mark :1\ndone\n");
    Ok(out)
}

/// The ref that keeps a commit which is not on its branch yet.
fn kept_ref(new: &NewCommit<'_>) -> String {
    let whole = format!("{}\0{}\0{}", new.parent, new.branch, new.message);
    format!("refs/gallivant/{}", &digest::sha256_hex(whole.as_bytes())[..16])
}
