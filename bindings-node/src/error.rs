//! Errors as data: the core's errors and its table of codes, for the one JavaScript class to be made from.

use gallivant_core::{Code, Error};
use napi_derive::napi;

/// What `GallivantError` is made from.
#[napi(object, object_from_js = false, use_nullable = true)]
#[derive(Debug)]
pub struct ErrorParts {
    /// What happened, as a stable name.
    pub code: &'static str,
    /// What a caller does about it.
    pub kind: &'static str,
    /// A stable word that refines the code, where there is one.
    pub reason: Option<&'static str>,
    /// One sentence that an operator can act on.
    pub remedy: String,
    /// One line for people.
    pub message: String,
    /// The operating system's error number, where a system call failed.
    pub os_error: Option<i32>,
    /// The file that an operator has to look at, where the error is about one.
    pub file: Option<String>,
    /// What somebody else made, where the error is about that.
    pub resource: Option<String>,
    /// The run that the error is about, where it is about one.
    pub run_id: Option<String>,
    /// The operation that the error is about, where it is about one.
    pub operation_id: Option<String>,
}

/// One row of the table of codes.
#[napi(object, object_from_js = false)]
pub struct CodeRow {
    /// The stable name.
    pub code: &'static str,
    /// The status number of the C ABI.
    pub number: i32,
    /// What a caller does about it.
    pub kind: &'static str,
    /// One sentence that an operator can act on.
    pub remedy: &'static str,
    /// The whole documentation page.
    pub page: &'static str,
}

impl From<&Error> for ErrorParts {
    fn from(error: &Error) -> Self {
        ErrorParts {
            code: error.code().name(),
            kind: error.kind().name(),
            reason: error.reason(),
            remedy: error.remedy().to_owned(),
            message: error.message(),
            os_error: error.os_error(),
            file: error.file().map(|file| file.display().to_string()),
            resource: error.resource().map(str::to_owned),
            run_id: error.run_id().map(str::to_owned),
            operation_id: error.operation_id().map(str::to_owned),
        }
    }
}

/// Every code, in the order of its number.
#[napi(catch_unwind)]
pub fn error_table() -> Vec<CodeRow> {
    let row = |code: &Code| CodeRow {
        code: code.name(),
        number: code.number(),
        kind: code.kind().name(),
        remedy: code.remedy(),
        page: code.page(),
    };
    Code::ALL.iter().map(row).collect()
}

/// An object that was closed, or whose call makes no sense after what was done to it.
pub(crate) fn closed(what: &str) -> Error {
    Error::new(Code::Input, format!("the object is closed, object=`{what}`")).with_reason("closed")
}
