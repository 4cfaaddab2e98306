//! Stops that race: a stop of one coordinator beside a dispatch, a pass, a collection or a stop of another one, in every order
//! that the locks allow. It comes before the other call, at one of its fault points, while its question is out, or after it; its
//! replies are lost, the clock steps, and a process dies beside it. The races with a publication come with publication.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use gallivant_core::execution::ledger::record::CancellationStatus;
use gallivant_core::execution::{Boundary, FaultAnswer, Faults, Machine, Step, keys};
use gallivant_core::testing::Simulation;
use serde_json::json;

use crate::boundary::{ROOT, boundary, dispatch_input, no_abort, object, options};
use crate::provider::input_of;
use crate::world::World;

/// A call that has begun, by its name, and what its first step came to.
type Begun = (&'static str, Machine, Step);
/// What happens at a point, which it is told.
type Happening = Box<dyn FnOnce(&str) + Send>;

/// Lets something happen at the nth point of a call, in the middle of its step.
struct AtPoint {
    left: Mutex<u64>,
    happens: Mutex<Option<Happening>>,
}

impl fmt::Debug for AtPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AtPoint").finish_non_exhaustive()
    }
}

impl Faults for AtPoint {
    fn at(&self, point: &str) -> FaultAnswer {
        let mut left = self.left.lock().expect("no panic while it is held");
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some(happens) = self.happens.lock().expect("no panic while it is held").take()
        {
            happens(point);
        }
        FaultAnswer::Go
    }
}

/// When the stop comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    /// At this fault point of the other call, counted from 1.
    Point(u64),
    Question,
    After,
}

/// A race, to its end, and what it came by.
pub(crate) fn race(seed: u64) -> BTreeMap<String, u64> {
    let mut world = World::new(seed);
    let other = ["submit", "pass", "collect", "stop"][world.dice(4)];
    world.prepared(other);
    let place = match world.below(8) {
        0 => Place::Before,
        1..5 => Place::Point(1 + world.below(14)),
        5 | 6 => Place::Question,
        _ => Place::After,
    };
    let dies = world.below(4) == 0;
    world.tell(format!("{other} and a stop"));
    world.steps_clock();
    if place == Place::Before {
        let stop = world.stop(1);
        world.driven(1, stop, None);
    }
    let arrived = Arc::new(Mutex::new(None));
    let racing = match place {
        Place::Point(point) => world.racing(point, dies, &arrived),
        _ => world.processes[0].boundary.clone(),
    };
    let begun = begin(call(&racing, other));
    world.driven(0, begun, (place == Place::Question).then_some(()));
    if let Some((point, begun)) = arrived.lock().expect("no panic while it is held").take() {
        world.tell(format!("at {point}"));
        world.driven(1, begun, None);
    } else if matches!(place, Place::Point(_) | Place::After) {
        let stop = world.stop(1);
        world.driven(1, stop, None);
    }
    world.revived();
    world.steps_clock();
    if world.below(3) == 0 {
        world.tell("both stop it");
        let stop = world.stop(0);
        world.driven(0, stop, None);
    }
    if dies {
        world.tell("a process died");
        world.restart(0);
    }
    world.stopped_for_good();
    world.reached()
}

