//! What Git prints with `-z`, taken apart: names end at NUL and are used as they are (EX-ART-24). Pure.

use crate::artifacts::tree::{Mode, Tracked};

/// A path by which two trees, or a tree and the index, differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Relative to the root of the checkout.
    pub path: Vec<u8>,
    /// Its mode before; `None` where it was not tracked.
    pub before: Option<Mode>,
    /// Its mode after; `None` where it is not tracked any more.
    pub after: Option<Mode>,
    /// The object after it, where there is one.
    pub object: Option<String>,
}

/// A path that is not as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Relative to the root of the checkout.
    pub path: Vec<u8>,
    /// Whether Git does not track it.
    pub is_untracked: bool,
    /// Whether the index differs from HEAD there.
    pub is_staged: bool,
    /// Whether merging it was not finished.
    pub is_unmerged: bool,
}

/// The records of an answer. The last one has its NUL, or the answer was cut.
fn records(answer: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let whole = if answer.is_empty() { Some(answer) } else { answer.strip_suffix(b"\0") }?;
    let is_empty = answer.is_empty();
    Some(whole.split(|byte| *byte == 0).filter(move |_| !is_empty))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A path as Git may track it.
fn path(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty() && !bytes.starts_with(b"/")).then_some(bytes)
}

/// `ls-tree -z`: `<mode> <type> <object>\t<path>`. `below` is put before each path.
pub(super) fn ls_tree(answer: &[u8], below: &[u8]) -> Option<Vec<(Tracked, String)>> {
    let record = |record: &[u8]| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let mut fields = text(&record[..tab])?.split(' ');
        let mode = Mode::parse(fields.next()?)?;
        fields.next()?;
        let object = fields.next()?.to_owned();
        let mut full = below.to_vec();
        full.extend_from_slice(path(&record[tab + 1..])?);
        Some((Tracked { path: full.into(), mode }, object))
    };
    records(answer)?.map(record).collect()
}

/// `diff-tree --raw -z` and `diff-index --raw -z` without renames: `:<mode> <mode> <object> <object> <letter>`, then the
/// path. A path that is not merged has the mode [`Mode::Other`].
pub(super) fn raw_differences(answer: &[u8]) -> Option<Vec<Difference>> {
    let mut records = records(answer)?;
    let mut found = Vec::new();
    while let Some(head) = records.next() {
        let mut fields = text(head)?.strip_prefix(':')?.split(' ');
        let mut mode = || -> Option<Option<Mode>> {
            match fields.next()? {
                "000000" => Some(None),
                digits => Mode::parse(digits).map(Some),
            }
        };
        let (before, after) = (mode()?, mode()?);
        fields.next()?;
        let object = fields.next()?;
        let after = match fields.next()? {
            "U" => Some(Mode::Other),
            "A" | "M" | "T" | "D" => after,
            _ => return None,
        };
        let object = after.map(|_| object.to_owned());
        found.push(Difference { path: path(records.next()?)?.to_vec(), before, after, object });
    }
    Some(found)
}

/// `status --porcelain=v2 -z` without renames.
pub(super) fn status(answer: &[u8]) -> Option<Vec<Changed>> {
    let record = |record: &[u8]| {
        let (kind, rest) = (*record.first()?, record.strip_prefix(&[*record.first()?, b' '])?);
        // How many fields stand before the path, by git-status(1).
        let fields = match kind {
            b'1' => 7,
            b'u' => 9,
            b'?' => 0,
            _ => return None,
        };
        let mut parts = rest.splitn(fields + 1, |byte| *byte == b' ');
        let letters = if fields > 0 { parts.next()? } else { &[] };
        let path = path(parts.last()?)?.to_vec();
        let is_staged = letters.first().is_some_and(|letter| *letter != b'.');
        Some(Changed { path, is_untracked: kind == b'?', is_staged, is_unmerged: kind == b'u' })
    };
    records(answer)?.map(record).collect()
}
