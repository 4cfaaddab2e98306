//! Where the program `gallivant-supervise` is: the one place of the runner that looks at this process's own surroundings.

use std::path::{Path, PathBuf};

/// The program's name.
pub const PROGRAM: &str = "gallivant-supervise";
/// The variable that names its path.
pub const VARIABLE: &str = "GALLIVANT_SUPERVISE";

/// Finds the supervisor: where `given` says, else where the variable says, else beside the library or beside the program that
/// uses it, or in the `bin`, `lib` or `libexec` that belongs to the library's directory. None where there is no such program; one that
/// was named and is not there is not looked for elsewhere.
#[must_use]
pub fn find(given: Option<&Path>) -> Option<PathBuf> {
    let named = given.map(Path::to_owned).or_else(by_variable);
    if let Some(named) = named {
        return is_program(&named).then_some(named);
    }
    let mut places = Vec::new();
    for directory in [library_directory(), program_directory()].into_iter().flatten() {
        places.push(directory.join(PROGRAM));
        if let Some(above) = directory.parent() {
            // Tests and examples of a build stand in a directory below its programs.
            places.push(above.join(PROGRAM));
            places.push(above.join("bin").join(PROGRAM));
            // Where the command is installed, the library and its supervisor stand in the `lib` beside it.
            places.push(above.join("lib").join(PROGRAM));
            places.push(above.join("libexec").join(PROGRAM));
        }
    }
    places.into_iter().find(|place| is_program(place))
}

#[expect(clippy::disallowed_methods, reason = "the one variable of the runner, which names its own program")]
fn by_variable() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn program_directory() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent().map(Path::to_owned)
}

/// The directory of the object file that this code was loaded from.
fn library_directory() -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;

    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the address is that of a function of this object, and the structure lives here.
    let found = unsafe { libc::dladdr(library_directory as *const libc::c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own name of the object, terminated, which lives as long as the object is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes())).canonicalize().ok()?;
    path.parent().map(Path::to_owned)
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}
