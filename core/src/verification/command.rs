//! The approved list of commands (EX-VER-01 to EX-VER-04).

use crate::digest;
use crate::error::{Code, Error, Result};
use crate::json::Value;

/// How long a command may run (EX-VER-04).
pub const COMMAND_MS: u64 = 120_000;
/// How many bytes of a command's output are kept (EX-VER-04).
pub const OUTPUT_BYTES: usize = 262_144;
/// What runs a command: neither a login shell nor the operator's, so that no start-up file is read (EX-VER-02).
pub const SHELL: &str = "/bin/sh";
/// The most commands of one list. The number is ours: a list as long would run for a day and more.
const MAX_COMMANDS: usize = 1_000;
/// The longest text of a command in bytes. The number is ours, below what Linux takes as one argument.
const MAX_COMMAND_BYTES: usize = 65_536;

/// Commands that somebody has approved, in their order, bound to the source that was approved.
///
/// The coordinator reads the list from a file of its own choice. What a reviewer has approved is that file's content; the hash
/// of it is saved with the approval, and a list from any other content is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedCommands {
    commands: Vec<String>,
    source_hash: String,
}

impl ApprovedCommands {
    /// The commands of a source whose hash was approved. `source` is the content as it is now, `approved_hash` its SHA-256 in
    /// lower-case hexadecimal digits as it was saved with the approval.
    ///
    /// # Errors
    /// `EXECUTION_CONFLICT` where the source is another one than was approved; `EXECUTION_INPUT` for a hash of another form, a
    /// command that is empty, holds a NUL or is longer than 65,536 bytes, and more than 1,000 commands.
    pub fn new(commands: Vec<String>, source: &[u8], approved_hash: &str) -> Result<ApprovedCommands> {
        let wrong = |message: String| Err(Error::new(Code::ExecutionInput, message));
        let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        if approved_hash.len() != 64 || !approved_hash.as_bytes().iter().all(is_hex) {
            return wrong("the approved hash is no SHA-256 in lower-case digits".to_owned());
        }
        if commands.len() > MAX_COMMANDS {
            return wrong(format!("too many commands, count=`{}` limit=`{MAX_COMMANDS}`", commands.len()));
        }
        for (position, command) in commands.iter().enumerate() {
            if command.trim().is_empty() || command.contains('\0') || command.len() > MAX_COMMAND_BYTES {
                return wrong(format!(
                    "a command is empty, too long or holds a NUL byte, position=`{position}`"
                ));
            }
        }
        let found = digest::sha256_hex(source);
        if found != approved_hash {
            let message = format!(
                "the source of the commands is not the approved one, approved=`{approved_hash}` found=`{found}`"
            );
            return Err(Error::new(Code::ExecutionConflict, message).with_remedy(
                "have the changed list of commands approved, or restore the approved one, then publish again",
            ));
        }
        Ok(ApprovedCommands { commands, source_hash: found })
    }

    /// The commands, in the order in which they run.
    #[must_use]
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// The hash of the approved source.
    #[must_use]
    pub fn source_hash(&self) -> &str {
        &self.source_hash
    }

    /// The hash of the commands themselves: of their canonical JSON list. Evidence is bound to both.
    #[must_use]
    pub fn list_hash(&self) -> String {
        let list =
            Value::from(self.commands.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>());
        digest::sha256_hex(list.to_canonical().as_bytes())
    }
}
