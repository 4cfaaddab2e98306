//! OpenCode: the events of its plugin API (HS-111).
//!
//! The rows are the events that OpenCode 1.18 documents, in the description of its server's API and on its plugin
//! page, in the order of a session's life. OpenCode has no hooks that are programs: a plugin inside it gets each event
//! as an object and hands it on, as `{"event": …}`; what such an event says stands under `event.properties`.
//!
//! The functions that a plugin may register besides (`tool.execute.before`, `chat.message` and so on) are no events
//! and not handed on. Nothing is lost: a prompt and each step show as `session.status`, a wait for a person as its
//! own event. And the end of an aborted tool would mislead, since it comes after the turn's.

use super::super::observation::Ask;
use super::effect::{Effect, INTERRUPTED, Ignored, STOP_FAILURE};
use super::table::{Adapter, Children, Kind, Row, always, by_word, silent};

pub(super) static ADAPTER: Adapter = Adapter {
    names: &["opencode"],
    executables: &["opencode", "opencode.exe"],
    members: &[
        "event.type",
        "event.properties.status.type",
        "event.properties.error.name",
        "session.parentID",
        "session.id",
    ],
    kinds: &[Kind { named_by: "event.type", rows: EVENTS }],
    // An event names its session and not that session's parent, which only the creation and updates of the session
    // tell; the plugin remembers it and puts it beside the event.
    children: Children::Sessions { parent: "session.parentID", id: "session.id" },
};

const EVENTS: &[Row] = &[
    // A conversation begins; of a child session, the subagent does.
    always("session.created", Effect::Ready),
    by_word("session.status", "event.properties.status.type", STATUS, Effect::Nothing(Ignored::NoChange)),
    always("permission.asked", Effect::Asking(Ask::Permission)),
    always("permission.v2.asked", Effect::Asking(Ask::Permission)),
    // The name in older versions.
    always("permission.updated", Effect::Asking(Ask::Permission)),
    // Whatever the reply: after a refusal the turn's end follows, where it ends, and nothing says how many others
    // still wait.
    always("permission.replied", Effect::Answered),
    always("permission.v2.replied", Effect::Answered),
    always("question.asked", Effect::Asking(Ask::Question)),
    always("question.v2.asked", Effect::Asking(Ask::Question)),
    always("question.replied", Effect::Answered),
    always("question.v2.replied", Effect::Answered),
    always("question.rejected", Effect::Answered),
    always("question.v2.rejected", Effect::Answered),
    by_word("session.error", "event.properties.error.name", ERRORS, Effect::Nothing(Ignored::NoChange)),
    // Says again what `session.status` has said before; older versions know it alone.
    always("session.idle", Effect::StillIdle),
    // A compaction is a part of a turn, whose status is told as ever.
    silent("session.compacted"),
    silent("session.updated"),
    silent("session.diff"),
    // Any conversation may be deleted from the list; the program stays.
    silent("session.deleted"),
    silent("message.updated"),
    silent("message.removed"),
    silent("message.part.updated"),
    silent("message.part.delta"),
    silent("message.part.removed"),
    silent("todo.updated"),
    silent("command.executed"),
    // Steps of a turn in finer parts, for clients that draw them.
    silent("session.next.agent.switched"),
    silent("session.next.model.switched"),
    silent("session.next.moved"),
    silent("session.next.prompt.admitted"),
    silent("session.next.prompted"),
    silent("session.next.context.updated"),
    silent("session.next.synthetic"),
    silent("session.next.shell.started"),
    silent("session.next.shell.ended"),
    silent("session.next.step.started"),
    silent("session.next.step.ended"),
    silent("session.next.step.failed"),
    silent("session.next.text.started"),
    silent("session.next.text.delta"),
    silent("session.next.text.ended"),
    silent("session.next.reasoning.started"),
    silent("session.next.reasoning.delta"),
    silent("session.next.reasoning.ended"),
    silent("session.next.tool.input.started"),
    silent("session.next.tool.input.delta"),
    silent("session.next.tool.input.ended"),
    silent("session.next.tool.called"),
    silent("session.next.tool.progress"),
    silent("session.next.tool.success"),
    silent("session.next.tool.failed"),
    silent("session.next.retried"),
    silent("session.next.compaction.started"),
    silent("session.next.compaction.delta"),
    silent("session.next.compaction.ended"),
    silent("session.next.revert.staged"),
    silent("session.next.revert.cleared"),
    silent("session.next.revert.committed"),
    // Surroundings. An instance is also disposed of when its settings change, so that it is no end of the program.
    silent("server.connected"),
    silent("server.instance.disposed"),
    silent("global.disposed"),
    silent("installation.updated"),
    silent("installation.update-available"),
    silent("project.updated"),
    silent("project.directories.updated"),
    silent("workspace.ready"),
    silent("workspace.failed"),
    silent("workspace.status"),
    silent("worktree.ready"),
    silent("worktree.failed"),
    silent("vcs.branch.updated"),
    silent("file.edited"),
    silent("file.watcher.updated"),
    silent("lsp.updated"),
    silent("lsp.client.diagnostics"),
    silent("mcp.tools.changed"),
    silent("mcp.browser.open.failed"),
    silent("plugin.added"),
    silent("catalog.updated"),
    silent("reference.updated"),
    silent("integration.updated"),
    silent("integration.connection.updated"),
    silent("models-dev.refreshed"),
    silent("pty.created"),
    silent("pty.updated"),
    silent("pty.exited"),
    silent("pty.deleted"),
    silent("tui.prompt.append"),
    silent("tui.command.execute"),
    silent("tui.session.select"),
    silent("tui.toast.show"),
];

/// Said at each step of a turn, and when it is over. An error that ended the turn has been told before and stays as
/// its reason.
const STATUS: &[(&str, Effect)] = &[
    ("busy", Effect::Active),
    // The provider failed and is asked again after a while; nobody has to do anything.
    ("retry", Effect::Active),
    ("idle", Effect::StillIdle),
];

/// What ended a turn, told before its status is idle. Errors of another name are not always a session's: one of the
/// program itself is an `UnknownError` too.
const ERRORS: &[(&str, Effect)] = &[
    ("MessageAbortedError", Effect::IdleBecause(INTERRUPTED)),
    ("APIError", Effect::IdleBecause(STOP_FAILURE)),
    ("ProviderAuthError", Effect::IdleBecause(STOP_FAILURE)),
    ("ContextOverflowError", Effect::IdleBecause(STOP_FAILURE)),
    ("ContentFilterError", Effect::IdleBecause(STOP_FAILURE)),
    ("MessageOutputLengthError", Effect::IdleBecause(STOP_FAILURE)),
    ("StructuredOutputError", Effect::IdleBecause(STOP_FAILURE)),
];
