//! All rows of a run and those to come, as frames that a coordinator writes as server-sent events (EX-JRN-67 to 72, 86).
//!
//! There is no thread. Whoever consumes pulls; what is read ahead is bounded, and nothing is read while that much waits.
//! A row is read by its number, so that a slow consumer misses nothing and sees nothing twice.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::error::io_error;
use super::event::GapReason;
use super::index::LOG_META;
use super::legacy;
use super::tail::{Log, LogReader, issued};
use super::window::{MAX_DATA_BYTES, MAX_LINE_BYTES, MAX_ROWS, ROW_BYTES, Row};
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::storage::{Alarm, Interest, Notice, Notifier, PollingNotifier, Waker};

/// After so long without a frame there is a heartbeat (EX-JRN-70).
pub const HEARTBEAT: Duration = Duration::from_millis(20_000);
/// The event of a heartbeat's frame.
pub(super) const HEARTBEAT_EVENT: &str = "heartbeat";
/// The most bytes of frames that wait for the consumer (EX-JRN-70).
pub const MAX_PENDING_BYTES: u64 = 327_680;
/// How often it looks where the system does not notify.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// What the frames of a page take at most beside what their lines are counted with.
const FRAMING: u64 = MAX_ROWS as u64 * ROW_BYTES;
/// Nothing is read while there is less room than the longest line with its frame needs.
const LEAST_ROOM: u64 = MAX_LINE_BYTES + 2 + ROW_BYTES;

/// One frame of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The row's id. Heartbeats and gaps without a number have none, and move no cursor (EX-JRN-86).
    pub id: Option<String>,
    /// `line`, `gap` or `heartbeat`.
    pub event: &'static str,
    /// The row as one line of JSON; empty for a heartbeat.
    pub data: String,
}

impl Frame {
    fn of(row: &Row) -> Self {
        Frame { id: row.id.clone(), event: row.content.kind(), data: row.to_json() }
    }

    /// Whether it only says that the replay goes on.
    #[must_use]
    pub fn is_heartbeat(&self) -> bool {
        self.event == HEARTBEAT_EVENT
    }

    fn bytes(&self) -> u64 {
        (self.id.as_ref().map_or(0, String::len) + self.event.len() + self.data.len()) as u64
    }
}

/// Where the next row comes from.
#[derive(Clone, Debug)]
enum Place {
    /// Nothing was read yet: after this id, or from the oldest row on.
    Unresolved(Option<String>),
    /// The row with this number.
    Number(u64),
    /// The row of an older package's log after the one with this id.
    Legacy(Option<String>),
}

/// The rows of one run, pulled one at a time. One thread at a time uses it; dropping it closes everything that it opened.
/// In a forked child it is dead: dropping it there is harmless, and pulling answers the input error with reason `forked`.
#[derive(Debug)]
pub struct Replay {
    reader: LogReader,
    clock: Arc<dyn Clock>,
    notifier: Box<dyn Notifier>,
    /// Whether it has to look by itself, because nothing tells it.
    polls: bool,
    place: Place,
    /// The id that stands for what the consumer has.
    resume: Option<String>,
    /// What it was before the last row was handed out.
    resume_before: Option<String>,
    pending: VecDeque<Frame>,
    pending_bytes: u64,
    /// Whether there may be something that was not read.
    unread: bool,
    index_gap_told: bool,
    last_frame: Duration,
}

/// Ends a replay's wait from another thread.
#[derive(Clone, Debug)]
pub struct ReplayWaker(Waker);

impl ReplayWaker {
    /// Ends the wait in progress, or the next one, with `GALLIVANT_CANCELLED`. Does nothing once the replay is closed.
    pub fn wake(&self) {
        self.0.wake();
    }
}

impl Replay {
    /// Replays what stands in a run's directory from just after the row with this id on, and from the oldest row on
    /// without one. Where that row or those after it are not retained, and where no row ever had the id, the first frame
    /// is a gap (EX-JRN-67, EX-JRN-68).
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub fn open(directory: impl AsRef<Path>, last_event_id: Option<&str>, host: &Host) -> Result<Self> {
        let directory = directory.as_ref();
        let reader = LogReader::open(directory, host)?;
        // Without a descriptor for notices it looks by itself.
        let mut notifier = host
            .files
            .notifier(&host.clock)
            .unwrap_or_else(|_| Box::new(PollingNotifier::new(Arc::clone(&host.clock))));
        // Watched before it is read for the first time, so that nothing happens unseen in between.
        let path = host.files.absolute(directory);
        let watched = path.and_then(|path| notifier.watch(&path, Interest::NamesThroughLink));
        let last_event_id = last_event_id.map(str::to_owned);
        Ok(Replay {
            reader,
            clock: Arc::clone(&host.clock),
            notifier,
            polls: watched.is_err(),
            place: Place::Unresolved(last_event_id.clone()),
            resume_before: last_event_id.clone(),
            resume: last_event_id,
            pending: VecDeque::new(),
            pending_bytes: 0,
            unread: true,
            index_gap_told: false,
            last_frame: host.clock.awake(),
        })
    }

