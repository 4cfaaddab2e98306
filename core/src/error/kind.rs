//! What a caller does about an error.

/// What a caller does about an error. Coarse on purpose; [`super::Code`] says what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The caller's argument is wrong; the same call fails again.
    Input,
    /// The rules forbid it in the present state of the disk.
    Refused,
    /// Somebody else is at work; the same call may pass later.
    Busy,
    /// What happened is not known yet and has to be found out first.
    Unresolved,
    /// Bytes on disk make no sense; nothing was written over them.
    Corrupt,
    /// Bytes on disk belong to another version.
    Incompatible,
    /// The machine cannot do it now: disk, permission, file system.
    Unavailable,
    /// A bug in the library.
    Internal,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: &'static [Kind] = &[
        Kind::Input,
        Kind::Refused,
        Kind::Busy,
        Kind::Unresolved,
        Kind::Corrupt,
        Kind::Incompatible,
        Kind::Unavailable,
        Kind::Internal,
    ];

    /// The lower-case word that every binding shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Input => "input",
            Kind::Refused => "refused",
            Kind::Busy => "busy",
            Kind::Unresolved => "unresolved",
            Kind::Corrupt => "corrupt",
            Kind::Incompatible => "incompatible",
            Kind::Unavailable => "unavailable",
            Kind::Internal => "internal",
        }
    }
}
