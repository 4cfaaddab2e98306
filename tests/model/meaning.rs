//! What the events of Claude Code say that depend on nothing but what stands (HS-110).

use crate::operation::{Event, Said};
use crate::record::Record;

/// What an event says, given what the session's own record says (HS-110).
pub(crate) fn meaning(event: Event, stands: Option<&Record>) -> Said {
    let asking = |ask| Said { blocked_on: "human", ask, ..Said::of("active") };
    match (event, stands) {
        (Event::Start, _) => Said::of("ready"),
        (Event::Stop, _) => Said::of("idle"),
        // A reminder is no news: idle stays idle with its reason.
        (Event::IdleReminder, Some(record))
            if record.state == "idle" && record.blocked_on == "none" && record.ask == "none" =>
        {
            Said::again(record)
        }
        (Event::IdleReminder, _) => Said::of("idle"),
        // Claude Code calls a question's reminder a permission too; the more precise ask stays.
        (Event::PermissionReminder, Some(record))
            if record.state == "active"
                && record.blocked_on == "human"
                && matches!(record.ask.as_str(), "question" | "review") =>
        {
            Said::again(record)
        }
        (Event::PermissionReminder | Event::PermissionAsked, _) => asking("permission"),
        (Event::QuestionAsked, _) => asking("question"),
        (Event::End, _) => Said { reason: Some("other"), exit: Some("session end"), ..Said::of("ended") },
        _ => Said::of("active"),
    }
}

impl Said {
    pub(crate) fn of(state: &'static str) -> Self {
        Said { state, blocked_on: "none", input_buffer: "unknown", ask: "none", reason: None, exit: None }
    }

    /// What a record says. The words of a run are few, and all known here.
    fn again(record: &Record) -> Self {
        let known = |word: &str| {
            let words =
                ["idle", "active", "none", "human", "empty", "nonempty", "question", "review", "unknown"];
            words.into_iter().find(|known| *known == word).expect("a word of a run")
        };
        let text = |text: &Option<String>| {
            let texts = ["", "r", "superseded", "exit 0", "exit 1", "signal 9"];
            text.as_deref()
                .map(|text| texts.into_iter().find(|known| *known == text).expect("a text of a run"))
        };
        Said {
            state: known(&record.state),
            blocked_on: known(&record.blocked_on),
            input_buffer: known(&record.input_buffer),
            ask: known(&record.ask),
            reason: text(&record.reason),
            exit: text(&record.exit),
        }
    }
}
