//! EX-TRA: what each method is asked, to the member and to the byte.
//!
//! A test named `part_of_…` proves what of a clause needs no boundary.

use gallivant_core::execution::Acknowledgement;
use gallivant_core::execution::Cursor;
use gallivant_core::execution::capability::RunKind;
use gallivant_core::execution::contract::question::{Intent, Job};
use gallivant_core::execution::contract::request::{
    ContinueRequest, PrepareRequest, PreparedTurn, Response, Scope, SubmitRequest,
};
use gallivant_core::execution::contract::{Phase, Prepared};
use gallivant_core::json::{Number, Value};

use crate::execution_capability::{capability, record_text, value};

/// What trimming, folding, composing or escaping otherwise would change.
const PROMPT: &str = " Do É e\u{301} \r\n\t\"it\" \\ / \u{0}\u{7f}\u{2028} \u{1f600} ";
const SCOPE: Scope<'static> = Scope { task_id: " T-1", provider: "prov", account: "a/b" };
const NULL: Value = Value::Null;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text}"))
}

/// The members in their order, and their values.
#[track_caller]
fn assert_members(input: &Value, wanted: &[(&str, Value)]) {
    let found: Vec<_> = input.as_object().expect("an object").iter().collect();
    let wanted: Vec<_> = wanted.iter().map(|(name, value)| (*name, value)).collect();
    assert_eq!(found, wanted);
    // What is sent reads as what was given.
    assert_eq!(value(&input.to_json()), *input);
}

