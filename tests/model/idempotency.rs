//! Random interleavings of idempotent creates against a plain model of their specification.
//!
//! Three processes of one machine and one of another use one key with two bodies: they begin, mark, refresh, complete,
//! release, drop, look, recreate and settle, are killed and started again, while time passes. After each step the answer
//! is what the model says, so that IKI-1 to IKI-3 hold: at most one create is out, no other scope's claim is read, and
//! every begin terminates.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::idempotency::{
    Begin, FinishedClaim, IdempotencyStore, MemoryClaims, Reservation, StoreOptions, Ticket, UnknownClaim,
};
use gallivant_core::testing::{ManualClock, SimulatedProcesses};
use gallivant_core::{Error, Host};

use crate::operation::Dice;

const BODIES: [&[u8]; 2] = [b"{}", b"{ }"];
const WINDOW_MS: u64 = 600_000;
const TAKEOVER_MS: u64 = 120_000;
const STRANGER: usize = 3;
const PROCESSES: usize = 4;

/// What the specification says of the one key.
#[derive(Clone, Debug, PartialEq)]
enum Claim {
    Free,
    Held { token: u64, owner: Option<(usize, u64)>, body: usize, is_marked: bool, refreshed: u64 },
    Done { token: u64, body: usize, resource: String, answer: Option<Vec<u8>>, at: u64 },
}

/// What a process has in its hands, with what the model knows of it.
enum Hand {
    Reservation(Reservation, u64),
    Claim(FinishedClaim, u64, usize),
    Ticket(Ticket, usize),
    Unknown(UnknownClaim, u64, usize),
}

struct Process {
    store: IdempotencyStore,
    life: u64,
    hands: Vec<Hand>,
}

struct World {
    clock: Arc<ManualClock>,
    machines: [SimulatedProcesses; 2],
    memory: Arc<MemoryClaims>,
    directory: Option<tempfile::TempDir>,
    processes: Vec<Process>,
    claim: Claim,
    now: u64,
    tokens: u64,
    lives: u64,
}

impl World {
    fn new(on_disk: bool) -> World {
        let machines = [SimulatedProcesses::new(1, 1), SimulatedProcesses::new(1, 1)];
        machines[1].set_host("far");
        machines[1].set_boot("another");
        let now = 1_800_000_000_000;
        let clock = Arc::new(ManualClock::new(now));
        clock.stand_at(now, Duration::ZERO);
        let mut world = World {
            clock,
            machines,
            memory: MemoryClaims::new(),
            directory: on_disk.then(|| tempfile::tempdir().expect("a directory")),
            processes: Vec::new(),
            claim: Claim::Free,
            now,
            tokens: 0,
            lives: 100,
        };
        for index in 0..PROCESSES {
            let process = world.start(index);
            world.processes.push(process);
        }
        world
    }

    fn start(&mut self, index: usize) -> Process {
        self.lives += 1;
        let pid = 1000 + u32::try_from(index).expect("few");
        let machine = &self.machines[usize::from(index == STRANGER)];
        let host = Host {
            clock: Arc::clone(&self.clock) as _,
            processes: Arc::new(machine.as_process(pid, self.lives)),
            ..Host::system()
        };
        let options = StoreOptions { window: Duration::from_millis(WINDOW_MS), ..StoreOptions::default() };
        let store = match &self.directory {
            Some(directory) => {
                IdempotencyStore::open(directory.path().join("idempotency.db"), &options, &host)
            }
            None => IdempotencyStore::with_engine(Arc::clone(&self.memory) as _, &options, &host),
        };
        Process { store: store.expect("it opens"), life: self.lives, hands: Vec::new() }
    }

    /// Killed and started again under the same pid: what it held is neither given back nor remembered.
    fn kill(&mut self, index: usize) {
        let fresh = self.start(index);
        let killed = std::mem::replace(&mut self.processes[index], fresh);
        for hand in killed.hands {
            if let Hand::Reservation(reservation, _) = hand {
                std::mem::forget(reservation);
            }
        }
    }

    fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    fn hold(&mut self, index: usize, body: usize) -> Claim {
        let (token, life) = (self.token(), self.processes[index].life);
        Claim::Held { token, owner: Some((index, life)), body, is_marked: false, refreshed: self.now }
    }

    /// Whether the owner's reservation has to be honoured, as the asking process sees it.
    fn holds(&self, owner: Option<(usize, u64)>, refreshed: u64, asker: usize) -> bool {
        let Some((index, life)) = owner else { return false };
        if (index == STRANGER) == (asker == STRANGER) {
            return self.processes[index].life == life;
        }
        self.now.saturating_sub(refreshed) < TAKEOVER_MS
    }

