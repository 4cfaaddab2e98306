//! At a terminal: colour and width, the table that is drawn anew, and a wrapped program under a shell's job control.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use gallivant_core::harness_state::{Observation, State};
use rustix::termios::Winsize;

use crate::{program, session, with_usual_signals};

/// A program at a terminal of its own, and what it has shown there.
struct Terminal {
    child: Child,
    keys: File,
    shown: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Terminal {
    fn open(mut command: Command, columns: u16) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("a terminal");
        let name = ptsname(&keys, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let size = Winsize { ws_col: columns, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&keys, size).expect("a size");
        let screen = || File::options().read(true).write(true).open(&name).expect("a terminal");
        command.stdin(screen()).stdout(screen()).stderr(screen()).env("TERM", "xterm");
        with_usual_signals(&mut command);
        // SAFETY: both calls are system calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                if libc::ioctl(0, libc::TIOCSCTTY, 0) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the program runs");
        drop(command);
        let keys = File::from(keys);
        let mut screen = keys.try_clone().expect("a descriptor");
        let (sender, shown) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Terminal { child, keys, shown, text: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("pressed");
    }

    /// Waits until this is shown, and forgets what came up to it.
    #[track_caller]
    fn until(&mut self, expected: &str) -> String {
        loop {
            if let Some(at) = self.text.find(expected) {
                let rest = self.text.split_off(at + expected.len());
                return std::mem::replace(&mut self.text, rest);
            }
            match self.shown.recv_timeout(Duration::from_secs(60)) {
                Ok(piece) => self.text.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{error}: `{expected}` is not shown, but `{}`", self.text),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn there_is_colour_and_width_on_a_terminal_and_none_where_it_is_not_wanted() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "an-agent-with-a-name");
    one.writer().observe(&Observation::new(State::Active)).expect("observed");
    let show = |name: &str, value: &str, columns: u16| {
        let mut command = program();
        command.arg("state").arg(root.path()).env(name, value);
        let mut terminal = Terminal::open(command, columns);
        assert!(terminal.child.wait().expect("it ends").success());
        let mut text = String::new();
        while let Ok(piece) = terminal.shown.recv_timeout(Duration::from_secs(60)) {
            text.push_str(&String::from_utf8_lossy(&piece));
        }
        text
    };
    let coloured = show("NO_COLOR", "", 80);
    assert!(coloured.contains("\u{1b}[32mactive\u{1b}[0m"), "{coloured:?}");
    let plain = show("NO_COLOR", "1", 24);
    assert!(!plain.contains('\u{1b}') && plain.contains("an-agent-with-a-name  ac\r\n"), "{plain:?}");
}

#[test]
fn a_watch_draws_its_table_anew_in_its_own_place() {
    let root = tempfile::tempdir().expect("a directory");
    let one = session(root.path(), "one");
    one.writer().observe(&Observation::new(State::Active)).expect("observed");
    let mut command = program();
    command.args(["state", "--watch"]).arg(root.path()).env("NO_COLOR", "1");
    let mut terminal = Terminal::open(command, 80);
    terminal.until("one    active");
    one.writer().observe(&Observation::new(State::Idle)).expect("observed");
    let between = terminal.until("one    idle");
    assert!(between.contains("\u{1b}[H"), "{between:?}");
    terminal.press("\u{3}");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&terminal.child.wait().expect("it ends")),
        Some(2)
    );
}

/// A shell with job control, in which `w` wraps a program.
fn shell(root: &std::path::Path) -> Terminal {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-i"]).env("PS1", "$ ").env("HISTFILE", "/dev/null");
    command.env("G", env!("CARGO_BIN_EXE_gallivant")).env("GALLIVANT_DIR", root);
    command.stderr(Stdio::null());
    Terminal::open(command, 200)
}

#[test]
fn a_wrapped_program_is_a_job_like_any_other() {
    let root = tempfile::tempdir().expect("a directory");
    let mut terminal = shell(root.path());
    terminal.press("stty -echo; \"$G\" wrap --agent a -- sh -c 'trap \"echo cau\'\'ght\" INT; trap \"echo go\'\'ing\" CONT; echo up; while :; do sleep 0.02; done'\r");
    terminal.until("up\r\n");
    // Once, and not a second time by way of the wrapper.
    terminal.press("\u{3}");
    terminal.until("caught");
    terminal.press("\u{1a}");
    let between = terminal.until("Stopped");
    assert!(!between.contains("caught"), "{between:?}");
    terminal.until("$ ");
    terminal.press("jobs -l; echo lis''ted\r");
    terminal.until("listed");
    terminal.press("fg\r");
    // The shell names the job before it gives the terminal to it.
    terminal.until("going");
    terminal.press("\u{3}");
    terminal.until("caught");
    terminal.press("\u{1c}");
    terminal.until("Quit");
    terminal.until("$ ");
    terminal.press("echo status=$?.\r");
    terminal.until("status=131.");
    let called = crate::call(crate::arguments!["state", "--json", root.path()]).with_status(0);
    assert_eq!(called.json()[0]["exit"], "signal 3");
}

#[test]
fn a_program_that_stops_itself_alone_is_a_stopped_job_too() {
    let root = tempfile::tempdir().expect("a directory");
    let mut terminal = shell(root.path());
    terminal
        .press("stty -echo; \"$G\" wrap --agent a -- sh -c 'echo up; kill -STOP $$; echo again; exit 4'\r");
    terminal.until("up\r\n");
    terminal.until("Stopped");
    terminal.until("$ ");
    terminal.press("fg\r");
    terminal.until("again\r\n");
    terminal.until("$ ");
    terminal.press("echo status=$?.\r");
    terminal.until("status=4.");
}

#[test]
fn the_terminals_settings_and_its_bytes_are_the_programs() {
    let root = tempfile::tempdir().expect("a directory");
    let mut command = program();
    let script =
        "stty raw -echo; echo ready; head -c 3 | od -An -tx1; stty sane; test -t 0 && test -t 1 && echo tty";
    command.args(["wrap", "--agent", "a", "--dir"]).arg(root.path()).args(["--", "sh", "-c", script]);
    let mut terminal = Terminal::open(command, 80);
    terminal.until("ready");
    terminal.press("\u{3}\u{1a}\u{1c}");
    terminal.until("03 1a 1c");
    terminal.until("tty");
    assert!(terminal.child.wait().expect("it ends").success());
}
