//! What a claim is found by: operation, scope and key, and the digest that stands for the three on disk.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::{Code, Error, Result};

/// The most bytes of a key and of each part of operation and scope (IK-13).
pub const MAX_PART_BYTES: usize = 255;

/// Names one claim: the operation, the whole scope and the key, checked by IK-13.
///
/// Two names are equal when all three are: `["a","b"]`, `["ab"]` and `["a/b"]` are three scopes. On disk a claim is
/// found by [`ClaimName::digest`] alone; operation and scope stand beside it for operators, the key stands nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimName(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    operation: String,
    scope: Vec<String>,
    digest: [u8; 32],
}

impl ClaimName {
    /// Checks the parts and takes their digest. Touches no disk.
    ///
    /// # Errors
    /// `IDEMPOTENCY_KEY_INVALID` when the key is not 1 to 255 bytes of visible ASCII (0x21 to 0x7e);
    /// `IDEMPOTENCY_SCOPE_INVALID` when the scope is empty, or the operation or a part of the scope is not 1 to 255
    /// bytes of UTF-8.
    pub fn new(operation: &str, scope: &[&str], key: &str) -> Result<Self> {
        let is_part = |part: &str| (1..=MAX_PART_BYTES).contains(&part.len());
        if !is_part(key) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let length = key.len();
            let message = format!("a key is 1 to {MAX_PART_BYTES} bytes of visible ASCII, bytes=`{length}`");
            return Err(Error::new(Code::IdempotencyKeyInvalid, message));
        }
        if !is_part(operation) {
            let message = format!("an operation is 1 to {MAX_PART_BYTES} bytes, bytes=`{}`", operation.len());
            return Err(Error::new(Code::IdempotencyScopeInvalid, message).with_reason("operation"));
        }
        if scope.is_empty() {
            let message = "a scope names at least the owner of what is made";
            return Err(Error::new(Code::IdempotencyScopeInvalid, message).with_reason("scope"));
        }
        if let Some((position, part)) = scope.iter().enumerate().find(|(_, part)| !is_part(part)) {
            let length = part.len();
            let message = format!(
                "a part of a scope is 1 to {MAX_PART_BYTES} bytes, position=`{position}` bytes=`{length}`"
            );
            return Err(Error::new(Code::IdempotencyScopeInvalid, message).with_reason("scope"));
        }
        Ok(ClaimName(Arc::new(Parts {
            operation: operation.to_owned(),
            scope: scope.iter().map(|part| (*part).to_owned()).collect(),
            digest: digest(operation, scope, key),
        })))
    }

    /// The namespace of the key.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// Whom the key belongs to, outermost first.
    #[must_use]
    pub fn scope(&self) -> &[String] {
        &self.0.scope
    }

    /// SHA-256 over the operation, the number of parts of the scope, the parts and the key, each text after its length
    /// in bytes as 8 bytes, little-endian: no two names have the same input.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }
}

impl std::fmt::Debug for ClaimName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut named = out.debug_struct("ClaimName");
        named.field("operation", &self.0.operation).field("scope", &self.0.scope).finish_non_exhaustive()
    }
}

fn digest(operation: &str, scope: &[&str], key: &str) -> [u8; 32] {
    let parts = scope.iter().chain([&key]).map(|part| 8 + part.len()).sum::<usize>();
    let mut input = Vec::with_capacity(8 + operation.len() + 8 + parts);
    let mut put = |number: usize, text: &str| {
        input.extend_from_slice(&(number as u64).to_le_bytes());
        input.extend_from_slice(text.as_bytes());
    };
    put(operation.len(), operation);
    put(scope.len(), "");
    for part in scope.iter().chain([&key]) {
        put(part.len(), part);
    }
    Sha256::digest(&input).into()
}
