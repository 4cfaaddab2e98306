//! A fingerprint in the making.

use std::cell::RefCell;

use gallivant_core::idempotency::{Fingerprint, FingerprintBuilder};
use napi::bindgen_prelude::{Buffer, Uint8Array};
use napi_derive::napi;

/// Takes a fingerprint of a body that comes in parts.
#[napi]
#[derive(Debug)]
pub struct NativeFingerprint {
    builder: RefCell<FingerprintBuilder>,
}

#[napi]
impl NativeFingerprint {
    /// Of no bytes yet.
    #[napi(catch_unwind)]
    pub fn begin() -> NativeFingerprint {
        NativeFingerprint { builder: RefCell::new(Fingerprint::builder()) }
    }

    /// Adds the next bytes.
    #[napi(catch_unwind)]
    pub fn update(&self, part: Uint8Array) {
        self.builder.borrow_mut().update(&part);
    }

    /// The fingerprint of what was added so far.
    #[napi(catch_unwind)]
    pub fn digest(&self) -> Buffer {
        let fingerprint = self.builder.borrow().clone().finish();
        fingerprint.as_bytes().to_vec().into()
    }
}

/// The fingerprint of a body that is in memory.
#[napi(catch_unwind)]
pub fn fingerprint_of(body: Uint8Array) -> Buffer {
    Fingerprint::of(&body).as_bytes().to_vec().into()
}