fn begin((name, mut machine): (&'static str, Machine)) -> Begun {
    let step = machine.start();
    (name, machine, step)
}

fn call(boundary: &Boundary, other: &str) -> (&'static str, Machine) {
    match other {
        "submit" => ("submit", boundary.submit(object(&dispatch_input("op-1")), no_abort())),
        "pass" => ("startup", boundary.startup(no_abort())),
        "collect" => {
            let run = keys::run_id("t-1", "prov", "acct", "op-1");
            ("collect", boundary.collect(run, no_abort()))
        }
        _ => {
            let input = json!({"reason": "enough", "controlId": "c-0"});
            ("cancel", boundary.cancel(object(&input), no_abort()))
        }
    }
}

/// One of the stops, under a control of its own or under the other coordinator's.
fn stop_of(boundary: &Boundary, kind: u64, control: u64) -> (&'static str, Machine) {
    let input = object(&json!({"reason": "enough", "controlId": format!("c-{control}")}));
    let reason = object(&json!({"reason": "enough"}));
    match kind {
        0 | 1 => ("cancel", boundary.cancel(input, no_abort())),
        2 | 3 => ("requestCancel", boundary.request_cancel(input, no_abort())),
        4 => ("preparationStop", boundary.preparation_stop(reason, no_abort())),
        _ => ("timeoutStop", boundary.timeout_stop(object(&json!({})), no_abort())),
    }
}

fn is_stop(name: &str) -> bool {
    matches!(name, "cancel" | "requestCancel" | "preparationStop" | "timeoutStop")
}

impl World {
    fn dice(&self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).expect("small")
    }

    fn steps_clock(&mut self) {
        match self.below(4) {
            0 => self.advance(1 + self.below(700_000)),
            1 => {
                let back = self.now() - 1 - self.below(100_000);
                self.tell("clock back");
                self.processes[0].machine.clock.set_wall_ms(back);
            }
            _ => {}
        }
    }

    /// What stands before the race: nothing, a run that is live, or one whose result could not be collected yet.
    fn prepared(&mut self, other: &str) {
        if other == "submit" {
            return;
        }
        let begun = begin(call(&self.processes[0].boundary, "submit"));
        self.driven(0, begun, None);
        let key = self.provider.jobs.keys().next().expect("a job").clone();
        let (events, state) = (
            self.dice(5),
            if other == "collect" { ["succeeded", "failed"][self.dice(2)] } else { "running" },
        );
        let now = self.now();
        self.provider.goes_on(&key, events, state, now);
        if other == "collect" {
            self.advance(60_000);
            let mut machine = self.processes[0].boundary.startup(no_abort());
            let mut step = machine.start();
            while let Step::Call(call) = step {
                let now = self.now();
                let fed = match call.method {
                    "collect" => crate::boundary::Fed::error("io"),
                    _ => crate::boundary::Fed::value(&self.provider.answer(&call, now)),
                };
                let crate::boundary::Fed::Reply(reply) = fed else { unreachable!("both are replies") };
                step = machine.reply(call.id, reply).expect("outstanding");
            }
        }
        self.check();
    }

    fn stop(&self, process: usize) -> Begun {
        begin(stop_of(&self.processes[process].boundary, self.below(6), self.below(2)))
    }

    /// The first coordinator's boundary, at a point of whose next call the second one stops the task, and the first dies where it
    /// is to.
    fn racing(&self, point: u64, dies: bool, arrived: &Arc<Mutex<Option<(String, Begun)>>>) -> Boundary {
        let (second, kind, control) = (self.processes[1].boundary.clone(), self.below(6), self.below(2));
        let (arrived, first) = (Arc::clone(arrived), self.processes[0].machine.clone());
        let happens = move |point: &str| {
            let begun = begin(stop_of(&second, kind, control));
            *arrived.lock().expect("no panic while it is held") = Some((point.to_owned(), begun));
            if dies {
                first.kill();
            }
        };
        let faults = AtPoint { left: Mutex::new(point), happens: Mutex::new(Some(Box::new(happens))) };
        let machine: &Simulation = &self.processes[0].machine;
        boundary(ROOT, &options(), &machine.host(), Arc::new(faults))
    }

    /// Takes a call to its end. While its first question is out, the other coordinator stops the task where that is wanted.
    fn driven(&mut self, process: usize, (name, mut machine, mut step): Begun, mut beside: Option<()>) {
        loop {
            if self.processes[process].machine.files.is_dead() {
                self.tell("process crashed");
                return;
            }
            let call = match step {
                Step::Done(outcome) => {
                    self.is_stopped |= outcome.is_ok() && is_stop(name);
                    let word = outcome.as_ref().map_or_else(|error| error.code().name(), |_| "ok");
                    self.tell(format!("{name}:{word}"));
                    break;
                }
                Step::Call(call) => call,
            };
            self.handed_out(&call);
            if beside.take().is_some() {
                self.tell("at a question");
                let stop = self.stop(1 - process);
                self.driven(1 - process, stop, None);
            }
            self.asked_to_stop(&call);
            let now = self.now();
            let said = self.provider.answer(&call, now);
            let is_lost = call.method == "cancel" && !self.hears_stops && self.below(3) == 0;
            let fed = if is_lost {
                self.tell("a stop's reply is lost");
                crate::boundary::Fed::error("io")
            } else {
                crate::boundary::Fed::value(&said)
            };
            let crate::boundary::Fed::Reply(reply) = fed else { unreachable!("both are replies") };
            step = machine.reply(call.id, reply).unwrap_or_else(|error| self.fail(&error.to_string()));
        }
        drop(machine);
        self.check();
    }

    /// Every stop of a run has the run's one key, whoever sends it.
    fn asked_to_stop(&self, call: &gallivant_core::execution::Call) {
        if call.method == "cancel" {
            let input = input_of(call);
            let run = input["runId"].as_str().unwrap_or_default();
            let key = keys::cancellation_key("t-1", "prov", "acct", run);
            if input["idempotencyKey"] != key {
                self.fail("a stop has another key");
            }
        }
    }

    /// A stop that was refused, because somebody had the lock, is asked for again, as a coordinator does; and whoever has died
    /// is started again.
    fn revived(&mut self) {
        if self.processes[0].machine.files.is_dead() {
            self.restart(0);
        }
        if !self.is_stopped {
            self.tell("a stop is asked for again");
            for control in 0..3 {
                let begun = begin(stop_of(&self.processes[1].boundary, control, 0));
                self.driven(1, begun, None);
            }
        }
        if !self.is_stopped {
            self.fail("no stop is accepted while nobody has the lock");
        }
    }

    /// I11 and I12, after everybody was heard: the fence stands, nothing is dispatched, and the job is stopped as far as its
    /// provider stops jobs.
    fn stopped_for_good(&mut self) {
        for hears_stops in [false, true] {
            self.hears_stops = hears_stops;
            self.advance(700_000);
            let process = self.dice(2);
            let begun = begin(call(&self.processes[process].boundary, "pass"));
            self.driven(process, begun, None);
        }
        let Some(ledger) = self.ledger() else { self.fail("a stop without a ledger") };
        if ledger.stop_fence.is_none() {
            self.fail("a stop is forgotten");
        }
        let asked: u32 = self.provider.creates.values().sum();
        let begun =
            begin(("submit", self.processes[0].boundary.submit(object(&dispatch_input("op-9")), no_abort())));
        self.driven(0, begun, None);
        if self.provider.creates.values().sum::<u32>() != asked {
            self.fail("a dispatch after a stop");
        }
        let confirms = self.provider.confirms;
        for (key, job) in &self.provider.jobs {
            let operation = ledger.operations.records().find(|operation| operation.idempotency_key == *key);
            let Some(operation) = operation else { self.fail(&format!("{job:?} is lost")) };
            let run = ledger.executions.get(&operation.run_id).expect("its run");
            let status = run.cancellation.as_ref().map(|stop| stop.status);
            if confirms && !job.is_over() {
                self.fail(&format!("{job:?} is not stopped: {status:?}"));
            }
            if status == Some(CancellationStatus::Confirmed) && !job.has_confirmed {
                self.fail("a stop is confirmed that nobody has confirmed");
            }
        }
    }
}
