//! Removing a tree that somebody hostile has filled: links that lead out, directories without permissions, more levels than
//! a process may have descriptors or a path may have bytes.
//!
//! It works from descriptor to descriptor and follows no link. Below a certain depth a directory is first moved up, so that
//! neither the stack nor the table of descriptors grows with the tree. Nobody may be making anything in the tree meanwhile;
//! another who removes it too is no error.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// How many levels are gone down before the next is moved up. The number is ours.
const MAX_DEPTH: u32 = 32;
/// How often the top is looked through. Each time at least 32 levels are gone.
const MAX_ROUNDS: u64 = 1_000_000;

/// Removes a directory and everything in it, the file `last` of it after all others, if it has such a one. A directory that
/// is missing is no error.
///
/// # Errors
/// As the system says it; what could be removed before that is gone.
pub(super) fn remove_tree(path: &Path, last: &CStr) -> io::Result<()> {
    let above = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = match rustix::fs::open(above, directory_flags(), Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let name = CString::new(name.as_encoded_bytes())?;
    let Some(top) = open_directory(above.as_fd(), &name)? else { return Ok(()) };
    for round in 0..MAX_ROUNDS {
        let mut removal = Removal { top: top.as_fd(), last, round, moved: 0 };
        removal.empty(top.as_fd(), 0)?;
        if removal.moved == 0 {
            if_there(unlinkat(&top, last, AtFlags::empty()))?;
            return Ok(if_there(unlinkat(&above, &*name, AtFlags::REMOVEDIR))?);
        }
    }
    Err(io::Error::other("the tree is too deep to be removed"))
}

struct Removal<'a> {
    top: BorrowedFd<'a>,
    last: &'a CStr,
    round: u64,
    moved: u64,
}

impl Removal<'_> {
    /// Removes everything in a directory, and moves up what lies too deep.
    fn empty(&mut self, directory: BorrowedFd<'_>, depth: u32) -> io::Result<()> {
        for name in names_in(directory)? {
            if depth == 0 && *name == *self.last {
                continue;
            }
            match unlinkat(directory, &*name, AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(Errno::NOENT) => continue,
                removed => {
                    removed?;
                    continue;
                }
            }
            if depth > MAX_DEPTH {
                self.move_up(directory, &name)?;
                continue;
            }
            if let Some(below) = open_directory(directory, &name)? {
                self.empty(below.as_fd(), depth + 1)?;
                if_there(unlinkat(directory, &*name, AtFlags::REMOVEDIR))?;
            }
        }
        Ok(())
    }

    fn move_up(&mut self, directory: BorrowedFd<'_>, name: &CString) -> io::Result<()> {
        // A directory whose parent entry cannot be written cannot be moved.
        if open_directory(directory, name)?.is_none() {
            return Ok(());
        }
        let to = format!(".moved-{}-{}", self.round, self.moved);
        self.moved += 1;
        Ok(if_there(renameat(directory, &**name, self.top, to.as_str()))?)
    }
}

/// What is in a directory; nothing if the directory itself is gone by now, which reading it tells as an error.
fn names_in(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut entries = match Dir::read_from(directory) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        read => read?,
    };
    let mut names = Vec::new();
    while let Some(entry) = entries.read() {
        match entry {
            Err(Errno::NOENT) => break,
            entry => names.push(entry?.file_name().to_owned()),
        }
    }
    names.retain(|name| **name != *c"." && **name != *c"..");
    Ok(names)
}

/// Opens a directory that stands there, giving its owner every right to it before; none where nothing stands there.
fn open_directory(above: BorrowedFd<'_>, name: &CString) -> io::Result<Option<OwnedFd>> {
    let found = match statat(above, &**name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        found => found?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mode = Mode::from_raw_mode(found.st_mode);
    if !mode.contains(Mode::RWXU) {
        if_there(chmodat(above, &**name, mode | Mode::RWXU, AtFlags::empty()))?;
    }
    match openat(above, &**name, directory_flags() | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// What stands no more where it was seen, another has removed.
fn if_there(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test looks at the disk itself")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use super::*;
    use crate::random::{Random, SystemRandom};

    const LAST: &CStr = c"last";

    struct Place(PathBuf);

    impl Place {
        fn new() -> Place {
            let name = format!("gallivant-removal-{:016x}", SystemRandom.next_u64());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir(&path).expect("a directory");
            Place(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_and_directories_without_rights_go_and_what_they_point_to_stays() {
        let place = Place::new();
        let (tree, outside) = (place.0.join("tree"), place.0.join("outside"));
        std::fs::create_dir_all(tree.join("a/b")).expect("made");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join("kept"), b"x").expect("written");
        symlink(&outside, tree.join("a/out")).expect("linked");
        std::fs::set_permissions(tree.join("a/b"), PermissionsExt::from_mode(0o0)).expect("set");
        std::fs::set_permissions(tree.join("a"), PermissionsExt::from_mode(0o500)).expect("set");
        remove_tree(&tree, LAST).expect("removed");
        assert!(!tree.exists());
        assert!(outside.join("kept").exists());
        remove_tree(&tree, LAST).expect("a tree that is missing");
    }

    /// Deeper than descriptors and than the longest path.
    #[test]
    fn a_tree_of_five_thousand_levels_goes() {
        let place = Place::new();
        let tree = place.0.join("tree");
        std::fs::create_dir(&tree).expect("made");
        let mut at = rustix::fs::open(&tree, directory_flags(), Mode::empty()).expect("opened");
        for _ in 0..5_000 {
            rustix::fs::mkdirat(&at, "directory", Mode::RWXU).expect("made");
            at = openat(&at, "directory", directory_flags(), Mode::empty()).expect("opened");
        }
        drop(at);
        remove_tree(&tree, LAST).expect("removed");
        assert!(!tree.exists());
    }

    /// As one who is through with a tree and one who finds it abandoned.
    #[test]
    fn two_that_remove_the_same_tree_are_both_done() {
        let place = Place::new();
        let tree = place.0.join("tree");
        for _ in 0..200 {
            for below in ["a/b", "c/d", "e"] {
                std::fs::create_dir_all(tree.join(below)).expect("made");
                std::fs::write(tree.join(below).join("file"), b"x").expect("written");
            }
            std::fs::write(tree.join("last"), b"").expect("written");
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                let remove = || {
                    start.wait();
                    remove_tree(&tree, LAST)
                };
                let other = scope.spawn(remove);
                remove().expect("removed");
                other.join().expect("ended").expect("removed");
            });
            assert!(!tree.exists());
        }
    }

    #[test]
    fn what_shall_go_last_stands_while_anything_else_does() {
        let place = Place::new();
        let tree = place.0.join("tree");
        std::fs::create_dir(&tree).expect("made");
        std::fs::write(tree.join("last"), b"").expect("written");
        std::fs::create_dir(tree.join("mounted")).expect("made");
        let holder = rustix::fs::open(&tree, directory_flags(), Mode::empty()).expect("opened");
        let mut removal = Removal { top: holder.as_fd(), last: LAST, round: 0, moved: 0 };
        removal.empty(holder.as_fd(), 0).expect("emptied");
        assert!(tree.join("last").exists() && !tree.join("mounted").exists());
        remove_tree(&tree, LAST).expect("removed");
        assert!(!tree.exists());
    }
}
