//! What real harnesses did, event by event, and what of it must be observed (HS-110 to HS-112, HS-116; cases C-003,
//! C-004, C-006, C-016).
//!
//! The recorded runs are replayed as a session's hooks would replay them: each event is interpreted, resolved
//! against what stands, and what it observes stands for the next one. Durable storage and time have no part in it.

#![allow(clippy::disallowed_methods, reason = "the vectors are read as plain files")]

use std::path::PathBuf;

use gallivant_core::harness_state::adapters::{Event, Harness, Ignored, Resolution, interpret};
use gallivant_core::harness_state::{Ask, BlockedOn, Observation, State};
use gallivant_core::json::lenient::Object;

/// A recorded file and what stands once it has been handled: state, whom it waits for, what is asked, the reason
/// in brackets where there is one. A second line says why the event itself was no observation.
type Step = (&'static str, &'static str);

const CLAUDE_HEADLESS: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PostToolUse", "active none none"),
    ("05.PostToolBatch", "active none none"),
    ("06.MessageDisplay", "active none none, no-change"),
    ("07.Stop", "idle none none"),
    ("08.SessionEnd", "ended none none [other]"),
];

const CLAUDE_FILES: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PostToolUse", "active none none"),
    ("05.PostToolBatch", "active none none"),
    ("06.PreToolUse", "active none none"),
    ("07.PostToolUse", "active none none"),
    ("08.PostToolBatch", "active none none"),
    ("09.PreToolUse", "active none none"),
    ("10.PostToolUse", "active none none"),
    ("11.PostToolBatch", "active none none"),
    ("12.MessageDisplay", "active none none, no-change"),
    ("13.Stop", "idle none none"),
    ("14.SessionEnd", "ended none none [other]"),
];

/// The person allows a tool; lets the session sit; asks for a compaction that finds nothing to compact, so that no
/// end of it is told and the idle reminder is the next that is heard; clears the conversation, which starts another
/// session id in the same process; and does it all again.
const CLAUDE_PERMISSION_CLEAR: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PermissionRequest", "active human permission"),
    ("05.Notification", "active human permission"),
    ("06.PostToolUse", "active none none"),
    ("07.PostToolBatch", "active none none"),
    ("08.MessageDisplay", "active none none, no-change"),
    ("09.Stop", "idle none none"),
    ("10.Notification", "idle none none"),
    ("11.PreCompact", "active none none [compacting-idle]"),
    ("12.Notification", "idle none none"),
    ("13.SessionEnd", "idle none none, no-change"),
    ("14.SessionStart", "idle none none"),
    ("15.UserPromptSubmit", "active none none"),
    ("16.PreToolUse", "active none none"),
    ("17.PermissionRequest", "active human permission"),
    ("18.PostToolUse", "active none none"),
    ("19.PostToolBatch", "active none none"),
    ("20.MessageDisplay", "active none none, no-change"),
    ("21.Stop", "idle none none"),
    ("22.Notification", "idle none none"),
];

/// The main thread calls one tool, inside which five subagents start one another; only its own events count.
const CLAUDE_SUBAGENT: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.SubagentStart", "active none none, child-event"),
    ("05.PreToolUse", "active none none, child-event"),
    ("06.SubagentStart", "active none none, child-event"),
    ("07.PreToolUse", "active none none, child-event"),
    ("08.SubagentStart", "active none none, child-event"),
    ("09.PreToolUse", "active none none, child-event"),
    ("10.SubagentStart", "active none none, child-event"),
    ("11.PreToolUse", "active none none, child-event"),
    ("12.SubagentStart", "active none none, child-event"),
    ("13.SubagentStop", "active none none, child-event"),
    ("14.PostToolUse", "active none none, child-event"),
    ("15.PostToolBatch", "active none none, child-event"),
    ("16.SubagentStop", "active none none, child-event"),
    ("17.PostToolUse", "active none none, child-event"),
    ("18.PostToolBatch", "active none none, child-event"),
    ("19.SubagentStop", "active none none, child-event"),
    ("20.PostToolUse", "active none none, child-event"),
    ("21.PostToolBatch", "active none none, child-event"),
    ("22.SubagentStop", "active none none, child-event"),
    ("23.PostToolUse", "active none none, child-event"),
    ("24.PostToolBatch", "active none none, child-event"),
    ("25.SubagentStop", "active none none, child-event"),
    ("26.PostToolUse", "active none none"),
    ("27.PostToolBatch", "active none none"),
    ("28.MessageDisplay", "active none none, no-change"),
    ("29.Stop", "idle none none"),
    ("30.SessionEnd", "ended none none [other]"),
];

