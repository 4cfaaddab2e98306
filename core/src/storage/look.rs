//! What was seen of a name at one moment, and whether that still holds.

use super::directory::Metadata;

/// A file changed within the clock tick of the file system in which it was read looks unchanged.
const SETTLED_AFTER_NS: i128 = 20_000_000;
/// The same where the file system keeps whole seconds, or, as FAT does, every other one.
const SETTLED_AFTER_COARSE_NS: i128 = 2_000_000_000;

/// What `stat` said of a file or a directory, and when that was.
///
/// Whoever keeps what was read from it under this does not read again while [`Look::still_holds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    metadata: Metadata,
    /// What was seen had not changed just before.
    settled: bool,
}

impl Look {
    /// `at_ms` is the wall clock in ms since 1970 just before `stat` was asked.
    #[must_use]
    pub fn new(metadata: Metadata, at_ms: u64) -> Self {
        let changed_ns = metadata.changed_ns;
        let is_coarse = changed_ns % 1_000_000_000 == 0;
        let rest = if is_coarse { SETTLED_AFTER_COARSE_NS } else { SETTLED_AFTER_NS };
        Look { metadata, settled: i128::from(at_ms) * 1_000_000 - changed_ns > rest }
    }

    /// What was just put there, which has not rested.
    #[must_use]
    pub fn of_new(metadata: Metadata) -> Self {
        Look { metadata, settled: false }
    }

    /// What was seen.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether what stands there `now` is the very same, unchanged, and had not changed just before it was seen: the
    /// same device, inode, size and times, with a last change that was more than 20 ms old at the time, 2 s where the
    /// file system's times are coarse.
    #[must_use]
    pub fn still_holds(&self, now: &Metadata) -> bool {
        self.settled && self.metadata == *now
    }
}
