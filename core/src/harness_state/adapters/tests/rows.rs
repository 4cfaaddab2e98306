//! Each row of the tables, and each word of each row.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{event, told};
use crate::harness_state::adapters::effect::{Effect, Ignored};
use crate::harness_state::adapters::event::Harness;
use crate::harness_state::adapters::table::{Children, Rule};
use crate::harness_state::observation::{Observation, State};

/// What an event with this word in its deciding member comes to when an active, unblocked turn stands.
/// `*` is a word that nobody documents, `-` is no word at all.
type Expected = (&'static str, &'static str, &'static str);

const CLAUDE: &[Expected] = &[
    ("Setup", "-", "no-change"),
    ("SessionStart", "startup", "ready"),
    ("SessionStart", "resume", "idle"),
    ("SessionStart", "clear", "idle"),
    ("SessionStart", "fork", "idle"),
    ("SessionStart", "compact", "no-change"),
    ("SessionStart", "*", "idle"),
    ("SessionStart", "-", "idle"),
    ("InstructionsLoaded", "-", "no-change"),
    ("UserPromptSubmit", "-", "active"),
    ("UserPromptExpansion", "-", "active"),
    ("MessageDisplay", "-", "no-change"),
    ("PreToolUse", "AskUserQuestion", "active human question"),
    ("PreToolUse", "ExitPlanMode", "active human review"),
    ("PreToolUse", "*", "active"),
    ("PreToolUse", "-", "active"),
    ("PermissionRequest", "AskUserQuestion", "active human question"),
    ("PermissionRequest", "ExitPlanMode", "active human review"),
    ("PermissionRequest", "*", "active human permission"),
    ("PermissionRequest", "-", "active human permission"),
    ("PermissionDenied", "-", "active"),
    ("PostToolUse", "-", "active"),
    ("PostToolUseFailure", "-", "active"),
    ("PostToolBatch", "-", "active"),
    ("Elicitation", "-", "active human question"),
    ("ElicitationResult", "-", "active"),
    ("Notification", "idle_prompt", "idle"),
    ("Notification", "permission_prompt", "active human permission"),
    ("Notification", "elicitation_dialog", "active human question"),
    ("Notification", "elicitation_url_dialog", "active human question"),
    ("Notification", "elicitation_complete", "active"),
    ("Notification", "elicitation_response", "active"),
    ("Notification", "quota_auto_resume_fired", "active"),
    ("Notification", "quota_auto_resume_stale", "idle"),
    ("Notification", "quota_auto_resume_disabled", "idle"),
    ("Notification", "agent_needs_input", "no-change"),
    ("Notification", "agent_completed", "no-change"),
    ("Notification", "auth_success", "no-change"),
    ("Notification", "*", "unknown-notification counted"),
    ("Notification", "-", "untyped-notification counted"),
    ("SubagentStart", "-", "child-event"),
    ("SubagentStop", "-", "child-event"),
    ("TaskCreated", "-", "no-change"),
    ("TaskCompleted", "-", "no-change"),
    ("TeammateIdle", "-", "no-change"),
    ("Stop", "-", "idle"),
    ("StopFailure", "-", "idle [stop-failure]"),
    ("PreCompact", "-", "active [compacting]"),
    ("PostCompact", "-", "no-change"),
    ("PreModelSwitch", "-", "no-change"),
    ("PostModelSwitch", "-", "no-change"),
    ("ConfigChange", "-", "no-change"),
    ("CwdChanged", "-", "no-change"),
    ("DirectoryAdded", "-", "no-change"),
    ("FileChanged", "-", "no-change"),
    ("WorktreeCreate", "-", "no-change"),
    ("WorktreeRemove", "-", "no-change"),
    ("SessionEnd", "clear", "no-change"),
    ("SessionEnd", "resume", "no-change"),
    ("SessionEnd", "logout", "ended [logout] (session end)"),
    ("SessionEnd", "prompt_input_exit", "ended [prompt_input_exit] (session end)"),
    ("SessionEnd", "bypass_permissions_disabled", "ended [bypass_permissions_disabled] (session end)"),
    ("SessionEnd", "other", "ended [other] (session end)"),
    ("SessionEnd", "*", "ended [other] (session end)"),
    ("SessionEnd", "-", "ended [other] (session end)"),
];

const CODEX: &[Expected] = &[
    ("SessionStart", "startup", "ready"),
    ("SessionStart", "resume", "idle"),
    ("SessionStart", "clear", "idle"),
    ("SessionStart", "fork", "idle"),
    ("SessionStart", "compact", "no-change"),
    ("SessionStart", "*", "idle"),
    ("SessionStart", "-", "idle"),
    ("UserPromptSubmit", "-", "active"),
    ("PreToolUse", "request_user_input", "active human question"),
    ("PreToolUse", "*", "active"),
    ("PreToolUse", "-", "active"),
    ("PermissionRequest", "request_user_input", "active human question"),
    ("PermissionRequest", "*", "active human permission"),
    ("PermissionRequest", "-", "active human permission"),
    ("PostToolUse", "-", "active"),
    ("SubagentStart", "-", "child-event"),
    ("SubagentStop", "-", "child-event"),
    ("PreCompact", "-", "active [compacting]"),
    ("PostCompact", "-", "no-change"),
    ("Stop", "-", "idle"),
    ("Interrupt", "-", "idle [interrupted]"),
    ("SessionEnd", "clear", "no-change"),
    ("SessionEnd", "resume", "no-change"),
    ("SessionEnd", "logout", "ended [logout] (session end)"),
    ("SessionEnd", "prompt_input_exit", "ended [prompt_input_exit] (session end)"),
    ("SessionEnd", "bypass_permissions_disabled", "ended [bypass_permissions_disabled] (session end)"),
    ("SessionEnd", "other", "ended [other] (session end)"),
    ("SessionEnd", "*", "ended [other] (session end)"),
    ("SessionEnd", "-", "ended [other] (session end)"),
    ("agent-turn-complete", "-", "unattributed-notify"),
];

const OPENCODE: &[Expected] = &[
    ("session.created", "-", "ready"),
    ("session.status", "busy", "active"),
    ("session.status", "retry", "active"),
    ("session.status", "idle", "idle"),
    ("session.status", "*", "no-change"),
    ("session.status", "-", "no-change"),
    ("permission.asked", "-", "active human permission"),
    ("permission.v2.asked", "-", "active human permission"),
    ("permission.updated", "-", "active human permission"),
    ("permission.replied", "-", "active"),
    ("permission.v2.replied", "-", "active"),
    ("question.asked", "-", "active human question"),
    ("question.v2.asked", "-", "active human question"),
    ("question.replied", "-", "active"),
    ("question.v2.replied", "-", "active"),
    ("question.rejected", "-", "active"),
    ("question.v2.rejected", "-", "active"),
    ("session.error", "MessageAbortedError", "idle [interrupted]"),
    ("session.error", "APIError", "idle [stop-failure]"),
    ("session.error", "ProviderAuthError", "idle [stop-failure]"),
    ("session.error", "ContextOverflowError", "idle [stop-failure]"),
    ("session.error", "ContentFilterError", "idle [stop-failure]"),
    ("session.error", "MessageOutputLengthError", "idle [stop-failure]"),
    ("session.error", "StructuredOutputError", "idle [stop-failure]"),
    ("session.error", "*", "no-change"),
    ("session.error", "-", "no-change"),
    ("session.idle", "-", "idle"),
];

/// What OpenCode documents besides, none of which says anything.
const OPENCODE_SILENT: &str = "\
    session.compacted session.updated session.diff session.deleted message.updated message.removed \
    message.part.updated message.part.delta message.part.removed todo.updated command.executed \
    session.next.agent.switched session.next.model.switched session.next.moved session.next.prompt.admitted \
    session.next.prompted session.next.context.updated session.next.synthetic session.next.shell.started \
    session.next.shell.ended session.next.step.started session.next.step.ended session.next.step.failed \
    session.next.text.started session.next.text.delta session.next.text.ended session.next.reasoning.started \
    session.next.reasoning.delta session.next.reasoning.ended session.next.tool.input.started \
    session.next.tool.input.delta session.next.tool.input.ended session.next.tool.called \
    session.next.tool.progress session.next.tool.success session.next.tool.failed session.next.retried \
    session.next.compaction.started session.next.compaction.delta session.next.compaction.ended \
    session.next.revert.staged session.next.revert.cleared session.next.revert.committed server.connected \
    server.instance.disposed global.disposed installation.updated installation.update-available \
    project.updated project.directories.updated workspace.ready workspace.failed workspace.status \
    worktree.ready worktree.failed vcs.branch.updated file.edited file.watcher.updated lsp.updated \
    lsp.client.diagnostics mcp.tools.changed mcp.browser.open.failed plugin.added catalog.updated \
    reference.updated integration.updated integration.connection.updated models-dev.refreshed pty.created \
    pty.updated pty.exited pty.deleted tui.prompt.append tui.command.execute tui.session.select \
    tui.toast.show";

const GEMINI: &[Expected] = &[
    ("SessionStart", "startup", "ready"),
    ("SessionStart", "resume", "idle"),
    ("SessionStart", "clear", "idle"),
    ("SessionStart", "*", "idle"),
    ("SessionStart", "-", "idle"),
    ("BeforeAgent", "-", "active"),
    ("PreCompress", "-", "no-change"),
    ("BeforeModel", "-", "no-change"),
    ("BeforeToolSelection", "-", "no-change"),
    ("AfterModel", "-", "no-change"),
    ("BeforeTool", "ask_user", "active human question"),
    ("BeforeTool", "exit_plan_mode", "active human review"),
    ("BeforeTool", "*", "active"),
    ("BeforeTool", "-", "active"),
    ("Notification", "ToolPermission", "active human permission"),
    ("Notification", "*", "unknown-notification counted"),
    ("Notification", "-", "untyped-notification counted"),
    ("AfterTool", "-", "active"),
    ("AfterAgent", "-", "idle"),
    ("SessionEnd", "clear", "no-change"),
    ("SessionEnd", "exit", "ended [exit] (session end)"),
    ("SessionEnd", "logout", "ended [logout] (session end)"),
    ("SessionEnd", "prompt_input_exit", "ended [prompt_input_exit] (session end)"),
    ("SessionEnd", "other", "ended [other] (session end)"),
    ("SessionEnd", "*", "ended [other] (session end)"),
    ("SessionEnd", "-", "ended [other] (session end)"),
];

const NOT_A_WORD: &str = "made up, waiting for your permission";

/// One event's payload with `word` under `member`, and with texts that suggest something else.
fn payload(named_by: &str, name: &str, member: &str, word: &str) -> String {
    let mut payload = json!({ "session_id": "s", "message": "needs your permission" });
    put(&mut payload, named_by, name);
    match word {
        "-" => {}
        "*" => put(&mut payload, member, NOT_A_WORD),
        word => put(&mut payload, member, word),
    }
    payload.to_string()
}

/// Puts a word where a path of keys leads.
fn put(payload: &mut Value, path: &str, word: &str) {
    let place = path.split('.').fold(payload, |place, key| &mut place[key]);
    *place = word.into();
}

fn check_rows(harness: Harness, expected: &[Expected]) {
    let mut documented = BTreeSet::new();
    for kind in harness.adapter().kinds {
        for row in kind.rows {
            let (member, mut words) = match &row.rule {
                Rule::Always(_) | Rule::Child(_) => ("none", vec!["-"]),
                Rule::ByWord { member, words, .. } => {
                    (*member, words.iter().map(|(word, _)| *word).collect())
                }
            };
            if member != "none" {
                words.extend(["*", "-"]);
            }
            for word in words {
                assert!(documented.insert((row.event, word)), "{} {word} stands twice", row.event);
                let result = expected.iter().find(|(event, given, _)| (*event, *given) == (row.event, word));
                let (_, _, result) =
                    result.unwrap_or_else(|| panic!("nothing is expected of {} {word}", row.event));
                let event = event(harness, &payload(kind.named_by, row.event, member, word));
                let resolution = event.effect.resolve(Some(&Observation::new(State::Active)));
                assert_eq!(event.name, row.event);
                assert_eq!(told(&resolution), *result, "{} {word}", row.event);
            }
        }
    }
    assert_eq!(expected.len(), documented.len(), "something is expected of an event that has no row");
}

#[test]
fn hs_110_every_documented_event_and_word_of_claude_code() {
    check_rows(Harness::Claude, CLAUDE);
}

#[test]
fn hs_111_every_documented_event_and_word_of_codex() {
    check_rows(Harness::Codex, CODEX);
}

#[test]
fn hs_111_every_documented_event_and_word_of_opencode() {
    let silent = OPENCODE_SILENT.split(' ').map(|event| (event, "-", "no-change"));
    check_rows(Harness::OpenCode, &OPENCODE.iter().copied().chain(silent).collect::<Vec<_>>());
}

#[test]
fn hs_111_every_documented_event_and_word_of_gemini_cli() {
    check_rows(Harness::Gemini, GEMINI);
}

#[test]
fn hs_111_the_events_that_are_told_are_the_tables_rows_and_silent_is_what_never_says_anything() {
    for harness in Harness::ALL {
        let mut events = harness.events();
        for kind in harness.adapter().kinds {
            for row in kind.rows {
                let told = events.next().expect("an event a row");
                assert_eq!((told.name, told.named_by), (row.event, kind.named_by));
                assert!(harness.documents(told.name));
                let silent = matches!(row.rule, Rule::Always(Effect::Nothing(Ignored::NoChange)));
                assert_eq!(told.silent, silent, "{harness:?} {}", row.event);
            }
        }
        assert_eq!(events.next(), None, "{harness:?}");
        assert!(!harness.documents("FutureEvent"), "{harness:?}");
    }
}

#[test]
fn hs_112_the_tables_use_only_members_that_they_declare_and_none_that_identifies() {
    for harness in Harness::ALL {
        let adapter = harness.adapter();
        let mut used = match adapter.children {
            Children::Untold => BTreeSet::new(),
            Children::Marked(mark) => BTreeSet::from([mark]),
            Children::Sessions { parent, id } => BTreeSet::from([parent, id]),
        };
        for kind in adapter.kinds {
            used.insert(kind.named_by);
            for row in kind.rows {
                if let Rule::ByWord { member, .. } = row.rule {
                    used.insert(member);
                }
            }
        }
        assert_eq!(used, adapter.members.iter().copied().collect(), "{harness:?}");
        for identity in
            ["session_id", "thread-id", "turn_id", "cwd", "transcript_path", "event.properties.sessionID"]
        {
            assert!(!used.contains(identity), "{harness:?} {identity}");
        }
    }
}
