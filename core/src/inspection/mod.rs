//! What stands below a directory, file by file: whole, with a gap, corrupt, of another version, or left by a crash.
//!
//! For operators, after a crash or a restored backup. Nothing is changed, no lock is taken and no file is made. Each file is
//! judged by the code that reads it in its own domain; what no domain knows by its name is passed over.
//!
//! - this file: what is found, and the walk;
//! - `files`: which file is judged how; `seat`: those of an agent; `staging`: what writers stage, by name;
//! - `machine`: whether a machine gives what the files need; `programs`: which programs beside the library are there.

mod files;
mod machine;
mod programs;
mod seat;
mod staging;

pub use machine::{Tried, try_machine};
pub use programs::{try_harness, try_sandbox, try_supervisor};

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Code, Error, Kind, Result};
use crate::host::Host;
use crate::storage::{Directory, FileType};

/// How many levels of directories are entered: a task's deepest file is three below its root, and roots stand in trees.
pub const MAX_DEPTH: u32 = 16;

/// What a file is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// All of it can be believed.
    Whole,
    /// A crash came in the middle of a write, and whoever writes next puts it right.
    Pending,
    /// Something is recorded as missing; the rest can be believed.
    Gap,
    /// It makes no sense, or a part of it does not.
    Corrupt,
    /// It is of a version that this library does not read.
    ForeignVersion,
    /// Somebody is writing it now, or was within the last hour.
    Staged,
    /// A writer that died has left it staged; the next sweep of its domain removes it.
    Abandoned,
    /// The system does not let it be read.
    Unreadable,
    /// By what stands beside it, it has to be there, and it is not.
    Missing,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: &'static [Verdict] = &[
        Verdict::Whole,
        Verdict::Pending,
        Verdict::Gap,
        Verdict::Corrupt,
        Verdict::ForeignVersion,
        Verdict::Staged,
        Verdict::Abandoned,
        Verdict::Unreadable,
        Verdict::Missing,
    ];

    /// The stable lower-case word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Whole => "whole",
            Verdict::Pending => "pending",
            Verdict::Gap => "gap",
            Verdict::Corrupt => "corrupt",
            Verdict::ForeignVersion => "foreign-version",
            Verdict::Staged => "staged",
            Verdict::Abandoned => "abandoned",
            Verdict::Unreadable => "unreadable",
            Verdict::Missing => "missing",
        }
    }

    /// Whether a person has something to do about it. What a sweep or the next writer sees to by itself is none.
    #[must_use]
    pub const fn is_problem(self) -> bool {
        match self {
            Verdict::Whole | Verdict::Pending | Verdict::Staged | Verdict::Abandoned => false,
            Verdict::Gap
            | Verdict::Corrupt
            | Verdict::ForeignVersion
            | Verdict::Unreadable
            | Verdict::Missing => true,
        }
    }
}

/// One file, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where it stands, below the directory that was asked for; `.` where that cannot be entered itself.
    pub path: PathBuf,
    /// What kind of file it is, as a stable word such as `record`, `ledger` or `journal`.
    pub kind: &'static str,
    /// What it is worth.
    pub verdict: Verdict,
    /// More of it, in one line for people.
    pub detail: Option<String>,
    /// What to do, where there is something.
    pub remedy: Option<String>,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// Directories that were entered.
    pub directories: u64,
    /// Files that a domain knows, with those that are missing.
    pub files: u64,
    /// Directories that were not entered, because they are too deep or their names are not UTF-8.
    pub left_out: u64,
}

/// Judges every file of ours below a directory, which is itself an agent's, a task's, a health store's or any above them. Links
/// are not followed. `visit` is handed each finding in the order of the paths, directory by directory.
///
/// Reads; changes nothing. A file that is replaced meanwhile is judged as it was or as it is.
///
/// # Errors
/// `GALLIVANT_INPUT` where the directory does not exist or is none. What cannot be read below it is a finding.
pub fn inspect(root: impl AsRef<Path>, host: &Host, visit: &mut dyn FnMut(Finding)) -> Result<Inspected> {
    let root = root.as_ref();
    let wrong = |error: io::Error| {
        let message = format!("the directory cannot be entered, path=`{}`", root.display());
        Error::new(Code::Input, message).with_source(error)
    };
    let root = host.files.absolute(root).map_err(wrong)?;
    let opened = host.files.open(&root).map_err(wrong)?;
    let mut walk = Walk { root, host, visit, inspected: Inspected::default() };
    walk.enter(&opened, Path::new(""), 0);
    Ok(walk.inspected)
}

struct Walk<'a> {
    root: PathBuf,
    host: &'a Host,
    visit: &'a mut dyn FnMut(Finding),
    inspected: Inspected,
}

impl Walk<'_> {
    fn enter(&mut self, directory: &Arc<dyn Directory>, below: &Path, depth: u32) {
        self.inspected.directories += 1;
        let (mut names, mut directories) = (Vec::new(), Vec::new());
        let listed = directory.list(".", &mut |name, file_type| match std::str::from_utf8(name) {
            Ok(name) if file_type == FileType::Directory => directories.push(name.to_owned()),
            Ok(name) => names.push(name.to_owned()),
            Err(_) if file_type == FileType::Directory => self.inspected.left_out += 1,
            // No file of ours has such a name.
            Err(_) => {}
        });
        if let Err(error) = listed {
            self.unreadable(below, &error);
            return;
        }
        names.sort_unstable();
        directories.sort_unstable();
        let path = self.root.join(below);
        let place =
            files::Place { directory, path, names: &names, directories: &directories, host: self.host };
        let of_files = names.iter().flat_map(|name| files::judge(&place, name));
        let of_directories = directories.iter().filter_map(|name| files::judge_directory(name));
        for (file, kind, judged) in of_files.chain(of_directories).chain(files::missing(&place)) {
            self.inspected.files += 1;
            let Judged { verdict, detail, remedy } = judged.unwrap_or_else(|error| Judged::of(&error));
            (self.visit)(Finding { path: below.join(file), kind, verdict, detail, remedy });
        }
        for name in directories {
            if depth >= MAX_DEPTH {
                self.inspected.left_out += 1;
                continue;
            }
            let below = below.join(&name);
            match directory.open_directory(&name) {
                Ok(inner) => self.enter(&inner, &below, depth + 1),
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.unreadable(&below, &error),
            }
        }
    }

    fn unreadable(&mut self, below: &Path, error: &io::Error) {
        let path = if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.to_owned() };
        let detail = Some(format!("the directory cannot be listed: {error}"));
        let remedy = Some("give this user the right to read it".to_owned());
        (self.visit)(Finding { path, kind: "directory", verdict: Verdict::Unreadable, detail, remedy });
    }
}

/// What a file is worth, without where it stands.
#[derive(Debug)]
struct Judged {
    verdict: Verdict,
    detail: Option<String>,
    remedy: Option<String>,
}

impl Judged {
    fn whole() -> Self {
        Judged { verdict: Verdict::Whole, detail: None, remedy: None }
    }

    fn new(verdict: Verdict, detail: impl Into<String>, remedy: &str) -> Self {
        let remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
        Judged { verdict, detail: Some(detail.into()), remedy }
    }

    /// By what whoever reads the file is refused with.
    fn of(error: &Error) -> Self {
        let verdict = match error.kind() {
            Kind::Incompatible => Verdict::ForeignVersion,
            Kind::Unavailable | Kind::Busy => Verdict::Unreadable,
            _ => Verdict::Corrupt,
        };
        Judged::new(verdict, error.to_string(), error.remedy())
    }
}
