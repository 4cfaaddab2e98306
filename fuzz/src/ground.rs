//! What must hold for any secrets and any text, and for any bytes as JSON.

use gallivant_core::execution::cursor::{EXECUTION_CURSOR_BYTES, check_json, gap_id};
use gallivant_core::execution::{Cursor, Nanos, Round};
use gallivant_core::json::Value;
use gallivant_core::redaction::{MARK, Patterns, Redactor, Secrets};

/// Redaction: every cutting gives the same, a second pass changes nothing, and no secret is in what is kept.
///
/// The first byte is the size of the pieces; then come secrets, each behind a byte of 0xfe, until an empty one; the rest
/// is the text.
pub fn redaction(bytes: &[u8]) {
    let Some((size, rest)) = bytes.split_first() else { return };
    let mut parts = rest.split(|byte| *byte == 0xfe);
    let secrets: Vec<&[u8]> = parts.by_ref().take_while(|part| !part.is_empty()).take(8).collect();
    let text = parts.collect::<Vec<_>>().join(&0xfe);
    for patterns in [Patterns::Off, Patterns::Recognised] {
        let redactor = Redactor::new(&Secrets::lenient(&secrets), patterns).expect("they are short");
        let once = redactor.bytes(&text).into_owned();
        assert_eq!(redactor.bytes(&once).as_ref(), once, "a second pass changes nothing");
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        for piece in text.chunks(usize::from(*size).max(1)) {
            stream.push(piece, &mut out);
            assert!(stream.held_back() <= redactor.most_held_back());
        }
        stream.finish(&mut out);
        assert_eq!(out, once, "every cutting gives the same");
        for kept in pieces(&once) {
            for secret in &secrets {
                assert!(!contains(kept, secret), "no secret is in what is kept");
            }
        }
    }
}

/// What stands between marks.
fn pieces(mut text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while let Some(at) = text.windows(MARK.len()).position(|window| window == MARK.as_bytes()) {
        pieces.push(&text[..at]);
        text = &text[at + MARK.len()..];
    }
    pieces.push(text);
    pieces
}

fn contains(text: &[u8], secret: &[u8]) -> bool {
    text.windows(secret.len()).any(|window| window == secret)
}

/// JSON: a second reader judges it alike, what is written reads the same, and its canonical form is a fixed point. An
/// amount of money is shown by the number that it is.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let checked = check_json(text);
    let Ok(value) = Value::parse(text) else {
        assert!(!checked.valid);
        return;
    };
    assert!(serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok());
    assert_eq!(Value::parse(&value.to_json()).as_ref(), Ok(&value));
    let canonical = value.to_canonical();
    let again = Value::parse(&canonical).expect("what we write is JSON");
    assert_eq!(again.to_canonical(), canonical);
    assert_eq!(checked.valid, Cursor::from_value(&value).is_ok());
    if let Ok(cursor) = Cursor::from_json(text) {
        assert!(cursor.as_json().len() <= EXECUTION_CURSOR_BYTES && cursor.as_json().len() == checked.bytes);
        assert_eq!(Cursor::from_value(&cursor.to_value()).as_ref(), Ok(&cursor));
        assert!(gap_id(Some(&cursor), None).starts_with("gap"));
    }
    let [up, down] = [Round::Up, Round::Down].map(|round| Nanos::from_value(&value, round));
    if let (Some(up), Some(down)) = (up, down) {
        assert!(up.nanos() - down.nanos() <= 1);
        for amount in [up, down] {
            let shown = amount.to_number();
            assert_eq!(Nanos::from_number(&shown, Round::Down), Some(amount));
            assert_eq!(Nanos::from_number(&shown, Round::Up), Some(amount));
        }
    } else {
        assert_eq!(up, down, "it is an amount in both roundings or in none");
    }
}
