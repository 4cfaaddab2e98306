//! `gallivant.ProcessIdentity`.

use gallivant_core::process;
use pyo3::prelude::*;

use crate::argument::Given;
use crate::call;
use crate::host::host_of;
use crate::testing::TestHost;
use crate::value::value;

value! {
    /// Names one process for ever. A pid alone names nobody, because it is used again.
    ProcessIdentity {
        /// Process id, as the process's own namespace counts.
        pid: u32,
        /// Start time in the unit of the system's process table (Linux: clock ticks since boot).
        start: u64,
        /// Identifies the boot of the machine; empty where the system does not tell.
        boot: String,
        /// Identifies the pid namespace; empty where the system does not tell.
        pid_namespace: String,
        /// Identifies the machine; empty where the system does not tell.
        host: String,
    }

    /// The process that runs under this pid now; None where none runs or it cannot be read.
    #[staticmethod]
    #[pyo3(signature = (pid, *, host=None))]
    fn of(py: Python<'_>, pid: Given<u32>, host: Option<&Bound<'_, TestHost>>) -> PyResult<Option<Self>> {
        let host = host_of(host);
        Ok(call::infallible(py, || host.processes.identify(pid.0))?.map(ProcessIdentity::from))
    }

    /// What can be proved about it now: `alive`, `dead` or `indeterminate`. Another machine and another pid namespace
    /// prove nothing.
    #[pyo3(signature = (*, host=None))]
    fn liveness(&self, py: Python<'_>, host: Option<&Bound<'_, TestHost>>) -> PyResult<&'static str> {
        let (host, process) = (host_of(host), self.core());
        call::infallible(py, || process.liveness(&*host.processes).word())
    }
}

impl ProcessIdentity {
    pub(super) fn core(&self) -> process::ProcessIdentity {
        process::ProcessIdentity {
            pid: self.pid,
            start: self.start,
            boot: self.boot.clone(),
            pid_namespace: self.pid_namespace.clone(),
            host: self.host.clone(),
        }
    }
}

impl From<process::ProcessIdentity> for ProcessIdentity {
    fn from(process: process::ProcessIdentity) -> Self {
        ProcessIdentity {
            pid: process.pid,
            start: process.start,
            boot: process.boot,
            pid_namespace: process.pid_namespace,
            host: process.host,
        }
    }
}
