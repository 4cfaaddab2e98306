//! Whether a file has the version that this package supports (EX-UPG-06 to EX-UPG-11). The rule stands beside the journal,
//! whose files are judged by it too.

pub(crate) use crate::journal::check_file_version as check;
pub use crate::journal::{FILE_KINDS, REGISTRY, check_version};
