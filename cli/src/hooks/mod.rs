//! `gallivant hooks`: the hooks in a harness's settings, put in and taken out.
//!
//! - this file: what is done, and the difference that is shown first; [`settings`]: which file, and what it is to hold;
//! - [`edit`]: edits of a settings text; [`file`](mod@file): reading and replacing it.

mod edit;
mod file;
mod settings;

use std::io::{self, IsTerminal, Write};

use similar::{ChangeTag, TextDiff};

use crate::arguments::{Change, Harness, Hooks};
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::{Screen, Tone, say};
use edit::Presence;
use file::Found;
use settings::{Content, Settings};

/// Lines of the file around a difference.
const CONTEXT: usize = 3;
/// What no file, and an empty one, counts as.
const NOTHING: &str = "{}\n";

pub(crate) fn hooks(asked: &Hooks, screen: &Screen) -> Result<Outcome> {
    let place = match asked {
        Hooks::Show(place) => place,
        Hooks::Install(change) | Hooks::Remove(change) => &change.place,
    };
    let settings = Settings::of(place)?;
    let found = Found::read(&settings.path)?;
    match asked {
        Hooks::Show(_) => show(&settings, &found),
        Hooks::Install(asked) => {
            let outcome = change(&settings, &found, installed(&settings, &found)?, asked, screen)?;
            if place.harness == Harness::Codex {
                say("Codex skips hooks that were not reviewed: review them in it when it asks")?;
            }
            Ok(outcome)
        }
        Hooks::Remove(asked) => {
            let next = removed(&settings, &found)?;
            let is_gone = next.is_none();
            let outcome = change(&settings, &found, next, asked, screen)?;
            if is_gone && outcome == Outcome::Yes {
                settings.remove_empty_folders();
            }
            Ok(outcome)
        }
    }
}

fn show(settings: &Settings, found: &Found) -> Result<Outcome> {
    let parts = match (&settings.content, found.text()) {
        (Content::Json(wanted), text) => {
            edit::compare(text.map_or(NOTHING, filled), wanted).map_err(|why| unfit(settings, &why))?
        }
        (Content::Whole(whole), Some(text)) if text == *whole => vec![("plugin".to_owned(), Presence::There)],
        (Content::Whole(_), None) => vec![("plugin".to_owned(), Presence::Missing)],
        (Content::Whole(_), Some(_)) => return Err(another(settings)),
    };
    say(&settings.path.display().to_string())?;
    for (path, presence) in &parts {
        say(&format!("  {:12}{path}", presence.word()))?;
    }
    if parts.iter().any(|(_, presence)| *presence == Presence::NoProgram) {
        say("no-program: the command starts a program that does not exist; install replaces it")?;
    }
    Ok(Outcome::of(parts.iter().all(|(_, presence)| *presence == Presence::There)))
}

/// The text with the hooks.
fn installed(settings: &Settings, found: &Found) -> Result<Option<String>> {
    match (&settings.content, found.text()) {
        (Content::Json(wanted), None) => Ok(Some(edit::made(wanted))),
        (Content::Json(wanted), Some(text)) => {
            edit::merge(filled(text), wanted).map(Some).map_err(|why| unfit(settings, &why))
        }
        (Content::Whole(whole), None) => Ok(Some((*whole).to_owned())),
        (Content::Whole(whole), Some(text)) if text == *whole => Ok(Some(text.to_owned())),
        (Content::Whole(_), Some(_)) => Err(another(settings)),
    }
}

/// The text without them; none where nothing is left of it.
fn removed(settings: &Settings, found: &Found) -> Result<Option<String>> {
    match (&settings.content, found.text()) {
        (_, None) => Ok(None),
        (Content::Json(_), Some(text)) if filled(text) == NOTHING => Ok(Some(text.to_owned())),
        (Content::Json(wanted), Some(text)) => {
            edit::unmerge(text, wanted).map_err(|why| unfit(settings, &why))
        }
        (Content::Whole(whole), Some(text)) => Ok(Some(text.to_owned()).filter(|text| text != whole)),
    }
}

/// The text of a settings file; an empty one counts as an empty object.
fn filled(text: &str) -> &str {
    if text.trim().is_empty() { NOTHING } else { text }
}

/// Shows the difference, and writes it where that is wanted.
fn change(
    settings: &Settings,
    found: &Found,
    next: Option<String>,
    asked: &Change,
    screen: &Screen,
) -> Result<Outcome> {
    if next.as_deref() == found.text() {
        say(&format!("nothing to do: {}", settings.path.display()))?;
        return Ok(Outcome::Yes);
    }
    show_difference(settings, found.text().unwrap_or_default(), next.as_deref().unwrap_or_default(), screen)?;
    if !asked.yes && !is_wanted()? {
        say("nothing was written; write it with --yes")?;
        return Ok(Outcome::No);
    }
    found.replace(next.as_deref())?;
    let done = if next.is_some() { "written" } else { "removed" };
    say(&format!("{done}: {}", settings.path.display()))?;
    Ok(Outcome::Yes)
}

fn show_difference(settings: &Settings, old: &str, new: &str, screen: &Screen) -> io::Result<()> {
    let mut out = screen.out();
    let path = settings.path.display();
    writeln!(out, "--- {path}\n+++ {path}")?;
    let difference = TextDiff::from_lines(old, new);
    for group in difference.grouped_ops(CONTEXT) {
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            let lines = |from: usize, to: usize| format!("{},{}", from + 1, to - from);
            let old = lines(first.old_range().start, last.old_range().end);
            let new = lines(first.new_range().start, last.new_range().end);
            writeln!(out, "@@ -{old} +{new} @@")?;
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let (mark, tone) = match change.tag() {
                ChangeTag::Delete => ("-", Tone::Bad),
                ChangeTag::Insert => ("+", Tone::Good),
                ChangeTag::Equal => (" ", Tone::Plain),
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            writeln!(out, "{}", screen.paint(&format!("{mark}{line}"), tone))?;
        }
    }
    out.flush()
}

/// Asks the person at the terminal, where there is one.
fn is_wanted() -> io::Result<bool> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Ok(false);
    }
    let mut out = io::stdout().lock();
    write!(out, "write it? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn unfit(settings: &Settings, why: &str) -> Failure {
    let what = format!("{why}, file=`{}`", settings.path.display());
    Failure::Damaged(what, "look at the file, or name another one with --file; nothing was written")
}

fn another(settings: &Settings) -> Failure {
    let what = format!("another plugin stands there, file=`{}`", settings.path.display());
    Failure::Arguments(what, "look at the file, or name another one with --file; nothing was written")
}
