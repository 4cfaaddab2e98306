//! A process that serves one hook of a harness (HS-115): what `gallivant-hook` and its like are made of.
//!
//! A harness waits for its hooks and shows what they print. So the process writes on no stream, exits 0 whatever
//! happens, and is over within its deadline even where it is blocked in native code or the interpreter hangs: the
//! alarm's handler ends it by a system call. Shortly before, a thread that touches no Python writes into the log why;
//! it may block on the very disk that is the cause, and then only the alarm is left.
//!
//! A hook is a process of one write, so that each system call counts: `tests` of the command count them.

use std::cell::Cell;
use std::ffi::{OsString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::adapters::Harness;
use super::environment::SessionVariables;
use super::hook::{HOOK_DEADLINE, HOOK_LOCK_WAIT, HookOrigin, note, observe_from_for};
use super::options::Options;
use crate::clock::{Clock, SystemClock};
use crate::host::Host;
use crate::json::lenient;
use crate::process::{ProcessTable, SystemProcessTable, since_boot};

/// What is left at the least, however long the interpreter took to start: enough for an observation without a wait.
const LEAST: Duration = Duration::from_millis(100);
/// How long before the alarm the log is written.
const LOG_AHEAD: Duration = Duration::from_millis(50);
/// The part of the deadline that reading the payload leaves over: the wait for the lock, and the work.
const AFTER_READING: Duration = HOOK_LOCK_WAIT.saturating_add(Duration::from_millis(150));

/// The stack of the thread that writes the log, as large as the standard library's.
const WATCH_STACK: usize = 2 * 1024 * 1024;

/// Whether the process still waits for its payload.
static READING: AtomicBool = AtomicBool::new(true);

thread_local! {
    /// Whether this thread has set all of its signal mask, SIGALRM let through.
    static ALARM_IS_OPEN: Cell<bool> = const { Cell::new(false) };
}

/// Ends this process with status 0 once it is [`HOOK_DEADLINE`] old, whatever it does then; what it could not finish is
/// noted in the log of `agent_dir`, where one is named. Takes over SIGALRM and the real-time interval timer. Cannot be
/// undone, and only the first call does anything: for processes that serve one hook and nothing else.
pub fn keep_hook_deadline(agent_dir: Option<&Path>) {
    arm(agent_dir);
}

/// Lets SIGINT, SIGHUP, SIGTERM and SIGXFSZ pass by, for a process that is a hook and nothing else. To be called first of all.
///
/// What ends a terminal's process group reaches the hook too, and a harness that is about to go ends the hooks of its last
/// events: those matter most. They are served, and over within their second in any case, which is less than what leads from
/// SIGTERM to SIGKILL. A write beyond the limit of a file's size is an error like that of a full disk.
pub fn hold_through_signals() {
    // SAFETY: zero is a valid set, which is then filled and lives until the call returns. What is held back so is never
    // delivered: the process ends with it.
    unsafe {
        let mut held: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut held);
        for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGXFSZ] {
            libc::sigaddset(&raw mut held, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const held, std::ptr::null_mut());
    }
    ALARM_IS_OPEN.set(true);
}

/// Serves one hook, in a process that does nothing else, and returns when it is done: the caller then exits 0.
///
/// `arguments` are those of the command line, the harness first. The payload is the last argument for Codex, where there
/// is one beside the harness (its notify program), and standard input otherwise. Prints nothing. The deadline is kept as
/// by [`keep_hook_deadline`]; what could not be done is in the log, where the variables name a directory.
pub fn serve_hook(arguments: &[OsString], variables: &SessionVariables) {
    // A hook runs in the harness's directory, where a relative path names a seat that nobody has claimed.
    let is_elsewhere = variables.agent_dir().is_some_and(|directory| Path::new(directory).is_relative());
    let nobody = SessionVariables::default();
    let variables = if is_elsewhere { &nobody } else { variables };
    let ends_at = arm(variables.agent_dir().map(Path::new));
    // A bug is nobody's to see: the process prints nothing and exits 0.
    let served = catch_unwind(AssertUnwindSafe(|| serve(arguments, variables, ends_at)));
    let entry = match served {
        Ok(Ok(())) => return,
        Ok(Err(refused)) => refused,
        Err(_) => "- - failed reason=internal a bug was caught".to_owned(),
    };
    if let Some(directory) = variables.agent_dir() {
        note(Path::new(directory), &Host::system(), &entry);
    }
}

