//! Why a reader concludes what it does: the record, the clock, each row that was tried, the one that decided (HS-91).

use std::fmt;

use serde::Serialize;

use super::codec;
use super::derive::{Derived, Snapshot};
use super::moment::Moment;
use super::record::Record;
use crate::clock::length_in_words;

/// One row of the reading table, tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TriedRow {
    /// The clause of the specification that the row is.
    pub clause: &'static str,
    /// What it asks of the evidence, as a statement.
    pub question: &'static str,
    /// Whether the evidence is so; then the row decides.
    pub matched: bool,
}

/// Why a reader concludes what it does.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The conclusion; none when nothing was ever observed.
    pub derived: Option<Derived>,
    /// The rows in the order in which they were tried. The last one decided.
    pub rows: Vec<TriedRow>,
    /// The record, where one was read and decoded.
    pub record: Option<Record>,
    /// Why there is no record although something stands there.
    pub damage: Option<String>,
    /// The instant for which it was concluded.
    pub at: Moment,
}

impl Explanation {
    pub(super) fn new(
        derived: Option<Derived>,
        rows: Vec<TriedRow>,
        snapshot: &Snapshot,
        at: &Moment,
    ) -> Self {
        let record = snapshot.record().cloned();
        Explanation { derived, rows, record, damage: snapshot.damage(), at: at.clone() }
    }

    /// The clause of the row that decided.
    #[must_use]
    pub fn clause(&self) -> &'static str {
        self.rows.last().map_or("HS-70", |row| row.clause)
    }

    /// How old the record's stamp is by the wall clock, in ms; never below 0.
    #[must_use]
    pub fn age_ms(&self) -> Option<u64> {
        self.record.as_ref().map(|record| record.age_ms(self.at.wall_ms))
    }

    /// One JSON object: `state` `reason` `clause` `validUntilMs` `clock` `ageMs` `rows` `record` `damage`. The record's
    /// token, which is a secret of its session's, is left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        let record = self.record.as_ref().map_or_else(|| "null".to_owned(), shown);
        let record = serde_json::value::RawValue::from_string(record);
        let (state, reason, valid_until_ms) = self.derived.as_ref().map_or((None, None, None), conclusion);
        let written = Written {
            state,
            reason,
            clause: self.clause(),
            valid_until_ms,
            clock: Clock::from(&self.at),
            age_ms: self.age_ms(),
            rows: &self.rows,
            record: record.expect("null, or an encoded record, which is one JSON object"),
            damage: self.damage.as_deref(),
        };
        serde_json::to_string(&written).expect("strings and integers serialise")
    }
}

/// State, reason and the end of validity. Out of line, because inlined the reason would be looked at before it is known
/// that there is a conclusion: to no effect, and yet a memory checker reports it.
#[inline(never)]
fn conclusion(derived: &Derived) -> (Option<&'static str>, Option<&str>, Option<u64>) {
    (Some(derived.state.word()), derived.reason.as_deref(), derived.valid_until_ms)
}

/// The record as it is shown: without its token.
fn shown(record: &Record) -> String {
    let shown = Record { incarnation: String::new(), ..record.clone() };
    String::from_utf8_lossy(&codec::encode(&shown)).trim_end().to_owned()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    state: Option<&'static str>,
    reason: Option<&'a str>,
    clause: &'static str,
    valid_until_ms: Option<u64>,
    clock: Clock<'a>,
    age_ms: Option<u64>,
    rows: &'a [TriedRow],
    record: Box<serde_json::value::RawValue>,
    damage: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Clock<'a> {
    wall_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    awake_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
}

impl<'a> From<&'a Moment> for Clock<'a> {
    fn from(at: &'a Moment) -> Self {
        let machine = at.machine.as_ref();
        Clock {
            wall_ms: at.wall_ms,
            boot_id: machine.map(|machine| &*machine.boot_id),
            boot_ms: machine.map(|machine| machine.boot_ms),
            awake_ms: machine.map(|machine| machine.awake_ms),
            host: machine.map(|machine| &*machine.host),
        }
    }
}

/// Some lines for a person: the conclusion, the rows, the record's age.
impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (state, reason, _) = self.derived.as_ref().map_or((None, None, None), conclusion);
        write!(out, "{}", state.unwrap_or("none"))?;
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            write!(out, " ({reason})")?;
        }
        writeln!(out, ", by {}", self.clause())?;
        for row in &self.rows {
            let verdict = if row.matched { "yes" } else { "no " };
            writeln!(out, "  {verdict} {:6} {}", row.clause, row.question)?;
        }
        if let (Some(record), Some(age_ms)) = (&self.record, self.age_ms()) {
            let age = length_in_words(age_ms);
            writeln!(out, "  the record was stamped {age} ago, seq {}", record.seq)?;
        }
        match &self.damage {
            Some(damage) => writeln!(out, "  {damage}"),
            None => Ok(()),
        }
    }
}
