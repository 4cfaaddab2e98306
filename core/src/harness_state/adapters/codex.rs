//! Codex: its hooks and its notify program (HS-111).
//!
//! The rows are the hook events that Codex 0.171 knows, in the order of a session's life. A hook gets one JSON
//! object on standard input; the notify program gets another as its last argument, without an event name.

use super::super::observation::Ask;
use super::effect::{Effect, INTERRUPTED};
use super::event::ChildStep;
use super::table::{Adapter, Children, Kind, Row, SESSION_ENDS, SESSION_SOURCES, always, by_word, child};

pub(super) static ADAPTER: Adapter = Adapter {
    names: &["codex"],
    executables: &["codex", "codex.js"],
    members: &["hook_event_name", "type", "agent_id", "source", "reason", "tool_name"],
    kinds: &[Kind { named_by: "hook_event_name", rows: HOOKS }, Kind { named_by: "type", rows: NOTIFY }],
    children: Children::Marked("agent_id"),
};

const HOOKS: &[Row] = &[
    // Sent when the first turn begins and not when the program does: a prompt follows at once. In the midst of a
    // turn it comes with `compact`, and the turn goes on.
    by_word("SessionStart", "source", SESSION_SOURCES, Effect::Idle),
    always("UserPromptSubmit", Effect::Active),
    // This tool's whole work is to wait for a person, between this event and the tool's end.
    by_word("PreToolUse", "tool_name", ASKING_TOOLS, Effect::Active),
    by_word("PermissionRequest", "tool_name", ASKING_TOOLS, Effect::Asking(Ask::Permission)),
    always("PostToolUse", Effect::Active),
    child("SubagentStart", ChildStep::Started),
    child("SubagentStop", ChildStep::Stopped),
    always("PreCompact", Effect::Compacting),
    always("PostCompact", Effect::Compacted),
    always("Stop", Effect::Idle),
    // Sent in place of the former when a person ended the turn.
    always("Interrupt", Effect::IdleBecause(INTERRUPTED)),
    // So far the reason is always `other`.
    by_word("SessionEnd", "reason", SESSION_ENDS, Effect::Ended("other")),
];

const ASKING_TOOLS: &[(&str, Effect)] = &[("request_user_input", Effect::Asking(Ask::Question))];

const NOTIFY: &[Row] = &[
    // The session's own turn sends it, and so does the internal thread that writes a title, in the midst of the
    // first turn, while that turn may be waiting for a person. The two differ in their texts and in a thread id that
    // nothing ties to the session, and neither decides anything. So it is believed where no hook of the session has
    // told of a turn, and ignored elsewhere: with hooks the turn's end has come as Stop already.
    always("agent-turn-complete", Effect::SomeTurnComplete),
];