    /// What a begin answers, and what stands there then.
    fn begin(&mut self, index: usize, body: usize, after: Option<&'static str>) -> (String, Claim) {
        let stands = self.claim.clone();
        let free = |how: &str| format!("create:{how}");
        match &stands {
            Claim::Free => (free(after.unwrap_or("fresh")), self.hold(index, body)),
            Claim::Done { at, .. } if self.now.checked_sub(*at).is_some_and(|age| age >= WINDOW_MS) => {
                (free("expired"), self.hold(index, body))
            }
            Claim::Held { is_marked: false, owner, refreshed, .. }
                if !self.holds(*owner, *refreshed, index) =>
            {
                (free("taken-over"), self.hold(index, body))
            }
            Claim::Done { body: first, .. } | Claim::Held { body: first, .. } if *first != body => {
                ("IDEMPOTENCY_KEY_REUSED".to_owned(), stands)
            }
            Claim::Done { .. } => (format!("replay:{}", after.unwrap_or("replayed")), stands),
            Claim::Held { owner, refreshed, .. } if self.holds(*owner, *refreshed, index) => {
                (format!("in_progress:{}", after.unwrap_or("fresh")), stands)
            }
            Claim::Held { .. } => (format!("unknown:{}", after.unwrap_or("fresh")), stands),
        }
    }

    /// Compares an answer with what was expected, and takes it into the process's hands.
    fn take(
        &mut self,
        index: usize,
        body: usize,
        got: Result<Begin, Error>,
        expected: (String, Claim),
    ) -> Result<String, String> {
        let said = match &got {
            Ok(begin) => format!("{}:{}", begin.word(), begin.how().word()),
            Err(error) => error.code().name().to_owned(),
        };
        if said != expected.0 {
            return Err(format!("answered {said}, the model says {}", expected.0));
        }
        self.claim = expected.1;
        let token = match &self.claim {
            Claim::Held { token, .. } | Claim::Done { token, .. } => *token,
            Claim::Free => 0,
        };
        if let (Ok(Begin::Replay(claim)), Claim::Done { resource, answer, .. }) = (&got, &self.claim)
            && (claim.resource() != resource || claim.answer() != answer.as_deref())
        {
            return Err(format!("replayed {claim:?}, the model says {resource} {answer:?}"));
        }
        let hand = match got {
            Ok(Begin::Create(reservation)) => Hand::Reservation(reservation, token),
            Ok(Begin::Replay(claim)) => Hand::Claim(claim, token, body),
            Ok(Begin::InProgress(ticket)) => Hand::Ticket(ticket, body),
            Ok(Begin::Unknown(claim)) => Hand::Unknown(claim, token, body),
            Err(_) => return Ok(said),
        };
        self.processes[index].hands.push(hand);
        Ok(said)
    }

    fn is_held_by(&self, token: u64) -> bool {
        matches!(&self.claim, Claim::Held { token: held, owner: Some(_), .. } if *held == token)
    }

    /// What the owner of a lost reservation is told.
    fn lost(&self) -> String {
        match &self.claim {
            Claim::Done { resource, .. } => format!("IDEMPOTENCY_CLAIM_LOST {resource}"),
            _ => "IDEMPOTENCY_CLAIM_LOST ".to_owned(),
        }
    }

