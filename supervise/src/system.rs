//! What is asked of the system. `unsafe` stands in this file of the program and in no other.
//!
//! The program has one thread, so a forked child may allocate. Every descriptor is closed when a program is executed, but for
//! the three standard ones.

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often it is looked whether the launcher still lives, in milliseconds: a copy of its socket in a forked child of the
/// launcher hides its end.
const LOOK_MS: c_int = 100;
/// Files that are read here are short.
const MAX_READ: usize = 32 * 1024 * 1024;

/// An open descriptor; closed with the object.
pub(crate) struct Descriptor(c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this object's own, and nobody uses it afterwards.
        unsafe { libc::close(self.0) };
    }
}

impl Descriptor {
    pub(crate) fn sync(&self) -> io::Result<()> {
        // SAFETY: a descriptor is a number to the kernel.
        check(unsafe { libc::fsync(self.0) }).map(drop)
    }

    pub(crate) fn become_standard_input(&self) -> io::Result<()> {
        // SAFETY: as above. The copy is not closed at execution.
        check(unsafe { libc::dup2(self.0, libc::STDIN_FILENO) }).map(drop)
    }
}

/// The launcher's socket.
pub(crate) struct Control {
    socket: Descriptor,
    launcher: c_int,
}

impl Control {
    /// Takes the socket from standard input, which is empty from then on, and closes every other descriptor that came along.
    pub(crate) fn take() -> io::Result<Self> {
        // SAFETY: takes no argument.
        let launcher = unsafe { libc::getppid() };
        close_from(3);
        // SAFETY: numbers only. The copy is closed at execution.
        let socket = check(unsafe { libc::fcntl(libc::STDIN_FILENO, libc::F_DUPFD_CLOEXEC, 3) })?;
        let socket = Descriptor(socket);
        open(c"/dev/null", libc::O_RDONLY)?.become_standard_input()?;
        // SAFETY: the path is a literal.
        unsafe { libc::chdir(c"/".as_ptr()) };
        Ok(Control { socket, launcher })
    }

    pub(crate) fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
        read_exact(&self.socket, bytes)
    }

    pub(crate) fn say(&self, line: &str) -> io::Result<()> {
        write_all(&self.socket, line.as_bytes())
    }

    /// Says that nothing was started.
    ///
    /// # Errors
    /// Always: that nothing was started.
    pub(crate) fn fail(&self, stage: &str, error: &io::Error) -> io::Result<()> {
        let _ = self.say(&format!("failed {stage} {}\n", error.raw_os_error().unwrap_or(0)));
        Err(io::Error::from(io::ErrorKind::Other))
    }

    /// Waits for the launcher's word; false once it is gone without one.
    pub(crate) fn waits_for_go(&self) -> bool {
        loop {
            let mut poll = libc::pollfd { fd: self.socket.0, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, which lives here.
            let ready = unsafe { libc::poll(&raw mut poll, 1, LOOK_MS) };
            if ready > 0 {
                let mut word = [0; 1];
                return self.read_exact(&mut word).is_ok() && word == *b"g";
            }
            // SAFETY: a signal of number 0 is none: it is asked only whether there is such a process.
            let is_gone = ready == 0 && unsafe { libc::kill(self.launcher, 0) } != 0;
            if is_gone && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
                return false;
            }
        }
    }
}

/// A process that has ended and is not reaped yet.
pub(crate) struct Ended {
    pub(crate) pid: c_int,
    /// As `wait` tells it.
    pub(crate) status: c_int,
}

/// The next process below this one that has ended; none once there is no process below.
pub(crate) fn next_ended() -> Option<Ended> {
    loop {
        // SAFETY: a structure of numbers, for which zeroes are values.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the structure lives here.
        let waited = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
        if waited == 0 {
            // SAFETY: a wait that went well has filled these in.
            let (pid, code, value) = unsafe { (info.si_pid(), info.si_code, info.si_status()) };
            // As `wait` codes an exit status, and a signal.
            let status = if code == libc::CLD_EXITED { (value & 0xff) << 8 } else { value & 0x7f };
            return Some(Ended { pid, status });
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

/// Lets go of a process that has ended, or waits for its end.
pub(crate) fn reap(pid: c_int) {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } < 0
        && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}

/// Zero in the child.
pub(crate) fn fork() -> io::Result<c_int> {
    // SAFETY: the program has one thread.
    check(unsafe { libc::fork() })
}

/// Ends this process at once.
pub(crate) fn end(status: c_int) -> ! {
    // SAFETY: nothing of this process is used any more.
    unsafe { libc::_exit(status) }
}

/// Leaves the launcher's session, takes in whoever loses a parent below, and is not ended by what ends a terminal's session.
pub(crate) fn become_reaper() -> io::Result<()> {
    lead_session()?;
    #[cfg(target_os = "linux")]
    // SAFETY: numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })?;
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
        // SAFETY: no handler of ours is set.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    Ok(())
}

/// A session of its own, and with it a group.
pub(crate) fn lead_session() -> io::Result<()> {
    // SAFETY: takes no argument.
    check(unsafe { libc::setsid() }).map(drop)
}

pub(crate) fn own_pid() -> c_int {
    // SAFETY: takes no argument.
    unsafe { libc::getpid() }
}

/// What a program finds that a shell has started: no signal is blocked or ignored.
pub(crate) fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: no handler of ours is set; the numbers that take no disposition answer an error.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is made before it is read.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

pub(crate) fn change_directory(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

pub(crate) fn can_execute(path: &CStr) -> io::Result<()> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::access(path.as_ptr(), libc::X_OK) }).map(drop)
}

