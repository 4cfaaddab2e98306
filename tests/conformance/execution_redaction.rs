//! EX-RED, clause by clause: what can be said of the redactor alone.

use std::io::Write;

use gallivant_core::Code;
use gallivant_core::json::Value;
use gallivant_core::redaction::{MARK, Patterns, Redactor, Secrets, Step, Writer, sanitize};

fn of<S: AsRef<[u8]>>(secrets: &[S]) -> Redactor {
    Redactor::new(&Secrets::lenient(secrets), Patterns::Recognised).expect("small enough")
}

/// The text with `[x]` for each mark.
fn redacted<S: AsRef<[u8]>>(secrets: &[S], text: &str) -> String {
    of(secrets).text(text).replace(MARK, "[x]")
}

fn value(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn ex_red_01_sanitize_gives_a_copy_of_a_value_or_a_string() {
    let given = value(r#"{"a":["hunter2!",1,true,null,{"b":"a hunter2! b"}]}"#);
    let kept = given.clone();
    let copy = sanitize(&given, ["hunter2!"]).expect("small enough");
    assert_eq!(copy, value(r#"{"a":["[redacted]",1,true,null,{"b":"a [redacted] b"}]}"#));
    assert_eq!(given, kept, "the value is as it was");
    let string = sanitize(&"a hunter2! b".into(), ["hunter2!"]).expect("small enough");
    assert_eq!(string.as_str(), Some("a [redacted] b"));
    assert_eq!(sanitize(&given, [""; 0]).expect("small enough"), given, "the list may be empty");
}

#[test]
fn ex_red_02_one_pass_takes_patterns_and_all_secrets_together() {
    let boundary = Secrets::lenient(["boundary-secret"]);
    let together = boundary.and(["retained-of-the-run"]).and(["extra-one"]);
    let redactor = Redactor::new(&together, Patterns::Recognised).expect("small enough");
    let text = "boundary-secret retained-of-the-run extra-one ghp_0123456789abcdefghij";
    assert_eq!(redactor.text(text).replace(MARK, "[x]"), "[x] [x] [x] [x]");
    // Together, not one after the other: a secret that reaches into a token is merged with it.
    assert_eq!(redacted(&["key=ghp_01"], "key=ghp_0123456789abcdefghij!"), "[x]!");
    let mut absorbed = boundary.clone();
    absorbed.absorb(&Secrets::lenient(["retained-of-the-run", "extra-one"]));
    assert_eq!(absorbed, together);
}

#[test]
fn ex_red_03_every_occurrence_is_replaced_by_the_mark() {
    assert_eq!(MARK, "[redacted]");
    assert_eq!(of(&["pass"]).text("pass, a pass; pass"), "[redacted], a [redacted]; [redacted]");
    assert_eq!(redacted(&["pass"], "passpass"), "[x][x]", "two that only touch are two");
}

#[test]
fn ex_red_04_the_longer_secret_wins_in_every_order() {
    for secrets in [["hill-42", "hill-42-valley-9"], ["hill-42-valley-9", "hill-42"]] {
        assert_eq!(redacted(&secrets, "a hill-42-valley-9 b hill-42 c"), "a [x] b [x] c");
    }
    assert_eq!(redacted(&["b", "abc"], "abc b"), "[x] [x]", "also where it begins earlier");
}

#[test]
fn ex_red_05_overlapping_occurrences_become_one_mark_and_leave_nothing_over() {
    assert_eq!(redacted(&["blueX", "Xgreen-harbour-71"], "go blueXgreen-harbour-71 end"), "go [x] end");
    assert_eq!(redacted(&["abcabc"], "abcabcabc!"), "[x]!", "with itself");
    assert_eq!(redacted(&["abc", "cde", "efg"], "_abcdefg_"), "_[x]_", "in a chain");
    let long = "abc".repeat(100_000);
    assert_eq!(redacted(&["abcabc"], &long), "[x]", "however long");
}

#[test]
fn ex_red_06_the_callers_list_stays_as_it_is() {
    let list = vec!["b".to_owned(), "a".to_owned(), "b".to_owned(), String::new()];
    let before = list.clone();
    let set = Secrets::lenient(&list);
    assert_eq!(list, before);
    assert_eq!(set.len(), 3);
    let mut stream = of(&["hunter2!"]).stream();
    stream.push(b"hunter2", &mut Vec::new());
    let shown = format!("{set:?} {:?} {stream:?}", of(&list));
    assert_eq!(shown, "Secrets(3) Redactor Stream(holds 7)", "and nothing shows what is in it");
}

#[test]
fn ex_red_07_empty_secrets_are_ignored_and_all_others_count() {
    assert_eq!(redacted(&["", "a"], "banana"), "b[x]n[x]n[x]");
    assert_eq!(redacted(&[""], "banana"), "banana");
    assert_eq!(redacted(&["Tr0ub4d"], "it is Tr0ub4d."), "it is [x].");
}

#[test]
fn ex_red_08_matching_is_exact_and_knows_how_json_escapes_a_secret() {
    assert_eq!(redacted(&["PassWord-1"], "password-1 PassWord-1"), "password-1 [x]");
    let secret = "a\"b\\c/d<e>\u{e4}\u{1f600}\n\u{1}";
    for written in [
        secret,
        "a\\\"b\\\\c/d<e>\u{e4}\u{1f600}\\n\\u0001",
        "a\\\"b\\\\c\\/d<e>\u{e4}\u{1f600}\\n\\u0001",
        "a\\\"b\\\\c/d<e>\\u00e4\\ud83d\\ude00\\n\\u0001",
        "a\\\"b\\\\c/d<e>\\u00E4\\uD83D\\uDE00\\n\\u0001",
        "a\\\"b\\\\c/d\\u003ce\\u003e\u{e4}\u{1f600}\\n\\u0001",
        // A string of JSON within JSON.
        "a\\\\\\\"b\\\\\\\\c/d<e>\u{e4}\u{1f600}\\\\n\\\\u0001",
    ] {
        assert_eq!(redacted(&[secret], &format!("<{written}>")), "<[x]>", "{written}");
    }
    // Bytes that are no text are matched as they are.
    assert_eq!(of(&[b"\xff\xfe\xfd"]).bytes(b"a\xff\xfe\xfdb").as_ref(), b"a[redacted]b");
}

#[test]
fn ex_red_09_strings_and_keys_at_any_depth_and_keys_stay_distinct() {
    let given =
        value(r#"{"one-key":{"two-key":["one-key"]},"x two-key":"y","two-key x":{"two-key":1,"one-key":2}}"#);
    let copy = sanitize(&given, ["one-key", "two-key"]).expect("small enough");
    let wanted = r#"{"[redacted]":{"[redacted]":["[redacted]"]},"x [redacted]":"y","[redacted] x":{"[redacted]":1,"[redacted]#2":2}}"#;
    assert_eq!(copy.to_json(), wanted);
    // A number that is taken already is passed over, and the later key gives way.
    let taken = value(r##"{"[redacted]#2":0,"k1":1,"k2":2,"k3":3,"[redacted]":4}"##);
    let copy = sanitize(&taken, ["k1", "k2", "k3"]).expect("small enough");
    let wanted = r##"{"[redacted]#2":0,"[redacted]":1,"[redacted]#3":2,"[redacted]#4":3,"[redacted]#5":4}"##;
    assert_eq!(copy.to_json(), wanted);
    assert_eq!(sanitize(&copy, ["k1", "k2", "k3"]).expect("small enough"), copy);
    // A secret that the numbers themselves would show.
    for secret in ["#", "#2", "2"] {
        let copy =
            sanitize(&value(r#"{"k1":1,"k2":2,"k3":3}"#), ["k1", "k2", "k3", secret]).expect("small enough");
        let keys: Vec<&str> = copy.as_object().expect("an object").iter().map(|(key, _)| key).collect();
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2], "{keys:?}");
        assert!(keys.iter().all(|key| !key.replace(MARK, "").contains(secret)), "{secret}: {keys:?}");
    }
}

#[test]
fn ex_red_10_numbers_booleans_and_null_stay() {
    let given = value(r#"[12345,true,null,9007199254740993,1.50]"#);
    assert_eq!(
        sanitize(&given, ["12345", "true", "null", "9007199254740993", "1.50"]).expect("small enough"),
        given
    );
}

#[test]
fn ex_red_11_marks_are_never_searched() {
    for secret in ["red", "redacted", "[", "]", "[redacted]", "d]", "acted]"] {
        assert_eq!(of(&[secret]).text("a [redacted] b"), "a [redacted] b", "{secret}");
    }
    assert_eq!(
        of(&["d]x", "y[r"]).text("y[redacted]x"),
        "y[redacted]x",
        "nothing that reaches into one either"
    );
    assert_eq!(redacted(&["red"], "[red] [redacte [redacted"), "[[x]] [[x]acte [[x]acted");
    // A secret that holds the mark is looked for by its parts around it.
    assert_eq!(redacted(&["user:[redacted]@host"], "user:[redacted]@host user: @host"), "[x][x][x] [x] [x]");
    assert_eq!(redacted(&["a [redacted]"], "KEY a [redacted]"), "KEY [x][x]");
}

#[test]
fn ex_red_12_a_secret_across_reads_is_found_and_little_is_held_back() {
    let redactor = Redactor::new(&Secrets::lenient(["0123456789"]), Patterns::Off).expect("small enough");
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    for byte in b"ab 012345678" {
        stream.push(&[*byte], &mut out);
        assert!(stream.held_back() <= 9, "the longest secret less one");
    }
    assert_eq!(out, b"ab ", "what may become the secret waits");
    assert_eq!(stream.held_back(), 9);
    stream.push(b"9 tail", &mut out);
    assert_eq!(
        (out.as_slice(), stream.held_back()),
        (&b"ab [redacted] tail"[..], 0),
        "and no longer than that"
    );
    stream.push(b" 0123", &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"ab [redacted] tail 0123", "the end hands out the rest");
    // The start of a bounded suffix lies within the secret.
    let redactor = of(&["secret-value"]);
    assert_eq!(redactor.ending("a secret-value b", 8), " b", "neither a part of it nor of a mark");
    assert_eq!(redactor.ending("a secret-value b", 12), "[redacted] b");
}

#[test]
fn ex_red_13_a_record_is_redacted_before_it_is_cut() {
    let redactor = of(&["secret-value"]);
    assert_eq!(redactor.beginning("a secret-value b", 6), "a ");
    assert_eq!(redactor.beginning("a secret-value b", 12), "a [redacted]");
    assert_eq!(redactor.beginning("ab\u{20ac}", 4), "ab", "and never within a character");
    assert_eq!(redactor.ending("\u{20ac}ab", 4), "ab");
    assert_eq!(redactor.beginning("short", 100), "short");
}

/// A text, and the same with `[x]` where a credential was.
const RECOGNISED: &[(&str, &str)] = &[
    ("key sk-abcdefghijklmnopqrst.", "key [x]."),
    ("\"sk-proj-AbC_123-xyz_0123456789\"", "\"[x]\""),
    ("a\\nsk-abcdefghijklmnopqrst", "a\\n[x]"),
    ("\u{1b}[31msk-abcdefghijklmnopqrst", "\u{1b}[31m[x]"),
    ("ghp_0123456789abcdefghijABCDEFGHIJ012345!", "[x]!"),
    (
        "gho_0123456789abcdef ghu_0123456789abcdef ghs_0123456789abcdef ghr_0123456789abcdef",
        "[x] [x] [x] [x]",
    ),
    ("github_pat_11ABCDEFG0123456789_abcdefghijkl", "[x]"),
    ("xoxb-123456789012-abcdef xoxp-1234-5678-9012", "[x] [x]"),
    ("id AKIAIOSFODNN7EXAMPLE, ASIAIOSFODNN7EXAMPLE", "id [x], [x]"),
    ("AIzaSyA-0123456789_abcdefghijklmnopqrs", "[x]"),
    ("glpat-0123456789_abcdefghi", "[x]"),
    ("t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl;", "t=[x];"),
    ("eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn", "[x]"),
    ("Authorization: Basic dXNlcjpwYXNz\r\nHost: x", "Authorization: [x]\r\nHost: x"),
    ("authorization: token", "authorization: [x]"),
    ("{\"Authorization\":\"Bearer abc\",\"a\":1}", "{\"Authorization\":\"[x]\",\"a\":1}"),
    ("{\\\"Authorization\\\": \\\"Bearer abc\\\"}", "{\\\"Authorization\\\": \\\"[x]\\\"}"),
    ("curl -H 'Authorization: Bearer abc.def' https://x", "curl -H 'Authorization: [x]' https://x"),
    ("Authorization: Digest username=\"u\", response=\"r\"\nx", "Authorization: [x]\nx"),
    ("Bearer abc.def-123 and more", "Bearer [x] and more"),
    ("bearer: \"abc\" BEARER=abc", "bearer: \"[x]\" BEARER=[x]"),
    ("https://user:pa%40ss@example.com/path", "https://[x]@example.com/path"),
    ("postgres://u:p@ss@db:5432/x git+ssh://git@host", "postgres://[x]@db:5432/x git+ssh://[x]@host"),
    ("\"https:\\/\\/user:pass@example.com\\/\"", "\"https:\\/\\/[x]@example.com\\/\""),
    ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC\n-----END RSA PRIVATE KEY-----\nb", "a\n[x]\nb"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----b", "[x]b"),
    ("-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\nb", "[x]\\nb"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAA", "[x]"),
];

/// Texts that are no credentials.
const KEPT: &[&str] = &[
    "task-implementation-of-the-thing-2026",
    "risk-assessment-and-mitigation-plan",
    "sk-short",
    "sk-abcdefghijklmnopqrs",
    "the ghp_ prefix, AKIA and ASIA, eyJ, xoxb- and glpat-",
    "eyJhbGciOi is how one begins",
    "Authorization failed for this user",
    "authorization_code, Authorization",
    "the bearer",
    "https://example.com/a@b and mail me@example.com",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
];

#[test]
fn ex_red_14_credentials_are_recognised_by_their_form() {
    let none: [&str; 0] = [];
    for (text, wanted) in RECOGNISED {
        assert_eq!(redacted(&none, text), *wanted, "{text}");
        let off = Redactor::new(&Secrets::none(), Patterns::Off).expect("small enough");
        assert_eq!(off.text(text), *text, "only where patterns are wanted");
    }
    for text in KEPT {
        assert_eq!(redacted(&none, text), *text);
    }
}

#[test]
fn ex_red_14_what_has_no_end_ends_within_its_bound() {
    let none: [&str; 0] = [];
    // A head without a dot is a token all the same.
    let head = |length: usize| format!("eyJ{}", "a".repeat(length));
    assert_eq!(redacted(&none, &format!("{} b", head(2048))), "[x] b");
    assert_eq!(redacted(&none, &format!("{} b", head(2047))), format!("{} b", head(2047)));
    // A block without its END line is covered so far and no further.
    let begin = "-----BEGIN PRIVATE KEY-----\n";
    let body = "MIIEpAIBAAKCAQEAMIIEpAIBAAKCAQEAMIIEpAIBAAKCAQEA\n";
    let text = format!("{begin}{}", body.repeat(3000));
    let left = redacted(&none, &text);
    assert!(left.starts_with("[x]") && left.len() < text.len() - 65_000, "{}", left.len());
    // One that is only talked about is left alone.
    let talk = format!("the line {begin}opens a key. {}", "And so the text goes on. ".repeat(40));
    assert_eq!(redacted(&none, &talk), talk);
    // Whatever a pattern waits for, a stream waits no longer than it says.
    let redactor = of(&none);
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    for piece in
        [head(10_000), "https://".to_owned() + &"u".repeat(10_000), begin.repeat(30) + &"x ".repeat(3000)]
    {
        for byte in piece.as_bytes() {
            stream.push(&[*byte], &mut out);
            assert!(stream.held_back() <= redactor.most_held_back());
        }
    }
    assert_eq!(redactor.most_held_back(), 2055);
}

#[test]
fn ex_red_16_a_caller_exempts_the_fields_of_private_files() {
    const SAME: &str = "0123456789abcdef";
    let exact = [
        "taskId",
        "runId",
        "providerJobId",
        "sessionId",
        "turnId",
        "inputHead",
        "repo",
        "branch",
        "pushedHead",
    ];
    let mut text = String::from("{");
    for key in exact.iter().chain(&["key", "crc", "note"]) {
        text.push_str(&format!("\"{key}\":\"{SAME}\","));
    }
    text.push_str(&format!(
        r#""artifacts":{{"files":[{{"path":"{SAME}","beforeHash":"{SAME}","afterHash":"{SAME}","text":"a {SAME}"}}]}},"diagnostics":["{SAME}"]}}"#
    ));
    let record = value(&text);
    let redactor = of(&[SAME]);
    let is_exempt = |way: &[Step<'_>]| match way {
        [Step::Key(key)] => exact.contains(key) || ["key", "crc"].contains(key),
        [Step::Key("artifacts"), Step::Key("files"), Step::Index(_), Step::Key(key)] => {
            ["path", "beforeHash", "afterHash", "text"].contains(key)
        }
        _ => false,
    };
    let private = redactor.value_but(&record, is_exempt);
    let wanted = text
        .replace(&format!("\"note\":\"{SAME}\""), "\"note\":\"[redacted]\"")
        .replace(&format!("\"diagnostics\":[\"{SAME}\"]"), "\"diagnostics\":[\"[redacted]\"]");
    assert_eq!(private.to_json(), wanted);
    assert!(!redactor.value(&record).to_json().contains(SAME), "in a view nothing is exempt");
    // What is exempt keeps its key too.
    let keyed = value(&format!("{{\"{SAME}\":{{\"{SAME}\":1}}}}"));
    assert_eq!(redactor.value_but(&keyed, |way| way == [Step::Key(SAME)]), keyed);
}

#[test]
fn ex_red_22_a_secret_of_several_lines_is_found_whole_and_line_by_line() {
    let secret = "first-line-of-it\n  indented-line\nshort\n\nlast-line-of-it";
    for (text, wanted) in [
        (format!("<{secret}>"), "<[x]>"),
        (format!("<{}>", secret.replace('\n', "\r\n")), "<[x]>"),
        ("    first-line-of-it\r\n".to_owned(), "    [x]\r\n"),
        ("> indented-line <".to_owned(), "> [x] <"),
        ("short".to_owned(), "short"),
        ("log last-line-of-it".to_owned(), "log [x]"),
    ] {
        assert_eq!(redacted(&[secret], &text), wanted, "{text}");
    }
    // Given with CRLF it is found with LF, and escaped as JSON writes either.
    let windows = secret.replace('\n', "\r\n");
    for text in
        [secret.to_owned(), windows.clone(), windows.replace("\r\n", "\\r\\n"), secret.replace('\n', "\\n")]
    {
        assert_eq!(redacted(&[&windows], &format!("<{text}>")), "<[x]>", "{text}");
    }
    // A value that was read from a file ends in a line break; the line alone is the secret.
    assert_eq!(redacted(&["Tr0ub4d\n"], "it is Tr0ub4d."), "it is [x].");
    assert_eq!(
        redacted(&["seven77\nbytes77"], "seven77 bytes77"),
        "seven77 bytes77",
        "lines of less than eight bytes are none"
    );
}

#[test]
fn ex_red_23_an_empty_secret_is_refused_by_its_position() {
    let error = Secrets::strict(["hunter2!", "", "other"]).expect_err("refused");
    assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("secret")));
    assert!(error.message().contains("position=`1`") && !error.to_string().contains("hunter"), "{error}");
    let error = Secrets::not_a_string(3);
    assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("secret")));
    assert!(error.message().contains("position=`3`"), "{error}");
    let all = Secrets::strict(["a", "hunter2!"]).expect("no empty one");
    assert_eq!(all.len(), 2, "none is skipped, however short");
    let text = Redactor::new(&all, Patterns::Off).expect("small enough").text("hunter2! b").into_owned();
    assert_eq!(text, "[redacted] b", "and no mark shows a part of one");
}

#[test]
fn a_writer_hands_out_the_rest_on_every_way_out() {
    let redactor = of(&["0123456789"]);
    let mut finished = Writer::new(&redactor, Vec::new());
    finished.write_all(b"a 0123456789 b 01234").expect("written");
    finished.flush().expect("flushed");
    assert_eq!(finished.finish().expect("written"), b"a [redacted] b 01234");
    let mut out = Vec::new();
    let way_out = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut writer = Writer::new(&redactor, &mut out);
        writer.write_all(b"a 01234").expect("written");
        std::panic::resume_unwind(Box::new("on its way"));
    }));
    assert!(way_out.is_err());
    assert_eq!(out, b"a 01234");
}
