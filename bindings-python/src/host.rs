//! Which machine a call runs on: the real one, or a test's.

use std::sync::Arc;

use gallivant_core::Host;
use pyo3::prelude::*;

use crate::call::InterruptibleClock;
use crate::testing::TestHost;

/// The core's host for an optional `host` argument, with waits that signals and cancellation end.
pub(crate) fn host_of(given: Option<&Bound<'_, TestHost>>) -> Host {
    given.map_or_else(|| interruptible(Host::system()), |host| interruptible(host.get().host()))
}

fn interruptible(host: Host) -> Host {
    Host { clock: Arc::new(InterruptibleClock(Arc::clone(&host.clock))), ..host }
}
