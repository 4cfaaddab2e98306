//! EX-CUR: what a cursor may be, how it is written, and how gaps are named.

use gallivant_core::Code;
use gallivant_core::execution::cursor::{self, EXECUTION_CURSOR_BYTES, check, check_json, gap_id};
use gallivant_core::execution::{Checked, Cursor, InvalidCursor};
use gallivant_core::json::Value;

fn value(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn cursor(text: &str) -> Cursor {
    Cursor::from_json(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn named(text: &str) -> String {
    gap_id(Some(&cursor(text)), None)
}

#[test]
fn ex_cur_01_strings_finite_numbers_and_booleans_are_cursors_and_nothing_else_is() {
    for text in [r#""a""#, "1", "-1.5", "1e300", "true", "false"] {
        assert!(check_json(text).valid, "{text}");
    }
    for text in ["{}", "[]", r#"{"a":1}"#, r#"["a"]"#, "null"] {
        assert_eq!(Cursor::from_json(text), Err(InvalidCursor::Type), "{text}");
        assert!(!check_json(text).valid, "{text}");
    }
    assert_eq!(Cursor::from_json("1e400"), Err(InvalidCursor::NotFinite));
    assert_eq!(Cursor::from_json("-1e400"), Err(InvalidCursor::NotFinite));
    for text in ["", "NaN", "Infinity", "'a'", "\"a", "1 2"] {
        assert_eq!(check_json(text), Checked { valid: false, bytes: 0 }, "{text:?}");
    }
}

#[test]
fn ex_cur_02_the_limit_counts_the_bytes_of_the_serialised_form() {
    let quoted = |text: String| Value::String(text);
    for (fits, more) in [
        (quoted("a".repeat(4094)), quoted("a".repeat(4095))),
        // Two bytes of UTF-8 each.
        (quoted("ä".repeat(2047)), quoted("ä".repeat(2047) + "a")),
        // Two bytes of escape each, and six.
        (quoted("\n".repeat(2047)), quoted("\"".repeat(2047) + "a")),
        (quoted("\u{1}".repeat(682) + "ab"), quoted("\u{1}".repeat(682) + "abc")),
        (value(&"9".repeat(4096)), value(&"9".repeat(4097))),
    ] {
        assert_eq!(check(&fits), Checked { valid: true, bytes: 4096 });
        assert_eq!(check(&more), Checked { valid: false, bytes: 4097 });
        assert_eq!(Cursor::from_value(&more), Err(InvalidCursor::TooLong(4097)));
    }
}

#[test]
fn ex_cur_03_serialisation_is_the_shortest_json() {
    for (text, wanted) in [
        (r#""\u0041\/\u00e4""#, "\"A/ä\""),
        (r#""\u0008\u000c\u000a\u000d\u0009\u0022\u005c""#, r#""\b\f\n\r\t\"\\""#),
        (r#""\u0000\u001F\u007f""#, "\"\\u0000\\u001f\u{7f}\""),
        (r#""\ud83d\ude00""#, "\"\u{1f600}\""),
        ("1.50", "1.5"),
        ("100e-2", "1"),
        ("-0.0", "0"),
        ("1e21", "1e+21"),
    ] {
        assert_eq!(cursor(text).as_json(), wanted, "{text}");
        assert_eq!(check_json(text).bytes, wanted.len(), "{text}");
        // The token that is sent says the same, and is written alike ever after.
        assert_eq!(Cursor::from_value(&cursor(text).to_value()), Ok(cursor(text)), "{text}");
    }
}

#[test]
fn ex_cur_04_false_zero_and_the_empty_string_are_tokens() {
    for text in ["false", "0", r#""""#] {
        let reply = value(text);
        let before = cursor("\"before\"");
        let after = Cursor::after(Some(&reply), Some(&before)).expect("valid").expect("a cursor");
        assert_eq!(after.to_value(), reply);
        assert_eq!(named(text), format!("gap-{}", text.trim_matches('"')));
    }
}

#[test]
fn ex_cur_05_a_missing_or_null_cursor_keeps_the_recorded_one() {
    let recorded = cursor("\"page-3\"");
    for reply in [None, Some(&Value::Null)] {
        assert_eq!(Cursor::after(reply, Some(&recorded)), Ok(Some(recorded.clone())));
        assert_eq!(Cursor::after(reply, None), Ok(None));
    }
    let refused = Cursor::after(Some(&value("[1]")), Some(&recorded));
    assert_eq!(refused, Err(InvalidCursor::Type), "and an invalid one is refused, not left out");
}

#[test]
fn ex_cur_06_the_limit_is_a_constant() {
    const { assert!(EXECUTION_CURSOR_BYTES == 4096) };
    let message = InvalidCursor::TooLong(5000).to_string();
    assert!(message.contains("limit=`4096`"), "{message}");
}

#[test]
fn ex_cur_14_the_remedy_of_a_saved_cursor_keeps_everything() {
    let error = Cursor::from_json("[1]").expect_err("no cursor").in_checkpoint();
    assert_eq!((error.code(), error.reason()), (Code::ExecutionProtocol, Some("checkpoint-cursor")));
    for said in [
        "keep the run files",
        "put back the bounded cursor exactly as the owned provider checkpoint has it",
        "restart",
        "do not delete the intent",
        "do not clear the cursor",
        "do not dispatch again",
    ] {
        assert!(error.remedy().contains(said), "{}", error.remedy());
    }
    let in_reply = InvalidCursor::Type.in_reply();
    assert_eq!((in_reply.code(), in_reply.reason()), (Code::ExecutionProtocol, Some("cursor")));
    assert_eq!(in_reply.remedy(), Code::ExecutionProtocol.remedy(), "a reply has the code's own");
}

#[test]
fn ex_cur_16_a_string_names_a_gap_as_it_is_and_anything_else_by_its_serialised_form() {
    assert_eq!(named(r#""a\nb \"c\"""#), "gap-a\nb \"c\"");
    assert_eq!(named("1.50"), "gap-1.5");
    assert_eq!(named("true"), "gap-true");
}

#[test]
fn ex_cur_17_the_reply_names_a_gap_then_the_record_then_start() {
    let (next, recorded) = (cursor("\"n\""), cursor("\"r\""));
    assert_eq!(gap_id(Some(&next), Some(&recorded)), "gap-n");
    assert_eq!(gap_id(None, Some(&recorded)), "gap-r");
    assert_eq!(gap_id(None, None), "gap-start");
}

#[test]
fn ex_cur_18_a_name_has_up_to_512_utf_16_units() {
    let name = |text: &str| gap_id(Some(&Cursor::from_value(&text.into()).expect("valid")), None);
    for (fits, more) in [
        ("a".repeat(508), "a".repeat(509)),
        ("ä".repeat(508), "ä".repeat(509)),
        // Two units each.
        ("\u{1f600}".repeat(254), "\u{1f600}".repeat(254) + "a"),
    ] {
        assert_eq!(name(&fits), format!("gap-{fits}"));
        assert_eq!(name(&fits).encode_utf16().count(), 512);
        assert!(name(&more).starts_with("gap:") && name(&more).len() == 68, "{}", name(&more));
    }
}

#[test]
fn ex_cur_19_a_longer_name_is_the_hash_of_the_serialised_cursor() {
    // The SHA-256 of 513 letters with two quotes around them, and of 513 digits without.
    let text = format!("\"{}\"", "a".repeat(513));
    assert_eq!(named(&text), format!("gap:{}", gallivant_core::digest::sha256_hex(text.as_bytes())));
    assert_eq!(named(&text), "gap:04810e66301a82a0f22b421ea5a43ab9388eca7dd0f3effa4b428a0b6bf53da1");
    assert_eq!(
        named(&"1".repeat(513)),
        "gap:ca94e6e89208e945d61c27176fcc18a32907e590529a10529cccb406ed61a456"
    );
}

#[test]
fn ex_cur_20_a_short_token_that_looks_like_a_hash_stays_short() {
    let long = named(&format!("\"{}\"", "a".repeat(600)));
    let hash = long.strip_prefix("gap:").expect("a hash");
    assert_eq!(named(&format!("\"{hash}\"")), format!("gap-{hash}"));
    assert_eq!(
        named(&format!("\":{hash}\"")),
        format!("gap-:{hash}"),
        "and no token makes a name with a colon there"
    );
}

#[test]
fn ex_cur_21_a_string_and_a_number_with_one_text_share_the_short_name_only() {
    assert_eq!(named("7"), named("\"7\""));
    assert_ne!(cursor("7"), cursor("\"7\""), "the cursors themselves are two");
    let digits = "1".repeat(513);
    assert_ne!(named(&digits), named(&format!("\"{digits}\"")));
}

#[test]
fn ex_cur_24_an_unpaired_surrogate_is_invalid() {
    for text in [r#""\ud800""#, r#""\udc00a""#, r#""\ud800\ud800""#, r#""a\udfff""#, r#""\ud83d\u0041""#] {
        assert_eq!(Cursor::from_json(text), Err(InvalidCursor::Unserialisable), "{text}");
        assert_eq!(check_json(text), Checked { valid: false, bytes: 0 }, "{text}");
    }
    assert!(check_json(r#""\ud83d\ude00""#).valid);
}

#[test]
fn ex_cur_25_an_integer_keeps_its_digits_beyond_2_53() {
    for text in ["9007199254740993", "-9007199254740993", "18446744073709551617", "653247040368672769"] {
        let cursor = cursor(text);
        assert_eq!(cursor.as_json(), text);
        assert_eq!(cursor.to_value(), value(text));
        assert_eq!(cursor::check(&value(text)).bytes, text.len());
        assert_eq!(gap_id(Some(&cursor), None), format!("gap-{text}"));
    }
    assert_eq!(cursor("-0").as_json(), "0", "up to 2^53 it is the RFC 8785 form");
}

#[test]
fn c_036_foreign_integers_keep_their_digits() {
    let line = include_str!("../vectors/cases/C-036.bigint.journal.jsonl").trim_end();
    let record = value(line);
    assert_eq!(record.to_json(), line, "digits, order and all");
    let id = record.get("body").and_then(|body| body.get("provider_id")).and_then(Value::as_number);
    assert_eq!(id.and_then(gallivant_core::json::Number::as_u64), Some(653_247_040_368_672_769));
    assert!(record.to_canonical().contains(r#""seq":9007199254740993"#));
}
