//! What every engine has to do for whoever lists its claims and changes nothing (IK-20).

use std::ops::ControlFlow;
use std::time::Duration;

use gallivant_core::idempotency::{ClaimName, ListOptions, Listed, ListedOwner, ListedState, list_claims};
use gallivant_core::process::Liveness;

use super::world::{BODY, OPERATION, Process, SCOPE, World, created, over_every_engine};

/// One claim of a listing, with nothing lent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    digest: Option<[u8; 32]>,
    name: Option<(String, Vec<String>)>,
    state: ListedState,
    owner: Option<ListedOwner>,
    age_ms: Option<u64>,
    resource: Option<String>,
}

fn list(world: &World, process: &Process, asked: &ListOptions) -> (Vec<Row>, Listed) {
    let mut rows = Vec::new();
    let listed = list_claims(&*world.reader(&process.host), asked, &process.host, |claim| {
        rows.push(Row {
            digest: claim.digest.copied(),
            name: claim.operation.map(|operation| (operation.to_owned(), claim.scope.to_vec())),
            state: claim.state,
            owner: claim.owner,
            age_ms: claim.age_ms,
            resource: claim.resource.map(str::to_owned),
        });
        ControlFlow::Continue(())
    })
    .expect("it can be listed");
    (rows, listed)
}

fn words(world: &World, process: &Process, asked: &ListOptions) -> Vec<&'static str> {
    list(world, process, asked).0.iter().map(|row| row.state.word()).collect()
}

over_every_engine! {
    fn ik_20_a_listing_says_of_each_claim_what_stands_and_whose_it_is(world: World) {
        let (first, second) = (world.process(10), world.process(11));
        assert_eq!(list(&world, &first, &ListOptions::default()), (Vec::new(), Listed::default()));
        created(first.begin()).complete("r-1", b"a saved answer").expect("it completes");
        world.pass(Duration::from_secs(60));
        let reserved = created(first.store.begin(OPERATION, &["a/b"], "k-2", BODY).expect("an answer"));
        let mut marked = created(second.store.begin("others.create", SCOPE, "k-3", BODY).expect("an answer"));
        marked.effect_starting().expect("it is marked");
        world.kill(&second, Some(marked));
        world.pass(Duration::from_secs(5));
        let (rows, listed) = list(&world, &first, &ListOptions::default());
        assert_eq!(listed, Listed { claims: 3, has_more: false });
        let digest = |operation, scope: &[&str], key| {
            Some(*ClaimName::new(operation, scope, key).expect("a name").digest())
        };
        let finished = Row {
            digest: digest(OPERATION, SCOPE, super::world::KEY),
            name: Some((OPERATION.to_owned(), vec!["org".to_owned(), "ws".to_owned()])),
            state: ListedState::Finished,
            owner: None,
            age_ms: Some(65_000),
            resource: Some("r-1".to_owned()),
        };
        assert_eq!(rows[0], finished);
        let held = Row {
            digest: digest(OPERATION, &["a/b"], "k-2"),
            name: Some((OPERATION.to_owned(), vec!["a/b".to_owned()])),
            state: ListedState::Reserved,
            owner: Some(ListedOwner { pid: 10, liveness: Liveness::Alive }),
            age_ms: Some(5000),
            resource: None,
        };
        assert_eq!(rows[1], held);
        let lost = Row {
            digest: digest("others.create", SCOPE, "k-3"),
            name: Some(("others.create".to_owned(), vec!["org".to_owned(), "ws".to_owned()])),
            state: ListedState::Marked,
            owner: Some(ListedOwner { pid: 11, liveness: Liveness::Dead }),
            ..held
        };
        assert_eq!(rows[2], lost);
        drop(reserved);
    }

    fn ik_09_a_listing_says_of_an_owner_elsewhere_that_nothing_can_be_told(world: World) {
        let (here, far) = (world.process(10), world.stranger("far", 12));
        let mut held = created(far.begin());
        held.effect_starting().expect("it is marked");
        let (rows, _) = list(&world, &here, &ListOptions::default());
        assert_eq!(rows[0].owner, Some(ListedOwner { pid: 12, liveness: Liveness::Indeterminate }));
        drop(held);
        let (rows, _) = list(&world, &here, &ListOptions::default());
        assert_eq!((rows[0].owner, rows[0].age_ms), (None, None), "it gave it up, and nobody knows when");
        assert_eq!(rows[0].state, ListedState::Marked);
    }

    fn ik_11_a_finished_claim_is_listed_as_expired_from_the_very_end_of_its_window(world: World) {
        let process = world.process(10);
        created(process.begin()).complete("r-1", b"").expect("it completes");
        let window = world.options.window;
        world.pass(window - Duration::from_millis(1));
        assert_eq!(words(&world, &process, &ListOptions::default()), ["finished"]);
        world.pass(Duration::from_millis(1));
        assert_eq!(words(&world, &process, &ListOptions::default()), ["expired"]);
    }

    fn ik_20_a_listing_is_cut_down_to_what_is_asked_for(world: World) {
        let process = world.process(10);
        let begin = |operation, key: &str| process.store.begin(operation, SCOPE, key, BODY).expect("an answer");
        for number in 0..3 {
            created(begin("a.create", &format!("k-{number}"))).complete("r", b"").expect("it completes");
            world.pass(Duration::from_secs(10));
        }
        let held = created(begin("b.create", "k-0"));
        let all = ListOptions::default();
        assert_eq!(words(&world, &process, &all), ["finished", "finished", "finished", "reserved"]);
        let states = vec![ListedState::Reserved, ListedState::Damaged];
        assert_eq!(words(&world, &process, &ListOptions { states, ..all.clone() }), ["reserved"]);
        let operation = Some("b.create".to_owned());
        assert_eq!(words(&world, &process, &ListOptions { operation, ..all.clone() }), ["reserved"]);
        let operation = Some("b".to_owned());
        assert!(words(&world, &process, &ListOptions { operation, ..all.clone() }).is_empty());
        for (seconds, expected) in [(0, 4), (10, 3), (20, 2), (21, 1), (30, 1), (31, 0)] {
            let older_than = Some(Duration::from_secs(seconds));
            let found = words(&world, &process, &ListOptions { older_than, ..all.clone() });
            assert_eq!(found.len(), expected, "at least {seconds} s old");
        }
        for (limit, claims, has_more) in [(0, 0, true), (3, 3, true), (4, 4, false), (9, 4, false)] {
            let asked = ListOptions { limit: Some(limit), ..all.clone() };
            assert_eq!(list(&world, &process, &asked).1, Listed { claims, has_more });
        }
        drop(held);
    }

    /// More than a page of any engine.
    fn ik_17_a_listing_of_many_pages_has_each_claim_once_and_may_be_broken_off(world: World) {
        let process = world.process(10);
        let keys = 1100;
        for number in 0..keys {
            let key = format!("k-{number}");
            std::mem::forget(process.store.begin(OPERATION, SCOPE, &key, BODY).expect("an answer"));
        }
        let (rows, listed) = list(&world, &process, &ListOptions::default());
        let expected = (0..keys).map(|number| {
            Some(*ClaimName::new(OPERATION, SCOPE, &format!("k-{number}")).expect("a name").digest())
        });
        assert!(rows.iter().map(|row| row.digest).eq(expected), "in the order in which they were made");
        assert_eq!(listed.claims, keys);
        let mut seen = 0;
        let reader = world.reader(&process.host);
        list_claims(&*reader, &ListOptions::default(), &process.host, |_| {
            seen += 1;
            if seen == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .expect("it can be listed");
        assert_eq!(seen, 7);
    }
}
