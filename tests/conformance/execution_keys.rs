//! EX-BND-32, EX-LED-13 to EX-LED-15, EX-LED-73: ids, keys and fingerprints.

use gallivant_core::digest::{hex, sha256_hex};
use gallivant_core::execution::keys::{
    cancellation_key, canonical_hash, check_id, dispatch_key, is_id, run_id,
};
use gallivant_core::execution::{Cursor, FingerprintInput, cursor};
use gallivant_core::journal::replay_key;
use gallivant_core::json::Value;
use gallivant_core::{Code, Error};

const SUBMIT: FingerprintInput<'static> = FingerprintInput {
    action: "submit",
    kind: "implementation",
    prompt: None,
    input_head: None,
    policy: None,
    model: None,
    environment: None,
    session_id: None,
    preparation: None,
    successor_of: None,
    response: None,
};

fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn ex_bnd_32_an_id_is_a_short_word_that_is_safe_as_a_name() {
    for id in
        ["a", "0", "Z", "run-1", "r-eccb9b93ec9d0625203d33ed8d9dce6c", "a.b_c-d", "a..", &"x".repeat(128)]
    {
        assert!(is_id(id) && check_id("runId", id).is_ok(), "{id}");
    }
    let long = "x".repeat(129);
    for id in [
        "", ".", "..", "-a", "_a", ".a", "a/b", "../a", "a b", "a\n", "a\0", "ä", "aä", "a:b", "a\\b",
        "\u{ff41}", &long,
    ] {
        let error = check_id("operationId", id).expect_err(id);
        assert_eq!(error.code(), Code::ExecutionInput, "{id:?}");
        assert!(!is_id(id) && error.message().contains("argument=`operationId`"), "{id:?}");
        assert!(!error.message().contains('\n'), "{id:?}");
    }
    for character in (0..=0x7f_u8).map(char::from) {
        let (first, later) = (character.to_string(), format!("a{character}"));
        assert_eq!(is_id(&first), character.is_ascii_alphanumeric(), "{first:?}");
        assert_eq!(
            is_id(&later),
            character.is_ascii_alphanumeric() || "._-".contains(character),
            "{later:?}"
        );
    }
}

#[test]
fn ex_led_13_the_dispatch_key_is_made_of_its_six_parts_and_nothing_else() {
    let key = dispatch_key("t", "p", "a", "r", "o");
    let form = r#"["dispatch",1,"t","p","a","r","o"]"#;
    assert_eq!(key, format!("gx-{}", sha256_hex(form.as_bytes())));
    assert_eq!(key, dispatch_key("t", "p", "a", "r", "o"));
    for other in [
        dispatch_key("x", "p", "a", "r", "o"),
        dispatch_key("t", "x", "a", "r", "o"),
        dispatch_key("t", "p", "x", "r", "o"),
        dispatch_key("t", "p", "a", "x", "o"),
        dispatch_key("t", "p", "a", "r", "x"),
    ] {
        assert_ne!(other, key);
    }
    // Canonical JSON, so whatever a task or an account is called.
    let odd = dispatch_key("t\"\n\u{1}", "\u{e4}\u{1f600}", "\\/", "r", "o");
    let form = "[\"dispatch\",1,\"t\\\"\\n\\u0001\",\"\u{e4}\u{1f600}\",\"\\\\/\",\"r\",\"o\"]";
    assert_eq!(odd, format!("gx-{}", sha256_hex(form.as_bytes())));
}

