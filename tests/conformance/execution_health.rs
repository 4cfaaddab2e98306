//! EX-SCH-09 to EX-SCH-19: the health of accounts, on disk, in a store, and before an intent.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::execution::{
    AbortToken, Boundary, ExecutionOptions, FixedJitter, Health, HealthOptions, HealthRecord, HealthScope,
    HealthStore, Joined, Limits, ProbeResult,
};
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{TestHost, TestHostOptions};
use serde_json::{Value as Json, json};

use crate::support::task::{Ended, TaskRoot, accepts, dispatch, dispatch_with, drive, object};
use crate::support::{NOW, in_forked_child};

const REFRESH_MS: u64 = 60_000;

/// The directory of a health store under a clock that the test sets.
struct Clinic {
    root: tempfile::TempDir,
    machine: TestHost,
}

impl Clinic {
    fn new() -> Self {
        let options = TestHostOptions { wall_ms: Some(NOW), ..TestHostOptions::default() };
        let machine = TestHost::new(options).expect("a host");
        Clinic { root: tempfile::tempdir().expect("a temporary directory"), machine }
    }

    fn options(&self) -> HealthOptions {
        let jitter = Some(Arc::new(FixedJitter(1.0)) as _);
        HealthOptions { jitter, ..HealthOptions::new(self.root.path().join("health")) }
    }

    /// A store as another process, or the same one after a restart, opens it.
    fn store(&self) -> HealthStore {
        self.store_with(self.options())
    }

    fn store_with(&self, options: HealthOptions) -> HealthStore {
        HealthStore::new(options, self.machine.host()).expect("a store")
    }

    fn path(&self, scope: &HealthScope) -> PathBuf {
        let name = HealthRecord::file_name(&scope.provider, &scope.account);
        self.root.path().join("health").join(name)
    }

    fn text(&self, scope: &HealthScope) -> String {
        std::fs::read_to_string(self.path(scope)).expect("there is a record")
    }

    fn plant(&self, scope: &HealthScope, text: &str) {
        let path = self.path(scope);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("planted");
    }

    /// Every file of the store with its bytes, but for the lock file.
    fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.root.path().join("health")).into_iter().flatten();
        let files = entries.map(|entry| entry.expect("an entry"));
        let named = files.map(|file| (file.file_name().to_string_lossy().into_owned(), file.path()));
        named
            .filter(|(name, _)| name != "health.lock")
            .map(|(name, path)| (name, std::fs::read(path).expect("a file")))
            .collect()
    }
}

fn scope() -> HealthScope {
    HealthScope::new("prov", "acct")
}

fn success() -> ProbeResult {
    ProbeResult::Success { evidence: Value::Null }
}

fn failure() -> ProbeResult {
    let (code, remedy) = ("signed-out".to_owned(), "sign in again".to_owned());
    ProbeResult::Failure { code, remedy, evidence: Value::Null, retry_after_ms: None }
}

