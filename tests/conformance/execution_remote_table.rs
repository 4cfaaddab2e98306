//! EX-REC-33 and EX-REC-36: every cell of the remote state table. A cell drives its situation, runs one due pass, and compares
//! the exact list of calls and the row that the task is in afterwards.

use gallivant_core::execution::TransportError;
use gallivant_core::execution::contract::ErrorKind;
use serde_json::{Value as Json, json};

use crate::support::NOW;
use crate::support::pass::{failure, observation, observation_with, result, says};
use crate::support::task::{Answer, TaskRoot, acknowledgement, io_error};

/// Where a cell begins.
type Start = fn() -> TaskRoot;
type Prepare = fn(&mut TaskRoot);

/// The row whose columns say what the ledger says; the columns are those of the specification.
fn row(task: &TaskRoot) -> &'static str {
    if !task.exists("execution.json") {
        return "R1";
    }
    let ledger = task.ledger();
    let Some(run_id) = ledger["currentRunId"].as_str() else {
        let absent = &ledger["executions"]["run-1"];
        assert_eq!((&absent["absent"], &absent["state"]), (&json!(true), &json!("status-unknown")));
        return "R22";
    };
    let run = &ledger["executions"][run_id];
    let operation = &ledger["operations"][run["operationId"].as_str().expect("an operation")];
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let (state, end) = (text(&run["state"]).expect("a state"), text(&run["terminalState"]));
    let control = text(&run["cancellation"]["status"]);
    let control = control.as_deref().unwrap_or("none");
    let (collected, quarantined) = (run["collected"] == true, run["quarantined"] == true);
    if run["resultRejected"] == true {
        assert_eq!((Some(&state), collected), (end.as_ref(), false));
        return "R18";
    }
    if operation["acceptance"] == "unknown" {
        assert_eq!((state.as_str(), end, collected), ("status-unknown", None, false));
        let methods = task.options["transport"]["methods"].as_array().expect("methods");
        return match control {
            _ if !methods.contains(&json!("lookup")) => "R3",
            "none" => "R2",
            "pending" => "R4",
            "unsupported" => "R5",
            other => panic!("no row for {other}"),
        };
    }
    assert_eq!(operation["acceptance"], "accepted");
    if run["turnId"].is_null() {
        return "R21";
    }
    if let Some(end) = end.filter(|_| collected) {
        assert_eq!(state, end);
        return match (state.as_str(), control, quarantined) {
            ("succeeded", "none", false) => "R15",
            ("failed", "none", false) => "R16",
            ("succeeded" | "failed", "terminal", true) => "R17",
            other => panic!("no row for {other:?}"),
        };
    }
    match (state.as_str(), run["terminalState"].as_str(), control, quarantined) {
        ("queued" | "provisioning" | "running" | "retrieving-results", None, "none", false) => "R6",
        ("waiting-for-input", None, "none", false) => "R7",
        ("status-unknown", None, "none", false) => "R8",
        ("cancellation-requested", None, "pending", false) => "R9",
        ("cancellation-requested", None, "acknowledged", false) => "R10",
        (_, None, "unsupported", false) => "R11",
        ("cancellation-requested", None, "none", false) => "R12",
        ("retrieving-results", Some("succeeded" | "failed"), "none", false) => "R13",
        ("retrieving-results", Some("succeeded" | "failed"), "terminal", true) => "R14",
        ("cancelled", Some("cancelled"), "confirmed", true) => "R19",
        ("cancelled", Some("cancelled"), "none", true) => "R20",
        other => panic!("no row for {other:?}"),
    }
}

fn owned() -> TaskRoot {
    let task = TaskRoot::new();
    task.accepted(1);
    task
}

fn lost() -> TaskRoot {
    let task = TaskRoot::new();
    task.lost(1);
    task
}

fn without(part: &str) -> TaskRoot {
    let mut task = TaskRoot::new();
    if part == "cancel" {
        task.options["capabilities"]["cancel"] = json!(false);
    }
    let methods = task.options["transport"]["methods"].as_array_mut().expect("methods");
    methods.retain(|method| method != part || part == "cancel");
    task
}

