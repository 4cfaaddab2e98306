//! What real harnesses did, event by event, and what of it must be observed (HS-110 to HS-112, HS-116; cases C-003,
//! C-004, C-006, C-016).
//!
//! The recorded runs are replayed as a session's hooks would replay them: each event is interpreted, resolved
//! against what stands, and what it observes stands for the next one. Durable storage and time have no part in it.

#![allow(clippy::disallowed_methods, reason = "the vectors are read as plain files")]

use std::collections::HashMap;
use std::path::PathBuf;

use gallivant_core::harness_state::adapters::{ChildStep, Event, Harness, Ignored, Resolution, interpret};
use gallivant_core::harness_state::{Ask, BlockedOn, Observation, State};
use gallivant_core::json::lenient::Object;

use crate::recorded_runs::RUNS;

/// A session as far as its hooks know it: what stands, how often it changed, what was counted.
#[derive(Default)]
struct Session {
    stands: Option<Observation>,
    transitions: u32,
    counted: Vec<&'static str>,
}

impl Session {
    /// Handles one event; answers why it was no observation, if it was none.
    fn handle(&mut self, harness: Harness, payload: &[u8]) -> Option<Ignored> {
        let event = interpret(harness, payload).expect("a recorded payload is readable");
        self.take(&event)
    }

    fn take(&mut self, event: &Event) -> Option<Ignored> {
        match event.effect.resolve(self.stands.as_ref()) {
            Resolution::Observe(observation) => {
                observation.validate(true).expect("a writer accepts what an adapter observes");
                if self.stands.as_ref() != Some(&observation) {
                    self.transitions += 1;
                }
                self.stands = Some(observation);
                None
            }
            Resolution::Nothing(ignored) => {
                if ignored.is_counted() {
                    self.counted.push(ignored.word());
                }
                Some(ignored)
            }
        }
    }

    fn state(&self) -> State {
        self.stands.as_ref().map_or(State::Unknown, |stands| stands.state)
    }

    fn told(&self, ignored: Option<Ignored>) -> String {
        let Some(stands) = &self.stands else { return "nothing".to_owned() };
        let mut line = format!("{} {} {}", stands.state.word(), stands.blocked_on.word(), stands.ask.word());
        if let Some(reason) = &stands.reason {
            line += &format!(" [{reason}]");
        }
        if let Some(ignored) = ignored {
            line += &format!(", {}", ignored.word());
        }
        line
    }
}

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The payloads of a recorded run in the order of arrival, with their files' names.
fn recorded(run: &str) -> Vec<(String, Vec<u8>)> {
    let folder = vectors().join("harness-events").join(run);
    let entries = std::fs::read_dir(&folder).expect("the run is there");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    files.sort();
    let stem = |file: &PathBuf| file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    files.iter().map(|file| (stem(file), std::fs::read(file).expect("the file is readable"))).collect()
}

/// The payloads of a case, as the harness would have handed them over.
fn case(file: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(vectors().join("cases").join(file)).expect("the case is there");
    let payload = |line: &str| -> Vec<u8> {
        let line: serde_json::Value = serde_json::from_str(line).expect("a case has an event a line");
        line["payload"].to_string().into_bytes()
    };
    text.lines().map(payload).collect()
}

/// What OpenCode's plugin makes of the payloads: it remembers which session is whose child, from a session's own
/// creation and updates, and puts that beside an event. Other harnesses hand their payloads over themselves.
fn handed_over(run: &str) -> Vec<(String, Vec<u8>)> {
    let mut payloads = recorded(run);
    if !run.starts_with("opencode.") {
        return payloads;
    }
    let mut parents = HashMap::new();
    for (_, payload) in &mut payloads {
        let mut object: serde_json::Value = serde_json::from_slice(payload).expect("it is JSON");
        let event = &object["event"];
        let id = event["properties"]["sessionID"].clone();
        let is_session = matches!(event["type"].as_str(), Some("session.created" | "session.updated"));
        if let (true, Some(parent)) = (is_session, event["properties"]["info"].get("parentID")) {
            parents.insert(id.clone(), parent.clone());
        }
        if let Some(parent) = parents.get(&id) {
            object["session"] = serde_json::json!({ "id": id, "parentID": parent });
            *payload = object.to_string().into_bytes();
        }
    }
    payloads
}

fn replay(harness: Harness, payloads: &[(String, Vec<u8>)]) -> Vec<(String, String)> {
    let mut session = Session::default();
    let handle = |(name, payload): &(String, Vec<u8>)| {
        let ignored = session.handle(harness, payload);
        (name.clone(), session.told(ignored))
    };
    payloads.iter().map(handle).collect()
}