    /// Waits for the next frame, for at most `timeout`, without end where there is none; answers none when the time is
    /// over.
    ///
    /// # Errors
    /// `GALLIVANT_CANCELLED` after [`ReplayWaker::wake`], and when the clock's own signal ended the wait;
    /// `EXECUTION_INPUT` with reason `forked`; as [`LogReader::tail`]. No row is lost by an error.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Frame>> {
        self.refuse_after_fork()?;
        let deadline = timeout.map(|timeout| self.clock.awake().saturating_add(timeout));
        loop {
            if self.notifier.was_woken() || self.clock.is_cancelled() {
                return Err(Error::new(Code::Cancelled, "the wait for a frame was cancelled"));
            }
            if let Some(frame) = self.poll()? {
                return Ok(Some(frame));
            }
            let now = self.clock.awake();
            let left = deadline.map(|deadline| deadline.saturating_sub(now));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            let longest = self.next_look(now).min(left.unwrap_or(Duration::MAX));
            let waited = self.notifier.wait(Some(longest));
            waited.map_err(|error| io_error("a replay cannot wait", error))?;
        }
    }

    /// The next frame without waiting: for event loops, after the descriptor became readable. None where there is none
    /// yet.
    ///
    /// # Errors
    /// As [`Replay::next`], but for the cancellation.
    pub fn poll(&mut self) -> Result<Option<Frame>> {
        self.look()?;
        self.take()
    }

    /// The half of [`Replay::poll`] that reads: looks what has changed and reads ahead, unless frames wait. For event
    /// loops that let another thread read.
    ///
    /// # Errors
    /// As [`Replay::poll`].
    pub fn look(&mut self) -> Result<()> {
        self.refuse_after_fork()?;
        if self.pending.is_empty() {
            self.notice()?;
            self.read_ahead()?;
        }
        Ok(())
    }

    /// The half of [`Replay::poll`] that hands out, and reads no file: the next frame that waits, or a heartbeat that is
    /// due. Where there is none, the descriptor becomes readable when [`Replay::look`] should be called.
    ///
    /// # Errors
    /// `EXECUTION_IO` where the alarm of the next heartbeat cannot be set; `EXECUTION_INPUT` with reason `forked`.
    pub fn take(&mut self) -> Result<Option<Frame>> {
        self.refuse_after_fork()?;
        let now = self.clock.awake();
        let frame = match self.pending.pop_front() {
            Some(frame) => {
                self.pending_bytes -= frame.bytes();
                if frame.id.is_some() {
                    self.resume_before = std::mem::replace(&mut self.resume, frame.id.clone());
                }
                frame
            }
            None if !self.unread && now.saturating_sub(self.last_frame) >= HEARTBEAT => {
                Frame { id: None, event: HEARTBEAT_EVENT, data: String::new() }
            }
            None => {
                let alarm = Alarm { awake: Some(self.next_look(now)), wall: None };
                self.notifier
                    .set_alarm(&alarm)
                    .map_err(|error| io_error("a replay cannot set its alarm", error))?;
                return Ok(None);
            }
        };
        self.last_frame = now;
        Ok(Some(frame))
    }

    /// Takes back the frame that was handed out last, for a consumer that found no place for it: it is the next one again,
    /// and the resume point is the one before it.
    pub fn give_back(&mut self, frame: Frame) {
        if frame.id.is_some() && frame.id == self.resume {
            self.resume.clone_from(&self.resume_before);
        }
        self.pending_bytes += frame.bytes();
        self.pending.push_front(frame);
    }

    /// Reads rows ahead as far as there is room for them, without handing one out.
    ///
    /// # Errors
    /// As [`Replay::poll`].
    pub fn read_ahead(&mut self) -> Result<()> {
        while self.unread {
            let room = MAX_PENDING_BYTES.saturating_sub(self.pending_bytes + FRAMING);
            if room < LEAST_ROOM {
                return Ok(());
            }
            self.unread = self.read_page(room.min(MAX_DATA_BYTES))?;
        }
        Ok(())
    }

    /// Bytes of frames that wait for the consumer.
    #[must_use]
    pub fn pending_bytes(&self) -> u64 {
        self.pending_bytes
    }

    /// Whether there may be rows that were not read yet: it is new, or there was no room for more when it read last. Then
    /// the next [`Replay::poll`] after the last frame that waits reads a page of them. Otherwise it makes a few system
    /// calls, unless it is told of a change. For event loops, which have long reads done elsewhere.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.unread
    }

    /// The id to open with the next time: that of the last row that was handed out, and the one that this was opened with
    /// before the first (EX-JRN-86).
    #[must_use]
    pub fn resume_point(&self) -> Option<&str> {
        self.resume.as_deref()
    }

    /// Becomes readable when [`Replay::poll`] should be called: a change, a heartbeat that is due, a wake. Call `poll` once
    /// before the first wait, and until it answers none before each further one. None where there is no such descriptor,
    /// where only [`Replay::next`] waits, and in a forked child.
    #[must_use]
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.notifier.descriptor()
    }

    /// How long until [`Replay::poll`] should be called although nothing has changed: a heartbeat is due then, or it is
    /// time to look, where nothing tells of changes. For event loops without a descriptor.
    #[must_use]
    pub fn due_in(&self) -> Duration {
        self.next_look(self.clock.awake())
    }

    /// What ends a wait from another thread, for as long as the replay is open.
    #[must_use]
    pub fn waker(&self) -> ReplayWaker {
        ReplayWaker(self.notifier.waker())
    }

    /// Closes every descriptor and forgets what waits, as dropping does.
    pub fn close(self) {}

    fn refuse_after_fork(&self) -> Result<()> {
        if self.notifier.is_forked() {
            let message = "the replay was opened before a fork and belongs to the parent";
            return Err(Error::new(Code::ExecutionInput, message).with_reason("forked"));
        }
        Ok(())
    }

    fn next_look(&self, now: Duration) -> Duration {
        if self.unread {
            return Duration::ZERO;
        }
        let heartbeat = (self.last_frame + HEARTBEAT).saturating_sub(now);
        if self.polls { heartbeat.min(POLL_INTERVAL) } else { heartbeat }
    }

    fn notice(&mut self) -> Result<()> {
        let (mut changed, mut itself) = (self.polls, false);
        let drained = self.notifier.drain(&mut |notice| match notice {
            Notice::Name { name, .. } => changed |= name == LOG_META.as_bytes() || name == b"job.log",
            Notice::Lost => changed = true,
            Notice::Itself { .. } => itself = true,
            Notice::ClockSet | Notice::ProcessEnded => {}
        });
        drained.map_err(|error| io_error("a replay cannot be told of changes", error))?;
        // A directory that is removed while it is open tells nobody.
        changed |= self.clock.awake().saturating_sub(self.last_frame) >= HEARTBEAT;
        // Who moves the directory may still write into it.
        self.polls |= itself;
        self.unread |= changed || itself;
        Ok(())
    }

    /// Reads some rows; whether there may be more.
    fn read_page(&mut self, most: u64) -> Result<bool> {
        let place = self.place.clone();
        let (rows, place) = self.reader.stable(|log| page(log, &place, most))?;
        let is_same = matches!((&self.place, &place), (Place::Number(a), Place::Number(b)) if a == b);
        let index_is_missing = is_same && !rows.is_empty();
        self.place = place;
        if !std::mem::replace(&mut self.index_gap_told, index_is_missing) || !index_is_missing {
            for row in &rows {
                let frame = Frame::of(row);
                self.pending_bytes += frame.bytes();
                self.pending.push_back(frame);
            }
        }
        Ok(!rows.is_empty() && !index_is_missing)
    }
}

