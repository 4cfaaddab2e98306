//! `gallivant state`: what each agent is doing.
//!
//! - [`list`]: once; [`watch`]: again whenever something changes; [`explain`]: why a reader concludes what it does;
//! - [`shown`]: one agent as a row, as JSON, and as an answer to `--is`.

mod explain;
mod list;
mod shown;
mod watch;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gallivant_core::Host;

use crate::arguments::State;
use crate::environment::variable;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::Screen;

/// Where agents are when nothing else is said.
const DEFAULT: &str = ".gallivant";
const VARIABLE: &str = "GALLIVANT_DIR";

pub(crate) fn state(asked: &State, screen: &Screen) -> Result<Outcome> {
    let roots = if asked.dir.is_empty() { vec![default_directory()] } else { asked.dir.clone() };
    match &asked.explain {
        Some(agent) => explain::explain(&roots, agent, asked.json),
        None if asked.watch => watch::watch(&roots, asked, screen),
        None => {
            // The default one is made with the first agent. A watch waits for any.
            asked.dir.iter().try_for_each(|directory| refuse_missing(directory))?;
            list::list(&roots, asked, screen)
        }
    }
}

/// Refuses a directory that is not there, or is none: most likely it is mistyped.
fn refuse_missing(directory: &Path) -> Result<()> {
    match Host::system().files.open_to_read(directory) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let what = format!("there is no such directory, path=`{}`", directory.display());
            Err(Failure::Arguments(what, "name a directory below which agents are"))
        }
        _ => Ok(()),
    }
}

/// The directory that holds the agents' directories, where none is named.
pub(crate) fn default_directory() -> PathBuf {
    variable(VARIABLE).map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from)
}
