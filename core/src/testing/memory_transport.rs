//! A transport to a provider in memory, which does what it is asked and goes wrong as a test says.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::memory_provider::{Answer, MemoryJob, Provider};
use crate::clock::{Clock, SystemClock};
use crate::execution::contract::{ErrorKind, Methods};
use crate::execution::transport::{Transport, TransportCall, Witness};
use crate::execution::{Method, Nanos, ProviderState, TransportError};
use crate::host::Host;
use crate::json::Value;

/// What the provider of a [`MemoryTransport`] can do, as a capability record in JSON.
pub const MEMORY_CAPABILITY: &str = r#"{"provider":"memory","transport":"memory","location":"remote","newDispatch":{"available":true,"reason":null},"authentication":{"scheme":"none","secretNames":[]},"environments":{"required":false,"allowed":null},"models":"refused","policies":{"required":false,"allowed":[]},"preparation":{"version":1,"boundary":"memory:none","authority":"text-only","environment":"none"},"continuation":"native","observability":"events","cancel":true,"interrupt":false,"cost":{"reports":true,"hardCap":false},"qualification":null}"#;

/// How a call goes wrong. Those that reply otherwise, late or not at all have first done what they were asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// The reply is lost: the call fails with `io`.
    LoseReply,
    /// The call fails so, and nothing is done.
    Fail(TransportError),
    /// As [`Mishap::Fail`], after the transport has told that it begins to send.
    FailSending(TransportError),
    /// The reply comes so much later, or when the signal fires.
    Delay(Duration),
    /// The call does not return before [`MemoryTransport::release`], whatever its signal says.
    NeverReturn,
    /// The method panics.
    Panic,
    /// The reply is this text.
    Reply(String),
    /// The reply is an object of so many bytes.
    Oversized(usize),
    /// A member of the reply is this value instead: a foreign identity, a lie.
    Replace(&'static str, Value),
    /// An inspection shows all events once more.
    RepeatEvents,
    /// A job is made besides.
    MakeJob,
    /// A cancellation is counted besides.
    CancelAgain,
    /// A handle is left open.
    LeaveHandle,
    /// The transport goes on asking by itself, until [`MemoryTransport::release`].
    KeepAsking,
}

/// A provider and the transport to it. Cloning it gives the same one, as another process would reach it.
///
/// The provider makes one job for each idempotency key, and one cancellation for each job.
#[derive(Clone, Debug)]
pub struct MemoryTransport {
    clock: Arc<dyn Clock>,
    methods: Methods,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct State {
    provider: Provider,
    calls: Vec<Method>,
    requests: u64,
    handles: u64,
    once: Vec<(Method, Mishap)>,
    always: Vec<(Method, Mishap)>,
    is_released: bool,
}

impl MemoryTransport {
    /// A provider without jobs, whose times are those of the host's clock. The transport has every method.
    #[must_use]
    pub fn new(host: &Host) -> Self {
        MemoryTransport { clock: Arc::clone(&host.clock), methods: Methods::all(), shared: Arc::default() }
    }

    /// The same provider, through a transport that has only these methods.
    #[must_use]
    pub fn with_methods(&self, methods: Methods) -> Self {
        MemoryTransport { methods, ..self.clone() }
    }

    /// The next call of this method goes wrong. Several are taken in turn, one a call.
    pub fn next(&self, method: Method, mishap: Mishap) {
        self.state().once.push((method, mishap));
    }

    /// Every call of this method goes wrong that has no [`MemoryTransport::next`].
    pub fn always(&self, method: Method, mishap: Mishap) {
        self.state().always.push((method, mishap));
    }

    /// Lets every call return that does not, and ends what asks by itself.
    pub fn release(&self) {
        self.state().is_released = true;
        self.shared.released.notify_all();
    }

    /// The methods that were called, in their order.
    #[must_use]
    pub fn calls(&self) -> Vec<Method> {
        self.state().calls.clone()
    }

    /// How many jobs were made.
    #[must_use]
    pub fn creates(&self) -> usize {
        self.state().provider.jobs.len()
    }

    /// The jobs, in the order in which they were made.
    #[must_use]
    pub fn jobs(&self) -> Vec<MemoryJob> {
        self.state().provider.jobs.clone()
    }

    /// Adds an event to the job of this root turn, with the next number of it. False where there is no such job.
    pub fn emit(&self, turn_id: &str, kind: &str, data: Value) -> bool {
        let now = self.clock.wall_ms();
        self.change(turn_id, |job| {
            let number = job.events.len() as u64 + 1;
            let members = [
                ("eventId", Value::from(format!("{}-e-{number}", job.turn_id))),
                ("sequence", number.into()),
                ("type", kind.into()),
                ("timestamp", now.into()),
                ("data", data),
            ];
            job.events.push(Value::Object(members.into_iter().collect()));
        })
    }

    /// Puts the job of this root turn into a state. False where there is no such job.
    pub fn set_state(&self, turn_id: &str, state: ProviderState) -> bool {
        self.change(turn_id, |job| job.state = state)
    }

