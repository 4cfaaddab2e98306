//! `gallivant.Extension`, what our writers add to a record.

use gallivant_core::harness_state as core;
use pyo3::prelude::*;

use super::process::ProcessIdentity;
use super::record::spelled;
use crate::argument::Given;
use crate::value::{Listed, value};

const NO_EVENTS: Given<u64> = Given(0);
const NO_CHILDREN: Vec<Given<String>> = Vec::new();

value! {
    /// What writers of this library add to a record: clocks that nobody sets, the order of events, how strong the
    /// evidence is, which children run, and which process the harness is.
    Extension {
        /// The boot in which the stamp was taken; empty where the system does not tell.
        boot_id: String,
        /// The stamp on the clock that counts the machine's sleep, in ms since boot.
        boot_ms: u64,
        /// The stamp on the clock that does not, in ms.
        awake_ms: u64,
        /// The machine on which the stamp was taken; empty where the system does not tell.
        host: String,
        /// When what stands here happened, on the clock of `boot_ms`: for a hook, when its process started.
        event_ms: Option<u64> = None,
        /// By what it is known: a word of `EVIDENCE_*`, or one that this version does not know.
        evidence: Option<String> = None,
        /// The ids of the children that run, in the order in which they were first heard of.
        children: Listed<String> = NO_CHILDREN,
        /// How many events came too late to be written.
        late: u64 = NO_EVENTS,
        /// The harness's process, where a session attached it.
        process: Option<Py<ProcessIdentity>> = None,
    }
}

impl Extension {
    pub(super) fn of(py: Python<'_>, extension: &core::Extension) -> PyResult<Self> {
        let process = extension.process_identity().map(ProcessIdentity::from);
        Ok(Extension {
            boot_id: extension.boot_id.clone(),
            boot_ms: extension.boot_ms,
            awake_ms: extension.awake_ms,
            host: extension.host.clone(),
            event_ms: extension.event_ms,
            evidence: extension.evidence.as_ref().map(|word| spelled(word, core::Evidence::word)),
            children: Listed(extension.children.clone()),
            late: extension.late,
            process: process.map(|process| Py::new(py, process)).transpose()?,
        })
    }
}
