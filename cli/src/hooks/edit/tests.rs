//! Whatever the file looks like, taking out what was put in gives the very bytes back.

use super::{Element, Wanted, compare, made, merge, unmerge};

fn is_ours(command: &str) -> bool {
    command.ends_with("gallivant hook claude")
}

fn wanted() -> Wanted {
    let hook = || {
        Wanted::Array(vec![Element::Hook { command: "gallivant hook claude".to_owned(), is_same: is_ours }])
    };
    let events = ["SessionStart", "PreToolUse", "Stop"].map(|event| (event, hook()));
    let names = Wanted::Array(vec![Element::Text("A"), Element::Text("B")]);
    Wanted::Object(vec![
        ("hooks", Wanted::Object(events.into())),
        ("security", Wanted::Object(vec![("redaction", Wanted::Object(vec![("allowed", names)]))])),
    ])
}

/// Everything that a settings file may look like.
const TEXTS: [&str; 22] = [
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\"model\":\"x\"}",
    "{\"model\": \"x\"}\n",
    "{ \"model\": \"x\" }\n",
    "{\n  \"model\": \"x\"\n}\n",
    "{\n  \"model\": \"x\",\n}\n",
    "{\n\t\"model\": \"x\" // the best\n}\n",
    "{\n  \"model\": \"x\", // the best\n  // and nothing else\n}",
    "{\r\n    \"model\": \"x\"\r\n}\r\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\n  \"hooks\": {\"Stop\": []}\n}\n",
    "{\n  \"hooks\": {\"Stop\": [\n  ]}\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]\n      }\n    ]\n  },\n  \"z\": 1\n}\n",
    "{\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"beep\"}]}]}}",
    "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": []}, /* two */ {\"hooks\": []} /* end */]\n  }\n}\n",
    "{\n  \"security\": {\n    \"redaction\": {\n      \"allowed\": [\"PATH\",\n        \"A\"]\n    }\n  }\n}\n",
    "// first\n{\n  /* a */ \"model\": \"x\" /* b */ // c\n  // d\n}\n// last\n",
    "{\n  \"security\": {\"redaction\": {\"allowed\": [ \"PATH\", ], }, },\n}\n",
];

#[test]
fn what_was_put_in_is_taken_out_to_the_byte() {
    for text in TEXTS {
        let merged = merge(text, &wanted()).unwrap_or_else(|why| panic!("{text}: {why}"));
        let all = compare(&merged, &wanted()).expect("it is JSON");
        assert!(all.iter().all(|(_, is_there)| *is_there), "{text}\n{merged}\n{all:?}");
        assert_eq!(merge(&merged, &wanted()).as_deref(), Ok(&*merged), "{text}: twice is once");
        if text.contains("\"A\"") {
            continue; // what was there of it already is taken out too
        }
        let back = unmerge(&merged, &wanted()).expect("it is JSON");
        assert_eq!(back.as_deref(), Some(text), "by way of\n{merged}");
    }
}

#[test]
fn what_is_there_keeps_its_bytes_and_its_order() {
    for text in TEXTS {
        let merged = merge(text, &wanted()).expect("it is JSON");
        let mut rest = merged.chars();
        for wanted in text.chars() {
            assert!(rest.any(|found| found == wanted), "{text}\n{merged}");
        }
    }
}

#[test]
fn a_file_that_was_made_is_gone_again() {
    let text = made(&wanted());
    assert_eq!(merge(&text, &wanted()).as_deref(), Ok(&*text));
    assert_eq!(unmerge(&text, &wanted()), Ok(None));
}

#[test]
fn what_a_person_adds_behind_it_stays() {
    let merged = merge("{\n  \"model\": \"x\"\n}\n", &wanted()).expect("it is JSON");
    let added = merged.replacen("\n}\n", ",\n  \"later\": 1\n}\n", 1);
    assert_ne!(added, merged);
    let back = unmerge(&added, &wanted()).expect("it is JSON");
    assert_eq!(back.as_deref(), Some("{\n  \"model\": \"x\",\n  \"later\": 1\n}\n"));
}

#[test]
fn another_shape_is_refused() {
    for text in ["", "[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{\"hooks\": 1", "{'a': 1}"] {
        assert!(merge(text, &wanted()).is_err(), "{text}");
    }
}
