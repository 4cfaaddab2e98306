//! The journal of a run: what its provider or its process said, each event once, in an order that never changes.
//!
//! Files in a run's directory: `events.jsonl` (the log, one record a line), `journal.json` (how far it is acknowledged,
//! and the one batch that may be pending), `event-keys/` (an index that can always be rebuilt). Every byte is described
//! in `docs/format/journal.md`, every rule in `docs/spec/execution.md`, section EX-JRN.
//!
//! In reading order:
//!
//! - [`Owner`], [`Event`]: what is said, and whose it is; `page`: events out of JSON;
//! - `record`: a record's bytes, and what makes a line one;
//! - `scan`: one pass over acknowledged bytes, in bounded memory;
//! - `checkpoint`: `journal.json`;
//! - `batch`: a page made into batches, as a pure function;
//! - `recover`: what a crash left, judged by a pure function, and how it is put right;
//! - [`Journal`], [`Append`]: the writer, and a page on its way step by step;
//! - `replay_keys`: which events are in the journal;
//! - [`check`]: what a journal is worth;
//! - `index`, [`Projection`]: the public lines, made from the log;
//! - [`LogReader`], [`Window`]: the last lines, the ones before, the ones after;
//! - [`Replay`], [`server_sent_event`]: all lines and those to come, as frames, and these on the wire;
//! - [`DisplayWindow`]: what of them a user interface shows;
//! - [`OutputPage`], `output_state`: a page of a local run's raw output, and how far it is taken in, as pure functions;
//! - [`LocalOutput`], [`OutputQueue`]: the pages of one run, and the runs that are waiting;
//! - `retention`: how long the raw output lives;
//! - [`check_version`]: which versions of the files are supported;
//! - [`result_view`], [`private_result`]: the collected result, and what of it is shown.

mod append;
mod batch;
mod check;
mod checkpoint;
mod display_window;
mod error;
mod event;
mod index;
mod legacy;
mod local_output;
mod output_page;
mod output_queue;
mod output_state;
mod page;
mod projection;
mod projection_check;
mod record;
mod recover;
mod replay;
mod replay_keys;
mod result_view;
mod retention;
mod scan;
mod sse;
mod tail;
mod version;
mod window;
mod writer;

pub use append::{Append, AppendPoint, Appended};
pub use batch::{How, MAX_BATCH_BYTES, Placed};
pub use check::{Checked, Gap, PendingBatch, check, check_with};
pub use checkpoint::CHECKPOINT;
pub use display_window::{
    DisplayWindow, MAX_HISTORY_ROWS, MAX_LIVE_ROWS, MAX_PENDING_ROWS, MAX_RECOVERIES, Part, split,
};
pub use event::{Content, Event, GapReason, Key, Owner, Provenance, replay_key};
pub use index::{INDEX, LOG_META, PROJECTED};
pub use local_output::{LocalOutput, LocalRun, Next, OutputPoint, Served};
pub use output_page::{MAX_PAGE_BYTES, MAX_PAGE_RECORDS, OutputPage};
pub(crate) use output_queue::SeenOutput;
pub use output_queue::{OUTPUT_QUEUE, OutputQueue, Pass, Source};
pub use output_state::LOCAL_OUTPUT;
pub(crate) use output_state::{check_member, number};
pub use projection::{Projected, Projection};
pub(crate) use projection_check::check_projection;
pub use record::MAX_RECORD_BYTES;
pub use replay::{Frame, HEARTBEAT, MAX_PENDING_BYTES, Replay, ReplayWaker};
pub use result_view::{Collected, RESULT, Standing, private_result, read_run_result, result_view};
pub use retention::{DIAGNOSTICS_LIFE_MS, PROVIDER_LOG, REDACTIONS, retention_candidates};
pub use scan::Position;
pub use sse::server_sent_event;
pub use tail::LogReader;
pub(crate) use version::check as check_file_version;
pub use version::{FILE_KINDS, REGISTRY, check_version};
pub use window::{MAX_DATA_BYTES, MAX_LINE_BYTES, MAX_ROWS, Row, RowContent, Window};
pub use writer::{Journal, LOG, Recovered};
