//! Idempotent creates: what a claim is found by.

use gallivant_core::{Code, Error, Result};

use crate::handle::array;
use crate::options::{self, sized};
use crate::view::gallivant_str;

/// Names one claim. Claims of different operations, and of different scopes, have nothing to do with each other: `["a", "b"]`,
/// `["ab"]` and `["a/b"]` are three scopes.
///
/// The body alone is compared, so whatever else decides what is made belongs in the scope: a parent in the path, the
/// principal on whose behalf it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_idempotency_name {
    /// Set by `GALLIVANT_IDEMPOTENCY_NAME_INIT`.
    pub struct_size: usize,
    /// The namespace of the key, such as `harnesses.create`: 1 to 255 bytes of UTF-8.
    pub operation: gallivant_str,
    /// Whom the key belongs to, outermost first, down to the narrowest owner of what is made: at least one part of 1 to
    /// 255 bytes of UTF-8.
    pub scope: *const gallivant_str,
    /// How many parts.
    pub scope_count: usize,
    /// The caller's key: 1 to 255 bytes of visible ASCII. Only its hash is kept.
    pub key: gallivant_str,
}
sized!(gallivant_idempotency_name);

// C: #define GALLIVANT_IDEMPOTENCY_NAME_INIT \
// C:     { sizeof(gallivant_idempotency_name), { NULL, 0 }, NULL, 0, { NULL, 0 } }

/// A name's parts, borrowed for the length of one call.
pub(super) struct Parts<'a> {
    pub(super) operation: &'a str,
    pub(super) scope: Vec<&'a str>,
    pub(super) key: &'a str,
}

/// The name behind an argument. Bytes that are no UTF-8 make no key and no scope, which has its own code (IK-13).
///
/// # Errors
/// Those of [`options::input`] and of strings; `IDEMPOTENCY_KEY_INVALID` and `IDEMPOTENCY_SCOPE_INVALID`.
///
/// # Safety
/// `pointer` is null or points to a name whose members point to what they say.
pub(super) unsafe fn parts<'a>(pointer: *const gallivant_idempotency_name) -> Result<Parts<'a>> {
    // SAFETY: the same contract.
    unsafe {
        let given = options::input(pointer, "name")?;
        let operation = given
            .operation
            .text("operation")
            .map_err(unless_utf8(Code::IdempotencyScopeInvalid, "operation"))?;
        let scope = array(given.scope, given.scope_count, "scope")?.iter();
        let scope =
            scope.map(|part| part.text("scope").map_err(unless_utf8(Code::IdempotencyScopeInvalid, "scope")));
        let scope = scope.collect::<Result<_>>()?;
        let key = given.key.text("key").map_err(unless_utf8(Code::IdempotencyKeyInvalid, "key"))?;
        Ok(Parts { operation, scope, key })
    }
}

/// The error of a string, or that of its part of the name where the bytes alone are at fault.
fn unless_utf8(code: Code, reason: &'static str) -> impl Fn(Error) -> Error {
    move |error| match error.reason() {
        Some("utf-8") if code == Code::IdempotencyKeyInvalid => Error::new(code, error.message()),
        Some("utf-8") => Error::new(code, error.message()).with_reason(reason),
        _ => error,
    }
}
