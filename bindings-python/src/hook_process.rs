//! A process that serves one hook of a harness (HS-115). `gallivant/hook.py` is the public side.
//!
//! A harness waits for its hooks and shows what they print. So the process writes on no stream, exits 0 whatever
//! happens, and is over within its deadline even where it is blocked in native code or the interpreter hangs: the
//! alarm's handler ends it by a system call. Shortly before, a thread that touches no Python writes into the log why;
//! it may block on the very disk that is the cause, and then only the alarm is left.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::clock::{Clock, SystemClock};
use gallivant_core::harness_state::adapters::Harness;
use gallivant_core::harness_state::{HOOK_DEADLINE, HOOK_LOCK_WAIT, Options, note};
use gallivant_core::json::lenient;
use gallivant_core::process::{ProcessTable, SystemProcessTable};
use pyo3::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::call;
use crate::harness_state::{Variables, observe_for};

/// What is left at the least, however long the interpreter took to start: enough for an observation without a wait.
const LEAST: Duration = Duration::from_millis(100);
/// How long before the alarm the log is written.
const LOG_AHEAD: Duration = Duration::from_millis(50);
/// The part of the deadline that reading the payload leaves over: the wait for the lock, and the work.
const AFTER_READING: Duration = HOOK_LOCK_WAIT.saturating_add(Duration::from_millis(150));

/// Whether the process still waits for its payload.
static READING: AtomicBool = AtomicBool::new(true);

/// Ends this process with status 0 once it is 1 s old, whatever it does then; what it could not finish is noted in
/// `.harness-state.log` where `agent_dir` is named. Cannot be undone. Only the first call does anything.
#[pyfunction]
#[pyo3(signature = (agent_dir=None))]
pub(crate) fn arm_hook_deadline(py: Python<'_>, agent_dir: Option<PathBuf>) {
    py.detach(|| {
        arm(agent_dir.as_deref());
    });
}

/// Serves one hook: `arguments` are those of the command line, the harness first. Reads the payload from the last
/// argument for Codex, where there is one beside the harness, and from standard input otherwise. Prints nothing.
#[pyfunction]
#[pyo3(signature = (arguments, environ: "collections.abc.Mapping[str, str]"))]
pub(crate) fn serve_hook(
    py: Python<'_>,
    arguments: Vec<OsString>,
    environ: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let variables = Variables::of(environ)?;
    let served = call::infallible(py, || {
        let ends_at = arm(variables.agent_dir().map(Path::new));
        if let Err(refused) = serve(&arguments, &variables, ends_at) {
            log(&variables, &refused);
        }
    });
    // A bug: nobody sees the exception, because the process prints nothing.
    served.inspect_err(|error| log(&variables, &format!("- - failed reason=internal {error}")))
}

/// # Errors
/// What is wrong with the arguments, as the log's entry. What is wrong with anything else has been logged.
fn serve(arguments: &[OsString], variables: &Variables, ends_at: Duration) -> Result<(), String> {
    let refused = |name: &str, message: &str| {
        // The harness is still writing: a closed pipe would be an error on its side.
        read_payload(ends_at);
        Err(format!("{name} - failed reason=arguments {message}"))
    };
    let Some((name, rest)) = arguments.split_first() else {
        return refused("-", "no harness is named");
    };
    let name = name.to_string_lossy();
    let harness = match Harness::parse(&name) {
        Ok(harness) => harness,
        Err(error) => return refused("-", &format!("{error} harness=`{name}`")),
    };
    let payload = match (harness, rest) {
        (_, []) => read_payload(ends_at),
        (Harness::Codex, [.., payload]) => payload.as_bytes().to_vec(),
        (_, [unexpected, ..]) => {
            let message = format!("one argument too many, argument=`{}`", unexpected.to_string_lossy());
            return refused(harness.name(), &message);
        }
    };
    READING.store(false, Ordering::Relaxed);
    observe_for(variables, harness, &payload, &Options::default(), &Host::system());
    Ok(())
}

fn log(variables: &Variables, entry: &str) {
    if let Some(directory) = variables.agent_dir() {
        note(Path::new(directory), &Host::system(), entry);
    }
}

/// Reads standard input to its end, or until the time for it is over: a harness that leaves the pipe open has handed
/// over what it has. Keeps no more than one byte above what is understood, and reads on, because the harness is still
/// writing.
fn read_payload(ends_at: Duration) -> Vec<u8> {
    let stdin = rustix::stdio::stdin();
    let mut payload = Vec::new();
    let mut chunk = vec![0_u8; 64 * 1024];
    loop {
        let left = ends_at.saturating_sub(SystemClock.awake()).saturating_sub(AFTER_READING);
        let Ok(timeout) = Timespec::try_from(left) else { return payload };
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return payload,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return payload,
        }
        match rustix::io::read(stdin, &mut *chunk) {
            Ok(0) => return payload,
            Ok(read) => {
                let room = (lenient::MAX_BYTES + 1).saturating_sub(payload.len());
                payload.extend_from_slice(&chunk[..read.min(room)]);
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return payload,
        }
    }
}

/// Arms the alarm and the log, and answers when the process will be over, on the awake clock.
fn arm(agent_dir: Option<&Path>) -> Duration {
    static ARMED: Once = Once::new();
    let left = HOOK_DEADLINE.saturating_sub(own_age()).max(LEAST);
    let ends_at = SystemClock.awake().saturating_add(left);
    ARMED.call_once(|| {
        set_alarm(left);
        let directory = agent_dir.map(Path::to_path_buf);
        let watch = std::thread::Builder::new().name("gallivant-hook".to_owned());
        // Without the thread the alarm still ends the process; only the log says nothing.
        let _ = watch.spawn(move || {
            SystemClock.sleep(left.saturating_sub(LOG_AHEAD));
            if let Some(directory) = directory {
                let during = if READING.load(Ordering::Relaxed) { "payload" } else { "record" };
                let entry =
                    format!("- - failed reason=deadline the hook was not done in time, during=`{during}`");
                note(&directory, &Host::system(), &entry);
            }
            exit_now();
        });
    });
    ends_at
}

/// How old this process is: what the interpreter's start has taken from the deadline. Zero where it is not known.
fn own_age() -> Duration {
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let start = SystemProcessTable.own_start();
    if start == 0 || ticks_per_second == 0 || cfg!(not(target_os = "linux")) {
        return Duration::ZERO;
    }
    let started = Duration::from_millis(start.saturating_mul(1000) / ticks_per_second);
    SystemClock.boot().saturating_sub(started)
}

fn set_alarm(after: Duration) {
    let seconds = libc::time_t::try_from(after.as_secs()).unwrap_or(1);
    // Below a million, which every width of the type holds, and never zero, which would disarm it.
    let microseconds = after.subsec_micros().max(1) as libc::suseconds_t;
    let once = libc::itimerval {
        it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
        it_value: libc::timeval { tv_sec: seconds, tv_usec: microseconds },
    };
    // SAFETY: all structures live until the calls return and are initialised; zero is a valid `sigaction`, of which
    // handler and mask are then set. The handler only calls `_exit`, which is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_alarm as extern "C" fn(libc::c_int) as libc::sighandler_t;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        // A blocked signal is inherited through exec, and would never come.
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut alarm);
        libc::sigaddset(&raw mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const alarm, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const once, std::ptr::null_mut());
    }
}

extern "C" fn on_alarm(_signal: libc::c_int) {
    exit_now();
}

fn exit_now() -> ! {
    // SAFETY: ends the process without running anything of it; there is nothing that would have to be undone.
    unsafe { libc::_exit(0) }
}
