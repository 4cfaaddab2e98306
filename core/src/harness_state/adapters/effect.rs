//! What an event says about the turn, and what that makes of the record.

use super::super::observation::{Ask, BlockedOn, Observation, State};
use super::event::ChildStep;

/// The reason of an idle turn that an error of the provider ended.
pub(super) const STOP_FAILURE: &str = "stop-failure";

/// The reason of an idle turn that a person interrupted.
pub(super) const INTERRUPTED: &str = "interrupted";

/// The exit of every ending that a hook tells of: it is the session's end as the harness sees it, not a process's
/// exit status, which only the wrapper knows.
const SESSION_END: &str = "session end";

/// The reasons that say that a compaction runs, and what it interrupted. The record is the only memory that two
/// hook processes share, so what has to be restored is written into it.
const COMPACTING: &str = "compacting";
const COMPACTING_IDLE: &str = "compacting-idle";
const COMPACTING_READY: &str = "compacting-ready";
/// Stands between such a reason and the one that was interrupted, where there was one.
const REMEMBERS: &str = ": ";

/// What an event says about the turn. Plain data; [`Effect::resolve`] says what is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The session has begun and nothing was asked of it yet.
    Ready,
    /// The harness waits for a prompt.
    Idle,
    /// The harness waits for a prompt because the turn ended otherwise than by itself.
    IdleBecause(&'static str),
    /// The harness reminds that it still waits for a prompt.
    StillIdle,
    /// The turn goes on and waits for nobody.
    Active,
    /// The turn waits for a person.
    Asking(Ask),
    /// The harness reminds that it still waits for a permission. It sends the same reminder where the tool that
    /// waits is itself a question or a plan.
    StillAsking,
    /// Something that a person was asked for is done, at a time of its own: possibly after the turn.
    Answered,
    /// A compaction begins, in a turn or between two.
    Compacting,
    /// The compaction is over.
    Compacted,
    /// The session is over, for this reason.
    Ended(&'static str),
    /// Some turn is complete, and nothing typed tells whether it was the session's own.
    SomeTurnComplete,
    /// Nothing.
    Nothing(Ignored),
}

/// What an event comes to, given what stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// This is observed.
    Observe(Observation),
    /// Nothing is observed.
    Nothing(Ignored),
}

/// Why an event is no observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ignored {
    /// The harness does not document the event.
    UnknownEvent,
    /// A notification of a type that the harness does not document.
    UnknownNotification,
    /// A notification without a type. Its text is not consulted.
    UntypedNotification,
    /// A subagent's own event.
    ChildEvent,
    /// The event is known to leave the turn as it is.
    NoChange,
    /// A notify call, where hooks of the same session tell better.
    UnattributedNotify,
}

impl Ignored {
    /// Every value.
    pub const ALL: &'static [Ignored] = &[
        Ignored::UnknownEvent,
        Ignored::UnknownNotification,
        Ignored::UntypedNotification,
        Ignored::ChildEvent,
        Ignored::NoChange,
        Ignored::UnattributedNotify,
    ];

    /// The stable word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Ignored::UnknownEvent => "unknown-event",
            Ignored::UnknownNotification => "unknown-notification",
            Ignored::UntypedNotification => "untyped-notification",
            Ignored::ChildEvent => "child-event",
            Ignored::NoChange => "no-change",
            Ignored::UnattributedNotify => "unattributed-notify",
        }
    }

    /// Whether it is to be counted: a notification that might have meant something and was not understood.
    #[must_use]
    pub const fn is_counted(self) -> bool {
        matches!(self, Ignored::UnknownNotification | Ignored::UntypedNotification)
    }
}