    /// Reports what was spent on the job of this root turn. False where there is no such job.
    pub fn report_cost(&self, turn_id: &str, cost: Nanos) -> bool {
        self.change(turn_id, |job| job.cost = Some(cost))
    }

    /// Ends the job of this root turn now: it has succeeded or failed, with this text. False where there is no such job.
    pub fn finish(&self, turn_id: &str, ok: bool, text: &str) -> bool {
        let now = self.clock.wall_ms();
        self.change(turn_id, |job| {
            job.state = if ok { ProviderState::Succeeded } else { ProviderState::Failed };
            job.completed_at = Some(now);
            job.text = Some(text.to_owned());
        })
    }

    fn change(&self, turn_id: &str, change: impl FnOnce(&mut MemoryJob)) -> bool {
        self.state().provider.job(turn_id).map(change).is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, method: Method) -> Option<Mishap> {
        let mut state = self.state();
        state.calls.push(method);
        state.requests += 1;
        if let Some(at) = state.once.iter().position(|(of, _)| *of == method) {
            return Some(state.once.remove(at).1);
        }
        state.always.iter().find(|(of, _)| *of == method).map(|(_, mishap)| mishap.clone())
    }

    fn perform(&self, call: &TransportCall, repeat: bool) -> Answer {
        let now = self.clock.wall_ms();
        let provider = &mut self.state().provider;
        match call.method {
            Method::Prepare => Ok(provider.prepare()),
            Method::Submit | Method::Continue => {
                call.sending();
                Ok(provider.dispatch(call))
            }
            Method::Inspect => provider.inspect(call, now, repeat),
            Method::Collect => provider.collect(call),
            Method::Cancel => provider.cancel(call, now),
            Method::Lookup => Ok(provider.lookup(call, now)),
            Method::RecoverResponse => Ok(provider.recover(call)),
        }
    }

    fn wait_for_release(&self) {
        let wait = |state| self.shared.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        while !state.is_released {
            state = wait(state);
        }
    }

    fn sleep(&self, length: Duration, call: &TransportCall) {
        let end = self.clock.awake().saturating_add(length);
        while self.clock.awake() < end && !call.signal.is_aborted() {
            self.clock.sleep(Duration::from_millis(1));
        }
    }

    fn keep_asking(&self) {
        let shared = Arc::clone(&self.shared);
        let ask = move || loop {
            SystemClock.sleep(Duration::from_millis(5));
            let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_released {
                return;
            }
            state.requests += 1;
        };
        thread::spawn(ask);
    }
}

impl Transport for MemoryTransport {
    fn methods(&self) -> Methods {
        self.methods
    }

    fn call(&self, call: &TransportCall) -> Result<String, TransportError> {
        let mishap = self.begin(call.method);
        match &mishap {
            Some(Mishap::Fail(error)) => return Err(error.clone()),
            Some(Mishap::FailSending(error)) => {
                call.sending();
                return Err(error.clone());
            }
            Some(Mishap::Panic) => panic!("a scripted panic"),
            _ => {}
        }
        let mut reply = self.perform(call, mishap == Some(Mishap::RepeatEvents))?;
        match mishap {
            Some(Mishap::LoseReply) => {
                return Err(TransportError::of(ErrorKind::Io, "the connection was lost"));
            }
            Some(Mishap::Delay(length)) => self.sleep(length, call),
            Some(Mishap::NeverReturn) => self.wait_for_release(),
            Some(Mishap::Reply(text)) => return Ok(text),
            Some(Mishap::Oversized(bytes)) => {
                // 11 bytes are around the text.
                return Ok(format!(r#"{{"more":"{}"}}"#, "x".repeat(bytes.saturating_sub(11))));
            }
            Some(Mishap::Replace(name, value)) => {
                if let Value::Object(members) = &mut reply {
                    members.insert(name, value);
                }
            }
            Some(Mishap::MakeJob) => {
                let key = [("idempotencyKey", Value::from(format!("besides-{}", self.creates())))];
                let besides = TransportCall::new(
                    Method::Submit,
                    key.into_iter().collect(),
                    call.deadline_at_ms,
                    call.limits,
                );
                self.state().provider.dispatch(&besides);
            }
            Some(Mishap::CancelAgain) => self.state().provider.cancellations += 1,
            Some(Mishap::LeaveHandle) => self.state().handles += 1,
            Some(Mishap::KeepAsking) => self.keep_asking(),
            Some(Mishap::Fail(_) | Mishap::FailSending(_) | Mishap::Panic | Mishap::RepeatEvents) | None => {}
        }
        Ok(reply.to_json())
    }
}

impl Witness for MemoryTransport {
    fn requests(&self) -> u64 {
        self.state().requests
    }

    fn jobs(&self) -> u64 {
        self.creates() as u64
    }

    fn cancellations(&self) -> u64 {
        self.state().provider.cancellations
    }

    fn open_handles(&self) -> u64 {
        self.state().handles
    }
}
