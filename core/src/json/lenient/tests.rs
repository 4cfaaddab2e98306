//! The foreign payload reader against what other programs send, and against what nobody should.

use std::borrow::Cow;

use super::{MAX_BYTES, MAX_DEPTH, Member, Object};
use crate::error::{Code, Error};

const WANTED: &[&str] = &["event", "tool"];

fn parse(payload: &[u8]) -> Object<'_> {
    Object::parse(payload, WANTED).expect("the payload is readable")
}

fn refused(payload: &[u8]) -> Error {
    let error = Object::parse(payload, WANTED).expect_err("the payload is refused");
    assert_eq!(error.code(), Code::HarnessStateInput);
    let message = error.message();
    assert!(
        !message.contains('\n') && !message.ends_with('.') && message.to_lowercase() == message,
        "{message}"
    );
    error
}

fn reason(payload: &[u8]) -> &'static str {
    refused(payload).reason().expect("every refusal has a reason")
}

/// A member `"x"` whose value is `depth` arrays and objects by turns.
fn nested(depth: usize) -> Vec<u8> {
    let mut payload = b"{\"x\":".to_vec();
    for level in 0..depth {
        payload.extend_from_slice(if level % 2 == 0 { b"[" } else { b"{\"k\":" });
    }
    payload.extend_from_slice(b"1");
    for level in (0..depth).rev() {
        payload.push(if level % 2 == 0 { b']' } else { b'}' });
    }
    payload.extend_from_slice(b",\"event\":\"after\"}");
    payload
}

/// A readable payload of exactly `size` bytes.
fn sized(size: usize) -> Vec<u8> {
    let mut payload = b"{\"event\":\"big\",\"x\":\"".to_vec();
    payload.resize(size - 2, b'a');
    payload.extend_from_slice(b"\"}");
    payload
}

#[test]
fn hs_116_keeps_the_wanted_members_and_tells_their_kinds() {
    let object = parse(b" {\"x\":[1],\"event\":\"Stop\",\r\n\t\"tool\":null} \n");
    assert_eq!(object.text("event"), Some("Stop"));
    assert_eq!(object.member("tool"), &Member::Null);
    assert_eq!(object.text("tool"), None);
    assert_eq!(parse(b"{}").member("event"), &Member::Absent);
    for other in ["true", "false", "0", "-1.5e+9", "[]", "{}", "[null]"] {
        let payload = format!("{{\"event\":{other}}}");
        assert_eq!(parse(payload.as_bytes()).member("event"), &Member::Other, "{other}");
    }
}

#[test]
fn hs_116_a_string_without_escapes_is_borrowed() {
    let payload = "{\"event\":\"größer\",\"tool\":\"a\\tb\"}".as_bytes();
    let object = parse(payload);
    assert!(matches!(object.member("event"), Member::Text(Cow::Borrowed("größer"))));
    assert!(matches!(object.member("tool"), Member::Text(Cow::Owned(text)) if text == "a\tb"));
    assert!(!object.lossy());
}

