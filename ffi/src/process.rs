//! Processes: what names one for ever, and what can be proved about it.
//!
//! A pid alone names nobody, because it is used again.

use gallivant_core::process::{Liveness, ProcessIdentity};

use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give};
use crate::host::{gallivant_host, host_or_system};
use crate::names::{Names, Numbered};
use crate::options::{self, OutSized, sized};
use crate::view::{Fixed, Texts, gallivant_str};

/// Neither can be proved.
pub const GALLIVANT_LIVENESS_INDETERMINATE: i32 = 0;
/// It runs.
pub const GALLIVANT_LIVENESS_ALIVE: i32 = 1;
/// It is provably gone.
pub const GALLIVANT_LIVENESS_DEAD: i32 = 2;

pub(crate) const LIVENESS: Numbered<Liveness> = Numbered {
    what: "liveness",
    rows: &[
        (GALLIVANT_LIVENESS_INDETERMINATE, Liveness::Indeterminate),
        (GALLIVANT_LIVENESS_ALIVE, Liveness::Alive),
        (GALLIVANT_LIVENESS_DEAD, Liveness::Dead),
    ],
};

/// One process, whether it still runs or not. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_process_free`.
#[derive(Debug)]
pub struct gallivant_process {
    pub(crate) identity: ProcessIdentity,
    described: Fixed<gallivant_process_identity>,
    _texts: Texts,
}

impl Handle for gallivant_process {}

/// What names one process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gallivant_process_identity {
    /// Set by `GALLIVANT_PROCESS_IDENTITY_INIT`.
    pub struct_size: usize,
    /// Process id, as the process's own namespace counts.
    pub pid: u32,
    /// Start time in the unit of the system's process table (Linux: clock ticks since boot).
    pub start: u64,
    /// Identifies the boot of the machine; empty where the system does not tell.
    pub boot: gallivant_str,
    /// Identifies the pid namespace; empty where the system does not tell.
    pub pid_namespace: gallivant_str,
    /// Identifies the machine; empty where the system does not tell.
    pub host: gallivant_str,
}
sized!(gallivant_process_identity);

// C: #define GALLIVANT_PROCESS_IDENTITY_INIT \
// C:     { sizeof(gallivant_process_identity), 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

impl gallivant_process {
    pub(crate) fn new(identity: ProcessIdentity) -> Self {
        let mut texts = Texts::default();
        let [boot, pid_namespace, host] =
            texts.hold([Some(&identity.boot), Some(&identity.pid_namespace), Some(&identity.host)]);
        let described = gallivant_process_identity {
            struct_size: 0,
            pid: identity.pid,
            start: identity.start,
            boot,
            pid_namespace,
            host,
        };
        // SAFETY: the texts stand beside the views and are not touched again.
        gallivant_process { identity, described: unsafe { Fixed::new(described) }, _texts: texts }
    }
}

/// The process that runs under this pid now; NULL, with success, where none does or it cannot be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_process_identify(
    host: *const gallivant_host,
    pid: u32,
    process: *mut *mut gallivant_process,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let out = Out::new(process, "process")?;
            let found = host_or_system(host).processes.identify(pid);
            out.set(found.map_or(std::ptr::null_mut(), |identity| give(gallivant_process::new(identity))));
            Ok(())
        })
    }
}

/// The process with this identity, which was described and kept earlier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_process_new(
    identity: *const gallivant_process_identity,
    process: *mut *mut gallivant_process,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let given = options::input(identity, "identity")?;
            let out = Out::new(process, "process")?;
            out.set(give(gallivant_process::new(ProcessIdentity {
                pid: given.pid,
                start: given.start,
                boot: given.boot.text("boot")?.to_owned(),
                pid_namespace: given.pid_namespace.text("pid_namespace")?.to_owned(),
                host: given.host.text("host")?.to_owned(),
            })));
            Ok(())
        })
    }
}

/// What names this process. The strings are valid until the process is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_process_describe(
    process: *const gallivant_process,
    identity: *mut gallivant_process_identity,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let process = borrow(process, "process")?;
            OutSized::new(identity, "identity")?.set(*process.described.get());
            Ok(())
        })
    }
}

/// What can be proved about this process now: one of the GALLIVANT_LIVENESS constants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_process_liveness(
    process: *const gallivant_process,
    host: *const gallivant_host,
    liveness: *mut i32,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let process = borrow(process, "process")?;
            let out = Out::new(liveness, "liveness")?;
            out.set(LIVENESS.number(process.identity.liveness(&*host_or_system(host).processes)));
            Ok(())
        })
    }
}

/// Frees the process. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_process_free(process: *mut gallivant_process) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(process) });
}

/// The word for a GALLIVANT_LIVENESS constant, such as `alive`; `invalid` for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_liveness_name(liveness: i32) -> *const std::ffi::c_char {
    static NAMES: Names = Names::new();
    answer(|| NAMES.get(liveness, LIVENESS.rows.iter().map(|(number, row)| (*number, row.word()))))
}