    fn use_hand(&mut self, index: usize, hand: Hand, dice: &Dice, step: usize) -> Result<String, String> {
        match hand {
            Hand::Reservation(mut reservation, token) => {
                let is_held = self.is_held_by(token);
                let resource = format!("r-{step}");
                let what = dice.below(6);
                let (said, next): (std::result::Result<(), Error>, &str) = match what {
                    0 | 1 => (reservation.complete(&resource, resource.as_bytes()), "complete"),
                    2 => (reservation.release(), "release"),
                    3 => (reservation.effect_starting(), "mark"),
                    4 => (reservation.keep_alive(), "refresh"),
                    _ => {
                        drop(reservation);
                        if is_held && let Claim::Held { is_marked, owner, .. } = &mut self.claim {
                            if *is_marked {
                                *owner = None;
                            } else {
                                self.claim = Claim::Free;
                            }
                        }
                        return Ok("dropped".to_owned());
                    }
                };
                let told = match said {
                    Ok(()) => "ok".to_owned(),
                    Err(error) => format!("{} {}", error.code().name(), error.resource().unwrap_or_default()),
                };
                let expected = if is_held { "ok".to_owned() } else { self.lost() };
                if told != expected {
                    return Err(format!("{next}: told {told}, the model says {expected}"));
                }
                if is_held {
                    let now = self.now;
                    let fresh = self.token();
                    match (&mut self.claim, next) {
                        (Claim::Held { body, .. }, "complete") => {
                            let answer = Some(resource.clone().into_bytes());
                            self.claim = Claim::Done { token: fresh, body: *body, resource, answer, at: now };
                        }
                        (_, "release") => self.claim = Claim::Free,
                        (Claim::Held { is_marked, refreshed, .. }, "mark") => {
                            *is_marked = true;
                            *refreshed = now.max(*refreshed);
                        }
                        (Claim::Held { refreshed, .. }, _) => *refreshed = now,
                        _ => {}
                    }
                }
                if is_held && (next == "mark" || next == "refresh") {
                    self.processes[index].hands.push(Hand::Reservation(reservation, token));
                }
                Ok(format!("{next} {told}"))
            }
            Hand::Ticket(ticket, body) => {
                let expected = self.begin(index, body, Some("waited"));
                let got = ticket.look();
                self.take(index, body, got, expected)
            }
            Hand::Claim(claim, token, body) => {
                // A finished claim is named by the token of its completion.
                let is_mine = matches!(&self.claim, Claim::Done { token: done, .. } if *done == token);
                let expected = if is_mine {
                    ("create:recreated".to_owned(), self.hold(index, body))
                } else {
                    self.begin(index, body, None)
                };
                let got = claim.recreate();
                self.take(index, body, got, expected)
            }
            Hand::Unknown(claim, token, body) => {
                let is_unknown = match &self.claim {
                    Claim::Held { token: held, owner, is_marked: true, refreshed, .. } => {
                        *held == token && !self.holds(*owner, *refreshed, index)
                    }
                    _ => false,
                };
                let found = (dice.below(2) == 0).then(|| format!("s-{step}"));
                let expected = match (&found, is_unknown) {
                    (_, false) => self.begin(index, body, None),
                    (None, true) => ("create:settled".to_owned(), self.hold(index, body)),
                    (Some(resource), true) => {
                        let token = self.token();
                        let done = Claim::Done {
                            token,
                            body,
                            resource: resource.clone(),
                            answer: None,
                            at: self.now,
                        };
                        ("replay:settled".to_owned(), done)
                    }
                };
                let got = claim.settle(found.as_deref());
                self.take(index, body, got, expected)
            }
        }
    }

    fn step(&mut self, dice: &Dice, step: usize) -> Result<String, String> {
        let index = usize::try_from(dice.below(PROCESSES as u64)).expect("few");
        match dice.below(20) {
            0 => {
                self.kill(index);
                Ok("killed".to_owned())
            }
            1 | 2 => {
                let steps = [1, 1_000, 60_000, TAKEOVER_MS - 1, TAKEOVER_MS, WINDOW_MS];
                self.now += steps[usize::try_from(dice.below(steps.len() as u64)).expect("few")];
                self.clock.stand_at(self.now, Duration::ZERO);
                Ok("time passed".to_owned())
            }
            3 => {
                let is_expired = matches!(&self.claim, Claim::Done { at, .. } if self.now - at >= WINDOW_MS);
                let removed = self.processes[index].store.sweep().expect("it sweeps").removed;
                if removed != u64::from(is_expired) {
                    return Err(format!("swept {removed}, the model says {is_expired}"));
                }
                if is_expired {
                    self.claim = Claim::Free;
                }
                Ok(format!("swept {removed}"))
            }
            4..=9 => {
                let body = usize::from(dice.below(8) == 0);
                let expected = self.begin(index, body, None);
                let got =
                    self.processes[index].store.begin("things.create", &["org", "ws"], "k", BODIES[body]);
                self.take(index, body, got, expected)
            }
            _ => {
                let hands = self.processes[index].hands.len() as u64;
                if hands == 0 {
                    return Ok("idle".to_owned());
                }
                let chosen = usize::try_from(dice.below(hands)).expect("few");
                let hand = self.processes[index].hands.swap_remove(chosen);
                self.use_hand(index, hand, dice, step)
            }
        }
    }
}

/// Everything that the interleavings of these seeds answered.
pub(crate) fn run_all(seeds: impl Iterator<Item = u64>, steps: usize, on_disk: bool) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for seed in seeds {
        let dice = Dice::new(seed);
        let mut world = World::new(on_disk);
        let mut trace = Vec::new();
        for step in 0..steps {
            match world.step(&dice, step) {
                Ok(said) => {
                    seen.insert(said.split(' ').next().unwrap_or_default().to_owned());
                    trace.push(said);
                }
                Err(difference) => {
                    let last = &trace[trace.len().saturating_sub(20)..];
                    panic!(
                        "GALLIVANT_SEED={seed} step {step}: {difference}; {:?}; before: {last:?}",
                        world.claim
                    );
                }
            }
        }
        // Killed, so that dropping the world gives nothing back.
        (0..PROCESSES).for_each(|index| world.kill(index));
    }
    seen
}
