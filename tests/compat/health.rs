//! The health of providers' accounts.

use std::path::Path;

use gallivant_core::execution::{HealthOptions, HealthScope, HealthStore, ProbeResult};
use gallivant_core::json::Value;
use gallivant_core::testing::TestHost;

use crate::{Domain, every_version};

pub(crate) const DOMAIN: Domain = Domain { folder: "health", write };

fn store(directory: &Path, host: &TestHost) -> HealthStore {
    HealthStore::new(HealthOptions::new(directory), host.host()).expect("a store")
}

fn failure() -> ProbeResult {
    let (code, remedy) = ("signed-out".to_owned(), "sign in again".to_owned());
    ProbeResult::Failure { code, remedy, evidence: Value::Null, retry_after_ms: None }
}

fn write(directory: &Path, host: &TestHost) {
    let store = store(directory, host);
    let seen = ProbeResult::Success { evidence: Value::from("seen") };
    store.record(&HealthScope::new("prov", "good"), seen).expect("saved");
    store.record(&HealthScope::new("prov", "bad"), failure()).expect("saved");
    store.record(&HealthScope::new("prov", "bad"), failure()).expect("saved");
}

#[test]
fn the_health_of_another_release_is_read_and_counted_on() {
    every_version(&DOMAIN, |version, directory, host| {
        let store = store(directory, host);
        let (good, bad) = (HealthScope::new("prov", "good"), HealthScope::new("prov", "bad"));
        let record = store.health_status(&good).expect("read").expect("it stands");
        assert!(record.ok && record.failures == 0, "{version}");
        assert!(!store.authorize(&good).expect("read"), "{version}: an hour is too old");
        let record = store.record(&bad, failure()).expect("saved");
        assert_eq!((record.failures, record.code.as_deref()), (3, Some("signed-out")), "{version}");
        store.record(&good, ProbeResult::Success { evidence: Value::Null }).expect("saved");
        assert!(store.authorize(&good).expect("read"), "{version}");
    });
}