fn check(harness: Harness) {
    for (of, run, steps) in RUNS.iter().filter(|(of, _, _)| *of == harness) {
        let expected: Vec<(String, String)> =
            steps.iter().map(|(file, told)| ((*file).to_owned(), (*told).to_owned())).collect();
        assert_eq!(replay(*of, &handed_over(run)), expected, "{run}");
    }
}

#[test]
fn hs_110_recorded_runs_of_claude_code() {
    check(Harness::Claude);
}

#[test]
fn hs_111_recorded_runs_of_codex() {
    check(Harness::Codex);
}

#[test]
fn hs_111_recorded_runs_of_opencode() {
    check(Harness::OpenCode);
}

#[test]
fn hs_111_recorded_runs_of_gemini_cli() {
    check(Harness::Gemini);
}

#[test]
fn hs_111_what_a_child_session_of_opencode_is_told_to_do() {
    let events = handed_over("opencode.subagent");
    let events =
        events.iter().map(|(_, payload)| interpret(Harness::OpenCode, payload).expect("it is readable"));
    let told: Vec<(String, ChildStep)> =
        events.filter_map(|event| event.child.map(|child| (event.name, child.step))).collect();
    let told: Vec<(&str, ChildStep)> = told.iter().map(|(name, step)| (name.as_str(), *step)).collect();
    let busy = ("session.status", ChildStep::Working);
    let expected = [
        ("session.created", ChildStep::Started),
        busy,
        busy,
        ("permission.asked", ChildStep::Working),
        busy,
        busy,
        busy,
        ("session.status", ChildStep::Stopped),
        ("session.idle", ChildStep::Stopped),
    ];
    assert_eq!(told, expected, "and nothing after its end, although its updates go on");
}

#[test]
fn hs_110_every_recorded_run_is_replayed() {
    let folder = vectors().join("harness-events");
    for entry in std::fs::read_dir(folder).expect("the runs are there") {
        let name = entry.expect("the folder is readable").file_name().to_string_lossy().into_owned();
        let covered = RUNS.iter().any(|(_, run, _)| *run == name);
        assert_eq!(covered, name != "README.md", "{name}");
    }
}

#[test]
fn hs_110_endings_carry_the_sessions_end_as_their_exit() {
    for (harness, run, _) in RUNS {
        let mut session = Session::default();
        for (_, payload) in recorded(run) {
            session.handle(*harness, &payload);
            let exit = session.stands.as_ref().and_then(|stands| stands.exit.as_deref());
            assert_eq!(exit, (session.state() == State::Ended).then_some("session end"), "{run}");
        }
    }
}

#[test]
fn hs_112_session_ids_directories_and_paths_decide_nothing() {
    for (harness, run, _) in RUNS {
        let real = handed_over(run);
        for replacement in [Some("another"), None] {
            let stripped = real.iter().map(|(name, payload)| {
                let mut payload: serde_json::Value = serde_json::from_slice(payload).expect("it is JSON");
                let members = payload.as_object_mut().expect("it is an object");
                for key in
                    ["session_id", "cwd", "transcript_path", "prompt_id", "turn_id", "turn-id", "thread-id"]
                {
                    members.remove(key);
                    if let Some(replacement) = replacement {
                        members.insert(key.to_owned(), replacement.into());
                    }
                }
                if let Some(properties) =
                    members.get_mut("event").and_then(|event| event.get_mut("properties"))
                {
                    let properties = properties.as_object_mut().expect("it is an object");
                    for key in ["sessionID", "info"] {
                        properties.remove(key);
                        if let Some(replacement) = replacement {
                            properties.insert(key.to_owned(), replacement.into());
                        }
                    }
                }
                (name.clone(), payload.to_string().into_bytes())
            });
            let stripped: Vec<(String, Vec<u8>)> = stripped.collect();
            assert_eq!(replay(*harness, &stripped), replay(*harness, &real), "{run} {replacement:?}");
        }
    }
}

#[test]
fn hs_110_message_text_decides_nothing() {
    for (harness, run, _) in RUNS {
        let real = handed_over(run);
        let reworded = real.iter().map(|(name, payload)| {
            let mut payload: serde_json::Value = serde_json::from_slice(payload).expect("it is JSON");
            let members = payload.as_object_mut().expect("it is an object");
            for key in
                ["message", "prompt", "delta", "last_assistant_message", "last-assistant-message", "error"]
            {
                members.insert(key.to_owned(), "Claude needs your permission, waiting for your input".into());
            }
            (name.clone(), payload.to_string().into_bytes())
        });
        let reworded: Vec<(String, Vec<u8>)> = reworded.collect();
        assert_eq!(replay(*harness, &reworded), replay(*harness, &real), "{run}");
    }
}

