//! What is asked of the system. What of the program is `unsafe` stands here, but for its entry in `main`, its memory in `alone`, and the
//! numbers and texts of failures in `error`.
//!
//! The program has one thread, so a forked child may allocate. Every descriptor is closed when a program is executed, but for
//! the three standard ones.

use alloc::ffi::CString;
use alloc::format;
#[cfg(target_os = "linux")]
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int};

use crate::error::{Error, Result};

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
    /// Whether a directory has no name any more, so that nothing can be made in it.
    pub(crate) fn is_removed(&self) -> bool {
        // SAFETY: a structure of numbers, in which zeros are a value.
        let mut seen: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: the structure outlives the call.
        check(unsafe { libc::fstat(self.0, &mut seen) }).is_ok() && seen.st_nlink == 0
    }

    pub(crate) fn sync(&self) -> Result<()> {
        // By fsync(2) of macOS its `fsync` leaves what is written in the drive. A file system that knows no more has that alone.
        #[cfg(target_os = "macos")]
        // SAFETY: numbers only.
        if unsafe { libc::fcntl(self.0, libc::F_FULLFSYNC) } == 0 {
            return Ok(());
        }
        // SAFETY: a descriptor is a number to the kernel.
        check(unsafe { libc::fsync(self.0) }).map(drop)
    }

    pub(crate) fn become_standard_input(&self) -> Result<()> {
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
    pub(crate) fn take() -> Result<Self> {
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

    pub(crate) fn read_exact(&self, bytes: &mut [u8]) -> Result<()> {
        read_exact(&self.socket, bytes)
    }

    pub(crate) fn say(&self, line: &str) -> Result<()> {
        write_all(&self.socket, line.as_bytes())
    }

    /// Says that nothing was started.
    ///
    /// # Errors
    /// Always: that nothing was started.
    pub(crate) fn fail(&self, stage: &str, error: &Error) -> Result<()> {
        let _ = self.say(&format!("failed {stage} {}\n", error.0));
        Err(*error)
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
            if is_gone && Error::last() == Error(libc::ESRCH) {
                return false;
            }
        }
    }
}

/// Whether this process takes in whoever loses a parent below it.
pub(crate) const KEEPS_ORPHANS: bool = cfg!(target_os = "linux");

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
        let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
        // SAFETY: the structure lives here.
        let waited = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
        if waited == 0 {
            // SAFETY: a wait that went well has filled these in.
            let (pid, code, value) = unsafe { (info.si_pid(), info.si_code, info.si_status()) };
            // As `wait` codes an exit status, and a signal.
            let status = if code == libc::CLD_EXITED { (value & 0xff) << 8 } else { value & 0x7f };
            return Some(Ended { pid, status });
        }
        if Error::last() != Error(libc::EINTR) {
            return None;
        }
    }
}

/// Lets go of a process that has ended, or waits for its end.
pub(crate) fn reap(pid: c_int) {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(pid, core::ptr::null_mut(), 0) } < 0 && Error::last() == Error(libc::EINTR) {
    }
}

/// Zero in the child.
pub(crate) fn fork() -> Result<c_int> {
    // SAFETY: the program has one thread.
    check(unsafe { libc::fork() })
}

/// Ends this process at once.
pub(crate) fn end(status: c_int) -> ! {
    // SAFETY: nothing of this process is used any more.
    unsafe { libc::_exit(status) }
}

/// Leaves the launcher's session, takes in whoever loses a parent below, and is not ended by what ends a terminal's session.
pub(crate) fn become_reaper() -> Result<()> {
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
pub(crate) fn lead_session() -> Result<()> {
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
        let mut none: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
    }
}

pub(crate) fn change_directory(path: &CStr) -> Result<()> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

pub(crate) fn can_execute(path: &CStr) -> Result<()> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::access(path.as_ptr(), libc::X_OK) }).map(drop)
}

