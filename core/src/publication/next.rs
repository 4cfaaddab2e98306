//! What a publication does next (EX-ART-39): a pure function of its checkpoint and of what is found now.

use crate::execution::application::Status;
use crate::words::words;

/// What of a checkpoint decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How far the publication had come.
    pub status: Status,
    /// The revision that the result had become.
    pub applied_head: Option<String>,
}

/// What is found when a publication begins, or goes on (EX-SEA-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether all owner keys are those of the run. True where there is no checkpoint.
    pub owner_matches: bool,
    /// Whether the fingerprint is that of the result. True where there is no checkpoint.
    pub fingerprint_matches: bool,
    /// The revision of the checkout; none where it has none.
    pub head: Option<String>,
    /// The revision that the run started from.
    pub input_head: Option<String>,
    /// Whether the head is a child of the input head whose changes equal the manifest with exact modes, or the pushed revision.
    pub applied_matches: bool,
    /// Whether index and work tree are clean, untracked files included.
    pub clean: bool,
    /// Whether there is evidence of success for every approved command.
    pub evidence_complete: bool,
    /// Whether the evidence names the sandbox's driver and probe.
    pub provenance: bool,
}

impl Facts {
    /// What is said before anything was looked for.
    #[must_use]
    pub const fn nothing() -> Self {
        Facts {
            owner_matches: true,
            fingerprint_matches: true,
            head: None,
            input_head: None,
            applied_matches: false,
            clean: false,
            evidence_complete: false,
            provenance: false,
        }
    }
}

words! {
    /// Why a publication is blocked.
    Block {
        /// The result cannot be applied, whatever is tried.
        Validation = "result-validation",
        /// A crash came while the commands ran; they are never run again.
        Interrupted = "verification-interrupted",
        /// There is no sandbox, or no proof that there was one.
        SandboxUnavailable = "verification-sandbox-unavailable",
        /// There is no evidence of success for every command.
        Verification = "result-verification",
        /// The checkout is at another revision than the applied one.
        RevisionChanged = "revision-changed",
        /// Index or work tree are not clean.
        Dirty = "dirty",
        /// A command has failed.
        CommandFailed = "command-failed",
    }
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Save `applying`, apply and commit.
    Apply,
    /// Take the head as the applied one, and verify.
    Verify,
    /// Push, and see to the pull request. Nothing is verified again.
    Publish,
    /// Give what is saved. Nothing is run, nothing is written.
    Return,
    /// Save the block.
    Block(Block),
    /// Refuse as foreign, and keep the file.
    Refuse,
}

impl Next {
    /// The action's word (EX-SEA-16).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Next::Apply => "apply",
            Next::Verify => "verify",
            Next::Publish => "publish",
            Next::Return => "return",
            Next::Block(_) => "block",
            Next::Refuse => "refuse",
        }
    }

    /// The reason that goes with it.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Next::Block(block) => Some(block.word()),
            Next::Refuse => Some("foreign"),
            Next::Apply | Next::Verify | Next::Publish | Next::Return => None,
        }
    }
}

/// The table of EX-ART-39, row by row. Ownership is looked at before anything else, and a publication that has ended is given
/// back whatever the checkout has become.
#[must_use]
pub fn publication_next(checkpoint: Option<&Found>, facts: &Facts) -> Next {
    if !facts.owner_matches || !facts.fingerprint_matches {
        return Next::Refuse;
    }
    let Some(found) = checkpoint else { return Next::Apply };
    match found.status {
        Status::Applying if facts.head.is_some() && facts.head == facts.input_head && facts.clean => {
            Next::Apply
        }
        Status::Applying if facts.head != facts.input_head && facts.applied_matches => Next::Verify,
        Status::Applying => Next::Block(Block::Validation),
        Status::Verifying => Next::Block(Block::Interrupted),
        Status::Verified if !facts.provenance => Next::Block(Block::SandboxUnavailable),
        Status::Verified if facts.head.is_none() || facts.head != found.applied_head => {
            Next::Block(Block::RevisionChanged)
        }
        Status::Verified if !facts.clean => Next::Block(Block::Dirty),
        Status::Verified if !facts.evidence_complete => Next::Block(Block::Verification),
        Status::Verified => Next::Publish,
        Status::Published | Status::Blocked => Next::Return,
    }
}
