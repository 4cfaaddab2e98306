//! Hosts: where clock, chance, process facts and disk come from.

use gallivant_core::Host;
use gallivant_core::testing::TestHost;

use crate::barrier::answer;
use crate::handle::{self, Handle};

/// Where the library takes time, chance, facts about processes and the disk from. NULL, wherever a host is asked for,
/// is the real machine; `gallivant_testing_host_new` makes one that a test controls.
///
/// Threads: any number at once. Free it with `gallivant_host_free`.
#[derive(Debug)]
pub struct gallivant_host {
    pub(crate) test: TestHost,
}

impl Handle for gallivant_host {}

/// Frees the host. NULL is allowed. What was opened with it goes on using it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_host_free(host: *mut gallivant_host) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(host) });
}

/// The host behind an argument that may be null.
///
/// # Safety
/// `host` is null or a handle of this library.
pub(crate) unsafe fn host_or_system(host: *const gallivant_host) -> Host {
    // SAFETY: the same contract.
    unsafe { host.as_ref() }.map_or_else(Host::system, |host| host.test.host().clone())
}
