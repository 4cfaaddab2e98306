//! What of a private result is published: its files or its pushed revision, its branch and the text of its pull request. A pure
//! function, which judges form only; paths and hashes are judged against the checkout.

use crate::artifacts::public_text_check;
use crate::execution::keys::{canonical_hash, is_revision};
use crate::json::{Object, Value};

/// In which form a result brings its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing is to be published (EX-ART-22).
    Nothing,
    /// Files, which the library commits.
    Files(Vec<Value>),
    /// A revision that the provider has pushed to the task branch.
    Pushed(String),
}

/// What is published of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publishable {
    /// The work.
    pub form: Form,
    /// The repository, as the result names it.
    pub repo: Option<String>,
    /// The task branch, as the result names it.
    pub branch: Option<String>,
    /// The text of the pull request; none where the result has none.
    pub pull_request: Option<PullRequestText>,
    /// The hash of what is published (EX-ART-36).
    pub fingerprint: String,
}

/// What a pull request says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestText {
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
}

/// What of a result can never be published, as a word that holds nothing of the result (EX-ART-45).
pub type Invalid = &'static str;

impl Publishable {
    /// Reads a private result: its fingerprint, and what of it is published. A result whose numbers cannot be hashed has no
    /// fingerprint.
    pub fn of(result: &Object) -> (Option<String>, std::result::Result<Publishable, Invalid>) {
        let member = |key: &str| result.get(key).cloned().unwrap_or(Value::Null);
        let members = ["files", "pushedHead", "branch", "pr"].map(|key| (key, member(key)));
        match canonical_hash(&Value::Object(members.into_iter().collect())) {
            Ok(fingerprint) => {
                let publishable = Self::judge(&member, &fingerprint);
                (Some(fingerprint), publishable)
            }
            Err(_) => (None, Err("number")),
        }
    }

    fn judge(member: &dyn Fn(&str) -> Value, fingerprint: &str) -> std::result::Result<Publishable, Invalid> {
        let text = |key: &str, what: Invalid| match member(key) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(what),
        };
        let form = match (member("files"), text("pushedHead", "pushed-head")?) {
            (Value::Null, None) => Form::Nothing,
            (Value::Array(files), None) if files.iter().all(changes_nothing) => Form::Nothing,
            (Value::Array(files), None) => Form::Files(files),
            (Value::Null, Some(head)) if is_revision(&head) => Form::Pushed(head),
            (Value::Null, Some(_)) => return Err("pushed-head"),
            _ => return Err("files"),
        };
        let pull_request = match member("pr") {
            Value::Null => None,
            pr => {
                let part = |key: &str| pr.get(key).and_then(Value::as_str).map(str::to_owned);
                let (Some(title), Some(body)) = (part("title"), part("body")) else { return Err("pr") };
                // The raw text is judged, before anything normalises it (EX-ART-44).
                if public_text_check(&title).and(public_text_check(&body)).is_err() {
                    return Err("public-text");
                }
                Some(PullRequestText { title, body })
            }
        };
        Ok(Publishable {
            form,
            repo: text("repo", "repo")?,
            branch: text("branch", "branch")?,
            pull_request,
            fingerprint: fingerprint.to_owned(),
        })
    }
}

/// An entry may say that a file stays as it is (EX-ART-21). A result of nothing else has nothing to publish.
fn changes_nothing(entry: &Value) -> bool {
    let hash = |key: &str| entry.get(key).and_then(Value::as_str);
    hash("beforeHash").is_some() && hash("beforeHash") == hash("afterHash")
}
