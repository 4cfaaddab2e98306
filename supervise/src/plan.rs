//! What the launcher says is to be started: the length of the whole, then fields of bytes, each behind
//! its length, over the socket.
//!
//! Nothing of it is in the arguments or in the environment of this process, where others could read it.

use alloc::borrow::ToOwned;
use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{Error, Result};
use crate::system::Control;

/// The first field: which form the rest has.
const FORM: &[u8] = b"gallivant-supervise 1";
/// A plan longer than this is none: a prompt on standard input may be long, and nothing else of it is.
const MAX_PLAN: usize = 256 * 1024 * 1024;

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
    pub(crate) fn read(control: &Control) -> Result<Self> {
        let mut length = [0; 4];
        control.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_PLAN {
            return Err(Error::INVALID);
        }
        let mut bytes = vec![0; length];
        control.read_exact(&mut bytes)?;
        Plan::parse(&mut &bytes[..])
    }

    fn parse(rest: &mut &[u8]) -> Result<Self> {
        if field(rest)? != FORM {
            return Err(Error::INVALID);
        }
        let directory = c_string(rest)?;
        let run_id = text(rest)?;
        let operation_id = text(rest)?;
        let lease = c_string(rest)?;
        let token = field(rest)?.to_owned();
        let working_directory = c_string(rest)?;
        let program = c_string(rest)?;
        let arguments = list(rest)?;
        let environment = list(rest)?;
        let has_input = field(rest)? == b"1";
        let input = field(rest)?.to_owned();
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

fn length(rest: &mut &[u8]) -> Result<usize> {
    let (length, behind) = rest.split_first_chunk::<4>().ok_or(Error::INVALID)?;
    *rest = behind;
    Ok(u32::from_le_bytes(*length) as usize)
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = length(rest)?;
    let (field, behind) = rest.split_at_checked(length).ok_or(Error::INVALID)?;
    *rest = behind;
    Ok(field)
}

fn c_string(rest: &mut &[u8]) -> Result<CString> {
    CString::new(field(rest)?).map_err(|_| Error::INVALID)
}

fn text(rest: &mut &[u8]) -> Result<String> {
    String::from_utf8(field(rest)?.to_owned()).map_err(|_| Error::INVALID)
}

fn list(rest: &mut &[u8]) -> Result<Vec<CString>> {
    // Each takes four bytes at least, so that a count that is none cannot be believed.
    let count = length(rest)?;
    if count > rest.len() / 4 {
        return Err(Error::INVALID);
    }
    (0..count).map(|_| c_string(rest)).collect()
}
