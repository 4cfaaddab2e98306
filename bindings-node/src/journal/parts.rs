//! The plain objects of a journal that go to JavaScript and come from it. Conversions only.

use gallivant_core::journal::{
    Appended, Checked, Frame, Gap, GapReason, Owner, Part, Placed, Position, Projected, Recovered, Row,
    RowContent, Window,
};
use gallivant_core::{Code, Error, Result};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

/// Whose journal it is.
#[napi(object, object_to_js = false)]
#[derive(Debug)]
pub struct OwnerParts {
    /// The task.
    pub task_id: String,
    /// The run.
    pub run_id: String,
    /// The provider.
    pub provider: String,
    /// The provider's job.
    pub job_id: Option<String>,
    /// The provider's root turn.
    pub turn_id: Option<String>,
}

impl From<OwnerParts> for Owner {
    fn from(parts: OwnerParts) -> Self {
        let OwnerParts { task_id, run_id, provider, job_id, turn_id } = parts;
        Owner { task_id, run_id, provider, job_id, turn_id }
    }
}

fn gap_reason(word: &str) -> Result<GapReason> {
    GapReason::from_word(word).ok_or_else(|| unknown_word("reason", word))
}

fn unknown_word(name: &str, given: &str) -> Error {
    let shown: String = given.chars().take(32).collect();
    Error::new(
        Code::ExecutionInput,
        format!("there is no such word, argument=`{name}` given=`{}`", shown.escape_debug()),
    )
}

/// A place between two records.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct PositionParts {
    /// Bytes of `events.jsonl` before it.
    pub offset: BigInt,
    /// The number of the last record before it.
    pub sequence: BigInt,
}

impl From<Position> for PositionParts {
    fn from(position: Position) -> Self {
        PositionParts { offset: position.offset.into(), sequence: position.sequence.into() }
    }
}

/// Where an event of a page stands.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct PlacedParts {
    /// Its ingestion number.
    pub sequence: BigInt,
    /// `recorded`, `oversized` or `known`.
    pub how: &'static str,
}

impl From<Placed> for PlacedParts {
    fn from(placed: Placed) -> Self {
        PlacedParts { sequence: placed.sequence.into(), how: placed.how.word() }
    }
}

/// What an append has come to.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct AppendedParts {
    /// Where each event stands, in the page's order.
    pub placed: Vec<PlacedParts>,
    /// The end of the journal.
    pub end: PositionParts,
}

impl From<Appended> for AppendedParts {
    fn from(appended: Appended) -> Self {
        AppendedParts {
            placed: appended.placed.into_iter().map(PlacedParts::from).collect(),
            end: appended.end.into(),
        }
    }
}

/// What a recovery found and did.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct RecoveredParts {
    /// How many records of a pending batch were there.
    pub kept: BigInt,
    /// Whether a gap took the place of the first one that was not.
    pub gap: bool,
    /// The end of the journal.
    pub end: PositionParts,
}

impl From<Recovered> for RecoveredParts {
    fn from(recovered: Recovered) -> Self {
        RecoveredParts { kept: recovered.kept.into(), gap: recovered.gap, end: recovered.end.into() }
    }
}

/// What a projection holds.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct ProjectedParts {
    /// The oldest number that it has an entry for.
    pub first: BigInt,
    /// The number of the entry that comes next.
    pub next: BigInt,
    /// Bytes of `job.log`.
    pub bytes: BigInt,
}

impl From<Projected> for ProjectedParts {
    fn from(projected: Projected) -> Self {
        ProjectedParts {
            first: projected.first.into(),
            next: projected.next.into(),
            bytes: projected.bytes.into(),
        }
    }
}

/// A range of bytes.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct RangeParts {
    /// The first one.
    pub from: BigInt,
    /// The one behind the last.
    pub to: BigInt,
}

/// Something that is missing.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct GapParts {
    /// The first number that it stands for.
    pub from: BigInt,
    /// The last one.
    pub to: BigInt,
    /// Why.
    pub reason: &'static str,
    /// Its bytes in `events.jsonl`.
    pub bytes: RangeParts,
}

