//! Why a reader concludes what it does, for JavaScript (HS-91).

use gallivant_core::harness_state::{Explanation, TriedRow};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use super::parts::RecordParts;

/// One row of the reading table, tried.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct RowParts {
    /// The clause that the row is.
    pub clause: &'static str,
    /// What it asks of the evidence.
    pub question: &'static str,
    /// Whether the evidence is so.
    pub matched: bool,
}

/// Why a reader concludes what it does.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct ExplanationParts {
    /// The conclusion in a word; null where nothing was ever observed.
    pub state: Option<&'static str>,
    /// The writer's reason, or why the state is not known.
    pub reason: Option<String>,
    /// The clause of the row that decided.
    pub clause: &'static str,
    /// When this answer next changes by time alone.
    pub valid_until_ms: Option<BigInt>,
    /// The instant for which it was concluded.
    pub at_ms: BigInt,
    /// How old the record's stamp is by the wall clock.
    pub age_ms: Option<BigInt>,
    /// The rows in the order in which they were tried.
    pub rows: Vec<RowParts>,
    /// The record, where one was read and decoded.
    pub record: Option<RecordParts>,
    /// Why there is no record although something stands there.
    pub damage: Option<String>,
    /// The whole as one JSON object.
    pub json: String,
    /// The whole as some lines for a person.
    pub text: String,
}

impl From<TriedRow> for RowParts {
    fn from(row: TriedRow) -> Self {
        RowParts { clause: row.clause, question: row.question, matched: row.matched }
    }
}

impl From<Explanation> for ExplanationParts {
    fn from(explanation: Explanation) -> Self {
        let derived = explanation.derived.as_ref();
        ExplanationParts {
            state: derived.map(|derived| derived.state.word()),
            reason: derived.and_then(|derived| derived.reason.as_deref()).map(str::to_owned),
            clause: explanation.clause(),
            valid_until_ms: derived.and_then(|derived| derived.valid_until_ms).map(BigInt::from),
            at_ms: explanation.at.wall_ms.into(),
            age_ms: explanation.age_ms().map(BigInt::from),
            rows: explanation.rows.iter().copied().map(RowParts::from).collect(),
            record: explanation.record.as_ref().map(RecordParts::from),
            damage: explanation.damage.clone(),
            json: explanation.to_json(),
            text: explanation.to_string(),
        }
    }
}
