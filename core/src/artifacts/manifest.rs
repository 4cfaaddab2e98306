//! The files of a result: what is asked for, and the check of it as a whole (EX-ART-01 to EX-ART-21). Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::detail::Detail;
use super::names::{Kind, Names, Walk};
use super::path;
use super::tree::{Mode, Tracked, Tree};
use crate::digest;
use crate::error::{Error, Result};
use crate::json::Value;

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A file that is neither tracked nor there.
    Create,
    /// A tracked file gets another content, or the same.
    Edit,
    /// A tracked file goes.
    Delete,
}

/// One file, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    path: String,
    before: Option<[u8; 32]>,
    after: Option<[u8; 32]>,
    text: Option<String>,
    mode: Mode,
}

impl Entry {
    /// The canonical path, relative to the root of the checkout, in the spelling of the result (EX-ART-17).
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the entry does.
    #[must_use]
    pub fn change(&self) -> Change {
        match (self.before, self.after) {
            (None, _) => Change::Create,
            (_, Some(_)) => Change::Edit,
            _ => Change::Delete,
        }
    }

    /// Whether anything differs afterwards (EX-ART-21).
    #[must_use]
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The SHA-256 of the content before, where there was one.
    #[must_use]
    pub fn before(&self) -> Option<&[u8; 32]> {
        self.before.as_ref()
    }

    /// The SHA-256 of the content afterwards, where there is one.
    #[must_use]
    pub fn after(&self) -> Option<&[u8; 32]> {
        self.after.as_ref()
    }

    /// The content afterwards, where there is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// [`Mode::Regular`] or [`Mode::Executable`]: that of the input, and of a new file the former (EX-ART-25).
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

/// A list of files that may be applied to the checkout whose tree it was checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    entries: Vec<Entry>,
}

impl Manifest {
    /// The files, in the order of the result.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The mode guard once the manifest is committed, on recovery of a lost reply and on replay (EX-ART-30): HEAD and index
    /// have for every entry the mode that it is to have, and the input has the one that it had.
    ///
    /// # Errors
    /// `EXECUTION_RESULT`, reason `result-validation`; `EXECUTION_IO`, reason `tree`, for a tree that is not known whole.
    pub fn check_committed(&self, tree: &Tree) -> Result<()> {
        let places: HashMap<&[u8], usize> =
            self.entries.iter().enumerate().map(|(number, entry)| (entry.path.as_bytes(), number)).collect();
        let mut modes = vec![[None; 3]; self.entries.len()];
        for (list, tracked) in tree.lists()?.into_iter().enumerate() {
            for tracked in tracked.iter() {
                if let Some(number) = places.get(&*tracked.path) {
                    modes[*number][list] = Some(tracked.mode);
                }
            }
        }
        for (number, (entry, modes)) in self.entries.iter().zip(modes).enumerate() {
            let before = entry.before.map(|_| entry.mode);
            let after = entry.after.map(|_| entry.mode);
            if modes != [before, after, after] {
                return Err(Detail::Mode.refuse(Some(number)));
            }
        }
        Ok(())
    }
}

/// Checks the files of a result against what is tracked: a pure function (EX-ART-03).
///
/// `files` is a list of `{path, beforeHash, afterHash, text}`; a member that is missing counts as null. All paths are judged
/// first, then the modes, then the hashes, and the texts last. The answer has the entries in the order of the list.
///
/// # Errors
/// `EXECUTION_RESULT`, reason `result-validation`: the whole list is refused. The message has the number of the entry, from
/// 0, and the word of a [`Detail`], and never a path or text. `EXECUTION_IO`, reason `tree`, where what is
/// tracked is not known whole; nothing is concluded then.
pub fn validate_manifest(files: &Value, tree: &Tree) -> Result<Manifest> {
    let lists = tree.lists()?;
    let given = files.as_array().ok_or_else(|| Detail::Shape.refuse(None))?;
    let asked = given
        .iter()
        .enumerate()
        .map(|(number, file)| Asked::read(file).map_err(|detail| detail.refuse(Some(number))))
        .collect::<Result<Vec<_>>>()?;
    let modes = judge_paths(&asked, lists)?;
    let judged = asked
        .iter()
        .zip(&modes)
        .enumerate()
        .map(|(number, (asked, modes))| asked.judge(modes).map_err(|detail| detail.refuse(Some(number))));
    let judged = judged.collect::<Result<Vec<_>>>()?;
    let entries =
        asked.into_iter().zip(judged).enumerate().map(|(number, (asked, judged))| {
            asked.take(judged).map_err(|detail| detail.refuse(Some(number)))
        });
    Ok(Manifest { entries: entries.collect::<Result<_>>()? })
}

/// Checks the whole tree of a pushed revision (EX-ART-32): no two paths, and no two directories, are one name to some file
/// system, and none is file and directory at once.
///
/// # Errors
/// `EXECUTION_RESULT`, reason `result-validation`.
pub fn validate_pushed_tree(tracked: &[Tracked]) -> Result<()> {
    let (mut names, mut walk) = (Names::default(), Walk::default());
    for (number, tracked) in tracked.iter().enumerate() {
        names.add(&tracked.path, number, kind(tracked), &mut walk).map_err(|detail| detail.refuse(None))?;
    }
    Ok(())
}

