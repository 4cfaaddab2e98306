//! A window of the projection: its rows, its bounds, and the JSON of both (EX-JRN-61 to EX-JRN-63).

use super::event::GapReason;
use crate::json::Value;
use crate::json::canonical::write_string;

/// The most rows of one window (EX-JRN-61).
pub const MAX_ROWS: usize = 400;
/// The most bytes of data of one window (EX-JRN-61).
pub const MAX_DATA_BYTES: u64 = 262_144;
/// The most bytes of one encoded line; a longer one is a gap row (EX-JRN-61).
pub const MAX_LINE_BYTES: u64 = 65_536;
/// What a row costs beside its line, so that rows without one are bounded too.
pub(super) const ROW_BYTES: u64 = 64;

/// One row of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What stands for it as a cursor, for ever (EX-JRN-63). None for a gap without a number.
    pub id: Option<String>,
    /// What it shows.
    pub content: RowContent,
}

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowContent {
    /// A line's text.
    Line(String),
    /// Something is missing. A gap of the journal itself needs no reason.
    Gap(Option<GapReason>),
}

/// Some rows that stand side by side, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The rows.
    pub rows: Vec<Row>,
    /// The cursor for the next older window; none where there is nothing older.
    pub before: Option<String>,
    /// The cursor for what follows; none where the window holds no row with a number.
    pub after: Option<String>,
}

impl Window {
    /// The window as JSON: `{"rows","before","after"}` (EX-JRN-62).
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"rows\":[");
        for (at, row) in self.rows.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "," });
            out.push_str(&row.to_json());
        }
        out.push(']');
        for (key, cursor) in [("before", &self.before), ("after", &self.after)] {
            out.push_str(&format!(",\"{key}\":"));
            match cursor {
                Some(cursor) => write_string(cursor, &mut out),
                None => out.push_str("null"),
            }
        }
        out.push('}');
        out
    }
}

impl RowContent {
    /// `line` or `gap` (EX-JRN-62).
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            RowContent::Line(_) => "line",
            RowContent::Gap(_) => "gap",
        }
    }
}

impl Row {
    pub(super) fn gap(id: Option<String>, reason: Option<GapReason>) -> Self {
        Row { id, content: RowContent::Gap(reason) }
    }

    /// The row as one line of JSON: `{"id","kind","text"}` or `{"id","kind","reason"}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"id\":");
        match &self.id {
            Some(id) => write_string(id, &mut out),
            None => out.push_str("null"),
        }
        match &self.content {
            RowContent::Line(text) => {
                out.push_str(",\"kind\":\"line\",\"text\":");
                write_string(text, &mut out);
            }
            RowContent::Gap(reason) => {
                out.push_str(",\"kind\":\"gap\"");
                if let Some(reason) = reason {
                    out.push_str(",\"reason\":");
                    write_string(reason.word(), &mut out);
                }
            }
        }
        out.push('}');
        out
    }

    /// The row that [`Row::to_json`] has written, as a frame carries it; none for any other text.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Row> {
        let value = Value::parse(text).ok()?;
        let id = match value.get("id")? {
            Value::Null => None,
            id => Some(id.as_str()?.to_owned()),
        };
        let content = match value.get("kind")?.as_str()? {
            "line" => RowContent::Line(value.get("text")?.as_str()?.to_owned()),
            "gap" => RowContent::Gap(match value.get("reason") {
                Some(reason) => Some(GapReason::from_word(reason.as_str()?)?),
                None => None,
            }),
            _ => return None,
        };
        Some(Row { id, content })
    }
}
