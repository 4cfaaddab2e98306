//! What writers stage, by name, and whether anybody still writes it.

use super::{Judged, Verdict};
use crate::host::Host;
use crate::storage::{ABANDONED_AFTER, FileType, Metadata};

/// Before the names of what is staged: of a record, its floor and its log; of a task's and a health store's files; of the
/// journal, its projection and its output; of a probe of locks.
const PREFIXES: [&str; 8] = [
    ".harness-state.tmp-",
    ".harness-state.seq.tmp-",
    ".staged-",
    ".journal.json.tmp-",
    ".projection.tmp-",
    ".local-output.json.tmp-",
    ".local-output-queue.json.tmp-",
    ".idempotency-locking.tmp-",
];
/// Between the name of a store of claims, which is its user's, and 16 digits.
const STORE: &str = ".tmp-";

pub(super) fn is_staged(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_a_stores(name)
}

fn is_a_stores(name: &str) -> bool {
    let digits = name.strip_prefix('.').and_then(|name| name.rsplit_once(STORE)).map(|(_, digits)| digits);
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// By its age alone, as the sweeps of the domains have it.
pub(super) fn judge(metadata: &Metadata, host: &Host) -> Judged {
    if metadata.file_type != FileType::Regular {
        return Judged::new(
            Verdict::Corrupt,
            "no writer of ours stages what is no regular file",
            "remove it",
        );
    }
    let age_ns = i128::from(host.clock.wall_ms()) * 1_000_000 - metadata.modified_ns;
    if age_ns > ABANDONED_AFTER.as_nanos() as i128 {
        let hours = age_ns / 3_600_000_000_000;
        let detail = format!("its writer has not gone on for hours=`{hours}`");
        return Judged::new(Verdict::Abandoned, detail, "leave it to the next sweep, or remove it");
    }
    Judged::new(Verdict::Staged, "a writer is at work, or died within the last hour", "")
}

#[cfg(test)]
mod tests {
    use super::is_staged;

    #[test]
    fn what_is_staged_is_known_by_its_name() {
        for name in
            [".harness-state.tmp-8ko-5z3k1-00x9zaa", ".staged-7-8-0123xyz", ".c.db.tmp-0123456789abcdef"]
        {
            assert!(is_staged(name), "{name}");
        }
        for name in
            ["harness-state", ".gitignore", ".c.tmp-1", "notes.tmp-0123456789abcdef", ".tmp-0123456789abcdeg"]
        {
            assert!(!is_staged(name), "{name}");
        }
    }
}
