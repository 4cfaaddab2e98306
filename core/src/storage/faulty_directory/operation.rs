//! What a simulated process asks of the disk, as it is counted, traced and named in a list of faults.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// A kind of operation. Its word is what a list of faults and a trace call it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum OperationKind {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }

        impl OperationKind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &'static [OperationKind] = &[$(OperationKind::$variant,)+];

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(OperationKind::$variant => $word,)+ }
            }
        }
    };
}

kinds! {
    /// Opening a directory.
    Open = "open",
    /// Creating one directory; one operation for each that is missing.
    MakeDirectory = "mkdir",
    /// Opening and reading a file.
    Read = "read",
    /// Looking at a name.
    Metadata = "stat",
    /// Listing a directory.
    Names = "names",
    /// Creating a file exclusively.
    Create = "create",
    /// Writing into a new file.
    Write = "write",
    /// Syncing a file's content, be it new or a data file.
    Sync = "sync",
    /// Opening a data file for writing, which is created where that was asked for.
    OpenData = "open_data",
    /// Opening a data file for reading.
    LookData = "look_data",
    /// Reading a data file at an offset.
    ReadAt = "read_at",
    /// Writing into a data file at an offset.
    WriteAt = "write_at",
    /// Cutting a data file.
    Cut = "cut",
    /// Appending to a file, which is created where it is missing.
    Append = "append",
    /// Renaming.
    Rename = "rename",
    /// Exchanging two names.
    Exchange = "exchange",
    /// Removing a name.
    Remove = "remove",
    /// Removing an empty directory.
    RemoveDirectory = "rmdir",
    /// Syncing a directory's names.
    SyncDirectory = "syncdir",
    /// Asking to be told of changes in a directory.
    Watch = "watch",
    /// Opening a lock file, which is created where it is missing.
    OpenLock = "open_lock",
    /// Opening an existing lock file to look at it.
    LookLock = "look_lock",
    /// Trying to take a lock.
    TryLock = "try_lock",
    /// Reading an open lock file.
    LockContents = "read_lock",
    /// Replacing an open lock file's content in place.
    SetLockContents = "write_lock",
}

impl OperationKind {
    /// The kind with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        OperationKind::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// Whether it is made to change the disk, be it its content, its names or what of them is durable. Opening a
    /// lock file is one of these, because it is opened for writing.
    #[must_use]
    pub const fn is_mutating(self) -> bool {
        match self {
            OperationKind::MakeDirectory
            | OperationKind::Create
            | OperationKind::Write
            | OperationKind::Sync
            | OperationKind::OpenData
            | OperationKind::WriteAt
            | OperationKind::Cut
            | OperationKind::Append
            | OperationKind::Rename
            | OperationKind::Exchange
            | OperationKind::Remove
            | OperationKind::RemoveDirectory
            | OperationKind::SyncDirectory
            | OperationKind::OpenLock
            | OperationKind::SetLockContents => true,
            OperationKind::Open
            | OperationKind::Read
            | OperationKind::Metadata
            | OperationKind::Names
            | OperationKind::LookData
            | OperationKind::ReadAt
            | OperationKind::Watch
            | OperationKind::LookLock
            | OperationKind::TryLock
            | OperationKind::LockContents => false,
        }
    }

    /// Whether it puts bytes into a file and so can stop half-way.
    #[must_use]
    pub const fn writes_bytes(self) -> bool {
        matches!(
            self,
            OperationKind::Write
                | OperationKind::WriteAt
                | OperationKind::Append
                | OperationKind::SetLockContents
        )
    }

    /// Whether the machine's own directory repeats it when a signal interrupts it. The others hand `EINTR` on.
    #[must_use]
    pub const fn is_repeated_when_interrupted(self) -> bool {
        match self {
            OperationKind::Open
            | OperationKind::Read
            | OperationKind::Create
            | OperationKind::Write
            | OperationKind::Sync
            | OperationKind::OpenData
            | OperationKind::LookData
            | OperationKind::ReadAt
            | OperationKind::WriteAt
            | OperationKind::Cut
            | OperationKind::Append
            | OperationKind::SyncDirectory
            | OperationKind::Watch
            | OperationKind::OpenLock
            | OperationKind::LookLock
            | OperationKind::TryLock
            | OperationKind::LockContents
            | OperationKind::SetLockContents => true,
            OperationKind::MakeDirectory
            | OperationKind::Metadata
            | OperationKind::Names
            | OperationKind::Rename
            | OperationKind::Exchange
            | OperationKind::Remove
            | OperationKind::RemoveDirectory => false,
        }
    }
}

/// One operation that a simulated process made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// Its number among the operations of its process, from 1.
    pub number: u64,
    /// Its kind.
    pub kind: OperationKind,
    /// The directory in which it was made, as that was opened.
    pub directory: String,
    /// The kind's word and the names, such as `rename a -> b`.
    pub text: String,
    /// How it failed, if it did: an error number's name, or the error's own words.
    pub error: Option<String>,
}

impl fmt::Display for OperationRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}: {}", self.number, self.directory, self.text)?;
        match &self.error {
            Some(error) => write!(out, " ({error})"),
            None => Ok(()),
        }
    }
}

/// An operation about to be made.
#[derive(Clone, Debug)]
pub(super) struct Request<'a> {
    pub(super) kind: OperationKind,
    /// The directory, as it was opened.
    pub(super) directory: &'a str,
    /// The names that it is about, none for an operation on the directory itself.
    pub(super) names: [Option<&'a str>; 2],
    /// How many bytes it writes, where it writes any.
    pub(super) bytes: Option<usize>,
}

impl<'a> Request<'a> {
    pub(super) fn new(kind: OperationKind, directory: &'a str) -> Self {
        Request { kind, directory, names: [None, None], bytes: None }
    }

    pub(super) fn named(mut self, name: &'a str) -> Self {
        self.names[0] = Some(name);
        self
    }

    pub(super) fn and(mut self, name: &'a str) -> Self {
        self.names[1] = Some(name);
        self
    }

    pub(super) fn of_bytes(mut self, bytes: usize) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// What is left of it after so many bytes.
    pub(super) fn of_rest(mut self, written: usize) -> Self {
        self.bytes = self.bytes.map(|bytes| bytes - written);
        self
    }

    /// The line of the trace.
    pub(super) fn text(&self) -> String {
        let word = self.kind.word();
        match (self.names, self.bytes) {
            ([Some(from), Some(to)], _) if self.kind == OperationKind::Exchange => {
                format!("{word} {from} <-> {to}")
            }
            ([Some(from), Some(to)], _) => format!("{word} {from} -> {to}"),
            ([Some(name), None], Some(bytes)) => format!("{word} {name} {bytes}"),
            ([Some(name), None], None) => format!("{word} {name}"),
            ([None, _], _) => word.to_owned(),
        }
    }
}
