//! Why a reader concludes what it does of one agent.

use std::path::{Path, PathBuf};

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, Options, Reader};

use crate::exit::{Failure, Outcome, Result};
use crate::terminal::say;

/// `agent` is a path below the first root, where something stands there, and else a path of its own.
pub(super) fn explain(roots: &[PathBuf], agent: &Path, json: bool) -> Result<Outcome> {
    let host = Host::system();
    let below = roots.first().map(|root| root.join(agent));
    let path = below.filter(|below| host.files.metadata(below).is_ok()).unwrap_or_else(|| agent.to_owned());
    if host.files.metadata(&path).is_err() {
        let what = format!("there is no such agent, agent=`{}`", agent.display());
        return Err(Failure::Arguments(what, "name its directory, or a path below the first DIR"));
    }
    let reader = Reader::try_open(path, &Options::default(), &host)?;
    let explanation = reader.explain(Some(&LeaseProbe::new(&reader)));
    if json {
        say(&explanation.to_json())?;
    } else {
        say(explanation.to_string().trim_end())?;
    }
    Ok(Outcome::of(explanation.derived.is_some()))
}
