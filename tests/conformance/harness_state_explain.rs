//! Section G: explaining (HS-91).

use gallivant_core::harness_state::{Explanation, Moment, Probe, Record, State};
use gallivant_core::process::Liveness;

use crate::support::{NOW, Seat, line};

fn explain(seat: &Seat, probe: Option<Liveness>) -> Explanation {
    let snapshot = seat.reader().snapshot();
    let mut answer = probe.map(|liveness| move || liveness);
    let answer = answer.as_mut().map(|answer| answer as &mut dyn FnMut() -> Liveness);
    snapshot.explain(&seat.options, snapshot.taken_at(), answer)
}

#[test]
fn hs_91_the_deciding_row_is_named_by_its_clause() {
    let seat = Seat::new();
    let stale = (NOW - 15 * 60_000).to_string();
    let future = (NOW + 60_001).to_string();
    let ended = [("state", "\"ended\""), ("ptySession", "")];
    let claimed = [&ended[..], &[("reason", "\"superseded\"")]].concat();
    let children = r#"{"bootId":"b","bootMs":1,"awakeMs":1,"host":"h","children":["c"]}"#;
    let cases: Vec<(String, Option<Liveness>, &str, Option<&str>)> = vec![
        ("{".to_owned(), None, "HS-72", Some("malformed-record")),
        (line(&[("schema", "\"x\"")]), None, "HS-73", Some("unsupported-schema")),
        (line(&[("writtenAtMs", &future)]), None, "HS-74", Some("future-skew")),
        (line(&[("writtenAtMs", &stale)]), None, "HS-75", Some("stale")),
        (line(&[("state", "\"parked\"")]), None, "HS-77", Some("literal-unknown")),
        (line(&claimed), None, "HS-78", Some("claimed")),
        (line(&[("ptySession", "")]), Some(Liveness::Alive), "HS-80", Some("unfenced-record")),
        (line(&[]), Some(Liveness::Dead), "HS-80", Some("session-dead")),
        (line(&[("state", "\"idle\""), ("gallivant", children)]), None, "HS-99", Some("children")),
        (line(&[]), Some(Liveness::Alive), "HS-84", None),
        (line(&ended), Some(Liveness::Dead), "HS-84", None),
    ];
    for (planted, probe, clause, reason) in cases {
        seat.plant("harness-state", &planted);
        let explanation = explain(&seat, probe);
        assert_eq!(explanation.clause(), clause, "{planted}");
        let derived = explanation.derived.as_ref().expect("something stands there");
        assert_eq!(derived.reason.as_deref(), reason, "{planted}");
        let (last, before) = explanation.rows.split_last().expect("rows were tried");
        assert!(last.matched && before.iter().all(|row| !row.matched), "{:?}", explanation.rows);
        assert_eq!(
            derived.state,
            seat.reader().read(probe.as_ref().map(|probe| probe as _)).expect("a record").state,
            "the same table"
        );
    }
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    let nothing = explain(&seat, None);
    assert_eq!((nothing.clause(), nothing.derived.is_none(), nothing.rows.len()), ("HS-70", true, 1));
    std::fs::create_dir(seat.path("harness-state")).expect("a directory");
    assert_eq!(explain(&seat, None).clause(), "HS-71");
}

#[test]
fn hs_91_a_reader_explains_with_a_probe_of_its_own_and_within_its_budget() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[]));
    let reader = seat.reader();
    for probe in [None, Some(Liveness::Alive), Some(Liveness::Dead)] {
        let probe = probe.as_ref().map(|probe| probe as _);
        let explanation = reader.explain(probe);
        assert_eq!(explanation.derived, reader.read(probe));
    }
    assert_eq!(reader.explain(Some(&Liveness::Dead)).clause(), "HS-80");
    assert_eq!(reader.explain(Some(&Panics)).clause(), "HS-84", "HS-81: it has answered nothing");
}

#[derive(Debug)]
struct Panics;

impl Probe for Panics {
    fn liveness(&self, _record: &Record) -> Liveness {
        panic!("as a probe may")
    }
}

#[test]
fn hs_91_the_record_the_clock_and_each_row_are_told() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("incarnation", "\"tok-secret\"")]));
    let explanation = explain(&seat, Some(Liveness::Dead));
    let told: serde_json::Value = serde_json::from_str(&explanation.to_json()).expect("one JSON object");
    assert_eq!(told["state"], "unknown");
    assert_eq!(told["reason"], "session-dead");
    assert_eq!(told["clause"], "HS-80");
    assert_eq!(told["record"]["agent"], "host.worker");
    assert_eq!(told["clock"]["wallMs"], NOW);
    assert_eq!(told["ageMs"], 1000);
    let rows = told["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), explanation.rows.len());
    assert_eq!(rows[0]["clause"], "HS-70");
    assert_eq!(rows[rows.len() - 1]["matched"], true);
    assert!(!explanation.to_json().contains("tok-secret"), "a token is its session's secret");
    let lines = explanation.to_string();
    assert!(lines.starts_with("unknown (session-dead), by HS-80\n"), "{lines}");
    assert!(lines.contains("yes HS-80  the probe says that the session is dead"), "{lines}");
    seat.plant("harness-state", "{");
    let broken = explain(&seat, None);
    assert!(broken.damage.is_some() && broken.to_json().contains("\"damage\":\""), "{}", broken.to_json());
    let wall = seat.reader().snapshot().explain(&seat.options, &Moment::wall(7), None);
    assert!(wall.to_json().contains(r#""clock":{"wallMs":7}"#), "{}", wall.to_json());
    assert_eq!(wall.derived.expect("it stands").state, State::Unknown);
}
