//! Each effect on whatever may stand, and what a payload may look like; the rows of the tables are in `rows.rs`.

mod rows;

use std::collections::BTreeSet;

use super::effect::{Effect, Ignored, Resolution};
use super::event::{Child, ChildStep, Event, Harness, interpret};
use super::table::{Children, Rule};
use crate::error::Code;
use crate::harness_state::observation::{Ask, BlockedOn, InputBuffer, Observation, State};

/// An observation or its absence in one line, for comparison.
fn told(resolution: &Resolution) -> String {
    let observation = match resolution {
        Resolution::Observe(observation) => observation,
        Resolution::Nothing(ignored) if ignored.is_counted() => return format!("{} counted", ignored.word()),
        Resolution::Nothing(ignored) => return ignored.word().to_owned(),
    };
    let mut line = observation.state.word().to_owned();
    if observation.blocked_on != BlockedOn::None || observation.ask != Ask::None {
        line += &format!(" {} {}", observation.blocked_on.word(), observation.ask.word());
    }
    if let Some(reason) = &observation.reason {
        line += &format!(" [{reason}]");
    }
    if let Some(exit) = &observation.exit {
        line += &format!(" ({exit})");
    }
    line
}

fn event(harness: Harness, payload: &str) -> Event {
    interpret(harness, payload.as_bytes()).expect("the payload is readable")
}

#[test]
fn hs_110_harness_names_are_read_back() {
    for harness in Harness::ALL {
        assert_eq!(Harness::from_name(harness.name()), Some(*harness));
    }
    assert_eq!(Harness::from_name("claude-code"), Some(Harness::Claude));
    assert_eq!(Harness::from_name("gemini-cli"), Some(Harness::Gemini));
    let names: Vec<&str> = Harness::ALL.iter().map(|harness| harness.name()).collect();
    assert_eq!(names, ["claude", "codex", "opencode", "gemini"]);
    for unknown in ["", "Claude", "codex ", "open-code", "goose"] {
        assert_eq!(Harness::from_name(unknown), None, "{unknown}");
    }
}

#[test]
fn hs_111_executables_are_file_names_of_one_harness_and_of_no_interpreter() {
    let mut seen = BTreeSet::new();
    for harness in Harness::ALL {
        assert!(harness.executables().contains(&harness.name()), "{harness:?}");
        for name in harness.executables() {
            assert!(seen.insert(*name), "{name} is two harnesses");
            assert!(!name.is_empty() && !name.contains('/'), "{name}");
        }
    }
    for interpreter in ["node", "bun", "python3", "sh", "bash"] {
        assert!(!seen.contains(interpreter), "{interpreter}");
    }
}

#[test]
fn hs_110_a_member_that_is_no_string_counts_as_missing() {
    for value in ["null", "1", "true", "[\"idle_prompt\"]", "{\"idle_prompt\":1}"] {
        let payload = format!("{{\"hook_event_name\":\"Notification\",\"notification_type\":{value}}}");
        let effect = event(Harness::Claude, &payload).effect;
        assert_eq!(effect, Effect::Nothing(Ignored::UntypedNotification), "{value}");
        let payload = format!("{{\"hook_event_name\":{value},\"type\":{value}}}");
        let event = event(Harness::Codex, &payload);
        assert_eq!(
            (event.name.as_str(), event.effect),
            ("", Effect::Nothing(Ignored::UnknownEvent)),
            "{value}"
        );
    }
}

