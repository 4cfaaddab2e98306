//! EX-SCH, as far as it is pure, and EX-BND-02: limits, waits, the authority of health records, states.

use gallivant_core::artifacts::git::Bounds;
use gallivant_core::execution::backoff::delay_ms;
use gallivant_core::execution::health::authorize;
use gallivant_core::execution::limits::{
    NATIVE_PROBE_MS, REMOTE_PROBE_MS, native_probe_ms, probe_ends_at, remote_probe_ms,
};
use gallivant_core::execution::transition::dispatch::REFUSALS_KEPT;
use gallivant_core::execution::{
    EXECUTION_CURSOR_BYTES, EXECUTION_LIMITS, HealthRecord, Limits, PROVIDER_STATES, ProviderState,
};
use gallivant_core::journal;
use gallivant_core::json::Value;
use gallivant_core::testing::SeededRandom;
use gallivant_core::verification::command;
use gallivant_core::{Code, Result};

fn with(overrides: &str) -> Result<Limits> {
    let value = Value::parse(overrides).unwrap_or_else(|error| panic!("{overrides}: {error}"));
    Limits::with_overrides(Some(value.as_object().expect("an object")))
}

#[test]
fn ex_bnd_02_provider_states_are_ten_words_in_this_order() {
    let words: Vec<_> = PROVIDER_STATES.iter().map(|state| state.word()).collect();
    let wanted = [
        "queued",
        "provisioning",
        "running",
        "waiting-for-input",
        "retrieving-results",
        "succeeded",
        "failed",
        "cancellation-requested",
        "cancelled",
        "status-unknown",
    ];
    assert_eq!(words, wanted);
    assert!(PROVIDER_STATES.iter().all(|state| ProviderState::from_word(state.word()) == Some(*state)));
    let terminal: Vec<_> =
        PROVIDER_STATES.iter().filter(|state| state.is_terminal()).map(|state| state.word()).collect();
    assert_eq!(terminal, ["succeeded", "failed", "cancelled"]);
}

