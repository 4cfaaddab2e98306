//! The thread of one watch. It waits for a change only while JavaScript wants one, so that whatever else happens until
//! the next one is wanted comes as one change, and nothing piles up.
//!
//! Thread and JavaScript speak over a desk: what is wanted, what is told, what a probe is asked. JavaScript never waits
//! for the thread but at the very end, when the thread has said that it is over or has been told to be.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gallivant_core::harness_state::{Change, Probe, Record, Watch, WatchWaker};
use gallivant_core::process::Liveness;
use gallivant_core::{Code, Error, Result};

use crate::barrier;
use crate::clean_up::Joined;

/// What the thread tells JavaScript.
#[derive(Debug)]
pub(super) enum Told {
    /// What was wanted.
    Change(Change),
    /// A question to the probe, by its number.
    Asked { number: u32, record: Box<Record> },
    /// The watch has come to its end by an error.
    Failed(Error),
    /// The thread has nothing more to say and can be joined.
    Over,
}

/// A watch on a thread of its own.
#[derive(Debug)]
pub(super) struct Follower {
    desk: Arc<Desk>,
    thread: Joined,
}

/// What thread and JavaScript have between them.
#[derive(Default)]
pub(super) struct Desk {
    papers: Mutex<Papers>,
    moved: Condvar,
    /// Says to JavaScript that something was told. May be called by the thread alone.
    ring: Mutex<Option<Box<dyn Fn() + Send>>>,
}

#[derive(Debug, Default)]
struct Papers {
    wanted: u32,
    told: VecDeque<Told>,
    asked: u32,
    answer: Option<(u32, Liveness)>,
    waker: Option<WatchWaker>,
    is_closing: bool,
}

impl Follower {
    /// Begins a watch on a thread of its own: opening it looks at the disk. `ring` is called by the thread after each
    /// thing that it has told.
    ///
    /// # Errors
    /// `HARNESS_STATE_IO` where the system gives no thread. What opening answers is told.
    pub(super) fn begin(
        desk: Arc<Desk>,
        ring: impl Fn() + Send + 'static,
        open: impl FnOnce() -> Result<Watch> + Send + 'static,
    ) -> Result<Self> {
        *desk.ring.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(ring));
        let follower = Arc::clone(&desk);
        let thread = Joined::default();
        thread.begin("gallivant-watch", move || follower.follow(open)).map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(0);
            let message = format!("no thread can be had for a watch, os_error=`{errno}`");
            Error::new(Code::HarnessStateIo, message).with_source(error)
        })?;
        Ok(Follower { desk, thread })
    }

    /// Wants one more change.
    pub(super) fn want(&self) {
        self.desk.papers().wanted += 1;
        self.desk.moved.notify_all();
    }

    /// The next of what was told.
    pub(super) fn take(&self) -> Option<Told> {
        self.desk.papers().told.pop_front()
    }

    /// The probe's answer to the question of this number. A late one is not heard.
    pub(super) fn answer(&self, number: u32, liveness: Liveness) {
        self.desk.papers().answer = Some((number, liveness));
        self.desk.moved.notify_all();
    }

    /// Tells the thread to come to its end. It does so at once, or after the turn that it is at.
    pub(super) fn close(&self) {
        let mut papers = self.desk.papers();
        papers.is_closing = true;
        if let Some(waker) = &papers.waker {
            waker.wake();
        }
        drop(papers);
        self.desk.moved.notify_all();
    }

    /// Waits for the thread's end. It is for those who have called `close`, or were told that it is over.
    pub(super) fn join(&self) {
        self.thread.join();
    }
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn follow(&self, open: impl FnOnce() -> Result<Watch>) {
        let ended = barrier::run(|| {
            let mut watch = open()?;
            self.papers().waker = Some(watch.waker());
            while self.is_wanted() {
                // A change that is over before it was told leaves nothing to tell, and the wait goes on.
                let change = loop {
                    if let Some(change) = watch.next(None)? {
                        break change;
                    }
                };
                self.tell(Told::Change(change));
            }
            Ok(())
        });
        let mut papers = self.papers();
        papers.waker = None;
        let is_closing = papers.is_closing;
        drop(papers);
        if let Err(error) = ended
            && !is_closing
        {
            self.tell(Told::Failed(error));
        }
        self.tell(Told::Over);
        self.ring.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits until a change is wanted, and takes the wish. False when the watch is to end.
    fn is_wanted(&self) -> bool {
        let papers = self.papers();
        let waiting = |papers: &mut Papers| papers.wanted == 0 && !papers.is_closing;
        let mut papers = self.moved.wait_while(papers, waiting).unwrap_or_else(PoisonError::into_inner);
        papers.wanted = papers.wanted.saturating_sub(1);
        !papers.is_closing
    }

    fn tell(&self, told: Told) {
        self.papers().told.push_back(told);
        if let Some(ring) = &*self.ring.lock().unwrap_or_else(PoisonError::into_inner) {
            ring();
        }
    }

    /// Asks the probe that JavaScript has, and waits for its answer, for its budget at most.
    fn ask(&self, record: &Record, budget: Duration) -> Liveness {
        let mut papers = self.papers();
        papers.asked = papers.asked.wrapping_add(1);
        let number = papers.asked;
        drop(papers);
        self.tell(Told::Asked { number, record: Box::new(record.clone()) });
        let waiting = |papers: &mut Papers| {
            !papers.is_closing && papers.answer.is_none_or(|(answered, _)| answered != number)
        };
        let waited = self.moved.wait_timeout_while(self.papers(), budget, waiting);
        let (papers, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match papers.answer {
            Some((answered, liveness)) if answered == number => liveness,
            _ => Liveness::Indeterminate,
        }
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Desk").field("papers", &self.papers).finish_non_exhaustive()
    }
}

/// A probe that is a function of JavaScript's. It is asked over the desk, and runs in JavaScript's own time.
#[derive(Debug)]
pub(super) struct AskedProbe {
    pub(super) desk: Arc<Desk>,
    pub(super) budget: Duration,
}

impl Probe for AskedProbe {
    fn liveness(&self, record: &Record) -> Liveness {
        self.desk.ask(record, self.budget)
    }
}
