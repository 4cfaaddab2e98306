//! Scripts that a test runs in the place of other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program below a directory that runs this script.
///
/// Another process makes it: a file that this one has open for writing is inherited by whatever another test is just starting,
/// and cannot be executed until that has gone on.
pub(crate) fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
    let (source, program) = (directory.join(format!("{name}.sh")), directory.join(name));
    std::fs::write(&source, text).expect("written");
    let made = Command::new("install").args(["-m", "755"]).args([&source, &program]).status();
    assert!(made.expect("install runs").success(), "{}", program.display());
    program
}
