//! What a sandbox grants and what it hides, found on disk before anything runs.

use std::io;
use std::path::{Path, PathBuf};

use super::linux;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::FileType;

/// The view of Git's data, below a profile.
pub(crate) const GIT_VIEW: &str = "git";
/// The longest content of a `.git` file or of `commondir`.
const MAX_POINTER_BYTES: u64 = 8_192;
/// Directories that are the system's, so that no checkout and no runtime may take their place.
const SYSTEMS: [&str; 8] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys"];

/// A runtime that the coordinator names, such as an installation of Node with npm (EX-VER-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The installation. It can be read and not written.
    pub directory: PathBuf,
    /// The directory of its programs, in the installation: the first of `PATH` (EX-VER-26).
    pub programs: PathBuf,
}

/// Something that is not to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A directory: an empty one stands in its place.
    Directory(PathBuf),
    /// A file: an empty one stands in its place.
    File(PathBuf),
}

/// What a sandbox is made of. Every path is that of the machine, without a link in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The checkout, which can be written.
    pub checkout: PathBuf,
    /// The private profile, whose directories can be written.
    pub profile: PathBuf,
    /// The named runtime.
    pub runtime: Option<Runtime>,
    /// Git's metadata, as far as it lies where something is granted (EX-VER-25, EX-VER-34).
    pub hidden: Vec<Hidden>,
}

impl Layout {
    /// The layout over a checkout with its private profile. `home` is the operator's, which no grant may cover.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a checkout or a runtime that is missing, is the system's, or covers something else of the layout;
    /// and for a checkout whose `.git` is a link or no Git metadata.
    pub fn over(
        checkout: &Path,
        profile: &Path,
        runtime: Option<&Runtime>,
        home: Option<&Path>,
        host: &Host,
    ) -> Result<Layout> {
        let checkout = resolved(checkout, "checkout")?;
        let profile = resolved(profile, "profile")?;
        if profile.starts_with(&checkout) || checkout.starts_with(&profile) {
            return Err(wrong("the private profile and the checkout lie in each other", &checkout));
        }
        refuse_system(&checkout, "checkout")?;
        let runtime = runtime.map(|runtime| found(runtime, &[&checkout, &profile], home)).transpose()?;
        let hidden = hidden(&checkout, runtime.as_ref(), host)?;
        Ok(Layout { checkout, profile, runtime, hidden })
    }
}

fn found(runtime: &Runtime, apart: &[&Path], home: Option<&Path>) -> Result<Runtime> {
    let directory = resolved(&runtime.directory, "runtime")?;
    let programs = resolved(&runtime.programs, "runtime's programs")?;
    if !programs.starts_with(&directory) {
        return Err(wrong("the runtime's programs lie outside of it", &programs));
    }
    refuse_system(&directory, "runtime")?;
    let home = home.and_then(|home| home.canonicalize().ok());
    let covered = apart.iter().copied().chain(home.as_deref()).any(|path| path.starts_with(&directory));
    if covered || apart.iter().any(|path| directory.starts_with(path)) {
        return Err(wrong(
            "the runtime covers the checkout, the profile or the home of the operator",
            &directory,
        ));
    }
    if programs.as_os_str().as_encoded_bytes().contains(&b':') {
        return Err(wrong("the directory of the runtime's programs cannot stand in PATH", &programs));
    }
    Ok(Runtime { directory, programs })
}

/// Git's metadata of a checkout: what stands at `.git`, and what a linked work tree's pointer leads to where that lies in
/// something granted.
fn hidden(checkout: &Path, runtime: Option<&Runtime>, host: &Host) -> Result<Vec<Hidden>> {
    let at = checkout.join(".git");
    let failed = |error: io::Error| {
        Error::new(Code::ExecutionIo, "the checkout's .git cannot be looked at").with_source(error)
    };
    let found = match host.files.metadata(&at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(wrong("the checkout has no .git", checkout));
        }
        found => found.map_err(failed)?,
    };
    match found.file_type {
        FileType::Directory => return Ok(vec![Hidden::Directory(at)]),
        FileType::Regular => {}
        FileType::Link | FileType::Other => {
            return Err(wrong("the checkout's .git is neither a directory nor a file", checkout));
        }
    }
    let unreadable = || wrong("the checkout's .git names no directory", checkout);
    let text = pointer(&at, host).map_err(failed)?;
    let named = text.strip_prefix("gitdir: ").ok_or_else(unreadable)?;
    let directory = checkout.join(named).canonicalize().map_err(|_| unreadable())?;
    let common = match pointer(&directory.join("commondir"), host) {
        Ok(text) => directory.join(text).canonicalize().map_err(|_| unreadable())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => directory.clone(),
        Err(error) => return Err(failed(error)),
    };
    // A cover over a directory in there would not hold: a command can move the directories above it.
    if [&directory, &common].iter().any(|path| path.starts_with(checkout)) {
        return Err(wrong("the Git directory lies in the checkout under another name than .git", checkout));
    }
    let is_granted = |path: &Path| {
        path.starts_with("/usr") || runtime.is_some_and(|runtime| path.starts_with(&runtime.directory))
    };
    let mut out = vec![Hidden::File(at)];
    // The outer one is enough where one lies in the other.
    let is_apart = !directory.starts_with(&common);
    if is_granted(&common) {
        out.push(Hidden::Directory(common));
    }
    if is_apart && is_granted(&directory) {
        out.push(Hidden::Directory(directory));
    }
    Ok(out)
}

fn pointer(path: &Path, host: &Host) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = host.files.read_file(path, MAX_POINTER_BYTES, &mut bytes)?;
    if read.oversized {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let text = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn refuse_system(path: &Path, what: &str) -> Result<()> {
    let is_above = SYSTEMS.iter().chain(&["/usr", "/tmp"]).any(|system| Path::new(system).starts_with(path));
    let is_in = SYSTEMS.iter().chain(&[linux::OWN]).any(|system| path.starts_with(system));
    if is_above || is_in {
        return Err(wrong(&format!("the {what} is a directory of the system"), path));
    }
    Ok(())
}

fn resolved(path: &Path, what: &str) -> Result<PathBuf> {
    if !path.is_absolute() {
        return Err(wrong(&format!("the path of the {what} is not absolute"), path));
    }
    let resolved = path.canonicalize().map_err(|error| {
        Error::new(Code::ExecutionInput, format!("the {what} is not there")).with_source(error)
    })?;
    if resolved.is_dir() { Ok(resolved) } else { Err(wrong(&format!("the {what} is no directory"), path)) }
}

fn wrong(message: &str, path: &Path) -> Error {
    Error::new(Code::ExecutionInput, format!("{message}, path=`{}`", path.display()))
}
