//! What of a projection cannot be shown: every acknowledged line and entry, looked at. Writes nothing.

use std::path::Path;

use super::error::io_error;
use super::event::GapReason;
use super::index::{INDEX, Meta, PROJECTED};
use super::tail::{Log, LogReader};
use super::window::{MAX_DATA_BYTES, MAX_ROWS, RowContent};
use crate::error::Result;
use crate::host::Host;
use crate::storage::DataFile;

/// Bytes of `job.log` that are looked at in one go.
const PIECE: u64 = 64 * 1024;

/// Why acknowledged lines cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectionDamage {
    /// One line for people.
    pub(crate) what: String,
    /// Whether the next catch-up makes it good by itself. It looks at lengths and at no line.
    pub(crate) mends_itself: bool,
}

/// Looks at the lines and the index of a run's directory; none where all that is acknowledged can be shown, or nothing is.
///
/// # Errors
/// As [`LogReader::tail`].
pub(crate) fn check_projection(directory: &Path, host: &Host) -> Result<Option<ProjectionDamage>> {
    LogReader::open(directory, host)?.stable(|log| match log {
        Log::Indexed { meta, lines, index } if meta.next > meta.first => {
            if let Some(short) = too_short(INDEX, index.as_deref(), meta.index_bytes())?.or(too_short(
                PROJECTED,
                lines.as_deref(),
                meta.log_bytes,
            )?) {
                return Ok(Some(ProjectionDamage { what: short, mends_itself: true }));
            }
            Ok(misfit(log, meta, lines.as_deref())?
                .map(|what| ProjectionDamage { what, mends_itself: false }))
        }
        Log::Indexed { .. } | Log::Nothing | Log::Legacy(_) => Ok(None),
    })
}

fn too_short(name: &str, file: Option<&dyn DataFile>, acknowledged: u64) -> Result<Option<String>> {
    let Some(file) = file else {
        return Ok((acknowledged > 0).then(|| format!("the file is missing, file=`{name}`")));
    };
    let size = file.size().map_err(|error| io_error("the projection cannot be looked at", error))?;
    let short = size < acknowledged;
    Ok(short.then(|| {
        format!("the file is too short, file=`{name}` bytes=`{size}` acknowledged=`{acknowledged}`")
    }))
}

/// Where lines and entries do not fit each other.
fn misfit(log: &Log, meta: &Meta, lines: Option<&dyn DataFile>) -> Result<Option<String>> {
    let (mut from, mut entries, mut corrupt) = (meta.first, 0_u64, 0_u64);
    while from < meta.next {
        let (window, next) = log.forward(from, MAX_ROWS, MAX_DATA_BYTES)?;
        for row in &window.rows {
            entries += u64::from(row.content != RowContent::Gap(None));
            corrupt += u64::from(row.content == RowContent::Gap(Some(GapReason::CorruptRecord)));
        }
        if next <= from {
            break;
        }
        from = next;
    }
    let known = count_lines(lines, meta.log_bytes)?;
    if corrupt == 0 && known == entries {
        return Ok(None);
    }
    Ok(Some(format!(
        "the lines do not fit their index, corrupt=`{corrupt}` lines=`{known}` indexed=`{entries}`"
    )))
}

fn count_lines(lines: Option<&dyn DataFile>, bytes: u64) -> Result<u64> {
    let Some(lines) = lines else { return Ok(0) };
    let (mut at, mut count) = (0, 0);
    while at < bytes {
        let mut piece = vec![0; usize::try_from(PIECE.min(bytes - at)).unwrap_or(usize::MAX)];
        let read =
            lines.read_at(at, &mut piece).map_err(|error| io_error("job.log cannot be read", error))?;
        if read == 0 {
            break;
        }
        count += memchr::memchr_iter(b'\n', &piece[..read]).count() as u64;
        at += read as u64;
    }
    Ok(count)
}
