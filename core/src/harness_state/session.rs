//! What a wrapper needs in one object: mint, claim, lease, hand over, heartbeat, end.
//!
//! It has no thread of its own; its caller drives it. Dropping it without `end` releases the lease and writes
//! nothing, exactly as the death of the process does: a reader with a lease probe then derives `session-dead`.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::claim::{Claim, Claimant, claim};
use super::environment::SessionEnvironment;
use super::extension::HarnessProcess;
use super::options::Options;
use super::outcome::{Heartbeat, Report, Skip};
use super::ownership::refuse_forked;
use super::reader::Reader;
use super::seat::LEASE;
use super::token::mint_token;
use super::writer::Writer;
use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::process::{Liveness, ProcessIdentity};
use crate::storage::{LockGuard, acquire, fork_generation};

/// How long the start of a session waits for the lease. A reader's probe holds it for microseconds; a session that
/// was superseded and still lives holds it for longer, and then this one asks again at each heartbeat.
const LEASE_WAIT: Duration = Duration::from_millis(250);

/// What a session is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The agent's directory; created where it is missing.
    pub directory: PathBuf,
    /// The agent's name.
    pub agent: String,
    /// The harness's name.
    pub harness: String,
    /// The pty session in which the harness will run: any name under which its terminal can be found again, or the
    /// agent's own where there is no terminal. Without one no live state can be written.
    pub pty_session: Option<String>,
    /// The token to claim with; none to mint one.
    pub token: Option<String>,
}

/// What [`Session::heartbeat_if_due`] did.
#[derive(Debug)]
pub enum Tick {
    /// Nothing was due; the next heartbeat is due at this wall-clock time in ms since 1970.
    NotDue(u64),
    /// The stamp was renewed.
    Renewed,
    /// There was nothing of this session's to renew.
    Skipped(Skip),
    /// The attached harness process is provably gone, so nothing was renewed: end the session.
    HarnessGone,
}

impl Tick {
    /// `not-due`, `renewed`, `skipped` or `harness-gone`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Tick::NotDue(_) => "not-due",
            Tick::Renewed => "renewed",
            Tick::Skipped(_) => "skipped",
            Tick::HarnessGone => "harness-gone",
        }
    }
}

/// A claimed session, alive for as long as this object.
#[derive(Debug)]
pub struct Session {
    writer: Writer,
    /// The directory's path, from the root.
    agent_dir: String,
    claim: Claim,
    options: Options,
    host: Host,
    /// Forks before the session was started: in a forked child it is somebody else's.
    fork_generation: u64,
    life: Mutex<Life>,
}

#[derive(Debug)]
struct Life {
    lease: Option<LockGuard>,
    harness: Option<ProcessIdentity>,
    /// The stamp that the session knows of, its own or a sibling's.
    stamped_at_ms: u64,
    over: bool,
    /// Why there will never be anything to renew again: another session has the seat.
    lost: Option<Skip>,
}

impl Life {
    fn lose(&mut self, skip: Skip) {
        self.lease = None;
        self.over = true;
        self.lost = Some(skip);
    }
}