#[test]
fn ex_sch_01_every_limit_has_its_default_and_its_range() {
    let rows: Vec<_> =
        EXECUTION_LIMITS.iter().map(|limit| (limit.name, limit.default, limit.min, limit.max)).collect();
    let wanted = [
        ("deadlineMs", 20_000, 1, 120_000),
        ("progressMs", 10_000, 1_000, 300_000),
        ("backoffMaxMs", 300_000, 1_000, 300_000),
        ("concurrency", 4, 1, 64),
        ("eventPageRecords", 100, 1, 100),
        ("eventPageBytes", 65_536, 1_024, 65_536),
        ("resultBytes", 8_388_608, 65_536, 67_108_864),
        ("healthRefreshMs", 60_000, 1_000, 3_600_000),
        ("lockWaitMs", 5_000, 0, 60_000),
        ("killAfterMs", 10_000, 0, 600_000),
    ];
    assert_eq!(rows, wanted);
    assert_eq!(Limits::with_overrides(None).expect("the defaults"), Limits::default());
    let shown = r#"{"deadlineMs":20000,"progressMs":10000,"backoffMaxMs":300000,"concurrency":4,"eventPageRecords":100,"eventPageBytes":65536,"resultBytes":8388608,"healthRefreshMs":60000,"lockWaitMs":5000,"killAfterMs":10000}"#;
    assert_eq!(Limits::default().to_value().to_json(), shown);
    let set = with(r#"{"killAfterMs":0,"deadlineMs":1}"#).expect("in range");
    assert_eq!(set, Limits { kill_after_ms: 0, deadline_ms: 1, ..Limits::default() }, "and the others stay");
}

#[test]
fn ex_sch_03_an_override_out_of_its_range_refuses() {
    for limit in EXECUTION_LIMITS {
        for value in [limit.min, limit.max] {
            let set = with(&format!("{{\"{}\":{value}}}", limit.name)).expect(limit.name);
            assert_eq!(set.to_value().get(limit.name), Some(&value.into()), "{}", limit.name);
        }
        let (below, above) = (i128::from(limit.min) - 1, limit.max + 1);
        let wrong = [
            below.to_string(),
            above.to_string(),
            format!("{}.5", limit.default),
            format!("\"{}\"", limit.default),
            "null".into(),
            "true".into(),
            "[1]".into(),
            "1e400".into(),
            "18446744073709551616".into(),
        ];
        for value in wrong {
            let error = with(&format!("{{\"{}\":{value}}}", limit.name)).expect_err(&value);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("limits")), "{value}");
            assert!(error.message().contains(limit.name), "{}", error.message());
        }
    }
    for name in ["deadline_ms", "DeadlineMs", "", "poll_seconds", "cursorBytes"] {
        let error = with(&format!("{{\"{name}\":1000}}")).expect_err(name);
        assert_eq!((error.code(), error.reason()), (Code::ExecutionInput, Some("limits")), "{name}");
    }
    assert!(with(r#"{"concurrency":5,"deadlineMs":0}"#).is_err(), "one that is right does not help");
    assert_eq!(with("{}").expect("nothing"), Limits::default());
}

#[test]
fn ex_sch_07_two_minutes_are_the_ceiling_of_a_deadline_and_a_minute_is_recommended() {
    assert!(with(r#"{"deadlineMs":120000}"#).is_ok() && with(r#"{"deadlineMs":120001}"#).is_err());
    assert_eq!(with(r#"{"deadlineMs":60000}"#).expect("in range").deadline_ms, 60_000);
    let page = include_str!("../../docs/guides/execution-limits.md");
    assert!(page.contains(
        "60,000 ms is a sensible value for hosts that take several seconds for each outbound request"
    ));
    // The page's table is the code's.
    let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("{text}"));
    let rows: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    assert_eq!(rows.len(), EXECUTION_LIMITS.len());
    for (row, limit) in rows.iter().zip(EXECUTION_LIMITS) {
        let cells: Vec<_> = row.split(" | ").collect();
        let (min, max) = cells[2].split_once(" to ").expect("a range");
        assert_eq!(cells[0].trim_end_matches('`'), limit.name);
        assert_eq!(
            (number(cells[1]), number(min), number(max)),
            (limit.default, limit.min, limit.max),
            "{row}"
        );
    }
}

#[test]
fn ex_sch_11_only_a_success_that_still_counts_authorises() {
    let success = HealthRecord::success("p", "a", 1_000, 61_000);
    for (now_ms, is_authorised) in
        [(0, true), (1_000, true), (60_999, true), (61_000, false), (u64::MAX, false)]
    {
        assert_eq!(authorize(Some(&success), now_ms), is_authorised, "{now_ms}");
    }
    let failure = HealthRecord { ok: false, failures: 1, ..success };
    for now_ms in [0, 60_999, 61_000] {
        assert!(!authorize(Some(&failure), now_ms), "{now_ms}");
        assert!(!authorize(None, now_ms), "no record");
    }
}

#[test]
fn ex_sch_20_the_delay_doubles_with_each_failure_and_is_spread_by_the_jitter() {
    let limits = Limits::default();
    for (failures, least, most) in [
        (1, 5_000, 10_000),
        (2, 10_000, 20_000),
        (3, 20_000, 40_000),
        (4, 40_000, 80_000),
        (5, 80_000, 160_000),
        (6, 150_000, 300_000),
        (7, 150_000, 300_000),
    ] {
        assert_eq!(delay_ms(failures, 0.0, None, &limits), least, "{failures}");
        assert_eq!(delay_ms(failures, 1.0, None, &limits), most, "{failures}");
    }
    assert_eq!(delay_ms(1, 0.5, None, &limits), 7_500);
    let odd = with(r#"{"progressMs":1001,"backoffMaxMs":1500}"#).expect("in range");
    assert_eq!(delay_ms(1, 0.0, None, &odd), 500, "rounded down");
    assert_eq!(delay_ms(2, 0.5, None, &odd), 1_125);
    let slow = with(r#"{"progressMs":300000,"backoffMaxMs":1000}"#).expect("in range");
    assert_eq!(delay_ms(1, 1.0, None, &slow), 1_000, "the maximum holds from the first failure on");
    // More failures never wait less with the same jitter, and nothing leaves the bounds.
    for seed in 1..=500 {
        let dice = SeededRandom::new(seed);
        let limits = Limits {
            progress_ms: 1_000 + dice.below(299_001),
            backoff_max_ms: 1_000 + dice.below(299_001),
            ..Limits::default()
        };
        let jitter = dice.below(1_001) as f64 / 1_000.0;
        let delays: Vec<u64> = (1..70).map(|failures| delay_ms(failures, jitter, None, &limits)).collect();
        assert!(delays.is_sorted(), "seed {seed}: {delays:?}");
        let longest = limits.backoff_max_ms;
        assert!(delays.iter().all(|delay| *delay <= longest), "seed {seed}");
        let last = delays.last().copied().expect("seventy");
        assert!((longest / 2..=longest).contains(&last), "seed {seed}: {last}");
    }
}

#[test]
fn ex_sch_21_a_provider_may_ask_for_a_longer_wait_up_to_the_maximum() {
    let limits = Limits::default();
    for (asked, delay) in [
        (0.0, 10_000),
        (9_999.0, 10_000),
        (10_000.5, 10_001),
        (45_000.0, 45_000),
        (300_000.0, 300_000),
        (300_001.0, 300_000),
        (1e300, 300_000),
    ] {
        assert_eq!(delay_ms(1, 1.0, Some(asked), &limits), delay, "{asked}");
    }
    for asked in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(delay_ms(1, 1.0, Some(asked), &limits), 10_000, "{asked} is not valid");
    }
}

#[test]
fn ex_sch_23_an_exponent_that_overflows_counts_as_the_maximum() {
    let limits = Limits::default();
    for failures in [55, 63, 64, 65, 66, 1_000, u64::from(u32::MAX), u64::from(u32::MAX) + 2, u64::MAX] {
        assert_eq!(delay_ms(failures, 1.0, None, &limits), 300_000, "{failures}");
        assert_eq!(delay_ms(failures, 0.0, None, &limits), 150_000, "{failures}");
    }
}

#[test]
fn ex_sch_05_a_native_probe_ends_after_twenty_seconds_or_a_shorter_deadline() {
    assert_eq!(native_probe_ms(None), 20_000);
    for (deadline, most) in [(1, 1), (19_999, 19_999), (20_000, 20_000), (120_000, 20_000)] {
        let limits = with(&format!(r#"{{"deadlineMs":{deadline}}}"#)).expect("limits");
        assert_eq!(native_probe_ms(Some(&limits)), most);
    }
}

#[test]
fn ex_sch_06_a_remote_probe_has_one_deadline_for_all_of_its_checks() {
    assert_eq!(remote_probe_ms(None), 10_000);
    for deadline in [1, 9_999, 20_000, 120_000] {
        assert_eq!(remote_probe_ms(Some(deadline)), deadline, "what is configured counts as it is");
    }
    // One end for all of its checks, and a caller's signal that fires earlier is kept.
    assert_eq!(probe_ends_at(1_000, remote_probe_ms(None), None), 11_000);
    assert_eq!(probe_ends_at(1_000, remote_probe_ms(None), Some(10_999)), 10_999);
    assert_eq!(probe_ends_at(1_000, remote_probe_ms(None), Some(11_001)), 11_000);
    assert_eq!(probe_ends_at(u64::MAX, 1, None), u64::MAX);
}

#[test]
fn ex_sch_02_fixed_numbers_are_no_limits() {
    let specification = include_str!("../../docs/spec/execution.md");
    let table = specification.split("**EX-SCH-02** ").nth(1).expect("the clause");
    let numbers = |of: &str| -> Vec<u64> {
        let row = table.lines().find(|line| line.starts_with(&format!("| {of} |"))).expect("a row");
        let cell = row.split('|').nth(2).expect("a value").replace(',', "\u{1}").replace("\u{1} ", " ");
        let digits = cell.replace('\u{1}', "");
        let words = digits.split(|c: char| !c.is_ascii_digit() && c != '/');
        words.filter_map(|word| word.parse().ok()).collect()
    };
    assert_eq!(numbers("Cursor bytes"), [EXECUTION_CURSOR_BYTES as u64]);
    assert_eq!(numbers("Refusals kept"), [REFUSALS_KEPT as u64]);
    assert_eq!(numbers("Native version or sign-in probe"), [NATIVE_PROBE_MS]);
    assert_eq!(numbers("Remote stand-alone probe without configuration"), [REMOTE_PROBE_MS]);
    assert_eq!(numbers("Journal batch, journal recovery read"), [journal::MAX_BATCH_BYTES as u64]);
    assert_eq!(
        numbers("Encoded record or line"),
        [journal::MAX_RECORD_BYTES as u64],
        "a record and a line are alike"
    );
    assert_eq!(journal::MAX_LINE_BYTES, journal::MAX_RECORD_BYTES as u64);
    assert_eq!(numbers("Local output page"), [journal::MAX_PAGE_RECORDS as u64, journal::MAX_PAGE_BYTES]);
    let (records, bytes) = (journal::MAX_PAGE_RECORDS as u64, journal::MAX_PAGE_BYTES);
    assert_eq!(numbers("Local output of one pass"), [2 * records, 2 * bytes], "two pages (EX-JRN-35)");
    assert_eq!(numbers("Private diagnostics life"), [journal::DIAGNOSTICS_LIFE_MS]);
    assert_eq!(
        numbers("Read window"),
        [journal::MAX_ROWS as u64, journal::MAX_DATA_BYTES, 3_208],
        "the index has eight bytes a row, and one row more"
    );
    assert_eq!(8 * (journal::MAX_ROWS as u64 + 1), 3_208);
    assert_eq!(
        numbers("Replay heartbeat, pending buffer"),
        [journal::HEARTBEAT.as_millis() as u64, journal::MAX_PENDING_BYTES]
    );
    let (query, display) = (Bounds::QUERY, "Display rows live, history, pending");
    assert_eq!(numbers("Git path or mode query"), [query.ms, query.bytes as u64]);
    assert_eq!(numbers("Verification command"), [command::COMMAND_MS, command::OUTPUT_BYTES as u64]);
    let rows = [journal::MAX_LIVE_ROWS, journal::MAX_HISTORY_ROWS, journal::MAX_PENDING_ROWS];
    assert_eq!(numbers(display), rows.map(|rows| rows as u64));
    // None of them can be set.
    let names: Vec<&str> = EXECUTION_LIMITS.iter().map(|limit| limit.name).collect();
    for name in ["cursorBytes", "refusalsKept", "nativeProbeMs", "remoteProbeMs", "batchBytes", "heartbeatMs"]
    {
        assert!(!names.contains(&name));
        assert!(with(&format!(r#"{{"{name}":1}}"#)).is_err());
    }
}
