//! Several processes of one or more simulated machines over one engine, under a clock that a test sets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gallivant_core::idempotency::{
    Begin, ClaimReader, ClaimView, FinishedClaim, IdempotencyStore, MemoryClaims, Reservation, StoreOptions,
    Ticket, UnknownClaim, read_claims,
};
use gallivant_core::testing::{ManualClock, SimulatedProcesses};
use gallivant_core::{Code, Host, Result};

/// Where the wall clock of each test begins.
pub(super) const NOW: u64 = 1_800_000_000_000;

/// The body of the creates that are alike.
pub(super) const BODY: &[u8] = b"{}";

pub(super) const OPERATION: &str = "things.create";
pub(super) const SCOPE: &[&str] = &["org", "ws"];
pub(super) const KEY: &str = "k-1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Memory,
}

pub(super) struct World {
    engine: Engine,
    root: tempfile::TempDir,
    memory: Arc<MemoryClaims>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) machine: SimulatedProcesses,
    pub(super) options: StoreOptions,
}

/// One process with its own store.
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) host: Host,
    pub(super) store: IdempotencyStore,
}

impl World {
    pub(super) fn new(engine: Engine) -> Self {
        World {
            engine,
            root: tempfile::tempdir().expect("a temporary directory"),
            memory: MemoryClaims::new(),
            clock: Arc::new(ManualClock::new(NOW)),
            machine: SimulatedProcesses::new(1, 1),
            options: StoreOptions::default(),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.path().join("idempotency.db")
    }

    /// A process of the machine, started under this pid.
    pub(super) fn process(&self, pid: u32) -> Process {
        self.process_of(&self.machine, pid)
    }

    /// A process of another machine that shares nothing with the first but the store.
    pub(super) fn stranger(&self, host: &str, pid: u32) -> Process {
        let machine = SimulatedProcesses::new(1, 1);
        machine.set_host(host);
        self.process_of(&machine, pid)
    }

    pub(super) fn process_of(&self, machine: &SimulatedProcesses, pid: u32) -> Process {
        let host = Host {
            clock: Arc::clone(&self.clock) as _,
            processes: Arc::new(machine.as_process(pid, u64::from(pid))),
            ..Host::system()
        };
        let store = self.open(&host).expect("the store opens");
        Process { pid, host, store }
    }

    pub(super) fn open(&self, host: &Host) -> Result<IdempotencyStore> {
        match self.engine {
            Engine::Sqlite => IdempotencyStore::open(self.path(), &self.options, host),
            Engine::Memory => {
                IdempotencyStore::with_engine(Arc::clone(&self.memory) as _, &self.options, host)
            }
        }
    }

    /// What reads every claim and changes none.
    pub(super) fn reader(&self, host: &Host) -> Box<dyn ClaimReader> {
        match self.engine {
            Engine::Sqlite => read_claims(self.path(), host).expect("it can be read"),
            Engine::Memory => Box::new(Arc::clone(&self.memory)),
        }
    }

    /// The process is gone, and what it held is not given back.
    pub(super) fn kill(&self, process: &Process, held: Option<Reservation>) {
        std::mem::forget(held);
        self.machine.end(process.pid);
    }

    pub(super) fn pass(&self, length: Duration) {
        self.clock.advance(length);
    }
}

impl Process {
    pub(super) fn begin(&self) -> Begin {
        self.begin_with(BODY).expect("an answer")
    }

    pub(super) fn begin_with(&self, body: &[u8]) -> Result<Begin> {
        self.store.begin(OPERATION, SCOPE, KEY, body)
    }

    pub(super) fn refused_with(&self, body: &[u8]) -> Code {
        self.begin_with(body).expect_err("it is refused").code()
    }

    pub(super) fn inspect(&self) -> Option<ClaimView> {
        self.store.inspect(OPERATION, SCOPE, KEY).expect("it can be looked at")
    }

    /// What stands there, in one word.
    pub(super) fn state(&self) -> &'static str {
        self.inspect().map_or("none", |claim| claim.state.word())
    }
}

/// What an answer was, with how it came about: `create:fresh`.
pub(super) fn word(begin: &Begin) -> String {
    format!("{}:{}", begin.word(), begin.how().word())
}

pub(super) fn created(begin: Begin) -> Reservation {
    match begin {
        Begin::Create(reservation) => reservation,
        other => panic!("{other:?} is no reservation"),
    }
}

pub(super) fn replayed(begin: Begin) -> FinishedClaim {
    match begin {
        Begin::Replay(claim) => claim,
        other => panic!("{other:?} is no replay"),
    }
}

pub(super) fn running(begin: Begin) -> Ticket {
    match begin {
        Begin::InProgress(ticket) => ticket,
        other => panic!("{other:?} is no ticket"),
    }
}

pub(super) fn unknown(begin: Begin) -> UnknownClaim {
    match begin {
        Begin::Unknown(claim) => claim,
        other => panic!("{other:?} is not unknown"),
    }
}

/// Tests that run over every engine: the same body, once a module.
macro_rules! over_every_engine {
    ($($(#[doc = $doc:literal])* fn $name:ident($world:ident: $kind:ty) $body:block)+) => {
        $($(#[doc = $doc])* fn $name($world: $kind) $body)+

        mod sqlite {
            $(#[test] fn $name() { super::$name($crate::idempotency::world::World::new($crate::idempotency::world::Engine::Sqlite)); })+
        }

        mod memory {
            $(#[test] fn $name() { super::$name($crate::idempotency::world::World::new($crate::idempotency::world::Engine::Memory)); })+
        }
    };
}
pub(super) use over_every_engine;
