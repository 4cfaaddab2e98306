//! Constants that are numbers in C and enums in the core, and the words for them as C strings.
//!
//! A number is never used twice and never changes. That every value of the core has one, and that the header's
//! constants are named after its words, is checked by `tests/constants.rs`.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use gallivant_core::{Code, Error, Result};

/// The answer of a name function to a number that is none of its constants.
const NO_NAME: &std::ffi::CStr = c"invalid";

/// Which number stands for which value.
#[derive(Debug)]
pub(crate) struct Numbered<T: 'static> {
    pub(crate) what: &'static str,
    pub(crate) rows: &'static [(i32, T)],
}

impl<T: Copy + PartialEq> Numbered<T> {
    /// The number of a value. A value of the core without a number, which the tests rule out, is 0.
    pub(crate) fn number(&self, value: T) -> i32 {
        self.rows.iter().find(|(_, row)| *row == value).map_or(0, |(number, _)| *number)
    }

    /// The value of a number.
    pub(crate) fn value(&self, number: i32) -> Option<T> {
        self.rows.iter().find(|(row, _)| *row == number).map(|(_, value)| *value)
    }

    /// The value of an input.
    ///
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `constant`.
    pub(crate) fn input(&self, number: i32) -> Result<T> {
        self.value(number).ok_or_else(|| {
            let message = format!("no such constant, member=`{}` value=`{number}`", self.what);
            Error::new(Code::Input, message).with_reason("constant")
        })
    }
}

/// Words as C strings, made at their first use and kept.
#[derive(Debug)]
pub(crate) struct Names(OnceLock<Vec<(i32, CString)>>);

impl Names {
    pub(crate) const fn new() -> Self {
        Names(OnceLock::new())
    }

    /// The word of a number, by `rows`, which yields all of them; `invalid` for a number that is not there.
    pub(crate) fn get<W: Into<Vec<u8>>>(
        &self,
        number: i32,
        rows: impl Iterator<Item = (i32, W)>,
    ) -> *const c_char {
        let table = self.0.get_or_init(|| {
            rows.map(|(number, word)| (number, CString::new(word).unwrap_or_default())).collect()
        });
        let found = table.iter().find(|(row, _)| *row == number);
        found.map_or(NO_NAME.as_ptr(), |(_, word)| word.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    const FRUIT: Numbered<&str> = Numbered { what: "fruit", rows: &[(1, "apple"), (4, "pear")] };

    #[test]
    fn numbers_and_values_go_both_ways() {
        assert_eq!(FRUIT.number("pear"), 4);
        assert_eq!(FRUIT.value(1), Some("apple"));
        let error = FRUIT.input(2).expect_err("there is no 2");
        assert_eq!((error.code(), error.reason()), (Code::Input, Some("constant")));
    }

    #[test]
    fn names_are_never_null() {
        static NAMES: Names = Names::new();
        let name = |number| {
            let name = NAMES.get(number, FRUIT.rows.iter().copied());
            // SAFETY: names are never null and end in a zero byte.
            unsafe { CStr::from_ptr(name) }.to_str().expect("ASCII")
        };
        assert_eq!([name(4), name(1), name(2)], ["pear", "apple", "invalid"]);
    }
}