fn seen_as(state: &str) -> TaskRoot {
    let task = owned();
    task.due_pass([says(observation(1, state))]).ok();
    task
}

fn stopped(task: TaskRoot, answers: impl IntoIterator<Item = Answer>) -> TaskRoot {
    task.stop_run(answers).ok();
    task
}

fn stop_lost() -> TaskRoot {
    stopped(owned(), [io()])
}

fn stop_known() -> TaskRoot {
    stopped(owned(), [confirmed(false)])
}

fn stop_unsupported() -> TaskRoot {
    let task = without("cancel");
    task.accepted(1);
    stopped(task, [])
}

fn ended(state: &str) -> TaskRoot {
    let task = owned();
    task.ended(1, state);
    task
}

/// An end that a stop has met.
fn met(state: &str) -> TaskRoot {
    let task = stop_known();
    task.due_pass([says(observation(1, state)), says(Json::Null)]).ok();
    task
}

fn collected(state: &str) -> TaskRoot {
    let task = ended(state);
    task.due_pass([of(state)]).ok();
    task
}

fn rejected(task: TaskRoot) -> TaskRoot {
    task.due_pass([invalid()]).ok();
    task
}

/// With the result of its end in the cache.
fn cached(task: TaskRoot, mut cache: Json) -> TaskRoot {
    for (key, value) in [("version", json!(1)), ("runId", json!("run-1")), ("collectedAt", json!(NOW))] {
        cache[key] = value;
    }
    task.plant("run-1/result.json", cache.to_string());
    task
}

/// An older record, without its root turn.
fn older(task: TaskRoot) -> TaskRoot {
    task.edit(|ledger| {
        ledger["executions"]["run-1"]["turnId"] = Json::Null;
        ledger["operations"]["op-1"]["acknowledgement"]["turnId"] = Json::Null;
    });
    task
}

fn absent() -> TaskRoot {
    let task = lost();
    task.settle_absent(json!({"operationId": "op-1", "evidence": "the provider proves it"})).ok();
    task
}

fn seen(state: &str) -> Answer {
    says(observation(1, state))
}

fn io() -> Answer {
    Answer::Fails(io_error())
}

fn invalid() -> Answer {
    Answer::Fails(TransportError::of(ErrorKind::CollectionValidation, "a deterministic fault"))
}

fn confirmed(confirmed: bool) -> Answer {
    says(json!({"confirmed": confirmed}))
}

fn of(state: &str) -> Answer {
    says(if state == "failed" { failure(1) } else { result(1) })
}

fn nothing() -> Answer {
    says(Json::Null)
}

/// Where it begins, how, the calls of one due pass with their answers, where that leads.
struct Cell(&'static str, fn() -> TaskRoot, Vec<(&'static str, Answer)>, &'static str);

const LIVE: [&str; 8] = [
    "queued",
    "provisioning",
    "running",
    "waiting-for-input",
    "status-unknown",
    "cancellation-requested",
    "retrieving-results",
    "status-unknown",
];

/// The row of a run without a control that was last seen so.
fn live_row(state: &str) -> &'static str {
    match state {
        "waiting-for-input" => "R7",
        "status-unknown" => "R8",
        "cancellation-requested" => "R12",
        _ => "R6",
    }
}

/// What an observation by this method leads to, for a run without a control.
fn observed(from: &'static str, start: fn() -> TaskRoot, method: &'static str) -> Vec<Cell> {
    let mut cells: Vec<_> =
        LIVE.iter().map(|state| Cell(from, start, vec![(method, seen(state))], live_row(state))).collect();
    for (end, row) in [("succeeded", "R15"), ("failed", "R16")] {
        let then = |answer, row| Cell(from, start, vec![(method, seen(end)), ("collect", answer)], row);
        cells.extend([then(of(end), row), then(nothing(), "R13"), then(io(), "R13"), then(invalid(), "R18")]);
    }
    cells.push(Cell(from, start, vec![(method, seen("cancelled"))], "R20"));
    cells
}

