//! What is asked of Git: by its program, with plumbing that separates names by NUL, under bounds of time and bytes.
//!
//! - `run`: one process, its environment and its bounds;
//! - `parse`: what the program prints, pure;
//! - `listing`: what is tracked, what has changed, who descends from whom;
//! - `commit`: one commit of exactly the paths of a manifest.
//!
//! No answer is ever taken from a query that was cut short (EX-ART-20).

mod commit;
mod listing;
mod parse;
mod run;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use commit::NewCommit;
pub use parse::{Changed, Difference};
pub use run::{Bounds, Failure, GitOptions, Output};
pub(crate) use run::{SETTINGS, VARIABLES};

use crate::error::{Code, Error, Result};
use crate::host::Host;

/// The Git repository of one checkout. Nothing is kept between calls but where it is.
#[derive(Clone, Debug)]
pub struct Git {
    root: PathBuf,
    git_dir: OsString,
    options: GitOptions,
    host: Host,
}

impl Git {
    /// The repository whose work tree has this root, with `.git` in it, be that a directory or a file that points to one.
    /// Nothing is looked for above it, and nothing is read yet.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a path that is empty or relative to a directory that cannot be told.
    pub fn new(root: &Path, options: GitOptions, host: &Host) -> Result<Git> {
        let root = host.files.absolute(root).map_err(|error| {
            Error::new(Code::ExecutionInput, "the path of a checkout is not usable").with_source(error)
        })?;
        let git_dir = root.join(".git").into_os_string();
        Ok(Git { root, git_dir, options, host: host.clone() })
    }

    /// The root of the work tree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs one command of Git to its end: for what has no method here, such as a push.
    ///
    /// # Errors
    /// See [`Failure`]. An exit status other than 0 is an [`Output`].
    pub fn run(&self, args: &[&OsStr], stdin: &[u8], bounds: Bounds) -> std::result::Result<Output, Failure> {
        self.run_with(&[], args, stdin, bounds)
    }

    fn run_with(
        &self,
        settings: &[String],
        args: &[&OsStr],
        stdin: &[u8],
        bounds: Bounds,
    ) -> std::result::Result<Output, Failure> {
        let place = [("GIT_DIR", self.git_dir.as_os_str()), ("GIT_WORK_TREE", self.root.as_os_str())];
        let mut given: Vec<&OsStr> = vec![OsStr::new("-C"), self.root.as_os_str()];
        for setting in settings {
            given.extend([OsStr::new("-c"), OsStr::new(setting)]);
        }
        given.extend(args);
        run::run(&self.options, &place, &given, stdin, bounds, &self.host)
    }

    /// What a query prints that has to succeed.
    fn ask(&self, args: &[&str]) -> Result<Vec<u8>> {
        self.ask_with(&[], args, &[], Bounds::QUERY)
    }

    fn ask_with(&self, settings: &[String], args: &[&str], stdin: &[u8], bounds: Bounds) -> Result<Vec<u8>> {
        let query = args.first().copied().unwrap_or_default();
        let given: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let output = self.run_with(settings, &given, stdin, bounds);
        let output = output.map_err(|failure| failure.into_error(query))?;
        if output.status.success() { Ok(output.stdout) } else { Err(unanswered(query, &output)) }
    }
}

/// A query that ended with an error of Git. What it printed is left out: it may hold rejected text (EX-ART-45).
fn unanswered(query: &str, output: &Output) -> Error {
    let status = output.status.code().unwrap_or(-1);
    Error::new(Code::ExecutionIo, format!("git refused a query, query=`{query}` status=`{status}`"))
        .with_reason("tree")
}

/// A query whose answer is none that Git gives.
fn malformed(query: &str) -> Error {
    Error::new(Code::ExecutionIo, format!("git gave an answer that is none, query=`{query}`"))
        .with_reason("tree")
}

/// An object's name: 40 hexadecimal digits, or 64. Whatever else comes from outside could be an option or an expression.
fn object(name: &str) -> Result<&str> {
    let is_name =
        matches!(name.len(), 40 | 64) && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_name {
        Ok(name)
    } else {
        Err(Error::new(Code::ExecutionInput, "a commit is not named by its hash"))
    }
}
