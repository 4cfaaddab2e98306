//! One sequence on both sides, compared after each step, and the shortest part of it that still differs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::machine::{FLOOR, Machine, RECORD};
use crate::operation::{Foreign, Operation, Planted, PlantedFloor, Silent};
use crate::record::{OTHER_SCHEMA, Record, SCHEMA};
use crate::specification::{Model, Numbers, PREFIX, Stands, Voice};

/// How long no answer that changes by time alone lasts.
const AGES_MS: u64 = 100 * 365 * 24 * 3_600_000;

/// Runs a sequence; everything that was answered and derived, so that one can see what was reached.
///
/// # Errors
/// The first difference, in a line.
pub(crate) fn run(seed: u64, operations: &[Operation]) -> Result<BTreeSet<String>, String> {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let mut both = Both::new(seed);
        for (number, operation) in operations.iter().enumerate() {
            both.step(number, operation)
                .map_err(|difference| format!("step {number}, {operation:?}: {difference}"))?;
        }
        Ok(both.seen)
    }));
    attempt.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(format!("a panic: {}", text.as_deref().or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
    })
}

/// Leaves out whatever is not needed for a difference.
pub(crate) fn shortest(seed: u64, operations: &[Operation]) -> Vec<Operation> {
    let mut kept = operations.to_vec();
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(start..(start + size).min(kept.len()));
            if run(seed, &fewer).is_err() {
                kept = fewer;
            } else {
                start += size;
            }
        }
        size /= 2;
    }
    kept
}

struct Both {
    model: Model,
    machine: Machine,
    seen: BTreeSet<String>,
    starts: u64,
}

impl Both {
    fn new(seed: u64) -> Self {
        let machine = Machine::new(seed);
        Both { model: Model::new(machine.now()), machine, seen: BTreeSet::new(), starts: 0 }
    }