fn json_of(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn ex_sch_09_accounts_and_providers_are_independent() {
    let clinic = Clinic::new();
    let store = clinic.store();
    let scopes = [scope(), HealthScope::new("prov", "other"), HealthScope::new("github", "acct")];
    for scope in &scopes {
        store.record(scope, success()).expect("saved");
    }
    assert_eq!(clinic.tree().len(), 3, "a file each");
    let others = [clinic.text(&scopes[1]), clinic.text(&scopes[2])];
    store.record(&scopes[0], failure()).expect("saved");
    let authorised = scopes.each_ref().map(|scope| store.authorize(scope).expect("read"));
    assert_eq!(authorised, [false, true, true]);
    assert_eq!(others, [clinic.text(&scopes[1]), clinic.text(&scopes[2])]);
    let refresh = store.begin(&scopes[1]).expect("begun").expect("it was not under way");
    let scheduled = scopes.each_ref().map(|scope| store.scheduled(scope));
    assert_eq!(scheduled, [false, true, false], "{refresh:?}");
}

#[test]
fn ex_sch_10_a_record_is_a_file_that_is_named_by_the_hash_of_its_scope() {
    let clinic = Clinic::new();
    let store = clinic.store();
    store.record(&scope(), success()).expect("saved");
    // SHA-256 of `["prov","acct"]`.
    let name = "9e9f7de6c432d674077994d2e84e292b4e01305ab68cd7c6e64f072b6979076f.json";
    assert_eq!(clinic.tree().keys().collect::<Vec<_>>(), [name]);
    let wanted = format!(
        "{{\"version\":1,\"provider\":\"prov\",\"account\":\"acct\",\"ok\":true,\"checkedAt\":{NOW},\"nextAttemptAt\":{},\"failures\":0,\"code\":null,\"remedy\":null,\"evidence\":null}}\n",
        NOW + REFRESH_MS
    );
    assert_eq!(clinic.text(&scope()), wanted);
    let mode = std::fs::metadata(clinic.path(&scope())).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);

    // What this package does not know is kept, by results and by a refresh.
    clinic.plant(&scope(), &wanted.replace("}\n", ",\"later\":{\"n\":1e400}}"));
    for keeps in [
        |store: &HealthStore| drop(store.begin(&scope()).expect("begun").expect("not under way")),
        |store: &HealthStore| drop(store.record(&scope(), failure()).expect("saved")),
        |store: &HealthStore| drop(store.record(&scope(), success()).expect("saved")),
    ] {
        let before = clinic.text(&scope());
        keeps(&store);
        assert_ne!(clinic.text(&scope()), before);
        assert!(clinic.text(&scope()).ends_with(",\"later\":{\"n\":1e400}}\n"), "{}", clinic.text(&scope()));
    }
    let empty = store.record(&HealthScope::new("prov", ""), success()).expect_err("no scope");
    assert_eq!(empty.code(), Code::ExecutionInput);
}

#[test]
fn ex_sch_12_a_store_offers_what_a_coordinator_needs_for_a_refresh() {
    let clinic = Clinic::new();
    let wanted = HealthScope::new("prov", "wanted");
    let store = clinic.store_with(HealthOptions { scopes: vec![wanted.clone()], ..clinic.options() });
    assert_eq!(store.due(NOW).expect("read"), std::slice::from_ref(&wanted), "wanted, and never checked");
    assert!(!store.authorize(&wanted).expect("read"));
    assert_eq!(store.health_status(&wanted).expect("read"), None);

    let refresh = store.begin(&wanted).expect("begun").expect("it was not under way");
    assert!(store.begin(&wanted).expect("looked").is_none(), "one at a time");
    assert_eq!(store.due(NOW).expect("read"), [], "it is under way");
    let abort = AbortToken::new();
    let join = |wait_ms| store.join_scheduled(&wanted, Duration::from_millis(wait_ms), &abort);
    assert_eq!(join(5), Joined::UnderWay);
    let saved = std::thread::scope(|threads| {
        let joined = threads.spawn(|| (join(60_000), store.authorize(&wanted).expect("read")));
        let saved = refresh.record(success()).expect("saved");
        // It may have come too late to wait, and never sees less than what is saved.
        let (joined, is_authorised) = joined.join().expect("it waits");
        assert!(matches!(joined, Joined::Over | Joined::NotScheduled) && is_authorised);
        saved
    });
    assert_eq!(store.health_status(&wanted).expect("read"), Some(saved));
    assert_eq!(join(60_000), Joined::NotScheduled);

    assert_eq!(store.due(NOW + REFRESH_MS - 1).expect("read"), []);
    assert_eq!(store.due(NOW + REFRESH_MS).expect("read"), std::slice::from_ref(&wanted));
    let known = clinic.store();
    assert_eq!(
        known.due(NOW + REFRESH_MS).expect("read"),
        std::slice::from_ref(&wanted),
        "by its record alone"
    );
    known.want(scope()).expect("wanted");
    assert_eq!(known.due(NOW).expect("read"), [scope()]);

    // A refresh that is given up is over too: its account stays without authority, and is due at once.
    drop(store.begin(&wanted).expect("begun").expect("not under way"));
    assert!(!store.scheduled(&wanted) && !store.authorize(&wanted).expect("read"));
    assert_eq!(store.due(NOW).expect("read"), std::slice::from_ref(&wanted));
    // A result that comes by another way ends the refresh, and what is left of it ends no later one.
    let late = store.begin(&wanted).expect("begun").expect("not under way");
    store.record(&wanted, success()).expect("saved");
    assert!(!store.scheduled(&wanted));
    let next = store.begin(&wanted).expect("begun").expect("not under way");
    late.record(failure()).expect("saved");
    assert!(store.scheduled(&wanted), "{next:?}");
    abort.abort();
    assert_eq!(join(60_000), Joined::UnderWay, "given up by the caller");
}

