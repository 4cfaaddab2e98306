//! A machine that a test controls, for JavaScript.

use std::sync::Arc;

use gallivant_core::execution::Faults;
use gallivant_core::testing::{TestHost, TestHostOptions};
use gallivant_core::{Code, Error, Result};
use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::Answer;
use crate::bell::Bell;
use crate::execution::{NativePauses, script};
use crate::host::{NativeHost, Seams};
use crate::job::{Promised, promise};
use crate::options::unsigned;
use crate::waiting::{NativeWait, Patience};

/// The real disk behind a clock, chance and faults that a test sets.
#[napi]
#[derive(Debug)]
pub struct NativeTestHost {
    inner: TestHost,
    seams: Seams,
}

#[napi]
impl NativeTestHost {
    /// Makes one.
    #[napi(catch_unwind)]
    pub fn open(
        wall_ms: Option<BigInt>,
        random: Vec<BigInt>,
        faults_json: Option<String>,
        machine: Option<String>,
        boot: Option<String>,
    ) -> Answer<NativeTestHost> {
        Answer::of(|| {
            let wall_ms = wall_ms.map(|wall_ms| unsigned("wallMs", &wall_ms)).transpose()?;
            let random = random.iter().map(|value| unsigned("random", value)).collect::<Result<_>>()?;
            let options = TestHostOptions {
                wall_ms,
                random,
                faults_json: faults_json.as_deref(),
                machine: machine.as_deref(),
                boot: boot.as_deref(),
            };
            Ok(NativeTestHost { inner: TestHost::new(options)?, seams: Seams::default() })
        })
    }

    /// Puts a number in the place of the chance in the waits of the execution layer, and a script of its fault points; the
    /// bell rings for each pause. Only hosts that are made afterwards have them.
    #[napi(catch_unwind)]
    pub fn set_seams(
        &mut self,
        env: Env,
        jitter: Option<f64>,
        script_json: Option<String>,
        bell: Bell,
    ) -> Answer<NativePauses> {
        Answer::of(|| {
            let (faults, pauses) = script(&env, script_json.as_deref().unwrap_or("[]"), bell)?;
            self.seams = Seams { jitter, faults: Some(Arc::new(faults) as Arc<dyn Faults>) };
            Ok(pauses)
        })
    }

    /// The host to hand to the code under test.
    #[napi(catch_unwind)]
    pub fn host(&self) -> NativeHost {
        NativeHost::over(self.inner.host(), self.seams.clone())
    }

    /// Puts the wall clock there.
    #[napi(catch_unwind)]
    pub fn set_wall_ms(&self, wall_ms: BigInt) -> Answer<bool> {
        Answer::of(|| {
            self.inner.set_wall_ms(unsigned("wallMs", &wall_ms)?);
            Ok(true)
        })
    }

    /// Puts all clocks by which something is stamped and judged there, the machine having slept for so long.
    #[napi(catch_unwind)]
    pub fn stand_at(&self, wall_ms: BigInt, slept_ms: BigInt) -> Answer<bool> {
        Answer::of(|| {
            self.inner.stand_at(unsigned("wallMs", &wall_ms)?, unsigned("sleptMs", &slept_ms)?);
            Ok(true)
        })
    }

    /// Lets time pass, or sets the wall clock back.
    #[napi(catch_unwind)]
    pub fn advance_ms(&self, ms: i64) -> Answer<bool> {
        Answer::of(|| {
            self.inner.advance_ms(ms);
            Ok(true)
        })
    }

    /// Replaces the faults.
    #[napi(catch_unwind)]
    pub fn set_faults(&self, json: String) -> Answer<bool> {
        Answer::of(|| {
            self.inner.set_faults(&json)?;
            Ok(true)
        })
    }

    /// The storage operations so far, a line each.
    #[napi(catch_unwind)]
    pub fn operations(&self) -> Answer<Vec<String>> {
        Answer::of(|| Ok(self.inner.operations()))
    }
}

/// A bug on the calling thread, inside the module's own barrier.
#[napi(catch_unwind)]
pub fn panic_sync(message: String) -> Answer<bool> {
    Answer::of(|| panic!("{message}"))
}

/// A bug on the calling thread, with nothing but `catch_unwind` around it.
#[napi(catch_unwind)]
pub fn panic_bare(message: String) -> bool {
    panic!("{message}")
}

/// A bug on a worker.
#[napi(catch_unwind)]
pub fn panic_async(message: String, wait: &NativeWait) -> Promised<bool> {
    promise(wait, Patience::OneTry, move || -> Result<bool> {
        if message.is_empty() {
            return Err(Error::new(Code::Input, "a panic needs a message"));
        }
        panic!("{message}")
    })
}