    fn step(&mut self, number: usize, operation: &Operation) -> Result<(), String> {
        let (expected, found) = self.perform(number, operation);
        equal("the answer", &expected, &found)?;
        self.seen.insert(expected);
        equal("the clocks", &self.model.now, &self.machine.now())?;
        for (path, expected) in [(RECORD, &self.model.bytes), (FLOOR, &self.model.floor)] {
            let text = |bytes: &Option<Vec<u8>>| {
                bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            equal(path, &text(expected), &text(&self.machine.contents(path)))?;
        }
        for extension in [true, false] {
            // Two probes that prove nothing bad answer alike, so one a step is enough.
            let harmless = ["alive", "indeterminate"][number % 2];
            for probe in [None, Some("dead"), Some(harmless)] {
                self.compare_readers(extension, probe)?;
            }
        }
        Ok(())
    }

    fn compare_readers(&mut self, extension: bool, probe: Option<&'static str>) -> Result<(), String> {
        let with = format!("what a reader derives, extension={extension} probe={probe:?}");
        let expected = self.model.read(&self.model.now, extension, probe);
        let (found, valid_until) = self.machine.read(extension, probe);
        equal(&with, &expected, &found)?;
        let at = |later_ms: u64| {
            let mut then = self.model.now.clone();
            then.advance(later_ms);
            self.model.read(&then, extension, probe)
        };
        // HS-90: until then the answer stands, and then it does not.
        match valid_until {
            None => equal(&format!("{with}, for ever"), &expected, &at(AGES_MS))?,
            Some(until) => {
                let left = until.checked_sub(self.model.now.wall).filter(|left| *left > 0);
                let left = left.ok_or_else(|| format!("{with}: the answer was valid until {until}"))?;
                equal(&format!("{with}, just before {until}"), &expected, &at(left - 1))?;
                if at(left) == expected {
                    return Err(format!("{with}: the answer stays the same at {until}"));
                }
            }
        }
        let words: Vec<&str> = expected.split(' ').collect();
        self.seen.insert(format!("read {}", if words[0] == "unknown" { words[6] } else { words[0] }));
        Ok(())
    }

    fn perform(&mut self, number: usize, operation: &Operation) -> (String, String) {
        let (model, machine) = (&mut self.model, &mut self.machine);
        let both = |word: &str| (word.to_owned(), word.to_owned());
        match operation {
            Operation::Advance(ms) => {
                model.now.advance(*ms);
                machine.simulation.clock.advance(Duration::from_millis(*ms));
                both("time passes")
            }
            Operation::Sleep(ms) => {
                model.now.sleep(*ms);
                machine.simulation.clock.suspend(Duration::from_millis(*ms));
                both("the machine sleeps")
            }
            Operation::StepWall(ms) => {
                model.now.wall = model.now.wall.saturating_add_signed(*ms);
                machine.simulation.clock.set_wall_ms(model.now.wall);
                both("the wall clock steps")
            }
            Operation::Reboot => {
                machine.reboot();
                // Which boot it is, and where its clocks begin, is the machine's to say.
                model.now = crate::record::Now { wall: model.now.wall, ..machine.now() };
                model.session = None;
                model.running.clear();
                for voice in &mut model.voices {
                    (voice.sequence, voice.interrupted) = (voice.adopted, false);
                }
                both("a reboot")
            }
            Operation::OtherHost => {
                model.now.host = other(&model.now.host, ["simulated-host", "other-host"]);
                machine.simulation.processes.set_host(&model.now.host);
                both("another machine")
            }
            Operation::OtherPidNamespace => {
                let names = ["pid:[4026531836]", "pid:[4026532999]"];
                model.now.pid_namespace = other(&model.now.pid_namespace, names);
                machine.simulation.processes.set_pid_namespace(&model.now.pid_namespace);
                both("another pid namespace")
            }
            Operation::ProcessEnds(pid) => {
                model.running.remove(pid);
                machine.simulation.processes.end(*pid);
                both("a process ends")
            }
            Operation::Claim { wrapperless_token, opened } => {
                let token = next_token(model, *wrapperless_token);
                (model.claim(&token, *opened), machine.claim(&token, *opened, false))
            }
            Operation::ClaimWrapperless { good_token, opened } => {
                let token = next_token(model, *good_token);
                (model.claim_wrapperless(&token, *opened), machine.claim(&token, *opened, true))
            }
            Operation::StartSession { opened } => {
                let token = next_token(model, false);
                let opened = crate::operation::Opened { adopts: true, ..*opened };
                let expected = model.claim(&token, opened);
                model.session = expected.starts_with("claimed").then(|| model.voices.len() - 1);
                (expected, machine.start_session(&token, opened))
            }
            Operation::Attach(pid) => {
                if !model.running.contains_key(pid) {
                    self.starts += 1;
                    model.running.insert(*pid, self.starts);
                    machine.simulation.processes.start(*pid, self.starts);
                }
                model.attach(*pid);
                machine.attach(*pid);
                both("attached")
            }
            Operation::Sibling { of, opened } => {
                let Some(of) = model.who(*of) else { return both("nobody is there") };
                let Voice { token, adopted, .. } = model.voices[of].clone();
                let adopted = adopted.filter(|_| opened.adopts);
                machine.open(&token, adopted, *opened);
                let opened = *opened;
                model.voices.push(Voice {
                    token,
                    adopted,
                    sequence: adopted,
                    opened,
                    interrupted: false,
                    event: None,
                });
                both("a sibling")
            }
            Operation::SilentHook { who, event } => {
                if model.who(*who).is_none() {
                    return both("nobody is there");
                }
                let expected = match event {
                    Silent::Display => "no-change",
                    Silent::UnknownNotification => "unknown-notification",
                    Silent::UnknownEvent => "unknown-event",
                };
                (expected.to_owned(), machine.deed(operation).expect("somebody is there"))
            }
            Operation::OvertakenHook { who, event, by_ms, meanwhile } => {
                let Some(who) = model.who(*who) else { return both("nobody is there") };
                if matches!(**meanwhile, Operation::SilentHook { .. }) {
                    return both("nothing happens meanwhile");
                }
                let happened = model.now.boot;
                model.now.advance(*by_ms);
                let between = model.deed(meanwhile).expect("a writer's deed");
                let answer = model.hook(who, *event, happened);
                let (late, found) = machine.overtaken(who, *event, *by_ms, meanwhile);
                self.seen.insert(answer.clone());
                (format!("{answer} after {between}"), format!("{late} after {found}"))
            }
            Operation::PlantRecord(planted) => {
                if let Some((stands, bytes)) = what_is_planted(model, planted) {
                    machine.plant(RECORD, bytes.as_deref(), number.is_multiple_of(2));
                    (model.stands, model.bytes) = (stands, bytes);
                }
                both("the record is damaged")
            }
            Operation::PlantFloor(planted) => {
                model.floor = match planted {
                    PlantedFloor::Nothing => None,
                    PlantedFloor::Text(text) => Some(text.as_bytes().to_vec()),
                    PlantedFloor::Above(above) => {
                        Some(model.highest().saturating_add_signed(*above).to_string().into_bytes())
                    }
                };
                machine.plant(FLOOR, model.floor.as_deref(), number.is_multiple_of(2));
                both("the floor is damaged")
            }
            _ => match (model.deed(operation), machine.deed(operation)) {
                (None, None) => both("nobody is there"),
                (expected, found) => (expected.unwrap_or_default(), found.unwrap_or_default()),
            },
        }
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}\n  the model: {expected:?}\n  the code:  {found:?}"))
}

fn other(present: &str, names: [&str; 2]) -> String {
    names.into_iter().find(|name| *name != present).expect("two names").to_owned()
}

fn next_token(model: &mut Model, wrapperless: bool) -> String {
    model.claims += 1;
    format!("{}tok-{}", if wrapperless { PREFIX } else { "" }, model.claims)
}

/// What stands after it, and its bytes; none where there is nothing to make it of.
fn what_is_planted(model: &Model, planted: &Planted) -> Option<(Stands, Option<Vec<u8>>)> {
    let ahead = |ms: i64| model.now.wall.saturating_add_signed(ms);
    Some(match planted {
        Planted::Nothing => (Stands::Nothing, None),
        Planted::Bytes(text) => (Stands::Unreadable(Numbers::default()), Some(text.as_bytes().to_vec())),
        Planted::Numbers { seq, transitions, stamp_ahead_ms } => {
            let stamp = ahead(*stamp_ahead_ms);
            let line =
                format!("{{\"seq\":{seq},\"transitions\":{transitions},\"writtenAtMs\":{stamp},\"x\":[]}}");
            let numbers = Numbers { seq: Some(*seq), transitions: Some(*transitions), stamp: Some(stamp) };
            (Stands::Unreadable(numbers), Some(line.into_bytes()))
        }
        Planted::OtherSchema { accepted } => {
            let Stands::Record(record) = &model.stands else { return None };
            let schema = if *accepted { OTHER_SCHEMA } else { "st9.harness-state.v1" };
            of_record(Record { schema: schema.to_owned(), ..Record::clone(record) })
        }
        Planted::Old(ago) => {
            let (stands, bytes) = model.history.get(model.history.len().checked_sub(1 + ago)?)?;
            (stands.clone(), Some(bytes.clone()))
        }
        Planted::Foreign(foreign) => {
            let Foreign {
                token,
                seq_above,
                state,
                blocked_on,
                reason,
                exit,
                stamp_ahead_ms,
                has_unknown_member,
            } = foreign;
            let token = match token {
                Ok(who) => model.voices[model.who(*who)?].token.clone(),
                Err(stranger) => (*stranger).to_owned(),
            };
            of_record(Record {
                schema: SCHEMA.to_owned(),
                harness: "other".to_owned(),
                state: (*state).to_owned(),
                blocked_on: (*blocked_on).to_owned(),
                input_buffer: "unknown".to_owned(),
                ask: "none".to_owned(),
                reason: reason.map(str::to_owned),
                exit: exit.map(str::to_owned),
                pty_session: (token != "stranger").then(|| "p".to_owned()),
                token,
                seq: model.highest().saturating_add_signed(*seq_above),
                since: ahead(*stamp_ahead_ms),
                stamp: ahead(*stamp_ahead_ms),
                transitions: 40,
                extension: None,
                has_unknown_member: *has_unknown_member,
            })
        }
    })
}

fn of_record(record: Record) -> (Stands, Option<Vec<u8>>) {
    let line = record.line();
    (Stands::Record(Box::new(record)), Some(line))
}