impl From<Gap> for GapParts {
    fn from(gap: Gap) -> Self {
        let bytes = RangeParts { from: gap.bytes.start.into(), to: gap.bytes.end.into() };
        GapParts { from: gap.from.into(), to: gap.to.into(), reason: gap.reason.word(), bytes }
    }
}

/// A batch that was announced and not acknowledged.
#[napi(object, object_from_js = false)]
#[derive(Debug)]
pub struct PendingParts {
    /// How many records it has.
    pub records: BigInt,
    /// How many of them are there whole.
    pub kept: BigInt,
}

/// What a check has found.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct CheckedParts {
    /// What is acknowledged.
    pub end: PositionParts,
    /// Good records that are no gaps.
    pub records: BigInt,
    /// Every gap and every damage, in the file's order.
    pub gaps: Vec<GapParts>,
    /// The batch that waits behind the acknowledged bytes.
    pub pending: Option<PendingParts>,
}

impl From<Checked> for CheckedParts {
    fn from(checked: Checked) -> Self {
        let pending = checked
            .pending
            .map(|batch| PendingParts { records: batch.records.into(), kept: batch.kept.into() });
        CheckedParts {
            end: checked.end.into(),
            records: checked.records.into(),
            gaps: checked.gaps.into_iter().map(GapParts::from).collect(),
            pending,
        }
    }
}

/// One row of a window.
#[napi(object)]
#[derive(Debug)]
pub struct RowParts {
    /// What stands for it as a cursor.
    pub id: Option<String>,
    /// `line` or `gap`.
    pub kind: String,
    /// A line's text.
    pub text: Option<String>,
    /// Why something is missing.
    pub reason: Option<String>,
}

impl From<Row> for RowParts {
    fn from(row: Row) -> Self {
        let kind = row.content.kind();
        let (text, reason) = match row.content {
            RowContent::Line(text) => (Some(text), None),
            RowContent::Gap(reason) => (None, reason.map(|reason| reason.word().to_owned())),
        };
        RowParts { id: row.id, kind: kind.to_owned(), text, reason }
    }
}

impl TryFrom<RowParts> for Row {
    type Error = Error;

    fn try_from(parts: RowParts) -> Result<Self> {
        let content = match parts.kind.as_str() {
            "line" => RowContent::Line(parts.text.unwrap_or_default()),
            "gap" => RowContent::Gap(parts.reason.as_deref().map(gap_reason).transpose()?),
            other => return Err(unknown_word("kind", other)),
        };
        Ok(Row { id: parts.id, content })
    }
}

/// Some rows that stand side by side.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct WindowParts {
    /// The rows, the oldest first.
    pub rows: Vec<RowParts>,
    /// The cursor for the next older window.
    pub before: Option<String>,
    /// The cursor for what follows.
    pub after: Option<String>,
}

impl From<Window> for WindowParts {
    fn from(window: Window) -> Self {
        let rows = window.rows.into_iter().map(RowParts::from).collect();
        WindowParts { rows, before: window.before, after: window.after }
    }
}

/// One frame of a replay.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct FrameParts {
    /// The row's id.
    pub id: Option<String>,
    /// `line`, `gap` or `heartbeat`.
    pub event: &'static str,
    /// The row as one line of JSON.
    pub data: String,
}

impl From<Frame> for FrameParts {
    fn from(frame: Frame) -> Self {
        FrameParts { id: frame.id, event: frame.event, data: frame.data }
    }
}

/// One line of a row, as it is displayed.
#[napi(object)]
#[derive(Debug)]
pub struct PartParts {
    /// The row's id.
    pub id: String,
    /// Which part of the row it is.
    pub position: u32,
    /// What it shows.
    pub text: String,
    /// Whether it stands for something that is missing.
    pub is_gap: bool,
}

impl From<Part> for PartParts {
    fn from(part: Part) -> Self {
        PartParts { id: part.id, position: part.position, text: part.text, is_gap: part.is_gap }
    }
}

impl From<PartParts> for Part {
    fn from(parts: PartParts) -> Self {
        Part { id: parts.id, position: parts.position, text: parts.text, is_gap: parts.is_gap }
    }
}
