//! When two names are one name to some file system (EX-ART-10). Pure, without a locale.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The folding of a name: NFC, full upper case, full lower case, NFC.
#[must_use]
pub fn fold(name: &str) -> String {
    let mut folded = Vec::new();
    fold_into(name.as_bytes(), &mut folded);
    String::from_utf8(folded).unwrap_or_default()
}

/// Appends the folding of one component. Bytes that are no UTF-8 are equal to themselves alone.
pub(super) fn fold_into(component: &[u8], out: &mut Vec<u8>) {
    if component.is_ascii() {
        out.extend(component.iter().map(u8::to_ascii_lowercase));
        return;
    }
    match std::str::from_utf8(component) {
        Ok(text) if is_nfc(text) => fold_composed(text, out),
        Ok(text) => fold_composed(&text.nfc().collect::<String>(), out),
        Err(_) => out.extend_from_slice(component),
    }
}

fn fold_composed(text: &str, out: &mut Vec<u8>) {
    let folded = text.to_uppercase().to_lowercase();
    if is_nfc(&folded) {
        out.extend_from_slice(folded.as_bytes());
    } else {
        out.extend_from_slice(folded.nfc().collect::<String>().as_bytes());
    }
}
