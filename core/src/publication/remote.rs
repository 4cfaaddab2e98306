//! A publisher that pushes to any remote of Git by the program `git`, and leaves pull requests to the coordinator.

use std::ffi::OsStr;
use std::path::Path;

use super::ports::{Failure, Place, Publisher, Pushed};
use crate::artifacts::git::{Bounds, Failure as GitFailure, Output};
use crate::artifacts::{Git, GitOptions};
use crate::error::Result;
use crate::execution::contract::ErrorKind;
use crate::host::Host;
use crate::json::Object;

/// How long a push may take, in milliseconds, and how much it may print: less than the publication waits for it.
const PUSH: Bounds = Bounds { ms: 240_000, bytes: 1_048_576 };

/// The pull requests of a remote repository, which every service has its own way to.
pub trait PullRequests: Send + Sync {
    /// As [`Publisher::find_pull_request`].
    ///
    /// # Errors
    /// The failure.
    fn find(&self, place: &Place) -> std::result::Result<Option<Object>, Failure>;

    /// As [`Publisher::create_pull_request`].
    ///
    /// # Errors
    /// The failure.
    fn create(&self, place: &Place, title: &str, body: &str) -> std::result::Result<Object, Failure>;
}

/// Pushes from a checkout to the URL of its plan, forward only, and without a hook, a tag or a submodule.
///
/// Nothing is taken from the coordinator's environment or from the user's configuration: a key, an agent's socket or a token that
/// the remote needs is named in the options, as a variable such as `GIT_SSH_COMMAND` or a setting such as
/// `http.extraHeader=…`.
#[derive(Debug)]
pub struct GitRemote<P> {
    git: Git,
    pull_requests: P,
}

impl<P> GitRemote<P> {
    /// A publisher of the checkout with this root.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a path that is not usable.
    pub fn new(root: &Path, options: GitOptions, pull_requests: P, host: &Host) -> Result<Self> {
        Ok(GitRemote { git: Git::new(root, options, host)?, pull_requests })
    }
}

impl<P: PullRequests> Publisher for GitRemote<P> {
    fn push(&self, place: &Place) -> std::result::Result<Pushed, Failure> {
        let refspec = format!("{}:refs/heads/{}", place.head, place.branch);
        let args = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            "--",
            &place.origin,
            &refspec,
        ];
        match self.git.run(&args.map(OsStr::new), &[], PUSH) {
            Ok(output) if output.status.success() => Ok(Pushed::Done),
            Ok(output) if is_diverged(&output) => Ok(Pushed::Diverged),
            Ok(_) => Err(Failure::of(ErrorKind::Io, "git could not push")),
            Err(GitFailure::Deadline) => {
                Err(Failure::of(ErrorKind::Deadline, "the push did not end in its time"))
            }
            Err(GitFailure::Cancelled) => Err(Failure::of(ErrorKind::Aborted, "the push was cancelled")),
            Err(_) => Err(Failure::of(ErrorKind::Io, "git could not be run")),
        }
    }

    fn find_pull_request(&self, place: &Place) -> std::result::Result<Option<Object>, Failure> {
        self.pull_requests.find(place)
    }

    fn create_pull_request(
        &self,
        place: &Place,
        title: &str,
        body: &str,
    ) -> std::result::Result<Object, Failure> {
        self.pull_requests.create(place, title, body)
    }
}

/// Whether this end of the line refused to push because the remote's branch holds something else: `!<tab><from>:<to><tab>[rejected]`
/// of git-push(1). What the other end refuses may be another answer the next time.
fn is_diverged(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .any(|line| line.starts_with("!\t") && line.contains("\t[rejected]"))
}
