//! The form of a harness's table, and the look-up in it.

use super::effect::{Effect, Ignored};
use super::event::{Child, ChildStep, Event};
use crate::error::{Result, one_line};
use crate::json::lenient::{Member, Object};

/// Everything that is known of one harness's events. Data only, so that a reviewer reads what happens when.
#[derive(Debug)]
pub(super) struct Adapter {
    /// The harness's names, its own first.
    pub(super) names: &'static [&'static str],
    /// What its program's file may be called: the executable's, and the script's where an interpreter runs it.
    pub(super) executables: &'static [&'static str],
    /// The members of a payload that the table uses, nested ones by their path. A member outside this list is never
    /// looked at.
    pub(super) members: &'static [&'static str],
    /// The kinds of events, told apart by the member that names the event; the first one that is there decides.
    pub(super) kinds: &'static [Kind],
    /// How a subagent's events are told from the main thread's.
    pub(super) children: Children,
}

/// How a harness tells its subagents' events from the main thread's.
#[derive(Debug)]
pub(super) enum Children {
    /// It does not.
    Untold,
    /// This member is in a subagent's own events and in no others: the subagent's id.
    Marked(&'static str),
    /// A subagent is a session of its own, whose events say of it what they would say of the turn. The member
    /// `parent` is in a child session's events and in no others; its own id stands under `id`.
    Sessions { parent: &'static str, id: &'static str },
}

/// Events whose name stands under one member.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) named_by: &'static str,
    pub(super) rows: &'static [Row],
}

/// One event and what it says.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) event: &'static str,
    pub(super) rule: Rule,
}

/// How an event's effect is found.
#[derive(Debug)]
pub(super) enum Rule {
    /// It is the same each time.
    Always(Effect),
    /// The word under `member` decides. What is there without being a string counts as missing.
    ByWord {
        member: &'static str,
        words: &'static [(&'static str, Effect)],
        unknown: Effect,
        missing: Effect,
    },
    /// The event is about a subagent.
    Child(ChildStep),
}

/// A row whose effect is the same each time.
pub(super) const fn always(event: &'static str, effect: Effect) -> Row {
    Row { event, rule: Rule::Always(effect) }
}

/// A row of an event that is known to say nothing about the turn.
pub(super) const fn silent(event: &'static str) -> Row {
    always(event, Effect::Nothing(Ignored::NoChange))
}

/// A row whose effect depends on a word; a word that is unknown and one that is missing mean the same.
pub(super) const fn by_word(
    event: &'static str,
    member: &'static str,
    words: &'static [(&'static str, Effect)],
    otherwise: Effect,
) -> Row {
    Row { event, rule: Rule::ByWord { member, words, unknown: otherwise, missing: otherwise } }
}

/// A row of an event about a subagent.
pub(super) const fn child(event: &'static str, step: ChildStep) -> Row {
    Row { event, rule: Rule::Child(step) }
}

/// How a session starts, in the words that Claude Code coined and Codex took over. A session that continues an
/// older conversation waits for a prompt like one that has answered. After a compaction the same session goes on, so
/// what the compaction interrupted is restored.
pub(super) const SESSION_SOURCES: &[(&str, Effect)] = &[
    ("startup", Effect::Ready),
    ("resume", Effect::Idle),
    ("clear", Effect::Idle),
    ("fork", Effect::Idle),
    ("compact", Effect::Compacted),
];

/// How a session ends, in the same shared words. With `clear` and `resume` the process stays and another start
/// follows: the same incarnation goes on, although the harness gives it another session id.
/// `bypass_permissions_disabled` is a word of older versions.
pub(super) const SESSION_ENDS: &[(&str, Effect)] = &[
    ("clear", Effect::Nothing(Ignored::NoChange)),
    ("resume", Effect::Nothing(Ignored::NoChange)),
    ("logout", Effect::Ended("logout")),
    ("prompt_input_exit", Effect::Ended("prompt_input_exit")),
    ("bypass_permissions_disabled", Effect::Ended("bypass_permissions_disabled")),
    ("other", Effect::Ended("other")),
];

impl Adapter {
    pub(super) fn interpret(&self, payload: &[u8]) -> Result<Event> {
        let object = Object::parse(payload, self.members)?;
        let (given, rows) = self
            .kinds
            .iter()
            .find_map(|kind| object.text(kind.named_by).map(|name| (name, kind.rows)))
            .unwrap_or_default();
        let row = rows.iter().find(|row| row.event == given);
        let name = row.map_or_else(|| presentable(given), |row| row.event.to_owned());
        let lossy = object.lossy();
        if self.is_childs(&object) {
            let child = self.child(row, &object);
            return Ok(Event { name, effect: Effect::Nothing(Ignored::ChildEvent), child, lossy });
        }
        let effect = row.map_or(Effect::Nothing(Ignored::UnknownEvent), |row| row.effect(&object));
        Ok(Event { name, effect, child: None, lossy })
    }

    /// Whether a subagent speaks. An id of a wrong type still says that one does, and a child must never write the
    /// turn; null and the empty string say that there is none.
    fn is_childs(&self, object: &Object<'_>) -> bool {
        let mark = match self.children {
            Children::Untold => return false,
            Children::Marked(mark) => mark,
            Children::Sessions { parent, .. } => parent,
        };
        match object.member(mark) {
            Member::Absent | Member::Null => false,
            Member::Text(id) => !id.is_empty(),
            Member::Other => true,
        }
    }

    /// Which subagent speaks, and what that says of it; none where either is not told.
    fn child(&self, row: Option<&Row>, object: &Object<'_>) -> Option<Child> {
        let (id, step) = match self.children {
            Children::Untold => return None,
            Children::Marked(mark) => (mark, row.map_or(ChildStep::Working, Row::child_step)),
            Children::Sessions { id, .. } => (id, row?.effect(object).step()?),
        };
        let id = object.text(id).filter(|id| (1..=Child::MAX_ID).contains(&id.len()))?;
        Some(Child { id: id.to_owned(), step })
    }
}

impl Row {
    fn effect(&self, object: &Object<'_>) -> Effect {
        match &self.rule {
            Rule::Always(effect) => *effect,
            Rule::Child(_) => Effect::Nothing(Ignored::ChildEvent),
            Rule::ByWord { member, words, unknown, missing } => match object.text(member) {
                Some(given) => {
                    words.iter().find(|(word, _)| *word == given).map_or(*unknown, |(_, effect)| *effect)
                }
                None => *missing,
            },
        }
    }

    /// Whether the event leaves everything as it is, whatever else is in its payload.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.rule, Rule::Always(Effect::Nothing(_)))
    }

    fn child_step(&self) -> ChildStep {
        match self.rule {
            Rule::Child(step) => step,
            Rule::Always(_) | Rule::ByWord { .. } => ChildStep::Working,
        }
    }
}

/// An unknown name, short enough and plain enough for a line of a log.
fn presentable(name: &str) -> String {
    let beginning = name.char_indices().nth(Event::MAX_NAME).map_or(name, |(end, _)| &name[..end]);
    one_line(beginning).into_owned()
}