/// What an observation leads to for a run that was to be stopped: `stays` while it goes on. `before` are the calls before it.
fn observed_stopping(
    from: &'static str,
    start: fn() -> TaskRoot,
    before: fn() -> Vec<(&'static str, Answer)>,
    method: &'static str,
    stays: &'static str,
) -> Vec<Cell> {
    let with = |rest: Vec<(&'static str, Answer)>| before().into_iter().chain(rest).collect::<Vec<_>>();
    let mut cells: Vec<_> =
        LIVE.iter().map(|state| Cell(from, start, with(vec![(method, seen(state))]), stays)).collect();
    for end in ["succeeded", "failed"] {
        let then = |answer, row| Cell(from, start, with(vec![(method, seen(end)), ("collect", answer)]), row);
        cells.extend([
            then(of(end), "R17"),
            then(nothing(), "R14"),
            then(io(), "R14"),
            then(invalid(), "R18"),
        ]);
    }
    cells.push(Cell(from, start, with(vec![(method, seen("cancelled"))]), "R19"));
    cells
}

fn cells() -> Vec<Cell> {
    let none = Vec::new;
    let mut cells = vec![Cell("R1", TaskRoot::new, vec![], "R1")];
    // R2, R21 without a control: a look-up and nothing else.
    for (from, start) in
        [("R2", lost as fn() -> _), ("R21", || older(owned())), ("R21", || older(ended("succeeded")))]
    {
        cells.extend(observed(from, start, "lookup"));
        cells.push(Cell(from, start, vec![("lookup", nothing())], from));
        cells.push(Cell(from, start, vec![("lookup", io())], from));
        cells.push(Cell(
            from,
            start,
            vec![("lookup", says(observation_with(1, "running", json!({"turnId": 7}))))],
            from,
        ));
    }
    let claimed = || older(collected("succeeded"));
    cells.push(Cell("R21", claimed, vec![("lookup", seen("succeeded"))], "R15"));
    cells.push(Cell("R21", claimed, vec![("lookup", seen("failed")), ("collect", of("failed"))], "R16"));
    // R3: nobody is asked, whatever the control.
    let unlooked: [fn() -> TaskRoot; 3] = [
        || {
            let task = without("lookup");
            task.lost(1);
            task
        },
        || {
            let task = without("lookup");
            task.lost(1);
            stopped(task, [])
        },
        || {
            let mut task = without("lookup");
            task.options["capabilities"]["cancel"] = json!(false);
            task.lost(1);
            stopped(task, [])
        },
    ];
    cells.extend(unlooked.into_iter().map(|start| Cell("R3", start, vec![], "R3")));
    // R4, R21 with a pending stop: found alive, it is stopped; found ended, it is not.
    for (from, start) in [("R4", (|| stopped(lost(), [])) as fn() -> _), ("R21", || older(stop_lost()))] {
        for state in LIVE {
            let then =
                |answer, row| Cell(from, start, vec![("lookup", seen(state)), ("cancel", answer)], row);
            cells.extend([then(io(), "R9"), then(confirmed(false), "R10"), then(confirmed(true), "R19")]);
        }
        for end in ["succeeded", "failed"] {
            let then = |answer, row| Cell(from, start, vec![("lookup", seen(end)), ("collect", answer)], row);
            cells.extend([then(of(end), "R17"), then(nothing(), "R14"), then(invalid(), "R18")]);
        }
        cells.push(Cell(from, start, vec![("lookup", seen("cancelled"))], "R19"));
        cells.push(Cell(from, start, vec![("lookup", nothing())], from));
        cells.push(Cell(from, start, vec![("lookup", io())], from));
    }
    // R5, R21 with an unsupported stop.
    let unknown = || {
        let task = without("cancel");
        task.lost(1);
        stopped(task, [])
    };
    for (from, start) in [("R5", unknown as fn() -> _), ("R21", || older(stop_unsupported()))] {
        cells.extend(observed_stopping(from, start, none, "lookup", "R11"));
        cells.push(Cell(from, start, vec![("lookup", nothing())], from));
        cells.push(Cell(from, start, vec![("lookup", io())], from));
    }
    // R6, R7, R8, R12.
    let live: [(&str, Start); 7] = [
        ("R6", owned),
        ("R6", || seen_as("provisioning")),
        ("R6", || seen_as("running")),
        ("R6", || seen_as("retrieving-results")),
        ("R7", || seen_as("waiting-for-input")),
        ("R8", || seen_as("status-unknown")),
        ("R12", || seen_as("cancellation-requested")),
    ];
    for (from, start) in live {
        cells.extend(observed(from, start, "inspect"));
        cells.push(Cell(from, start, vec![("inspect", io())], from));
    }
    // R9: both are due. After a lost reply the inspection follows.
    cells.push(Cell("R9", stop_lost, vec![("cancel", confirmed(true))], "R19"));
    cells.push(Cell("R9", stop_lost, vec![("cancel", confirmed(false))], "R10"));
    cells.push(Cell("R9", stop_lost, vec![("cancel", io()), ("inspect", io())], "R9"));
    cells.extend(observed_stopping("R9", stop_lost, || vec![("cancel", io())], "inspect", "R9"));
    // R10, R11.
    cells.extend(observed_stopping("R10", stop_known, none, "inspect", "R10"));
    cells.push(Cell("R10", stop_known, vec![("inspect", io())], "R10"));
    cells.extend(observed_stopping("R11", stop_unsupported, none, "inspect", "R11"));
    cells.push(Cell("R11", stop_unsupported, vec![("inspect", io())], "R11"));
    // R13, R14: a valid cache is adopted without a call.
    let rows: [(&str, Start, &str, &str); 4] = [
        ("R13", || ended("succeeded"), "succeeded", "R15"),
        ("R13", || ended("failed"), "failed", "R16"),
        ("R14", || met("succeeded"), "succeeded", "R17"),
        ("R14", || met("failed"), "failed", "R17"),
    ];
    for (from, start, end, then) in rows {
        cells.push(Cell(from, start, vec![("collect", of(end))], then));
        cells.push(Cell(from, start, vec![("collect", nothing())], from));
        cells.push(Cell(from, start, vec![("collect", io())], from));
        cells.push(Cell(from, start, vec![("collect", invalid())], "R18"));
        let other = if end == "failed" { result(1) } else { failure(1) };
        cells.push(Cell(from, start, vec![("collect", says(other))], from));
    }
    cells.push(Cell("R13", || cached(ended("succeeded"), result(1)), vec![], "R15"));
    cells.push(Cell("R13", || cached(ended("failed"), failure(1)), vec![], "R16"));
    cells.push(Cell("R14", || cached(met("succeeded"), result(1)), vec![], "R17"));
    cells.push(Cell("R13", || cached(ended("failed"), result(1)), vec![("collect", of("failed"))], "R16"));
    // R15 to R20 and R22 call nobody any more.
    let settled: [(&str, Start); 9] = [
        ("R15", || collected("succeeded")),
        ("R16", || collected("failed")),
        ("R17", || stopped(collected("succeeded"), [])),
        ("R17", || stopped(collected("failed"), [])),
        ("R18", || rejected(ended("succeeded"))),
        ("R18", || rejected(met("failed"))),
        ("R19", || stopped(owned(), [confirmed(true)])),
        ("R20", || seen_as("cancelled")),
        ("R22", absent),
    ];
    cells.extend(settled.into_iter().map(|(row, start)| Cell(row, start, vec![], row)));
    cells
}

#[test]
fn ex_rec_36_every_cell_of_the_remote_table_makes_exactly_its_calls_and_leads_where_it_says() {
    let mut cells = cells();
    let count = cells.len();
    let rows: std::collections::BTreeSet<_> = cells.iter().map(|cell| cell.0).collect();
    // Most of it is waiting for a disk.
    std::thread::scope(|scope| {
        while !cells.is_empty() {
            let part = cells.split_off(cells.len() - cells.len().min(count / 8 + 1));
            scope.spawn(|| part.into_iter().for_each(check));
        }
    });
    println!("cells of the remote table: {count}, rows: {}", rows.len());
    assert_eq!(rows.len(), 22);
}

fn check(Cell(from, start, script, to): Cell) {
    let task = start();
    assert_eq!(row(&task), from);
    let (expected, answers): (Vec<_>, Vec<_>) = script.into_iter().unzip();
    let said: Vec<String> = answers.iter().map(shown).collect();
    let name = format!("{from} {expected:?} {said:?}");
    let ended = task.due_pass(answers);
    let calls: Vec<_> = ended.calls.iter().map(|(method, _)| *method).collect();
    assert_eq!(calls, expected, "{name}");
    assert_eq!(ended.ok()["called"], json!(expected), "{name}");
    assert_eq!(row(&task), to, "{name}");
    // A settled run stays, also under force, and makes no call (EX-REC-29).
    if ["R15", "R16", "R17", "R18", "R19", "R20", "R22"].contains(&to) {
        assert_eq!(task.forced_pass([]).ok()["called"], json!([]), "{name}");
        assert_eq!(row(&task), to, "{name}");
        if to != "R22" {
            assert_eq!(task.run(1)["nextAttemptAt"], Json::Null, "{name}");
        }
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Says(value) => value.get("state").unwrap_or(value).to_string(),
        _ => "fails".to_owned(),
    }
}

#[test]
fn ex_rec_33_an_operator_leads_out_of_an_acceptance_that_nobody_can_look_up() {
    let evidence = "seen at the provider";
    let adopt = json!({"operationId": "op-1", "evidence": evidence, "acknowledgement": acknowledgement(1)});
    let starts: [(Prepare, bool, &str); 3] = [
        (|_| {}, false, "R6"),
        (|_| {}, true, "R9"),
        (|task| task.options["capabilities"]["cancel"] = json!(false), true, "R11"),
    ];
    for (prepare, stop, to) in starts {
        for absent in [false, true] {
            let mut task = without("lookup");
            prepare(&mut task);
            task.lost(1);
            if stop {
                task.stop_run([]).ok();
            }
            assert_eq!(row(&task), "R3");
            if absent {
                task.settle_absent(json!({"operationId": "op-1", "evidence": evidence})).ok();
                assert_eq!(row(&task), "R22");
            } else {
                task.adopt(adopt.clone()).ok();
                assert_eq!(row(&task), to);
            }
        }
    }
}

#[test]
fn part_of_ex_rec_33_a_stop_and_a_pass_have_their_own_times() {
    // Neither is due.
    let task = stop_lost();
    assert_eq!(task.pass([]).ok()["called"], json!([]));
    // Only the stop is due: it alone is sent, and what is lost is not made up for by an inspection.
    let task = stop_lost();
    task.edit(|ledger| ledger["executions"]["run-1"]["nextAttemptAt"] = json!(NOW * 2));
    let report = task.due_pass([io()]).ok();
    assert_eq!(report["called"], json!(["cancel"]));
    assert_eq!(report["error"]["reason"], "io");
    assert_eq!(row(&task), "R9");
    // Only the pass is due: no stop is sent.
    let task = stop_lost();
    task.edit(|ledger| ledger["executions"]["run-1"]["cancellation"]["nextAttemptAt"] = json!(NOW * 2));
    assert_eq!(task.due_pass([seen("running")]).ok()["called"], json!(["inspect"]));
    assert_eq!(row(&task), "R9");
    // A forced pass sends both, and startup too.
    let task = stop_lost();
    assert_eq!(task.first_pass([io(), seen("running")]).ok()["called"], json!(["cancel", "inspect"]));
}
