//! Money: amounts of nano-dollars, read from decimal digits and written as such (EX-COST-20, EX-COST-21).
//!
//! Nothing here passes through a binary floating-point number. A number of JSON counts by the digits it was written with,
//! however many they are and whatever its exponent is; the work is bounded by the length of its text.

use std::fmt;

use crate::json::{Number, Value};

/// Nano-dollars of one US dollar (EX-COST-20).
const NANOS_OF_A_DOLLAR: i64 = 1_000_000_000;

/// Digits of a dollar behind its point.
const DIGITS: i64 = 9;

/// An exponent beyond this says as much as this one: no text in memory has so many digits.
const LARGEST_EXPONENT: i64 = 1 << 56;

/// What becomes of the part of an amount that is less than a nano-dollar (EX-COST-20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    /// The next nano-dollar above: reported costs and reservations.
    Up,
    /// The next one below: budgets, caps, shares and what remains.
    Down,
}

impl Round {
    /// The rounding with this word, `up` or `down`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Round> {
        match word {
            "up" => Some(Round::Up),
            "down" => Some(Round::Down),
            _ => None,
        }
    }
}

/// An amount of US dollars in nano-dollars, from 0 to [`Nanos::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(i64);

impl Nanos {
    /// Nothing. It is an amount; what is unknown is no amount (EX-CAP-20).
    pub const ZERO: Nanos = Nanos(0);

    /// 9,000,000,000 US dollars, the most that an amount may be (EX-COST-20). It fits 64 bits.
    pub const MAX: Nanos = Nanos(9_000_000_000 * NANOS_OF_A_DOLLAR);

    /// So many nano-dollars; none for less than 0 and more than [`Nanos::MAX`].
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Option<Nanos> {
        if nanos >= 0 && nanos <= Nanos::MAX.0 { Some(Nanos(nanos)) } else { None }
    }

    /// The amount of US dollars that the text of a JSON number says, in any form of it. None for a text that is no JSON
    /// number, for less than 0 and for more than [`Nanos::MAX`], by however little; `-0` is 0.
    #[must_use]
    pub fn parse(text: &str, round: Round) -> Option<Nanos> {
        Nanos::from_number(&Number::parse(text)?, round)
    }

    /// As [`Nanos::parse`], of a number that was read.
    #[must_use]
    pub fn from_number(number: &Number, round: Round) -> Option<Nanos> {
        let decimal = Decimal::read(number.as_str())?;
        let is_zero = decimal.floor == 0 && !decimal.has_rest;
        if decimal.is_negative && !is_zero { None } else { Some(Nanos(decimal.magnitude(round))) }
    }

    /// As [`Nanos::from_number`]; none for a value that is no number.
    #[must_use]
    pub fn from_value(value: &Value, round: Round) -> Option<Nanos> {
        Nanos::from_number(value.as_number()?, round)
    }

    /// The amount of a binary floating-point number of a host language, by its shortest decimal form: `0.1` is a tenth
    /// exactly. None for NaN and infinities too.
    #[must_use]
    pub fn from_f64(dollars: f64, round: Round) -> Option<Nanos> {
        Nanos::from_number(&Number::from_f64(dollars)?, round)
    }

    /// The nano-dollars.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whether it is nothing.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The exact sum; none where it is no amount any more.
    #[must_use]
    pub fn checked_add(self, other: Nanos) -> Option<Nanos> {
        self.0.checked_add(other.0).and_then(Nanos::from_nanos)
    }

    /// The exact difference; none where it is less than 0.
    #[must_use]
    pub fn checked_sub(self, other: Nanos) -> Option<Nanos> {
        Nanos::from_nanos(self.0 - other.0)
    }

    /// The number that JSON shows: dollars, the shortest decimal without exponent and without needless zeros.
    #[must_use]
    pub fn to_number(self) -> Number {
        Number::from_json(self.to_string())
    }
}

/// Dollars, as [`Nanos::to_number`].
impl fmt::Display for Nanos {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dollars(self.0, out)
    }
}

impl From<Nanos> for Value {
    fn from(amount: Nanos) -> Self {
        Value::Number(amount.to_number())
    }
}

