//! `gallivant.Record`, what stands on disk.

use gallivant_core::harness_state as core;
use gallivant_core::harness_state::Word;
use pyo3::prelude::*;

use super::extension::Extension;
use super::observation::Observation;
use crate::value::value;

value! {
    /// A record as it stands on disk. Words are spelled as they stand there, known to this version or not.
    Record {
        /// Which format and version.
        schema: String,
        /// The agent's name, as its writer gave it.
        agent: String,
        /// The harness's name, such as `claude` or `codex`.
        harness: String,
        /// What the harness is doing.
        state: String,
        /// Whom it waits for.
        blocked_on: String,
        /// Whether text waits in its input line.
        input_buffer: String,
        /// What a person is asked for.
        ask: String,
        /// Why.
        reason: Option<String> = None,
        /// How it ended.
        exit: Option<String> = None,
        /// The pty session in which the harness runs.
        pty_session: Option<String> = None,
        /// The token of the session that wrote it; empty in records from before tokens.
        incarnation: String,
        /// The ownership sequence; 0 in records from before sequences.
        seq: u64,
        /// When the present observation began, wall clock in ms since 1970.
        since_ms: u64,
        /// When the record was written or last confirmed, wall clock in ms since 1970.
        written_at_ms: u64,
        /// How often the observation has changed.
        transitions: u64,
        /// What writers that know the extension object added; None from others, and where it is damaged.
        extension: Option<Py<Extension>> = None,
    }

    /// The six fields that an observation sets, as far as this version understands them.
    #[getter]
    fn observation(&self) -> Observation {
        Observation {
            observation: core::Observation {
                state: core::State::from_word(&self.state),
                blocked_on: core::BlockedOn::from_word(&self.blocked_on),
                input_buffer: core::InputBuffer::from_word(&self.input_buffer),
                ask: core::Ask::from_word(&self.ask),
                reason: self.reason.clone(),
                exit: self.exit.clone(),
            },
        }
    }
}

impl Record {
    pub(super) fn of(py: Python<'_>, record: &core::Record) -> PyResult<Self> {
        let extension =
            record.extension.as_ref().map(|extension| Extension::of(py, extension)).transpose()?;
        Ok(Record {
            schema: record.schema.clone(),
            agent: record.agent.clone(),
            harness: record.harness.clone(),
            state: spelled(&record.state, core::State::word),
            blocked_on: spelled(&record.blocked_on, core::BlockedOn::word),
            input_buffer: spelled(&record.input_buffer, core::InputBuffer::word),
            ask: spelled(&record.ask, core::Ask::word),
            reason: record.reason.clone(),
            exit: record.exit.clone(),
            pty_session: record.pty_session.clone(),
            incarnation: record.incarnation.clone(),
            seq: record.seq,
            since_ms: record.since_ms,
            written_at_ms: record.written_at_ms,
            transitions: record.transitions,
            extension: extension.map(|extension| Py::new(py, extension)).transpose()?,
        })
    }
}

pub(super) fn spelled<T: Copy>(word: &Word<T>, known: impl Fn(T) -> &'static str) -> String {
    word.spelled.as_deref().unwrap_or_else(|| known(word.value)).to_owned()
}
