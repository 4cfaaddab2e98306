//! Applying a manifest to a checkout: first everything is judged, then everything new is staged, then the names move.
//!
//! Staged content stands beside its target under a name of the library's own, durably, before any name moves. A file is put
//! in the place of another by exchanging the two names, a new one by a renaming that replaces nothing, and what goes is
//! renamed first: so what was displaced is still there to be compared with what was judged, and goes back if it is anything
//! else. A crash leaves each file as it was before or as it is to be, and staged files, which [`Start::Resumed`] clears.

use std::collections::HashSet;
use std::io;

use super::checkout::{Checkout, Found, Place, Way, Wrong, is_same};
use super::detail::Detail;
use super::manifest::{Change, Entry, Manifest};
use super::tree::Mode;
use crate::digest;
use crate::error::Result;
use crate::storage::Metadata;

/// How the names of staged files begin.
const STAGED: &str = ".gallivant-";
/// The owner's execute bit.
const OWNER_EXECUTES: u32 = 0o100;

/// What may be found at the paths of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing of it has been applied: every file is as the result found it (EX-ART-19).
    Fresh,
    /// An earlier application of the same manifest was interrupted: a file may also be as it is to be.
    Resumed,
}

/// What an application has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files created or given another content.
    pub written: usize,
    /// Files removed.
    pub removed: usize,
    /// Entries that were as they are to be already.
    pub unchanged: usize,
}

/// Judges every target of a manifest on the disk and changes nothing: type, names, mode and content (EX-ART-18, EX-ART-19,
/// EX-ART-26).
///
/// # Errors
/// As [`apply`].
pub fn check(checkout: &Checkout, manifest: &Manifest, start: Start) -> Result<()> {
    judge_all(checkout, manifest, start).map(drop)
}

/// Whether every target is as it is to be, content and mode (EX-ART-30).
///
/// # Errors
/// As [`apply`]; a target that is neither as it was nor as it is to be is refused.
pub fn is_applied(checkout: &Checkout, manifest: &Manifest) -> Result<bool> {
    let states = judge_all(checkout, manifest, Start::Resumed)?;
    Ok(states.iter().zip(manifest.entries()).all(|(state, entry)| *state == State::After || !entry.changes()))
}

/// Applies a manifest to a checkout. Once it has returned every file is as it is to be, durably, and nothing is staged.
/// Edits keep the permissions that the file has; new files get those that the umask leaves of 0666.
///
/// # Errors
/// `EXECUTION_RESULT`, reason `result-validation`: a target is not what the manifest was made for. Before the first change
/// nothing is changed then; a target that somebody exchanges while it is written is left as that other has it, and files
/// that were written before it stay. `EXECUTION_IO`, reason `tree`: the disk failed, and [`Start::Resumed`] goes on from
/// there. A failure takes what is staged away again, as far as the disk lets it.
pub fn apply(checkout: &Checkout, manifest: &Manifest, start: Start) -> Result<Applied> {
    let judged = judge_all(checkout, manifest, start)?;
    let entries = manifest.entries();
    let mut staging = Staging { checkout, staged: Vec::new(), made: Vec::new() };
    let mut way = Way::new(checkout);
    for number in by_path(entries) {
        let done = staging.stage(&mut way, &entries[number], number, &judged[number]);
        if let Err(wrong) = done {
            staging.take_back(entries);
            return Err(wrong.into_error(Some(number)));
        }
    }
    let mut applied = Applied::default();
    let mut moving = Moving { way: Way::new(checkout), unsynced: None };
    let mut staged = staging.staged.iter().peekable();
    for number in by_path(entries) {
        let (entry, judged) = (&entries[number], &judged[number]);
        let new = staged.next_if(|(of, _)| *of == number).map(|(_, metadata)| metadata);
        if let Err(wrong) = moving.finish(entry, judged, new) {
            // What has moved stays; it has another name now, so that only what was staged goes.
            let _ = moving.sync();
            staging.take_back(entries);
            return Err(wrong.into_error(Some(number)));
        }
        match (judged, entry.changes(), entry.change()) {
            (State::After, ..) | (_, false, _) => applied.unchanged += 1,
            (_, _, Change::Delete) => applied.removed += 1,
            _ => applied.written += 1,
        }
    }
    moving.sync().map_err(|wrong| wrong.into_error(None))?;
    prune(checkout, entries);
    Ok(applied)
}