/// What is left of a budget, in nano-dollars: less than 0 where more was used than was allowed (EX-COST-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Remaining(i64);

impl Remaining {
    /// What is left of `budget` once `charged` is charged (EX-COST-02).
    #[must_use]
    pub fn of(budget: Nanos, charged: Nanos) -> Remaining {
        // Both are from 0 to less than 2^63.
        Remaining(budget.0 - charged.0)
    }

    /// As [`Nanos::parse`] rounded down, with amounts below 0 too: those go away from 0.
    #[must_use]
    pub fn parse(text: &str) -> Option<Remaining> {
        Remaining::from_number(&Number::parse(text)?)
    }

    /// As [`Remaining::parse`], of a number that was read.
    #[must_use]
    pub fn from_number(number: &Number) -> Option<Remaining> {
        let decimal = Decimal::read(number.as_str())?;
        Some(Remaining(match decimal.is_negative {
            true => -decimal.magnitude(Round::Up),
            false => decimal.magnitude(Round::Down),
        }))
    }

    /// The nano-dollars.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whether nothing is left (EX-COST-15).
    #[must_use]
    pub const fn is_exhausted(self) -> bool {
        self.0 <= 0
    }

    /// Whether as much as this is left.
    #[must_use]
    pub const fn covers(self, amount: Nanos) -> bool {
        self.0 >= amount.0
    }

    /// As [`Nanos::to_number`], with a sign where it is less than 0.
    #[must_use]
    pub fn to_number(self) -> Number {
        Number::from_json(self.to_string())
    }
}

/// Dollars, as [`Remaining::to_number`].
impl fmt::Display for Remaining {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dollars(self.0, out)
    }
}

impl From<Remaining> for Value {
    fn from(remaining: Remaining) -> Self {
        Value::Number(remaining.to_number())
    }
}

fn write_dollars(nanos: i64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whole, fraction) = (nanos / NANOS_OF_A_DOLLAR, (nanos % NANOS_OF_A_DOLLAR).abs());
    // The whole of -0.3 is 0, which has no sign of its own.
    let sign = if nanos < 0 { "-" } else { "" };
    write!(out, "{sign}{}", whole.abs())?;
    if fraction > 0 {
        let digits = format!("{fraction:09}");
        write!(out, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

/// The text of a JSON number as nano-dollars, without a loss: whole ones of its magnitude, and whether there is more.
struct Decimal {
    is_negative: bool,
    /// At most [`Nanos::MAX`], and less than that where there is a rest.
    floor: i64,
    has_rest: bool,
}

impl Decimal {
    /// None where the magnitude is above [`Nanos::MAX`]. `text` is a JSON number.
    fn read(text: &str) -> Option<Decimal> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |magnitude| (true, magnitude));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut left = i64::try_from(whole.len()).ok()? + exponent_of(exponent) + DIGITS;
        let (mut floor, mut has_rest) = (0_i64, false);
        for digit in whole.bytes().chain(fraction.bytes()).map(|digit| i64::from(digit - b'0')) {
            if left > 0 {
                floor = shifted(floor, digit)?;
                left -= 1;
            } else {
                has_rest |= digit > 0;
            }
        }
        // Digits that the text leaves out are zeros, and an amount above 0 bears 18 of them at most.
        while left > 0 && floor > 0 {
            floor = shifted(floor, 0)?;
            left -= 1;
        }
        let is_above = floor == Nanos::MAX.0 && has_rest;
        (!is_above).then_some(Decimal { is_negative, floor, has_rest })
    }

    /// The magnitude in whole nano-dollars, rounded to or away from 0.
    fn magnitude(&self, round: Round) -> i64 {
        self.floor + i64::from(self.has_rest && round == Round::Up)
    }
}

/// One digit more; none above [`Nanos::MAX`].
fn shifted(floor: i64, digit: i64) -> Option<i64> {
    floor.checked_mul(10)?.checked_add(digit).filter(|nanos| *nanos <= Nanos::MAX.0)
}