const CLAUDE_TOOL_FAILS: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PostToolUseFailure", "active none none"),
    ("05.PostToolBatch", "active none none"),
    ("06.MessageDisplay", "active none none, no-change"),
    ("07.Stop", "idle none none"),
    ("08.SessionEnd", "ended none none [other]"),
];

const CODEX_HEADLESS: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PostToolUse", "active none none"),
    ("05.Stop", "idle none none"),
    ("06.notify", "idle none none"),
    ("07.SessionEnd", "ended none none [other]"),
];

/// The first notify is the title-writing thread's: the turn waits for a permission all the while.
const CODEX_PERMISSION: &[Step] = &[
    ("01.SessionStart", "ready none none"),
    ("02.UserPromptSubmit", "active none none"),
    ("03.PreToolUse", "active none none"),
    ("04.PermissionRequest", "active human permission"),
    ("05.notify", "active human permission, unattributed-notify"),
    ("06.PostToolUse", "active none none"),
    ("07.Stop", "idle none none"),
    ("08.notify", "idle none none"),
    ("09.SessionEnd", "ended none none [other]"),
];

const RUNS: &[(Harness, &str, &[Step])] = &[
    (Harness::Claude, "claude-code.headless", CLAUDE_HEADLESS),
    (Harness::Claude, "claude-code.files", CLAUDE_FILES),
    (Harness::Claude, "claude-code.interactive-permission-clear", CLAUDE_PERMISSION_CLEAR),
    (Harness::Claude, "claude-code.subagent", CLAUDE_SUBAGENT),
    (Harness::Claude, "claude-code.toolfail", CLAUDE_TOOL_FAILS),
    (Harness::Codex, "codex.headless", CODEX_HEADLESS),
    (Harness::Codex, "codex.interactive-permission", CODEX_PERMISSION),
];

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
        assert_eq!(replay(*of, &recorded(run)), expected, "{run}");
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
fn hs_110_every_recorded_run_of_these_harnesses_is_replayed() {
    let folder = vectors().join("harness-events");
    for entry in std::fs::read_dir(folder).expect("the runs are there") {
        let name = entry.expect("the folder is readable").file_name().to_string_lossy().into_owned();
        let covered = RUNS.iter().any(|(_, run, _)| *run == name);
        let ours = name.starts_with("claude-code.") || name.starts_with("codex.");
        assert_eq!(covered, ours, "{name}");
    }
}

#[test]
fn hs_110_endings_carry_the_sessions_end_as_their_exit() {
    for (harness, run, _) in RUNS {
        let mut session = Session::default();
        for (_, payload) in recorded(run) {
            session.handle(*harness, &payload);
            let stands = session.stands.as_ref().expect("the first event is observed");
            assert_eq!(
                stands.exit.as_deref(),
                (stands.state == State::Ended).then_some("session end"),
                "{run}"
            );
        }
    }
}

#[test]
fn hs_112_session_ids_directories_and_paths_decide_nothing() {
    for (harness, run, _) in RUNS {
        let real = recorded(run);
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
        let real = recorded(run);
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
        for (name, payload) in recorded(run) {
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