/// What was found at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is as the result found it.
    Before,
    /// It is as it is to be.
    After,
}

/// The entries in the order of their paths, so that the directories of one follow those of another.
fn by_path(entries: &[Entry]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|number| entries[*number].path());
    order
}

/// The name under which an entry is staged beside its target, and under which what it displaces is kept for a moment.
fn staged_name(entry: &Entry) -> String {
    let mut whole = entry.path().as_bytes().to_vec();
    for hash in [entry.before(), entry.after()] {
        whole.push(0);
        whole.extend_from_slice(hash.map_or(&[][..], |hash| hash));
    }
    format!("{STAGED}{}", &digest::sha256_hex(&whole)[..16])
}

fn judge_all(checkout: &Checkout, manifest: &Manifest, start: Start) -> Result<Vec<State>> {
    let entries = manifest.entries();
    let mut states = vec![State::Before; entries.len()];
    let mut way = Way::new(checkout);
    let names: HashSet<&str> = entries.iter().filter_map(|entry| entry.path().rsplit('/').next()).collect();
    for number in by_path(entries) {
        let entry = &entries[number];
        let state = if names.contains(staged_name(entry).as_str()) {
            Err(Detail::LeftOver.into())
        } else {
            way.to(entry.path()).and_then(|place| judge(place.as_ref(), entry, start))
        };
        states[number] = state.map_err(|wrong| wrong.into_error(Some(number)))?;
    }
    Ok(states)
}

/// Judges one target, and what stands under its staged name.
fn judge(place: Option<&Place<'_>>, entry: &Entry, start: Start) -> std::result::Result<State, Wrong> {
    let Some(place) = place else {
        return match (entry.change(), start) {
            (Change::Create, _) => Ok(State::Before),
            // The directory went with its last file.
            (Change::Delete, Start::Resumed) => Ok(State::After),
            _ => Err(Detail::Missing.into()),
        };
    };
    let found = place.look()?;
    let state = state(found.as_ref(), entry, start)?;
    let left = place.look_at(&staged_name(entry)).map_err(|wrong| match wrong {
        Wrong::Refused(_) => Wrong::Refused(Detail::LeftOver),
        failed => failed,
    })?;
    let is_ours = match (&left, start, state, entry.change()) {
        (None, ..) => true,
        (Some(_), Start::Fresh, ..) => false,
        // Whatever a crash left of what was being staged. What goes is never staged.
        (Some(_), _, State::Before, change) => change != Change::Delete,
        // What was displaced; of another content it is somebody else's.
        (Some(left), _, State::After, _) => Some(&left.hash) == entry.before(),
    };
    if is_ours { Ok(state) } else { Err(Detail::LeftOver.into()) }
}

fn state(found: Option<&Found>, entry: &Entry, start: Start) -> std::result::Result<State, Wrong> {
    let Some(found) = found else {
        return match (entry.change(), start) {
            (Change::Create, _) => Ok(State::Before),
            (Change::Delete, Start::Resumed) => Ok(State::After),
            _ => Err(Detail::Missing.into()),
        };
    };
    let executes = found.metadata.mode & OWNER_EXECUTES != 0;
    let is_mode = executes == (entry.mode() == Mode::Executable);
    let is_before = Some(&found.hash) == entry.before();
    let is_after = start == Start::Resumed && Some(&found.hash) == entry.after();
    match (entry.change(), is_before, is_after) {
        (Change::Create, _, false) => Err(Detail::Present.into()),
        (_, false, false) => Err(Detail::Content.into()),
        _ if !is_mode => Err(Detail::Mode.into()),
        // Where nothing changes there is nothing to do either way.
        (_, true, _) => Ok(State::Before),
        (_, false, true) => Ok(State::After),
    }
}

