//! The harness: forked, made the leader of a session of its own, and held behind a gate until it may start.

use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;
use crate::identity::Machine;
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
    identities: Identities,
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
    /// Forks the harness, which waits. Its directory, its standard input and its program were found to be in order before that,
    /// so that nothing of what it does before it is executed can fail.
    ///
    /// # Errors
    /// The stage that failed, and why. No child is left then.
    pub(crate) fn fork(plan: &Plan) -> core::result::Result<Self, (&'static str, Error)> {
        let failed = |stage: &'static str| move |error: Error| (stage, error);
        let machine = Machine::read().map_err(failed("identity"))?;
        let (gate_out, gate_in) = system::pipe().map_err(failed("pipe"))?;
        let input =
            system::standard_input(&plan.directory, plan.input.as_deref()).map_err(failed("input"))?;
        // The child inherits it. Where it is, a relative path of the program is looked for.
        system::change_directory(&plan.working_directory).map_err(failed("cwd"))?;
        system::can_execute(&plan.program).map_err(failed("program"))?;
        let own = system::own_pid();
        let supervisor = (own, machine.identity(own).map_err(failed("identity"))?);
        let pid = system::fork().map_err(failed("fork"))?;
        if pid == 0 {
            drop(gate_in);
            run(plan, &machine, &input, &gate_out);
        }
        let _ = system::change_directory(c"/");
        // Where it fails the gate is shut with the end of this process, and the child ends behind it.
        let identity = machine.identity(pid).map_err(failed("identity"))?;
        let identities = Identities { pid, identity, supervisor };
        Ok(Harness { pid, gate: Some(gate_in), identities })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    pub(crate) fn identities(&self) -> &Identities {
        &self.identities
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
fn run(plan: &Plan, machine: &Machine, input: &Descriptor, gate: &Descriptor) -> ! {
    // Everything that can be done before the gate opens is done before.
    let is_ready = system::lead_session().and_then(|()| input.become_standard_input()).is_ok();
    system::default_signals();
    let environment = environment(plan, machine);
    let mut go = [0; 1];
    if !is_ready || system::read_exact(gate, &mut go).is_err() {
        system::end(NOT_STARTED);
    }
    let error = system::execute(&plan.program, &plan.arguments, &environment);
    let program = String::from_utf8_lossy(plan.program.as_bytes()).into_owned();
    let message =
        format!("gallivant-supervise: the program cannot be executed, program=`{program}`: {error}\n");
    system::write_error(message.as_bytes());
    system::end(CANNOT_EXECUTE)
}

/// The given environment with the mark of this run, and without that of another one.
fn environment(plan: &Plan, machine: &Machine) -> Vec<CString> {
    let prefix = format!("{MARK}=");
    let is_mark = |variable: &&CString| variable.as_bytes().starts_with(prefix.as_bytes());
    let mut environment: Vec<CString> =
        plan.environment.iter().filter(|variable| !is_mark(variable)).cloned().collect();
    let own = system::own_pid();
    let mark = machine.identity(own).ok();
    let mark = mark.and_then(|identity| CString::new(format!("{prefix}{own}@{identity}")).ok());
    environment.extend(mark);
    environment
}
