//! What tells a repeat from another request: SHA-256 over the body as it was sent (IK-03).

use sha2::{Digest, Sha256};

/// SHA-256 of a request's body, over exactly the bytes that were given.
///
/// There is no canonical form: `{"a":1}` and `{ "a": 1 }` are two bodies. Whoever retries resends the bytes that were
/// sent first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a body that is in memory.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Fingerprint(Sha256::digest(body).into())
    }

    /// One that was taken before, by any means that takes SHA-256.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Fingerprint(bytes)
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Takes the fingerprint of a body that comes in parts, such as one too large for memory.
    #[must_use]
    pub fn builder() -> FingerprintBuilder {
        FingerprintBuilder::default()
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// A fingerprint in the making. How the body is cut makes no difference.
#[derive(Clone, Debug, Default)]
pub struct FingerprintBuilder(Sha256);

impl FingerprintBuilder {
    /// Adds the next bytes of the body.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The fingerprint of everything that was added.
    #[must_use]
    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }
}
