//! The hash of all files and values: SHA-256 as 64 lower-case hexadecimal digits; and the check sum of lines.

use sha2::{Digest, Sha256};

/// The SHA-256 of these bytes, as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// The SHA-256 of these bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A SHA-256 that is made piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Hashing(Sha256);

impl Hashing {
    /// Takes the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The SHA-256 of all pieces.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The CRC-32C of these bytes, as 8 lower-case hexadecimal digits (EX-JRN-88).
#[must_use]
pub fn crc32c_hex(bytes: &[u8]) -> String {
    format!("{:08x}", crc32c::crc32c(bytes))
}

/// Bytes as lower-case hexadecimal digits, two a byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    push_hex(bytes, &mut out);
    out
}

/// Appends [`hex`] to `out`.
pub fn push_hex(bytes: &[u8], out: &mut String) {
    let mut digits = [0; 64];
    for bytes in bytes.chunks(digits.len() / 2) {
        for (at, byte) in bytes.iter().enumerate() {
            [digits[2 * at], digits[2 * at + 1]] = DIGITS_OF[usize::from(*byte)];
        }
        // Digits are text.
        out.push_str(std::str::from_utf8(&digits[..2 * bytes.len()]).unwrap_or_default());
    }
}

/// The two digits of every byte.
const DIGITS_OF: [[u8; 2]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [[0; 2]; 256];
    let mut byte = 0;
    while byte < digits.len() {
        digits[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha_256_in_lower_case() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        assert_eq!(hex(&[0x00, 0x0f, 0xf0, 0xff, 0x9a]), "000ff0ff9a");
        assert_eq!(hex(&[0x5a; 33]), "5a".repeat(33));
    }

    #[test]
    fn the_check_sum_is_crc_32c_with_all_its_digits() {
        assert_eq!(crc32c_hex(b"123456789"), "e3069283");
        assert_eq!(crc32c_hex(b""), "00000000");
    }
}