/// The rows that come next, and where those after them come from.
fn page(log: &Log, place: &Place, most: u64) -> Result<(Vec<Row>, Place)> {
    match (log, place) {
        (Log::Nothing, place) => Ok((Vec::new(), place.clone())),
        (Log::Legacy(lines), Place::Unresolved(id) | Place::Legacy(id)) => {
            let (mut rows, mut after) = (Vec::new(), id.as_deref());
            let mut window = legacy::after(&**lines, after, MAX_ROWS);
            if after.is_some() && window.as_ref().is_err_and(|error| error.code() == Code::ExecutionInput) {
                rows.push(Row::gap(None, None));
                after = None;
                window = legacy::after(&**lines, after, MAX_ROWS - 1);
            }
            let window = window?;
            let mut bytes = 0;
            rows.extend(window.rows.into_iter().take_while(|row| {
                bytes += Frame::of(row).bytes();
                bytes <= most
            }));
            let last = rows.iter().rev().find_map(|row| row.id.clone());
            Ok((rows, Place::Legacy(last.or_else(|| after.map(str::to_owned)))))
        }
        (Log::Legacy(_), Place::Number(_)) => Ok((Vec::new(), place.clone())),
        (Log::Indexed { meta, .. }, place) => {
            let (mut rows, from) = match place {
                Place::Number(number) => (Vec::new(), *number),
                Place::Unresolved(None) | Place::Legacy(_) => (Vec::new(), 1),
                Place::Unresolved(Some(id)) => match issued(id, meta.next) {
                    Some(number) => (Vec::new(), number + 1),
                    None => {
                        let reason = (meta.first > 1).then_some(GapReason::Retained);
                        (vec![Row::gap(None, reason)], meta.first)
                    }
                },
            };
            let (window, next) = log.forward(from, MAX_ROWS - rows.len(), most)?;
            rows.extend(window.rows);
            Ok((rows, Place::Number(next)))
        }
    }
}
