//! The machine as JavaScript hands it around: the real one, or one that a test controls.

use std::path::Path;
use std::sync::Arc;

use gallivant_core::Host;
use gallivant_core::execution::Faults;
use gallivant_core::harness_state::mint_token;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::Answer;
use crate::harness_state::ProcessParts;
use crate::options::{OptionParts, options};
use crate::waiting::{NativeWait, PatientClock, Wait};

/// A host whose clock lets the calls on libuv's pool wait in slices.
#[napi]
#[derive(Debug)]
pub struct NativeHost {
    pub(crate) host: Host,
    pub(crate) seams: Seams,
}

/// What a test puts into the execution layer besides its host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seams {
    /// The same number for every wait after a failure.
    pub(crate) jitter: Option<f64>,
    /// The points at which something goes wrong.
    pub(crate) faults: Option<Arc<dyn Faults>>,
}

impl NativeHost {
    pub(crate) fn over(host: &Host, seams: Seams) -> Self {
        let clock = Arc::new(PatientClock::new(Arc::clone(&host.clock)));
        NativeHost { host: Host { clock, ..host.clone() }, seams }
    }
}

#[napi]
impl NativeHost {
    /// The real machine.
    #[napi(catch_unwind)]
    pub fn system() -> NativeHost {
        NativeHost::over(&Host::system(), Seams::default())
    }

    /// Begins a call that waits for a lock for as long as the options say; for at most `at_most_ms` where given.
    #[napi(catch_unwind)]
    pub fn begin_wait(&self, parts: OptionParts, at_most_ms: Option<u32>) -> Answer<NativeWait> {
        Answer::of(|| {
            let wait = options(&parts)?.lock_wait;
            let limit = at_most_ms.map(|ms| std::time::Duration::from_millis(u64::from(ms)));
            let wait = limit.map_or(wait, |limit| limit.min(wait));
            Ok(NativeWait { wait: Arc::new(Wait::begin(&self.host.clock, wait)) })
        })
    }

    /// The path from the root, so that what is begun here is done here, whatever the working directory is by then. A
    /// path for which there is none stays as it is; the core says what is wrong with it.
    #[napi(catch_unwind)]
    pub fn absolute(&self, path: String) -> String {
        let absolute = self.host.files.absolute(Path::new(&path)).ok();
        absolute.and_then(|absolute| absolute.to_str().map(str::to_owned)).unwrap_or(path)
    }

    /// Milliseconds since 1970.
    #[napi(catch_unwind)]
    pub fn wall_ms(&self) -> BigInt {
        self.host.clock.wall_ms().into()
    }

    /// A fresh session token.
    #[napi(catch_unwind)]
    pub fn mint_token(&self) -> Answer<String> {
        Answer::of(|| Ok(mint_token(&self.host)))
    }

    /// The identity of a process that runs now, or null.
    #[napi(catch_unwind)]
    pub fn identify_process(&self, pid: u32) -> Answer<Option<ProcessParts>> {
        Answer::of(|| Ok(self.host.processes.identify(pid).map(ProcessParts::from)))
    }
}
