//! Public texts, and files that a coordinator finds unfinished.

use std::collections::BTreeSet;

use super::checkout::Checkout;
use super::detail::Detail;
use super::git::Git;
use crate::error::Result;

/// Whether a title, a body or another text may be made public as it is (EX-ART-44). To be asked of the raw text, before it
/// is normalised in any way.
///
/// # Errors
/// `EXECUTION_RESULT`, reason `result-validation`, for a text with a NUL byte, of which nothing is repeated.
pub fn public_text_check(text: &str) -> Result<()> {
    if text.contains('\0') { Err(Detail::PublicText.refuse(None)) } else { Ok(()) }
}

/// A file that a coordinator lays over a checkout on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// Its canonical path.
    pub path: String,
    /// The SHA-256 of its bytes.
    pub hash: [u8; 32],
}

/// The files of a checkout that are changed, staged or untracked, ignored ones left out, and are no approved overlay with
/// exactly its bytes (EX-ART-56). Paths are bytes, each once and in
/// their order. An empty list means that nothing is unfinished.
///
/// # Errors
/// `EXECUTION_IO`, reason `tree`, where Git or the disk gives no whole answer.
pub fn unfinished_files(git: &Git, checkout: &Checkout, overlays: &[Overlay]) -> Result<Vec<Vec<u8>>> {
    let mut unfinished = BTreeSet::new();
    for changed in git.status()? {
        let overlay = overlays.iter().find(|overlay| overlay.path.as_bytes() == changed.path);
        let is_approved = match overlay {
            // What is no regular file has no bytes that could be verified.
            Some(overlay) => match checkout.hash(&overlay.path) {
                Ok(hash) => hash == Some(overlay.hash),
                Err(error) if error.code() == crate::Code::ExecutionResult => false,
                Err(error) => return Err(error),
            },
            None => false,
        };
        if !is_approved {
            unfinished.insert(changed.path);
        }
    }
    Ok(unfinished.into_iter().collect())
}
