//! What is charged, and what may be dispatched for it (EX-COST): pure functions over amounts.
//!
//! An unknown cost is no amount and stays so. It counts as 0 in one comparison only, in [`charge`].

use super::money::{Nanos, Remaining, Round};
use crate::error::{Code, Error, Result};
use crate::json::Value;

/// An intake turn may reserve one part in so many of the budget (EX-PRE-17).
pub const INTAKE_SHARES: i64 = 16;

/// What an operation is charged with: the greater of what was reserved for it and of what it is known to have cost
/// (EX-COST-04). A reservation is therefore never released (EX-COST-06).
#[must_use]
pub fn charge(reservation: Option<Nanos>, cost: Option<Nanos>) -> Nanos {
    reservation.unwrap_or_default().max(cost.unwrap_or_default())
}

/// What a ledger is charged with: the greater of what it was before and of the sum of all charges (EX-COST-05). None
/// where the sum is no amount any more (EX-COST-20).
#[must_use]
pub fn charged(old: Nanos, charges: impl IntoIterator<Item = Nanos>) -> Option<Nanos> {
    charges.into_iter().try_fold(Nanos::ZERO, Nanos::checked_add).map(|sum| sum.max(old))
}

/// The cost that is known of a run after a report: the highest one so far (EX-COST-07). A report that is missing, null,
/// no number, out of range or lower changes nothing; 0 is a report (EX-COST-08). Reports are running totals, so the same
/// one again changes nothing either (EX-COST-09).
#[must_use]
pub fn known_cost(old: Option<Nanos>, reported: Option<&Value>) -> Option<Nanos> {
    old.max(reported.and_then(|value| Nanos::from_value(value, Round::Up)))
}

/// What an intake turn reserves: a share of the budget, or what remains where that is less (EX-PRE-17). None where
/// nothing is left to reserve.
#[must_use]
pub fn intake_reservation(budget: Nanos, remaining: Remaining) -> Option<Nanos> {
    Nanos::from_nanos((budget.nanos() / INTAKE_SHARES).min(remaining.nanos()))
        .filter(|share| !share.is_zero())
}

/// The reservation of an intake turn, or its refusal.
///
/// # Errors
/// `EXECUTION_ALLOWANCE` with reason `budget` where there is no budget, or nothing to reserve.
pub fn check_intake(budget: Option<Nanos>, charged: Nanos) -> Result<Nanos> {
    let budget = usable(budget)?;
    let remaining = Remaining::of(budget, charged);
    intake_reservation(budget, remaining).ok_or_else(|| exhausted(budget, remaining))
}

/// Judges the allowance of a dispatch and gives its reservation.
///
/// `budget` is the ledger's, and none where there is none, or no valid one. A remote dispatch needs a budget and a
/// reservation (EX-COST-01). A local one needs neither; where it gives a reservation, that is judged in the same way
/// (EX-COST-14), and where there is a budget, it must not be exhausted (EX-COST-15). Nothing that is missing is read as 0
/// or as no limit (EX-COST-22).
///
/// # Errors
/// `EXECUTION_ALLOWANCE`. Reason `budget`: there is none that is valid and above 0, or it is exhausted. Reason
/// `reservation`: it is missing, invalid or 0, or greater than what remains (EX-COST-03).
pub fn check_dispatch(
    budget: Option<Nanos>,
    charged: Nanos,
    reservation: Option<&Value>,
    is_local: bool,
) -> Result<Option<Nanos>> {
    let given = reservation.filter(|value| !value.is_null());
    if is_local && given.is_none() {
        return match budget.map(|budget| (budget, Remaining::of(budget, charged))) {
            Some((budget, remaining)) if remaining.is_exhausted() => Err(exhausted(budget, remaining)),
            Some(_) | None => Ok(None),
        };
    }
    let budget = usable(budget)?;
    let reservation = given
        .and_then(|value| Nanos::from_value(value, Round::Up))
        .filter(|amount| !amount.is_zero())
        .ok_or_else(|| refused("reservation", "a dispatch needs reservationUsd, a number above 0"))?;
    let remaining = Remaining::of(budget, charged);
    if !remaining.covers(reservation) {
        let message = format!(
            "the reservation is greater than what remains of the budget, reservation=`{reservation}` \
             remaining=`{remaining}`"
        );
        return Err(refused("reservation", message));
    }
    Ok(Some(reservation))
}

/// Judges the budget that a boundary was opened with by the one that the ledger's first intent has set (EX-COST-17). Not
/// for a ledger without an intent, which has none yet.
///
/// # Errors
/// `EXECUTION_CONFLICT` with reason `budget` where they are two.
pub fn check_budget(saved: Option<Nanos>, given: Option<Nanos>) -> Result<()> {
    if saved == given {
        return Ok(());
    }
    let shown = |budget: Option<Nanos>| budget.map_or_else(|| "none".to_owned(), |budget| budget.to_string());
    let message = format!(
        "the budget is another one than that of the first dispatch, given=`{}` saved=`{}`",
        shown(given),
        shown(saved)
    );
    let error = Error::new(Code::ExecutionConflict, message).with_reason("budget");
    Err(error.with_remedy("open the task with the budget that its ledger shows; a new budget is a new task"))
}

/// The most that a provider is asked to let one dispatch cost, as the caller gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardCap {
    cap: Option<Nanos>,
    is_required: bool,
}