impl Effect {
    /// What is observed where `prior` stands in the session's record; none where nothing stands there. Depends on
    /// nothing else. What is observed always passes [`Observation::validate`] for a writer with a pty session.
    ///
    /// Whether a late event may still follow an ending is not decided here but by the write.
    #[must_use]
    pub fn resolve(&self, prior: Option<&Observation>) -> Resolution {
        Resolution::Observe(match *self {
            Effect::Ready => Observation::new(State::Ready),
            Effect::Idle => Observation::new(State::Idle),
            Effect::IdleBecause(reason) => Observation::new(State::Idle).with_reason(reason),
            Effect::StillIdle => still_idle(prior),
            Effect::Active => Observation::new(State::Active),
            Effect::Asking(ask) => asking(ask),
            Effect::StillAsking => match prior {
                // The more precise ask stays: the reminder for a question calls it a permission too.
                Some(prior) if asks_for(prior, &[Ask::Question, Ask::Review]) => prior.clone(),
                _ => asking(Ask::Permission),
            },
            Effect::Answered => match prior {
                Some(prior) if prior.state == State::Idle => return Resolution::Nothing(Ignored::NoChange),
                _ => Observation::new(State::Active),
            },
            Effect::Compacting => compacting(prior),
            Effect::Compacted => match prior.and_then(interrupted_by_compaction) {
                Some(stood) => stood,
                None => return Resolution::Nothing(Ignored::NoChange),
            },
            Effect::Ended(reason) => Observation::ended(Some(SESSION_END)).with_reason(reason),
            Effect::SomeTurnComplete => match prior {
                Some(Observation { state: State::Ready | State::Idle, .. }) => still_idle(prior),
                _ => return Resolution::Nothing(Ignored::UnattributedNotify),
            },
            Effect::Nothing(ignored) => return Resolution::Nothing(ignored),
        })
    }

    /// What the effect says of a subagent that is a session of its own and whose turn this is; none where it says
    /// nothing of it, or may come when it is done.
    pub(super) fn step(&self) -> Option<ChildStep> {
        match self {
            Effect::Ready => Some(ChildStep::Started),
            Effect::Active
            | Effect::Asking(_)
            | Effect::StillAsking
            | Effect::Compacting
            | Effect::Compacted => Some(ChildStep::Working),
            Effect::Idle
            | Effect::IdleBecause(_)
            | Effect::StillIdle
            | Effect::Ended(_)
            | Effect::SomeTurnComplete => Some(ChildStep::Stopped),
            Effect::Answered | Effect::Nothing(_) => None,
        }
    }
}

/// Idle as it stands, with its reason, where it stands; a reminder is no news.
fn still_idle(prior: Option<&Observation>) -> Observation {
    match prior {
        Some(prior)
            if prior.state == State::Idle
                && prior.blocked_on == BlockedOn::None
                && prior.ask == Ask::None =>
        {
            prior.clone()
        }
        _ => Observation::new(State::Idle),
    }
}

fn asking(ask: Ask) -> Observation {
    Observation::new(State::Active).blocked_on_human(ask)
}

fn asks_for(prior: &Observation, asks: &[Ask]) -> bool {
    prior.state == State::Active && prior.blocked_on == BlockedOn::Human && asks.contains(&prior.ask)
}

/// Active, with a reason that remembers what stood; the other axes stay as they stand. A second start of the same
/// compaction keeps the first's.
fn compacting(prior: Option<&Observation>) -> Observation {
    let Some(prior) = prior.filter(|prior| prior.state.is_live()) else {
        return Observation::new(State::Active).with_reason(COMPACTING);
    };
    if interrupted_by_compaction(prior).is_some() {
        return writable(prior);
    }
    let marker = match prior.state {
        State::Idle => COMPACTING_IDLE,
        State::Ready => COMPACTING_READY,
        _ => COMPACTING,
    };
    let reason = match &prior.reason {
        Some(reason) => format!("{marker}{REMEMBERS}{reason}"),
        None => marker.to_owned(),
    };
    Observation { state: State::Active, reason: Some(reason), ..writable(prior) }
}

/// What stands, without an ask that no writer could have observed: another program may have written it.
fn writable(prior: &Observation) -> Observation {
    let asked = prior.blocked_on == BlockedOn::Human && prior.ask != Ask::Unknown;
    Observation { ask: if asked { prior.ask } else { Ask::None }, ..prior.clone() }
}

/// What stood before the compaction that runs now; none when none runs.
fn interrupted_by_compaction(prior: &Observation) -> Option<Observation> {
    if prior.state != State::Active {
        return None;
    }
    let said = prior.reason.as_deref()?;
    let (marker, reason) = match said.split_once(REMEMBERS) {
        Some((marker, reason)) => (marker, Some(reason.to_owned())),
        None => (said, None),
    };
    let state = match marker {
        COMPACTING => State::Active,
        COMPACTING_IDLE => State::Idle,
        COMPACTING_READY => State::Ready,
        _ => return None,
    };
    Some(Observation { state, reason, ..writable(prior) })
}
