//! What a runtime has to have before the layer is used in it (EX-CAP-26).

use crate::error::{Code, Error, Result};

/// The version of the contract between a runtime and this layer (EX-BND-01).
pub const EXECUTION_VERSION: u64 = 1;

/// What a runtime says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// The version of the contract that it was built for; none where it says none.
    pub contract_version: Option<u64>,
    /// Whether it has the shared intake service.
    pub has_intake: bool,
}

/// Refuses a runtime in which the layer cannot work. Nothing is made in the place of what is missing.
///
/// # Errors
/// `EXECUTION_DEPENDENCY`; the message tells what is missing, and both versions.
pub fn assert_execution_dependency(runtime: &Runtime) -> Result<()> {
    let refuse = |message: String| Err(Error::new(Code::ExecutionDependency, message));
    if runtime.contract_version != Some(EXECUTION_VERSION) {
        let found = runtime.contract_version.map_or("none".to_owned(), |version| version.to_string());
        return refuse(format!(
            "a runtime is of another contract version, found=`{found}` supported=`{EXECUTION_VERSION}`"
        ));
    }
    if !runtime.has_intake {
        return refuse("a runtime lacks the shared intake service".to_owned());
    }
    Ok(())
}
