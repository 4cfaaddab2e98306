//! Linux: bubblewrap with a private mount tree, and with new namespaces for users, processes, IPC and network (EX-VER-22).
//!
//! The tree begins empty. System directories come in read-only, the checkout and the directories of the profile writable, and
//! nothing else of the machine is there to be found. Three things are less obvious:
//!
//! - What hides Git's metadata is a mount. Whoever runs in there has no capability, and in a user namespace of its own cannot
//!   take away a mount that came from outside.
//! - The empty tree itself, `/dev`, `/proc` and what hides something are made read-only at the end, so that only checkout and
//!   profile are writable (EX-VER-24). Without it the settings of the kernel in `/proc/sys`, which belong to the whole machine,
//!   could be changed by whoever runs as root outside: it asks for the user there and not for a capability.
//! - No mount point lies in a directory of the profile: a command could put a link in its place before the next one begins. So
//!   `/tmp` is the profile's only where neither checkout nor runtime lies below it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::layout::{GIT_VIEW as VIEW_BELOW, Hidden, Layout};

/// bubblewrap.
pub const PROGRAM: &str = "/usr/bin/bwrap";
/// On which descriptor it reports: its first process, and how the command has ended.
pub const REPORT_OPTION: &str = "--json-status-fd";
/// What to do where it does not work.
pub const REMEDY: &str = "install bubblewrap as /usr/bin/bwrap and git as /usr/bin/git, permit user namespaces (sysctl \
     user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), then resume";

/// Everything of ours in the tree lies below this.
pub(super) const OWN: &str = "/gallivant";
/// The profile's directories.
pub(super) const PROFILE: &str = "/gallivant/profile";
/// The view of Git's data.
pub(super) const GIT_VIEW: &str = "/gallivant/git";

/// Programs and libraries of the system besides `/usr`, where they are no links into it.
const SYSTEM: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// What programs need of the configuration to find their libraries, alternatives and the local time. Nothing of it is the
/// operator's.
const CONFIGURATION: [&str; 5] =
    ["/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"];
/// Files of the profile that stand in `/etc`: who is who, and where names come from.
pub(crate) const MADE: [(&str, &str); 4] = [
    ("group", "nogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("passwd", "nobody:x:65534:65534::/:/bin/sh\n"),
];
/// A file of the profile without content, which stands where a file is hidden.
pub(crate) const EMPTY: &str = "etc/empty";

/// Which of the system's directories there are, and which are links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPaths {
    /// Directories and files that come in read-only.
    pub present: Vec<PathBuf>,
    /// Links, by what they say and where they stand.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Whether there is a `/usr/local`. It is the operator's, and hidden but for a runtime in it.
    pub has_local: bool,
}

impl SystemPaths {
    /// Those of this machine.
    #[must_use]
    pub fn of_this_system() -> SystemPaths {
        let mut found = SystemPaths { has_local: Path::new("/usr/local").is_dir(), ..SystemPaths::default() };
        for path in SYSTEM.iter().map(Path::new) {
            match path.read_link() {
                Ok(target) => found.links.push((target, path.to_owned())),
                Err(_) if path.is_dir() => found.present.push(path.to_owned()),
                Err(_) => {}
            }
        }
        let configuration = CONFIGURATION.iter().map(Path::new).filter(|path| path.exists());
        found.present.extend(configuration.map(Path::to_owned));
        found
    }
}

