//! What a coordinator says of a publication beforehand: where the work belongs, and which commands verify it.

use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};
use crate::verification::ApprovedCommands;

/// What is published where. The run's result is held against it, and never the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The repository, as results name it.
    pub repo: String,
    /// The URL of the checkout's remote `origin`, where that is another text than `repo`.
    pub origin: Option<String>,
    /// The task branch, as results name it: without `refs/heads/`.
    pub branch: String,
    /// The branch that the pull request goes to.
    pub base: String,
    /// The commands that verify the work, bound to their approved source (EX-VER-01).
    pub commands: ApprovedCommands,
    /// The commit's message; one line that names the run where there is none.
    pub message: Option<String>,
    /// The name of the commit's author.
    pub author_name: String,
    /// The address of the commit's author.
    pub author_email: String,
}

impl Plan {
    /// Reads a plan in its JSON form: `repo`, `origin?`, `branch`, `base`, `message?`, `author` (`{name,
    /// email}`) and `verification`: `{commands, source, approvedHash}`, the list of texts, the text that it was read from as it is now,
    /// and the hash of that text as it was saved with its approval.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` that names the member; `EXECUTION_CONFLICT` for a source that is not the approved one (EX-VER-01).
    pub fn from_object(plan: &Object) -> Result<Self> {
        let given = |value: Option<&Value>, name: &str| {
            let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| wrong(name))
        };
        let optional = |name: &str| match plan.get(name) {
            None | Some(Value::Null) => Ok(None),
            value => given(value, name).map(Some),
        };
        let verification = plan.get("verification").ok_or_else(|| wrong("verification"))?;
        let text = |name: &str| {
            let text = verification.get(name).and_then(Value::as_str);
            text.ok_or_else(|| wrong(&format!("verification.{name}")))
        };
        let list = verification.get("commands").and_then(Value::as_array);
        let list = list.ok_or_else(|| wrong("verification.commands"))?;
        let command = |command: &Value| {
            command.as_str().map(str::to_owned).ok_or_else(|| wrong("verification.commands"))
        };
        let commands = list.iter().map(command).collect::<Result<Vec<_>>>()?;
        let author = plan.get("author");
        let part = |name: &str| given(author.and_then(|author| author.get(name)), &format!("author.{name}"));
        let plan = Plan {
            repo: given(plan.get("repo"), "repo")?,
            origin: optional("origin")?,
            branch: given(plan.get("branch"), "branch")?,
            base: given(plan.get("base"), "base")?,
            commands: ApprovedCommands::new(commands, text("source")?.as_bytes(), text("approvedHash")?)?,
            message: optional("message")?,
            author_name: part("name")?,
            author_email: part("email")?,
        };
        if plan.branch == plan.base {
            return Err(Error::new(Code::ExecutionInput, "a task branch is the branch that it goes to"));
        }
        Ok(plan)
    }

    /// The URL that the checkout's remote has.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.origin.as_deref().unwrap_or(&self.repo)
    }
}

fn wrong(member: &str) -> Error {
    Error::new(Code::ExecutionInput, format!("a member of a plan is missing or malformed, member=`{member}`"))
}
