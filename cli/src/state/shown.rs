//! One agent as a row, as JSON, and as an answer to `--is`.

use std::borrow::Cow;
use std::path::Path;

use gallivant_core::harness_state::{Ask, BlockedOn, DerivedRef, InputBuffer, State};
use gallivant_core::json::canonical::write_string;

use crate::arguments::Seen;
use crate::moments::ago;
use crate::table::{Cell, Table};
use crate::terminal::{Tone, printable};

pub(super) const HEADINGS: [&str; 5] = ["AGENT", "STATE", "FOR", "HARNESS", "WHY"];

/// The path of an agent as it is shown: below its root as that was given.
pub(super) fn path_below<'a>(root: &Path, path: &'a str) -> Cow<'a, str> {
    match (root.as_os_str().is_empty() || root == Path::new("."), path) {
        (true, path) => path.into(),
        (false, ".") => root.display().to_string().into(),
        (false, path) => root.join(path).display().to_string().into(),
    }
}

/// The path of an agent below the only root; of the root itself its last name.
pub(super) fn path_in<'a>(root: &Path, path: &'a str) -> Cow<'a, str> {
    if path != "." {
        return path.into();
    }
    root.file_name().map_or_else(|| ".".into(), |name| name.to_string_lossy().into_owned().into())
}

/// What an agent is doing, and whether a person is waited for.
pub(super) fn doing(derived: &DerivedRef<'_>) -> Cow<'static, str> {
    match (derived.blocked_on, derived.ask) {
        (BlockedOn::Human, Ask::None | Ask::Unknown) => {
            format!("{}, waits for a person", derived.state.word()).into()
        }
        (BlockedOn::Human, ask) => format!("{}, asks for {}", derived.state.word(), asked_for(ask)).into(),
        _ => Cow::Borrowed(derived.state.word()),
    }
}

/// The writer's reason, the exit, or why the state is not known; empty where there is nothing to be said.
pub(super) fn why<'a>(derived: &DerivedRef<'a>) -> Cow<'a, str> {
    let mut why = match (derived.exit, derived.reason) {
        (Some(exit), Some(reason)) => Cow::Owned(format!("{exit}, {reason}")),
        (Some(text), None) | (None, Some(text)) => Cow::Borrowed(text),
        (None, None) => Cow::Borrowed(""),
    };
    if derived.input_buffer == InputBuffer::Nonempty {
        let is_alone = why.is_empty();
        why.to_mut().push_str(if is_alone { "text in its input line" } else { ", text in its input line" });
    }
    why
}

/// What is known of one agent, or that nothing is.
pub(super) fn add(table: &mut Table<5>, path: &str, derived: &DerivedRef<'_>, now_ms: u64) {
    let tone = match derived.state {
        _ if derived.blocked_on == BlockedOn::Human => Tone::Waiting,
        State::Unknown => Tone::Bad,
        State::Active | State::Child => Tone::Good,
        State::Ended => Tone::Faint,
        State::Ready | State::Idle => Tone::Plain,
    };
    table.push([
        Cell::plain(printable(path)),
        Cell::new(doing(derived), tone),
        Cell::plain(derived.since_ms.map_or_else(String::new, |since| ago(since, now_ms))),
        Cell::new(printable(derived.harness.unwrap_or_default()), Tone::Faint),
        Cell::plain(printable(&why(derived))),
    ]);
}

fn asked_for(ask: Ask) -> &'static str {
    match ask {
        Ask::Permission => "a permission",
        Ask::Question => "an answer",
        Ask::Review => "a review",
        Ask::None | Ask::Unknown => "something",
    }
}

/// One JSON object on a line: the words of the record, and what a reader concludes. The token is left out.
pub(super) fn write_json(path: &str, derived: Option<&DerivedRef<'_>>, out: &mut String) {
    out.push_str("{\"path\":");
    write_string(path, out);
    let Some(derived) = derived else {
        out.push_str(",\"state\":null}\n");
        return;
    };
    let words = [
        ("state", Some(derived.state.word())),
        ("blockedOn", Some(derived.blocked_on.word())),
        ("ask", Some(derived.ask.word())),
        ("inputBuffer", Some(derived.input_buffer.word())),
        ("reason", derived.unknown.map(|unknown| unknown.word()).or(derived.reason)),
        ("exit", derived.exit),
        ("harness", derived.harness),
    ];
    for (name, word) in words {
        name_of(name, out);
        match word {
            Some(word) => write_string(word, out),
            None => out.push_str("null"),
        }
    }
    name_of("isUnknown", out);
    out.push_str(if derived.unknown.is_some() { "true" } else { "false" });
    let numbers = [
        ("sinceMs", derived.since_ms),
        ("observedAtMs", derived.observed_at_ms),
        ("validUntilMs", derived.valid_until_ms),
        ("ownershipSequence", derived.ownership_sequence),
        ("transitionSequence", derived.transition_sequence),
    ];
    for (name, number) in numbers {
        name_of(name, out);
        match number {
            Some(number) => out.push_str(&number.to_string()),
            None => out.push_str("null"),
        }
    }
    out.push_str("}\n");
}

fn name_of(name: &str, out: &mut String) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}

/// Whether an agent is in one of these states.
pub(super) fn is_one_of(derived: &DerivedRef<'_>, asked: &[Seen]) -> bool {
    asked.iter().any(|asked| match asked {
        Seen::Ready => derived.state == State::Ready,
        Seen::Idle => derived.state == State::Idle,
        Seen::Active => derived.state == State::Active,
        Seen::Child => derived.state == State::Child,
        Seen::Ended => derived.state == State::Ended,
        Seen::Unknown => derived.state == State::Unknown,
        Seen::Blocked => derived.blocked_on == BlockedOn::Human,
    })
}
