//! What is tracked, what has changed, who descends from whom.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use super::run::{Bounds, Failure};
use super::{Changed, Difference, Git, malformed, object, parse, unanswered};
use crate::artifacts::detail::Detail;
use crate::artifacts::manifest::validate_pushed_tree;
use crate::artifacts::tree::{Mode, Tracked, Tree};
use crate::error::Result;

impl Git {
    /// The commit that is checked out.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`, also where there is no commit yet.
    pub fn head(&self) -> Result<String> {
        self.commit_named("HEAD")
    }

    /// The commit of a name that the caller has made: `HEAD`, a whole ref.
    fn commit_named(&self, name: &str) -> Result<String> {
        let answer = self.ask(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ])?;
        one_object(&answer, "rev-parse")
    }

    /// The ref that HEAD stands for, such as `refs/heads/task`; `None` where HEAD is detached.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`.
    pub fn branch(&self) -> Result<Option<String>> {
        let args = ["symbolic-ref", "--quiet", "HEAD"].map(OsStr::new);
        let output =
            self.run(&args, &[], Bounds::QUERY).map_err(|failure| failure.into_error("symbolic-ref"))?;
        match output.status.code() {
            Some(0) => {
                let line = output.stdout.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
                line.map(|line| Some(line.to_owned())).ok_or_else(|| malformed("symbolic-ref"))
            }
            Some(1) => Ok(None),
            _ => Err(unanswered("symbolic-ref", &output)),
        }
    }

    /// The commit of a branch, given as a whole ref; `None` where there is no such ref.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`.
    pub fn commit_of_ref(&self, name: &str) -> Result<Option<String>> {
        let args = ["show-ref", "--verify", "--hash", "--", name].map(OsStr::new);
        let output = self.run(&args, &[], Bounds::QUERY).map_err(|failure| failure.into_error("show-ref"))?;
        match output.status.code() {
            Some(0) => one_object(&output.stdout, "show-ref").map(Some),
            // 1 by git-show-ref(1) without --verify, 128 with it.
            Some(1 | 128) => Ok(None),
            _ => Err(unanswered("show-ref", &output)),
        }
    }

    /// The parents of a commit.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`; `EXECUTION_INPUT` for what is no commit's hash.
    pub fn parents(&self, commit: &str) -> Result<Vec<String>> {
        let answer = self.ask(&["rev-list", "--parents", "--max-count=1", object(commit)?, "--"])?;
        let line = std::str::from_utf8(&answer).map_err(|_| malformed("rev-list"))?;
        let mut objects = line.trim_end_matches('\n').split(' ');
        if objects.next() != Some(commit) {
            return Err(malformed("rev-list"));
        }
        objects.map(|name| object(name).map(str::to_owned).map_err(|_| malformed("rev-list"))).collect()
    }

    /// Whether the second commit is the first or descends from it.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`, also where one of them is missing; `EXECUTION_INPUT` for what is no commit's hash.
    pub fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        let args = ["merge-base", "--is-ancestor", object(ancestor)?, object(commit)?].map(OsStr::new);
        let output =
            self.run(&args, &[], Bounds::QUERY).map_err(|failure| failure.into_error("merge-base"))?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(unanswered("merge-base", &output)),
        }
    }

    /// The paths and modes of a commit's whole tree. Where the list is longer than one query may be, it is asked for
    /// directory by directory.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`, also for a single directory whose names take more than one query; `EXECUTION_INPUT` for
    /// what is no commit's hash.
    pub fn tracked(&self, commit: &str) -> Result<Arc<[Tracked]>> {
        let mut found = Vec::new();
        self.list_into(object(commit)?, &[], &mut found)?;
        Ok(found.into())
    }

    fn list_into(&self, tree: &str, below: &[u8], found: &mut Vec<Tracked>) -> Result<()> {
        match self.ls_tree(tree, below, true) {
            Ok(whole) => {
                found.extend(whole.into_iter().map(|(tracked, _)| tracked));
                Ok(())
            }
            Err(None) => {
                let level = self.ls_tree(tree, below, false);
                let too_long = || Failure::Oversized.into_error("ls-tree");
                for (tracked, name) in level.map_err(|error| error.unwrap_or_else(too_long))? {
                    if tracked.mode == Mode::Directory {
                        let mut below = tracked.path.into_vec();
                        below.push(b'/');
                        self.list_into(object(&name).map_err(|_| malformed("ls-tree"))?, &below, found)?;
                    } else {
                        found.push(tracked);
                    }
                }
                Ok(())
            }
            Err(Some(error)) => Err(error),
        }
    }

    /// One listing; without an error it was longer than a query may be.
    fn ls_tree(
        &self,
        tree: &str,
        below: &[u8],
        recursive: bool,
    ) -> std::result::Result<Vec<(Tracked, String)>, Option<crate::Error>> {
        let args = ["ls-tree", "-z", "--full-tree", if recursive { "-r" } else { "-t" }, tree];
        let output = match self.run(&args.map(OsStr::new), &[], Bounds::QUERY) {
            Err(Failure::Oversized) => return Err(None),
            Err(failure) => return Err(Some(failure.into_error("ls-tree"))),
            Ok(output) if output.status.success() => output.stdout,
            Ok(output) => return Err(Some(unanswered("ls-tree", &output))),
        };
        parse::ls_tree(&output, below).ok_or_else(|| Some(malformed("ls-tree")))
    }

    /// By which paths two commits differ, without looking for renames.
    ///
    /// # Errors
    /// As [`Git::tracked`].
    pub fn differences(&self, from: &str, to: &str) -> Result<Vec<Difference>> {
        let (from, to) = (object(from)?, object(to)?);
        let answer =
            self.ask(&["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to, "--"])?;
        parse::raw_differences(&answer).ok_or_else(|| malformed("diff-tree"))
    }

    /// By which paths the index differs from a commit.
    ///
    /// # Errors
    /// As [`Git::tracked`].
    pub fn staged(&self, commit: &str) -> Result<Vec<Difference>> {
        let commit = object(commit)?;
        let answer = self.ask(&[
            "diff-index",
            "--cached",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            commit,
            "--",
        ])?;
        parse::raw_differences(&answer).ok_or_else(|| malformed("diff-index"))
    }

    /// What a manifest is judged against: all paths and modes of the input commit, of HEAD and of the index.
    ///
    /// # Errors
    /// As [`Git::tracked`], among others where the input commit is not in the repository.
    pub fn tree(&self, input: &str) -> Result<Tree> {
        let head = self.head()?;
        let tracked = self.tracked(&head)?;
        let differing = |differences: Vec<Difference>| {
            if differences.is_empty() { tracked.clone() } else { with_differences(&tracked, differences) }
        };
        let of_input = if input == head { tracked.clone() } else { self.tracked(input)? };
        let index = differing(self.staged(&head)?);
        Ok(Tree { input: Some(of_input), head: Some(tracked.clone()), index: Some(index) })
    }

    /// Checks a revision that a run has pushed by itself (EX-ART-55): it descends from the input, is the head of the branch,
    /// given as a whole ref, and its whole tree has no two names that are one to some file system (EX-ART-32).
    ///
    /// # Errors
    /// `EXECUTION_RESULT`, reason `result-validation`; `EXECUTION_IO`, reason `tree`, also where the revision has not been
    /// fetched.
    pub fn check_pushed(&self, input: &str, pushed: &str, branch: &str) -> Result<()> {
        let pushed = object(pushed).map_err(|_| Detail::Revision.refuse(None))?;
        if !self.is_ancestor(input, pushed)? || self.commit_of_ref(branch)?.as_deref() != Some(pushed) {
            return Err(Detail::Revision.refuse(None));
        }
        validate_pushed_tree(&self.tracked(pushed)?)
    }

    /// What is not as it is committed, untracked files with it, ignored ones not: an empty list is a clean checkout.
    /// Filters that the repository's configuration names are not run; the index is not rewritten.
    ///
    /// # Errors
    /// `EXECUTION_IO`, reason `tree`.
    pub fn status(&self) -> Result<Vec<Changed>> {
        let args = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            // Which commit a submodule stands at is seen, and not what is in its work tree: for that Git would run itself in
            // there, by a configuration that whoever writes the work tree can write too.
            "--ignore-submodules=dirty",
            "--no-renames",
            "--no-ahead-behind",
        ];
        let answer = self.ask_with(&self.without_filters()?, &args, &[], Bounds::QUERY)?;
        parse::status(&answer).ok_or_else(|| malformed("status"))
    }

    /// Settings that take the programs out of every filter that is configured.
    pub(super) fn without_filters(&self) -> Result<Vec<String>> {
        let args = ["config", "--null", "--name-only", "--get-regexp", "^filter\\."].map(OsStr::new);
        let output = self.run(&args, &[], Bounds::QUERY).map_err(|failure| failure.into_error("config"))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(unanswered("config", &output));
        }
        let mut settings = Vec::new();
        for name in output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = std::str::from_utf8(name).map_err(|_| malformed("config"))?;
            let filter =
                name.rsplit_once('.').map(|(filter, _)| filter).ok_or_else(|| malformed("config"))?;
            // `-c` cannot carry a name with `=`, so that such a filter would stay.
            if filter.contains('=') {
                return Err(malformed("config"));
            }
            for (key, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                settings.push(format!("{filter}.{key}={value}"));
            }
        }
        Ok(settings)
    }
}

/// A list with the differences put into it.
fn with_differences(tracked: &[Tracked], differences: Vec<Difference>) -> Arc<[Tracked]> {
    let mut list: BTreeMap<&[u8], Mode> =
        tracked.iter().map(|tracked| (&*tracked.path, tracked.mode)).collect();
    for difference in &differences {
        match difference.after {
            Some(mode) => list.insert(&difference.path, mode),
            None => list.remove(&difference.path[..]),
        };
    }
    list.into_iter().map(|(path, mode)| Tracked::new(path, mode)).collect()
}

fn one_object(answer: &[u8], query: &str) -> Result<String> {
    let line = answer.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
    line.and_then(|line| object(line).ok()).map(str::to_owned).ok_or_else(|| malformed(query))
}
