//! Harness state: handing a session to its siblings through the environment.
//!
//! The variables are `GALLIVANT_AGENT_DIR`, `GALLIVANT_AGENT`, `GALLIVANT_HARNESS`, `GALLIVANT_SESSION_TOKEN`,
//! `GALLIVANT_SESSION_SEQ` and `GALLIVANT_PTY_SESSION`.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use gallivant_core::harness_state::{SessionEnvironment, VARIABLES};
use gallivant_core::{Code, Error, Result};

use super::identity::{gallivant_harness_state_identity, writer_identity};
use super::options::{self, gallivant_harness_state_options};
use super::writer::gallivant_harness_state_writer;
use crate::barrier::{answer, call};
use crate::error::gallivant_error;
use crate::handle::{self, Handle, Out, borrow, give, null_pointer};
use crate::options::OutSized;
use crate::view::{Fixed, Texts, gallivant_optional_u64, gallivant_str};

/// A session as a claimer hands it to its siblings. Never changes.
///
/// Threads: any number at once. Free it with `gallivant_harness_state_environment_free`.
#[derive(Debug)]
pub struct gallivant_harness_state_environment {
    pub(crate) session: SessionEnvironment,
    /// `entries` points into these.
    _variables: Vec<CString>,
    entries: Fixed<Vec<*const c_char>>,
    identity: Fixed<gallivant_harness_state_identity>,
    agent_dir: Fixed<gallivant_str>,
    _texts: Texts,
}

impl Handle for gallivant_harness_state_environment {}

impl gallivant_harness_state_environment {
    /// # Errors
    /// `GALLIVANT_INPUT` with reason `environment` when a value holds a zero byte.
    pub(crate) fn new(session: SessionEnvironment) -> Result<Self> {
        let variables = session.to_env().into_iter().map(|(name, value)| {
            CString::new(format!("{name}={value}")).map_err(|_| {
                let message = format!("the value holds a zero byte, variable=`{name}`");
                Error::new(Code::Input, message).with_reason("environment")
            })
        });
        let variables = variables.collect::<Result<Vec<_>>>()?;
        let entries = null_terminated(&variables);
        let mut texts = Texts::default();
        let who = &session.identity;
        let [agent_dir, agent, harness, token, pty_session] = texts.hold([
            Some(&session.agent_dir),
            Some(&who.agent),
            Some(&who.harness),
            Some(&who.token),
            who.pty_session.as_deref(),
        ]);
        let identity =
            gallivant_harness_state_identity { struct_size: 0, agent, harness, token, pty_session };
        // SAFETY: the strings and texts stand beside the views and are not touched again.
        let (entries, identity, agent_dir) =
            unsafe { (Fixed::new(entries), Fixed::new(identity), Fixed::new(agent_dir)) };
        Ok(gallivant_harness_state_environment {
            session,
            _variables: variables,
            entries,
            identity,
            agent_dir,
            _texts: texts,
        })
    }
}

/// The environment of a session by its parts. `sequence` may be NULL for a token-only session.
///
/// Errors: `GALLIVANT_INPUT` with reason `environment` when a value holds a zero byte, which no environment can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_new(
    directory: *const c_char,
    directory_length: usize,
    identity: *const gallivant_harness_state_identity,
    sequence: *const u64,
    environment: *mut *mut gallivant_harness_state_environment,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let agent_dir = gallivant_str::new(directory, directory_length).text("directory")?.to_owned();
            let identity = writer_identity(identity)?;
            let out = Out::new(environment, "environment")?;
            let session = SessionEnvironment { agent_dir, identity, sequence: sequence.as_ref().copied() };
            out.set(give(gallivant_harness_state_environment::new(session)?));
            Ok(())
        })
    }
}

