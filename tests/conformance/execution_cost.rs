//! EX-COST: amounts, charges and what may be dispatched, as far as they are pure functions.

use gallivant_core::execution::cost::{charge, charged, check_dispatch, known_cost};
use gallivant_core::execution::{HardCap, Nanos, Remaining, Round};
use gallivant_core::json::{Number, Value};
use gallivant_core::random::Random;
use gallivant_core::testing::SeededRandom;
use gallivant_core::{Code, Error};

const SEEDS: u64 = 3_000;

/// All seeds, or the one of `GALLIVANT_SEED`.
fn seeds() -> std::ops::RangeInclusive<u64> {
    match std::env::var("GALLIVANT_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("GALLIVANT_SEED is a number");
            seed..=seed
        }
        Err(_) => 1..=SEEDS,
    }
}

fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn usd(text: &str) -> Nanos {
    Nanos::parse(text, Round::Down).unwrap_or_else(|| panic!("{text} is no amount"))
}

/// A remote dispatch.
fn remote(budget: Option<&str>, charged: &str, reservation: Option<&str>) -> Result<Option<Nanos>, Error> {
    let reservation = reservation.map(json);
    check_dispatch(budget.map(usd), usd(charged), reservation.as_ref(), false)
}

fn refused(result: Result<impl std::fmt::Debug, Error>) -> (Code, Option<&'static str>) {
    let error = result.expect_err("a refusal");
    (error.code(), error.reason())
}

#[test]
fn ex_cost_02_what_remains_is_the_budget_without_what_was_charged() {
    for (budget, charged, remaining) in [
        ("8", "0.5", "7.5"),
        ("0.3", "0.1", "0.2"),
        ("1", "1", "0"),
        ("1", "1.000000001", "-0.000000001"),
        ("0.1", "2", "-1.9"),
        ("9000000000", "0.000000001", "8999999999.999999999"),
    ] {
        assert_eq!(Remaining::of(usd(budget), usd(charged)).to_string(), remaining, "{budget} {charged}");
    }
}

#[test]
fn ex_cost_03_a_reservation_above_what_remains_is_refused() {
    assert_eq!(remote(Some("1"), "0.7", Some("0.3")).expect("exactly what remains"), Some(usd("0.3")));
    for (budget, charged, reservation) in [
        ("1", "0.7", "0.300000001"),
        // Rounded up, it is more than what remains by less than a nano-dollar.
        ("1", "0.7", "0.3000000000000000000001"),
        ("1", "1", "0.000000001"),
        ("1", "5", "1"),
    ] {
        let judged = remote(Some(budget), charged, Some(reservation));
        assert_eq!(refused(judged), (Code::ExecutionAllowance, Some("reservation")), "{reservation}");
    }
}

#[test]
fn ex_cost_04_the_charge_is_the_greater_of_reservation_and_cost() {
    for (reservation, cost, wanted) in [
        (Some("0.5"), None, "0.5"),
        (Some("0.5"), Some("0"), "0.5"),
        (Some("0.5"), Some("0.4"), "0.5"),
        (Some("0.5"), Some("0.6"), "0.6"),
        (None, Some("0.6"), "0.6"),
        (None, None, "0"),
    ] {
        assert_eq!(charge(reservation.map(usd), cost.map(usd)), usd(wanted), "{reservation:?} {cost:?}");
    }
}

#[test]
fn ex_cost_08_a_cost_is_a_number_in_range_and_anything_else_changes_nothing() {
    for (text, nanos) in [("0", 0), ("1.5", 1_500_000_000), ("9000000000", Nanos::MAX.nanos()), ("-0.0", 0)] {
        let known = known_cost(None, Some(&json(text))).map(Nanos::nanos);
        assert_eq!(known, Some(nanos), "{text} is a report");
    }
    let invalid =
        ["null", "-1", "-0.0000000001", "\"1\"", "true", "[1]", "{}", "9000000000.1", "1e10", "1e400"];
    for old in [None, Some(usd("2"))] {
        for text in invalid {
            assert_eq!(known_cost(old, Some(&json(text))), old, "{text}");
        }
        assert_eq!(known_cost(old, None), old, "missing");
    }
    assert_eq!(known_cost(Some(usd("2")), Some(&json("1.999999999"))), Some(usd("2")), "a lower one");
    assert_eq!(
        known_cost(Some(usd("2")), Some(&json("2.0000000001"))),
        Some(usd("2.000000001")),
        "a higher one"
    );
}

