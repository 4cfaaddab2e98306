//! Gemini CLI: its hooks (HS-111).
//!
//! The rows are the hook events that Gemini CLI 0.61 documents, in the order of a session's life. Each hook gets one
//! JSON object on standard input, and Gemini CLI waits for most of them.

use super::super::observation::Ask;
use super::effect::{Effect, Ignored};
use super::table::{Adapter, Children, Kind, Row, Rule, always, by_word, silent};

pub(super) static ADAPTER: Adapter = Adapter {
    names: &["gemini", "gemini-cli"],
    executables: &["gemini", "gemini.js"],
    members: &["hook_event_name", "source", "reason", "tool_name", "notification_type"],
    kinds: &[Kind { named_by: "hook_event_name", rows: HOOKS }],
    // No member says that a subagent speaks.
    children: Children::Untold,
};

const HOOKS: &[Row] = &[
    by_word("SessionStart", "source", SESSION_STARTS, Effect::Idle),
    // A prompt is taken up.
    always("BeforeAgent", Effect::Active),
    // Sent with `auto` in every turn, whether anything is compressed or not, and nothing tells the end of it.
    silent("PreCompress"),
    // The model is also asked for purposes of the program's own, outside any turn.
    silent("BeforeModel"),
    silent("BeforeToolSelection"),
    // Sent for each piece of an answer.
    silent("AfterModel"),
    // Sent before a person is asked for anything. The two tools whose whole work is to wait for one are asked about
    // next, by a notification that calls them a permission too.
    by_word("BeforeTool", "tool_name", ASKING_TOOLS, Effect::Active),
    Row {
        event: "Notification",
        rule: Rule::ByWord {
            member: "notification_type",
            words: NOTIFICATIONS,
            unknown: Effect::Nothing(Ignored::UnknownNotification),
            missing: Effect::Nothing(Ignored::UntypedNotification),
        },
    },
    always("AfterTool", Effect::Active),
    always("AfterAgent", Effect::Idle),
    by_word("SessionEnd", "reason", SESSION_ENDS, Effect::Ended("other")),
];

/// How a session starts. One that continues an older conversation waits for a prompt like one that has answered.
const SESSION_STARTS: &[(&str, Effect)] =
    &[("startup", Effect::Ready), ("resume", Effect::Idle), ("clear", Effect::Idle)];

const ASKING_TOOLS: &[(&str, Effect)] =
    &[("ask_user", Effect::Asking(Ask::Question)), ("exit_plan_mode", Effect::Asking(Ask::Review))];

/// The typed field alone decides; the message is for people. A type that is not here is counted.
const NOTIFICATIONS: &[(&str, Effect)] = &[("ToolPermission", Effect::StillAsking)];

/// How a session ends. With `clear` the process stays and a start follows.
const SESSION_ENDS: &[(&str, Effect)] = &[
    ("clear", Effect::Nothing(Ignored::NoChange)),
    ("exit", Effect::Ended("exit")),
    ("logout", Effect::Ended("logout")),
    ("prompt_input_exit", Effect::Ended("prompt_input_exit")),
    ("other", Effect::Ended("other")),
];