/// Becomes the program. Returns only with the reason why not.
pub(crate) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> Error {
    let pointers = |texts: &[CString]| {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(core::ptr::null());
        pointers
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer, and what they point to lives in the caller.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Error::last()
}

/// The reading and the writing end.
pub(crate) fn pipe() -> Result<(Descriptor, Descriptor)> {
    let mut ends = [0; 2];
    #[cfg(target_os = "linux")]
    // SAFETY: room for two.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    #[cfg(not(target_os = "linux"))]
    {
        // SAFETY: room for two.
        check(unsafe { libc::pipe(ends.as_mut_ptr()) })?;
        for end in ends {
            // SAFETY: numbers only. No other thread executes a program in between.
            check(unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        }
    }
    Ok((Descriptor(ends[0]), Descriptor(ends[1])))
}

/// These bytes without a name, or nothing at all, to be read from the beginning.
pub(crate) fn standard_input(directory: &CStr, bytes: Option<&[u8]>) -> Result<Descriptor> {
    let Some(bytes) = bytes else { return open(c"/dev/null", libc::O_RDONLY) };
    let file = nameless(directory)?;
    write_all(&file, bytes)?;
    // SAFETY: numbers only.
    check(unsafe { libc::lseek(file.0, 0, libc::SEEK_SET) }.try_into().unwrap_or(0))?;
    Ok(file)
}

/// A file in memory. By its number: the C library has it since 2.27 only.
#[cfg(target_os = "linux")]
fn nameless(_directory: &CStr) -> Result<Descriptor> {
    // SAFETY: the name is terminated.
    let file = unsafe { libc::syscall(libc::SYS_memfd_create, c"input".as_ptr(), libc::MFD_CLOEXEC) };
    check(c_int::try_from(file).unwrap_or(-1)).map(Descriptor)
}

/// A file of this directory whose name is taken from it at once. One that a killed predecessor has left is replaced.
#[cfg(not(target_os = "linux"))]
fn nameless(directory: &CStr) -> Result<Descriptor> {
    const NAME: &CStr = c".input.tmp";
    let directory = open_directory(directory)?;
    // SAFETY: the name is terminated, here and below.
    let remove = || unsafe { libc::unlinkat(directory.0, NAME.as_ptr(), 0) };
    remove();
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: as above.
    let file = check(unsafe { libc::openat(directory.0, NAME.as_ptr(), flags, 0o600) })?;
    check(remove())?;
    Ok(Descriptor(file))
}

/// When a process was forked: seconds and microseconds since 1970.
#[cfg(target_os = "macos")]
pub(crate) fn start(pid: c_int) -> Result<(u64, u64)> {
    // SAFETY: a structure of numbers, for which zeroes are values.
    let mut info: libc::proc_bsdinfo = unsafe { core::mem::zeroed() };
    let size = c_int::try_from(size_of_val(&info)).unwrap_or(c_int::MAX);
    // SAFETY: there is room for as many bytes as are said.
    let written = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), size) };
    if written != size {
        return Err(Error::last());
    }
    Ok((info.pbi_start_tvsec, info.pbi_start_tvusec))
}

/// Nobody needs to be waited for who stands below this process.
#[cfg(target_os = "linux")]
pub(crate) fn wait_for_company(_leader: c_int) {}

/// Waits until no process but the leader, which has ended and is not reaped, is in its group or session: for so long the number
/// of the group names nobody else, and who is in it is known to be of the run.
#[cfg(target_os = "macos")]
pub(crate) fn wait_for_company(leader: c_int) {
    const LONGEST_PAUSE_MS: u64 = 1_000;
    let mut pause = 1;
    while has_company(leader) {
        sleep_ms(pause);
        pause = (pause * 2).min(LONGEST_PAUSE_MS);
    }
}

/// Where the list of processes cannot be had, only those of the group are known: those whom a signal would reach.
#[cfg(target_os = "macos")]
fn has_company(leader: c_int) -> bool {
    let mut pids = vec![0 as c_int; 65_536];
    let size = c_int::try_from(size_of_val(&pids[..])).unwrap_or(c_int::MAX);
    // SAFETY: there is room for as many bytes as are said.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), size) };
    if count <= 0 {
        // SAFETY: numbers only; a signal of number 0 is none.
        return unsafe { libc::kill(-leader, 0) } == 0 || Error::last() != Error(libc::ESRCH);
    }
    pids.truncate(usize::try_from(count).unwrap_or(0));
    // SAFETY: numbers only. Neither is told of a process that has ended.
    let belongs = |pid: c_int| unsafe { libc::getsid(pid) == leader || libc::getpgid(pid) == leader };
    pids.into_iter().any(|pid| pid > 1 && pid != leader && belongs(pid))
}

