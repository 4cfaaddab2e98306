//! What the launcher says is to be started: fields of bytes, each behind its length, over the socket.
//!
//! Nothing of it is in the arguments or in the environment of this process, where others could read it.

use std::ffi::CString;
use std::io;

use crate::system::Control;

/// The first field: which form the rest has.
const FORM: &[u8] = b"gallivant-supervise 1";
/// A field longer than this is none: Linux takes no argument that is longer than 128 KiB, and a prompt on standard input may be.
const MAX_FIELD: usize = 64 * 1024 * 1024;
/// More arguments or variables than the kernel takes.
const MAX_LIST: usize = 1 << 20;

/// What is to be started, and for which run.
pub(crate) struct Plan {
    /// The run's directory.
    pub(crate) directory: CString,
    pub(crate) run_id: String,
    pub(crate) operation_id: String,
    /// The lease that is held while the harness lives, and what stands in it; empty where there is none.
    pub(crate) lease: CString,
    pub(crate) token: Vec<u8>,
    /// Where the harness starts.
    pub(crate) working_directory: CString,
    /// The program's path.
    pub(crate) program: CString,
    /// With the program's own name first.
    pub(crate) arguments: Vec<CString>,
    /// `NAME=value` each.
    pub(crate) environment: Vec<CString>,
    /// What the harness reads; none for an empty standard input.
    pub(crate) input: Option<Vec<u8>>,
}

impl Plan {
    /// # Errors
    /// Where the launcher ended before it had said everything, or said something else.
    pub(crate) fn read(control: &Control) -> io::Result<Self> {
        if field(control)? != FORM {
            return Err(invalid());
        }
        let directory = c_string(control)?;
        let run_id = text(control)?;
        let operation_id = text(control)?;
        let lease = c_string(control)?;
        let token = field(control)?;
        let working_directory = c_string(control)?;
        let program = c_string(control)?;
        let arguments = list(control)?;
        let environment = list(control)?;
        let has_input = field(control)? == b"1";
        let input = field(control)?;
        Ok(Plan {
            directory,
            run_id,
            operation_id,
            lease,
            token,
            working_directory,
            program,
            arguments,
            environment,
            input: has_input.then_some(input),
        })
    }
}

fn length(control: &Control) -> io::Result<usize> {
    let mut length = [0; 4];
    control.read_exact(&mut length)?;
    Ok(u32::from_le_bytes(length) as usize)
}

fn field(control: &Control) -> io::Result<Vec<u8>> {
    let length = length(control)?;
    if length > MAX_FIELD {
        return Err(invalid());
    }
    let mut bytes = vec![0; length];
    control.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn c_string(control: &Control) -> io::Result<CString> {
    CString::new(field(control)?).map_err(|_| invalid())
}

fn text(control: &Control) -> io::Result<String> {
    String::from_utf8(field(control)?).map_err(|_| invalid())
}

fn list(control: &Control) -> io::Result<Vec<CString>> {
    let count = length(control)?;
    if count > MAX_LIST {
        return Err(invalid());
    }
    (0..count).map(|_| c_string(control)).collect()
}

fn invalid() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}
