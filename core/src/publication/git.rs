//! The port `git` over a checkout on this machine: the questions of a publication, answered by `artifacts` (EX-ART-35).
//!
//! It decides nothing. What it says of a checkout is true at one moment, and whoever asked asks again where that matters.

use std::ffi::OsStr;
use std::path::Path;

use super::ports::{Answers, Failure, member, unknown};
use crate::artifacts::git::Bounds;
use crate::artifacts::{
    self, Checkout, Git, GitOptions, Manifest, NewCommit, Start, Tree, validate_manifest,
    validate_pushed_tree,
};
use crate::error::{Code, Error, Result};
use crate::execution::contract::ErrorKind;
use crate::host::Host;
use crate::json::{Object, Value};

/// How the names of files begin that an application has staged.
const STAGED: &[u8] = b".gallivant-";
const HEADS: &str = "refs/heads/";

/// A checkout of the task's repository, at its task branch, that belongs to nobody else.
#[derive(Clone, Debug)]
pub struct GitCheckout {
    git: Git,
    host: Host,
}

impl GitCheckout {
    /// The checkout whose work tree has this root. Nothing is read yet.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a path that is not usable.
    pub fn new(root: &Path, mut options: GitOptions, host: &Host) -> Result<Self> {
        // A repository that was told to overlook execute bits would call a changed mode clean (EX-ART-27).
        options.settings.push("core.fileMode=true".to_owned());
        Ok(GitCheckout { git: Git::new(root, options, host)?, host: host.clone() })
    }

    /// What is asked of Git for it.
    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    fn state(&self, asked: &Asked<'_>) -> Result<Value> {
        let head = self.git.head()?;
        let changed = self.git.status()?;
        let resumable = !changed.is_empty() && head == asked.input_head && self.is_resumable(asked)?;
        let branch = self.git.branch()?;
        let branch = branch.as_deref().and_then(|branch| branch.strip_prefix(HEADS));
        let members = [
            ("origin", Value::from(self.origin()?)),
            ("branch", Value::from(branch)),
            ("clean", Value::Bool(changed.is_empty())),
            ("resumable", Value::Bool(resumable)),
            ("baseMatches", Value::Bool(self.base_matches(asked)?)),
            ("head", Value::from(head)),
        ];
        Ok(Value::Object(members.into_iter().collect()))
    }

    /// Whether everything that is not clean may be the work of an application of these files: each of their targets as it was or as
    /// it is to be, and nothing else changed but what is staged beside them.
    fn is_resumable(&self, asked: &Asked<'_>) -> Result<bool> {
        if asked.files().is_none() {
            return Ok(false);
        }
        let judged = self.manifest(asked).and_then(|manifest| {
            artifacts::check(&self.checkout()?, &manifest, Start::Resumed)?;
            Ok(manifest)
        });
        let manifest = match judged {
            Err(error) if error.code() == Code::ExecutionResult => return Ok(false),
            judged => judged?,
        };
        let is_target = |path: &[u8]| manifest.entries().iter().any(|entry| entry.path().as_bytes() == path);
        let is_staged = |path: &[u8]| {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            name.starts_with(STAGED)
        };
        let changed = self.git.status()?;
        Ok(changed.iter().all(|changed| {
            !changed.is_unmerged
                && (is_target(&changed.path) || (changed.is_untracked && is_staged(&changed.path)))
        }))
    }

    /// The URL of the remote `origin`; none where there is none, or several.
    fn origin(&self) -> Result<Option<String>> {
        let args = ["config", "--null", "--get-all", "remote.origin.url"].map(OsStr::new);
        let output =
            self.git.run(&args, &[], Bounds::QUERY).map_err(|failure| failure.into_error("config"))?;
        if !output.status.success() {
            return Ok(None);
        }
        let text = String::from_utf8(output.stdout).ok();
        let url = text.as_deref().and_then(|text| text.strip_suffix('\0')).filter(|url| !url.contains('\0'));
        Ok(url.map(str::to_owned))
    }

    /// Whether the base is a branch that is known here, and has a commit in common with the input head.
    fn base_matches(&self, asked: &Asked<'_>) -> Result<bool> {
        for place in [HEADS, "refs/remotes/origin/"] {
            let Some(base) = self.git.commit_of_ref(&format!("{place}{}", asked.base))? else { continue };
            let args = ["merge-base", &base, asked.input_head].map(OsStr::new);
            let output = self
                .git
                .run(&args, &[], Bounds::QUERY)
                .map_err(|failure| failure.into_error("merge-base"))?;
            return match output.status.code() {
                Some(0) => Ok(true),
                Some(1) => Ok(false),
                _ => Err(Error::new(Code::ExecutionIo, "the input head or the base is not there")
                    .with_reason("tree")),
            };
        }
        Ok(false)
    }