impl Session {
    /// Mints a token unless one is given, claims the seat, and takes the lease. Once it has returned, claim and floor
    /// are durable, and the lease is held if [`Session::holds_lease`] says so.
    ///
    /// # Errors
    /// As [`claim`]; `HARNESS_STATE_INPUT` for what the environment could not hand over: with reason `path` a directory
    /// whose path is not UTF-8, with reason `environment` an empty agent or harness and a zero byte in any of them.
    pub fn start(new: NewSession, options: &Options, host: &Host) -> Result<Self> {
        let agent_dir =
            host.files.absolute(&new.directory).ok().and_then(|path| path.to_str().map(str::to_owned));
        let Some(agent_dir) = agent_dir else {
            // A name that was replaced by another would lead the hooks to another directory.
            let message =
                format!("the directory's path cannot be handed over, path=`{}`", new.directory.display());
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("path"));
        };
        let token = new.token.unwrap_or_else(|| mint_token(host));
        refuse_what_no_environment_holds(&[&agent_dir, &new.agent, &new.harness, &token], &new.pty_session)?;
        let claimant = Claimant { agent: new.agent, harness: new.harness, token };
        let claim = claim(&new.directory, &claimant, options, host)?;
        let identity = claimant.writer_identity(new.pty_session);
        let writer = Writer::open(&new.directory, identity, Some(claim.sequence), options, host)?;
        let life =
            Life { lease: None, harness: None, stamped_at_ms: host.clock.wall_ms(), over: false, lost: None };
        let session = Session {
            writer,
            agent_dir,
            claim,
            options: options.clone(),
            host: host.clone(),
            fork_generation: fork_generation(),
            life: Mutex::new(life),
        };
        session.take_lease(&mut session.life(), LEASE_WAIT);
        Ok(session)
    }

    /// The claim with which the session started, and what it could not do.
    #[must_use]
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The session's writer, which has adopted the claim.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Whether the session holds its lease. Not while a superseded session that still lives holds it.
    #[must_use]
    pub fn holds_lease(&self) -> bool {
        self.refuse_after_fork().is_ok() && self.life().lease.is_some()
    }

    /// What to hand to the harness and its hooks.
    #[must_use]
    pub fn environment(&self) -> SessionEnvironment {
        SessionEnvironment {
            agent_dir: self.agent_dir.clone(),
            identity: self.writer.identity().clone(),
            sequence: Some(self.claim.sequence),
        }
    }

    /// The variables to set for the harness, by name: [`SessionEnvironment::to_env`] of [`Session::environment`].
    #[must_use]
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        self.environment().to_env()
    }

    /// Names the harness process that was started for this session, in the record too, and records `ready` if nothing
    /// has been observed since the claim and the session names a pty session. From then on no heartbeat is made for a
    /// dead harness, and a hook of another harness below it writes nothing (HS-113).
    ///
    /// # Errors
    /// `HARNESS_STATE_INPUT` with reason `no-such-process` when the pid runs no process now; as [`Writer::observe`].
    pub fn attach(&self, pid: u32) -> Result<ProcessIdentity> {
        self.refuse_after_fork()?;
        let Some(process) = self.host.processes.identify(pid) else {
            let message = format!("no process runs under this pid, pid=`{pid}`");
            return Err(Error::new(Code::HarnessStateInput, message).with_reason("no-such-process"));
        };
        self.life().harness = Some(process.clone());
        self.writer.attach(&HarnessProcess::from(&process))?;
        Ok(process)
    }

    /// The process that was attached.
    #[must_use]
    pub fn harness_process(&self) -> Option<ProcessIdentity> {
        self.life().harness.clone()
    }

    /// Renews the stamp when the refresh interval has passed since the session's last stamp, whoever of it wrote it.
    /// Call it as often as is convenient, once a second, say: between two due times it writes nothing, and looks only
    /// whether the attached harness still runs and whether the floor has changed. It also asks again for a lease that could
    /// not be had.
    ///
    /// Once another session has claimed the seat it gives the lease up, so that the new session's death can be seen, and
    /// answers `skipped` because of that for good: then end the harness, because nothing that it does is seen any more.
    ///
    /// # Errors
    /// As [`Writer::heartbeat`]; `HARNESS_STATE_INPUT` with reason `forked` in a forked child.
    pub fn heartbeat_if_due(&self) -> Result<Tick> {
        self.refuse_after_fork()?;
        let mut life = self.life();
        if life.lost.is_none() && !life.over && self.writer.is_fenced_by_floor() {
            life.lose(Skip::Superseded);
        }
        if let Some(lost) = life.lost {
            return Ok(Tick::Skipped(lost));
        }
        if life.lease.is_none() && !life.over {
            self.take_lease(&mut life, Duration::ZERO);
        }
        let gone = life
            .harness
            .as_ref()
            .is_some_and(|harness| harness.liveness(&*self.host.processes) == Liveness::Dead);
        if gone {
            return Ok(Tick::HarnessGone);
        }
        let now_ms = self.host.clock.wall_ms();
        if let Some(due) = self.not_due(life.stamped_at_ms, now_ms) {
            return Ok(Tick::NotDue(due));
        }
        if let Some(stamp) = self.stamp_on_disk() {
            life.stamped_at_ms = stamp;
            if let Some(due) = self.not_due(stamp, now_ms) {
                return Ok(Tick::NotDue(due));
            }
        }
        match self.writer.heartbeat()? {
            Heartbeat::Landed { .. } => {
                life.stamped_at_ms = now_ms;
                Ok(Tick::Renewed)
            }
            Heartbeat::Skipped(skip) => {
                if matches!(skip, Skip::ForeignToken | Skip::Superseded) {
                    life.lose(skip);
                }
                // Asked again after the next interval, so that a caller's loop does not read at every turn.
                life.stamped_at_ms = now_ms;
                Ok(Tick::Skipped(skip))
            }
        }
    }

    /// Ends the session with this exit, e.g. `exit 0` or `signal 9`, and releases the lease. Durable when it lands
    /// with an exit. Afterwards no heartbeat does anything. Its writers can still observe, and a plain
    /// [`Writer::observe`] lands over the ending (HS-42), with which the seat reads `session-dead` under a lease probe. What
    /// does not know better than the wrapper, such as a channel, uses [`Writer::observe_unless_ended`].
    ///
    /// # Errors
    /// As [`Writer::ended`]; the lease is then still held.
    pub fn end(&self, exit: Option<&str>) -> Result<Report> {
        self.refuse_after_fork()?;
        let report = self.writer.ended(exit)?;
        let mut life = self.life();
        life.lease = None;
        life.over = true;
        Ok(report)
    }

    /// Gives the lease up and writes nothing, exactly as dropping the session does: for a binding in which something
    /// else still shares the session. Afterwards the lease is not taken again. In a forked child it does nothing.
    pub fn release(&self) {
        if self.refuse_after_fork().is_ok() {
            let mut life = self.life();
            life.lease = None;
            life.over = true;
        }
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse_after_fork(&self) -> Result<()> {
        // The generation first: another thread may have held the mutex at the moment of the fork.
        refuse_forked(self.fork_generation != fork_generation())?;
        refuse_forked(self.life().lease.as_ref().is_some_and(LockGuard::is_forked))
    }

    /// Takes the lease and writes the token into it. A lease whose token could not be written is let go of: readers
    /// would take it for another session's.
    fn take_lease(&self, life: &mut Life, wait: Duration) {
        let Ok(directory) = self.host.files.open(self.writer.directory()) else { return };
        let Ok(lease) = acquire(&directory, LEASE, wait, &*self.host.clock) else { return };
        if lease.file().set_contents(self.writer.identity().token.as_bytes()).is_ok() {
            life.lease = Some(lease);
        }
    }

    /// When the next heartbeat is due, if it is not due now. A stamp far ahead of the clock, which was set back
    /// since, is due at once.
    fn not_due(&self, stamped_at_ms: u64, now_ms: u64) -> Option<u64> {
        let due = stamped_at_ms.saturating_add(self.options.refresh_ms);
        let believed = stamped_at_ms <= now_ms.saturating_add(self.options.future_skew_ms);
        (now_ms < due && believed).then_some(due)
    }

    fn stamp_on_disk(&self) -> Option<u64> {
        let snapshot = Reader::open(self.writer.directory(), &self.options, &self.host).snapshot();
        let record = snapshot.record()?;
        (record.incarnation == self.writer.identity().token).then_some(record.written_at_ms)
    }
}

/// Checked before the claim: the hooks of a session that cannot be handed over would be nobody's.
fn refuse_what_no_environment_holds(required: &[&str], pty_session: &Option<String>) -> Result<()> {
    // An empty token has an error of its own.
    let is_empty = required[..3].iter().any(|value| value.is_empty());
    let mut values = required.iter().copied().chain(pty_session.as_deref());
    if is_empty || values.any(|value| value.contains('\0')) {
        let message = "agent and harness must not be empty, and no part of a session may hold a zero byte";
        return Err(Error::new(Code::HarnessStateInput, message).with_reason("environment"));
    }
    Ok(())
}
