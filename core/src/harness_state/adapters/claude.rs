//! Claude Code: its hooks (HS-110).
//!
//! The rows are the hook events that Claude Code 2.1 documents, in the order of a session's life. Each hook gets one
//! JSON object on standard input.

use super::super::observation::Ask;
use super::effect::{Effect, Ignored, STOP_FAILURE};
use super::event::ChildStep;
use super::table::{
    Adapter, Children, Kind, Row, Rule, SESSION_ENDS, SESSION_SOURCES, always, by_word, child, silent,
};

pub(super) static ADAPTER: Adapter = Adapter {
    names: &["claude", "claude-code"],
    executables: &["claude", "claude.exe"],
    members: &["hook_event_name", "agent_id", "source", "reason", "tool_name", "notification_type"],
    kinds: &[Kind { named_by: "hook_event_name", rows: HOOKS }],
    // Absent means the main thread. A subagent's events carry its parent's session id, so nothing else tells them
    // apart.
    children: Children::Marked("agent_id"),
};

const HOOKS: &[Row] = &[
    // A preparation run of its own, before or without a session.
    silent("Setup"),
    by_word("SessionStart", "source", SESSION_SOURCES, Effect::Idle),
    silent("InstructionsLoaded"),
    always("UserPromptSubmit", Effect::Active),
    // A command that a person typed becomes a prompt; the turn has begun.
    always("UserPromptExpansion", Effect::Active),
    // Text appears while a turn runs and after it; it arrives late and in parts.
    silent("MessageDisplay"),
    // The two tools whose whole work is to wait for a person, between this event and the tool's end. For any other
    // tool nobody is waited for yet.
    by_word("PreToolUse", "tool_name", ASKING_TOOLS, Effect::Active),
    // Both tools go through the permission dialog as well; what the person sees there is the question or the plan.
    by_word("PermissionRequest", "tool_name", ASKING_TOOLS, Effect::Asking(Ask::Permission)),
    // Auto mode has refused without asking anybody; the model goes on.
    always("PermissionDenied", Effect::Active),
    // The person has answered if one was asked. No payload says which of several calls at once waits for a
    // permission; where another one still does, its reminder restores the ask some seconds later.
    always("PostToolUse", Effect::Active),
    // Sent in place of the former. What follows is the model's to decide.
    always("PostToolUseFailure", Effect::Active),
    always("PostToolBatch", Effect::Active),
    // A form or an address from an MCP server, during a tool call; then the answer goes back and the call goes on.
    always("Elicitation", Effect::Asking(Ask::Question)),
    always("ElicitationResult", Effect::Active),
    Row {
        event: "Notification",
        rule: Rule::ByWord {
            member: "notification_type",
            words: NOTIFICATIONS,
            unknown: Effect::Nothing(Ignored::UnknownNotification),
            missing: Effect::Nothing(Ignored::UntypedNotification),
        },
    },
    child("SubagentStart", ChildStep::Started),
    child("SubagentStop", ChildStep::Stopped),
    // Entries of the shared task list and the other members of a team: not this session's turn.
    silent("TaskCreated"),
    silent("TaskCompleted"),
    silent("TeammateIdle"),
    always("Stop", Effect::Idle),
    // Sent in place of the former when the provider's error ended the turn.
    always("StopFailure", Effect::IdleBecause(STOP_FAILURE)),
    always("PreCompact", Effect::Compacting),
    always("PostCompact", Effect::Compacted),
    // Surroundings.
    silent("PreModelSwitch"),
    silent("PostModelSwitch"),
    silent("ConfigChange"),
    silent("CwdChanged"),
    silent("DirectoryAdded"),
    silent("FileChanged"),
    silent("WorktreeCreate"),
    silent("WorktreeRemove"),
    by_word("SessionEnd", "reason", SESSION_ENDS, Effect::Ended("other")),
];

const ASKING_TOOLS: &[(&str, Effect)] =
    &[("AskUserQuestion", Effect::Asking(Ask::Question)), ("ExitPlanMode", Effect::Asking(Ask::Review))];

/// The typed field alone decides; the message is for people. A type that is not here is counted.
const NOTIFICATIONS: &[(&str, Effect)] = &[
    // Comes after every turn that nobody answers for a minute. Not an ask: taking it for one shows every finished
    // session as waiting for a person.
    ("idle_prompt", Effect::StillIdle),
    ("permission_prompt", Effect::StillAsking),
    ("elicitation_dialog", Effect::Asking(Ask::Question)),
    ("elicitation_url_dialog", Effect::Asking(Ask::Question)),
    // The MCP server says so when the browser is done, maybe long after the call that asked; it must not begin a
    // turn that nobody began.
    ("elicitation_complete", Effect::Answered),
    ("elicitation_response", Effect::Active),
    // A paused turn is continued, waits for a key first, or is given up.
    ("quota_auto_resume_fired", Effect::Active),
    ("quota_auto_resume_stale", Effect::StillIdle),
    ("quota_auto_resume_disabled", Effect::StillIdle),
    // Other sessions, and the log-in.
    ("agent_needs_input", Effect::Nothing(Ignored::NoChange)),
    ("agent_completed", Effect::Nothing(Ignored::NoChange)),
    ("auth_success", Effect::Nothing(Ignored::NoChange)),
];