#[test]
fn hs_116_resolves_every_escape() {
    let object = parse(br#"{"event":"\"\\\/\b\f\n\r\t\u0041\u00e4\u0000\ud83d\ude00z"}"#);
    assert_eq!(object.text("event"), Some("\"\\/\u{8}\u{c}\n\r\tA\u{e4}\0\u{1f600}z"));
    assert!(!object.lossy());
    for bad in [r#"{"event":"\x"}"#, r#"{"event":"\u00g0"}"#, r#"{"event":"\u12"}"#, "{\"event\":\"\\"] {
        assert_eq!(reason(bad.as_bytes()), "malformed-payload", "{bad}");
    }
}

#[test]
fn hs_116_drops_one_leading_mark_and_keeps_inner_ones() {
    let object = parse(b"\xef\xbb\xbf{\"event\":\"a\xef\xbb\xbfb\"}");
    assert_eq!(object.text("event"), Some("a\u{feff}b"));
    assert!(!object.lossy());
    assert_eq!(reason(b"\xef\xbb\xbf\xef\xbb\xbf{}"), "malformed-payload");
    assert_eq!(reason(b" \xef\xbb\xbf{}"), "malformed-payload");
    assert_eq!(reason(b"{}\xef\xbb\xbf"), "malformed-payload");
    assert_eq!(reason(b"\xef\xbb\xbf"), "malformed-payload");
    assert_eq!(reason(b"\xef\xbb{}"), "malformed-payload");
}

#[test]
fn hs_116_lone_surrogates_are_replaced_and_told() {
    let cases: [(&str, &str); 6] = [
        (r"\ud800", "\u{fffd}"),
        (r"\udc00x", "\u{fffd}x"),
        (r"\ud800\u0041", "\u{fffd}A"),
        (r"\ud800\ud800\udc00", "\u{fffd}\u{10000}"),
        (r"\udc00\ud800", "\u{fffd}\u{fffd}"),
        (r"\uDBFF\n", "\u{fffd}\n"),
    ];
    for (escaped, text) in cases {
        let payload = format!("{{\"event\":\"{escaped}\"}}");
        let object = parse(payload.as_bytes());
        assert_eq!(object.text("event"), Some(text), "{escaped}");
        assert!(object.lossy(), "{escaped}");
        let elsewhere = format!("{{\"x\":[{{\"{escaped}\":1}}],\"event\":\"e\"}}");
        let object = parse(elsewhere.as_bytes());
        assert_eq!((object.text("event"), object.lossy()), (Some("e"), true), "{escaped}");
    }
}

#[test]
fn hs_116_bytes_that_are_not_utf_8_are_replaced_and_told() {
    let object = parse(b"{\"event\":\"a\xffb\xe2\x82\",\"tool\":\"\\n\xf0\"}");
    assert_eq!(object.text("event"), Some("a\u{fffd}b\u{fffd}"));
    assert_eq!(object.text("tool"), Some("\n\u{fffd}"));
    assert!(object.lossy());
    let object = parse(b"{\"x\xff\":{\"y\":\"\xc0\"},\"event\":\"e\"}");
    assert_eq!((object.text("event"), object.lossy()), (Some("e"), true));
    assert_eq!(reason(b"{\"event\":\"e\"\xff}"), "malformed-payload");
}

#[test]
fn hs_116_a_doubled_key_that_is_used_is_refused_by_name() {
    for payload in [
        r#"{"event":"a","event":"b"}"#,
        r#"{"event":null,"x":1,"event":"b"}"#,
        r#"{"event":"a","ev\u0065nt":"a"}"#,
        r#"{"event":[],"event":{}}"#,
    ] {
        let error = refused(payload.as_bytes());
        assert_eq!(error.reason(), Some("doubled-key"), "{payload}");
        assert!(error.message().contains("key=`event`"), "{payload}");
    }
}

#[test]
fn hs_116_a_doubled_key_that_is_not_used_is_no_matter() {
    let object = parse(br#"{"x":1,"x":2,"y":{"event":1,"event":2},"y":[],"event":"e","Event":"E"}"#);
    assert_eq!(object.text("event"), Some("e"));
}

const NESTED: &[&str] = &["event.type", "event.status.type", "event.status.other", "session.id", "plain"];

#[test]
fn hs_116_nested_members_are_found_by_their_path() {
    let payload =
        br#" { "plain" : "p", "type":"no", "event" : { "x":[{"type":"no"}], "status":{"type":null,"y":{}},
        "type" : "t\u0031", "id":"no" , "statu":{} }, "session":{} } "#;
    let object = Object::parse(payload, NESTED).expect("the payload is readable");
    assert_eq!(object.text("event.type"), Some("t1"));
    assert_eq!(object.member("event.status.type"), &Member::Null);
    assert_eq!(object.member("event.status.other"), &Member::Absent);
    assert_eq!(object.member("session.id"), &Member::Absent);
    assert_eq!(object.text("plain"), Some("p"));
}

#[test]
fn hs_116_what_is_no_object_leads_to_nothing_and_a_dotted_key_is_nobodys() {
    for around in ["null", "1", "\"type\"", "[{\"type\":\"no\"}]", "[]", "{}", "{\"status\":[]}"] {
        let payload =
            format!("{{\"event\":{around},\"event.type\":\"no\",\"event.type\":\"no\",\"plain\":\"p\"}}");
        let object = Object::parse(payload.as_bytes(), NESTED).expect("the payload is readable");
        for wanted in &NESTED[..4] {
            assert_eq!(object.member(wanted), &Member::Absent, "{around} {wanted}");
        }
        assert_eq!(object.text("plain"), Some("p"), "{around}");
    }
}

