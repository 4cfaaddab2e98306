//! Error numbers by name, so that a list of faults reads the same on every machine.

use std::io;

use serde::{Deserialize, Serialize};

/// An error number of the operating system. Written by its name, such as `ENOSPC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub struct Errno(i32);

macro_rules! errnos {
    ($($name:ident)+) => {
        impl Errno {
            $(
                #[doc = concat!("`", stringify!($name), "` as this machine numbers it.")]
                pub const $name: Errno = Errno(libc::$name);
            )+

            /// Every number that has a name here.
            pub const ALL: &'static [Errno] = &[$(Errno::$name),+];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                $(if self == Errno::$name {
                    return stringify!($name);
                })+
                // Only the constants above make a value of this type.
                "EUNKNOWN"
            }
        }
    };
}

errnos! {
    EACCES EAGAIN EBADF EBUSY EDQUOT EEXIST EFBIG EINTR EINVAL EIO EISDIR ELOOP EMFILE ENAMETOOLONG ENFILE ENODEV
    ENOENT ENOLCK ENOMEM ENOSPC ENOSYS ENOTDIR ENOTEMPTY ENXIO EOPNOTSUPP EPERM EROFS ESTALE ETIMEDOUT EXDEV
}

impl Errno {
    /// The number with this name, where it is one of [`Errno::ALL`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Errno> {
        Errno::ALL.iter().copied().find(|errno| errno.name() == name)
    }

    /// The machine's number.
    #[must_use]
    pub const fn raw(self) -> i32 {
        self.0
    }
}

impl TryFrom<String> for Errno {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Errno::from_name(&name).ok_or_else(|| format!("no such error number, errno=`{name}`"))
    }
}

impl From<Errno> for &'static str {
    fn from(errno: Errno) -> Self {
        errno.name()
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        io::Error::from_raw_os_error(errno.0)
    }
}
