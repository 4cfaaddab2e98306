//! The right to make the thing, and how it ends.

use std::time::Duration;

use super::claim::{ClaimRecord, ClaimState, Stamp, whole_ms};
use super::{Change, ClaimName, Fingerprint, How, IdempotencyStore};
use crate::error::{Code, Error, Result};

/// The most that dropping a reservation waits for another process's transaction. Whoever drops one has nobody to tell
/// that it did not do, and the process's death releases it too.
const LONGEST_DROP: Duration = Duration::from_secs(1);

/// A name that is reserved for one create of this process. End it by exactly one of [`Reservation::complete`] and
/// [`Reservation::release`]; dropping it without either releases it, unless an effect was marked: then nobody may make
/// the thing before it has been settled whether it exists (IK-05).
#[derive(Debug)]
pub struct Reservation {
    store: IdempotencyStore,
    name: ClaimName,
    /// What this object wrote last. Its token and its fingerprint never change.
    record: ClaimRecord,
    how: How,
    state: Held,
}

/// What this object knows of its claim.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    /// It holds it, as far as it knows.
    Open,
    /// A completion with this resource failed in its commit, so that it may or may not have happened.
    Completing(String),
    /// It was ended by this object.
    Ended,
    /// It was lost.
    Lost,
}

/// What the rules say to the holder of a token.
enum Verdict {
    Done,
    Lost(Option<String>),
}

impl Reservation {
    pub(super) fn new((store, name): (IdempotencyStore, ClaimName), record: ClaimRecord, how: How) -> Self {
        Reservation { store, name, record, how, state: Held::Open }
    }

    /// How it came about.
    #[must_use]
    pub fn how(&self) -> How {
        self.how
    }

