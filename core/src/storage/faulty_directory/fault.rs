//! Faults as data: what goes wrong, and at which operation.
//!
//! A list of faults is JSON that every language can hand over:
//!
//! ```json
//! [
//!   {"at": 7, "do": "crash"},
//!   {"at": 3, "do": "error", "errno": "ENOSPC"},
//!   {"on": "rename", "nth": 1, "do": "error", "errno": "EIO"},
//!   {"on": "rename", "name": ".harness-state.seq", "do": "error-after", "errno": "EIO"},
//!   {"on": "write", "do": "short", "bytes": 17, "errno": "ENOSPC"},
//!   {"on": "mutating", "repeat": true, "do": "error", "errno": "EROFS"},
//!   {"do": "full", "bytes": 4096}
//! ]
//! ```

use serde::{Deserialize, Serialize};

use super::errno::Errno;
use super::operation::{OperationKind, Request};
use crate::error::{Code, Error, Result};

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Fault {
    point: Point,
    action: Action,
}

/// At which of a process's operations something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    select: Select,
    repeat: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Select {
    At(u64),
    Nth { on: On, name: Option<String>, nth: u64 },
}

/// Which operations a [`Point`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// Those of one kind. Written as the kind's word.
    Kind(OperationKind),
    /// Those that are made to change the disk ([`OperationKind::is_mutating`]). Written `mutating`.
    Mutating,
    /// All. Written `any`.
    Any,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The operation fails and has no effect. Written `"do": "error"` with `errno`.
    ///
    /// After a failed sync of a file the system drops what it could not write: a later sync that succeeds does
    /// not make it durable.
    Error(Errno),
    /// The operation has its whole effect and is reported as failed, as a network file system may do. Written
    /// `"do": "error-after"` with `errno`.
    ErrorAfter(Errno),
    /// A write puts down this many bytes and then fails; an operation that writes no bytes just fails. Written
    /// `"do": "short"` with `bytes` and `errno`. `EINTR` makes it a short count, after which the write goes on.
    Short {
        /// Bytes that are written.
        bytes: u64,
        /// How it then fails.
        errno: Errno,
    },
    /// A write puts down this many bytes and then the process is gone. Written `"do": "torn"` with `bytes`.
    Torn {
        /// Bytes that are written.
        bytes: u64,
    },
    /// The process is gone before the operation has any effect. Written `"do": "crash"`.
    Crash,
    /// The process is gone just after the operation had its effect. Written `"do": "crash-after"`.
    CrashAfter,
    /// From this operation on, the disk has room for this many more bytes of content; what is removed gives its
    /// bytes back. Written `"do": "full"` with `bytes`; without a point it holds from the first operation on.
    Full {
        /// Bytes of room.
        bytes: u64,
    },
}

impl Point {
    /// The process's operation of this number, counted from 1 over all kinds.
    #[must_use]
    pub fn at(number: u64) -> Self {
        Point { select: Select::At(number), repeat: false }
    }

    /// The first of these operations; see [`Point::nth`].
    #[must_use]
    pub fn on(on: impl Into<On>) -> Self {
        Point { select: Select::Nth { on: on.into(), name: None, nth: 1 }, repeat: false }
    }

    /// Counts only operations on this name: the whole name, or its beginning followed by `*`. Of a rename or
    /// exchange either name counts. A point by number is not changed by this.
    #[must_use]
    pub fn named(mut self, wanted: impl Into<String>) -> Self {
        if let Select::Nth { name, .. } = &mut self.select {
            *name = Some(wanted.into());
        }
        self
    }

    /// The n-th of the counted operations, from 1. A point by number is not changed by this.
    #[must_use]
    pub fn nth(mut self, wanted: u64) -> Self {
        if let Select::Nth { nth, .. } = &mut self.select {
            *nth = wanted;
        }
        self
    }

    /// And each one that is counted after it.
    #[must_use]
    pub fn repeatedly(mut self) -> Self {
        self.repeat = true;
        self
    }
}

impl From<OperationKind> for On {
    fn from(kind: OperationKind) -> Self {
        On::Kind(kind)
    }
}

impl On {
    fn word(self) -> &'static str {
        match self {
            On::Kind(kind) => kind.word(),
            On::Mutating => "mutating",
            On::Any => "any",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "mutating" => Some(On::Mutating),
            "any" => Some(On::Any),
            word => OperationKind::from_word(word).map(On::Kind),
        }
    }

    fn counts(self, kind: OperationKind) -> bool {
        match self {
            On::Kind(wanted) => wanted == kind,
            On::Mutating => kind.is_mutating(),
            On::Any => true,
        }
    }
}

impl Fault {
    /// This happens there.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT`: operations are counted from 1, an interruption has no effect and cannot repeat for ever,
    /// and a disk becomes full once.
    pub fn new(point: Point, action: Action) -> Result<Self> {
        check(point, action).map_err(|message| Error::new(Code::Input, message))
    }

    /// The process is gone before its operation of this number has any effect.
    #[must_use]
    pub fn crash_at(number: u64) -> Self {
        Fault { point: Point::at(number), action: Action::Crash }
    }

    /// The process is gone just after its operation of this number had its effect.
    #[must_use]
    pub fn crash_after(number: u64) -> Self {
        Fault { point: Point::at(number), action: Action::CrashAfter }
    }

    /// The process's operation of this number fails without an effect.
    #[must_use]
    pub fn error_at(number: u64, errno: Errno) -> Self {
        Fault { point: Point::at(number), action: Action::Error(errno) }
    }

