//! Whatever the file looks like, taking out what was put in gives the very bytes back.

use super::{Element, Presence, Program, Wanted, compare, made, merge, unmerge};

fn judge(command: &str) -> Option<Program> {
    let program = command.strip_suffix("gallivant hook claude")?;
    Some(if program.starts_with("/gone") { Program::Gone } else { Program::There })
}

fn wanted() -> Wanted {
    let hook = || Wanted::Array(vec![Element::Hook { command: "gallivant hook claude".to_owned(), judge }]);
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
        assert!(all.iter().all(|(_, presence)| *presence == Presence::There), "{text}\n{merged}\n{all:?}");
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

#[test]
fn a_member_that_is_there_twice_is_refused() {
    for text in ["{\"hooks\":{},\"hooks\":{}}", "{\"x\":1,\"hooks\":{\"Stop\":[],\"Start\":[],\"Stop\":[]}}"]
    {
        let refused = merge(text, &wanted()).expect_err("two that may differ");
        assert!(refused.starts_with("the member is there twice, member=`"), "{refused}");
        assert!(unmerge(text, &wanted()).is_err() && compare(text, &wanted()).is_err());
    }
    // What is not ours is the harness's to judge.
    assert!(merge("{\"model\":1,\"model\":2}", &wanted()).is_ok());
}

/// One event, and how it has our hook.
fn stop(list: &str) -> String {
    format!("{{\"hooks\": {{\"Stop\": [{list}]}}}}\n")
}

const OURS: &str = r#"{"type": "command", "command": "gallivant hook claude"}"#;
const THEIRS: &str = r#"{"type": "command", "command": "mine"}"#;

#[test]
fn our_hook_is_known_in_whatever_group_and_taken_out_alone() {
    let theirs = format!("{{\"hooks\": [{THEIRS}]}}");
    for (with, without) in [
        (format!("{{\"hooks\": [{OURS}, {THEIRS}]}}"), theirs.clone()),
        (format!("{{\"hooks\": [{THEIRS}, {OURS}]}}"), theirs.clone()),
        (format!("{{\"matcher\": \"x\", \"hooks\": [{OURS}]}}, {theirs}"), theirs.clone()),
        (format!("{theirs}, {{\"hooks\": [{OURS}]}}, {{\"hooks\": [{OURS}]}}"), theirs.clone()),
    ] {
        let wanted = Wanted::Object(vec![("hooks", only_stop())]);
        let text = stop(&with);
        assert_eq!(merge(&text, &wanted).as_deref(), Ok(&*text), "nothing is added");
        let back = unmerge(&text, &wanted).expect("it is JSON").expect("theirs is left");
        let compact = |text: &str| text.replace(' ', "");
        assert_eq!(compact(&back), compact(&stop(&without)), "{text}");
    }
}

fn only_stop() -> Wanted {
    let Wanted::Object(mut members) = wanted() else { unreachable!("it is made above") };
    let Wanted::Object(mut events) = members.swap_remove(0).1 else { unreachable!("it is made above") };
    events.retain(|(name, _)| *name == "Stop");
    Wanted::Object(events)
}

#[test]
fn a_program_that_is_gone_is_told_and_its_command_replaced_in_place() {
    let wanted = Wanted::Object(vec![("hooks", only_stop())]);
    let dead = OURS.replace("gallivant", "/gone/gallivant");
    let text = stop(&format!("{{\"hooks\": [{dead}, {THEIRS}]}}"));
    let found = compare(&text, &wanted).expect("it is JSON");
    assert_eq!(found, [("hooks.Stop".to_owned(), Presence::NoProgram)]);
    let mended = merge(&text, &wanted).expect("it is JSON");
    assert_eq!(mended, text.replace("/gone/gallivant", "gallivant"));
    let both = stop(&format!("{{\"hooks\": [{OURS}]}}, {{\"hooks\": [{dead}]}}"));
    let one = stop(&format!("{{\"hooks\": [{OURS}]}}"));
    assert_eq!(merge(&both, &wanted).as_deref(), Ok(&*one), "two would be called twice");
}

#[test]
fn after_another_program_wrote_the_file_anew_nothing_empty_is_left() {
    let merged = merge("{\n  \"model\": \"x\"\n}\n", &wanted()).expect("it is JSON");
    let value = gallivant_core::json::Value::parse(&merged).expect("JSON");
    let anew = value.to_json();
    assert_eq!(unmerge(&anew, &wanted()).expect("it is JSON").as_deref(), Some(r#"{"model":"x"}"#));
    let spread = anew.replace('{', "{\n  ").replace('[', "[\n  ").replace(']', "\n]").replace('}', "\n}");
    let left = unmerge(&spread, &wanted()).expect("it is JSON").expect("the rest is left");
    assert_eq!(left.split_whitespace().collect::<String>(), r#"{"model":"x"}"#);
    let trailing =
        "{\n \"hooks\": {\n \"Stop\": [\n {\"hooks\": [ours] } ,\n ],\n },\n}".replace("ours", OURS);
    assert_eq!(unmerge(&trailing, &wanted()), Ok(None));
    let noted = merged.replacen("\"Stop\": [", "\"Stop\": [ /* kept */ ", 1);
    let left = unmerge(&noted, &wanted()).expect("it is JSON").expect("the comment is left");
    assert!(left.contains("kept"), "{left}");
}