    /// Of the body that the reservation belongs to.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.record.fingerprint
    }

    /// Says what was made and how it was answered. Once this has returned, both are durable, and every repeat gets them.
    ///
    /// # Errors
    /// `IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the name over: nothing is changed, and
    /// [`Error::resource`] names what the winner made, once it has completed, so that the loser can undo its own. With the
    /// reason `ended` this object has ended the reservation before, and there is nothing to undo.
    /// `IDEMPOTENCY_ANSWER_TOO_LARGE` and those of the store: the reservation is still held, and the call may be
    /// repeated.
    pub fn complete(&mut self, resource: &str, answer: &[u8]) -> Result<()> {
        self.complete_within(resource, answer, None)
    }

    /// As [`Reservation::complete`], with a deadline.
    ///
    /// # Errors
    /// As [`Reservation::complete`].
    pub fn complete_within(
        &mut self,
        resource: &str,
        answer: &[u8],
        deadline: Option<Duration>,
    ) -> Result<()> {
        let limit = self.store.options().max_answer_bytes;
        if answer.len() > limit {
            let message =
                format!("the answer is too large to be saved, bytes=`{}` limit=`{limit}`", answer.len());
            return Err(Error::new(Code::IdempotencyAnswerTooLarge, message));
        }
        if resource.is_empty() {
            let message = "the id of what was made is not empty";
            return Err(Error::new(Code::IdempotencyInput, message).with_reason("resource"));
        }
        let was_committing = self.state == Held::Completing(resource.to_owned());
        let finished = |now: Stamp| ClaimRecord {
            token: self.record.token,
            fingerprint: self.record.fingerprint,
            state: ClaimState::Finished {
                resource: resource.to_owned(),
                answer: Some(answer.to_vec()),
                completed_ms: now.wall_ms,
                window_ms: whole_ms(self.store.options().window),
            },
        };
        let ended = match self.replace(deadline, &finished) {
            Ok(true) => Ok(()),
            Ok(false) => self.change(deadline, was_committing, &mut |_, _, now| Change::Put(finished(now))),
            Err(error) => Err(error),
        };
        match &ended {
            Ok(()) => self.end(),
            Err(error) if error.reason() == Some("commit") => {
                self.state = Held::Completing(resource.to_owned())
            }
            Err(error) => self.lose(error),
        }
        ended
    }

    /// Says that nothing outside exists: the next create with this key, and any body, may make the thing. Once this has
    /// returned, that is durable. After an end by this object it does nothing.
    ///
    /// # Errors
    /// `IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the name over; nothing is changed. Those of the store: it
    /// is still held.
    pub fn release(&mut self) -> Result<()> {
        self.release_within(None)
    }

    /// As [`Reservation::release`], with a deadline.
    ///
    /// # Errors
    /// As [`Reservation::release`].
    pub fn release_within(&mut self, deadline: Option<Duration>) -> Result<()> {
        if self.state == Held::Ended {
            return Ok(());
        }
        let ended = self.change(deadline, false, &mut |_, _, _| Change::Remove);
        match &ended {
            Ok(()) => self.end(),
            Err(error) => self.lose(error),
        }
        ended
    }

    /// Says that an effect which a retry could double may happen from now on. Once this has returned, that is durable: no
    /// exception, drop, crash or takeover releases the name any more, until [`Reservation::complete`],
    /// [`Reservation::release`] or a settlement. It counts as a refresh.
    ///
    /// # Errors
    /// `IDEMPOTENCY_CLAIM_LOST`; those of the store. After any of them the effect must not be started.
    pub fn effect_starting(&mut self) -> Result<()> {
        self.effect_starting_within(None)
    }

    /// As [`Reservation::effect_starting`], with a deadline.
    ///
    /// # Errors
    /// As [`Reservation::effect_starting`].
    pub fn effect_starting_within(&mut self, deadline: Option<Duration>) -> Result<()> {
        self.refresh(deadline, true)
    }

    /// Says that its owner is still at work, so that nobody who cannot prove it takes the name over for another two
    /// minutes. Once this has returned, that is durable.
    ///
    /// # Errors
    /// `IDEMPOTENCY_CLAIM_LOST`; those of the store.
    pub fn keep_alive(&mut self) -> Result<()> {
        self.keep_alive_within(None)
    }

    /// As [`Reservation::keep_alive`], with a deadline.
    ///
    /// # Errors
    /// As [`Reservation::keep_alive`].
    pub fn keep_alive_within(&mut self, deadline: Option<Duration>) -> Result<()> {
        self.refresh(deadline, false)
    }

    fn refresh(&mut self, deadline: Option<Duration>, marks: bool) -> Result<()> {
        let mut written = None;
        let refreshed = self.change(deadline, false, &mut |mut record, was_marked, now| {
            if let ClaimState::Reserved { is_marked, owner: Some(owner) } = &mut record.state {
                *is_marked = was_marked || marks;
                // A mark does not set an owner back whose last refresh was stamped by a clock that ran ahead.
                if !marks || now.wall_ms >= owner.refreshed.wall_ms {
                    owner.refreshed = now;
                }
            }
            written = Some(record.clone());
            Change::Put(record)
        });
        match (&refreshed, written) {
            (Err(error), _) => self.lose(error),
            (Ok(()), Some(written)) => self.record = written,
            (Ok(()), None) => {}
        }
        refreshed
    }

    /// Remembers a loss. What this object has ended itself is not lost.
    fn lose(&mut self, error: &Error) {
        if error.code() == Code::IdempotencyClaimLost && self.state != Held::Ended {
            self.state = Held::Lost;
        }
    }

    /// Writes a record in the place of the one that this object wrote last, where that is what stands there, as it does
    /// nearly always. Where it does not, the answer is false, and [`Reservation::change`] finds out why.
    fn replace(&self, deadline: Option<Duration>, next: &dyn Fn(Stamp) -> ClaimRecord) -> Result<bool> {
        if self.state != Held::Open {
            return Ok(false);
        }
        let mut make = || next(Stamp::now(&*self.store.host().clock));
        self.store.engine().replace(&self.name, &mut self.store.patience(deadline), &self.record, &mut make)
    }

    /// Changes the claim in one transaction if the token on disk is this one's. `was_committing`: a finished claim with
    /// this token is what a commit of unknown fate wrote.
    fn change(
        &self,
        deadline: Option<Duration>,
        was_committing: bool,
        next: &mut dyn FnMut(ClaimRecord, bool, Stamp) -> Change,
    ) -> Result<()> {
        let mut verdict = None;
        let mut patience = self.store.patience(deadline);
        self.store.engine().change(&self.name, &mut patience, &mut |found| {
            let (change, said) = match found {
                Some(record) if record.token == self.record.token => match record.state {
                    ClaimState::Reserved { is_marked, owner: Some(_) } if self.is_open() => {
                        let now = Stamp::now(&*self.store.host().clock);
                        (next(record, is_marked, now), Verdict::Done)
                    }
                    ClaimState::Finished { .. } if was_committing => (Change::Keep, Verdict::Done),
                    ClaimState::Finished { resource, .. } => (Change::Keep, Verdict::Lost(Some(resource))),
                    ClaimState::Reserved { .. } => (Change::Keep, Verdict::Lost(None)),
                },
                Some(ClaimRecord { state: ClaimState::Finished { resource, .. }, .. }) => {
                    (Change::Keep, Verdict::Lost(Some(resource)))
                }
                _ => (Change::Keep, Verdict::Lost(None)),
            };
            verdict = Some(said);
            change
        })?;
        match verdict {
            Some(Verdict::Done) => Ok(()),
            Some(Verdict::Lost(resource)) if self.state == Held::Ended => {
                let message = "the reservation was ended before by its own complete or release";
                let error = Error::new(Code::IdempotencyClaimLost, message).with_reason("ended");
                Err(error
                    .with_remedy("end a reservation once; there is nothing to undo")
                    .with_resource(resource))
            }
            Some(Verdict::Lost(resource)) => {
                let message = "the reservation is not this one's any more";
                Err(Error::new(Code::IdempotencyClaimLost, message).with_resource(resource))
            }
            None => Err(Error::new(Code::Internal, "an engine committed without a decision")),
        }
    }

    fn is_open(&self) -> bool {
        !matches!(self.state, Held::Ended | Held::Lost)
    }

    fn end(&mut self) {
        self.state = Held::Ended;
        self.store.engine().announce();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_open() {
            return;
        }
        let deadline = Some(self.store.options().busy.min(LONGEST_DROP));
        let given_up = self.change(deadline, false, &mut |mut record, is_marked, _| {
            if !is_marked {
                return Change::Remove;
            }
            if let ClaimState::Reserved { owner, .. } = &mut record.state {
                *owner = None;
            }
            Change::Put(record)
        });
        // Where it failed, the claim is left to the judgement of its owner's fate.
        if given_up.is_ok() {
            self.end();
        }
    }
}
