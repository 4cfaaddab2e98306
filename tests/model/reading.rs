//! What a reader concludes, row by row of section F, with section G where the extension is known.

use std::collections::BTreeMap;

use crate::record::{Now, Process, REFRESH_MS, Record, SKEW_MS, STALE_MS, understood};
use crate::specification::Stands;

/// How believable a record is by time alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Fresh,
    FutureSkew,
    Stale,
    HostSuspended,
    Rebooted,
}

/// HS-74, HS-75 and HS-96.
pub(crate) fn age(record: &Record, now: &Now, extension: bool) -> Age {
    if let Some(known) = record.extension.as_ref().filter(|known| extension && known.host == now.host) {
        if known.boot_id != now.boot_id {
            return Age::Rebooted;
        }
        let awake = now.awake.saturating_sub(known.awake);
        let real = now.boot.saturating_sub(known.boot);
        return match (real < STALE_MS && awake < STALE_MS, awake < 2 * REFRESH_MS) {
            (true, _) => Age::Fresh,
            // One refresh may have passed before the machine slept, and one is given after.
            (false, true) => Age::HostSuspended,
            (false, false) => Age::Stale,
        };
    }
    if record.stamp > now.wall.saturating_add(SKEW_MS) {
        Age::FutureSkew
    } else if now.wall.saturating_sub(record.stamp) >= STALE_MS {
        Age::Stale
    } else {
        Age::Fresh
    }
}

/// What a reader is given besides what stands.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) now: &'a Now,
    pub(crate) extension: bool,
    pub(crate) probe: Option<&'static str>,
    pub(crate) running: &'a BTreeMap<u32, u64>,
    pub(crate) accepted: &'a [&'static str],
}

/// The answer in one line, so that two can be compared and shown; without `valid_until`.
pub(crate) fn read(stands: &Stands, reading: Reading<'_>) -> String {
    let record = match stands {
        Stands::Nothing => return "never observed".to_owned(),
        Stands::Unreadable(_) => return unknown("malformed-record", "None None None None None"),
        Stands::Record(record) => record,
    };
    if !reading.accepted.contains(&record.schema.as_str()) {
        return unknown("unsupported-schema", &format!("{:?} None None None None", Some(&record.harness)));
    }
    let evidence = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        Some(&record.harness),
        Some(record.stamp),
        Some(record.seq),
        Some(record.transitions),
        Some(&record.token)
    );
    match age(record, reading.now, reading.extension) {
        Age::Rebooted => return unknown("rebooted", &evidence),
        Age::FutureSkew => return unknown("future-skew", &evidence),
        Age::HostSuspended => return unknown("host-suspended", &evidence),
        Age::Stale => return unknown("stale", &evidence),
        Age::Fresh => {}
    }
    if understood(&record.state) == "unknown" {
        return unknown("literal-unknown", &evidence);
    }
    if record.is_placeholder() {
        return unknown("claimed", &evidence);
    }
    if reading.extension && record.is_over() && acts_after_its_end(record, reading) {
        return unknown("activity-after-end", &evidence);
    }
    if let (Some(probe), true) = (reading.probe, record.is_live()) {
        if record.pty_session.is_none() {
            return unknown("unfenced-record", &evidence);
        }
        if probe == "dead" {
            return unknown("session-dead", &evidence);
        }
    }
    let has_children = record.extension.as_ref().is_some_and(|known| !known.children.is_empty());
    let waits = reading.extension && has_children && matches!(record.state.as_str(), "idle" | "ready");
    let state = if waits { "active" } else { &record.state };
    let reason = if waits { Some("children") } else { record.reason.as_deref() };
    let [blocked_on, input_buffer, ask] =
        [&record.blocked_on, &record.input_buffer, &record.ask].map(|word| understood(word));
    let since = Some(record.since);
    format!(
        "{state} {blocked_on} {input_buffer} {ask} {since:?} {:?} {reason:?} {evidence}",
        record.exit.as_deref()
    )
}

fn unknown(reason: &str, evidence: &str) -> String {
    format!("unknown unknown unknown unknown None None {:?} {evidence}", Some(reason))
}

/// HS-114: late events, and a process that provably runs.
fn acts_after_its_end(record: &Record, reading: Reading<'_>) -> bool {
    let Some(known) = record.extension.as_ref() else { return false };
    let Some(Process { pid, start, pid_namespace }) = known.process.as_ref() else { return false };
    let sees = known.is_of(reading.now) && *pid_namespace == reading.now.pid_namespace;
    known.late > 0 && sees && reading.running.get(pid) == Some(start)
}
