//! Why a manifest is refused: one word each, which is part of the error's message. The rejected text never is
//! (EX-ART-45); an entry is named by its place in the list, from 0.

use crate::error::{Code, Error};

/// What is wrong with a manifest, or with one of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Detail {
    /// The list is no list, an entry no object, a member of the wrong type.
    Shape,
    /// The path is empty, or `.` alone.
    Empty,
    /// The path is no UTF-8.
    Encoding,
    /// The path begins at a root.
    Absolute,
    /// The path has a component `..`.
    Parent,
    /// The path holds a NUL byte.
    Nul,
    /// The path holds a backslash.
    Backslash,
    /// The path ends in a separator.
    Separator,
    /// The path has more than 4,096 bytes, or a component more than 255.
    Length,
    /// A component is what Git, or a file system, takes for the directory `.git`.
    Git,
    /// Another system would write the name as another one.
    Rewritten,
    /// Two entries have one path.
    Duplicate,
    /// Two entries, or a directory of each, are spelled differently and are one name to some file system.
    Alias,
    /// An entry is a directory of another one.
    FileAndDirectory,
    /// Something tracked is spelled differently and is the same name to some file system.
    TrackedAlias,
    /// The path is a tracked directory, or has a tracked file as parent.
    Collision,
    /// A file that is to be created is tracked.
    Tracked,
    /// A file that is to be changed is not tracked in input, HEAD and index.
    Untracked,
    /// The mode differs between input, HEAD, index and file, or is none of a text file.
    Mode,
    /// A hash is none, or there is none at all.
    Hash,
    /// The text is not what its hash says, or is there without one.
    Text,
    /// A parent of the path is a symbolic link or no directory.
    LinkInPath,
    /// The path itself is a symbolic link.
    Link,
    /// What stands there is no regular file.
    Special,
    /// The file has more than one name.
    Names,
    /// A file that is to be created is there.
    Present,
    /// A file that is to be changed is not there.
    Missing,
    /// The file's content is not the one that the result was made from.
    Content,
    /// Something in the path was exchanged while it was written.
    Exchanged,
    /// An earlier application has left something here that is not what it staged.
    LeftOver,
    /// A public text holds a NUL byte.
    PublicText,
    /// A pushed revision does not descend from the input, or is not the head of the task's branch.
    Revision,
}

impl Detail {
    /// The stable word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Detail::Shape => "shape",
            Detail::Empty => "empty",
            Detail::Encoding => "encoding",
            Detail::Absolute => "absolute",
            Detail::Parent => "parent",
            Detail::Nul => "nul",
            Detail::Backslash => "backslash",
            Detail::Separator => "separator",
            Detail::Length => "length",
            Detail::Git => "git",
            Detail::Rewritten => "rewritten",
            Detail::Duplicate => "duplicate",
            Detail::Alias => "alias",
            Detail::FileAndDirectory => "file-and-directory",
            Detail::TrackedAlias => "tracked-alias",
            Detail::Collision => "collision",
            Detail::Tracked => "tracked",
            Detail::Untracked => "untracked",
            Detail::Mode => "mode",
            Detail::Hash => "hash",
            Detail::Text => "text",
            Detail::LinkInPath => "link-in-path",
            Detail::Link => "link",
            Detail::Special => "special",
            Detail::Names => "names",
            Detail::Present => "present",
            Detail::Missing => "missing",
            Detail::Content => "content",
            Detail::Exchanged => "exchanged",
            Detail::LeftOver => "left-over",
            Detail::PublicText => "public-text",
            Detail::Revision => "revision",
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Detail::Alias | Detail::FileAndDirectory | Detail::TrackedAlias => {
                "split ambiguous spellings into separate results; nothing was changed"
            }
            Detail::Rewritten => {
                "give the file a name that every system writes as it is; nothing was changed"
            }
            Detail::Mode => {
                "restore the mode that the input commit has for the file, in index and work tree; a text result changes \
                 no mode"
            }
            Detail::Link | Detail::LinkInPath | Detail::Special | Detail::Names | Detail::Exchanged => {
                "put regular files and directories in the place of what is named, and keep other programs from the checkout"
            }
            Detail::LeftOver => {
                "look at the files that begin with .gallivant- in the checkout, and remove them by hand"
            }
            // What was kept is no longer what the provider gave (EX-JRN-60).
            Detail::Hash | Detail::Text => {
                "restore the exact artifact of the recorded job and root turn; do not dispatch"
            }
            _ => "correct the result at its source; what is refused is not published and not retried",
        }
    }

    /// The refusal of an entry, or of the whole: `EXECUTION_RESULT`, reason `result-validation`.
    #[must_use]
    pub fn refuse(self, entry: Option<usize>) -> Error {
        let word = self.word();
        let message = match entry {
            Some(entry) => format!("an entry of a result is refused, entry=`{entry}` detail=`{word}`"),
            None => format!("a result is refused, detail=`{word}`"),
        };
        Error::new(Code::ExecutionResult, message).with_reason("result-validation").with_remedy(self.remedy())
    }
}