pub(crate) fn open_directory(path: &CStr) -> Result<Descriptor> {
    open(path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW)
}

fn open(path: &CStr, flags: c_int) -> Result<Descriptor> {
    // SAFETY: the path is terminated.
    check(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }).map(Descriptor)
}

pub(crate) fn read_file(directory: &Descriptor, name: &CStr) -> Result<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    // SAFETY: the name is terminated.
    let file = check(unsafe { libc::openat(directory.0, name.as_ptr(), flags) })?;
    read_all(&Descriptor(file))
}

/// A short text that the system makes up, which it gives in one read.
#[cfg(target_os = "linux")]
pub(crate) fn read_text(path: &CStr) -> Result<String> {
    let mut bytes = [0; 4096];
    let length = read(&open(path, libc::O_RDONLY)?, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

#[cfg(target_os = "linux")]
pub(crate) fn read_link(path: &CStr) -> Result<String> {
    let mut bytes = [0_u8; 256];
    // SAFETY: the path is terminated, and there is room for the length that is said.
    let length = unsafe { libc::readlink(path.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    let length = usize::try_from(length).map_err(|_| Error::last())?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Creates the file anew with mode 0600, whatever the umask, and makes its content durable.
pub(crate) fn write_file(directory: &Descriptor, name: &CStr, bytes: &[u8]) -> Result<()> {
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

pub(crate) fn rename(directory: &Descriptor, from: &CStr, to: &CStr) -> Result<()> {
    // SAFETY: both names are terminated.
    check(unsafe { libc::renameat(directory.0, from.as_ptr(), directory.0, to.as_ptr()) }).map(drop)
}

/// Says something in the run's raw output.
pub(crate) fn write_error(bytes: &[u8]) {
    let error = core::mem::ManuallyDrop::new(Descriptor(libc::STDERR_FILENO));
    let _ = write_all(&error, bytes);
}

pub(crate) fn write_all(file: &Descriptor, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // SAFETY: as many bytes as are said are there.
        let written = unsafe { libc::write(file.0, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if Error::last() == Error(libc::EINTR) => {}
            Err(_) => return Err(Error::last()),
        }
    }
    Ok(())
}

pub(crate) fn read_exact(file: &Descriptor, mut bytes: &mut [u8]) -> Result<()> {
    while !bytes.is_empty() {
        match read(file, bytes)? {
            0 => return Err(Error(libc::ECONNRESET)),
            read => bytes = &mut bytes[read..],
        }
    }
    Ok(())
}

fn read_all(file: &Descriptor) -> Result<Vec<u8>> {
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
            return Err(Error::INVALID);
        }
        if length == bytes.len() {
            bytes.resize(length * 2, 0);
        }
    }
}

fn read(file: &Descriptor, bytes: &mut [u8]) -> Result<usize> {
    loop {
        // SAFETY: there is room for as many bytes as are said.
        let read = unsafe { libc::read(file.0, bytes.as_mut_ptr().cast(), bytes.len()) };
        match usize::try_from(read) {
            Ok(read) => return Ok(read),
            Err(_) if Error::last() == Error(libc::EINTR) => {}
            Err(_) => return Err(Error::last()),
        }
    }
}

/// The time in milliseconds since 1970.
pub(crate) fn wall_ms() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives here.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(now.tv_sec) * 1000 + part(now.tv_nsec) / 1_000_000
}

/// A signal may end it sooner.
pub(crate) fn sleep_ms(ms: u64) {
    let seconds = libc::time_t::try_from(ms / 1000).unwrap_or(libc::time_t::MAX);
    // Below a thousand million, which every width of the type holds.
    let wait = libc::timespec { tv_sec: seconds, tv_nsec: (ms % 1000 * 1_000_000) as libc::c_long };
    // SAFETY: the structure lives here, and what is left of the time is not asked for.
    unsafe { libc::nanosleep(&raw const wait, core::ptr::null_mut()) };
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

fn check(answer: c_int) -> Result<c_int> {
    if answer < 0 { Err(Error::last()) } else { Ok(answer) }
}