#[test]
fn ex_led_14_the_cancellation_key_needs_no_identity_of_the_provider() {
    let key = cancellation_key("t", "p", "a", "r");
    assert_eq!(key, format!("gx-{}", sha256_hex(br#"["cancel",1,"t","p","a","r"]"#)));
    assert_ne!(key, cancellation_key("t", "p", "a", "x"));
    assert_ne!(key, dispatch_key("t", "p", "a", "r", "r"));
}

#[test]
fn ex_led_15_the_test_vectors_hold() {
    assert_eq!(
        dispatch_key("t-1", "prov", "acct", "run-1", "op-1"),
        "gx-37edf39607967dd01b4664d6712ac431a9b30c920f0273f9e0106b15268d029c"
    );
    assert_eq!(
        cancellation_key("t-1", "prov", "acct", "run-1"),
        "gx-22acb0e062c1369a09a1bb61a30ce7a62e552370c246e6a476875efe174f9dd1"
    );
    assert_eq!(run_id("t-1", "prov", "acct", "op-1"), "r-eccb9b93ec9d0625203d33ed8d9dce6c");
    assert_eq!(
        hex(&replay_key(Some("prov"), Some("job-1"), Some("root-1"), Some("e1"))),
        "28ec39c5ec86295b6dd68fa9486a64b87f98b036f88d8a8c2df5fc491a372b10"
    );
    assert_eq!(
        hex(&replay_key(Some("loc"), Some("run-1"), None, Some("byte:0"))),
        "c82d10065850c81d051c1bdbe64a6d05ef1cbda9b8f8cfc2ff4829981a0593a9"
    );
    let head = "a".repeat(40);
    let (environment, model, policy) = ("env-1".into(), "m-1".into(), "safe".into());
    let input = FingerprintInput {
        prompt: Some("do it"),
        input_head: Some(&head),
        environment: Some(&environment),
        model: Some(&model),
        policy: Some(&policy),
        ..SUBMIT
    };
    let fingerprint = "8f2552328364e246985438f806c805d651cb099cd8387f60815fac88861d7366";
    assert_eq!(input.fingerprint().expect("hashed"), fingerprint);
    let object = format!(
        r#"{{"successorOf":null,"action":"submit","environment":"env-1","inputHead":"{head}","kind":"implementation","model":"m-1","policy":"safe","preparation":null,"prompt":"do it","response":null,"sessionId":null}}"#
    );
    assert_eq!(canonical_hash(&json(&object)).expect("hashed"), fingerprint);
    let cursor = Cursor::from_value(&"c".repeat(509).into()).expect("a cursor");
    assert_eq!(
        cursor::gap_id(Some(&cursor), None),
        "gap:2fd7ca579061a5b1d883f7fab60bd0a9da4a3607f601598dc609ffa96c0c9cfc"
    );
}

#[test]
fn ex_led_73_an_integer_that_not_every_language_reads_is_refused_wherever_it_stands() {
    let is_refused = |error: Error| {
        assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("number")));
        error.message()
    };
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "18446744073709551616",
        "9007199254740992.0",
        "9007199254740992e0",
        "1e16",
        "-1E+300",
        "1e400",
    ] {
        for document in [text.to_owned(), format!("[0,{text}]"), format!(r#"{{"a":[{{"b":{text}}}]}}"#)] {
            is_refused(canonical_hash(&json(&document)).expect_err(&document));
        }
        let nested = json(&format!(r#"{{"ids":[1,{text}]}}"#));
        for (name, input) in [
            ("policy", FingerprintInput { policy: Some(&nested), ..SUBMIT }),
            ("model", FingerprintInput { model: Some(&nested), ..SUBMIT }),
            ("environment", FingerprintInput { environment: Some(&nested), ..SUBMIT }),
            ("response", FingerprintInput { response: Some(&nested), ..SUBMIT }),
        ] {
            let message = is_refused(input.fingerprint().expect_err(name));
            assert!(message.ends_with(&format!("argument=`{name}`")), "{message}");
        }
    }
    for text in [
        "9007199254740991",
        "-9007199254740991",
        "\"9007199254740993\"",
        "0.1234567890123456789",
        "1e-400",
        "9007199254740991.0",
        "1e15",
        "123456789012345.5",
    ] {
        let value = json(&format!("[{text}]"));
        assert_eq!(
            canonical_hash(&value).expect(text),
            sha256_hex(value.to_canonical().as_bytes()),
            "{text}"
        );
    }
}