impl HardCap {
    /// `hardCapUsd` and `hardCapRequired` of a dispatch. Only a missing one and null mean that there is no cap
    /// (EX-COST-22).
    ///
    /// # Errors
    /// `EXECUTION_INPUT` for a cap that is no amount.
    pub fn from_input(cap: Option<&Value>, is_required: bool) -> Result<HardCap> {
        let read = |value| {
            Nanos::from_value(value, Round::Down).ok_or_else(|| {
                Error::new(Code::ExecutionInput, "hardCapUsd is no number from 0 to 9000000000")
            })
        };
        let cap = cap.filter(|value| !value.is_null()).map(read).transpose()?;
        Ok(HardCap { cap, is_required })
    }

    /// Judges it by the capability record, of which `is_enforced` is `cost.hardCap`.
    ///
    /// # Errors
    /// `EXECUTION_CAPABILITY` with reason `hard-cap` where a cap is required and the provider enforces none
    /// (EX-CAP-21), or none was given (EX-COST-22).
    pub fn check_capability(&self, is_enforced: bool) -> Result<()> {
        let message = match (self.is_required, is_enforced, self.cap) {
            (true, false, _) => "hardCapRequired is true and the provider enforces no cap",
            (true, true, None) => "hardCapRequired is true and hardCapUsd is missing",
            (false, ..) | (true, true, Some(_)) => return Ok(()),
        };
        Err(Error::new(Code::ExecutionCapability, message).with_reason("hard-cap"))
    }

    /// Judges the amount.
    ///
    /// # Errors
    /// `EXECUTION_ALLOWANCE` with reason `hard-cap` for a cap of 0, which allows nothing (EX-COST-22).
    pub fn check_allowance(&self) -> Result<()> {
        match self.cap {
            Some(Nanos::ZERO) => Err(refused("hard-cap", "a hardCapUsd of 0 allows nothing")),
            Some(_) | None => Ok(()),
        }
    }

    /// What the transport is told (EX-CAP-22): the cap, where the provider enforces one and one was given.
    #[must_use]
    pub fn told(&self, is_enforced: bool) -> Option<Nanos> {
        self.cap.filter(|_| is_enforced)
    }
}

fn usable(budget: Option<Nanos>) -> Result<Nanos> {
    budget
        .filter(|budget| !budget.is_zero())
        .ok_or_else(|| refused("budget", "a dispatch needs budgetUsd, a number above 0"))
}

fn exhausted(budget: Nanos, remaining: Remaining) -> Error {
    let message =
        format!("too little of the budget is left to dispatch, budget=`{budget}` remaining=`{remaining}`");
    refused("budget", message)
}

fn refused(reason: &'static str, message: impl Into<String>) -> Error {
    Error::new(Code::ExecutionAllowance, message).with_reason(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Nanos {
        Nanos::parse(text, Round::Down).expect("an amount")
    }

    fn json(text: &str) -> Value {
        Value::parse(text).expect("JSON")
    }

    #[test]
    fn an_intake_turn_reserves_a_sixteenth_or_what_is_left() {
        for (budget, remaining, share) in [
            ("8", "8", Some("0.5")),
            ("8", "0.3", Some("0.3")),
            ("8", "0.5", Some("0.5")),
            ("0.000000031", "1", Some("0.000000001")),
            ("0.000000015", "1", None),
            ("8", "0", None),
            ("8", "-0.000000001", None),
            ("0", "1", None),
        ] {
            let remaining = Remaining::parse(remaining).expect("an amount");
            assert_eq!(intake_reservation(usd(budget), remaining), share.map(usd), "{budget} {remaining}");
        }
        assert_eq!(check_intake(Some(usd("16")), usd("15.5")).expect("left"), usd("0.5"));
        for (budget, charged) in [(None, "0"), (Some("0"), "0"), (Some("16"), "16"), (Some("16"), "20")] {
            let error = check_intake(budget.map(usd), usd(charged)).expect_err("nothing is left");
            assert_eq!((error.code(), error.reason()), (Code::ExecutionAllowance, Some("budget")));
        }
    }

    #[test]
    fn a_budget_is_the_one_of_the_first_intent() {
        assert!(check_budget(Some(usd("8")), Some(usd("8.0"))).is_ok());
        assert!(check_budget(None, None).is_ok());
        for (saved, given) in [(Some("8"), Some("9")), (Some("8"), None), (None, Some("8"))] {
            let error = check_budget(saved.map(usd), given.map(usd)).expect_err("two budgets");
            assert_eq!((error.code(), error.reason()), (Code::ExecutionConflict, Some("budget")));
        }
    }

    #[test]
    fn a_local_dispatch_needs_no_reservation_and_is_judged_by_the_one_it_gives() {
        let judged = |budget: Option<&str>, charged, reservation: &str| {
            check_dispatch(budget.map(usd), usd(charged), Some(&json(reservation)), true)
        };
        assert_eq!(check_dispatch(None, Nanos::ZERO, None, true).expect("local"), None);
        assert_eq!(judged(Some("1"), "0.9", "null").expect("local"), None);
        assert_eq!(judged(Some("1"), "0.9", "0.1").expect("covered"), Some(usd("0.1")));
        for (budget, charged, reservation, reason) in [
            (Some("1"), "0.9", "0.2", "reservation"),
            (Some("1"), "0", "0", "reservation"),
            (Some("1"), "0", "\"1\"", "reservation"),
            (None, "0", "0.2", "budget"),
            (Some("1"), "1", "null", "budget"),
        ] {
            let error = judged(budget, charged, reservation).expect_err(reservation);
            assert_eq!((error.code(), error.reason()), (Code::ExecutionAllowance, Some(reason)));
        }
    }

    #[test]
    fn a_cap_is_told_only_to_who_enforces_it() {
        let cap = HardCap::from_input(Some(&json("1.0000000009")), false).expect("an amount");
        assert_eq!((cap.told(true), cap.told(false)), (Some(usd("1")), None));
        assert_eq!(HardCap::from_input(None, false).expect("none").told(true), None);
    }
}
