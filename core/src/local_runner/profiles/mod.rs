//! Harnesses as data: how one is started and resumed, where its prompt goes, and in which form it says how a run went.
//!
//! - `profiles.json`: those that come with the library, each with the version of its harness with which it was tried;
//! - [`Profile`], [`Profiles`]: what is read of it, and of a user's own;
//! - `reading`: what an output says, one form a function;
//! - `version`: the numbers of a version, and which is the older.

mod reading;
pub(crate) mod version;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use reading::{Output, Reading};

use crate::json::{Object, Value};

/// The profiles that come with the library.
const SHIPPED: &str = include_str!("profiles.json");

/// How one harness is run without a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name in a spec.
    pub name: String,
    /// Its program.
    pub program: String,
    /// The arguments of a first turn.
    pub start: Vec<Argument>,
    /// The arguments of a turn in a session that stands.
    pub resume: Vec<Argument>,
    /// Where the prompt goes.
    pub prompt: Prompt,
    /// Whether it takes a session that is chosen for it (EX-IDN-14).
    pub mints_session: bool,
    /// The form of its output.
    pub output: Output,
    /// The version of the harness with which all of it was tried; none where it is from documentation alone.
    pub tried: Option<String>,
    /// How a prepared turn is enforced; none where it cannot be.
    pub preparation: Option<Preparation>,
}

/// How the command line of a harness enforces the boundary of a preparation (EX-CAP-27).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// The boundary that is enforced, as a capability record names it.
    pub boundary: String,
    /// The oldest version of the harness that enforces it; it holds a number.
    pub minimum_version: String,
    /// The arguments with which the harness prints its version.
    pub version: Vec<String>,
    /// The arguments of a prepared turn, with places as in a first one.
    pub render: Vec<Argument>,
}

/// An argument with places in it: `{prompt}`, `{session}`, `{model}`; `{args}` alone stands for the spec's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Always there.
    One(String),
    /// There if every place in them has a value.
    Optional(Vec<String>),
}

/// Where a prompt goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// To standard input, where no list of processes shows it and no length limits it.
    Stdin,
    /// Into the arguments.
    Argument,
}

/// A turn to be started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn<'a> {
    /// What is asked.
    pub prompt: &'a str,
    /// Which model, where one is chosen.
    pub model: Option<&'a str>,
    /// The session: of a resumed turn that one, of a first one the one that was chosen for it.
    pub session: Option<&'a str>,
    /// Whether the session stands already.
    pub is_resumed: bool,
}

impl Profile {
    /// Reads a profile: `{program, start, resume, prompt, mintsSession, output, tried}`, where `start` and `resume` are lists of
    /// texts and of lists of texts (optional ones), `prompt` is `stdin` or `argument`, `output` the name of a form,
    /// `tried` a version or null, and `preparation` `{boundary, minimumVersion, version, render}` or null, where `version` is
    /// a list of texts, `render` one as `start` is, and `minimumVersion` holds a number, as in `2.1.0`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(name: &str, value: &Value) -> Result<Self, String> {
        let wrong = |what: &str| {
            let how = if value.get(what).is_none() { "lacks a member" } else { "is malformed" };
            format!("a harness profile {how}, harness=`{name}` member=`{what}`")
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let flag = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(flag) => flag.as_bool().ok_or_else(|| wrong(key)),
        };
        if name.is_empty() {
            return Err(wrong("name"));
        }
        Ok(Profile {
            name: name.to_owned(),
            program: text("program").ok_or_else(|| wrong("program"))?.to_owned(),
            start: arguments(value.get("start")).ok_or_else(|| wrong("start"))?,
            resume: arguments(value.get("resume")).ok_or_else(|| wrong("resume"))?,
            prompt: match text("prompt") {
                Some("stdin") => Prompt::Stdin,
                Some("argument") => Prompt::Argument,
                _ => return Err(wrong("prompt")),
            },
            mints_session: flag("mintsSession")?,
            output: text("output").and_then(Output::from_word).ok_or_else(|| wrong("output"))?,
            tried: match value.get("tried") {
                None | Some(Value::Null) => None,
                Some(_) => Some(text("tried").ok_or_else(|| wrong("tried"))?.to_owned()),
            },
            preparation: match value.get("preparation") {
                None | Some(Value::Null) => None,
                Some(given) => Some(Preparation::of(given).ok_or_else(|| wrong("preparation"))?),
            },
        })
    }

    /// The arguments of a turn behind the program's name, with the spec's own where the profile wants them.
    #[must_use]
    pub fn arguments(&self, turn: &Turn<'_>, own: &[String]) -> Vec<String> {
        filled(if turn.is_resumed { &self.resume } else { &self.start }, turn, own)
    }
}

impl Preparation {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let asks = value.get("version")?.as_array()?.iter().map(|text| text.as_str().map(str::to_owned));
        Some(Preparation {
            boundary: text("boundary")?,
            minimum_version: text("minimumVersion").filter(|text| version::numbers(text).is_some())?,
            version: asks.collect::<Option<_>>()?,
            render: arguments(value.get("render"))?,
        })
    }

    /// The arguments of a prepared turn behind the program's name.
    #[must_use]
    pub fn arguments(&self, turn: &Turn<'_>) -> Vec<String> {
        filled(&self.render, turn, &[])
    }
}

