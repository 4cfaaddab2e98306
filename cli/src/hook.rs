//! `gallivant hook HARNESS`: a hook of a harness, without an interpreter. The rules are the core's (`hook_process`).

use std::ffi::OsString;

use gallivant_core::Host;
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{Options, check_hook, hold_through_signals, serve_hook};

use crate::arguments::Hook;
use crate::environment;
use crate::exit::{Failure, Outcome, Result};
use crate::terminal::say;

/// The arguments behind the word `hook`, where a hook is to be served: the name of a harness never begins with a dash, and
/// what does is a person's.
pub(crate) fn asked(arguments: &[OsString]) -> Option<&[OsString]> {
    let [_, word, behind @ ..] = arguments else { return None };
    let is_persons = behind.first().is_some_and(|first| first.as_encoded_bytes().starts_with(b"-"));
    (word == "hook" && !is_persons).then_some(behind)
}

/// Serves the hook. Whatever happens, the status is 0 and nothing is printed.
pub(crate) fn serve(arguments: &[OsString]) -> u8 {
    hold_through_signals();
    // A bug is the log's to tell, and nobody's to see.
    std::panic::set_hook(Box::new(|_| {}));
    serve_hook(arguments, &environment::session());
    0
}

/// What begins with a dash.
pub(crate) fn by_hand(asked: &Hook) -> Result<Outcome> {
    if !asked.check {
        return Err(Failure::Arguments(
            "no harness is named".to_owned(),
            "name one of claude codex gemini opencode",
        ));
    }
    let harness = asked.harness.as_deref().map(Harness::parse).transpose()?;
    let found = check_hook(&environment::session(), harness, &Options::default(), &Host::system());
    say(found.to_string().trim_end())?;
    Ok(Outcome::of(found.problem().is_none()))
}
