//! EX-CAP: the checks of a choice, each alone and in their order.
//!
//! A test named `part_of_…` proves what of a clause needs no boundary.

use gallivant_core::Code;
use gallivant_core::execution::Choice;
use gallivant_core::execution::capability::{Action, RunKind};
use gallivant_core::json::Value;

use crate::execution_capability::{capability, changed, record_text, value};

const DISPATCHES: [Action; 2] = [Action::Submit, Action::Continue];

/// What passes every check of the record of `record_text`.
fn choice(action: Action) -> Choice {
    Choice {
        policy: "safe".into(),
        model: "m-1".into(),
        environment: "env-1".into(),
        session: Some("s-1".into()),
        hard_cap_required: true,
        hard_cap_usd: value("8"),
        ..Choice::new(action)
    }
}

/// The reason and the message of the refusal; none where the choice passes.
fn refusal(record: &serde_json::Value, choice: &Choice) -> Option<(&'static str, String)> {
    let error = capability(record).check(choice).err()?;
    assert_eq!(error.code(), Code::ExecutionCapability, "{error}");
    assert!(error.message().contains("field=`") && error.message().contains("provider=`prov`"), "{error}");
    Some((error.reason().expect("a reason"), error.message().to_owned()))
}

fn reason(record: &serde_json::Value, choice: &Choice) -> Option<&'static str> {
    refusal(record, choice).map(|(reason, _)| reason)
}

#[test]
fn the_choice_of_these_tests_passes() {
    for action in Action::ALL {
        for kind in RunKind::ALL {
            assert_eq!(
                reason(&record_text(), &Choice { kind: *kind, ..choice(*action) }),
                None,
                "{action:?}"
            );
        }
    }
}

