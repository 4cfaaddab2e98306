//! The limits of a boundary: what they are without a word, and what they may be set to (EX-SCH-01 to EX-SCH-08).

use crate::error::{Code, Error, Result};
use crate::json::{Object, Value};

/// A stand-alone version or sign-in probe of a native CLI ends after so many milliseconds (EX-SCH-05).
pub const NATIVE_PROBE_MS: u64 = 20_000;

/// A stand-alone probe of a remote provider ends after so many milliseconds where nothing is configured (EX-SCH-06).
pub const REMOTE_PROBE_MS: u64 = 10_000;

/// A row of [`EXECUTION_LIMITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name as options and files have it.
    pub name: &'static str,
    /// Its value where nothing is set.
    pub default: u64,
    /// The least that it may be set to.
    pub min: u64,
    /// The most that it may be set to.
    pub max: u64,
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal, $default:literal, $min:literal to $max:literal;)+) => {
        /// Every limit: name, default and allowed range (EX-SCH-01).
        pub const EXECUTION_LIMITS: &[Limit] =
            &[$(Limit { name: $name, default: $default, min: $min, max: $max }),+];

        /// The limits that a boundary works by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[doc = $doc])+ pub $field: u64,)+
        }

        impl Default for Limits {
            fn default() -> Self {
                Limits { $($field: $default,)+ }
            }
        }

        impl Limits {
            fn field(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $($name => Some(&mut self.$field),)+
                    _ => None,
                }
            }

            /// All of them by name, in the order of [`EXECUTION_LIMITS`].
            #[must_use]
            pub fn to_value(&self) -> Value {
                Value::Object([$(($name, self.$field.into())),+].into_iter().collect::<Object>())
            }
        }
    };
}

limits! {
    /// How long a transport call, and a coordinator's health probe, may take, in milliseconds. 60,000 is a sensible value
    /// for hosts that take several seconds for each outbound request (EX-SCH-07).
    deadline_ms = "deadlineMs", 20_000, 1 to 120_000;
    /// How often a live run is looked at, in milliseconds.
    progress_ms = "progressMs", 10_000, 1_000 to 300_000;
    /// The longest wait after failures, in milliseconds.
    backoff_max_ms = "backoffMaxMs", 300_000, 1_000 to 300_000;
    /// How many passes a lane runs at one time.
    concurrency = "concurrency", 4, 1 to 64;
    /// How many events one reply may have.
    event_page_records = "eventPageRecords", 100, 1 to 100;
    /// How many bytes the events of one reply may have.
    event_page_bytes = "eventPageBytes", 65_536, 1_024 to 65_536;
    /// How many bytes one result may have.
    result_bytes = "resultBytes", 8_388_608, 65_536 to 67_108_864;
    /// How long a successful health check counts, in milliseconds.
    health_refresh_ms = "healthRefreshMs", 60_000, 1_000 to 3_600_000;
    /// How long a call waits for `execution.lock`, in milliseconds. 0 tries once.
    lock_wait_ms = "lockWaitMs", 5_000, 0 to 60_000;
    /// How long after TERM a local run that is stopped gets KILL, in milliseconds.
    kill_after_ms = "killAfterMs", 10_000, 0 to 600_000;
}

impl Limits {
    /// The defaults, and in their place what `overrides` says. A whole number counts in every spelling of it, so `2e4` is
    /// an integer.
    ///
    /// # Errors
    /// `EXECUTION_INPUT` with reason `limits` for a name that no limit has, and for a value that is no integer or out of
    /// the limit's range (EX-SCH-03).
    pub fn with_overrides(overrides: Option<&Object>) -> Result<Limits> {
        let mut limits = Limits::default();
        for (at, (name, value)) in overrides.into_iter().flat_map(Object::iter).enumerate() {
            let Some(limit) = EXECUTION_LIMITS.iter().find(|limit| limit.name == name) else {
                return Err(refused(format!("limits has a name that no limit has, at=`{at}`")));
            };
            let Limit { name, min, max, .. } = *limit;
            let number = value.as_number().and_then(crate::json::Number::as_u64);
            let Some(number) = number.filter(|number| (min..=max).contains(number)) else {
                let message = format!(
                    "a limit is no integer, or out of its range, limit=`{name}` min=`{min}` max=`{max}`"
                );
                return Err(refused(message));
            };
            if let Some(field) = limits.field(name) {
                *field = number;
            }
        }
        Ok(limits)
    }
}

/// How long a version or sign-in probe of a native CLI may take, in milliseconds: for a stand-alone one
/// [`NATIVE_PROBE_MS`], and for a coordinator's no longer than its `deadlineMs` either (EX-SCH-05).
#[must_use]
pub fn native_probe_ms(coordinator: Option<&Limits>) -> u64 {
    coordinator.map_or(NATIVE_PROBE_MS, |limits| limits.deadline_ms.min(NATIVE_PROBE_MS))
}

/// How long the whole series of checks of a stand-alone probe of a remote provider may take, in milliseconds: the
/// `deadlineMs` that is configured, else [`REMOTE_PROBE_MS`] (EX-SCH-06).
#[must_use]
pub fn remote_probe_ms(configured_deadline_ms: Option<u64>) -> u64 {
    configured_deadline_ms.unwrap_or(REMOTE_PROBE_MS)
}

/// When a stand-alone probe has to have ended, in milliseconds since 1970: so long after it began, however many checks it makes
/// until then, and no later than its caller's own signal fires (EX-SCH-06).
#[must_use]
pub fn probe_ends_at(began_at_ms: u64, length_ms: u64, callers_end_ms: Option<u64>) -> u64 {
    began_at_ms.saturating_add(length_ms).min(callers_end_ms.unwrap_or(u64::MAX))
}

fn refused(message: String) -> Error {
    Error::new(Code::ExecutionInput, message).with_reason("limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_has_its_field() {
        let mut limits = Limits::default();
        for limit in EXECUTION_LIMITS {
            assert_eq!(limits.field(limit.name).copied(), Some(limit.default), "{}", limit.name);
            assert!((limit.min..=limit.max).contains(&limit.default), "{}", limit.name);
        }
        assert!(limits.field("deadline_ms").is_none());
        let names: Vec<_> = EXECUTION_LIMITS.iter().map(|limit| limit.name).collect();
        let value = limits.to_value();
        let members = value.as_object().expect("an object");
        assert_eq!(members.iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
        assert_eq!(Limits::with_overrides(Some(members)).expect("its own values"), limits);
    }

    #[test]
    fn probes_end_at_the_earlier_of_their_deadlines() {
        let limits = |deadline_ms| Limits { deadline_ms, ..Limits::default() };
        assert_eq!(native_probe_ms(None), 20_000);
        assert_eq!(native_probe_ms(Some(&limits(120_000))), 20_000);
        assert_eq!(native_probe_ms(Some(&limits(500))), 500);
        assert_eq!(remote_probe_ms(None), 10_000);
        assert_eq!(remote_probe_ms(Some(60_000)), 60_000);
    }
}
