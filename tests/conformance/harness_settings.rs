//! The settings that users install, against the tables: every event that may say something is in them, and no other
//! one (HS-110, HS-111). The guides quote the same files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gallivant_core::harness_state::VARIABLES;
use gallivant_core::harness_state::adapters::Harness;
use serde_json::Value;

/// A harness, its settings with the hooks, and its guide.
const SETTINGS: &[(Harness, &str, &str)] = &[
    (Harness::Claude, "claude-code.settings.json", "claude-code.md"),
    (Harness::Codex, "codex.hooks.json", "codex.md"),
    (Harness::Gemini, "gemini-cli.settings.json", "gemini-cli.md"),
];

fn text(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn settings(file: &str) -> Value {
    serde_json::from_str(&text(&format!("examples/settings/{file}"))).expect("settings are JSON")
}

/// The blocks of a page that are in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = text(&format!("docs/guides/{page}"));
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn hs_110_the_settings_name_every_event_that_may_say_something() {
    for (harness, file, _) in SETTINGS {
        let settings = settings(file);
        let hooks = settings["hooks"].as_object().expect("hooks by event");
        let named: BTreeSet<&str> = hooks.keys().map(String::as_str).collect();
        let telling = harness.events().filter(|event| event.named_by == "hook_event_name" && !event.silent);
        assert_eq!(named, telling.map(|event| event.name).collect(), "{file}");
        let command = format!("gallivant-hook {}", harness.name());
        for (event, groups) in hooks {
            // The last events of a headless Claude Code, which ends their hooks before an interpreter has begun.
            let ends = *file == "claude-code.settings.json"
                && matches!(event.as_str(), "StopFailure" | "SessionEnd");
            let command = if ends { format!("trap '' TERM; exec {command}") } else { command.clone() };
            let group = serde_json::json!([{ "hooks": [{ "type": "command", "command": command }] }]);
            assert_eq!(*groups, group, "{file} {event}: one command, without a matcher");
        }
    }
}

#[test]
fn hs_111_the_notify_program_of_codex_is_the_same_command() {
    let toml = text("examples/settings/codex.config.toml");
    let notify: Vec<&str> = toml.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(notify, [r#"notify = ["gallivant-hook", "codex"]"#]);
}

#[test]
fn hs_112_gemini_cli_is_told_to_hand_the_sessions_variables_to_its_hooks() {
    let settings = settings("gemini-cli.settings.json");
    let allowed = settings["security"]["environmentVariableRedaction"]["allowed"].as_array().expect("a list");
    let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
    assert_eq!(allowed, VARIABLES);
}

#[test]
fn hs_110_the_guides_quote_the_settings() {
    for (_, file, guide) in SETTINGS {
        let quoted = blocks(guide, "json").into_iter().map(|block| {
            serde_json::from_str::<Value>(&block).unwrap_or_else(|error| panic!("{guide}: {error}"))
        });
        assert!(quoted.into_iter().any(|block| block == settings(file)), "{guide} does not quote {file}");
    }
    for (file, guide, language) in
        [("codex.config.toml", "codex.md", "toml"), ("opencode.plugin.js", "opencode.md", "js")]
    {
        let file = text(&format!("examples/settings/{file}"));
        let lines = file.lines().filter(|line| !line.starts_with(['#', '/'])).collect::<Vec<_>>().join("\n");
        let quoted = blocks(guide, language);
        assert!(quoted.iter().any(|block| block.trim() == lines), "{guide} does not quote {lines}");
    }
}

#[test]
fn hs_110_the_guides_tables_name_every_event() {
    for (harness, guide) in [
        (Harness::Claude, "claude-code.md"),
        (Harness::Codex, "codex.md"),
        (Harness::OpenCode, "opencode.md"),
        (Harness::Gemini, "gemini-cli.md"),
    ] {
        let page = text(&format!("docs/guides/{guide}"));
        let (_, table) = page.split_once("## What each event shows as").expect("the guide has its table");
        for event in harness.events() {
            assert!(table.contains(&format!("`{}`", event.name)), "{guide} has no `{}`", event.name);
        }
    }
}