#[test]
fn hs_111_an_unknown_event_is_no_observation_and_its_name_is_short_and_plain() {
    let long = "ä".repeat(200);
    let cases =
        [("FutureEvent", "FutureEvent"), ("stop", "stop"), ("a\\nb\\u0000", "a\u{fffd}b\u{fffd}"), ("", "")];
    for harness in Harness::ALL {
        for (given, name) in cases.iter().copied().chain([(long.as_str(), &long[..2 * Event::MAX_NAME])]) {
            let payload = match harness {
                Harness::OpenCode => format!("{{\"event\":{{\"type\":\"{given}\"}}}}"),
                _ => format!("{{\"hook_event_name\":\"{given}\"}}"),
            };
            let event = event(*harness, &payload);
            assert_eq!((event.name.as_str(), event.effect), (name, Effect::Nothing(Ignored::UnknownEvent)));
        }
        assert_eq!(event(*harness, "{}").effect, Effect::Nothing(Ignored::UnknownEvent));
    }
    let notify = event(Harness::Codex, r#"{"type":"agent-turn-began"}"#);
    assert_eq!(
        (notify.name.as_str(), notify.effect),
        ("agent-turn-began", Effect::Nothing(Ignored::UnknownEvent))
    );
    let hook = event(Harness::Codex, r#"{"type":"agent-turn-complete","hook_event_name":"Stop"}"#);
    assert_eq!((hook.name.as_str(), hook.effect), ("Stop", Effect::Idle));
    let foreign = event(Harness::Claude, r#"{"type":"agent-turn-complete"}"#);
    assert_eq!((foreign.name.as_str(), foreign.effect), ("", Effect::Nothing(Ignored::UnknownEvent)));
}

#[test]
fn hs_110_a_subagents_own_event_is_a_childs_whatever_it_is() {
    let started = Child { id: "a1".to_owned(), step: ChildStep::Started };
    let stopped = Child { id: "a1".to_owned(), step: ChildStep::Stopped };
    let working = Child { id: "a1".to_owned(), step: ChildStep::Working };
    for harness in Harness::ALL {
        let kind = &harness.adapter().kinds[0];
        if !matches!(harness.adapter().children, Children::Marked(_)) {
            continue;
        }
        for row in kind.rows.iter().map(|row| row.event).chain(["FutureEvent"]) {
            let event = event(*harness, &format!("{{\"agent_id\":\"a1\",\"hook_event_name\":\"{row}\"}}"));
            let child = match row {
                "SubagentStart" => &started,
                "SubagentStop" => &stopped,
                _ => &working,
            };
            assert_eq!(
                (event.effect, event.child.as_ref()),
                (Effect::Nothing(Ignored::ChildEvent), Some(child))
            );
        }
    }
}

#[test]
fn hs_111_a_child_sessions_events_say_of_the_child_what_they_would_say_of_the_turn() {
    let of_child = |kind: &str, properties: &str| {
        let payload = format!(
            r#"{{"event":{{"type":"{kind}","properties":{{"sessionID":"c1"{properties}}}}},
            "session":{{"id":"c1","parentID":"p1"}}}}"#
        );
        let event = event(Harness::OpenCode, &payload);
        assert_eq!(event.effect, Effect::Nothing(Ignored::ChildEvent), "{kind} {properties}");
        event.child
    };
    let busy = r#","status":{"type":"busy"}"#;
    let idle = r#","status":{"type":"idle"}"#;
    let aborted = r#","error":{"name":"MessageAbortedError"}"#;
    for (kind, properties, step) in [
        ("session.created", "", Some(ChildStep::Started)),
        ("session.status", busy, Some(ChildStep::Working)),
        ("permission.asked", "", Some(ChildStep::Working)),
        ("session.status", idle, Some(ChildStep::Stopped)),
        ("session.idle", "", Some(ChildStep::Stopped)),
        ("session.error", aborted, Some(ChildStep::Stopped)),
        // These also come when the child is done.
        ("session.updated", "", None),
        ("permission.replied", "", None),
        ("session.status", "", None),
        ("future.event", "", None),
    ] {
        let expected = step.map(|step| Child { id: "c1".to_owned(), step });
        assert_eq!(of_child(kind, properties), expected, "{kind} {properties}");
    }
}

#[test]
fn hs_111_a_session_without_a_parent_is_the_turns_own() {
    for session in
        ["", r#","session":{}"#, r#","session":{"id":"s"}"#, r#","session":{"id":"s","parentID":null}"#]
    {
        let event =
            event(Harness::OpenCode, &format!("{{\"event\":{{\"type\":\"session.created\"}}{session}}}"));
        assert_eq!((event.effect, event.child), (Effect::Ready, None), "{session}");
    }
    // Without an id of its own it is a child's all the same.
    let nameless =
        event(Harness::OpenCode, r#"{"event":{"type":"session.idle"},"session":{"parentID":"p"}}"#);
    assert_eq!((nameless.effect, nameless.child), (Effect::Nothing(Ignored::ChildEvent), None));
}

#[test]
fn hs_111_an_error_that_ended_a_turn_of_opencode_stays_as_its_reason() {
    let error = r#"{"event":{"type":"session.error","properties":{"error":{"name":"APIError"}}}}"#;
    let idle = r#"{"event":{"type":"session.status","properties":{"status":{"type":"idle"}}}}"#;
    let mut stands = Observation::new(State::Active);
    for payload in [error, idle, r#"{"event":{"type":"session.idle"}}"#] {
        let Resolution::Observe(next) = event(Harness::OpenCode, payload).effect.resolve(Some(&stands))
        else {
            panic!("{payload} is observed");
        };
        stands = next;
        assert_eq!(told(&Resolution::Observe(stands.clone())), "idle [stop-failure]", "{payload}");
    }
}

#[test]
fn hs_110_what_counts_as_a_subagents_id() {
    let stop =
        |id: &str| event(Harness::Claude, &format!("{{\"agent_id\":{id},\"hook_event_name\":\"Stop\"}}"));
    for nobody in ["null", "\"\""] {
        assert_eq!((stop(nobody).effect, stop(nobody).child), (Effect::Idle, None), "{nobody}");
    }
    for nameless in ["1", "[]", "{}", "false"] {
        let event = stop(nameless);
        assert_eq!((event.effect, event.child), (Effect::Nothing(Ignored::ChildEvent), None), "{nameless}");
    }
    let longest = stop(&format!("\"{}\"", "x".repeat(Child::MAX_ID)));
    assert_eq!(longest.child.map(|child| child.id.len()), Some(Child::MAX_ID));
    let longer = stop(&format!("\"{}\"", "x".repeat(Child::MAX_ID + 1)));
    assert_eq!((longer.effect, longer.child), (Effect::Nothing(Ignored::ChildEvent), None));
    let anonymous = event(Harness::Claude, "{\"hook_event_name\":\"SubagentStart\"}");
    assert_eq!((anonymous.effect, anonymous.child), (Effect::Nothing(Ignored::ChildEvent), None));
}

#[test]
fn hs_116_a_payload_that_cannot_be_read_is_an_error_with_a_reason() {
    let deep = format!("{{\"hook_event_name\":\"Stop\",\"tool_input\":{}}}", "[".repeat(129));
    for harness in Harness::ALL {
        let named_by = harness.adapter().kinds[0].named_by;
        let key = named_by.split('.').next().expect("a path has a first key");
        let doubled = format!("{{\"{key}\":\"Stop\",\"tool_name\":\"a\",\"{key}\":\"SessionEnd\"}}");
        for (payload, reason) in [
            ("", "malformed-payload"),
            ("[]", "malformed-payload"),
            (&deep, "payload-too-deep"),
            (&doubled, "doubled-key"),
        ] {
            let error = interpret(*harness, payload.as_bytes()).expect_err(reason);
            assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some(reason)));
        }
    }
    let event = event(
        Harness::Claude,
        r#"{"hook_event_name":"Stop","cwd":"a","cwd":"b","session_id":1,"session_id":2}"#,
    );
    assert_eq!(event.effect, Effect::Idle);
}

#[test]
fn hs_116_the_lossy_mark_reaches_the_event() {
    let lossy = event(Harness::Claude, r#"{"hook_event_name":"Stop","last_assistant_message":"\ud83d"}"#);
    assert_eq!((lossy.effect, lossy.lossy), (Effect::Idle, true));
    let damaged =
        interpret(Harness::Claude, b"{\"hook_event_name\":\"Stop\",\"x\":\"\xff\"}").expect("it is readable");
    assert_eq!((damaged.effect, damaged.lossy), (Effect::Idle, true));
    let damaged = event(
        Harness::Claude,
        r#"{"hook_event_name":"Notification","notification_type":"idle_prompt\ud800"}"#,
    );
    assert_eq!(damaged.effect, Effect::Nothing(Ignored::UnknownNotification));
    assert!(!event(Harness::Claude, r#"{"hook_event_name":"Stop","x":"\ud83d\ude00"}"#).lossy);
}

/// Everything that may stand, whoever wrote it: also words that this build does not know, and combinations that no
/// adapter produces.
fn priors() -> Vec<Option<Observation>> {
    let reasons = [
        None,
        Some(""),
        Some("compacting"),
        Some("compacting-idle"),
        Some("compacting-ready"),
        Some("superseded"),
    ];
    let mut priors = vec![None];
    for state in State::ALL {
        for blocked_on in BlockedOn::ALL {
            for ask in Ask::ALL {
                for reason in reasons {
                    for exit in [None, Some("exit 0")] {
                        priors.push(Some(Observation {
                            state: *state,
                            blocked_on: *blocked_on,
                            input_buffer: InputBuffer::Nonempty,
                            ask: *ask,
                            reason: reason.map(str::to_owned),
                            exit: exit.map(str::to_owned),
                        }));
                    }
                }
            }
        }
    }
    priors
}

fn effects() -> Vec<Effect> {
    let mut effects = BTreeSet::new();
    let mut all = Vec::new();
    for harness in Harness::ALL {
        for row in harness.adapter().kinds.iter().flat_map(|kind| kind.rows) {
            match &row.rule {
                Rule::Always(effect) => all.push(*effect),
                Rule::Child(_) => all.push(Effect::Nothing(Ignored::ChildEvent)),
                Rule::ByWord { words, unknown, missing, .. } => {
                    all.extend(words.iter().map(|(_, effect)| *effect).chain([*unknown, *missing]));
                }
            }
        }
    }
    all.retain(|effect| effects.insert(format!("{effect:?}")));
    all
}

#[test]
fn hs_110_whatever_stands_an_effect_observes_only_what_a_writer_accepts() {
    for effect in effects() {
        for prior in priors() {
            if let Resolution::Observe(observation) = effect.resolve(prior.as_ref()) {
                let valid = observation.validate(true);
                assert!(valid.is_ok(), "{effect:?} after {prior:?}: {valid:?}");
            }
        }
    }
}

#[test]
fn hs_110_an_effect_repeated_is_the_same_observation() {
    for effect in effects() {
        for prior in priors() {
            if let Resolution::Observe(first) = effect.resolve(prior.as_ref())
                && effect != Effect::Compacted
                && let Resolution::Observe(second) = effect.resolve(Some(&first))
            {
                assert_eq!(first, second, "{effect:?} after {prior:?}");
            }
        }
    }
}

#[test]
fn hs_110_compaction_restores_what_stood_before() {
    let stop_failure = Observation::new(State::Idle).with_reason("stop-failure");
    let asked = Observation::new(State::Active).blocked_on_human(Ask::Permission);
    let ended = Observation::ended(Some("exit 0"));
    let cases = [
        (None, "active [compacting]", "active"),
        (Some(ended), "active [compacting]", "active"),
        (Some(Observation::new(State::Idle)), "active [compacting-idle]", "idle"),
        (Some(stop_failure), "active [compacting-idle: stop-failure]", "idle [stop-failure]"),
        (Some(Observation::new(State::Ready)), "active [compacting-ready]", "ready"),
        (Some(Observation::new(State::Active)), "active [compacting]", "active"),
        (Some(asked), "active human permission [compacting]", "active human permission"),
    ];
    for (prior, during, after) in cases {
        let Resolution::Observe(compacting) = Effect::Compacting.resolve(prior.as_ref()) else {
            panic!("a compaction is observed after {prior:?}");
        };
        assert_eq!(told(&Resolution::Observe(compacting.clone())), during);
        let restored = Effect::Compacted.resolve(Some(&compacting));
        assert_eq!(told(&restored), after);
        // The second of the two events that tell of the same end finds nothing left to restore.
        let Resolution::Observe(restored) = restored else { panic!("it is restored after {prior:?}") };
        assert_eq!(told(&Effect::Compacted.resolve(Some(&restored))), "no-change");
    }
    assert_eq!(told(&Effect::Compacted.resolve(None)), "no-change");
    let ended = Observation::new(State::Ended).with_reason("compacting-idle");
    assert_eq!(told(&Effect::Compacted.resolve(Some(&ended))), "no-change");
}

#[test]
fn hs_110_reminders_change_nothing_that_is_known_better() {
    let question = Observation::new(State::Active).blocked_on_human(Ask::Question);
    let review = Observation::new(State::Active).blocked_on_human(Ask::Review);
    let failed = Observation::new(State::Idle).with_reason("stop-failure");
    assert_eq!(Effect::StillAsking.resolve(Some(&question)), Resolution::Observe(question.clone()));
    assert_eq!(Effect::StillAsking.resolve(Some(&review)), Resolution::Observe(review));
    assert_eq!(told(&Effect::StillAsking.resolve(Some(&failed))), "active human permission");
    assert_eq!(told(&Effect::StillAsking.resolve(None)), "active human permission");
    assert_eq!(Effect::StillIdle.resolve(Some(&failed)), Resolution::Observe(failed));
    assert_eq!(told(&Effect::StillIdle.resolve(Some(&question))), "idle");
    assert_eq!(told(&Effect::StillIdle.resolve(None)), "idle");
    let stuck = Observation::new(State::Idle).blocked_on_human(Ask::Permission);
    assert_eq!(told(&Effect::StillIdle.resolve(Some(&stuck))), "idle");
}

#[test]
fn hs_110_an_answer_ends_the_wait_and_begins_no_turn() {
    let question = Observation::new(State::Active).blocked_on_human(Ask::Question);
    assert_eq!(told(&Effect::Answered.resolve(Some(&question))), "active");
    assert_eq!(told(&Effect::Answered.resolve(None)), "active");
    assert_eq!(told(&Effect::Answered.resolve(Some(&Observation::new(State::Idle)))), "no-change");
}

#[test]
fn hs_111_notify_is_believed_only_where_no_hook_has_told_of_a_turn() {
    let notify =
        event(Harness::Codex, r#"{"type":"agent-turn-complete","last-assistant-message":"done"}"#).effect;
    assert_eq!(told(&notify.resolve(Some(&Observation::new(State::Ready)))), "idle");
    let failed = Observation::new(State::Idle).with_reason("interrupted");
    assert_eq!(notify.resolve(Some(&failed)), Resolution::Observe(failed));
    let asked = Observation::new(State::Active).blocked_on_human(Ask::Permission);
    for prior in [None, Some(asked), Some(Observation::new(State::Active)), Some(Observation::ended(None))] {
        assert_eq!(told(&notify.resolve(prior.as_ref())), "unattributed-notify", "{prior:?}");
    }
}

#[test]
fn hs_110_the_words_of_what_is_ignored_are_stable_and_two_are_counted() {
    let words: Vec<&str> = Ignored::ALL.iter().map(|ignored| ignored.word()).collect();
    let all = [
        "unknown-event",
        "unknown-notification",
        "untyped-notification",
        "child-event",
        "no-change",
        "unattributed-notify",
    ];
    assert_eq!(words, all);
    let counted: Vec<&str> =
        Ignored::ALL.iter().filter(|ignored| ignored.is_counted()).map(|ignored| ignored.word()).collect();
    assert_eq!(counted, ["unknown-notification", "untyped-notification"]);
}
