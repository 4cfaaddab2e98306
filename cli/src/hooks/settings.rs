//! Which file a harness reads its settings from, and what it is to hold.

use std::path::{Path, PathBuf};

use gallivant_core::harness_state::VARIABLES;
use gallivant_core::harness_state::adapters::Harness;

use super::edit::{Element, Wanted};
use crate::arguments::{self, Place};
use crate::environment::variable;
use crate::exit::{Failure, Result};

/// This program's name in a command line.
const PROGRAM: &str = "gallivant";
/// OpenCode has no hooks that are programs; it loads this plugin of the Node package.
const PLUGIN: &str = "\
// Written by `gallivant hooks install opencode`; needs the package gallivant among the dependencies.
export { GallivantPlugin } from 'gallivant/opencode'
";

pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

/// What the file is to hold.
pub(super) enum Content {
    /// These members, beside whatever else.
    Json(Wanted),
    /// This, and nothing else.
    Whole(&'static str),
}

impl Settings {
    pub(super) fn of(place: &Place) -> Result<Self> {
        let (folder, own, file) = match place.harness {
            arguments::Harness::Claude => (".claude", Some("CLAUDE_CONFIG_DIR"), "settings.json"),
            arguments::Harness::Codex => (".codex", Some("CODEX_HOME"), "hooks.json"),
            arguments::Harness::Gemini => (".gemini", None, "settings.json"),
            arguments::Harness::Opencode => (".opencode", None, "plugins/gallivant.js"),
        };
        let path = match (&place.file, &place.project) {
            (Some(file), _) => file.clone(),
            (None, Some(project)) => project.join(folder).join(file),
            (None, None) => users(place.harness, folder, own)?.join(file),
        };
        let content = match place.harness {
            arguments::Harness::Claude => Content::Json(hooks(Harness::Claude, is_claudes)),
            arguments::Harness::Codex => Content::Json(hooks(Harness::Codex, is_codexs)),
            arguments::Harness::Gemini => Content::Json(geminis()),
            arguments::Harness::Opencode => Content::Whole(PLUGIN),
        };
        Ok(Settings { path, content })
    }
}

/// The directory of the user's own settings.
fn users(harness: arguments::Harness, folder: &str, own: Option<&str>) -> Result<PathBuf> {
    if let Some(directory) = own.and_then(variable) {
        return Ok(directory.into());
    }
    let none =
        || Failure::Arguments("HOME is not set".to_owned(), "name the settings with --project or --file");
    let home = || variable("HOME").map(PathBuf::from).ok_or_else(none);
    if harness == arguments::Harness::Opencode {
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        return Ok(config.map_or_else(|| home().map(|home| home.join(".config")), Ok)?.join("opencode"));
    }
    Ok(home()?.join(folder))
}

/// Every event that may say something, with one hook and no matcher.
fn hooks(harness: Harness, is_same: fn(&str) -> bool) -> Wanted {
    let command = command(harness);
    let telling = harness.events().filter(|event| event.named_by == "hook_event_name" && !event.silent);
    let hook = || Wanted::Array(vec![Element::Hook { command: command.clone(), is_same }]);
    Wanted::Object(vec![("hooks", Wanted::Object(telling.map(|event| (event.name, hook())).collect()))])
}

/// Gemini CLI gives its hooks only the variables that it is told to.
fn geminis() -> Wanted {
    let Wanted::Object(mut members) = hooks(Harness::Gemini, is_geminis) else {
        return Wanted::Array(Vec::new());
    };
    let names = Wanted::Array(VARIABLES.into_iter().map(Element::Text).collect());
    let redaction = Wanted::Object(vec![("allowed", names)]);
    members.push(("security", Wanted::Object(vec![("environmentVariableRedaction", redaction)])));
    Wanted::Object(members)
}

/// By its name where the shell finds this very program under it, and else by its path.
fn command(harness: Harness) -> String {
    let this = std::env::current_exe().ok();
    let named = this.as_deref().filter(|this| !is_found(this));
    let program = named.map_or_else(|| PROGRAM.to_owned(), |path| shell_word(&path.to_string_lossy()));
    format!("{program} hook {}", harness.name())
}

/// Whether this is what the shell finds.
fn is_found(this: &Path) -> bool {
    let path = variable("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file());
    found.and_then(|file| file.canonicalize().ok()) == this.canonicalize().ok()
}

fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn is_claudes(command: &str) -> bool {
    is_ours(command, Harness::Claude)
}

fn is_codexs(command: &str) -> bool {
    is_ours(command, Harness::Codex)
}

fn is_geminis(command: &str) -> bool {
    is_ours(command, Harness::Gemini)
}

/// Whether a command starts this program as the hook of this harness, wherever it is installed.
fn is_ours(command: &str, harness: Harness) -> bool {
    let behind = format!(" hook {}", harness.name());
    let program = command.strip_suffix(&behind).map(|program| program.trim_matches('\''));
    program.and_then(|program| program.rsplit('/').next()) == Some(PROGRAM)
}
