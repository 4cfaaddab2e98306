//! A walk of a new tree by several threads, for whoever asks for them.
//!
//! What is below a directory is cut into pieces, which threads walk each for itself. What they found counts in the order of
//! the paths, as if one thread had walked: a piece counts while the bounds are surely not reached in it, and from the first
//! one on in which they may be, the calling thread walks alone.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use super::walk::Walk;
use super::{Folder, Pass, Scope, Taker};
use crate::harness_state::fleet::{FleetOptions, LeftOut};
use crate::harness_state::seat::Emptied;
use crate::host::Host;
use crate::storage::Directory;

/// A directory with fewer directories in it is walked before a thread would have begun.
const SHARED_FROM: usize = 64;
/// So that one that has come upon a large piece is not waited for by all the others.
const PIECES_A_THREAD: usize = 16;
/// Directories in a piece at most, so that what was found is soon handed on.
const LARGEST_PIECE: usize = 256;

/// How a pass is shared.
pub(crate) struct Sharing<'a> {
    /// How many threads walk, the calling one among them.
    threads: usize,
    pieces: Option<Pieces<'a>>,
}

/// What becomes of the records of a piece, where they are handed on and not kept.
struct Pieces<'a> {
    gather: Gather<'a>,
    end: &'a mut dyn FnMut(usize, PieceEnd),
}

