//! The operating system's sandbox: what is granted, and the one invocation that runs something inside of it (EX-VER-20 to
//! EX-VER-27).
//!
//! - [`Layout`]: the checkout, the private profile, the named runtime, and what is hidden;
//! - [`linux`]: the arguments of bubblewrap; [`macos`]: the profile of `sandbox-exec`. Both are pure functions of the layout;
//! - [`Sandbox`]: a layout with the driver of this system.
//!
//! There is no way past a driver: what is to run is a text for `/bin/sh`, and only [`Sandbox::invocation`] makes a process
//! of it.

mod layout;
pub mod linux;
pub mod macos;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use layout::{Hidden, Layout, Runtime};

use super::command::SHELL;
use super::environment::{self, Places, Variables};
use super::running::Invocation;

/// What this system puts a command into a sandbox with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// bubblewrap, on Linux.
    Bubblewrap,
    /// `sandbox-exec`, on macOS. It is written for and not tried.
    SandboxExec,
}

impl Driver {
    /// The driver of this system; none elsewhere than on Linux and macOS (EX-VER-23).
    #[must_use]
    pub const fn of_this_system() -> Option<Driver> {
        if cfg!(target_os = "linux") {
            Some(Driver::Bubblewrap)
        } else if cfg!(target_os = "macos") {
            Some(Driver::SandboxExec)
        } else {
            None
        }
    }

    /// Its name in evidence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Driver::Bubblewrap => "bubblewrap",
            Driver::SandboxExec => "sandbox-exec",
        }
    }

    /// Its program. The path is fixed: nothing is looked up (EX-VER-21, EX-VER-22).
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Driver::Bubblewrap => linux::PROGRAM,
            Driver::SandboxExec => macos::PROGRAM,
        }
    }

    /// What to do where it does not work.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Driver::Bubblewrap => linux::REMEDY,
            Driver::SandboxExec => macos::REMEDY,
        }
    }
}

/// A layout under this system's driver.
#[derive(Clone, Debug)]
pub struct Sandbox {
    driver: Driver,
    layout: Layout,
    system: linux::SystemPaths,
    environment: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// A sandbox of this layout. Looks at which system directories there are, and starts nothing.
    #[must_use]
    pub fn new(driver: Driver, layout: Layout, coordinator: &Variables) -> Sandbox {
        let places = places(driver, &layout);
        let environment = environment::environment(
            &Places {
                profile: &places.profile,
                git_view: &places.git_view,
                checkout: &layout.checkout,
                runtime: layout.runtime.as_ref().map(|runtime| runtime.programs.as_path()),
            },
            coordinator,
        );
        Sandbox { driver, layout, system: linux::SystemPaths::of_this_system(), environment }
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.driver
    }

    /// What is granted.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The variables of everything that runs in it.
    #[must_use]
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Where the profile and the view of Git's data are for what runs in it.
    #[must_use]
    pub fn inside(&self) -> Inside {
        places(self.driver, &self.layout)
    }

    /// The process that runs `/bin/sh -c <text>` in the checkout, with `$1` and so on as given.
    #[must_use]
    pub fn invocation(&self, text: &str, parameters: &[&OsStr], limit_ms: u64) -> Invocation {
        let mut arguments = match self.driver {
            Driver::Bubblewrap => linux::arguments(&self.layout, &self.system),
            Driver::SandboxExec => macos::arguments(&self.layout),
        };
        arguments.extend([SHELL.into(), "-c".into(), text.into()]);
        if !parameters.is_empty() {
            // What `-c` calls `$0`.
            arguments.push("sh".into());
            arguments.extend(parameters.iter().map(|&parameter| parameter.to_owned()));
        }
        Invocation {
            program: self.driver.program().into(),
            arguments,
            environment: self.environment.clone(),
            directory: match self.driver {
                // bubblewrap goes into the checkout itself, in its own tree.
                Driver::Bubblewrap => "/".into(),
                Driver::SandboxExec => self.layout.checkout.clone(),
            },
            input: None,
            limit_ms,
            report_option: match self.driver {
                Driver::Bubblewrap => Some(linux::REPORT_OPTION),
                Driver::SandboxExec => None,
            },
            merges_errors: true,
        }
    }
}

/// Paths as they are inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The directory that holds the profile's directories.
    pub profile: PathBuf,
    /// The view of Git's data.
    pub git_view: PathBuf,
}

fn places(driver: Driver, layout: &Layout) -> Inside {
    match driver {
        Driver::Bubblewrap => {
            Inside { profile: Path::new(linux::PROFILE).into(), git_view: Path::new(linux::GIT_VIEW).into() }
        }
        Driver::SandboxExec => {
            Inside { profile: layout.profile.clone(), git_view: layout.profile.join(layout::GIT_VIEW) }
        }
    }
}
