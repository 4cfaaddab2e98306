//! The invariants, each by seeded random sequences of operations over the real code and a simulated disk.
//!
//! A failing seed is in the panic's message; `GALLIVANT_SEED` runs one seed alone.

use gallivant_core::harness_state::{
    Ask, BlockedOn, Claimant, Heartbeat, InputBuffer, Observation, Options, Outcome, Reader, Record, State,
    Writer, WriterIdentity, claim, claim_wrapperless, decode,
};
use gallivant_core::random::Random;
use gallivant_core::testing::{SeededRandom, Simulation, simulated_host};

const SEEDS: u64 = 60;
const STEPS: u32 = 120;
const RECORD: &str = "/agent/harness-state";
const FLOOR: &str = "/agent/.harness-state.seq";

fn seeds() -> Vec<u64> {
    match std::env::var("GALLIVANT_SEED") {
        Ok(seed) => vec![seed.parse().expect("GALLIVANT_SEED is a number")],
        Err(_) => (1..=SEEDS).collect(),
    }
}

/// What one run has seen.
struct Run {
    simulation: Simulation,
    dice: SeededRandom,
    options: Options,
    writers: Vec<Writer>,
    highest_claim: u64,
    claims: u32,
    seed: u64,
}

/// What stood before and after one step, and what the step was.
struct Step {
    what: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    /// The sequence of the session whose write landed, where one did.
    landed: Option<u64>,
    /// Somebody outside the rules changed the files.
    outside: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let (_, simulation) = simulated_host(seed);
        simulation.files.plant_directory("/agent").expect("planted");
        simulation.files.set_gains_by_exchange(seed.is_multiple_of(2));
        let options = Options::default();
        let dice = SeededRandom::new(seed ^ 0x5eed);
        Run { simulation, dice, options, writers: Vec::new(), highest_claim: 0, claims: 0, seed }
    }

    fn roll(&self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    fn reader(&self) -> Reader {
        Reader::open("/agent", &self.options, &self.simulation.host())
    }

    fn record(&self) -> Option<Record> {
        self.simulation.files.contents(RECORD).ok().and_then(|bytes| decode(&bytes).ok())
    }

    fn floor_is_readable(&self) -> bool {
        let text = self.simulation.files.contents(FLOOR).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_some_and(|text| text.trim().parse::<u64>().is_ok())
    }

    fn observation(&self) -> Observation {
        let states = [State::Ready, State::Idle, State::Active, State::Ended];
        let mut observation = Observation::new(states[self.roll(4) as usize]);
        if self.roll(4) == 0 {
            observation = observation.blocked_on_human([Ask::None, Ask::Permission][self.roll(2) as usize]);
        }
        observation.input_buffer = [InputBuffer::Unknown, InputBuffer::Empty][self.roll(2) as usize];
        observation.exit = (self.roll(6) == 0).then(|| "exit 0".to_owned());
        observation
    }

    fn step(&mut self) -> Step {
        self.simulation.clock.advance(std::time::Duration::from_millis(self.roll(400_000)));
        let before = self.simulation.files.contents(RECORD).ok();
        let mut step = Step { what: String::new(), before, after: None, landed: None, outside: false };
        match self.roll(12) {
            0 | 1 => self.claim(&mut step),
            2 => self.damage(&mut step),
            3 => {
                let jump = self.roll(200_000);
                let wall = gallivant_core::clock::Clock::wall_ms(&*self.simulation.clock);
                let to = if self.roll(2) == 0 { wall + jump } else { wall - jump };
                self.simulation.clock.set_wall_ms(to);
                step.what = "the clock steps".to_owned();
            }
            _ => self.write(&mut step),
        }
        step.after = self.simulation.files.contents(RECORD).ok();
        step
    }

    fn claim(&mut self, step: &mut Step) {
        self.claims += 1;
        let token = format!("{}tok-{}", ["", "claude-session-"][self.roll(2) as usize], self.claims);
        let claimant = Claimant { agent: "a".to_owned(), harness: "codex".to_owned(), token: token.clone() };
        let host = self.simulation.host();
        let claimed = if token.starts_with("claude") && self.roll(2) == 0 {
            claim_wrapperless("/agent", &claimant, &self.options, &host).expect("no error")
        } else {
            Some(claim("/agent", &claimant, &self.options, &host).expect("no error"))
        };
        let Some(claimed) = claimed else {
            return step.what = "a wrapperless claim finds the seat taken".to_owned();
        };
        step.what = format!("claim {}", claimed.sequence);
        step.landed = Some(claimed.sequence);
        let adopted = (self.roll(3) != 0).then_some(claimed.sequence);
        let identity = WriterIdentity {
            agent: "a".to_owned(),
            harness: "codex".to_owned(),
            pty_session: Some("p".to_owned()),
            token,
        };
        self.writers.push(Writer::open("/agent", identity, adopted, &self.options, &host).expect("a writer"));
    }

    fn write(&mut self, step: &mut Step) {
        if self.writers.is_empty() {
            return step.what = "nobody is there".to_owned();
        }
        let writer = &self.writers[self.roll(self.writers.len() as u64) as usize];
        let landed = match self.roll(6) {
            0 => {
                writer.interrupt();
                step.what = "interrupt".to_owned();
                false
            }
            1 => {
                step.what = "heartbeat".to_owned();
                matches!(writer.heartbeat().expect("no error"), Heartbeat::Landed { .. })
            }
            2 => {
                step.what = "observe unless ended".to_owned();
                writer.observe_unless_ended(&self.observation()).expect("no error").outcome == Outcome::Landed
            }
            _ => {
                step.what = "observe".to_owned();
                writer.observe(&self.observation()).expect("no error").outcome == Outcome::Landed
            }
        };
        step.landed = landed.then(|| self.record().expect("it has just landed").seq);
        step.what = format!("{} of {:?}", step.what, writer.sequence());
    }

    /// Somebody or something damages the record or the floor, never both: then nothing could be promised.
    fn damage(&mut self, step: &mut Step) {
        step.outside = true;
        let damaged: &[u8] = [&b"{"[..], b"", b"\0\0\0", b"[]"][self.roll(4) as usize];
        let record_is_readable = self.record().is_some();
        match self.roll(4) {
            0 if self.floor_is_readable() => {
                step.what = "the record is damaged".to_owned();
                self.simulation.files.plant_file(RECORD, damaged).expect("planted");
            }
            1 if self.floor_is_readable() && record_is_readable => {
                step.what = "the record is removed".to_owned();
                self.simulation.files.unplant(RECORD).expect("removed");
            }
            2 if record_is_readable => {
                step.what = "the floor is damaged".to_owned();
                self.simulation.files.plant_file(FLOOR, damaged).expect("planted");
            }
            _ => {
                step.what = "nothing is damaged".to_owned();
                step.outside = false;
            }
        }
    }
}

