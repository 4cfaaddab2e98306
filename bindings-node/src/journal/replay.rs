//! A replay for JavaScript: a task of the pool looks and reads ahead, and JavaScript's own thread takes what was read.
//!
//! JavaScript never takes while a task of the same replay looks, so that nobody waits for the other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gallivant_core::Result;
use gallivant_core::journal::{HEARTBEAT, MAX_PENDING_BYTES, Replay, server_sent_event};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use super::parts::FrameParts;
use crate::answer::Answer;
use crate::host::NativeHost;
use crate::job::{Promised, promise};
use crate::options::whole_ms;
use crate::slot::Slot;
use crate::waiting::{NativeWait, Patience};

/// After so many milliseconds without a frame there is a heartbeat.
#[napi(catch_unwind)]
pub fn heartbeat_ms() -> u32 {
    whole_ms(HEARTBEAT).try_into().unwrap_or(u32::MAX)
}

/// The most bytes of frames that wait for the consumer.
#[napi(catch_unwind)]
pub fn max_pending_bytes() -> u32 {
    MAX_PENDING_BYTES.try_into().unwrap_or(u32::MAX)
}

/// A frame as one server-sent event.
#[napi(catch_unwind)]
pub fn frame_to_sse(id: Option<String>, event: String, data: String) -> Answer<String> {
    Answer::of(|| Ok(server_sent_event(id.as_deref(), &event, &data)))
}

/// A replay. Closing it, or collecting it, closes every descriptor that it opened.
#[napi]
#[derive(Debug)]
pub struct NativeReplay {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    replay: Slot<Mutex<Replay>>,
    /// What the replay says of its pending bytes, for whoever asks while a task looks.
    pending: AtomicU32,
}

impl Held {
    fn with<T>(&self, action: impl FnOnce(&mut Replay) -> Result<T>) -> Result<T> {
        let replay = self.replay.get()?;
        let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
        let done = action(&mut replay);
        let pending = replay.pending_bytes().try_into().unwrap_or(u32::MAX);
        self.pending.store(pending, Ordering::Relaxed);
        done
    }
}

impl NativeReplay {
    /// Does something with the replay as it is. Not for what reads.
    #[cfg(target_os = "linux")]
    pub(super) fn with<T>(&self, action: impl FnOnce(&mut Replay) -> Result<T>) -> Result<T> {
        self.held.with(action)
    }
}

#[napi]
impl NativeReplay {
    /// Replays a run's directory from just after the row with this id on.
    #[napi(catch_unwind)]
    pub fn open_async(
        host: &NativeHost,
        directory: String,
        last_event_id: Option<String>,
        wait: &NativeWait,
    ) -> Promised<NativeReplay> {
        let host = host.host.clone();
        promise(wait, Patience::Unlimited, move || {
            let replay = Replay::open(directory, last_event_id.as_deref(), &host)?;
            let replay = Slot::new("Replay", Mutex::new(replay));
            Ok(NativeReplay { held: Arc::new(Held { replay, pending: AtomicU32::new(0) }) })
        })
    }

    /// Looks what has changed, and reads ahead unless frames wait.
    #[napi(catch_unwind)]
    pub fn look_async(&self, wait: &NativeWait) -> Promised<bool> {
        let held = Arc::clone(&self.held);
        promise(wait, Patience::Unlimited, move || {
            held.with(Replay::look)?;
            Ok(true)
        })
    }

    /// The next frame of what was read, or a heartbeat that is due; null where there is none.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Answer<Option<FrameParts>> {
        Answer::of(|| self.held.with(|replay| Ok(replay.take()?.map(FrameParts::from))))
    }

    /// The same as server-sent events: as many as wait, until they have this many bytes; null where there is none.
    #[napi(catch_unwind)]
    pub fn take_events(&self, most: u32) -> Answer<Option<Buffer>> {
        Answer::of(|| {
            self.held.with(|replay| {
                let Some(first) = replay.take()? else { return Ok(None) };
                let mut events = first.to_sse();
                while replay.pending_bytes() > 0 && events.len() < most as usize {
                    events.extend(replay.take()?.map(|frame| frame.to_sse()));
                }
                Ok(Some(events.into_bytes().into()))
            })
        })
    }

    /// The id to open with the next time.
    #[napi(catch_unwind)]
    pub fn resume_point(&self) -> Answer<Option<String>> {
        Answer::of(|| self.held.with(|replay| Ok(replay.resume_point().map(str::to_owned))))
    }

    /// Bytes of frames that wait for the consumer.
    #[napi(catch_unwind)]
    pub fn pending_bytes(&self) -> u32 {
        self.held.pending.load(Ordering::Relaxed)
    }

    /// In how many milliseconds it should look although nothing has changed.
    #[napi(catch_unwind)]
    pub fn due_in_ms(&self) -> Answer<u32> {
        Answer::of(|| self.held.with(|replay| Ok(whole_ms(replay.due_in()).try_into().unwrap_or(u32::MAX))))
    }

    /// Whether there is a descriptor that tells of changes.
    #[napi(catch_unwind)]
    pub fn has_descriptor(&self) -> Answer<bool> {
        Answer::of(|| self.held.with(|replay| Ok(cfg!(target_os = "linux") && replay.descriptor().is_some())))
    }

    /// Lets go of everything. Answers whether it was still open.
    #[napi(catch_unwind)]
    pub fn close(&self) -> bool {
        self.held.replay.close()
    }
}
