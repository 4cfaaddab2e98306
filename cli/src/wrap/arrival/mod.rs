//! What has come, and waiting for it: one way for Linux, one for the others.

#[cfg(not(target_os = "linux"))]
mod kqueue;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(super) use kqueue::Arrivals;
#[cfg(target_os = "linux")]
pub(super) use linux::Arrivals;

/// What has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrived {
    Nothing,
    /// Something has become of the program.
    Child,
    /// The terminal told everybody who runs in it.
    ByTerminal,
    /// A process told this one.
    Sent(i32),
}
