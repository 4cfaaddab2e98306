//! What redaction is measured with: secrets, and text in which they may stand.

use gallivant_core::testing::SeededRandom;

/// How much is handed over at a time.
pub(crate) const CHUNK: usize = 64 * 1024;

/// 100 secrets of 40 bytes.
pub(crate) fn secrets(dice: &SeededRandom) -> Vec<String> {
    (0..100).map(|_| token(dice, 40)).collect()
}

fn token(dice: &SeededRandom, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    (0..length).map(|_| char::from(LETTERS[dice.below(LETTERS.len() as u64) as usize])).collect()
}

/// Lines of output and of JSON events, with addresses in them.
pub(crate) fn lines(dice: &SeededRandom, length: usize, secrets: &[String]) -> Vec<u8> {
    const LINES: [&str; 7] = [
        "   Compiling task-runner v0.4.1 (/home/user/project/crates/task-runner)\n",
        "test transition::a_heartbeat_that_lands_is_durable ... ok\n",
        "{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"cargo test -p core 2>&1 | tail -40\"},\"seq\":1842}\n",
        "GET https://api.example.com/v1/responses?limit=100 200 in 41 ms, id req_",
        "warning: unused variable: `index`, in src/redaction/scan.rs:211:17, help: prefix it with an underscore\n",
        "diff --git a/core/src/lib.rs b/core/src/lib.rs\n@@ -14,7 +14,9 @@ pub mod clock;\n-    let x = 1;\n+    let x = 2;\n",
        "The writer holds the lock for well under a millisecond, so a reader that waits for it is a bug.\n",
    ];
    let mut text = Vec::with_capacity(length + 256);
    let mut next_secret = 1024;
    while text.len() < length {
        let line = LINES[dice.below(LINES.len() as u64) as usize];
        text.extend_from_slice(line.as_bytes());
        if !line.ends_with('\n') {
            text.extend_from_slice(token(dice, 24).as_bytes());
            text.push(b'\n');
        }
        if !secrets.is_empty() && text.len() > next_secret {
            next_secret += 1024;
            text.extend_from_slice(secrets[dice.below(secrets.len() as u64) as usize].as_bytes());
        }
    }
    text
}