/// The first half: new content, durable, under names of the library's own.
struct Staging<'a> {
    checkout: &'a Checkout,
    /// Which entries have a staged file, in the order of their paths, and what it is.
    staged: Vec<(usize, Metadata)>,
    /// Directories that were made, from above to below.
    made: Vec<String>,
}

impl Staging<'_> {
    fn stage(
        &mut self,
        way: &mut Way,
        entry: &Entry,
        number: usize,
        judged: &State,
    ) -> std::result::Result<(), Wrong> {
        let text = match entry.text() {
            Some(text) if entry.changes() && *judged == State::Before => text,
            _ => return Ok(()),
        };
        let made = &mut self.made;
        let place = way.make_to(entry.path(), &mut |directory| made.push(directory.to_owned()))?;
        let mode = match entry.change() {
            Change::Create => None,
            _ => Some(place.parent.metadata(place.name).map_err(moved)?.mode & 0o777),
        };
        let name = staged_name(entry);
        let unstaged = |error| Wrong::Failed("a file of a checkout cannot be staged", error);
        if !place.is_there()? {
            return Err(Detail::Exchanged.into());
        }
        match place.parent.remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unstaged(error)),
            // What an interrupted application has left; it was judged.
            _ => {}
        }
        let mut file = place.parent.create_public(&name, mode).map_err(unstaged)?;
        let written =
            file.write_all(text.as_bytes()).and_then(|()| file.sync()).and_then(|()| file.into_open());
        match written {
            Ok(open) => self.staged.push((number, open.metadata)),
            Err(error) => {
                let _ = place.parent.remove(&name);
                return Err(unstaged(error));
            }
        }
        Ok(())
    }

    /// Takes away what was staged, after a failure: the checkout is as it was before. What cannot be removed is cleared
    /// by the next application.
    fn take_back(&self, entries: &[Entry]) {
        let mut way = Way::new(self.checkout);
        for (number, metadata) in &self.staged {
            let Ok(Some(place)) = way.to(entries[*number].path()) else { continue };
            let name = staged_name(&entries[*number]);
            if place.parent.metadata(&name).is_ok_and(|found| found.identity == metadata.identity) {
                let _ = place.parent.remove(&name);
            }
        }
        for directory in self.made.iter().rev() {
            remove_empty(&mut Way::new(self.checkout), directory);
        }
    }
}

/// The second half: names.
struct Moving {
    way: Way,
    /// The directory whose names have moved last, with the path that led to it.
    unsynced: Option<(String, std::sync::Arc<dyn crate::storage::Directory>)>,
}

impl Moving {
    fn finish(
        &mut self,
        entry: &Entry,
        judged: &State,
        new: Option<&Metadata>,
    ) -> std::result::Result<(), Wrong> {
        let Some(place) = self.way.to(entry.path())? else {
            // The directory of a file that is gone has gone with it.
            let is_gone = *judged == State::After && entry.change() == Change::Delete;
            return if is_gone { Ok(()) } else { Err(Detail::Exchanged.into()) };
        };
        let above = entry.path().rsplit_once('/').map_or("", |(above, _)| above);
        if self.unsynced.as_ref().is_some_and(|(path, _)| path != above) {
            self.sync()?;
        }
        let name = staged_name(entry);
        if *judged == State::After {
            match place.parent.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(moved(error)),
                _ => {}
            }
        } else if entry.changes() {
            let found = place.look()?;
            if state(found.as_ref(), entry, Start::Fresh)? != State::Before || !place.is_there()? {
                return Err(Detail::Exchanged.into());
            }
            match (found, new) {
                (Some(found), Some(new)) => exchange(&place, &name, &found, new)?,
                (None, Some(new)) => put(&place, &name, new)?,
                (Some(found), None) => take_away(&place, &name, &found)?,
                (None, None) => return Err(Detail::Exchanged.into()),
            }
        } else {
            return Ok(());
        }
        self.unsynced = Some((above.to_owned(), place.parent));
        Ok(())
    }

    fn sync(&mut self) -> std::result::Result<(), Wrong> {
        let Some((_, directory)) = self.unsynced.take() else { return Ok(()) };
        directory.sync().map_err(|error| Wrong::Failed("a directory of a checkout cannot be synced", error))
    }
}

