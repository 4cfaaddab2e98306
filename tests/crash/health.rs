//! Health records: a crash, and a failure, at every operation of a refresh and of its result.

use gallivant_core::execution::{HealthOptions, HealthRecord, HealthScope, HealthStore, ProbeResult};
use gallivant_core::json::Value;
use gallivant_core::testing::{
    Action, Errno, Fault, FaultyFileSystem, OperationKind, Point, Simulation, simulated_host,
};
use gallivant_core::{Code, Result};

const ROOT: &str = "/home/health";

/// What is done to the record of an account that may be dispatched to, or to that of one that was never checked.
struct Scenario {
    name: &'static str,
    prepare: fn(&HealthStore) -> Result<()>,
    call: fn(&HealthStore) -> Result<()>,
    /// Whether the account may be dispatched to after the preparation, and after the call.
    authorised: [bool; 2],
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "the first success", prepare: |_| Ok(()), call: succeed, authorised: [false, true] },
    Scenario { name: "the first failure", prepare: |_| Ok(()), call: fail, authorised: [false, false] },
    Scenario { name: "a refresh", prepare: succeed, call: begin, authorised: [true, false] },
    Scenario { name: "a failure after a refresh", prepare: refresh, call: fail, authorised: [false, false] },
    Scenario {
        name: "a success after a refresh",
        prepare: refresh,
        call: succeed,
        authorised: [false, true],
    },
];

fn scope() -> HealthScope {
    HealthScope::new("prov", "acct")
}

fn succeed(store: &HealthStore) -> Result<()> {
    store.record(&scope(), ProbeResult::Success { evidence: Value::from("seen") }).map(drop)
}

fn fail(store: &HealthStore) -> Result<()> {
    let (code, remedy) = ("signed-out".to_owned(), "sign in again".to_owned());
    let failure = ProbeResult::Failure { code, remedy, evidence: Value::Null, retry_after_ms: None };
    store.record(&scope(), failure).map(drop)
}

fn begin(store: &HealthStore) -> Result<()> {
    store.begin(&scope()).map(drop)
}

fn refresh(store: &HealthStore) -> Result<()> {
    succeed(store)?;
    begin(store)
}

fn store(machine: &Simulation) -> HealthStore {
    HealthStore::new(HealthOptions::new(ROOT), &machine.host()).expect("a store")
}

/// A process on a machine on which the scenario's past is durable.
fn prepared(scenario: &Scenario) -> Simulation {
    let (_, machine) = simulated_host(7);
    machine.files.plant_directory("/home").expect("planted");
    (scenario.prepare)(&store(&machine)).expect(scenario.name);
    machine.files.sync_everything();
    machine.another_process()
}

fn bytes(files: &FaultyFileSystem) -> Option<Vec<u8>> {
    files.contents(format!("{ROOT}/{}", HealthRecord::file_name("prov", "acct"))).ok()
}

/// The operations of the call when nothing fails, and the record before and after it.
fn undisturbed(scenario: &Scenario) -> (Vec<OperationKind>, [Option<Vec<u8>>; 2]) {
    let machine = prepared(scenario);
    let before = bytes(&machine.files);
    let opened = store(&machine);
    assert_eq!(opened.authorize(&scope()).expect("read"), scenario.authorised[0], "{}", scenario.name);
    let machine = prepared(scenario);
    let opened = store(&machine);
    (scenario.call)(&opened).expect(scenario.name);
    let operations = machine.files.operations().iter().map(|operation| operation.kind).collect();
    assert_eq!(opened.authorize(&scope()).expect("read"), scenario.authorised[1], "{}", scenario.name);
    (operations, [before, bytes(&machine.files)])
}

/// What another process finds: the old record or the new one, whole, with the authority that it had; and a check that runs anew
/// ends well.
fn assert_goes_on(scenario: &Scenario, machine: &Simulation, whole: &[Option<Vec<u8>>; 2], at: &str) {
    let found = bytes(&machine.files);
    let which = whole.iter().position(|whole| *whole == found);
    let which = which.unwrap_or_else(|| panic!("{at}: neither the old nor the new record: {found:?}"));
    let next = store(machine);
    let is_authorised = next.authorize(&scope()).unwrap_or_else(|error| panic!("{at}: {error}"));
    // Two records of the same bytes have the same authority, so the first of them serves.
    assert_eq!(is_authorised, scenario.authorised[which], "{at}");
    assert!(!next.scheduled(&scope()), "{at}: a refresh has outlived its process");
    let refresh = next.begin(&scope()).unwrap_or_else(|error| panic!("{at}: {error}"));
    let refresh = refresh.unwrap_or_else(|| panic!("{at}: it is under way"));
    assert!(!next.authorize(&scope()).expect("read"), "{at}");
    refresh.record(ProbeResult::Success { evidence: Value::Null }).expect("saved");
    assert!(next.authorize(&scope()).expect("read"), "{at}");
}

#[test]
fn ex_sch_13_no_crash_at_any_operation_gives_authority_that_was_ended() {
    let (mut points, mut images) = (0, 0);
    for scenario in SCENARIOS {
        let (operations, whole) = undisturbed(scenario);
        for number in 1..=operations.len() as u64 {
            // After an operation is before the next one.
            let at = format!("{}, operation {number}", scenario.name);
            let crashing = prepared(scenario);
            crashing.files.set_faults([Fault::crash_after(number)]);
            (scenario.call)(&store(&crashing)).expect_err("it has crashed");
            points += 1;
            for image in crashing.files.images_after_crash().seeded(number, 2) {
                images += 1;
                let at = format!("{at}, {}", image.description);
                assert_goes_on(scenario, &crashing.rebooted(&image.files), &whole, &at);
            }
            assert_goes_on(scenario, &crashing.another_process(), &whole, &at);
        }
        // What has returned is there after a crash of the machine.
        let machine = prepared(scenario);
        (scenario.call)(&store(&machine)).expect(scenario.name);
        for image in machine.files.images_after_crash().seeded(1, 16) {
            assert_eq!(bytes(&image.files), whole[1], "{}, {}", scenario.name, image.description);
        }
    }
    assert!(points > 50 && images > 200, "only {points} points and {images} images");
}

#[test]
fn ex_sch_15_an_operation_that_fails_leaves_the_old_record_or_the_new_one() {
    let mut failed = 0;
    for scenario in SCENARIOS {
        let (operations, whole) = undisturbed(scenario);
        for (number, kind) in (1..).zip(operations) {
            let short = kind.writes_bytes().then_some(Action::Short { bytes: 17, errno: Errno::ENOSPC });
            for action in [Action::Error(Errno::EIO)].into_iter().chain(short) {
                let Ok(fault) = Fault::new(Point::at(number), action) else { continue };
                let at = format!("{}, operation {number}, {action:?}", scenario.name);
                let machine = prepared(scenario);
                machine.files.set_faults([fault]);
                let opened = store(&machine);
                if let Err(error) = (scenario.call)(&opened) {
                    failed += 1;
                    assert_eq!(error.code(), Code::ExecutionIo, "{at}: {error}");
                    assert!(!opened.scheduled(&scope()), "{at}");
                }
                machine.files.set_faults([]);
                assert_goes_on(scenario, &machine, &whole, &at);
            }
        }
    }
    assert!(failed > 50, "only {failed} calls failed");
}
