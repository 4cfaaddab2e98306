//! What must hold for any bytes at all, one function a parser. A property that does not hold panics.

pub mod ground;
pub mod journal;
pub mod keys;
pub mod reading;
pub mod replies;

use gallivant_core::Code;
use gallivant_core::harness_state::adapters::{Child, Event, Harness, Resolution, interpret};
use gallivant_core::harness_state::{
    Ask, Claimant, Observation, Options, Record, State, claim, decode, encode, encode_keeping_unknown,
    salvage,
};
use gallivant_core::json::lenient::MAX_DEPTH;
use gallivant_core::testing::simulated_host;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Records: what decodes is written again as one line that says the same, with and without the members that nobody
/// knows, and gives a claim its numbers.
pub fn record(bytes: &[u8]) {
    let rescued = salvage(bytes);
    let Ok(record) = decode(bytes) else { return };
    assert!(rescued.seq.is_none_or(|seq| seq == record.seq), "two numbers for one key");
    assert!(rescued.transitions.is_none_or(|transitions| transitions == record.transitions));
    assert!(rescued.written_at_ms.is_none_or(|stamp| stamp == record.written_at_ms));
    let line = encode(&record);
    is_written_well(&record, &line);
    let kept = encode_keeping_unknown(&record, bytes);
    is_written_well(&record, &kept);
    assert_eq!(encode_keeping_unknown(&record, &kept), kept, "what was kept once is kept again");
    // What no build knows goes, and then there is nothing to keep.
    assert_eq!(encode_keeping_unknown(&record, &line), line);
}

fn is_written_well(record: &Record, line: &[u8]) {
    let (last, before) = line.split_last().expect("a line");
    assert!(*last == b'\n' && !before.contains(&b'\n') && !before.contains(&0), "exactly one line");
    assert_eq!(decode(line).as_ref(), Ok(record), "it says the same");
    let rescued = salvage(line);
    assert_eq!(
        (rescued.seq, rescued.transitions, rescued.written_at_ms),
        (Some(record.seq), Some(record.transitions), Some(record.written_at_ms))
    );
}

/// The extension: whatever JSON stands there, the record is one and says the same otherwise.
pub fn extension(bytes: &[u8]) {
    let is_json = std::str::from_utf8(bytes).is_ok() && serde_json::from_slice::<&RawValue>(bytes).is_ok();
    let plain = Record { extension: None, ..decode(SAMPLE).expect("the sample decodes") };
    let mut line = encode(&plain);
    line.truncate(line.len() - 2);
    line.extend_from_slice(b",\"gallivant\":");
    line.extend_from_slice(bytes);
    line.extend_from_slice(b"}\n");
    if !is_json {
        // It may be several members, or no record at all; both are the other target's.
        return record(&line);
    }
    let found = decode(&line).expect("programs that do not know the key take it too");
    assert_eq!(Record { extension: None, ..found.clone() }, plain);
    if let Some(known) = &found.extension {
        let _ = known.process_identity();
    }
    record(&line);
}

const SAMPLE: &[u8] = br#"{"schema":"st2.harness-state.v1","agent":"a","harness":"codex","state":"idle",
"blockedOn":"none","inputBuffer":"unknown","ask":"none","ptySession":"p","incarnation":"tok","seq":3,"sinceMs":1,
"writtenAtMs":2,"transitions":4}"#;

/// The floor: a claim goes on from it, or says that it is damaged.
pub fn floor(bytes: &[u8]) {
    // Longer ones are their own case, and a test's.
    if bytes.len() > 1000 {
        return;
    }
    let (host, simulation) = simulated_host(1);
    simulation.files.plant_directory("/agent").expect("planted");
    simulation.files.plant_file("/agent/.harness-state.seq", bytes).expect("planted");
    let claimant = Claimant { agent: "a".to_owned(), harness: "codex".to_owned(), token: "t".to_owned() };
    let expected = decimal(bytes);
    match (claim("/agent", &claimant, &Options::default(), &host), expected) {
        (Err(error), Some(u64::MAX)) => assert_eq!(error.code(), Code::HarnessStateSequenceExhausted),
        (Err(error), _) => panic!("a claim goes over any floor: {error}"),
        (Ok(claimed), _) => {
            assert_eq!(claimed.sequence, expected.unwrap_or(0) + 1);
            assert_eq!(claimed.floor_damage.is_some(), expected.is_none());
            assert!(claimed.floor_failure.is_none());
            let stands = simulation.files.contents("/agent/.harness-state.seq").expect("it was raised");
            assert_eq!(stands, format!("{}\n", claimed.sequence).into_bytes());
        }
    }
}

/// HS-57, digit by digit.
fn decimal(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches(char::is_whitespace);
    let digits = text.strip_prefix('+').unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    digits.bytes().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A harness's payload: never a panic; what is understood is JSON, presentable and observable.
pub fn payload(harness: Harness, payload: &[u8]) {
    let understood = interpret(harness, payload);
    if let Ok(text) = std::str::from_utf8(payload) {
        agrees_with_a_strict_parser(text, &understood);
    }
    match understood {
        Err(error) => {
            assert_eq!(error.code(), Code::HarnessStateInput);
            assert!(error.reason().is_some(), "a hook's log says why");
        }
        Ok(event) => {
            is_presentable(harness, payload, &event);
            if !payload.starts_with(MARK) {
                let marked = [MARK, payload].concat();
                assert_eq!(interpret(harness, &marked).expect("one mark is no matter"), event);
            }
            for prior in priors() {
                if let Resolution::Observe(observation) = event.effect.resolve(prior.as_ref()) {
                    observation.validate(true).expect("a writer takes what an adapter observes");
                }
            }
        }
    }
}

fn agrees_with_a_strict_parser(text: &str, understood: &gallivant_core::Result<Event>) {
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_object = json.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{');
    let is_json = is_object && serde_json::from_str::<IgnoredAny>(json).is_ok();
    match understood {
        Ok(event) => {
            assert!(is_json, "what is not JSON is not understood");
            // Only an escape can be a lone surrogate where the bytes are UTF-8.
            assert!(!event.lossy || json.contains("\\u"), "nothing was lost");
        }
        Err(error) => {
            let reason = error.reason().unwrap_or_default();
            let refused_for_more = ["doubled-key", "payload-too-deep", "payload-too-large"].contains(&reason);
            assert!(!is_json || refused_for_more, "JSON is understood, reason=`{reason}`");
            let opened = json.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
            assert!(reason != "payload-too-deep" || opened > MAX_DEPTH, "it is not that deep");
        }
    }
}

fn is_presentable(harness: Harness, payload: &[u8], event: &Event) {
    assert!(event.name.chars().count() <= Event::MAX_NAME);
    assert!(!event.name.chars().any(char::is_control), "a log's line stays one");
    if let Some(child) = &event.child {
        assert!((1..=Child::MAX_ID).contains(&child.id.len()));
    }
    if std::str::from_utf8(payload).is_err() {
        // What is no Unicode may stand in a part that nobody reads, and is told all the same.
        assert!(event.lossy, "{harness:?}: bytes that are no Unicode were replaced");
    }
}

/// What may stand when an event comes.
fn priors() -> Vec<Option<Observation>> {
    let active = Observation::new(State::Active);
    vec![
        None,
        Some(Observation::new(State::Ready)),
        Some(Observation::new(State::Idle).with_reason("r")),
        Some(active.clone().blocked_on_human(Ask::Question)),
        Some(active.with_reason("compacting-idle: r")),
        Some(Observation::ended(Some("exit 0"))),
    ]
}