/// Arguments with their places filled, and the spec's own where they are wanted.
fn filled(form: &[Argument], turn: &Turn<'_>, own: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for argument in form {
        match argument {
            Argument::One(text) if text == "{args}" => out.extend(own.iter().cloned()),
            Argument::One(text) => out.push(fill(text, turn).unwrap_or_default()),
            Argument::Optional(texts) => {
                let filled = texts.iter().map(|text| fill(text, turn)).collect::<Option<Vec<_>>>();
                out.extend(filled.into_iter().flatten());
            }
        }
    }
    out
}

/// The text with its places filled; none where one has no value. What was filled in is not looked at again.
fn fill(text: &str, turn: &Turn<'_>) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((place, after)) = behind.split_once('}') else { break };
        out.push_str(before);
        match place {
            "prompt" => out.push_str(turn.prompt),
            "session" => out.push_str(turn.session?),
            "model" => out.push_str(turn.model?),
            other => {
                out.push('{');
                out.push_str(other);
                out.push('}');
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

fn arguments(value: Option<&Value>) -> Option<Vec<Argument>> {
    let texts = |list: &Value| {
        let list = list.as_array()?;
        list.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let argument = |value: &Value| match value.as_str() {
        Some(text) => Some(Argument::One(text.to_owned())),
        None => texts(value).map(Argument::Optional),
    };
    value?.as_array()?.iter().map(argument).collect()
}

/// The profiles by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Those that come with the library.
    #[must_use]
    pub fn shipped() -> Self {
        static SHIPPED_ONCE: OnceLock<Profiles> = OnceLock::new();
        let read = || {
            let value = Value::parse(SHIPPED).ok();
            let object = value.as_ref().and_then(Value::as_object);
            let profiles = object.into_iter().flat_map(Object::iter);
            Profiles(
                profiles
                    .filter_map(|(name, value)| Some((name.to_owned(), Profile::of(name, value).ok()?)))
                    .collect(),
            )
        };
        SHIPPED_ONCE.get_or_init(read).clone()
    }

    /// Registers a profile, in the place of one of the same name.
    pub fn register(&mut self, profile: Profile) {
        self.0.insert(profile.name.clone(), profile);
    }

    /// The profile of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_well_formed() {
        let Ok(Value::Object(object)) = Value::parse(SHIPPED) else { panic!("it is an object") };
        for (name, value) in object.iter() {
            Profile::of(name, value).expect("it is well formed");
        }
        let names: Vec<_> = Profiles::shipped().iter().map(|profile| profile.name.clone()).collect();
        assert_eq!(names, ["claude", "codex", "gemini", "goose", "opencode"]);
        // A list of processes shows no prompt, and no limit of one argument (128 KiB on Linux) cuts it.
        assert!(Profiles::shipped().iter().all(|profile| profile.prompt == Prompt::Stdin));
    }

    #[test]
    fn places_are_filled_once_and_optional_arguments_go_without_them() {
        let profiles = Profiles::shipped();
        let codex = profiles.get("codex").expect("it is shipped");
        let turn = Turn { prompt: "do {session}", model: None, session: Some("s-1"), is_resumed: true };
        assert_eq!(codex.arguments(&turn, &["-s".into()]), ["exec", "--json", "-s", "resume", "s-1", "-"]);
        let gemini = profiles.get("gemini").expect("it is shipped");
        let turn = Turn { prompt: "--do {session}", model: Some("m"), session: None, is_resumed: false };
        assert_eq!(gemini.arguments(&turn, &[]), ["--output-format", "stream-json", "--model", "m"]);
        let own = r#"{"program":"mine","start":["--prompt={prompt}",["--in","{session}"]],"resume":[],"prompt":"argument","output":"exit"}"#;
        let own = Profile::of("mine", &Value::parse(own).expect("JSON")).expect("it is well formed");
        assert_eq!(own.arguments(&turn, &[]), ["--prompt=--do {session}"]);
        assert_eq!(own.tried, None);
        let wrong = |text: &str| {
            Profile::of("mine", &Value::parse(text).expect("JSON")).expect_err("it is not whole")
        };
        assert_eq!(
            wrong(r#"{"program":"p","start":[]}"#),
            "a harness profile lacks a member, harness=`mine` member=`resume`"
        );
        assert_eq!(
            wrong(r#"{"program":7}"#),
            "a harness profile is malformed, harness=`mine` member=`program`"
        );
    }

    #[test]
    fn ex_pre_33_a_minimum_that_no_version_can_meet_is_malformed() {
        let preparation = |minimum: &str| {
            let given = format!(
                r#"{{"boundary":"b","minimumVersion":"{minimum}","version":["--version"],"render":["run"]}}"#
            );
            Preparation::of(&Value::parse(&given).expect("JSON"))
        };
        for minimum in ["", "newest", "..", "v"] {
            assert_eq!(preparation(minimum), None, "{minimum}");
        }
        assert!(["1", "v2.1.0", "codex-cli 0.171"].into_iter().all(|minimum| preparation(minimum).is_some()));
    }
}
