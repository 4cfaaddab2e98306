//! EX-CAP: capability records and the one registry of them. The checks are in `execution_capability_checks.rs`.
//!
//! A test named `part_of_…` proves what of a clause needs no boundary.

use gallivant_core::execution::capability::{
    EXECUTION_VERSION, RunnerParts, Runtime, assert_execution_dependency,
};
use gallivant_core::execution::contract::{Method, Methods};
use gallivant_core::execution::{Adapter, Capability, ExecutionRegistry};
use gallivant_core::json::Value;
use gallivant_core::{Code, Error};

pub(crate) fn value(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A remote record on which every check passes that can, with members that no table has.
pub(crate) fn record_text() -> serde_json::Value {
    serde_json::json!({
        "provider": "prov", "transport": "managed-rest", "location": "remote",
        "newDispatch": {"available": true, "reason": null, "since": 1},
        "authentication": {"scheme": "bearer", "secretNames": ["PROV_KEY"], "note": "n"},
        "environments": {"required": true, "allowed": ["env-1", "env-2"], "more": []},
        "models": "required",
        "policies": {"required": true, "allowed": ["safe", "read-only"], "more": {}},
        "preparation": {
            "version": 1, "boundary": "text-only", "authority": "remote", "environment": {"name": "none"}, "own": true,
        },
        "continuation": "native", "observability": "events", "cancel": true, "interrupt": true,
        "cost": {"reports": true, "hardCap": true, "currency": "USD"},
        "qualification": {"seen": "1.0"}, "vendor": {"deep": [1, 2]},
    })
}

pub(crate) fn capability(text: &serde_json::Value) -> Capability {
    Capability::from_value(value(&text.to_string())).unwrap_or_else(|error| panic!("{error}"))
}

/// A record with one member of another value; `path` is a JSON pointer.
pub(crate) fn changed(path: &str, to: serde_json::Value) -> serde_json::Value {
    let mut text = record_text();
    *text.pointer_mut(path).unwrap_or_else(|| panic!("no {path}")) = to;
    text
}

fn transport() -> Option<Adapter> {
    Some(Adapter::Transport(Methods::all()))
}

fn runner() -> Adapter {
    Adapter::Runner(RunnerParts { render: true, configure: false, minimum_version: Some("1.2.3".into()) })
}

fn registry() -> ExecutionRegistry {
    ExecutionRegistry::new().expect("the shipped records")
}

fn local(provider: &str) -> serde_json::Value {
    let mut text = changed("/location", "local".into());
    text["provider"] = provider.into();
    text
}

#[track_caller]
fn assert_refused(error: &Error, code: Code, reason: Option<&str>) {
    assert_eq!((error.code(), error.reason()), (code, reason), "{error}");
}

#[test]
fn ex_cap_01_one_record_for_each_name_and_every_way_to_it_reads_that_one() {
    let registry = registry();
    registry.register(capability(&record_text()), transport(), &[]).expect("registered");
    let all = registry.capabilities();
    for record in &all {
        let same: Vec<_> = all.iter().filter(|other| other.provider == record.provider).collect();
        assert_eq!(same.len(), 1, "{}", record.provider);
        assert_eq!(*registry.capability_for(&record.provider).expect("there").capability(), *record);
    }
    // A record that was looked up before its adapter came reads what the registry says now.
    let early = registry.capability_for("claude").expect("shipped");
    assert!(!early.capability().new_dispatch.available);
    registry.clone().attach("claude", runner(), &[]).expect("attached");
    assert!(early.capability().new_dispatch.available);
    assert_eq!(early.adapter().as_deref(), Some(&runner()));
    let unknown = registry.capability_for("Prov").expect_err("names are exact");
    assert_refused(&unknown, Code::ExecutionCapability, Some("unavailable"));
    assert!(unknown.message().contains("claude codex opencode"), "{unknown}");
}

#[test]
fn ex_cap_02_a_record_has_these_fields_and_keeps_the_others() {
    let text = record_text();
    let record = capability(&text);
    let again: serde_json::Value = serde_json::from_str(&record.to_value().to_json()).expect("JSON");
    assert_eq!(again, text, "every member, known or not, at every depth");
    assert_eq!(Capability::from_value(record.to_value()).expect("a record"), record);
    // What may be left out is null.
    let mut short = text.clone();
    for name in ["preparation", "qualification"] {
        short.as_object_mut().expect("an object").remove(name);
    }
    short["newDispatch"].as_object_mut().expect("an object").remove("reason");
    let short = capability(&short);
    assert_eq!((short.preparation, short.qualification), (None, Value::Null));
    assert_eq!(
        capability(&changed("/environments/allowed", serde_json::Value::Null)).environments.allowed,
        None
    );
}

#[test]
fn ex_cap_02_what_is_no_record_is_refused_by_its_member_and_quoted_nowhere() {
    let hidden = "hunter2";
    let wrong: &[(&str, serde_json::Value)] = &[
        ("/provider", "".into()),
        ("/provider", 7.into()),
        ("/transport", serde_json::Value::Null),
        ("/location", hidden.into()),
        ("/newDispatch", hidden.into()),
        ("/newDispatch/available", hidden.into()),
        ("/newDispatch/reason", 7.into()),
        ("/authentication", serde_json::Value::Null),
        ("/authentication/scheme", "".into()),
        ("/authentication/secretNames", hidden.into()),
        ("/authentication/secretNames", serde_json::json!([hidden, ""])),
        ("/environments/required", hidden.into()),
        ("/environments/allowed", hidden.into()),
        ("/environments/allowed", serde_json::json!([hidden, 1])),
        ("/models", hidden.into()),
        ("/policies/required", serde_json::Value::Null),
        ("/policies/allowed", serde_json::Value::Null),
        ("/preparation", hidden.into()),
        ("/preparation/version", hidden.into()),
        ("/preparation/version", serde_json::json!(-1)),
        ("/preparation/boundary", serde_json::Value::Null),
        ("/preparation/authority", 7.into()),
        ("/continuation", hidden.into()),
        ("/observability", hidden.into()),
        ("/cancel", hidden.into()),
        ("/interrupt", serde_json::Value::Null),
        ("/cost", hidden.into()),
        ("/cost/reports", 0.into()),
        ("/cost/hardCap", hidden.into()),
    ];
    for (path, to) in wrong {
        let text = changed(path, to.clone());
        let error = Capability::from_value(value(&text.to_string())).expect_err(path);
        assert_refused(&error, Code::ExecutionInput, None);
        let member = path[1..].replace('/', ".");
        assert!(error.message().ends_with(&format!("member=`{member}`")), "{path}: {error}");
        assert!(!error.message().contains(hidden), "{error}");
    }
    // Leaving a list out must not mean what null means: any environment.
    for (object, member) in [("environments", "allowed"), ("policies", "allowed"), ("cost", "hardCap")] {
        let mut text = record_text();
        text[object].as_object_mut().expect("an object").remove(member);
        let error = Capability::from_value(value(&text.to_string())).expect_err(member);
        assert!(error.message().ends_with(&format!("member=`{object}.{member}`")), "{error}");
    }
    for text in ["null", "[]", "\"prov\""] {
        assert_refused(&Capability::from_value(value(text)).expect_err(text), Code::ExecutionInput, None);
    }
}

#[test]
fn ex_cap_03_the_shipped_records_are_those_of_the_table() {
    let registry = registry();
    for name in ["claude", "codex", "opencode", "gemini", "goose"] {
        registry.attach(name, runner(), &[]).expect(name);
    }
    for name in ["openai-agents", "codex-cloud"] {
        registry.attach(name, Adapter::Transport(Methods::all()), &[]).expect(name);
    }
    let row = |record: &Capability| {
        let prepared =
            record.preparation.as_ref().map(|known| format!("v{} {}", known.version, known.boundary));
        format!(
            "{} {} {} {} {} [{}] {} {} {} {}",
            record.provider,
            record.location.word(),
            record.continuation.word(),
            record.cancel,
            record.interrupt,
            prepared.as_deref().unwrap_or("none"),
            record.cost.reports,
            record.cost.hard_cap,
            record.models.word(),
            record.new_dispatch.available,
        )
    };
    let rows: Vec<_> = registry.capabilities().iter().map(row).collect();
    assert_eq!(
        rows,
        [
            "claude local native true true [v1 tools-off] true true native true",
            "codex local native true true [v1 isolated-profile] false false native true",
            "opencode local native true true [none] false false native true",
            "gemini local native true true [none] false false native true",
            "goose local native true true [none] false false native true",
            "openai-agents remote native true false [v1 text-only] false false required true",
            "codex-cloud remote successor false false [none] false false refused false",
        ]
    );
    let agents = registry.capability_for("openai-agents").expect("shipped").capability();
    let preparation = agents.preparation.as_ref().expect("a preparation");
    assert_eq!(preparation.environment, Value::from("none"));
}

#[test]
fn ex_cap_04_the_local_names_keep_their_spelling_and_stay_local() {
    let registry = registry();
    for name in ["claude", "codex", "opencode", "gemini", "goose"] {
        let mut remote = record_text();
        remote["provider"] = name.into();
        let taken = registry.register(capability(&remote), transport(), &[]).expect_err(name);
        assert_refused(&taken, Code::ExecutionCapability, None);
        let moved = registry.attach(name, Adapter::Transport(Methods::all()), &[]).expect_err(name);
        assert_refused(&moved, Code::ExecutionInput, None);
        registry.attach(name, runner(), &[]).expect(name);
        let record = registry.capability_for(name).expect(name).capability();
        assert_eq!((record.provider.as_str(), record.location.word()), (name, "local"));
    }
}

#[test]
fn ex_cap_05_a_second_record_of_a_name_is_refused_and_the_first_one_stays() {
    let registry = registry();
    registry.register(capability(&record_text()), transport(), &[]).expect("the first");
    let before = registry.capabilities();
    let second = capability(&changed("/cancel", false.into()));
    let refused = registry.register(second, transport(), &[]).expect_err("the second");
    assert_refused(&refused, Code::ExecutionCapability, None);
    assert!(refused.message().contains("provider=`prov`"), "{refused}");
    let twice =
        registry.attach("prov", Adapter::Transport(Methods::all()), &[]).expect_err("it has its adapter");
    assert_refused(&twice, Code::ExecutionCapability, None);
    assert_eq!(registry.capabilities(), before);
}

#[test]
fn ex_cap_06_nothing_is_available_without_an_adapter() {
    let registry = registry();
    for record in registry.capabilities() {
        assert!(!record.new_dispatch.available, "{}", record.provider);
        assert_eq!(record.new_dispatch.reason.as_deref(), Some("no adapter"), "{}", record.provider);
    }
    let refused = registry.register(capability(&record_text()), None, &[]).expect_err("no adapter");
    assert_refused(&refused, Code::ExecutionCapability, Some("unavailable"));
    assert!(registry.capability_for("prov").is_err(), "nothing was registered");
    // A record that says itself that it is not available needs none, and keeps its own reason, also with one.
    let closed = changed("/newDispatch", serde_json::json!({"available": false, "reason": "closed"}));
    let found = registry.register(capability(&closed), None, &[]).expect("registered");
    registry.attach("prov", Adapter::Transport(Methods::all()), &[]).expect("attached");
    assert_eq!(found.capability().new_dispatch.reason.as_deref(), Some("closed"));
    assert!(!found.capability().new_dispatch.available);
    // A shipped record says what it says of itself once its adapter is there.
    let claude = registry.attach("claude", runner(), &[]).expect("attached").capability();
    assert!(claude.new_dispatch.available && claude.new_dispatch.reason.is_none());
    let cloud = registry.attach("codex-cloud", Adapter::Transport(Methods::all()), &[]).expect("attached");
    assert!(!cloud.capability().new_dispatch.available);
}

#[test]
fn ex_cap_24_capabilities_are_deep_copies_without_a_secret_value() {
    let registry = registry();
    let found =
        registry.register(capability(&record_text()), transport(), &["PROV_SECRET"]).expect("registered");
    let before = registry.capabilities();
    let mut copy = registry.capabilities();
    for record in &mut copy {
        record.provider.push('x');
        record.new_dispatch.available = false;
        record.authentication.secret_names.clear();
        record.policies.allowed.push("anything".into());
        record.preparation = None;
        record.others.insert("vendor", Value::Null);
    }
    assert_eq!(registry.capabilities(), before);
    assert_eq!(found.capability().policies.allowed, ["safe", "read-only"]);
    let shown = before.iter().map(|record| record.to_value().to_json()).collect::<String>();
    assert!(shown.contains("PROV_KEY") && !shown.contains("PROV_SECRET"), "{shown}");
}

#[test]
fn part_of_ex_cap_25_a_record_of_another_registry_is_refused() {
    let (one, other) = (registry(), registry());
    let record = one.capability_for("claude").expect("shipped");
    assert!(one.is_same(&one.clone()) && record.registry().is_same(&one) && !one.is_same(&other));
    one.clone().assert_owns(&record).expect("a clone is the same registry");
    let foreign = other.assert_owns(&record).expect_err("another registry, with an equal record");
    assert_refused(&foreign, Code::ExecutionDependency, None);
}

#[test]
fn ex_cap_26_a_runtime_without_intake_or_of_another_version_is_refused() {
    let complete = Runtime { contract_version: Some(EXECUTION_VERSION), has_intake: true };
    assert_execution_dependency(&complete).expect("complete");
    for (runtime, says) in [
        (Runtime { has_intake: false, ..complete }, "intake"),
        (Runtime { contract_version: Some(2), ..complete }, "found=`2` supported=`1`"),
        (Runtime { contract_version: None, ..complete }, "found=`none` supported=`1`"),
        (Runtime::default(), "found=`none`"),
    ] {
        let refused = assert_execution_dependency(&runtime).expect_err(says);
        assert_refused(&refused, Code::ExecutionDependency, None);
        assert!(refused.message().contains(says), "{refused}");
        assert!(refused.remedy().contains("do not rebuild the intake service"), "{}", refused.remedy());
    }
}

#[test]
fn ex_cap_27_a_local_preparation_needs_render_and_a_minimum_version() {
    let parts = |render, version: Option<&str>| {
        Some(Adapter::Runner(RunnerParts {
            render,
            configure: true,
            minimum_version: version.map(str::to_owned),
        }))
    };
    for (adapter, lacks) in [
        (parts(false, Some("1.0")), "preparation.render"),
        (parts(true, None), "preparation.minimumVersion"),
        (parts(true, Some("")), "preparation.minimumVersion"),
        (parts(true, Some("newest")), "preparation.minimumVersion"),
    ] {
        let registry = registry();
        let refused = registry.register(capability(&local("mine")), adapter, &[]).expect_err(lacks);
        assert_refused(&refused, Code::ExecutionCapability, Some("preparation"));
        assert!(refused.message().contains(&format!("field=`{lacks}`")), "{refused}");
        assert!(registry.capability_for("mine").is_err());
    }
    // The parts may come with the adapter, and the record then tells of them; a shipped record needs them too.
    let registry = registry();
    let found = registry.register(capability(&local("mine")), parts(true, Some("1.0")), &[]).expect("both");
    let told = found.capability().preparation.clone().expect("a preparation");
    assert_eq!((told.render, told.configure, told.minimum_version.as_deref()), (true, true, Some("1.0")));
    let refused =
        registry.attach("codex", parts(false, None).expect("an adapter"), &[]).expect_err("no parts");
    assert_refused(&refused, Code::ExecutionCapability, Some("preparation"));
    registry.attach("gemini", parts(false, None).expect("an adapter"), &[]).expect("it prepares nothing");
    // Or with the record. `configure` is optional; two versions are one too many.
    let mut own = local("theirs");
    own["preparation"]["render"] = true.into();
    own["preparation"]["minimumVersion"] = "2.0".into();
    let bare = Some(Adapter::Runner(RunnerParts::default()));
    let told = registry.register(capability(&own), bare, &[]).expect("its own").capability();
    let told = told.preparation.as_ref().expect("a preparation");
    assert_eq!((told.configure, told.minimum_version.as_deref()), (false, Some("2.0")));
    own["provider"] = "torn".into();
    let torn = registry.register(capability(&own), parts(true, Some("1.0")), &[]).expect_err("two versions");
    assert_refused(&torn, Code::ExecutionCapability, Some("preparation"));
}

#[test]
fn ex_cap_29_a_supplied_secret_anywhere_in_a_record_is_refused_and_not_shown() {
    let secret = "hunter2";
    for (path, member) in [
        ("/authentication/secretNames", "authentication"),
        ("/authentication/scheme", "authentication"),
        ("/qualification", "qualification"),
        ("/preparation/environment", "preparation"),
        ("/provider", "provider"),
        ("/vendor", "one of no table"),
    ] {
        let held = match path {
            "/authentication/secretNames" => serde_json::json!(["PROV_KEY", secret]),
            "/qualification" => serde_json::json!({"a": [{secret: 1}]}),
            _ => secret.into(),
        };
        let registry = registry();
        let record = capability(&changed(path, held));
        let refused = registry.register(record.clone(), transport(), &["other", secret]).expect_err(path);
        assert_refused(&refused, Code::ExecutionCapability, Some("secret"));
        assert!(refused.message().contains(&format!("member=`{member}`")), "{refused}");
        assert!(!refused.to_string().contains(secret), "{refused}");
        assert_eq!(registry.capabilities().len(), 7, "nothing was registered");
        registry.register(record, transport(), &["", "other"]).expect("no supplied secret is in it");
    }
    // A part of a text is none, and a number is what its digits say.
    let registry = registry();
    let number = capability(&changed("/vendor", 1234567.into()));
    let refused = registry.register(number, transport(), &["1234567"]).expect_err("digits");
    assert_refused(&refused, Code::ExecutionCapability, Some("secret"));
    registry.register(capability(&record_text()), transport(), &["PROV"]).expect("it is a part of a name");
    let version = registry.attach("claude", runner(), &["1.2.3"]).expect_err("the adapter brings it");
    assert_refused(&version, Code::ExecutionCapability, Some("secret"));
}

#[test]
fn an_adapter_fits_its_record() {
    let registry = registry();
    let misplaced = registry.register(capability(&record_text()), Some(runner()), &[]).expect_err("remote");
    assert_refused(&misplaced, Code::ExecutionInput, None);
    // A transport has what its record promises; what the record never asks for may be missing.
    let few = |words: &[&str]| Some(Adapter::Transport(Methods::from_words(words).expect("methods")));
    let lacking =
        registry.register(capability(&record_text()), few(&["submit", "inspect"]), &[]).expect_err("few");
    assert_refused(&lacking, Code::ExecutionInput, None);
    assert!(lacking.message().contains("missing=`prepare continue collect cancel`"), "{lacking}");
    let mut modest = changed("/preparation", serde_json::Value::Null);
    (modest["cancel"], modest["continuation"]) = (false.into(), "none".into());
    registry.register(capability(&modest), few(&["submit", "inspect", "collect"]), &[]).expect("enough");
    assert!(Methods::from_words(["submit", "Submit"]).is_err());
    let named = Methods::from_words(["lookup", "submit", "lookup"]).expect("methods");
    assert_eq!(named.iter().collect::<Vec<_>>(), [Method::Submit, Method::Lookup]);
}

#[test]
fn part_of_ex_bnd_19_a_run_resolves_by_what_was_saved_with_it() {
    let registry = registry();
    registry.register(capability(&record_text()), transport(), &[]).expect("registered");
    for saved in [Some("managed-rest"), None] {
        let found = registry.capability_of_run("prov", saved).expect("its record");
        assert_eq!(found.capability().provider, "prov");
    }
    let other = registry.capability_of_run("prov", Some("cli")).expect_err("made by another transport");
    assert_refused(&other, Code::ExecutionDependency, None);
    assert!(
        registry.capability_of_run("nobody", Some("managed-rest")).is_err(),
        "and no other takes its place"
    );
}