#[test]
fn ex_cost_09_reports_are_running_totals_and_charge_once() {
    let report = json("0.7");
    let once = known_cost(None, Some(&report));
    let again = known_cost(known_cost(once, Some(&report)), Some(&json("0.70")));
    assert_eq!(again, once);
    let total = |cost| charged(usd("0.5"), [charge(Some(usd("0.5")), cost), charge(Some(usd("0.2")), None)]);
    assert_eq!(total(again), Some(usd("0.9")));
    assert_eq!(total(known_cost(again, Some(&json("0.9")))), Some(usd("1.1")), "a later total replaces it");

    // Whatever is reported, in whatever order: what is known is the highest report, and nothing ever falls.
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let (mut known, mut sum) = (None, Nanos::ZERO);
        let mut highest: Option<u64> = None;
        for _ in 0..12 {
            let nanos = dice.below(4_000_000_000);
            let (text, valid) = match dice.below(4) {
                0 => ("null".to_owned(), None),
                1 => (format!("-{}", nanos + 1), None),
                _ => (format!("{nanos}e-9"), Some(nanos)),
            };
            let before = (known, sum);
            known = known_cost(known, Some(&json(&text)));
            highest = highest.max(valid);
            sum = charged(sum, [charge(Some(usd("1")), known)]).expect("it fits");
            assert!(known >= before.0 && sum >= before.1, "seed {seed}: {text}");
            assert_eq!(known.map(|cost| cost.nanos() as u64), highest, "seed {seed}");
        }
    }
}

#[test]
fn ex_cost_20_amounts_are_read_exactly_and_shown_as_the_shortest_decimal() {
    for (text, up, down) in [
        ("0.3", "0.3", "0.3"),
        ("8", "8", "8"),
        ("8.000", "8", "8"),
        ("0.000000001", "0.000000001", "0.000000001"),
        ("1e-9", "0.000000001", "0.000000001"),
        ("1E-10", "0.000000001", "0"),
        ("0.1000000005", "0.100000001", "0.1"),
        ("25e-1", "2.5", "2.5"),
        ("1.5e3", "1500", "1500"),
        ("0.30000000000000004", "0.300000001", "0.3"),
        ("123456789.123456789", "123456789.123456789", "123456789.123456789"),
        ("8999999999.999999999", "8999999999.999999999", "8999999999.999999999"),
        ("-0", "0", "0"),
        ("-0.00e5", "0", "0"),
    ] {
        for (round, wanted) in [(Round::Up, up), (Round::Down, down)] {
            let amount = Nanos::parse(text, round).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(amount.to_string(), wanted, "{text} {round:?}");
            assert_eq!(amount.to_number().as_str(), wanted, "{text} {round:?}");
            assert_eq!(Value::from(amount), json(wanted));
        }
    }
    let invalid =
        ["-1", "-1e-30", "9000000000.0000000001", "1e10", "1e999", "NaN", "Infinity", "", "1.", "0x1", "1 "];
    for text in invalid {
        for round in [Round::Up, Round::Down] {
            assert_eq!(Nanos::parse(text, round), None, "{text}");
        }
    }
    // No sum is rounded, and what does not fit is told.
    assert_eq!(usd("0.1").checked_add(usd("0.2")), Some(usd("0.3")));
    assert_eq!(charged(Nanos::ZERO, [usd("0.1"); 10]), Some(usd("1")));
    assert_eq!(charged(usd("2"), [usd("0.5"), usd("1.5")]), Some(usd("2")));
    assert_eq!(charged(Nanos::ZERO, [Nanos::MAX, usd("0.000000001")]), None);
    assert_eq!(charged(Nanos::ZERO, [Nanos::MAX; 1_000]), None);
    // A double counts by its shortest decimal form.
    assert_eq!(Nanos::from_f64(0.1 + 0.2, Round::Up), Some(usd("0.300000001")));
    for (double, wanted) in
        [(0.1, "0.1"), (0.3, "0.3"), (1e-9, "0.000000001"), (-0.0, "0"), (4.35, "4.35"), (9e9, "9000000000")]
    {
        for round in [Round::Up, Round::Down] {
            assert_eq!(Nanos::from_f64(double, round), Some(usd(wanted)), "{double}");
        }
    }
    for double in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-9, 9_000_000_000.1, f64::MAX] {
        assert_eq!(Nanos::from_f64(double, Round::Down), None, "{double}");
    }
}

/// Nano-dollars by writing the number out without its exponent, digit by digit: what remains, and whether more follows.
fn written_out(whole: &str, fraction: &str, exponent: i32) -> (u128, bool) {
    let mut point = whole.len() as i32 + exponent;
    let mut digits = format!("{whole}{fraction}");
    if point < 0 {
        digits.insert_str(0, &"0".repeat(point.unsigned_abs() as usize));
        point = 0;
    }
    let before = point as usize + 9;
    if digits.len() < before {
        digits.push_str(&"0".repeat(before - digits.len()));
    }
    let (nanos, rest) = digits.split_at(before);
    (nanos.parse().expect("few digits"), rest.bytes().any(|digit| digit != b'0'))
}

