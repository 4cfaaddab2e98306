//! EX-TRA: what a reply of a transport may be, and how a method fails. What methods are asked is in
//! `execution_contract_inputs.rs`.
//!
//! A test named `part_of_…` proves what of a clause needs no boundary.

use gallivant_core::execution::contract::{
    ErrorKind, Identities, Prepared, Reply, collection_validation_error, dispatch_not_sent_error,
};
use gallivant_core::execution::{Acknowledgement, Method, TransportError};
use gallivant_core::json::Value;
use gallivant_core::testing::SeededRandom;
use gallivant_core::{Code, Error};

use crate::execution_capability::{capability, record_text, value};

const HIDDEN: &str = "hunter2";
const ACKNOWLEDGED: &str = r#"{"providerJobId":"j-1","turnId":"t-1","sessionId":"s-1","cursor":"c-1"}"#;
/// Of `resultBytes`.
const RESULT_BYTES: u64 = 1_000;

#[track_caller]
fn assert_protocol(error: &Error, reason: &str) {
    assert_eq!((error.code(), error.reason()), (Code::ExecutionProtocol, Some(reason)), "{error}");
    assert!(!error.to_string().contains(HIDDEN), "{error}");
    let expected = if reason == "session" { "do not move sessions" } else { "do not dispatch again" };
    assert!(error.remedy().contains(expected), "{}", error.remedy());
}

#[track_caller]
fn refused(text: &str, session: Option<&str>) -> Error {
    Acknowledgement::judge(text, session).expect_err(text)
}