    /// The first operation of this kind fails without an effect.
    #[must_use]
    pub fn error_on(kind: OperationKind, errno: Errno) -> Self {
        Fault { point: Point::on(kind), action: Action::Error(errno) }
    }

    /// Reads a list of faults from JSON.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT`, with what is wrong in the message.
    pub fn parse_list(json: &str) -> Result<Vec<Fault>> {
        serde_json::from_str(json)
            .map_err(|error| Error::new(Code::Input, format!("the list of faults cannot be used: {error}")))
    }

    /// Where it happens.
    #[must_use]
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// What happens.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }
}

fn check(point: Point, action: Action) -> std::result::Result<Fault, String> {
    let first = match &point.select {
        Select::At(number) => *number,
        Select::Nth { nth, .. } => *nth,
    };
    if first == 0 {
        return Err("operations are counted from 1".to_owned());
    }
    let errno = match action {
        Action::Error(errno) | Action::Short { errno, .. } | Action::ErrorAfter(errno) => Some(errno),
        Action::Torn { .. } | Action::Crash | Action::CrashAfter | Action::Full { .. } => None,
    };
    if action == Action::ErrorAfter(Errno::EINTR) {
        return Err("an operation that had its effect was not interrupted".to_owned());
    }
    if point.repeat && errno == Some(Errno::EINTR) {
        return Err("an interruption that repeats never ends".to_owned());
    }
    if point.repeat && matches!(action, Action::Full { .. }) {
        return Err("a disk becomes full once".to_owned());
    }
    Ok(Fault { point, action })
}

/// A point that counts along with a process.
#[derive(Clone, Debug)]
pub(super) struct Armed {
    point: Point,
    seen: u64,
}

impl Armed {
    pub(super) fn new(point: Point) -> Self {
        Armed { point, seen: 0 }
    }

    /// Counts one operation; whether it is the wanted one.
    pub(super) fn is_due(&mut self, number: u64, request: &Request<'_>) -> bool {
        let (seen, wanted) = match &self.point.select {
            Select::At(at) => (number, *at),
            Select::Nth { on, name, nth } => {
                let named = name
                    .as_ref()
                    .is_none_or(|name| request.names.iter().flatten().any(|found| matches_name(found, name)));
                if !on.counts(request.kind) || !named {
                    return false;
                }
                self.seen += 1;
                (self.seen, *nth)
            }
        };
        seen == wanted || (self.point.repeat && seen > wanted)
    }
}

fn matches_name(found: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => found == wanted,
    }
}

/// The JSON form of a fault.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nth: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    repeat: bool,
    #[serde(rename = "do")]
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errno: Option<Errno>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl TryFrom<Written> for Fault {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<Self, String> {
        let word = written.action.as_str();
        let needs = |key: &str| format!("a fault lacks a key, do=`{word}` key=`{key}`");
        let action = match (word, written.errno, written.bytes) {
            ("error", Some(errno), None) => Action::Error(errno),
            ("error-after", Some(errno), None) => Action::ErrorAfter(errno),
            ("short", Some(errno), Some(bytes)) => Action::Short { bytes, errno },
            ("torn", None, Some(bytes)) => Action::Torn { bytes },
            ("crash", None, None) => Action::Crash,
            ("crash-after", None, None) => Action::CrashAfter,
            ("full", None, Some(bytes)) => Action::Full { bytes },
            ("error" | "error-after" | "short", None, _) => return Err(needs("errno")),
            ("short" | "torn" | "full", _, None) => return Err(needs("bytes")),
            ("error" | "error-after" | "crash" | "crash-after", _, Some(_)) => {
                return Err(format!("a fault has a key too many, do=`{word}` key=`bytes`"));
            }
            ("torn" | "crash" | "crash-after" | "full", Some(_), _) => {
                return Err(format!("a fault has a key too many, do=`{word}` key=`errno`"));
            }
            _ => return Err(format!("no such fault, do=`{word}`")),
        };
        let on = match &written.on {
            Some(word) => {
                Some(On::from_word(word).ok_or_else(|| format!("no such kind of operation, on=`{word}`"))?)
            }
            None => None,
        };
        let select = match (written.at, on, written.name, written.nth) {
            (Some(at), None, None, None) => Select::At(at),
            (Some(_), ..) => return Err("a point is either at a number or on, name and nth".to_owned()),
            (None, None, None, None) if matches!(action, Action::Full { .. }) => {
                Select::Nth { on: On::Any, name: None, nth: 1 }
            }
            (None, None, None, _) => return Err("a fault needs at, on or name".to_owned()),
            (None, on, name, nth) => Select::Nth { on: on.unwrap_or(On::Any), name, nth: nth.unwrap_or(1) },
        };
        check(Point { select, repeat: written.repeat }, action)
    }
}

impl From<Fault> for Written {
    fn from(fault: Fault) -> Self {
        let (action, errno, bytes) = match fault.action {
            Action::Error(errno) => ("error", Some(errno), None),
            Action::ErrorAfter(errno) => ("error-after", Some(errno), None),
            Action::Short { bytes, errno } => ("short", Some(errno), Some(bytes)),
            Action::Torn { bytes } => ("torn", None, Some(bytes)),
            Action::Crash => ("crash", None, None),
            Action::CrashAfter => ("crash-after", None, None),
            Action::Full { bytes } => ("full", None, Some(bytes)),
        };
        let (at, on, name, nth) = match fault.point.select {
            Select::At(at) => (Some(at), None, None, None),
            Select::Nth { on, name, nth } => (None, Some(on.word().to_owned()), name, Some(nth)),
        };
        Written { at, on, name, nth, repeat: fault.point.repeat, action: action.to_owned(), errno, bytes }
    }
}