/// The exponent's own value, or as much as [`LARGEST_EXPONENT`] of it.
fn exponent_of(text: &str) -> i64 {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude =
        digits.bytes().fold(0_i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(LARGEST_EXPONENT));
    if is_negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(text: &str) -> Option<i64> {
        Nanos::parse(text, Round::Up).map(Nanos::nanos)
    }

    fn down(text: &str) -> Option<i64> {
        Nanos::parse(text, Round::Down).map(Nanos::nanos)
    }

    #[test]
    fn exponents_cost_nothing_and_long_texts_are_read_once() {
        for text in ["1e-999999999", "1e-99999999999999999999999999", "0.1E-18446744073709551616"] {
            assert_eq!((up(text), down(text)), (Some(1), Some(0)), "{text}");
        }
        for text in ["1e999999999", "1e99999999999999999999999999", "0.001e+9223372036854775807"] {
            assert_eq!((up(text), down(text)), (None, None), "{text}");
        }
        for text in ["0e999999999", "0.000e99999999999999999999", "-0e-99999999999999999999"] {
            assert_eq!((up(text), down(text)), (Some(0), Some(0)), "{text}");
        }
        let million = "0".repeat(1_000_000);
        // A point that the exponent moves back over all zeros.
        assert_eq!(down(&format!("0.{million}3e1000000")), Some(300_000_000));
        assert_eq!(down(&format!("25{million}e-1000001")), Some(2_500_000_000));
        assert_eq!((up(&format!("0.{million}1")), down(&format!("0.{million}1"))), (Some(1), Some(0)));
    }

    #[test]
    fn the_bound_is_exact_in_every_form_and_rounding() {
        let most = Nanos::MAX.nanos();
        for text in ["9000000000", "9e9", "9.000000000000000e+9", "0.9e10", "90000000000000e-4"] {
            assert_eq!((up(text), down(text)), (Some(most), Some(most)), "{text}");
        }
        for text in
            ["9000000000.0000000001", "9000000000.000000001", "9000000001", "9.0000000000000000000001e9"]
        {
            assert_eq!((up(text), down(text)), (None, None), "{text}");
        }
        assert_eq!(up("8999999999.9999999999"), Some(most), "rounding may reach the bound");
        assert_eq!(Nanos::from_nanos(most), Some(Nanos::MAX));
        for nanos in [most + 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(Nanos::from_nanos(nanos), None, "{nanos}");
        }
    }

    #[test]
    fn sums_and_differences_never_leave_what_is_an_amount() {
        let one = Nanos(1);
        assert_eq!(Nanos::MAX.checked_add(Nanos::ZERO), Some(Nanos::MAX));
        assert_eq!(Nanos::MAX.checked_add(one), None);
        assert_eq!(Nanos::MAX.checked_add(Nanos::MAX), None);
        assert_eq!(one.checked_sub(one), Some(Nanos::ZERO));
        assert_eq!(Nanos::ZERO.checked_sub(one), None);
        assert_eq!(Remaining::of(Nanos::ZERO, Nanos::MAX).to_string(), "-9000000000");
        assert_eq!(Remaining::of(Nanos::MAX, Nanos::ZERO).to_string(), "9000000000");
    }

    #[test]
    fn what_remains_is_read_with_its_sign_and_rounded_down() {
        for (text, nanos, shown) in [
            ("-0.3", -300_000_000, "-0.3"),
            ("-1e-9", -1, "-0.000000001"),
            ("-1e-10", -1, "-0.000000001"),
            ("-2.5000000001", -2_500_000_001, "-2.500000001"),
            ("1.9999999999", 1_999_999_999, "1.999999999"),
            ("-0", 0, "0"),
        ] {
            let remaining = Remaining::parse(text).expect(text);
            assert_eq!((remaining.nanos(), remaining.to_string().as_str()), (nanos, shown), "{text}");
            assert_eq!(Remaining::from_number(&remaining.to_number()), Some(remaining));
        }
        for text in ["-9000000000.1", "9e10", "NaN", ""] {
            assert_eq!(Remaining::parse(text), None, "{text}");
        }
    }

    #[test]
    fn roundings_have_their_words() {
        assert_eq!(Round::from_word("up"), Some(Round::Up));
        assert_eq!(Round::from_word("down"), Some(Round::Down));
        assert_eq!(Round::from_word("Up"), None);
    }
}