/// Walks the piece of this number, on any thread, by calling what it is given with somebody who takes each record.
type Gather<'a> = &'a (dyn Fn(usize, &mut dyn FnMut(Taker<'_>)) + Sync);

/// What becomes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceEnd {
    /// It counts.
    Kept,
    /// It is walked anew, as if nobody had gone through it.
    Discarded,
}

impl<'a> Sharing<'a> {
    /// By so many threads, whose records stay in the tree.
    pub(crate) fn among(threads: usize) -> Self {
        Sharing { threads, pieces: None }
    }

    /// By so many threads, each of which hands its records on. `end` is called on the calling thread, once for each number
    /// that was gathered and in the order of the paths.
    pub(crate) fn handing(
        threads: usize,
        gather: Gather<'a>,
        end: &'a mut dyn FnMut(usize, PieceEnd),
    ) -> Self {
        Sharing { threads, pieces: Some(Pieces { gather, end }) }
    }
}

/// What one piece came to.
struct Walked {
    records: usize,
    directories: usize,
    leaves: usize,
    linked: usize,
    left_out: LeftOut,
    /// The places of those in the piece that stand no longer, from the first to the last.
    gone: Vec<usize>,
}

/// What the threads share that walk below one directory.
struct Shared<'a, 'f> {
    pieces: Vec<Mutex<Option<&'f mut [Folder]>>>,
    next: AtomicUsize,
    /// Directories that were entered in the pieces that have ended.
    entered: AtomicUsize,
    gather: Option<Gather<'a>>,
    root: &'a Path,
    host: &'a Host,
    bounds: &'a FleetOptions,
    directory: &'a dyn Directory,
    at_ms: u64,
    counts_subdirectories: bool,
    records_left: usize,
    directories_left: usize,
    depth: u32,
}

impl Shared<'_, '_> {
    /// Walks the next piece; none where there is no other, or where the bounds are reached without it.
    fn walk_next(&self) -> Option<(usize, Walked)> {
        if self.entered.load(Ordering::Relaxed) >= self.directories_left {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let folders = self.pieces.get(number)?.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut walked = None;
        match self.gather {
            Some(gather) => gather(number, &mut |taker| walked = Some(self.walk(folders, Some(taker)))),
            None => walked = Some(self.walk(folders, None)),
        }
        let walked = walked?;
        self.entered.fetch_add(walked.directories, Ordering::Relaxed);
        Some((number, walked))
    }

    fn walk(&self, folders: &mut [Folder], handed: Option<Taker<'_>>) -> Walked {
        let pass = Pass::new(self.root, self.host, self.bounds, Scope::Everything);
        let mut pass = match handed {
            Some(taker) => pass.handing(taker),
            None => pass,
        };
        let mut walk = Walk {
            pass: &mut pass,
            directory: self.directory,
            at_ms: self.at_ms,
            counts_subdirectories: self.counts_subdirectories,
            records_left: self.records_left,
            directories_left: self.directories_left,
            leaves: 0,
            linked: 0,
            // Of what nobody has seen, everything is looked at.
            turn: 0,
            turns: 1,
            buffer: Vec::new(),
            emptied: Emptied::default(),
            listed: None,
            left_out: LeftOut::default(),
        };
        let mut gone = Vec::new();
        for (place, folder) in folders.iter_mut().enumerate() {
            if walk.is_full() {
                break;
            }
            if !walk.go(folder, self.depth) {
                gone.push(place);
            }
        }
        Walked {
            records: self.records_left - walk.records_left,
            directories: self.directories_left - walk.directories_left,
            leaves: walk.leaves,
            linked: walk.linked,
            left_out: walk.left_out,
            gone,
        }
    }

    /// No further piece is begun.
    fn stop(&self) {
        self.next.store(self.pieces.len(), Ordering::Relaxed);
    }
}

impl Walk<'_, '_> {
    /// Whether so many directories in one are worth several threads, and there are any.
    pub(super) fn shares(&self, directories: usize) -> bool {
        self.pass.sharing.is_some() && directories >= SHARED_FROM
    }

    /// Walks what is below a directory together with other threads, and answers how many of the directories in it are done
    /// with. The others stand as if nobody had looked at them: the bounds may be reached there.
    pub(super) fn share_below(&mut self, folder: &mut Folder, depth: u32) -> usize {
        let Some(mut sharing) = self.pass.sharing.take() else { return 0 };
        let size = folder.below.len().div_ceil(sharing.threads * PIECES_A_THREAD).clamp(1, LARGEST_PIECE);
        let shared = Shared {
            pieces: folder.below.chunks_mut(size).map(|piece| Mutex::new(Some(piece))).collect(),
            next: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
            gather: sharing.pieces.as_ref().map(|pieces| pieces.gather),
            root: self.pass.root,
            host: self.pass.host,
            bounds: self.pass.bounds,
            directory: self.directory,
            at_ms: self.at_ms,
            counts_subdirectories: self.counts_subdirectories,
            records_left: self.records_left,
            directories_left: self.directories_left,
            depth: depth + 1,
        };
        let mut end = |number, how| {
            if let Some(pieces) = &mut sharing.pieces {
                (pieces.end)(number, how);
            }
        };
        let mut came: Vec<Option<Walked>> = shared.pieces.iter().map(|_| None).collect();
        let (mut counted, mut gone) = (0, Vec::new());
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for _ in 1..sharing.threads.min(shared.pieces.len()) {
                let (sender, shared) = (sender.clone(), &shared);
                let begun = std::thread::Builder::new().spawn_scoped(scope, move || {
                    while let Some(walked) = shared.walk_next() {
                        if sender.send(walked).is_err() {
                            return;
                        }
                    }
                });
                // Fewer do it too.
                if begun.is_err() {
                    break;
                }
            }
            drop(sender);
            while let Some((number, walked)) = shared.walk_next().or_else(|| receiver.recv().ok()) {
                came[number] = Some(walked);
                while let Ok((number, walked)) = receiver.try_recv() {
                    came[number] = Some(walked);
                }
                while let Some(walked) = came.get_mut(counted).and_then(Option::take) {
                    if walked.records >= self.records_left || walked.directories >= self.directories_left {
                        came[counted] = Some(walked);
                        shared.stop();
                        break;
                    }
                    gone.extend(walked.gone.iter().map(|place| counted * size + place));
                    self.count(walked);
                    end(counted, PieceEnd::Kept);
                    counted += 1;
                }
            }
        });
        for (number, walked) in came.iter().enumerate() {
            if walked.is_some() {
                end(number, PieceEnd::Discarded);
            }
        }
        drop(shared);
        let done = (counted * size).min(folder.below.len());
        for folder in &mut folder.below[done..] {
            *folder = Folder::at(std::mem::take(&mut folder.record_path));
        }
        for place in gone.iter().rev() {
            folder.below.remove(*place);
        }
        self.pass.sharing = Some(sharing);
        done - gone.len()
    }

    fn count(&mut self, walked: Walked) {
        self.records_left -= walked.records;
        self.directories_left -= walked.directories;
        self.leaves += walked.leaves;
        self.linked += walked.linked;
        let (sum, of_piece) = (&mut self.left_out, walked.left_out);
        sum.too_deep += of_piece.too_deep;
        sum.too_many += of_piece.too_many;
        sum.unreadable += of_piece.unreadable;
        sum.unnameable += of_piece.unnameable;
        sum.example = sum.example.take().or(of_piece.example);
    }
}