/// Reads the session from an environment as `environ` and `execve` have it: strings `NAME=value`, NULL at the end. Where
/// directory, agent, harness or token is missing or empty there is no session to speak for, and `environment` becomes
/// NULL, with success.
///
/// Errors: `GALLIVANT_INPUT` with reason `utf-8`; `GALLIVANT_HARNESS_STATE_INPUT` with reason `environment` when the
/// sequence is no decimal number of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_from(
    entries: *const *const c_char,
    environment: *mut *mut gallivant_harness_state_environment,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            if entries.is_null() {
                return Err(null_pointer("entries"));
            }
            let out = Out::new(environment, "environment")?;
            let mut values = [const { None }; VARIABLES.len()];
            let mut next = entries;
            while let Some(entry) = next.read().as_ref() {
                let entry = CStr::from_ptr(entry).to_bytes();
                for (position, name) in VARIABLES.iter().enumerate() {
                    let value = entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
                    // Of a doubled name the first counts, as for `getenv`.
                    if let Some(value) = value.filter(|_| values[position].is_none()) {
                        let view = gallivant_str::new(value.as_ptr().cast(), value.len());
                        values[position] = Some(view.text(name)?.to_owned());
                    }
                }
                next = next.add(1);
            }
            let session = SessionEnvironment::from_env(|name| {
                VARIABLES
                    .iter()
                    .position(|known| *known == name)
                    .and_then(|position| values[position].clone())
            })?;
            let made = session.map(gallivant_harness_state_environment::new).transpose()?;
            out.set(made.map_or(std::ptr::null_mut(), give));
            Ok(())
        })
    }
}

/// The variables to set, as strings `NAME=value` with NULL at the end, for `putenv` or `execve`. Valid until the environment
/// is freed; NULL where `environment` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_entries(
    environment: *const gallivant_harness_state_environment,
) -> *const *const c_char {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let environment = unsafe { environment.as_ref() };
        environment.map_or(std::ptr::null(), |environment| environment.entries.get().as_ptr())
    })
}

/// The names of all variables, with NULL at the end, for programs that clear them before they start something of their
/// own.
#[unsafe(no_mangle)]
pub extern "C" fn gallivant_harness_state_environment_names() -> *const *const c_char {
    static NAMES: OnceLock<(Vec<CString>, Fixed<Vec<*const c_char>>)> = OnceLock::new();
    answer(|| {
        let (_, names) = NAMES.get_or_init(|| {
            let names: Vec<_> = VARIABLES.into_iter().map(crate::buffer::c_string).collect();
            let pointers = null_terminated(&names);
            // SAFETY: the strings stand beside the pointers, for ever.
            (names, unsafe { Fixed::new(pointers) })
        });
        names.get().as_ptr()
    })
}

/// The agent's directory; valid until the environment is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_directory(
    environment: *const gallivant_harness_state_environment,
) -> gallivant_str {
    answer(|| {
        // SAFETY: null or a handle, by the conventions.
        let environment = unsafe { environment.as_ref() };
        environment.map_or(gallivant_str::NONE, |environment| *environment.agent_dir.get())
    })
}

/// Who writes. The strings are valid until the environment is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_identity(
    environment: *const gallivant_harness_state_environment,
    identity: *mut gallivant_harness_state_identity,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let environment = borrow(environment, "environment")?;
            OutSized::new(identity, "identity")?.set(*environment.identity.get());
            Ok(())
        })
    }
}

/// The claimed sequence; absent for a token-only session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_sequence(
    environment: *const gallivant_harness_state_environment,
    sequence: *mut gallivant_optional_u64,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let environment = borrow(environment, "environment")?;
            Out::new(sequence, "sequence")?.set(environment.session.sequence.into());
            Ok(())
        })
    }
}

/// Opens a writer for the session that an environment describes. Touches no file. `options` may be NULL.
///
/// Errors: `GALLIVANT_HARNESS_STATE_EMPTY_TOKEN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_open_writer(
    environment: *const gallivant_harness_state_environment,
    options: *const gallivant_harness_state_options,
    writer: *mut *mut gallivant_harness_state_writer,
    error: *mut *mut gallivant_error,
) -> i32 {
    // SAFETY: by the conventions.
    unsafe {
        call(error, || {
            let session = &borrow(environment, "environment")?.session;
            let (read, host) = options::options(options)?;
            let out = Out::new(writer, "writer")?;
            let writer = options::with_evidence(session.writer(&read, &host)?, options)?;
            out.set(give(gallivant_harness_state_writer::own(writer)));
            Ok(())
        })
    }
}

/// Frees the environment and ends its strings. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gallivant_harness_state_environment_free(
    environment: *mut gallivant_harness_state_environment,
) {
    // SAFETY: by the conventions.
    answer(|| unsafe { handle::free(environment) });
}

fn null_terminated(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
