//! The environment of this process, looked at in one place.

use std::ffi::OsString;

use gallivant_core::harness_state::SessionVariables;

/// The value of a variable, where it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    look_up(name).filter(|value| !value.is_empty())
}

/// The variables by which a wrapper hands its session on.
pub(crate) fn session() -> SessionVariables {
    SessionVariables::of(look_up)
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn look_up(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