#[test]
fn hs_116_recorded_payloads_survive_a_byte_order_mark_and_no_cut_of_them_is_observed() {
    for (harness, run, _) in RUNS {
        for (name, payload) in handed_over(run) {
            let event = interpret(*harness, &payload).expect("a recorded payload is readable");
            assert!(!event.lossy, "{run} {name}");
            let marked = [b"\xef\xbb\xbf", payload.as_slice()].concat();
            assert_eq!(interpret(*harness, &marked).expect("one mark is no matter"), event, "{run} {name}");
            let whole = payload.trim_ascii_end().len();
            for cut in 0..whole {
                assert!(interpret(*harness, &payload[..cut]).is_err(), "{run} {name} cut at {cut}");
            }
        }
    }
}

#[test]
fn c_003_silence_after_a_tool_leaves_the_turn_as_it_was_seen() {
    for file in ["C-003.interrupt.hooks.jsonl", "C-003.toolend.hooks.jsonl"] {
        let mut session = Session::default();
        for payload in case(file) {
            assert_eq!(session.handle(Harness::Claude, &payload), None);
            assert_eq!(session.told(None), "active none none", "{file}");
        }
        // Nothing more is sent. The next prompt is seen again.
        assert_eq!(session.handle(Harness::Claude, br#"{"hook_event_name":"UserPromptSubmit"}"#), None);
        assert_eq!(session.told(None), "active none none", "{file}");
    }
}

#[test]
fn c_004_idle_reminder_is_not_an_ask() {
    let mut session = Session::default();
    let mut told = Vec::new();
    for payload in case("C-004.notifications.hooks.jsonl") {
        let ignored = session.handle(Harness::Claude, &payload);
        told.push(session.told(ignored));
    }
    let expected = [
        "active none none",
        "idle none none",
        "idle none none",
        "active none none",
        "active human permission",
        "active none none",
        "active none none, no-change",
        "active none none, unknown-notification",
        "active none none, untyped-notification",
    ];
    assert_eq!(told, expected);
    assert_eq!(session.counted, ["unknown-notification", "untyped-notification"]);
}

#[test]
fn c_004_no_type_and_no_state_turn_a_reminder_into_an_ask() {
    let stop = br#"{"hook_event_name":"Stop"}"#;
    for kind in ["idle_prompt", "auth_success", "agent_completed", "agent_needs_input", "made_up_future_type"]
    {
        let mut session = Session::default();
        session.handle(Harness::Claude, stop);
        let reminder = format!(
            r#"{{"hook_event_name":"Notification","notification_type":"{kind}","message":"needs your permission"}}"#
        );
        session.handle(Harness::Claude, reminder.as_bytes());
        let stands = session.stands.expect("the stop is observed");
        assert_eq!(
            (stands.state, stands.blocked_on, stands.ask),
            (State::Idle, BlockedOn::None, Ask::None),
            "{kind}"
        );
    }
}

#[test]
fn c_006_a_wandering_session_id_is_no_transition() {
    let mut session = Session::default();
    for payload in case("C-006.alternating.hooks.jsonl") {
        session.handle(Harness::Claude, &payload);
        assert_eq!((session.state(), session.transitions), (State::Active, 1));
    }
}

#[test]
fn c_006_a_resume_of_two_starts_is_one_session() {
    let mut session = Session::default();
    let mut states = Vec::new();
    for payload in case("C-006.resume.hooks.jsonl") {
        session.handle(Harness::Claude, &payload);
        states.push(session.state());
    }
    assert_eq!(states, [State::Ready, State::Idle, State::Active, State::Idle]);
}

#[test]
fn c_016_one_leading_byte_order_mark_is_dropped_and_inner_ones_stay() {
    let payload = std::fs::read(vectors().join("cases/C-016.bom.hook.json")).expect("the case is there");
    assert!(payload.starts_with(b"\xef\xbb\xbf"));
    let mut session = Session::default();
    assert_eq!(session.handle(Harness::Claude, &payload), None);
    assert_eq!(session.told(None), "idle none none");
    let object = Object::parse(&payload, &["message"]).expect("the mark is dropped");
    assert_eq!(object.text("message"), Some("keeps \u{feff} inside"));
    let doubled = [b"\xef\xbb\xbf", payload.as_slice()].concat();
    let error = interpret(Harness::Claude, &doubled).expect_err("exactly one is dropped");
    assert_eq!(error.reason(), Some("malformed-payload"));
}
