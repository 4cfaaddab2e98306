//! What one key is in a file of the index: a fixed-width entry that proves itself.

use crate::journal::event::Key;

/// Bytes of one entry: the key, its number, and the CRC-32C of both.
pub(super) const ENTRY: usize = 44;

/// A key with the number under which it stands in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) sequence: u64,
}

impl Entry {
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend_from_slice(&self.key);
        into.extend_from_slice(&self.sequence.to_le_bytes());
        let crc = crc32c::crc32c(&into[start..]);
        into.extend_from_slice(&crc.to_le_bytes());
    }

    /// `None` for bytes that were never written as an entry, zeros among them.
    pub(super) fn decode(bytes: &[u8]) -> Option<Entry> {
        let (proved, crc) = bytes.get(..ENTRY)?.split_at(40);
        if crc32c::crc32c(proved) != u32::from_le_bytes(crc.try_into().ok()?) {
            return None;
        }
        let (key, sequence) = proved.split_at(32);
        Some(Entry { key: key.try_into().ok()?, sequence: u64::from_le_bytes(sequence.try_into().ok()?) })
    }
}

/// The first eight bytes of a key as a number that sorts as the key does.
pub(super) fn prefix(key: &Key) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&key[..8]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_with_a_flipped_bit_is_none() {
        let entry = Entry { key: [7; 32], sequence: 9 };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!((bytes.len(), Entry::decode(&bytes)), (ENTRY, Some(entry)));
        for at in 0..bytes.len() * 8 {
            bytes[at / 8] ^= 1 << (at % 8);
            assert_eq!(Entry::decode(&bytes), None, "bit {at}");
            bytes[at / 8] ^= 1 << (at % 8);
        }
        assert_eq!(Entry::decode(&[0; ENTRY]), None);
    }
}
