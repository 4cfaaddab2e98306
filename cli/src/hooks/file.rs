//! A settings file: read through links, and replaced whole with the rights that it has.

use std::path::{Path, PathBuf};

use gallivant_core::storage::StagedNames;
use gallivant_core::{Code, Error, Host};
use rustix::fs::{Mode, RawMode};

use crate::exit::{Failure, Result};

/// No settings of a person's are longer.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
const STAGED: &str = ".gallivant-hooks.tmp-";
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What stands at a path.
pub(super) struct Found {
    path: PathBuf,
    text: Option<String>,
    mode: Option<u32>,
}

impl Found {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let host = Host::system();
        // A link stays one: what it leads to is replaced.
        let path =
            path.canonicalize().or_else(|_| host.files.absolute(path)).unwrap_or_else(|_| path.to_owned());
        let mut bytes = Vec::new();
        let file = match host.files.read_file(&path, MAX_BYTES, &mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Found { path, text: None, mode: None });
            }
            file => file.map_err(|error| failed("read", &path, error))?,
        };
        let text = String::from_utf8(bytes).ok().filter(|_| !file.oversized).ok_or_else(|| {
            let what = format!("the file is no settings, file=`{}`", path.display());
            Failure::Damaged(what, "name the harness's settings with --file")
        })?;
        Ok(Found { path, text: Some(text), mode: Some(file.metadata.mode) })
    }

    /// The text behind the mark that an editor may have put in front; none where there is no file.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref().map(|text| text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
    }

    /// Puts another text in its place, or removes it. Durable once this has returned.
    pub(super) fn replace(&self, next: Option<&str>) -> Result<()> {
        if Found::read(&self.path)?.text != self.text {
            let what = format!("the file was changed meanwhile, file=`{}`", self.path.display());
            return Err(Failure::Arguments(what, "call again; nothing was written"));
        }
        let mark = self.text.as_deref().is_some_and(|text| text.starts_with(BYTE_ORDER_MARK));
        let next = next.map(|next| if mark { format!("{BYTE_ORDER_MARK}{next}") } else { next.to_owned() });
        self.write(next.as_deref()).map_err(|error| failed("write", &self.path, error))
    }

    fn write(&self, next: Option<&str>) -> std::io::Result<()> {
        let host = Host::system();
        let (Some(above), Some(name)) =
            (self.path.parent(), self.path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let directory = host.files.open_or_create(above)?;
        match next {
            None => directory.remove(name)?,
            Some(next) => {
                let staged = StagedNames::new(&host).next(STAGED);
                let mut file = directory.create(&staged)?;
                let filled = file.write_all(next.as_bytes()).and_then(|()| {
                    if let Some(mode) = self.mode {
                        rustix::fs::chmod(
                            above.join(&staged),
                            Mode::from_raw_mode((mode & 0o7777) as RawMode),
                        )?;
                    }
                    file.sync()
                });
                if let Err(error) = filled.and_then(|()| directory.rename(&staged, name)) {
                    let _ = directory.remove(&staged);
                    return Err(error);
                }
            }
        }
        directory.sync()
    }
}

fn failed(doing: &str, path: &Path, error: std::io::Error) -> Failure {
    let message = format!("cannot {doing} the settings, file=`{}`", path.display());
    Failure::Core(Error::new(Code::HarnessStateIo, message).with_source(error))
}
