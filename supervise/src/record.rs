//! `exit.json` in the run's directory: how the harness ended, and when the last process below it did.
//!
//! Written beside its place, synced, renamed, and the directory synced. Nobody else writes this file.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::ffi::CStr;

use crate::error::{Error, Result};
use crate::harness::Identities;
use crate::plan::Plan;
use crate::system::{self, Descriptor};

const NAME: &CStr = c"exit.json";
const STAGED: &CStr = c".exit.json.tmp";
const JOB: &CStr = c"job.json";
/// A disk that is full may have room again: so long is it tried, in milliseconds, at most once a second.
const PATIENCE_MS: u64 = 600_000;
const LONGEST_PAUSE_MS: u64 = 1_000;

/// How a process ended.
#[derive(Clone)]
pub(crate) struct Ending {
    /// Its exit status; none where a signal ended it.
    pub(crate) exit: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// In milliseconds since 1970.
    pub(crate) ended_at: u64,
    /// When nothing was left below; none while something is.
    pub(crate) tree_ended_at: Option<u64>,
    /// Whether the gate was opened for it.
    pub(crate) was_started: bool,
}

impl Ending {
    /// What a wait status says.
    pub(crate) fn of(status: i32, ended_at: u64) -> Self {
        let exit = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
        let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
        Ending { exit, signal, ended_at, tree_ended_at: None, was_started: true }
    }
}

/// The run's directory, kept open, so that what is written goes there whatever becomes of its path.
pub(crate) struct RunRecord {
    directory: Descriptor,
    run_id: String,
    operation_id: String,
}

impl RunRecord {
    pub(crate) fn open(plan: &Plan) -> Result<Self> {
        let directory = system::open_directory(&plan.directory)?;
        let (run_id, operation_id) = (plan.run_id.clone(), plan.operation_id.clone());
        // Both stand in the record as they are; the library's ids need no escape.
        let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !is_plain(&run_id) || !is_plain(&operation_id) {
            return Err(Error::INVALID);
        }
        Ok(RunRecord { directory, run_id, operation_id })
    }

    /// Whether the job record names exactly this harness: then the launcher has died behind its last step, and the run is one
    /// that has begun.
    pub(crate) fn names(&self, identities: &Identities) -> bool {
        let Ok(job) = system::read_file(&self.directory, JOB) else { return false };
        let pid = identities.pid;
        let holds = |text: String| job.windows(text.len()).any(|window| window == text.as_bytes());
        // A number ends with a comma or a brace.
        (holds(format!("\"pid\":{pid},")) || holds(format!("\"pid\":{pid}}}")))
            && holds(format!("\"identity\":\"{}\"", identities.identity))
    }

    /// Writes the record, again and again while the disk refuses it. Where the run's directory has been removed nobody reads it.
    pub(crate) fn keep(&self, identities: &Identities, end: &Ending) {
        let text = self.text(identities, end);
        let (mut waited, mut pause) = (0, 1);
        while self.write(text.as_bytes()).is_err() && waited < PATIENCE_MS && !self.directory.is_removed() {
            system::sleep_ms(pause);
            waited += pause;
            pause = (pause * 2).min(LONGEST_PAUSE_MS);
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        system::write_file(&self.directory, STAGED, bytes)?;
        system::rename(&self.directory, STAGED, NAME)?;
        self.directory.sync()
    }

    fn text(&self, identities: &Identities, end: &Ending) -> String {
        let number = |number: Option<i64>| number.map_or_else(|| "null".to_owned(), |n| n.to_string());
        let signal = end.signal.map_or_else(|| "null".to_owned(), |signal| format!("\"{}\"", name(signal)));
        let tree = end.tree_ended_at.map_or_else(|| "null".to_owned(), |at| at.to_string());
        format!(
            "{{\"version\":1,\"runId\":\"{}\",\"operationId\":\"{}\",\"pid\":{},\"identity\":\"{}\",\
             \"started\":{},\"exit\":{},\"signal\":{signal},\"endedAt\":{},\"treeEndedAt\":{tree}}}\n",
            self.run_id,
            self.operation_id,
            identities.pid,
            identities.identity,
            end.was_started,
            number(end.exit.map(i64::from)),
            end.ended_at,
        )
    }
}

/// A signal's name without its prefix, as stops name them; its number where it has none here.
fn name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "HUP",
        libc::SIGINT => "INT",
        libc::SIGQUIT => "QUIT",
        libc::SIGILL => "ILL",
        libc::SIGTRAP => "TRAP",
        libc::SIGABRT => "ABRT",
        libc::SIGBUS => "BUS",
        libc::SIGFPE => "FPE",
        libc::SIGKILL => "KILL",
        libc::SIGUSR1 => "USR1",
        libc::SIGSEGV => "SEGV",
        libc::SIGUSR2 => "USR2",
        libc::SIGPIPE => "PIPE",
        libc::SIGALRM => "ALRM",
        libc::SIGTERM => "TERM",
        libc::SIGXCPU => "XCPU",
        libc::SIGXFSZ => "XFSZ",
        other => return other.to_string(),
    };
    name.to_owned()
}