#[test]
fn ex_sch_13_authority_ends_before_the_refresh_and_comes_back_with_its_success_only() {
    let clinic = Clinic::new();
    let store = clinic.store();
    let other = clinic.store();
    let authorised = |store: &HealthStore| store.authorize(&scope()).expect("read");
    store.record(&scope(), success()).expect("saved");
    assert!(authorised(&store) && authorised(&other));

    let refresh = store.begin(&scope()).expect("begun").expect("not under way");
    assert!(!authorised(&store) && !authorised(&other), "in every process");
    let refused = store.check("prov", "acct", NOW).expect_err("it is under way");
    assert_eq!(refused.code(), Code::ExecutionHealth);
    assert!(refused.remedy().contains("wait for the result"), "{}", refused.remedy());
    // As long as the refresh waits for a worker or a reply, also where the clock goes back, and after a restart.
    clinic.machine.set_wall_ms(NOW - 1);
    assert!(!authorised(&store));
    clinic.machine.set_wall_ms(NOW + REFRESH_MS / 2);
    assert!(!authorised(&store) && !authorised(&clinic.store()));
    refresh.record(failure()).expect("saved");
    assert!(!authorised(&store) && !authorised(&other));
    let refresh = store.begin(&scope()).expect("begun").expect("not under way");
    refresh.record(success()).expect("saved");
    assert!(authorised(&store) && authorised(&other));

    // What could not end the authority on disk schedules nothing.
    clinic.machine.set_faults(r#"[{"on":"rename","do":"error","errno":"EIO"}]"#).expect("a fault");
    let error = store.begin(&scope()).expect_err("the disk fails");
    assert_eq!(error.code(), Code::ExecutionIo);
    assert!(!store.scheduled(&scope()) && authorised(&store));
}

#[test]
fn ex_sch_14_authorize_and_health_status_write_nothing_and_lock_nothing() {
    let clinic = Clinic::new();
    let store = clinic.store();
    assert!(!store.authorize(&scope()).expect("read"));
    assert_eq!(store.health_status(&scope()).expect("read"), None);
    assert!(!clinic.root.path().join("health").exists(), "not even the directory");

    store.record(&scope(), success()).expect("saved");
    clinic.machine.advance_ms(i64::try_from(REFRESH_MS).expect("it fits"));
    let (before, operations) = (clinic.tree(), clinic.machine.operations().len());
    for store in [store, clinic.store()] {
        assert!(!store.authorize(&scope()).expect("read"), "it is due, and nobody probes");
        assert!(store.health_status(&scope()).expect("read").is_some_and(|record| record.ok));
        assert!(!store.scheduled(&scope()));
        let task = TaskRoot::new();
        let boundary = with_health(&task, &store);
        let status = boundary.health_status().expect("read").expect("it is recorded");
        assert_eq!(status.to_value().to_json() + "\n", clinic.text(&scope()));
        assert!(!task.exists(""), "a read creates no root");
    }
    let made: Vec<_> = clinic.machine.operations().split_off(operations);
    let reads = |operation: &&String| operation.contains(": open") || operation.contains(": read");
    assert!(!made.is_empty() && made.iter().all(|operation| reads(&operation)), "{made:?}");
    assert_eq!(clinic.tree(), before);
}

#[test]
fn ex_sch_15_a_success_counts_for_its_time_and_failures_wait_longer_each() {
    let clinic = Clinic::new();
    let store = clinic.store();
    for (failures, delay) in [(1, 10_000), (2, 20_000), (3, 40_000), (4, 80_000), (5, 160_000), (6, 300_000)]
    {
        let record = store.record(&scope(), failure()).expect("saved");
        assert_eq!((record.ok, record.failures), (false, failures));
        assert_eq!((record.checked_at_ms, record.next_attempt_at_ms), (NOW, NOW + delay), "{failures}");
        assert_eq!(record.code.as_deref(), Some("signed-out"));
        assert_eq!(record.remedy.as_deref(), Some("sign in again"));
        assert_eq!(clinic.store().health_status(&scope()).expect("read"), Some(record));
        assert_eq!(store.due(NOW + delay - 1).expect("read"), []);
        assert_eq!(store.due(NOW + delay).expect("read"), [scope()]);
    }
    let refused = store.check("prov", "acct", NOW).expect_err("it has failed");
    assert_eq!((refused.code(), refused.remedy()), (Code::ExecutionHealth, "sign in again"));
    clinic.machine.set_wall_ms(NOW + 7);
    let record = store.record(&scope(), success()).expect("saved");
    assert_eq!((record.ok, record.failures, record.code, record.remedy), (true, 0, None, None));
    assert_eq!((record.checked_at_ms, record.next_attempt_at_ms), (NOW + 7, NOW + 7 + REFRESH_MS));

    let limits = Limits { health_refresh_ms: 1_000, progress_ms: 2_000, ..Limits::default() };
    let jitter = Some(Arc::new(FixedJitter(0.0)) as _);
    let other = clinic.store_with(HealthOptions { limits, jitter, ..clinic.options() });
    let record = other.record(&scope(), failure()).expect("saved");
    assert_eq!(record.next_attempt_at_ms, NOW + 7 + 1_000, "half of progressMs");
    let asked = r#"{"ok":false,"code":"busy","remedy":"wait","retryAfterMs":70000.5}"#;
    let asked = ProbeResult::from_value(&json_of(asked)).expect("a result");
    assert_eq!(other.record(&scope(), asked).expect("saved").next_attempt_at_ms, NOW + 7 + 70_001);
    let record = other.record(&scope(), success()).expect("saved");
    assert_eq!(record.next_attempt_at_ms, NOW + 7 + 1_000);

    for result in
        [r#"{}"#, r#"{"ok":1}"#, r#"{"ok":false,"code":"x"}"#, r#"{"ok":false,"code":"","remedy":"y"}"#, "[]"]
    {
        let error = ProbeResult::from_value(&json_of(result)).expect_err(result);
        assert_eq!(error.code(), Code::ExecutionInput, "{result}");
    }
}

/// The boundary of a task over a health store.
fn with_health(task: &TaskRoot, store: &HealthStore) -> Boundary {
    let options = ExecutionOptions { health: Some(Arc::new(store.clone())), ..task.options() };
    Boundary::new(options, task.machine.host()).expect("a boundary")
}

#[test]
fn ex_sch_16_health_is_the_last_check_before_the_intent_of_every_dispatch() {
    let submit = |boundary: Boundary, input: &Json| boundary.submit(object(input), AbortToken::new());
    for (task, input) in [
        (TaskRoot::new(), dispatch(1)),
        (TaskRoot::local(), json!({"operationId": "op-1", "prompt": "p", "policy": "safe"})),
    ] {
        let clinic = Clinic::new();
        let store = clinic.store();
        let refused = |_: &TaskRoot| drive_with(&task, &store, |boundary| submit(boundary, &input));
        assert_eq!(task.refused(refused), (Code::ExecutionHealth, None));
        store.record(&scope(), failure()).expect("saved");
        assert_eq!(task.refused(refused), (Code::ExecutionHealth, None));
        assert!(!task.exists("execution.json"), "no intent");
    }

    // Of two broken rules the other one is reported.
    let (task, clinic) = (TaskRoot::new(), Clinic::new());
    let store = clinic.store();
    let too_much = dispatch_with(1, json!({"reservationUsd": 9}));
    let refused = task.refused(|_| drive_with(&task, &store, |boundary| submit(boundary, &too_much)));
    assert_eq!(refused.0, Code::ExecutionAllowance);

    // A continue keeps its run and its words for the retry, which is the same call.
    store.record(&scope(), success()).expect("saved");
    let machine = with_health(&task, &store);
    drive(machine.submit(object(&dispatch(1)), AbortToken::new()), &task, accepts(1)).ok();
    task.settle(1);
    clinic.machine.set_wall_ms(NOW);
    store.record(&scope(), failure()).expect("saved");
    let goes_on = |boundary: Boundary| boundary.continue_run(object(&dispatch(2)), AbortToken::new());
    let refused = task.refused(|_| drive_with(&task, &store, goes_on));
    assert_eq!(refused, (Code::ExecutionHealth, None));
    store.record(&scope(), success()).expect("saved");
    let boundary = with_health(&task, &store);
    let machine = boundary.continue_run(object(&dispatch(2)), AbortToken::new());
    assert_eq!(drive(machine, &task, accepts(2)).ok()["acceptance"], "accepted");
}

/// A machine of a boundary over a store, which makes no call.
fn drive_with(
    task: &TaskRoot,
    store: &HealthStore,
    machine: impl FnOnce(Boundary) -> gallivant_core::execution::Machine,
) -> Ended {
    let boundary = with_health(task, store);
    let machine = machine(boundary.clone());
    drive(machine, task, [])
}

#[test]
fn ex_sch_17_the_coordinator_may_vouch_and_without_anybody_nothing_is_dispatched() {
    let mut task = TaskRoot::new();
    task.options.as_object_mut().expect("an object").remove("health");
    let refused = task.refused(|task| task.submit(dispatch(1), []));
    assert_eq!(refused, (Code::ExecutionHealth, None));
    assert_eq!(task.boundary().health_status().expect("read"), None);
    task.options["health"] = json!("external");
    assert_eq!(task.accepted(1)["acceptance"], "accepted");
    assert_eq!(task.boundary().health_status().expect("read"), None);
}

#[test]
fn ex_sch_18_a_failure_and_a_damaged_record_change_their_own_scope_only() {
    let clinic = Clinic::new();
    let store = clinic.store();
    let [failed, damaged, newer, foreign] =
        ["failed", "damaged", "newer", "foreign"].map(|account| HealthScope::new("prov", account));
    store.record(&scope(), success()).expect("saved");
    store.record(&failed, failure()).expect("saved");
    clinic.plant(&damaged, "{");
    let other_version = clinic.text(&failed).replace("\"version\":1", "\"version\":2");
    clinic.plant(&newer, &other_version);
    clinic.plant(&foreign, &clinic.text(&scope()));

    assert!(store.authorize(&scope()).expect("read"));
    let task = TaskRoot::new();
    let boundary = with_health(&task, &store);
    drive(boundary.submit(object(&dispatch(1)), AbortToken::new()), &task, accepts(1)).ok();
    let refusal = |scope: &HealthScope| {
        let error = store.authorize(scope).expect_err("it cannot be believed");
        (error.code(), error.reason())
    };
    assert_eq!(refusal(&damaged), (Code::ExecutionHealth, Some("shape")));
    assert_eq!(refusal(&foreign), (Code::ExecutionHealth, Some("shape")));
    assert_eq!(refusal(&newer), (Code::ExecutionVersion, Some("health")));

    for scope in [&damaged, &newer, &foreign] {
        store.want(scope.clone()).expect("wanted");
    }
    assert_eq!(
        store.due(NOW + 3_600_000).expect("read"),
        [scope(), damaged.clone(), failed, foreign.clone()]
    );
    // A check that runs anew writes what makes no sense anew, and leaves another package's record as it is.
    for scope in [&damaged, &foreign] {
        let refresh = store.begin(scope).expect("begun").expect("not under way");
        assert_eq!(refresh.record(failure()).expect("saved").failures, 1);
        assert_eq!(store.health_status(scope).expect("read").map(|record| record.failures), Some(1));
    }
    let kept = clinic.tree();
    for error in [
        store.begin(&newer).expect_err("another version"),
        store.record(&newer, success()).expect_err("another version"),
    ] {
        assert_eq!((error.code(), error.reason()), (Code::ExecutionVersion, Some("health")));
    }
    assert!(!store.scheduled(&newer));
    assert_eq!(clinic.tree(), kept, "byte for byte");
}

#[test]
fn ex_sch_19_the_evidence_of_a_check_is_kept_as_it_is() {
    let clinic = Clinic::new();
    let store = clinic.store();
    let evidence = r#"{"sandbox":{"kind":"bwrap","ready":true,"probes":[{"write":"refused"}],"n":12345678901234567890.5},"cli":"2.1"}"#;
    let result = json_of(&format!(r#"{{"ok":true,"evidence":{evidence},"code":"ignored"}}"#));
    store.record(&scope(), ProbeResult::from_value(&result).expect("a result")).expect("saved");
    assert!(
        clinic.text(&scope()).contains(&format!("\"code\":null,\"remedy\":null,\"evidence\":{evidence}}}"))
    );
    let record = clinic.store().health_status(&scope()).expect("read").expect("recorded");
    assert_eq!(record.evidence, json_of(evidence));
    // Also where its authority is ended by a refresh.
    drop(store.begin(&scope()).expect("begun"));
    let record = clinic.store().health_status(&scope()).expect("read").expect("recorded");
    assert_eq!((record.ok, record.evidence), (true, json_of(evidence)));

    let long = ProbeResult::Success { evidence: Value::from("x".repeat(2 << 20)) };
    let kept = clinic.tree();
    assert_eq!(store.record(&scope(), long).expect_err("too long").code(), Code::ExecutionInput);
    assert_eq!(clinic.tree(), kept);
}

#[test]
fn no_secret_stands_in_a_record() {
    let clinic = Clinic::new();
    let store = clinic.store_with(HealthOptions {
        secrets: Secrets::strict(["supplied-word"]).expect("secrets"),
        ..clinic.options()
    });
    let result = r#"{"ok":false,"code":"supplied-word","remedy":"use supplied-word","evidence":{"said":["supplied-word"]}}"#;
    let result = ProbeResult::from_value(&json_of(result)).expect("a result");
    let record = store.record(&scope(), result).expect("saved");
    assert_eq!(record.remedy.as_deref(), Some("use [redacted]"));
    assert!(!clinic.text(&scope()).contains("supplied-word"), "{}", clinic.text(&scope()));
    let success = ProbeResult::Success { evidence: Value::from("supplied-word") };
    store.record(&scope(), success).expect("saved");
    assert!(!clinic.text(&scope()).contains("supplied-word"));
}

#[test]
fn writers_of_one_root_add_to_one_count_and_one_that_cannot_wait_is_told() {
    let clinic = Clinic::new();
    const EACH: u64 = 25;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let store = clinic.store();
                for _ in 0..EACH {
                    store.record(&scope(), failure()).expect("saved");
                }
            });
        }
    });
    let record = clinic.store().health_status(&scope()).expect("read").expect("recorded");
    assert_eq!(record.failures, 4 * EACH);

    let lock = std::fs::File::open(clinic.root.path().join("health").join("health.lock")).expect("the lock");
    lock.lock().expect("locked");
    let limits = Limits { lock_wait_ms: 0, ..Limits::default() };
    let store = clinic.store_with(HealthOptions { limits, ..clinic.options() });
    let kept = clinic.tree();
    assert_eq!(store.record(&scope(), success()).expect_err("held").code(), Code::ExecutionBusy);
    assert_eq!(clinic.tree(), kept);
    assert_eq!(store.due(u64::MAX).expect("read without the lock"), [scope()]);
}

#[test]
fn a_store_belongs_to_the_process_that_opened_it() {
    let clinic = Clinic::new();
    let store = clinic.store();
    store.record(&scope(), success()).expect("saved");
    let refresh = store.begin(&scope()).expect("begun").expect("not under way");
    let kept = clinic.tree();
    let forked =
        |error: Option<gallivant_core::Error>| error.is_some_and(|error| error.reason() == Some("forked"));
    let status = in_forked_child(|| {
        let refused = [
            forked(store.authorize(&scope()).err()),
            forked(store.health_status(&scope()).err()),
            forked(store.due(NOW).err()),
            forked(store.begin(&scope()).err()),
            forked(store.record(&scope(), success()).err()),
            forked(store.check("prov", "acct", NOW).err()),
            forked(store.want(scope()).err()),
            !store.scheduled(&scope()),
            // One of its own works, and knows of no refresh.
            clinic.store().authorize(&scope()).is_ok_and(|is_authorised| !is_authorised),
        ];
        u8::from(refused.contains(&false))
    });
    assert_eq!((status, clinic.tree()), (0, kept));
    refresh.record(success()).expect("the parent's goes on");
    assert!(store.authorize(&scope()).expect("read"));
}
