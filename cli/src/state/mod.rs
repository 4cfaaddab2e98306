//! `gallivant state`: what each agent is doing.
//!
//! - [`list`]: once; [`watch`]: again whenever something changes; [`explain`]: why a reader concludes what it does;
//! - [`shown`]: one agent as a row, as JSON, and as an answer to `--is`.

mod explain;
mod list;
mod shown;
mod watch;

use std::path::PathBuf;

use crate::arguments::State;
use crate::environment::variable;
use crate::exit::{Outcome, Result};
use crate::terminal::Screen;

/// Where agents are when nothing else is said.
const DEFAULT: &str = ".gallivant";
const VARIABLE: &str = "GALLIVANT_DIR";

pub(crate) fn state(asked: &State, screen: &Screen) -> Result<Outcome> {
    let roots = if asked.dir.is_empty() { vec![default_directory()] } else { asked.dir.clone() };
    match &asked.explain {
        Some(agent) => explain::explain(&roots, agent, asked.json),
        None if asked.watch => watch::watch(&roots, asked, screen),
        None => list::list(&roots, asked, screen),
    }
}

/// The directory that holds the agents' directories, where none is named.
pub(crate) fn default_directory() -> PathBuf {
    variable(VARIABLE).map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from)
}
