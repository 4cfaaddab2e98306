//! The reply to a prepare: whether the boundary that was declared is the one that is kept (EX-PRE-12).

use std::fmt;

use super::method::Method;
use super::reply::{Reply, protocol};
use crate::error::Result;
use crate::execution::capability::record::Preparation;
use crate::json::Value;
use crate::words::words;

/// The most bytes that a grant may have as JSON without white space (EX-TRA-12).
pub const GRANT_BYTES: usize = 16_384;

words! {
    /// What an intake turn is for.
    Phase {
        /// A first draft of what the task is.
        Draft = "draft",
        /// Questions about it.
        Clarify = "clarify",
        /// A draft that was found wanting.
        Repair = "repair",
    }
}

/// A reply to a prepare that was judged and found valid. It holds the grant, which is written to no file and no log
/// (EX-PRE-04); its `Debug` form shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The private grant, an object, or null.
    pub grant: Value,
}

impl Prepared {
    /// Judges the reply to a prepare against what the record declares. A grant that is left out is null.
    ///
    /// # Errors
    /// `EXECUTION_PROTOCOL`, and no receipt may be issued: with the reason `shape` for a reply that is too long, no JSON
    /// object, or has a grant that is no object or has more than [`GRANT_BYTES`]; with the reason `preparation` for a
    /// boundary or an authority that is not the declared one, byte for byte.
    pub fn judge(text: &str, declared: &Preparation) -> Result<Prepared> {
        let shape = |message: &str| protocol("shape", format!("{message} method=`prepare`"));
        let Some(reply) = Reply::receive(Method::Prepare, text, 0)? else {
            return Err(shape("a reply is null,"));
        };
        for (name, declared) in [("boundary", &declared.boundary), ("authority", &declared.authority)] {
            if reply.get(name).and_then(Value::as_str) != Some(declared) {
                let message =
                    format!("a reply does not have what is declared, member=`{name}` declared=`{declared}`");
                return Err(protocol("preparation", message));
            }
        }
        let grant = reply.get("grant").cloned().unwrap_or(Value::Null);
        if !matches!(grant, Value::Null | Value::Object(_)) {
            return Err(shape("a grant is neither an object nor null,"));
        }
        let canonical = grant.to_canonical();
        if canonical.len() > GRANT_BYTES {
            return Err(shape(&format!(
                "a grant is too long, bytes=`{}` limit=`{GRANT_BYTES}`",
                canonical.len()
            )));
        }
        if !reply.is_exact(&canonical) {
            return Err(shape("a grant is cut inside a character,"));
        }
        Ok(Prepared { grant })
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Prepared").finish_non_exhaustive()
    }
}