    fn matches(&self, asked: &Asked<'_>, head: &str) -> Result<bool> {
        if let Some(pushed) = asked.pushed_head {
            let descends = pushed != asked.input_head && self.git.is_ancestor(asked.input_head, pushed)?;
            return Ok(descends
                && pushed == head
                && validate_pushed_tree(&self.git.tracked(pushed)?).is_ok());
        }
        if self.git.parents(head)? != [asked.input_head] {
            return Ok(false);
        }
        self.git.is_applied(&self.manifest(asked)?, asked.input_head, head)
    }

    fn apply(&self, asked: &Asked<'_>) -> Result<()> {
        let is_fresh = self.git.status()?.is_empty();
        if self.git.head()? != asked.input_head || !(is_fresh || self.is_resumable(asked)?) {
            return Err(Error::new(Code::ExecutionIo, "the checkout has changed").with_reason("tree"));
        }
        let (manifest, start) = if is_fresh {
            // The three lists are compared with each other, so that a change of a mode is seen wherever it is.
            let tree = self.git.tree(asked.input_head)?;
            (validate_manifest(&asked.files_value(), &tree)?, Start::Fresh)
        } else {
            (self.manifest(asked)?, Start::Resumed)
        };
        artifacts::apply(&self.checkout()?, &manifest, start).map(drop)
    }

    fn commit(&self, asked: &Asked<'_>) -> Result<Value> {
        let manifest = self.manifest(asked)?;
        let branch = format!("{HEADS}{}", asked.text("branch"));
        let seconds =
            asked.input.get("seconds").and_then(Value::as_number).and_then(|number| number.as_u64());
        let new = NewCommit {
            parent: asked.input_head,
            branch: &branch,
            message: asked.text("message"),
            name: asked.text("name"),
            email: asked.text("email"),
            seconds: seconds.unwrap_or(0),
        };
        Ok(member("head", &self.git.commit(&manifest, &new)?))
    }

    /// The files, judged against what the input head tracks: what HEAD and index hold may be the work of this very result.
    fn manifest(&self, asked: &Asked<'_>) -> Result<Manifest> {
        let tree = Tree::of(self.git.tracked(asked.input_head)?);
        validate_manifest(&asked.files_value(), &tree)
    }

    fn checkout(&self) -> Result<Checkout> {
        Checkout::open(self.git.root(), &self.host)
    }
}

impl Answers for GitCheckout {
    fn answer(&self, method: &str, input: &Object) -> std::result::Result<Value, Failure> {
        let asked = Asked::read(input);
        let done = match method {
            "state" => self.state(&asked),
            "matches" => self
                .matches(&asked, asked.text("head"))
                .map(|matches| Value::Object([("matches", Value::Bool(matches))].into_iter().collect())),
            "apply" => self.apply(&asked).map(|()| Object::new().into()),
            "commit" => self.commit(&asked),
            _ => return Err(unknown(method)),
        };
        match done {
            Ok(value) => Ok(value),
            Err(error) if error.code() == Code::ExecutionResult && method == "matches" => {
                Ok(Value::Object([("matches", Value::Bool(false))].into_iter().collect()))
            }
            // The message holds a number and a word, and nothing of the result (EX-ART-45).
            Err(error) if error.code() == Code::ExecutionResult => Ok(member("invalid", &error.message())),
            Err(error) => Err(Failure::of(ErrorKind::Io, error.message())),
        }
    }
}

/// What a question holds.
struct Asked<'a> {
    input: &'a Object,
    input_head: &'a str,
    pushed_head: Option<&'a str>,
    base: &'a str,
}

impl<'a> Asked<'a> {
    fn read(input: &'a Object) -> Self {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        Asked {
            input,
            input_head: text("inputHead").unwrap_or_default(),
            pushed_head: text("pushedHead"),
            base: text("base").unwrap_or_default(),
        }
    }

    fn text(&self, key: &str) -> &'a str {
        self.input.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn files(&self) -> Option<&'a Value> {
        self.input.get("files").filter(|files| !files.is_null())
    }

    fn files_value(&self) -> Value {
        self.files().cloned().unwrap_or(Value::Null)
    }
}
