//! The process table of macOS.
//!
//! - `calls`: what is asked of the system, as bytes; `system`: the system's own answers, and the only part that needs macOS;
//! - `layout`: what the bytes mean; `table`: the process table made of them.

mod calls;
mod layout;
#[cfg(target_os = "macos")]
mod system;
mod table;
#[cfg(test)]
mod tests;

#[cfg(target_os = "macos")]
pub(super) use system::since_boot;