/// Runs every seed and judges every step.
fn for_each_step(judge: impl Fn(&mut Run, &Step)) {
    for seed in seeds() {
        let mut run = Run::new(seed);
        for number in 0..STEPS {
            let step = run.step();
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(&mut run, &step)));
            if let Err(panic) = judged {
                eprintln!("seed {seed}, step {number}: {}", step.what);
                std::panic::resume_unwind(panic);
            }
        }
        assert!(run.claims > 0, "seed {} does nothing", run.seed);
    }
}

#[test]
fn hsi_1_no_write_of_a_lower_sequence_lands_after_a_claim() {
    for_each_step(|run, step| {
        if let Some(sequence) = step.landed {
            assert!(sequence >= run.highest_claim, "{} after {}: {}", sequence, run.highest_claim, step.what);
        }
        if step.what.starts_with("claim") {
            run.highest_claim = step.landed.expect("a claim lands");
        }
    });
}

#[test]
fn hsi_2_no_two_claims_get_the_same_sequence() {
    for_each_step(|run, step| {
        if step.what.starts_with("claim") {
            let sequence = step.landed.expect("a claim lands");
            assert!(sequence > run.highest_claim, "{sequence} again");
            run.highest_claim = sequence;
        }
    });
}

#[test]
fn hsi_3_nothing_definite_is_derived_from_missing_evidence() {
    for_each_step(|run, step| {
        let derived = run.reader().read(None);
        match (&step.after, derived) {
            (None, derived) => assert_eq!(derived, None),
            (Some(bytes), Some(derived)) => match decode(bytes) {
                Err(_) => assert_eq!(derived.state, State::Unknown),
                Ok(record) if derived.state != State::Unknown => {
                    assert_eq!(derived.state, record.state.value);
                    assert_eq!(derived.blocked_on, record.blocked_on.value);
                    assert!(!record.is_placeholder());
                }
                Ok(_) => assert_eq!(derived.blocked_on, BlockedOn::Unknown),
            },
            (Some(_), None) => panic!("something stands there"),
        }
    });
}

#[test]
fn hsi_4_transitions_and_stamps_never_fall() {
    for_each_step(|run, step| {
        if step.outside || step.landed.is_none() {
            return;
        }
        let Some(before) = step.before.as_deref().and_then(|bytes| decode(bytes).ok()) else { return };
        let after = run.record().expect("it landed");
        assert!(after.transitions >= before.transitions);
        let now = gallivant_core::clock::Clock::wall_ms(&*run.simulation.clock);
        let trusted = before.written_at_ms <= now + run.options.future_skew_ms;
        assert!(after.written_at_ms > before.written_at_ms || (!trusted && after.written_at_ms == now));
    });
}

#[test]
fn a_step_that_lands_nothing_leaves_the_record_as_it_was() {
    for_each_step(|_, step| {
        if !step.outside && step.landed.is_none() {
            assert_eq!(step.before, step.after, "{}", step.what);
        }
    });
}
