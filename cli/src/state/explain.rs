//! Why a reader concludes what it does of one agent.

use std::path::{Path, PathBuf};

use gallivant_core::Host;
use gallivant_core::harness_state::{LeaseProbe, Options, Reader};
use gallivant_core::json::Value;

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
    let probe = LeaseProbe::new(&reader);
    let explanation = reader.explain(Some(&probe));
    let names_another = explanation.record.as_ref().is_some_and(|record| probe.names_another(record));
    if json {
        say(&with_lease(&explanation.to_json(), names_another))?;
    } else {
        say(explanation.to_string().trim_end())?;
        if names_another {
            say("lease: indeterminate: it names another session than the record")?;
        }
    }
    Ok(Outcome::of(explanation.derived.is_some()))
}

/// What the core says, with the member `lease` behind it: `names-another-session`, or null.
fn with_lease(explanation: &str, names_another: bool) -> String {
    let lease = names_another.then_some("names-another-session");
    match Value::parse(explanation) {
        Ok(Value::Object(mut members)) => {
            members.insert("lease", lease.into());
            Value::Object(members).to_json()
        }
        _ => explanation.to_owned(),
    }
}