#[test]
fn ex_cost_20_seeded_texts_are_read_as_they_are_written_out() {
    const MOST: u128 = 9_000_000_000_000_000_000;
    let mut amounts = 0;
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let digits = |most: u64| -> String {
            (0..=dice.below(most)).map(|_| char::from(b'0' + dice.below(10) as u8)).collect()
        };
        for _ in 0..20 {
            let whole = digits(11);
            let whole = if dice.below(3) == 0 { "0" } else { whole.trim_start_matches('0') };
            let whole = if whole.is_empty() { "0" } else { whole };
            let fraction = if dice.below(3) == 0 { String::new() } else { digits(14) };
            let exponent = dice.below(25) as i32 - 14;
            let mut text = whole.to_owned();
            if !fraction.is_empty() {
                text = format!("{text}.{fraction}");
            }
            let exponent = if dice.below(2) == 0 { 0 } else { exponent };
            if exponent != 0 {
                text = format!("{text}{}{exponent}", ["e", "E"][dice.below(2) as usize]);
            }
            let (nanos, more) = written_out(whole, &fraction, exponent);
            let is_amount = nanos < MOST || (nanos == MOST && !more);
            let wanted = |round| (nanos + u128::from(more && round == Round::Up)) as i64;
            for round in [Round::Up, Round::Down] {
                let read = Nanos::parse(&text, round);
                assert_eq!(
                    read.map(Nanos::nanos),
                    is_amount.then(|| wanted(round)),
                    "seed {seed}: {text} {round:?}"
                );
                let Some(amount) = read else { continue };
                amounts += 1;
                // What is shown reads back as the same in both roundings, and no shorter text does.
                let shown = amount.to_string();
                assert_eq!(Nanos::parse(&shown, Round::Up), Some(amount), "seed {seed}: {shown}");
                assert_eq!(Nanos::parse(&shown, Round::Down), Some(amount), "seed {seed}: {shown}");
                assert!(!shown.contains(['e', 'E', '+', '-']), "{shown}");
                assert!(!shown.contains('.') || !shown.ends_with(['0', '.']), "{shown}");
                assert!(Number::parse(&shown).is_some(), "{shown} is JSON");
            }
        }
    }
    assert!(amounts > 10, "{amounts} of the texts are amounts");
}

#[test]
fn ex_cost_20_seeded_sums_are_those_of_wide_integers() {
    for seed in seeds() {
        let dice = SeededRandom::new(seed);
        let amount = |_: u64| {
            let nanos = dice.next_u64() >> dice.below(64);
            Nanos::from_nanos((nanos % (Nanos::MAX.nanos() as u64 + 1)) as i64).expect("in range")
        };
        let amounts: Vec<Nanos> = (0..dice.below(6)).map(amount).collect();
        let old = amount(0);
        let sum: i128 = amounts.iter().map(|amount| i128::from(amount.nanos())).sum();
        let wanted = i64::try_from(sum).ok().and_then(Nanos::from_nanos).map(|sum| sum.max(old));
        assert_eq!(charged(old, amounts), wanted, "seed {seed}");
    }
}

#[test]
fn ex_cost_22_nothing_that_is_missing_is_no_limit_and_0_allows_nothing() {
    let cap = |text: Option<&str>, is_required| HardCap::from_input(text.map(json).as_ref(), is_required);
    for text in [None, Some("null")] {
        let none = cap(text, false).expect("no cap");
        none.check_capability(true).expect("no cap is asked for");
        none.check_allowance().expect("no cap limits nothing");
        assert_eq!(none.told(true), None);
        let required = cap(text, true).expect("well formed").check_capability(true);
        assert_eq!(refused(required), (Code::ExecutionCapability, Some("hard-cap")));
    }
    for text in ["0", "-0", "0.0", "1e-10", "0.0000000009"] {
        let zero = cap(Some(text), false).expect("an amount").check_allowance();
        assert_eq!(refused(zero), (Code::ExecutionAllowance, Some("hard-cap")), "{text}");
    }
    for text in ["-1", "\"1\"", "true", "[]", "9000000000.5", "1e400"] {
        assert_eq!(refused(cap(Some(text), false)).0, Code::ExecutionInput, "{text}");
    }
    let enforced = cap(Some("2.5"), true).expect("an amount");
    enforced.check_capability(true).expect("the provider enforces it");
    assert_eq!((enforced.check_allowance().ok(), enforced.told(true)), (Some(()), Some(usd("2.5"))));
    assert_eq!(refused(enforced.check_capability(false)), (Code::ExecutionCapability, Some("hard-cap")));

    // Neither a budget nor a reservation is made up.
    for reservation in [None, Some("null"), Some("0"), Some("-1"), Some("\"1\""), Some("true"), Some("1e10")]
    {
        let judged = remote(Some("8"), "0", reservation);
        assert_eq!(refused(judged), (Code::ExecutionAllowance, Some("reservation")), "{reservation:?}");
    }
    for budget in [None, Some("0"), Some("0.0000000001")] {
        let judged = remote(budget, "0", Some("0.5"));
        assert_eq!(refused(judged), (Code::ExecutionAllowance, Some("budget")), "{budget:?}");
    }
    assert_eq!(remote(Some("8"), "0", Some("1e-10")).expect("rounded up"), Some(usd("0.000000001")));
}
