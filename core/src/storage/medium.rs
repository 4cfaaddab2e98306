//! On what kind of file system a directory lies: for people, and for the warning that other machines change it too.

use std::io;
use std::path::Path;

/// A kind of file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Medium {
    /// Its name, or its number where the name is not known here.
    pub name: String,
    /// Whether other machines change it too, so that a lock here may not exclude them.
    pub is_network: bool,
}

/// The kind of file system on which a path lies.
///
/// # Errors
/// As the system says it; [`io::ErrorKind::Unsupported`] where the system does not tell.
#[cfg(target_os = "linux")]
pub fn medium(path: &Path) -> io::Result<Medium> {
    let kind = rustix::io::retry_on_intr(|| rustix::fs::statfs(path))?.f_type;
    // By statfs(2) and linux/magic.h.
    let name = match kind {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlayfs",
        0xf2f5_2010 => "f2fs",
        0x2fc1_2fc1 => "zfs",
        0x6573_5546 => "fuse",
        0x6969 => "nfs",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x0102_1997 => "9p",
        0x00c3_6400 => "ceph",
        _ => "",
    };
    let name = if name.is_empty() { format!("0x{kind:x}") } else { name.to_owned() };
    Ok(Medium { name, is_network: super::NETWORK_FILE_SYSTEMS.contains(&kind) })
}

/// The kind of file system on which a path lies.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub fn medium(_path: &Path) -> io::Result<Medium> {
    Err(io::ErrorKind::Unsupported.into())
}
