//! Field cases of redaction: faults that were reported against comparable software. The inputs are in
//! `tests/vectors/cases`.

use std::path::PathBuf;

use gallivant_core::json::Value;
use gallivant_core::redaction::{MARK, Patterns, Redactor, Secrets};

fn input(file: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/cases").join(file);
    Value::parse(&std::fs::read_to_string(path).expect("the case is there")).expect("it is JSON")
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array).expect("a list");
    list.iter().map(|text| text.as_str().expect("a string").to_owned()).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).expect("a string")
}

fn redactor<S: AsRef<[u8]>>(secrets: &[S]) -> Redactor {
    Redactor::new(&Secrets::strict(secrets).expect("none is empty"), Patterns::Recognised)
        .expect("small enough")
}

#[test]
fn c_052_secrets_that_share_a_character_are_covered_together() {
    let case = input("C-052.redact.json");
    let marker = text(&case, "marker");
    for row in case.get("rows").and_then(Value::as_array).expect("rows") {
        let redacted = redactor(&texts(row, "secrets")).text(text(row, "text")).replace(MARK, marker);
        // Where the case leaves a choice: two occurrences that only touch are two marks.
        let wanted = text(row, "expect").split(" or ").next().expect("one at least");
        assert_eq!(redacted, wanted, "{row}");
    }
}

#[test]
fn c_054_a_secret_of_several_lines_is_found_across_uploads_and_by_its_lines() {
    let case = input("C-054.redact.json");
    let (marker, secret) = (text(&case, "marker"), text(&case, "secret"));
    let redactor = redactor(&[secret]);
    let through = |chunks: &[String]| {
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        chunks.iter().for_each(|chunk| stream.push(chunk.as_bytes(), &mut out));
        stream.finish(&mut out);
        String::from_utf8(out).expect("UTF-8").replace(MARK, marker)
    };
    let chunks = texts(&case, "chunks");
    assert_eq!(through(&chunks), text(&case, "expect_joined"));
    let crlf: Vec<String> = chunks.iter().map(|chunk| chunk.replace('\n', "\r\n")).collect();
    assert_eq!(through(&crlf), text(&case, "expect_joined").replace('\n', "\r\n"));
    // Indented, and each line an event of its own.
    for line in secret.lines() {
        assert_eq!(through(&[format!("    {line}\n")]), format!("    {marker}\n"));
    }
    let alone = text(case.get("also").expect("more"), "one line only");
    assert_eq!(through(&[format!("it was {alone}.")]), format!("it was {marker}."));
}

#[test]
fn c_057_nothing_is_skipped_in_silence_and_no_mark_shows_a_part() {
    let case = input("C-057.redact.json");
    let register = texts(&case, "register");
    // The empty one is refused, by its position. The case would refuse one letter too; here every other one counts,
    // whatever its length (EX-RED-07), so it is masked.
    let error = Secrets::strict(&register).expect_err("one is empty");
    assert_eq!(error.reason(), Some("secret"));
    assert!(error.message().contains("position=`0`"), "{error}");
    let rest: Vec<&String> = register.iter().filter(|secret| !secret.is_empty()).collect();
    let redacted = redactor(&rest).text(text(&case, "text")).into_owned();
    let kept = redacted.replace(MARK, "");
    for secret in rest {
        assert!(!kept.contains(secret.as_str()), "{secret}: {redacted}");
    }
    // Without the letter the words between stay whole.
    let longer: Vec<&String> = register.iter().filter(|secret| secret.len() > 1).collect();
    assert_eq!(redactor(&longer).text(text(&case, "text")).replace(MARK, "[x]"), "a [x] value, [x], [x]");
    // A rule that guesses takes no common word.
    let none = Redactor::new(&Secrets::none(), Patterns::Recognised).expect("small enough");
    assert_eq!(none.text("a default value"), "a default value");
}
