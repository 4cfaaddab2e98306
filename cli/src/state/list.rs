//! Every agent once.

use std::io::Write;
use std::path::{Path, PathBuf};

use gallivant_core::Host;
use gallivant_core::harness_state::{EntryRef, FleetOptions, FleetProbe, LeftOut, Options, gather_fleet};

use super::shown;
use crate::arguments::State;
use crate::exit::{Outcome, Result};
use crate::table::Table;
use crate::terminal::{Screen, Tone};

/// More than so many threads do not read a disk faster.
const MOST_THREADS: usize = 4;

/// What is made of some of the agents.
#[derive(Default)]
struct Part {
    agents: usize,
    /// Of these the ones that are in none of the states that were asked for.
    others: usize,
    table: Option<Table<5>>,
    json: String,
}

pub(super) fn list(roots: &[PathBuf], asked: &State, screen: &Screen) -> Result<Outcome> {
    let host = Host::system();
    let probe = probe(asked);
    let is_one = roots.len() == 1;
    let is_asked = !asked.is.is_empty();
    let now_ms = host.clock.wall_ms();
    let mut table = Table::new(shown::HEADINGS);
    let mut out = screen.out();
    let mut written = Ok(());
    let (mut agents, mut others, mut left_out) = (0_usize, 0_usize, Vec::new());
    let bounds = FleetOptions { threads: threads(), ..bounds(asked) };
    for root in roots {
        let add = |part: &mut Part, entry: EntryRef<'_>| {
            part.agents += 1;
            if is_asked {
                part.others += usize::from(!shown::is_one_of(&entry.derived, &asked.is));
                return;
            }
            let path = if is_one && !asked.json {
                shown::path_in(root, entry.path)
            } else {
                shown::path_below(root, entry.path)
            };
            if asked.json {
                shown::write_json(&path, Some(&entry.derived), &mut part.json);
            } else {
                let table = part.table.get_or_insert_with(|| Table::new(shown::HEADINGS));
                shown::add(table, &path, &entry.derived, now_ms);
            }
        };
        let take = |part: Part| {
            agents += part.agents;
            others += part.others;
            if let Some(of_part) = &part.table {
                table.append(of_part);
            }
            if written.is_ok() {
                written = out.write_all(part.json.as_bytes());
            }
        };
        let summary = gather_fleet(root, &bounds, probe, &Options::default(), &host, add, take)?;
        if let Some(said) = left_out_of(root, &summary.left_out) {
            left_out.push(said);
        }
    }
    written?;
    if is_asked {
        return Ok(Outcome::of(agents > 0 && others == 0));
    }
    if asked.json {
        // Written already.
    } else if table.is_empty() {
        let places: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        writeln!(out, "no agents below {}", places.join(" "))?;
    } else {
        table.write(&mut out, screen, usize::MAX)?;
    }
    out.flush()?;
    for said in left_out {
        let _ = writeln!(std::io::stderr(), "gallivant: {said}");
    }
    Ok(Outcome::Yes)
}

/// One for each processor that this process may use.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().min(MOST_THREADS))
}

pub(super) fn bounds(asked: &State) -> FleetOptions {
    FleetOptions { max_depth: asked.depth, ..FleetOptions::default() }
}

pub(super) fn probe(asked: &State) -> FleetProbe {
    if asked.no_probe { FleetProbe::None } else { FleetProbe::Lease }
}

/// One line on what was not looked at.
pub(super) fn left_out_of(root: &Path, left_out: &LeftOut) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let counts = [
        (left_out.too_deep, "too deep"),
        (left_out.too_many, "too many"),
        (left_out.unreadable, "unreadable"),
        (left_out.unnameable, "of names that are not UTF-8"),
    ];
    let said: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let example = left_out.example.as_ref().map(|example| format!(": {example}")).unwrap_or_default();
    Some(format!("directories below {} were not looked at, {}{example}", root.display(), said.join(", ")))
}

/// A heading's tone for what a person has to look at.
pub(super) const NOTICE: Tone = Tone::Waiting;