/// An entry as it was given.
struct Asked<'a> {
    raw: &'a str,
    path: Cow<'a, str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
    text: Option<&'a str>,
}

/// What an entry has in the way of hashes and mode.
struct Judged {
    before: Option<[u8; 32]>,
    after: Option<[u8; 32]>,
    mode: Mode,
}

impl<'a> Asked<'a> {
    fn read(file: &'a Value) -> std::result::Result<Self, Detail> {
        let member = |name: &str| match file.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Detail::Shape),
        };
        let raw = member("path")?.ok_or(Detail::Shape)?;
        let path = path::canonical(raw)?;
        let asked = Asked {
            raw,
            path,
            before: member("beforeHash")?,
            after: member("afterHash")?,
            text: member("text")?,
        };
        if asked.before.is_none() && path::is_rewritten_somewhere(asked.raw) {
            return Err(Detail::Rewritten);
        }
        Ok(asked)
    }

    fn judge(&self, modes: &[Option<Mode>; 3]) -> std::result::Result<Judged, Detail> {
        let mode = match (self.before, modes) {
            (None, [None, None, None]) => Mode::Regular,
            (None, _) => return Err(Detail::Tracked),
            (Some(_), [Some(input), Some(head), Some(index)]) => {
                if input != head || head != index || !input.is_text() {
                    return Err(Detail::Mode);
                }
                *input
            }
            (Some(_), _) => return Err(Detail::Untracked),
        };
        let hash = |digits: Option<&str>| match digits.map(hash) {
            None => Ok(None),
            Some(None) => Err(Detail::Hash),
            Some(hash) => Ok(hash),
        };
        let (before, after) = (hash(self.before)?, hash(self.after)?);
        if before.is_none() && after.is_none() {
            return Err(Detail::Hash);
        }
        if after.is_some() != self.text.is_some() {
            return Err(Detail::Text);
        }
        Ok(Judged { before, after, mode })
    }

    /// The entry, once its text is what its hash says (EX-ART-02, EX-ART-54).
    fn take(self, Judged { before, after, mode }: Judged) -> std::result::Result<Entry, Detail> {
        if self.text.is_some_and(|text| Some(digest::sha256(text.as_bytes())) != after) {
            return Err(Detail::Text);
        }
        let text = self.text.map(str::to_owned);
        Ok(Entry { path: self.path.into_owned(), before, after, text, mode })
    }
}

/// The mode of each entry in input, HEAD and index, once no path is in the way of another one.
fn judge_paths(
    asked: &[Asked<'_>],
    lists: [&Arc<[Tracked]>; 3],
) -> std::result::Result<Vec<[Option<Mode>; 3]>, Error> {
    let (mut names, mut walk) = (Names::default(), Walk::default());
    for (number, asked) in asked.iter().enumerate() {
        names
            .add(asked.path.as_bytes(), number, Kind::File, &mut walk)
            .map_err(|detail| detail.refuse(Some(number)))?;
    }
    let mut modes = vec![[None; 3]; asked.len()];
    let [input, head, index] = lists;
    // HEAD comes first: a list that is the same as it has nothing to add. Of the input no other spelling counts.
    for (list, tracked) in [(1, head), (0, input), (2, index)] {
        if list != 1 && (Arc::ptr_eq(head, tracked) || head == tracked) {
            modes.iter_mut().for_each(|modes| modes[list] = modes[1]);
            continue;
        }
        let mut walk = Walk::default();
        for tracked in tracked.iter() {
            names.meet(&tracked.path, kind(tracked), list > 0, &mut walk, |entry: usize| {
                let mode = &mut modes[entry][list];
                // A path that is listed twice has not been merged.
                *mode = Some(if mode.is_some() { Mode::Other } else { tracked.mode });
            });
        }
    }
    let mut refused: Option<(usize, Detail)> = None;
    for name in names.iter() {
        let is_in_the_way = if name.kind == Kind::File { name.is_directory } else { name.is_file };
        let detail = if name.has_alias && !name.is_directory && !name.is_file {
            Detail::TrackedAlias
        } else if is_in_the_way {
            Detail::Collision
        } else {
            continue;
        };
        // Of several the first entry is named, so that the answer does not depend on the order of a table.
        if refused.is_none_or(|(entry, _)| name.entry < entry) {
            refused = Some((name.entry, detail));
        }
    }
    refused.map_or(Ok(modes), |(entry, detail)| Err(detail.refuse(Some(entry))))
}

fn kind(tracked: &Tracked) -> Kind {
    if tracked.mode == Mode::Directory { Kind::Directory } else { Kind::File }
}

/// A SHA-256 of 64 lower-case hexadecimal digits.
fn hash(digits: &str) -> Option<[u8; 32]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let digits: &[u8; 64] = digits.as_bytes().try_into().ok()?;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(hash)
}