fn moved(error: io::Error) -> Wrong {
    Wrong::Failed("a file of a checkout cannot be put in its place", error)
}

/// Whether a name stands for this very file, unchanged.
fn stands(place: &Place<'_>, name: &str, file: &Metadata) -> std::result::Result<bool, Wrong> {
    match place.parent.metadata(name) {
        Ok(found) => Ok(is_same(&found, file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Wrong::Failed("a file of a checkout cannot be looked at", error)),
    }
}

/// Goes on where the names that have moved are right and the path leads here still; else `back` moves them back.
fn settle(
    right: std::result::Result<bool, Wrong>,
    place: &Place<'_>,
    back: impl FnOnce() -> io::Result<()>,
) -> std::result::Result<(), Wrong> {
    match right.and_then(|right| Ok(right && place.is_there()?)) {
        Ok(true) => Ok(()),
        Ok(false) => back().map_err(moved).and(Err(Detail::Exchanged.into())),
        Err(wrong) => back().map_err(moved).and(Err(wrong)),
    }
}

/// Puts the staged file in the place of the judged one.
fn exchange(
    place: &Place<'_>,
    staged: &str,
    judged: &Found,
    new: &Metadata,
) -> std::result::Result<(), Wrong> {
    match place.parent.exchange(staged, place.name) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            if !stands(place, place.name, &judged.metadata)? || !stands(place, staged, new)? {
                return Err(Detail::Exchanged.into());
            }
            return place.parent.rename(staged, place.name).map_err(moved);
        }
        Err(error) => return Err(moved(error)),
    }
    let right = stands(place, staged, &judged.metadata)
        .and_then(|right| Ok(right && stands(place, place.name, new)?));
    settle(right, place, || place.parent.exchange(staged, place.name))?;
    place.parent.remove(staged).map_err(moved)
}

/// Puts the staged file where nothing stands.
fn put(place: &Place<'_>, staged: &str, new: &Metadata) -> std::result::Result<(), Wrong> {
    rename_new(place, staged, place.name).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Detail::Present.into(),
        _ => moved(error),
    })?;
    settle(stands(place, place.name, new), place, || rename_new(place, place.name, staged))
}

/// Takes the judged file away.
fn take_away(place: &Place<'_>, kept: &str, judged: &Found) -> std::result::Result<(), Wrong> {
    rename_new(place, place.name, kept).map_err(moved)?;
    settle(stands(place, kept, &judged.metadata), place, || rename_new(place, kept, place.name))?;
    place.parent.remove(kept).map_err(moved)
}

fn rename_new(place: &Place<'_>, from: &str, to: &str) -> io::Result<()> {
    match place.parent.rename_new(from, to) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => match place.parent.metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => place.parent.rename(from, to),
            Err(error) => Err(error),
        },
        renamed => renamed,
    }
}

/// Removes directories that lost their last file, as Git does, which tracks none without one.
fn prune(checkout: &Checkout, entries: &[Entry]) {
    let mut way = Way::new(checkout);
    for number in by_path(entries).into_iter().rev() {
        let entry = &entries[number];
        let mut path = entry.path();
        while entry.change() == Change::Delete
            && let Some((above, _)) = path.rsplit_once('/')
            && remove_empty(&mut way, above)
        {
            path = above;
        }
    }
}

/// Whether a directory is gone. One that is not empty stays.
fn remove_empty(way: &mut Way, directory: &str) -> bool {
    match way.to(directory) {
        Ok(Some(place)) => match place.parent.remove_directory(place.name) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(()) => place.parent.sync().is_ok(),
        },
        Ok(None) => true,
        Err(_) => false,
    }
}