#[test]
fn hs_116_a_doubled_key_on_the_way_to_a_nested_member_is_refused_by_name() {
    for (payload, name) in [
        (r#"{"event":{"type":"a","x":1,"type":"b"}}"#, "event.type"),
        (r#"{"event":{"status":{},"stat\u0075s":{}}}"#, "event.status"),
        (r#"{"event":1,"event":{"type":"a"}}"#, "event"),
        (r#"{"event":{},"plain":1,"event":null}"#, "event"),
    ] {
        let error = Object::parse(payload.as_bytes(), NESTED).expect_err("the payload is refused");
        assert_eq!(error.reason(), Some("doubled-key"), "{payload}");
        assert!(error.message().contains(&format!("key=`{name}`")), "{}", error.message());
    }
    let other =
        br#"{"event":{"x":1,"x":2,"status":{"y":{},"y":{}},"type":"a"},"session":{"type":1,"type":2}}"#;
    let object = Object::parse(other, NESTED).expect("keys that nobody uses may be doubled");
    assert_eq!(object.text("event.type"), Some("a"));
}

#[test]
fn hs_116_levels_are_counted_from_the_top_inside_nested_objects_too() {
    let wrap = |times: usize| {
        let inner = format!("{}{}", "[".repeat(times), "]".repeat(times));
        format!("{{\"event\":{{\"status\":{{\"x\":{inner},\"type\":\"after\"}}}}}}")
    };
    let deepest = wrap(MAX_DEPTH - 2);
    let object = Object::parse(deepest.as_bytes(), NESTED).expect("the payload is readable");
    assert_eq!(object.text("event.status.type"), Some("after"));
    let error =
        Object::parse(wrap(MAX_DEPTH - 1).as_bytes(), NESTED).map(|_| ()).expect_err("one level too many");
    assert_eq!(error.reason(), Some("payload-too-deep"));
}

#[test]
fn hs_116_no_cut_of_nested_members_panics_or_passes() {
    let rich = br#"{"event":{"status":{"type":"busy","x":[1]},"type":"t"},"session":{"id":"s"},"plain":{}}"#;
    Object::parse(rich, NESTED).expect("the payload is readable");
    for cut in 0..rich.len() {
        let error = Object::parse(&rich[..cut], NESTED).expect_err("a part is no payload");
        assert_eq!(error.reason(), Some("malformed-payload"), "{cut}");
    }
}

#[test]
fn hs_116_unknown_parts_reach_128_levels_and_not_129() {
    for depth in [0, 1, 2, 127, MAX_DEPTH] {
        assert_eq!(parse(&nested(depth)).text("event"), Some("after"), "{depth}");
    }
    for depth in [MAX_DEPTH + 1, MAX_DEPTH + 2, 100_000] {
        assert_eq!(reason(&nested(depth)), "payload-too-deep", "{depth}");
    }
    assert_eq!(reason(&b"[".repeat(MAX_BYTES)), "malformed-payload");
    let unclosed = [&b"{\"x\":"[..], &b"[".repeat(MAX_BYTES - 5)].concat();
    assert_eq!(reason(&unclosed), "payload-too-deep");
    assert_eq!(reason(&[&b"{\"event\":"[..], &b"[".repeat(MAX_DEPTH)].concat()), "malformed-payload");
}

#[test]
fn hs_116_an_empty_container_counts_as_a_level() {
    let wrap =
        |inner: &str, times: usize| format!("{{\"x\":{}{inner}{}}}", "[".repeat(times), "]".repeat(times));
    for inner in ["[]", "{}", "[ ]", "{\n}"] {
        parse(wrap(inner, MAX_DEPTH - 1).as_bytes());
        assert_eq!(reason(wrap(inner, MAX_DEPTH).as_bytes()), "payload-too-deep", "{inner}");
    }
}

#[test]
fn hs_116_payloads_reach_8_mib_and_no_byte_more() {
    assert_eq!(parse(&sized(MAX_BYTES)).text("event"), Some("big"));
    let error = refused(&sized(MAX_BYTES + 1));
    assert_eq!(error.reason(), Some("payload-too-large"));
    assert!(error.message().contains("bytes=`8388609`"), "{}", error.message());
    assert_eq!(reason(&vec![b' '; MAX_BYTES]), "malformed-payload");
    assert_eq!(reason(&vec![0; MAX_BYTES + 1]), "payload-too-large");
}

#[test]
fn hs_116_whatever_else_is_no_object_is_malformed() {
    let cases: [&[u8]; 48] = [
        b"",
        b" ",
        b"\0",
        b"{",
        b"}",
        b"[]",
        b"[{}]",
        b"\"event\"",
        b"1",
        b"null",
        b"true",
        b"{}{}",
        b"{},",
        b"{} x",
        b"{}\0",
        b"\0{}",
        b"{\"event\":\"a\0b\"}",
        b"{\"event\":\"a\nb\"}",
        b"{\"a\":\"\t\"}",
        b"{\"event\"}",
        b"{\"event\":}",
        b"{\"event\" \"a\"}",
        b"{\"event\":\"a\",}",
        b"{,}",
        b"{event:1}",
        b"{'event':1}",
        b"{\"a\":01}",
        b"{\"a\":-}",
        b"{\"a\":+1}",
        b"{\"a\":.5}",
        b"{\"a\":1.}",
        b"{\"a\":1e}",
        b"{\"a\":1e+}",
        b"{\"a\":0x1}",
        b"{\"a\":NaN}",
        b"{\"a\":tru}",
        b"{\"a\":True}",
        b"{\"a\":nullx}",
        b"{\"a\":[1,]}",
        b"{\"a\":[,1]}",
        b"{\"a\":[1 2]}",
        b"{\"a\":[1}}",
        b"{\"a\":{\"b\":1]}",
        b"{\"a\":{\"b\"}}",
        b"{\"a\":{1:2}}",
        b"{\"a\":{\"b\":1,}}",
        b"{\"a\":1 \"b\":2}",
        b"{\"a\":1}/**/",
    ];
    for payload in cases {
        assert_eq!(reason(payload), "malformed-payload", "{}", payload.escape_ascii());
    }
}

#[test]
fn hs_116_agrees_with_a_strict_reader_on_what_is_json() {
    let accepted: [&str; 9] = [
        r#"{"a":[0,-0,1.5,-2e10,3E-7,123456789012345678901234567890]}"#,
        r#"{"a":[[],{},[[]],{"b":{}},[{"c":[{}]}],""]}"#,
        r#"{"a":{"b":{"c":[1,2,{"d":null}],"e":"f"},"g":true},"h":false}"#,
        " { \"a\" : [ 1 , 2 ] , \"b\" : { \"c\" : 3 , \"d\" : [ ] } } ",
        r#"{"":"","event":"x"}"#,
        "{\"a\":\"\u{7f}\u{80}\u{2028}\"}",
        r#"{"a":1e999,"b":-1e-999}"#,
        r#"{"a":[1,2,3],"a":{"b":1}}"#,
        "{\"a\"\n:\n\"b\"\n}\n",
    ];
    for text in accepted {
        parse(text.as_bytes());
        // Every shorter text and every text with one byte changed: whatever is refused here must be refused by a
        // strict reader too, and the other way round.
        for cut in 0..text.len() {
            let bytes = &text.as_bytes()[..cut];
            assert_eq!(
                Object::parse(bytes, WANTED).is_ok(),
                is_json_object(bytes),
                "{}",
                bytes.escape_ascii()
            );
        }
        for index in 0..text.len() {
            for byte in *b"{}[]\",:\\01-.eE+tn \n\0u/" {
                let mut bytes = text.as_bytes().to_vec();
                bytes[index] = byte;
                assert_eq!(
                    Object::parse(&bytes, WANTED).is_ok(),
                    is_json_object(&bytes),
                    "{}",
                    bytes.escape_ascii()
                );
            }
        }
    }
}

/// What serde_json says, without its refusal of numbers beyond a double and of bytes beyond UTF-8, which this
/// reader takes on purpose.
fn is_json_object(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str::<&serde_json::value::RawValue>(&text)
        .is_ok_and(|value| value.get().starts_with('{'))
}

#[test]
fn hs_116_no_cut_of_a_rich_payload_panics_or_passes() {
    let rich: &[u8] =
        b"\xef\xbb\xbf{\"event\":\"S\\ud83d\\ude00\\ud800\\u00e4p\xff\\n\",\"x\":[{\"y\":[-1.5e+3,true,null,\
        {\"z\":\"\xe2\x82\"}]},[]],\"tool\":{\"a\":[[[0]]]}}";
    parse(rich);
    for cut in 0..rich.len() {
        assert_eq!(reason(&rich[..cut]), "malformed-payload", "{cut}");
    }
    for index in 0..rich.len() {
        for byte in 0..=u8::MAX {
            let mut bytes = rich.to_vec();
            bytes[index] = byte;
            if let Err(error) = Object::parse(&bytes, WANTED) {
                assert!(
                    matches!(error.reason(), Some("malformed-payload" | "doubled-key")),
                    "{index} {byte}"
                );
            }
        }
    }
}

#[test]
fn hs_116_messages_hold_nothing_of_the_payload() {
    let secret = "hunter2";
    let payloads = [
        format!("{{\"event\":\"{secret}\",\"event\":\"{secret}\"}}"),
        format!("{{\"{secret}\":\"{secret}\" \"{secret}\"}}"),
        secret.to_owned(),
        format!("{{\"event\":\"{secret}\\q\"}}"),
        format!("{{\"event\":{secret}}}"),
        format!("{{\"{secret}\":{}}}", "[".repeat(200)),
    ];
    for payload in payloads {
        let error = refused(payload.as_bytes());
        let told = format!("{error} {error:?} {}", error.message());
        assert!(!told.contains(secret), "{told}");
    }
}