fn submit<'a>(amounts: Option<&'a Number>, choices: [&'a Value; 3]) -> SubmitRequest<'a> {
    let [policy, model, environment] = choices;
    SubmitRequest {
        scope: SCOPE,
        run_id: "run-1",
        operation_id: "op-1",
        idempotency_key: "gx-1 ",
        kind: RunKind::Implementation,
        prompt: PROMPT,
        input_head: Some("abc"),
        policy,
        model,
        environment,
        reservation_usd: amounts,
        hard_cap_usd: amounts,
        preparation: None,
    }
}

fn submitted(kind: &str, head: Value, amount: Value, preparation: Value) -> Vec<(&'static str, Value)> {
    vec![
        ("taskId", " T-1".into()),
        ("provider", "prov".into()),
        ("account", "a/b".into()),
        ("runId", "run-1".into()),
        ("operationId", "op-1".into()),
        ("idempotencyKey", "gx-1 ".into()),
        ("kind", kind.into()),
        ("prompt", PROMPT.into()),
        ("inputHead", head),
        ("policy", "safe".into()),
        ("model", value(r#"{"name":"m","n":1.50}"#)),
        ("environment", NULL),
        ("reservationUsd", amount.clone()),
        ("hardCapUsd", amount),
        ("preparation", preparation),
    ]
}

#[test]
fn ex_tra_12_prepare_is_asked_this_and_answers_this() {
    for (phase, word) in Phase::ALL.iter().zip(["draft", "clarify", "repair"]) {
        let (environment, allowance) = (value(r#"{"b":1.10,"a":[" "]}"#), number("0.500000000"));
        let request = PrepareRequest {
            scope: SCOPE,
            phase: *phase,
            prompt: PROMPT,
            environment: &environment,
            allowance_usd: &allowance,
        };
        assert_members(
            &request.to_value(),
            &[
                ("taskId", " T-1".into()),
                ("provider", "prov".into()),
                ("account", "a/b".into()),
                ("phase", word.into()),
                ("prompt", PROMPT.into()),
                ("environment", environment.clone()),
                ("allowanceUsd", Value::Number(number("0.500000000"))),
            ],
        );
    }
    let record = capability(&record_text());
    let declared = record.preparation.as_ref().expect("a preparation");
    let reply = r#"{"boundary":"text-only","authority":"remote","grant":{"z":1.0,"a":" \u00e9"}}"#;
    let grant = Prepared::judge(reply, declared).expect("as declared").grant;
    assert_eq!(grant.to_json(), "{\"z\":1.0,\"a\":\" é\"}", "in its order and with its digits");
}

#[test]
fn ex_tra_14_submit_is_asked_this_and_acknowledges_this() {
    let (policy, model, amount) = ("safe".into(), value(r#"{"name":"m","n":1.50}"#), number("0.30"));
    let choices = [&policy, &model, &NULL];
    let paid = submit(Some(&amount), choices);
    let usd = Value::Number(number("0.30"));
    assert_members(&paid.to_value(), &submitted("implementation", "abc".into(), usd.clone(), NULL));
    assert_members(&submit(None, choices).to_value(), &submitted("implementation", "abc".into(), NULL, NULL));

    // Intake: no revision, and the receipt with its private grant.
    let (receipt, grant) = (value(r#"{"version":1,"boundary":"b","own":2.0}"#), value(r#"{"token":" x"}"#));
    let turn = PreparedTurn { receipt: &receipt, grant: &grant };
    let intake = SubmitRequest {
        kind: RunKind::Intake,
        input_head: None,
        preparation: Some(turn),
        ..submit(Some(&amount), choices)
    };
    let prepared = value(r#"{"version":1,"boundary":"b","own":2.0,"grant":{"token":" x"}}"#);
    assert_members(&intake.to_value(), &submitted("intake", NULL, usd.clone(), prepared));
    // A receipt of an older package is its boundary alone.
    let old = Value::from("b");
    let turn = PreparedTurn { receipt: &old, grant: &NULL };
    let intake = SubmitRequest { preparation: Some(turn), ..submit(Some(&amount), choices) };
    let prepared = value(r#"{"boundary":"b","grant":null}"#);
    assert_members(&intake.to_value(), &submitted("implementation", "abc".into(), usd, prepared));

    let reply = r#"{"model":"m-2","turnId":" t","cursor":7.50,"environment":{"n":1.0},"providerJobId":"J","policy":null}"#;
    let acknowledgement = Acknowledgement::judge(reply, None).expect("valid");
    assert_eq!((acknowledgement.provider_job_id.as_str(), acknowledgement.turn_id.as_str()), ("J", " t"));
    assert_eq!(acknowledgement.cursor, Some(Cursor::from_json("7.5").expect("a cursor")));
    assert_eq!((acknowledgement.session_id, acknowledgement.policy), (None, None));
    assert_eq!(acknowledgement.model, Some("m-2".into()));
    assert_eq!(acknowledgement.environment.map(|value| value.to_json()).as_deref(), Some(r#"{"n":1.0}"#));
}

#[test]
fn ex_tra_16_continue_is_asked_this_besides() {
    let (policy, model, amount) = ("safe".into(), value(r#"{"name":"m","n":1.50}"#), number("0.30"));
    let answer = value(r#"{"text":" yes ","n":1.50}"#);
    let mut request = ContinueRequest {
        submit: submit(Some(&amount), [&policy, &model, &NULL]),
        session_id: " s-1",
        previous_job_id: "j-0",
        previous_turn_id: Some("t-0"),
        response: None,
    };
    let mut wanted = submitted("implementation", "abc".into(), Value::Number(number("0.30")), NULL);
    wanted.push(("sessionId", " s-1".into()));
    wanted.push(("previous", value(r#"{"providerJobId":"j-0","turnId":"t-0"}"#)));
    assert_members(&request.to_value(), &wanted);
    assert_eq!(request.to_recovery(), None, "there was no answer");

    request.response = Some(Response { signature: "sig ", answer: &answer });
    wanted.push(("response", value(r#"{"signature":"sig ","answer":{"text":" yes ","n":1.50}}"#)));
    assert_members(&request.to_value(), &wanted);
    // EX-TRA-24: a lost reply is recovered by the same input, with the same signature and key.
    assert_members(&request.to_recovery().expect("an answer"), &wanted);

    // Of the same shape as that of a submit, and by the session that was sent.
    let reply = r#"{"providerJobId":"j-1","turnId":"t-1","sessionId":" s-1"}"#;
    assert!(Acknowledgement::judge(reply, Some(request.session_id)).is_ok());
    assert!(Acknowledgement::judge(reply, Some("s-1")).is_err());
}

#[test]
fn part_of_ex_tra_15_18_19_22_questions_about_a_job_have_these_members() {
    let cursor = Cursor::from_json("90071992547409930001").expect("a cursor");
    let job = Job { run_id: "run-1", provider_job_id: "j-1 ", session_id: Some("s-1"), turn_id: "t-1" };
    let silent = Job { session_id: None, ..job };
    let text = |input: Value| input.to_json();
    assert_eq!(
        text(job.inspect(&SCOPE, Some(&cursor), 1_780_000_000_000)),
        r#"{"taskId":" T-1","provider":"prov","account":"a/b","runId":"run-1","providerJobId":"j-1 ","sessionId":"s-1","turnId":"t-1","cursor":90071992547409930001,"startedAt":1780000000000}"#
    );
    assert_eq!(
        text(silent.inspect(&SCOPE, None, 0)),
        r#"{"taskId":" T-1","provider":"prov","account":"a/b","runId":"run-1","providerJobId":"j-1 ","sessionId":null,"turnId":"t-1","cursor":null,"startedAt":0}"#
    );
    assert_eq!(
        text(job.collect("T", None, "succeeded")),
        r#"{"taskId":"T","runId":"run-1","providerJobId":"j-1 ","sessionId":"s-1","turnId":"t-1","inputHead":null,"terminalState":"succeeded"}"#
    );
    assert_eq!(
        text(silent.cancel(&SCOPE, "gc-1")),
        r#"{"taskId":" T-1","provider":"prov","account":"a/b","runId":"run-1","providerJobId":"j-1 ","sessionId":null,"turnId":"t-1","idempotencyKey":"gc-1"}"#
    );
    let intent = Intent {
        run_id: "run-1",
        operation_id: "op-1",
        idempotency_key: "gx-1",
        input_head: Some("abc"),
        intent_at_ms: 7,
        continued_session: None,
    };
    assert_eq!(
        text(intent.lookup(&SCOPE, None)),
        r#"{"taskId":" T-1","provider":"prov","account":"a/b","runId":"run-1","operationId":"op-1","idempotencyKey":"gx-1","inputHead":"abc","intentAt":7,"action":"submit","cursor":null}"#
    );
    let continued = Intent { continued_session: Some("s-1"), input_head: None, ..intent };
    assert_eq!(
        text(continued.lookup(&SCOPE, Some(&cursor))),
        r#"{"taskId":" T-1","provider":"prov","account":"a/b","runId":"run-1","operationId":"op-1","idempotencyKey":"gx-1","inputHead":null,"intentAt":7,"action":"continue","sessionId":"s-1","cursor":90071992547409930001}"#
    );
}