fn judged(text: &str) -> Acknowledgement {
    Acknowledgement::judge(text, None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// An acknowledgement with these members in the place of its own.
fn acknowledgement(changes: &[(&str, &str)]) -> String {
    let mut reply = value(ACKNOWLEDGED).as_object().expect("an object").clone();
    let raw: Vec<_> = changes.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    for (name, _) in &raw {
        reply.remove(name);
    }
    let kept = Value::from(reply).to_json();
    let added: String = raw.iter().map(|(name, text)| format!(",\"{name}\":{text}")).collect();
    format!("{}{added}}}", kept.trim_end_matches('}')).replace("{,", "{")
}

fn padded(text: &str, bytes: usize) -> String {
    format!("{text}{}", " ".repeat(bytes - text.len()))
}

#[test]
fn part_of_ex_tra_06_a_reply_is_measured_before_it_is_read() {
    let limits = [65_536, 65_536, 131_072, 65_536, RESULT_BYTES, 65_536, 131_072, 65_536];
    for (method, limit) in Method::ALL.iter().zip(limits) {
        assert_eq!(method.reply_limit(RESULT_BYTES), limit, "{method:?}");
        let fits = padded("{}", usize::try_from(limit).expect("small"));
        let reply = Reply::receive(*method, &fits, RESULT_BYTES).expect("it fits");
        assert!(reply.is_some());
        // One byte more, and it is no JSON: what is said is the length, so nothing of it was read.
        let more = format!("{}{HIDDEN}", &fits[..fits.len() - HIDDEN.len() + 1]);
        let error = Reply::receive(*method, &more, RESULT_BYTES).expect_err("too long");
        let says = format!("method=`{}` bytes=`{}` limit=`{limit}`", method.word(), limit + 1);
        assert!(error.message().contains(&says), "{error}");
        if *method == Method::Collect {
            assert_eq!((error.code(), error.reason()), (Code::ExecutionResult, Some("oversized")));
        } else {
            assert_protocol(&error, "shape");
        }
    }
    // Bytes are counted and not characters.
    let wide = format!("{{\"a\":\"{}\"}}", "ä".repeat(32_768));
    assert_protocol(&refused(&wide, None), "shape");
    judged(&padded(ACKNOWLEDGED, 65_536));
    assert_protocol(&refused(&padded(ACKNOWLEDGED, 65_537), None), "shape");
}

#[test]
fn ex_tra_10_what_is_no_object_is_a_protocol_failure_and_unknown_members_are_left_out() {
    for method in Method::ALL {
        for text in ["", "7", "\"hunter2\"", "[{}]", "true", "{", "{}{}", r#"{"hunter2":1,"hunter2":2}"#] {
            let error = Reply::receive(*method, text, RESULT_BYTES).expect_err(text);
            assert_protocol(&error, "shape");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(300), "]".repeat(300));
        assert_protocol(&Reply::receive(*method, &deep, RESULT_BYTES).expect_err("deep"), "shape");
        let null = Reply::receive(*method, " null ", RESULT_BYTES);
        if matches!(method, Method::Collect | Method::Lookup | Method::RecoverResponse) {
            assert_eq!(null.expect("allowed"), None, "{method:?}");
        } else {
            assert_protocol(&null.expect_err("not allowed"), "shape");
        }
    }
    assert_protocol(&refused("null", None), "shape");
    assert_eq!(Acknowledgement::judge_recovered("null", None).expect("unresolved"), None);
    let known = judged(ACKNOWLEDGED);
    let more =
        acknowledgement(&[("hunter2", "{\"a\":1}"), ("state", "\"running\""), ("PROVIDERJOBID", "\"x\"")]);
    assert_eq!(judged(&more), known);
    assert_eq!(
        judged(&more).to_value().to_json(),
        r#"{"providerJobId":"j-1","sessionId":"s-1","turnId":"t-1","cursor":"c-1"}"#
    );
    assert_eq!(Acknowledgement::judge_recovered(&more, Some("s-1")).expect("a reply"), Some(known));
}

#[test]
fn ex_tra_11_identities_are_nonempty_strings_and_nothing_else() {
    for name in ["providerJobId", "turnId"] {
        for text in ["null", "\"\"", "7", "true", "[\"hunter2\"]", "{\"hunter2\":1}"] {
            let error = refused(&acknowledgement(&[(name, text)]), Some("s-1"));
            assert_protocol(&error, "identity");
            assert!(error.message().contains(&format!("member=`{name}`")), "{error}");
        }
        let mut reply = value(ACKNOWLEDGED).as_object().expect("an object").clone();
        reply.remove(name);
        assert_protocol(&refused(&Value::from(reply).to_json(), None), "identity");
    }
    for text in ["\"\"", "7", "false", "[\"hunter2\"]", "{\"hunter2\":1}"] {
        assert_protocol(&refused(&acknowledgement(&[("sessionId", text)]), None), "session");
    }
    for text in
        [r#"{"providerJobId":"j","turnId":"t","sessionId":null}"#, r#"{"providerJobId":"j","turnId":"t"}"#]
    {
        assert_eq!(judged(text).session_id, None);
    }
    // Half a character makes another name of it, wherever a name is read, and no name of a character that stands whole.
    for (name, reason) in [("providerJobId", "identity"), ("turnId", "identity"), ("sessionId", "session")] {
        assert_protocol(&refused(&acknowledgement(&[(name, r#""a\ud800""#)]), None), reason);
    }
    assert_eq!(judged(&acknowledgement(&[("turnId", "\"a\u{fffd}\"")])).turn_id, "a\u{fffd}");
    assert_eq!(judged(&acknowledgement(&[("note", r#""\ud800""#)])), judged(ACKNOWLEDGED));
}

#[test]
fn part_of_ex_idn_02_a_reply_that_names_only_a_job_establishes_nothing() {
    for text in [r#"{"providerJobId":"j-1"}"#, r#"{"providerJobId":"j-1","turnId":null,"sessionId":"s-1"}"#] {
        assert_protocol(&refused(text, Some("s-1")), "identity");
    }
}

#[test]
fn part_of_ex_idn_05_identities_are_compared_byte_for_byte() {
    // The same to the eye, composed and decomposed; another case; white space around.
    for (one, other) in [("é", "e\u{301}"), ("s-1", "S-1"), ("s-1", " s-1"), ("s-1", "s-1\n")] {
        let reply = |session: &str| acknowledgement(&[("sessionId", &Value::from(session).to_json())]);
        let kept = Acknowledgement::judge(&reply(one), Some(one)).expect("the same");
        assert_eq!(kept.session_id.as_deref(), Some(one));
        assert_protocol(&refused(&reply(other), Some(one)), "session");
        let named = |turn: &str| judged(&acknowledgement(&[("turnId", &Value::from(turn).to_json())]));
        assert_ne!(named(one).identities(), named(other).identities());
        named(other).assert_new([("j-1", one)]).expect("another turn");
        assert_protocol(&named(one).assert_new([("j-1", one)]).expect_err("the same"), "identity");
    }
}

#[test]
fn part_of_ex_idn_08_a_missing_session_keeps_the_recorded_one_and_another_is_refused() {
    for text in ["null", "\"s-1\""] {
        Acknowledgement::judge(&acknowledgement(&[("sessionId", text)]), Some("s-1"))
            .expect("no contradiction");
    }
    let error = refused(&acknowledgement(&[("sessionId", "\"hunter2\"")]), Some("s-1"));
    assert_protocol(&error, "session");
    assert_protocol(&refused(&acknowledgement(&[("sessionId", "\"\"")]), Some("s-1")), "session");
}

#[test]
fn part_of_ex_cur_10_an_invalid_cursor_refuses_the_acknowledgement() {
    let long = format!("\"{HIDDEN}{}\"", "a".repeat(4096));
    for text in ["{}", "[\"hunter2\"]", "1e400", r#""hunter2\ud800""#, &long] {
        assert_protocol(&refused(&acknowledgement(&[("cursor", text)]), None), "cursor");
    }
    for text in ["null", "false", "0", "\"\"", "90071992547409930001"] {
        let cursor = judged(&acknowledgement(&[("cursor", text)])).cursor;
        assert_eq!(cursor.map_or("null".to_owned(), |cursor| cursor.as_json().to_owned()), text);
    }
}

#[test]
fn an_acknowledgement_is_refused_by_the_first_rule_that_it_breaks() {
    let faults = [("cursor", "[1]"), ("providerJobId", "7"), ("sessionId", "\"other\"")];
    let reasons = ["cursor", "identity", "session"];
    for first in 0..faults.len() {
        let error = refused(&acknowledgement(&faults[first..]), Some("s-1"));
        assert_protocol(&error, reasons[first]);
    }
    let all = format!("[{}]", acknowledgement(&faults));
    assert_protocol(&refused(&all, Some("s-1")), "shape");
}

#[test]
fn part_of_ex_tra_17_job_and_root_turn_of_an_earlier_operation_are_refused() {
    let named = judged(ACKNOWLEDGED);
    let error = named.assert_new([("j-0", "t-0"), ("j-1", "t-1")]).expect_err("an earlier one's");
    assert_protocol(&error, "identity");
    // One of them alone may come again: a session's second turn, or a turn's number in another job.
    named.assert_new([("j-1", "t-0"), ("j-0", "t-1"), ("t-1", "j-1")]).expect("a new pair");
    named.assert_new([]).expect("nothing was accepted before");
    let pair = Identities { provider_job_id: "j-1".into(), turn_id: "t-1".into() };
    assert_eq!(named.identities(), pair);
}

#[test]
fn part_of_ex_pre_12_a_reply_to_prepare_has_what_is_declared_and_a_bounded_grant() {
    let record = capability(&record_text());
    let declared = record.preparation.as_ref().expect("a preparation");
    let reply = |boundary: &str, authority: &str, grant: &str| {
        format!(r#"{{"boundary":{boundary},"authority":{authority},"grant":{grant},"extra":1}}"#)
    };
    let good = |grant: &str| reply("\"text-only\"", "\"remote\"", grant);
    let grant = |text: &str| Prepared::judge(text, declared).map(|prepared| prepared.grant);

    assert_eq!(
        grant(&good(r#"{"token":"hunter2","n":1.50}"#)).expect("a grant").to_json(),
        r#"{"token":"hunter2","n":1.50}"#
    );
    assert_eq!(grant(&good("null")).expect("none"), Value::Null);
    let shown = format!("{:?}", Prepared::judge(&good(r#"{"token":"hunter2"}"#), declared));
    assert!(!shown.contains(HIDDEN), "{shown}");
    assert_eq!(grant(r#"{"boundary":"text-only","authority":"remote"}"#).expect("none"), Value::Null);

    for (boundary, authority) in [
        ("\"hunter2\"", "\"remote\""),
        ("\"text-only \"", "\"remote\""),
        ("null", "\"remote\""),
        ("\"text-only\"", "\"Remote\""),
        ("\"text-only\"", "[\"remote\"]"),
    ] {
        let error = grant(&reply(boundary, authority, "null")).expect_err("not declared");
        assert_protocol(&error, "preparation");
    }
    assert_protocol(&grant(r#"{"boundary":"text-only"}"#).expect_err("missing"), "preparation");
    for text in ["[\"hunter2\"]", "\"hunter2\"", "7", "false", r#"{"a":"\ud800"}"#] {
        assert_protocol(&grant(&good(text)).expect_err(text), "shape");
    }
    // 16,384 bytes without white space, and one more.
    let of_bytes = |bytes: usize| format!("{{ \"g\" : \"{}\" }}", "a".repeat(bytes - r#"{"g":""}"#.len()));
    assert!(grant(&good(&of_bytes(16_384))).is_ok());
    assert_protocol(&grant(&good(&of_bytes(16_385))).expect_err("too long"), "shape");
    for text in ["null", "[]", "{", "\"hunter2\""] {
        assert_protocol(&grant(text).expect_err(text), "shape");
    }
    assert_protocol(&grant(&padded(&good("null"), 65_537)).expect_err("too long"), "shape");
}

fn told(text: &str) -> TransportError {
    TransportError::from_value(&value(text))
}

#[test]
fn ex_tra_26_a_method_fails_with_a_kind_a_message_and_perhaps_a_time() {
    let words =
        ["io", "auth", "rate", "protocol", "not-sent", "collection-validation", "deadline", "aborted"];
    assert_eq!(ErrorKind::ALL.iter().map(|kind| kind.word()).collect::<Vec<_>>(), words);
    for kind in ErrorKind::ALL {
        let error =
            told(&format!(r#"{{"kind":"{}","message":"m","retryAfterMs":5,"code":"C","x":1}}"#, kind.word()));
        let wanted =
            TransportError { retry_after_ms: Some(5), ..TransportError::of(*kind, "m").with_code("C") };
        assert_eq!(error, wanted);
    }
    // Whatever else is thrown is a failure too.
    for text in ["null", "7", "[]", "{}", r#"{"kind":"Rate"}"#, r#"{"kind":7,"message":[],"code":{}}"#] {
        assert_eq!(told(text), TransportError::of(ErrorKind::Io, ""), "{text}");
    }
    assert_eq!(told("\"lost\""), TransportError::of(ErrorKind::Io, "lost"));
    let shown = format!("{:?}", told(r#"{"kind":"auth","message":"hunter2","code":"hunter2"}"#));
    assert!(shown.contains("Auth") && !shown.contains(HIDDEN), "{shown}");
}

#[test]
fn ex_tra_27_not_sent_is_believed_of_submit_and_continue_alone() {
    let marker = dispatch_not_sent_error("no-credential", "log in first");
    assert_eq!((marker.kind, marker.code.as_deref()), (ErrorKind::NotSent, Some("no-credential")));
    assert_eq!(marker.message, "log in first");
    for method in Method::ALL {
        let error = marker.clone().for_method(*method, false);
        if matches!(method, Method::Submit | Method::Continue) {
            assert_eq!(error, marker, "{method:?}");
        } else {
            assert_eq!(error, TransportError::of(ErrorKind::Io, "log in first"), "{method:?}");
        }
    }
}

#[test]
fn part_of_ex_tra_29_after_sending_not_sent_is_an_unknown_reply() {
    let mut marker = dispatch_not_sent_error("late", "m");
    marker.retry_after_ms = Some(9);
    for method in [Method::Submit, Method::Continue] {
        let error = marker.clone().for_method(method, true);
        assert_eq!((error.kind, error.code.as_deref(), error.retry_after_ms), (ErrorKind::Io, None, Some(9)));
        assert_eq!(error.cause(), (Code::ExecutionIo, "io"));
    }
    // Any other kind is what it was.
    for kind in ErrorKind::ALL {
        let error = TransportError::of(*kind, "m").for_method(Method::Submit, true);
        let is_marker = matches!(kind, ErrorKind::NotSent | ErrorKind::CollectionValidation);
        assert_eq!(error.kind, if is_marker { ErrorKind::Io } else { *kind });
    }
}

#[test]
fn ex_tra_30_collection_validation_is_believed_of_collect_alone() {
    let marker = collection_validation_error("hash", "the artifact is not what was announced");
    assert_eq!((marker.kind, marker.code.as_deref()), (ErrorKind::CollectionValidation, Some("hash")));
    for method in Method::ALL {
        let kind = marker.clone().for_method(*method, false).kind;
        let is_believed = *method == Method::Collect;
        assert_eq!(
            kind,
            if is_believed { ErrorKind::CollectionValidation } else { ErrorKind::Io },
            "{method:?}"
        );
    }
}

#[test]
fn ex_tra_31_a_time_to_wait_is_finite_and_not_negative() {
    for (text, wanted) in [
        ("0", Some(0)),
        ("-0.0", Some(0)),
        ("1500", Some(1500)),
        ("1.5e3", Some(1500)),
        ("1500.25", Some(1501)),
        ("18446744073709551615", Some(u64::MAX)),
        ("1e30", Some(u64::MAX)),
        ("-1", None),
        ("-0.5", None),
        ("1e400", None),
        ("-1e400", None),
        ("\"5\"", None),
        ("true", None),
        ("null", None),
        ("[5]", None),
    ] {
        let error = told(&format!(r#"{{"kind":"rate","message":"m","retryAfterMs":{text}}}"#));
        assert_eq!(error.retry_after_ms, wanted, "{text}");
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Rate, "m"), "the rest counts");
    }
}

#[test]
fn ex_tra_36_code_and_reason_of_each_kind() {
    for kind in ErrorKind::ALL {
        let code = match kind.word() {
            "protocol" => Code::ExecutionProtocol,
            "deadline" => Code::ExecutionDeadline,
            _ => Code::ExecutionIo,
        };
        assert_eq!(TransportError::of(*kind, "m").cause(), (code, kind.word()));
    }
}

/// Over replies with a few bytes changed. `GALLIVANT_SEED` runs one of them alone.
#[test]
fn whatever_a_reply_says_it_is_read_whole_or_refused_and_never_quoted() {
    let record = capability(&record_text());
    let declared = record.preparation.as_ref().expect("a preparation");
    let seeds = [
        acknowledgement(&[
            ("cursor", "\"hunter2\""),
            ("model", "\"hunter2\""),
            ("x", "[{\"hunter2\":1.5e3}]"),
        ]),
        r#"{"boundary":"text-only","authority":"remote","grant":{"hunter2":"hunter2\u00e9"}}"#.to_owned(),
    ];
    let given = std::env::var("GALLIVANT_SEED").map(|seed| seed.parse::<u64>().expect("a number"));
    let turns = given.map_or(1..=4_000, |seed| seed..=seed);
    let is_whole = turns.clone().count() > 1;
    let (mut read, mut refused) = (0, 0);
    for turn in turns {
        let random = SeededRandom::new(turn);
        let mut bytes = seeds[usize::from(turn % 2 == 1)].clone().into_bytes();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            // White space and structure, digits and letters, and what UTF-8 has no place for.
            let byte = b" \"{}[],:\\0e-tn\xff"[random.below(15) as usize];
            match random.below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let acknowledged = Acknowledgement::judge(&text, Some("s-1"));
        if let Ok(acknowledged) = &acknowledged {
            assert!(
                !acknowledged.provider_job_id.is_empty() && !acknowledged.turn_id.is_empty(),
                "GALLIVANT_SEED={turn} {text}"
            );
            assert!(
                acknowledged.session_id.as_deref().is_none_or(|session| session == "s-1"),
                "GALLIVANT_SEED={turn} {text}"
            );
        }
        let prepared = Prepared::judge(&text, declared).map(drop);
        for judged in [acknowledged.map(drop), prepared] {
            match judged {
                Ok(()) => read += 1,
                Err(error) => {
                    refused += 1;
                    let words = ["shape", "cursor", "identity", "session", "preparation"];
                    assert!(
                        words.contains(&error.reason().expect("a reason")),
                        "GALLIVANT_SEED={turn} {text}: {error}"
                    );
                    assert_protocol(&error, error.reason().expect("a reason"));
                }
            }
        }
    }
    assert!(!is_whole || read > 400 && refused > 400, "both happen: {read} {refused}");
}
