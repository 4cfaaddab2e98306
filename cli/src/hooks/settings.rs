//! Which file a harness reads its settings from, and what it is to hold.

use std::path::{Path, PathBuf};

use gallivant_core::Host;
use gallivant_core::harness_state::VARIABLES;
use gallivant_core::harness_state::adapters::Harness;

use super::edit::{Element, Program, Wanted};
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
    /// The project whose settings they are.
    project: Option<PathBuf>,
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
        if let Some(project) = place.project.as_ref().filter(|project| !project.is_dir()) {
            let what = format!("the project's directory does not exist, project=`{}`", project.display());
            return Err(Failure::Arguments(what, "name an existing one with --project"));
        }
        let path = match (&place.file, &place.project) {
            (Some(file), _) => file.clone(),
            (None, Some(project)) => project.join(folder).join(file),
            (None, None) => users(place.harness, folder, own)?.join(file),
        };
        let content = match place.harness {
            arguments::Harness::Claude => Content::Json(hooks(Harness::Claude, judge_claudes)),
            arguments::Harness::Codex => Content::Json(hooks(Harness::Codex, judge_codexs)),
            arguments::Harness::Gemini => Content::Json(geminis()),
            arguments::Harness::Opencode => Content::Whole(PLUGIN),
        };
        Ok(Settings { path, content, project: place.project.clone() })
    }

    /// Removes the folders between a project and its settings where nothing is left in them. The user's own stay.
    pub(super) fn remove_empty_folders(&self) {
        let Some(project) = &self.project else { return };
        let files = Host::system().files;
        for folder in self.path.ancestors().skip(1).take_while(|folder| folder != project) {
            let (Some(above), Some(name)) =
                (folder.parent(), folder.file_name().and_then(|name| name.to_str()))
            else {
                return;
            };
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let removed = files.open(above).and_then(|above| {
                above.remove_directory(name)?;
                above.sync()
            });
            if removed.is_err() {
                return;
            }
        }
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
fn hooks(harness: Harness, judge: fn(&str) -> Option<Program>) -> Wanted {
    let command = command(harness);
    let telling = harness.events().filter(|event| event.named_by == "hook_event_name" && !event.silent);
    let hook = || Wanted::Array(vec![Element::Hook { command: command.clone(), judge }]);
    Wanted::Object(vec![("hooks", Wanted::Object(telling.map(|event| (event.name, hook())).collect()))])
}

/// Gemini CLI gives its hooks only the variables that it is told to.
fn geminis() -> Wanted {
    let Wanted::Object(mut members) = hooks(Harness::Gemini, judge_geminis) else {
        return Wanted::Array(Vec::new());
    };
    let names = Wanted::Array(VARIABLES.into_iter().map(Element::Text).collect());
    let redaction = Wanted::Object(vec![("allowed", names)]);
    members.push(("security", Wanted::Object(vec![("environmentVariableRedaction", redaction)])));
    Wanted::Object(members)
}

/// By its name where the shell finds this very program under it, and else by its path.
fn command(harness: Harness) -> String {
    let named = std::env::current_exe().ok().filter(|this| !is_found(this)).map(|this| called(&this));
    let program = named.map_or_else(|| PROGRAM.to_owned(), |path| shell_word(&path.to_string_lossy()));
    format!("{program} hook {}", harness.name())
}

/// The path by which this program was called, with its links: they lead to the next version too. What it was called by is
/// only believed where it leads here.
fn called(this: &Path) -> PathBuf {
    let by = std::env::args_os().next().map(PathBuf::from).filter(|by| {
        by.components().count() > 1
            && by.file_name().is_some_and(|name| name == PROGRAM)
            && by.canonicalize().ok() == this.canonicalize().ok()
    });
    by.and_then(|by| Host::system().files.absolute(&by).ok()).unwrap_or_else(|| this.to_owned())
}

/// Whether this is what the shell finds.
fn is_found(this: &Path) -> bool {
    on_path().and_then(|file| file.canonicalize().ok()) == this.canonicalize().ok()
}

/// What the shell finds under this program's name.
fn on_path() -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())
}

fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn judge_claudes(command: &str) -> Option<Program> {
    judge(command, Harness::Claude)
}

fn judge_codexs(command: &str) -> Option<Program> {
    judge(command, Harness::Codex)
}

fn judge_geminis(command: &str) -> Option<Program> {
    judge(command, Harness::Gemini)
}

/// Whether a command starts this program as the hook of this harness, wherever it is installed, and whether it is there.
fn judge(command: &str, harness: Harness) -> Option<Program> {
    let program = command.strip_suffix(&format!(" hook {}", harness.name()))?;
    let program = program.trim_matches('\'').replace("'\\''", "'");
    if program.rsplit('/').next() != Some(PROGRAM) {
        return None;
    }
    let is_there = if program.contains('/') { Path::new(&program).is_file() } else { on_path().is_some() };
    Some(if is_there { Program::There } else { Program::Gone })
}
