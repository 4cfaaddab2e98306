//! Instants as people read them.

use gallivant_core::clock::length_in_words;

/// How long ago an instant in ms since 1970 is, such as `5s`, `12m`, `3h 5m` or `2d 4h`; `0s` where it is ahead.
pub(crate) fn ago(then_ms: u64, now_ms: u64) -> String {
    length_in_words(now_ms.saturating_sub(then_ms))
}

/// An instant and how far it is from now, such as `2026-05-04 03:02:01Z, 5s ago` or `2026-05-04 03:02:01Z, in 12m`.
pub(crate) fn at(ms: u64, now_ms: u64) -> String {
    if ms > now_ms {
        // Rounded up: what is to come in half a second is not there yet.
        format!("{}, in {}", utc(ms), length_in_words((ms - now_ms).saturating_add(999)))
    } else {
        format!("{}, {} ago", utc(ms), ago(ms, now_ms))
    }
}

/// An instant in ms since 1970 as `2026-05-04 03:02:01Z`.
pub(crate) fn utc(ms: u64) -> String {
    let (seconds, days) = (ms / 1000, ms / 86_400_000);
    // The civil calendar in eras of 400 years that begin in March, so that the leap day is a year's last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{at, utc};

    #[test]
    fn what_is_to_come_is_not_told_as_past() {
        assert_eq!(at(10_000, 10_000), "1970-01-01 00:00:10Z, 0s ago");
        assert_eq!(at(10_000, 5_000), "1970-01-01 00:00:10Z, in 5s");
        assert_eq!(at(10_001, 10_000), "1970-01-01 00:00:10Z, in 1s");
    }

    #[test]
    fn instants_follow_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_399_000), "2000-02-28 23:59:59Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00Z");
        assert_eq!(utc(1_767_225_599_000), "2025-12-31 23:59:59Z");
        assert_eq!(utc(4_107_542_400_000), "2100-03-01 00:00:00Z");
    }
}