/// The arguments of bubblewrap before the command.
#[must_use]
pub fn arguments(layout: &Layout, system: &SystemPaths) -> Vec<OsString> {
    let mut tree = Tree::default();
    for flag in ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net"] {
        tree.words.push(flag.into());
    }
    // With the coordinator ends the sandbox; without a terminal nothing can be typed into it; who is root outside is not inside.
    for flag in ["--die-with-parent", "--new-session", "--cap-drop", "ALL"] {
        tree.words.push(flag.into());
    }
    tree.same("--ro-bind", Path::new("/usr"));
    for (target, at) in &system.links {
        tree.two("--symlink", target, at);
    }
    for path in &system.present {
        tree.same("--ro-bind", path);
    }
    for (name, _) in MADE {
        tree.two("--ro-bind", &layout.profile.join("etc").join(name), &Path::new("/etc").join(name));
    }
    tree.one("--proc", Path::new("/proc"));
    tree.one("--dev", Path::new("/dev"));
    tree.frozen.extend(["/proc".into(), "/dev".into()]);
    tree.two("--bind", &layout.profile.join("shm"), Path::new("/dev/shm"));
    let runtime = layout.runtime.as_ref().map(|runtime| runtime.directory.as_path());
    let is_in = |place: &str| {
        layout.checkout.starts_with(place) || runtime.is_some_and(|runtime| runtime.starts_with(place))
    };
    if system.has_local {
        tree.empty(Path::new("/usr/local"));
    }
    if is_in("/tmp") {
        tree.one("--dir", Path::new("/tmp"));
    } else {
        tree.two("--bind", &layout.profile.join("tmp"), Path::new("/tmp"));
    }
    for directory in ["home", "xdg", "tmp"] {
        tree.two("--bind", &layout.profile.join(directory), &Path::new(PROFILE).join(directory));
    }
    tree.two("--ro-bind", &layout.profile.join(VIEW_BELOW), Path::new(GIT_VIEW));
    if let Some(runtime) = runtime {
        tree.same("--ro-bind", runtime);
    }
    tree.same("--bind", &layout.checkout);
    for hidden in &layout.hidden {
        match hidden {
            Hidden::Directory(path) => tree.empty(path),
            Hidden::File(path) => tree.two("--ro-bind", &layout.profile.join(EMPTY), path),
        }
    }
    tree.frozen.push("/".into());
    for path in std::mem::take(&mut tree.frozen) {
        tree.one("--remount-ro", &path);
    }
    tree.one("--chdir", &layout.checkout);
    tree.words.push("--".into());
    tree.words
}

/// Arguments under construction, and what is made read-only at the end of them.
#[derive(Default)]
struct Tree {
    words: Vec<OsString>,
    frozen: Vec<PathBuf>,
}

impl Tree {
    fn one(&mut self, option: &str, path: &Path) {
        self.words.extend([option.into(), path.into()]);
    }

    fn two(&mut self, option: &str, from: &Path, to: &Path) {
        self.words.extend([option.into(), from.into(), to.into()]);
    }

    fn same(&mut self, option: &str, path: &Path) {
        self.two(option, path, path);
    }

    fn empty(&mut self, path: &Path) {
        self.one("--tmpfs", path);
        self.frozen.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::sandbox::Runtime;

    fn layout(checkout: &str) -> Layout {
        Layout {
            checkout: checkout.into(),
            profile: "/var/scratch/p".into(),
            runtime: Some(Runtime { directory: "/usr/local".into(), programs: "/usr/local/bin".into() }),
            hidden: vec![Hidden::Directory(Path::new(checkout).join(".git"))],
        }
    }

    fn joined(layout: &Layout) -> String {
        let system = SystemPaths { has_local: true, ..SystemPaths::default() };
        let words: Vec<_> =
            arguments(layout, &system).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn what_hides_comes_behind_what_grants_and_the_tree_is_closed_last() {
        let text = joined(&layout("/srv/checkout"));
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(at("--tmpfs /usr/local") < at("--ro-bind /usr/local /usr/local"));
        assert!(at("--bind /srv/checkout /srv/checkout") < at("--tmpfs /srv/checkout/.git"));
        assert!(at("--tmpfs /srv/checkout/.git") < at("--remount-ro /srv/checkout/.git"));
        assert!(text.ends_with("--remount-ro / --chdir /srv/checkout --"), "{text}");
        assert!(text.contains("--bind /var/scratch/p/tmp /tmp"));
    }

    #[test]
    fn no_mount_point_lies_in_a_directory_that_commands_write() {
        let text = joined(&layout("/tmp/checkout"));
        assert!(!text.contains("--bind /var/scratch/p/tmp /tmp "), "{text}");
        assert!(text.contains("--dir /tmp"));
    }
}
