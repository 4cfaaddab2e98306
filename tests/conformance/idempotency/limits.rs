//! Names, options and sizes, and what no store is there for.

use std::time::Duration;

use gallivant_core::Code;
use gallivant_core::idempotency::{ClaimName, IdempotencyStore, StoreOptions};

use super::world::{BODY, Engine, KEY, OPERATION, SCOPE, World, created, over_every_engine, replayed};

over_every_engine! {
    fn ik_13_keys_are_visible_ascii_and_parts_are_short_texts(world: World) {
        let process = world.process(10);
        let refused = |operation: &str, scope: &[&str], key: &str| {
            process.store.begin(operation, scope, key, BODY).err().map(|error| error.code())
        };
        let long = "k".repeat(255);
        for key in ["!", "~", "a", &long] {
            assert_eq!(refused(OPERATION, SCOPE, key), None, "{key}");
        }
        for key in ["", " ", "a b", "a\n", "\ta", "a\u{0}", "\u{7f}", "é", &"k".repeat(256)] {
            assert_eq!(refused(OPERATION, SCOPE, key), Some(Code::IdempotencyKeyInvalid), "{key:?}");
        }
        // 255 bytes are 85 of these letters; parts may hold anything that is UTF-8.
        let (fits, too_long) = ("€".repeat(85), format!("{}x", "€".repeat(85)));
        assert_eq!(refused(&fits, &[&fits, " \n\u{0}"], KEY), None);
        for (operation, scope) in [
            ("", SCOPE),
            (&*too_long, SCOPE),
            (OPERATION, &[][..]),
            (OPERATION, &["org", ""]),
            (OPERATION, &[&*too_long, "ws"]),
        ] {
            assert_eq!(refused(operation, scope, KEY), Some(Code::IdempotencyScopeInvalid), "{operation} {scope:?}");
        }
        let error = ClaimName::new(OPERATION, SCOPE, "secret key").expect_err("it is refused");
        assert!(!error.message().contains("secret"), "an error shows no key");
    }

    fn ik_14_a_larger_answer_is_refused_before_it_is_written_and_the_reservation_stays(world: World) {
        let (process, other) = (world.process(10), world.process(11));
        let mut held = created(process.begin());
        let answer = vec![7; (1 << 20) + 1];
        let refused = held.complete("r-1", &answer).expect_err("it is too large");
        assert_eq!(refused.code(), Code::IdempotencyAnswerTooLarge);
        assert_eq!(other.state(), "reserved");
        held.complete("r-1", &answer[..1 << 20]).expect("it fits");
        assert_eq!(replayed(other.begin()).answer().map(<[u8]>::len), Some(1 << 20));
    }
}

#[test]
fn ik_14_the_limit_is_an_option() {
    let mut world = World::new(Engine::Sqlite);
    world.options.max_answer_bytes = 3;
    let mut held = created(world.process(10).begin());
    assert_eq!(held.complete("r", b"four").expect_err("too large").code(), Code::IdempotencyAnswerTooLarge);
    held.complete("r", b"thr").expect("it fits");
}

#[test]
fn ik_11_the_window_is_an_option_within_bounds() {
    let host = gallivant_core::Host::system();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("idempotency.db");
    let open = |options: StoreOptions| IdempotencyStore::open(&path, &options, &host).map(drop);
    let window = |window| open(StoreOptions { window, ..StoreOptions::default() });
    let day = Duration::from_secs(86_400);
    for refused in [
        Duration::from_secs(60) - Duration::from_nanos(1),
        30 * day + Duration::from_nanos(1),
        Duration::ZERO,
    ] {
        let error = window(refused).expect_err("out of bounds");
        assert_eq!((error.code(), error.reason()), (Code::IdempotencyInput, Some("window")));
    }
    assert!(!path.exists(), "nothing is made with bad options");
    window(Duration::from_secs(60)).expect("the shortest");
    window(30 * day).expect("the longest");
    let error = open(StoreOptions { max_reservation: Duration::from_secs(59), ..StoreOptions::default() });
    assert_eq!(error.expect_err("out of bounds").reason(), Some("max_reservation"));
    let error = open(StoreOptions { max_answer_bytes: 1 << 30, ..StoreOptions::default() });
    assert_eq!(error.expect_err("out of bounds").reason(), Some("max_answer_bytes"));
}

#[test]
fn a_resource_has_a_name() {
    let process = World::new(Engine::Memory).process(10);
    let mut held = created(process.begin());
    let error = held.complete("", b"").expect_err("it is refused");
    assert_eq!((error.code(), error.reason()), (Code::IdempotencyInput, Some("resource")));
    held.complete("r", b"").expect("it is still held");
}
