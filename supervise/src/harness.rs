//! The harness: forked, made the leader of a session of its own, and held behind a gate until it may start.

use std::ffi::CString;
use std::io;

use crate::plan::Plan;
use crate::system::{self, Descriptor};

/// The variable by which a process of this run is known when its ancestors are gone: pid and identity of the harness.
const MARK: &str = "GALLIVANT_RUN_PROCESS";
/// What the shell answers for a program that cannot be executed.
const CANNOT_EXECUTE: i32 = 127;
/// The gate was never opened.
const NOT_STARTED: i32 = 126;

/// The forked harness.
pub(crate) struct Harness {
    pid: i32,
    gate: Option<Descriptor>,
}

/// Who the harness is, and who this process is.
pub(crate) struct Identities {
    pub(crate) pid: i32,
    pub(crate) identity: String,
    supervisor: (i32, String),
}

impl Identities {
    /// As it is told to the launcher.
    pub(crate) fn line(&self) -> String {
        let (pid, identity) = &self.supervisor;
        format!("started {} {} {pid} {identity}\n", self.pid, self.identity)
    }
}

impl Harness {
    /// Forks the harness. It is ready to be executed when this has returned: its session, its directory, its standard input
    /// and its program were found to be in order.
    ///
    /// # Errors
    /// The stage that failed, and why. No child is left then.
    pub(crate) fn fork(plan: &Plan) -> Result<Self, (&'static str, io::Error)> {
        let failed = |stage: &'static str| move |error: io::Error| (stage, error);
        let (gate_out, gate_in) = system::pipe().map_err(failed("pipe"))?;
        let (ready_out, ready_in) = system::pipe().map_err(failed("pipe"))?;
        let input = system::standard_input(plan.input.as_deref()).map_err(failed("input"))?;
        let pid = system::fork().map_err(failed("fork"))?;
        if pid == 0 {
            drop((gate_in, ready_out));
            run(plan, &input, &gate_out, &ready_in);
        }
        drop((gate_out, ready_in, input));
        // One byte for the stage and four for the error; the end of the pipe for a child that died.
        let mut said = [0; 5];
        let is_whole = system::read_exact(&ready_out, &mut said).is_ok();
        let error = i32::from_le_bytes([said[1], said[2], said[3], said[4]]);
        let stage = match said[0] {
            _ if !is_whole => "child",
            0 => return Ok(Harness { pid, gate: Some(gate_in) }),
            1 => "session",
            2 => "cwd",
            3 => "program",
            _ => "input",
        };
        drop(gate_in);
        system::reap(pid);
        Err((stage, io::Error::from_raw_os_error(error)))
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// # Errors
    /// Where the process table cannot be read: nobody could prove later who this is.
    pub(crate) fn identities(&self) -> io::Result<Identities> {
        let own = system::own_pid();
        Ok(Identities { pid: self.pid, identity: identity(self.pid)?, supervisor: (own, identity(own)?) })
    }

    /// The harness starts.
    pub(crate) fn open_gate(&mut self) {
        if let Some(gate) = self.gate.take() {
            let _ = system::write_all(&gate, b"g");
        }
    }

    /// The harness never starts: it ends behind the gate.
    pub(crate) fn close_gate(&mut self) {
        self.gate = None;
    }
}

/// What the child does. It ends here, or becomes the harness.
fn run(plan: &Plan, input: &Descriptor, gate: &Descriptor, ready: &Descriptor) -> ! {
    let tell = |stage: u8, error: &io::Error| -> ! {
        let mut said = [stage, 0, 0, 0, 0];
        said[1..].copy_from_slice(&error.raw_os_error().unwrap_or(libc::EIO).to_le_bytes());
        let _ = system::write_all(ready, &said);
        system::end(NOT_STARTED)
    };
    if let Err(error) = system::lead_session() {
        tell(1, &error);
    }
    if let Err(error) = system::change_directory(&plan.working_directory) {
        tell(2, &error);
    }
    if let Err(error) = system::can_execute(&plan.program) {
        tell(3, &error);
    }
    if let Err(error) = input.become_standard_input() {
        tell(4, &error);
    }
    let environment = environment(plan);
    if system::write_all(ready, &[0; 5]).is_err() {
        system::end(NOT_STARTED);
    }
    let mut go = [0; 1];
    if system::read_exact(gate, &mut go).is_err() {
        system::end(NOT_STARTED);
    }
    system::default_signals();
    let error = system::execute(&plan.program, &plan.arguments, &environment);
    let program = String::from_utf8_lossy(plan.program.as_bytes()).into_owned();
    let message =
        format!("gallivant-supervise: the program cannot be executed, program=`{program}`: {error}\n");
    system::write_error(message.as_bytes());
    system::end(CANNOT_EXECUTE)
}

/// The given environment with the mark of this run, and without that of another one.
fn environment(plan: &Plan) -> Vec<CString> {
    let prefix = format!("{MARK}=");
    let is_mark = |variable: &&CString| variable.as_bytes().starts_with(prefix.as_bytes());
    let mut environment: Vec<CString> =
        plan.environment.iter().filter(|variable| !is_mark(variable)).cloned().collect();
    let own = system::own_pid();
    let mark = identity(own).ok().and_then(|identity| CString::new(format!("{prefix}{own}@{identity}")).ok());
    environment.extend(mark);
    environment
}

/// `linux:<boot id>:<inode of the pid namespace>:<start ticks>`.
fn identity(pid: i32) -> io::Result<String> {
    let boot = system::read_text(c"/proc/sys/kernel/random/boot_id")?;
    let namespace = system::read_link(c"/proc/self/ns/pid")?;
    let namespace: String = namespace.chars().filter(char::is_ascii_digit).collect();
    let path = CString::new(format!("/proc/{pid}/stat"))?;
    let stat = system::read_text(&path)?;
    // The command name may hold anything, so the fields are counted from its last closing parenthesis: the start is field 22.
    let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
    let start = start.and_then(|start| start.parse::<u64>().ok());
    let start = start.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    Ok(format!("linux:{}:{namespace}:{start}", boot.trim()))
}