/// Becomes the program. Returns only with the reason why not.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        pointers
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and what they point to lives in the caller.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

/// The reading and the writing end.
pub(crate) fn pipe() -> io::Result<(Descriptor, Descriptor)> {
    let mut ends = [0; 2];
    // SAFETY: room for two.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((Descriptor(ends[0]), Descriptor(ends[1])))
}

/// These bytes in memory, or nothing at all, to be read from the beginning.
pub(crate) fn standard_input(bytes: Option<&[u8]>) -> io::Result<Descriptor> {
    let Some(bytes) = bytes else { return open(c"/dev/null", libc::O_RDONLY) };
    // By its number: the C library knows the call since 2.27, and the program is linked for an older one.
    // SAFETY: the name is terminated.
    let file = unsafe { libc::syscall(libc::SYS_memfd_create, c"input".as_ptr(), libc::MFD_CLOEXEC) };
    let file = Descriptor(check(file.try_into().unwrap_or(-1))?);
    write_all(&file, bytes)?;
    // SAFETY: numbers only.
    check(unsafe { libc::lseek(file.0, 0, libc::SEEK_SET) }.try_into().unwrap_or(0))?;
    Ok(file)
}

pub(crate) fn open_directory(path: &CStr) -> io::Result<Descriptor> {
    open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW)
}

fn open(path: &CStr, flags: c_int) -> io::Result<Descriptor> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }).map(Descriptor)
}

pub(crate) fn read_file(directory: &Descriptor, name: &CStr) -> io::Result<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the name is terminated.
    let file = check(unsafe { libc::openat(directory.0, name.as_ptr(), flags) })?;
    read_all(&Descriptor(file))
}

pub(crate) fn read_text(path: &CStr) -> io::Result<String> {
    let bytes = read_all(&open(path, libc::O_RDONLY)?)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn read_link(path: &CStr) -> io::Result<String> {
    let mut bytes = [0_u8; 256];
    // SAFETY: the path is terminated, and there is room for the length that is said.
    let length = unsafe { libc::readlink(path.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Creates the file anew with mode 0600, whatever the umask, and makes its content durable.
pub(crate) fn write_file(directory: &Descriptor, name: &CStr, bytes: &[u8]) -> io::Result<()> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the name is terminated.
    let file = Descriptor(check(unsafe { libc::openat(directory.0, name.as_ptr(), flags, 0o600) })?);
    // SAFETY: numbers only.
    check(unsafe { libc::fchmod(file.0, 0o600) })?;
    write_all(&file, bytes)?;
    file.sync()
}

/// How often a lease is asked for, one millisecond after the other: a reader's look holds it for microseconds.
const LEASE_TRIES: u32 = 250;

/// Takes the lease of a session and writes its token into it; none where there is none, or somebody else holds it: readers then
/// prove nothing by it.
pub(crate) fn take_lease(path: &CStr, token: &[u8]) -> Option<Descriptor> {
    if path.is_empty() {
        return None;
    }
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path is terminated.
    let file = Descriptor(check(unsafe { libc::open(path.as_ptr(), flags, 0o600) }).ok()?);
    for _ in 0..LEASE_TRIES {
        // SAFETY: numbers only.
        if unsafe { libc::flock(file.0, libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            // SAFETY: numbers only.
            check(unsafe { libc::ftruncate(file.0, 0) }).ok()?;
            write_all(&file, token).ok()?;
            return Some(file);
        }
        sleep_ms(1);
    }
    None
}

pub(crate) fn rename(directory: &Descriptor, from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: both names are terminated.
    check(unsafe { libc::renameat(directory.0, from.as_ptr(), directory.0, to.as_ptr()) }).map(drop)
}

/// Says something in the run's raw output.
pub(crate) fn write_error(bytes: &[u8]) {
    let error = std::mem::ManuallyDrop::new(Descriptor(libc::STDERR_FILENO));
    let _ = write_all(&error, bytes);
}

pub(crate) fn write_all(file: &Descriptor, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: as many bytes as are said are there.
        let written = unsafe { libc::write(file.0, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

pub(crate) fn read_exact(file: &Descriptor, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match read(file, bytes)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            read => bytes = &mut bytes[read..],
        }
    }
    Ok(())
}

fn read_all(file: &Descriptor) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let mut length = 0;
    loop {
        match read(file, &mut bytes[length..])? {
            0 => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            read => length += read,
        }
        if length > MAX_READ {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        if length == bytes.len() {
            bytes.resize(length * 2, 0);
        }
    }
}

fn read(file: &Descriptor, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: there is room for as many bytes as are said.
        let read = unsafe { libc::read(file.0, bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(read) {
            Ok(read) => return Ok(read),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// The time in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this program has no clock but the machine's")]
pub(crate) fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "this program has no clock but the machine's")]
pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Closes every descriptor from this number on, whoever left it open.
fn close_from(first: c_int) {
    #[cfg(target_os = "linux")]
    // SAFETY: numbers only; nothing of this process is open but the three standard descriptors.
    if unsafe { libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) } == 0 {
        return;
    }
    // A kernel before 5.9. As many as a process may have, and no more than can be gone through at once.
    // SAFETY: a number only.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) }.clamp(256, 65_536);
    for descriptor in first..c_int::try_from(most).unwrap_or(65_536) {
        // SAFETY: as above.
        unsafe { libc::close(descriptor) };
    }
}

fn check(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