/// # Errors
/// What is wrong with the arguments, as the log's entry. What is wrong with anything else has been logged.
fn serve(arguments: &[OsString], variables: &SessionVariables, ends_at: Duration) -> Result<(), String> {
    let refused = |name: &str, message: &str| {
        // The harness is still writing: a closed pipe would be an error on its side.
        read_payload(ends_at);
        Err(format!("{name} - failed reason=arguments {message}"))
    };
    let Some((name, rest)) = arguments.split_first() else {
        return refused("-", "no harness is named");
    };
    let harness = match Harness::parse(&name.to_string_lossy()) {
        Ok(harness) => harness,
        Err(error) => return refused("-", &error.to_string()),
    };
    let payload = match (harness, rest) {
        (_, []) => match read_payload(ends_at) {
            // A pipe that is left open has said what it has; one that has said nothing is no payload to complain of.
            (payload, false) if payload.is_empty() => {
                return Err(format!("{} - failed reason=deadline no payload came in time", harness.name()));
            }
            (payload, _) => payload,
        },
        (Harness::Codex, [.., payload]) => payload.as_bytes().to_vec(),
        // It may be a payload, and what that says is nobody's to log.
        (_, [_, ..]) => return refused(harness.name(), "one argument too many"),
    };
    READING.store(false, Ordering::Relaxed);
    let _ = observe_from_for(
        HookOrigin::OwnProcess,
        variables,
        harness,
        &payload,
        &Options::default(),
        &Host::system(),
    );
    Ok(())
}

/// Reads standard input to its end, or until the time for it is over: a harness that leaves the pipe open has handed
/// over what it has. Keeps no more than one byte above what is understood, and reads on, because the harness is still
/// writing. Answers whether the end was reached, too.
fn read_payload(ends_at: Duration) -> (Vec<u8>, bool) {
    let stdin = rustix::stdio::stdin();
    let mut payload = Vec::new();
    let mut chunk = vec![0_u8; 64 * 1024];
    // Nobody writes any more: what is left is there, and reading it waits for nobody.
    let mut is_closed = false;
    loop {
        if !is_closed {
            let left = ends_at.saturating_sub(SystemClock.awake()).saturating_sub(AFTER_READING);
            let Ok(timeout) = Timespec::try_from(left) else { return (payload, false) };
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return (payload, false),
                Ok(_) => is_closed = polled[0].revents().contains(PollFlags::HUP),
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return (payload, true),
            }
        }
        match rustix::io::read(stdin, &mut *chunk) {
            Ok(0) => return (payload, true),
            Ok(read) => {
                let room = (lenient::MAX_BYTES + 1).saturating_sub(payload.len());
                payload.extend_from_slice(&chunk[..read.min(room)]);
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return (payload, true),
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
        start_watch(Watch {
            wait: left.saturating_sub(LOG_AHEAD),
            directory: agent_dir.map(Path::to_path_buf),
        });
    });
    ends_at
}

/// What the thread knows that writes the log and ends the process.
struct Watch {
    wait: Duration,
    directory: Option<PathBuf>,
}

/// Starts the thread by the C library alone. The standard library would name it, and allocate in it, for which the allocator
/// makes an arena of its own: five system calls of a hook that is done long before the thread wakes up.
///
/// Without the thread the alarm still ends the process; only the log says nothing.
fn start_watch(watch: Watch) {
    let watch = Box::into_raw(Box::new(watch)).cast::<c_void>();
    // SAFETY: the attributes are initialised before they are used, and live until the call returns. The thread gets the box
    // for itself; where it was not started, nobody else has it.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        let started = libc::pthread_attr_init(&raw mut attributes) == 0
            && libc::pthread_attr_setstacksize(&raw mut attributes, WATCH_STACK) == 0
            && libc::pthread_create(&raw mut thread, &raw const attributes, watch_over, watch) == 0;
        if !started {
            drop(Box::from_raw(watch.cast::<Watch>()));
        }
    }
}

extern "C" fn watch_over(watch: *mut c_void) -> *mut c_void {
    // SAFETY: the box of `start_watch`, which has given it away.
    let watch = unsafe { Box::from_raw(watch.cast::<Watch>()) };
    SystemClock.sleep(watch.wait);
    // A bug is nobody's to see, and no panic may leave the thread.
    let _ = catch_unwind(|| {
        if let Some(directory) = &watch.directory {
            let during = if READING.load(Ordering::Relaxed) { "payload" } else { "record" };
            let entry =
                format!("- - failed reason=deadline the hook was not done in time, during=`{during}`");
            note(directory, &Host::system(), &entry);
        }
    });
    exit_now();
}

/// How old this process is: what the interpreter's start has taken from the deadline. Zero where it is not known.
fn own_age() -> Duration {
    since_boot(SystemProcessTable.own_start())
        .map_or(Duration::ZERO, |started| SystemClock.boot().saturating_sub(started))
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
        if !ALARM_IS_OPEN.get() {
            let mut alarm: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut alarm);
            libc::sigaddset(&raw mut alarm, libc::SIGALRM);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const alarm, std::ptr::null_mut());
        }
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
