//! Probes: whether the session behind a live record still lives (HS-79 to HS-81, HS-94).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::reader::Reader;
use super::record::Record;
use super::seat::LEASE;
use crate::clock::Clock;
use crate::host::Host;
use crate::process::{Liveness, ProcessIdentity};
use crate::storage::{Directory, is_released};

/// A lease holds a token; what is longer is none.
const MAX_LEASE_BYTES: u64 = 4096;

/// Says whether a session lives. `Alive` and `Indeterminate` downgrade nothing; only `Dead` does.
pub trait Probe: fmt::Debug {
    /// What can be proved about the session that wrote this record.
    fn liveness(&self, record: &Record) -> Liveness;
}

/// A fixed answer, for tests.
impl Probe for Liveness {
    fn liveness(&self, _record: &Record) -> Liveness {
        *self
    }
}

/// The session lease: a session holds `flock` on `.harness-state.lease`, whose content is its token, for its life,
/// and death releases it. There is no pid that could be reused.
///
/// A lease of another token, no lease, and a file system without locks are indeterminate.
#[derive(Clone, Debug)]
pub struct LeaseProbe {
    reader: Reader,
}

impl LeaseProbe {
    /// A probe for the seat that this reader reads.
    #[must_use]
    pub fn new(reader: &Reader) -> Self {
        LeaseProbe { reader: reader.clone() }
    }

    /// Whether a lease stands there that names another session than this record, which is live: the probe is indeterminate
    /// then, and the death of the record's session is not seen. No where the record names none, and where no lease can be
    /// read.
    #[must_use]
    pub fn names_another(&self, record: &Record) -> bool {
        self.reader.locate().is_ok_and(|(directory, _)| lease_names_another(&*directory, record))
    }
}

/// As [`LeaseProbe::names_another`], in an agent's directory. Takes no lock.
pub(crate) fn lease_names_another(directory: &dyn Directory, record: &Record) -> bool {
    let mut content = Vec::new();
    record.is_live()
        && !record.incarnation.is_empty()
        && directory.read_and_close(LEASE, MAX_LEASE_BYTES, &mut content).is_ok()
        && content != record.incarnation.as_bytes()
}

impl Probe for LeaseProbe {
    fn liveness(&self, record: &Record) -> Liveness {
        let Ok((directory, _)) = self.reader.locate() else { return Liveness::Indeterminate };
        lease_liveness(&*directory, record)
    }
}

/// What the lease in an agent's directory proves about the session that wrote this record.
pub(crate) fn lease_liveness(directory: &dyn Directory, record: &Record) -> Liveness {
    lease_liveness_at(directory, LEASE, record)
}

/// As [`lease_liveness`], of a lease by its path below a directory.
pub(crate) fn lease_liveness_at(directory: &dyn Directory, lease: &str, record: &Record) -> Liveness {
    let Ok((released, content)) = is_released(directory, lease) else { return Liveness::Indeterminate };
    if record.incarnation.is_empty() || content != record.incarnation.as_bytes() {
        return Liveness::Indeterminate;
    }
    match released {
        Some(true) => Liveness::Dead,
        Some(false) => Liveness::Alive,
        None => Liveness::Indeterminate,
    }
}

/// The process identity of a harness: pid, start time, boot, pid namespace and host.
///
/// Another or an unreadable namespace is indeterminate, a process that may not be signalled is alive, an unreadable
/// process table is indeterminate.
#[derive(Clone, Debug)]
pub struct ProcessProbe {
    process: ProcessIdentity,
    host: Host,
}

impl ProcessProbe {
    /// A probe for this process.
    #[must_use]
    pub fn new(process: ProcessIdentity, host: &Host) -> Self {
        ProcessProbe { process, host: host.clone() }
    }
}

impl Probe for ProcessProbe {
    fn liveness(&self, _record: &Record) -> Liveness {
        self.process.liveness(&*self.host.processes)
    }
}

/// HS-81: a probe that panics, or takes longer than its budget, has answered nothing.
pub(crate) fn ask_within_budget(
    probe: &dyn Probe,
    record: &Record,
    clock: &dyn Clock,
    budget: Duration,
) -> Liveness {
    within_budget(clock, budget, || probe.liveness(record))
}

/// HS-81 for whatever is asked.
pub(crate) fn within_budget(clock: &dyn Clock, budget: Duration, ask: impl FnOnce() -> Liveness) -> Liveness {
    let started = clock.awake();
    let answer = catch_unwind(AssertUnwindSafe(ask));
    let taken = clock.awake().saturating_sub(started);
    match answer {
        Ok(answer) if taken <= budget => answer,
        Ok(_) | Err(_) => Liveness::Indeterminate,
    }
}