#[test]
fn ex_cap_08_a_mandatory_policy_that_is_missing_or_not_allowed_is_refused() {
    for action in DISPATCHES {
        for policy in
            [Value::Null, "".into(), "Safe".into(), "safe ".into(), "hunter2".into(), value("[\"safe\"]")]
        {
            let (reason, message) =
                refusal(&record_text(), &Choice { policy, ..choice(action) }).expect("refused");
            assert_eq!(reason, "policy");
            assert!(message.contains("field=`policy` allowed=`safe read-only`"), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert_eq!(reason(&record_text(), &Choice { policy: "read-only".into(), ..choice(action) }), None);
        // Where none is mandatory, none need be named, and one that is named has to be allowed, if any are listed.
        let optional = changed("/policies/required", false.into());
        assert_eq!(reason(&optional, &Choice { policy: Value::Null, ..choice(action) }), None);
        assert_eq!(reason(&optional, &Choice { policy: "other".into(), ..choice(action) }), Some("policy"));
        let unlisted = changed("/policies", serde_json::json!({"required": false, "allowed": []}));
        assert_eq!(reason(&unlisted, &Choice { policy: "other".into(), ..choice(action) }), None);
    }
}

#[test]
fn ex_cap_09_a_model_is_named_exactly_where_it_is_required() {
    for action in [Action::Submit, Action::Continue, Action::Prepare] {
        for (models, named, unnamed) in [
            ("required", None, Some("model")),
            ("refused", Some("model"), None),
            ("native", Some("model"), None),
        ] {
            let record = changed("/models", models.into());
            for model in ["m-1", "hunter2", " "] {
                let found = refusal(&record, &Choice { model: model.into(), ..choice(action) });
                assert_eq!(found.as_ref().map(|(reason, _)| *reason), named, "{models} {model}");
                assert!(!found.is_some_and(|(_, message)| message.contains("hunter2")));
            }
            for model in [Value::Null, "".into()] {
                assert_eq!(reason(&record, &Choice { model, ..choice(action) }), unnamed, "{models}");
            }
            assert_eq!(reason(&record, &Choice { model: value("7"), ..choice(action) }), Some("model"));
        }
    }
}

#[test]
fn ex_cap_10_an_environment_is_one_of_those_that_are_allowed() {
    let any = changed("/environments/allowed", serde_json::Value::Null);
    let mut optional = record_text();
    optional["environments"]["required"] = false.into();
    for action in DISPATCHES {
        let with = |environment: Value| Choice { environment, ..choice(action) };
        for environment in [Value::Null, "".into(), "Env-1".into(), "hunter2".into(), value("[\"env-1\"]")] {
            let (reason, message) = refusal(&record_text(), &with(environment)).expect("refused");
            assert_eq!(reason, "environment");
            assert!(message.contains("field=`environment` allowed=`env-1 env-2`"), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert_eq!(reason(&record_text(), &with("env-2".into())), None);
        assert_eq!(reason(&any, &with("anything".into())), None);
        for environment in [Value::Null, "".into()] {
            assert_eq!(reason(&any, &with(environment)), Some("environment"));
        }
        assert_eq!(reason(&optional, &with(Value::Null)), None);
        assert_eq!(reason(&optional, &with("other".into())), Some("environment"));
    }
}

#[test]
fn part_of_ex_cap_12_what_is_not_available_is_dispatched_to_by_nothing_and_still_interrupted() {
    let closed = changed("/newDispatch", serde_json::json!({"available": false, "reason": "closed"}));
    for action in [Action::Prepare, Action::Submit, Action::Continue] {
        let (reason, message) = refusal(&closed, &choice(action)).expect("refused");
        assert_eq!(reason, "unavailable");
        assert!(message.contains("why=`closed`"), "{message}");
    }
    assert_eq!(reason(&closed, &choice(Action::Interrupt)), None);
}

#[test]
fn ex_cap_13_evidence_changes_no_check() {
    let wanted: Vec<_> = choices().iter().map(|choice| reason(&record_text(), choice)).collect();
    for qualification in [
        serde_json::Value::Null,
        serde_json::json!({"passed": false, "models": ["m-9"], "policy": "none", "available": false}),
        serde_json::json!("not qualified; version 0.0.0; no credential is stored"),
    ] {
        let record = changed("/qualification", qualification);
        let found: Vec<_> = choices().iter().map(|choice| reason(&record, choice)).collect();
        assert_eq!(found, wanted);
    }
    // Nor does who could authenticate, or which harness a preparation asks for.
    let mut record = changed("/authentication", serde_json::json!({"scheme": "none", "secretNames": []}));
    record["preparation"]["minimumVersion"] = "999.0".into();
    let found: Vec<_> = choices().iter().map(|choice| reason(&record, choice)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn part_of_ex_cap_14_the_same_record_under_another_name_refuses_the_same() {
    for provider in ["claude", "codex-cloud", "else"] {
        let renamed = capability(&changed("/provider", provider.into()));
        for choice in choices() {
            let error = renamed.check(&choice).err();
            assert_eq!(error.and_then(|error| error.reason()), reason(&record_text(), &choice), "{provider}");
        }
    }
}

#[test]
fn part_of_ex_cap_15_only_a_native_continuation_continues() {
    for (continuation, refused) in
        [("native", None), ("successor", Some("continuation")), ("none", Some("continuation"))]
    {
        let record = changed("/continuation", continuation.into());
        assert_eq!(reason(&record, &choice(Action::Continue)), refused, "{continuation}");
        assert_eq!(reason(&record, &choice(Action::Submit)), None, "a successor is a submit");
    }
}

#[test]
fn ex_cap_16_prepare_and_intake_need_a_preparation_of_version_1() {
    let intake = Choice { kind: RunKind::Intake, ..choice(Action::Submit) };
    for record in [
        changed("/preparation", serde_json::Value::Null),
        changed("/preparation/version", 0.into()),
        changed("/preparation/version", 2.into()),
    ] {
        for choice in [&choice(Action::Prepare), &intake] {
            let (reason, message) = refusal(&record, choice).expect("refused");
            assert_eq!(reason, "preparation");
            assert!(message.contains("field=`preparation.version` allowed=`1`"), "{message}");
        }
    }
    assert_eq!(reason(&record_text(), &intake), None);
}

#[test]
fn ex_cap_17_implementation_needs_no_preparation() {
    let record = changed("/preparation", serde_json::Value::Null);
    for action in DISPATCHES {
        assert_eq!(reason(&record, &choice(action)), None);
    }
}

#[test]
fn ex_cap_18_an_interrupt_needs_the_control_the_continuation_and_the_session() {
    let wanted = choice(Action::Interrupt);
    assert_eq!(reason(&record_text(), &wanted), None);
    assert_eq!(reason(&changed("/interrupt", false.into()), &wanted), Some("interrupt"));
    for continuation in ["successor", "none"] {
        assert_eq!(reason(&changed("/continuation", continuation.into()), &wanted), Some("interrupt"));
    }
    for session in [None, Some(String::new())] {
        assert_eq!(reason(&record_text(), &Choice { session, ..wanted.clone() }), Some("interrupt"));
    }
    // It chooses nothing, so nothing of the rest is asked of it.
    let session = wanted.session.clone();
    assert_eq!(reason(&record_text(), &Choice { session, ..Choice::new(Action::Interrupt) }), None);
}

#[test]
fn part_of_ex_cap_19_a_missing_cancel_refuses_nothing() {
    for action in Action::ALL {
        assert_eq!(reason(&changed("/cancel", false.into()), &choice(*action)), None);
    }
}

#[test]
fn ex_cap_21_a_required_cap_has_to_be_enforced_and_given() {
    let uncapped = changed("/cost/hardCap", false.into());
    for action in DISPATCHES {
        let wanted = choice(action);
        let (reason_word, message) = refusal(&uncapped, &wanted).expect("refused");
        assert_eq!(reason_word, "hard-cap");
        assert!(message.contains("field=`cost.hardCap`"), "{message}");
        assert_eq!(reason(&uncapped, &Choice { hard_cap_required: false, ..wanted.clone() }), None);
        // EX-COST-22: with a required cap, none given is not "no cap".
        let none = Choice { hard_cap_usd: Value::Null, ..wanted };
        assert_eq!(reason(&record_text(), &none), Some("hard-cap"));
        assert_eq!(reason(&record_text(), &Choice { hard_cap_required: false, ..none }), None);
    }
}

/// One choice for each single fault.
fn choices() -> Vec<Choice> {
    let mut all = Vec::new();
    for action in Action::ALL {
        for kind in RunKind::ALL {
            let good = Choice { kind: *kind, ..choice(*action) };
            all.push(Choice { policy: "other".into(), ..good.clone() });
            all.push(Choice { model: Value::Null, ..good.clone() });
            all.push(Choice { environment: "other".into(), ..good.clone() });
            all.push(Choice { session: None, ..good.clone() });
            all.push(Choice { hard_cap_usd: Value::Null, ..good.clone() });
            all.push(good);
        }
    }
    all
}

#[test]
fn ex_cap_28_of_several_faults_the_first_in_the_order_is_reported() {
    // Everything is wrong for these choices. Each step puts the first fault right, and the next one comes up.
    let mut record = record_text();
    record["newDispatch"]["available"] = false.into();
    record["preparation"] = serde_json::Value::Null;
    record["continuation"] = "none".into();
    record["interrupt"] = false.into();
    record["cost"]["hardCap"] = false.into();
    let wrong = |action| Choice { hard_cap_required: true, kind: RunKind::Intake, ..Choice::new(action) };

    let mut submit = wrong(Action::Submit);
    let mut at = record.clone();
    let mut seen = vec![reason(&at, &submit)];
    at["newDispatch"]["available"] = true.into();
    seen.push(reason(&at, &submit));
    at["preparation"] = record_text()["preparation"].clone();
    seen.push(reason(&at, &submit));
    submit.policy = "safe".into();
    seen.push(reason(&at, &submit));
    submit.model = "m-1".into();
    seen.push(reason(&at, &submit));
    submit.environment = "env-1".into();
    seen.push(reason(&at, &submit));
    at["cost"]["hardCap"] = true.into();
    seen.push(reason(&at, &submit));
    submit.hard_cap_usd = value("1");
    seen.push(reason(&at, &submit));
    let order = ["unavailable", "preparation", "policy", "model", "environment", "hard-cap", "hard-cap"];
    assert_eq!(seen, order.map(Some).into_iter().chain([None]).collect::<Vec<_>>());

    // A continue: environment comes before continuation, and that before the cap.
    let mut going_on = Choice { policy: "safe".into(), model: "m-1".into(), ..wrong(Action::Continue) };
    let mut at = record;
    let mut seen = vec![reason(&at, &going_on)];
    at["newDispatch"]["available"] = true.into();
    seen.push(reason(&at, &going_on));
    going_on.environment = "env-1".into();
    seen.push(reason(&at, &going_on));
    at["continuation"] = "native".into();
    seen.push(reason(&at, &going_on));
    assert_eq!(seen, ["unavailable", "environment", "continuation", "hard-cap"].map(Some));
}
