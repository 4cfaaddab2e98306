//! x
use crate::exit::*;
pub(crate) fn hooks<T>(_: &T, _: &crate::terminal::Screen) -> Result<Outcome> {
    Ok(Outcome::Yes)
}
