//! The command `gallivant`: a shell for what is on disk.
//!
//! It reads arguments, calls the core and prints; every rule about a file is the core's. In reading order:
//!
//! - [`arguments`]: what may be said; [`exit`]: what a script is told; [`terminal`], [`table`], [`moments`]: how it is shown;
//! - [`state`]: agents; [`hook`], [`wrap`], [`hooks`]: the writing side of a session;
//! - [`run`]: runs of the execution layer; [`claims`]: idempotent creates;
//! - [`check`], [`doctor`]: files and machines;
//! - [`pages`]: completions and manual pages.
#![cfg_attr(not(test), no_main)]
#![cfg_attr(test, allow(dead_code, reason = "the tests have an entry of their own"))]

mod arguments;
mod check;
mod claims;
mod doctor;
mod environment;
mod exit;
mod hook;
mod hooks;
mod moments;
mod pages;
mod run;
mod state;
mod table;
mod terminal;
mod wrap;

use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

use clap::Parser;

use arguments::{Arguments, Command};
use exit::Outcome;
use terminal::Screen;

/// The program's entry, in the place of the runtime's, whose preparations would cost a hook as many system calls as its own
/// work, and which would ignore SIGPIPE for whatever is wrapped.
///
/// # Safety
/// For the loader alone, which hands in `count` texts that end in a zero byte and live as long as the process.
#[cfg_attr(not(test), unsafe(export_name = "main"))]
unsafe extern "C" fn entry(count: c_int, texts: *const *const c_char) -> c_int {
    let count = usize::try_from(count).unwrap_or(0);
    let arguments = (0..count).map(|at| {
        // SAFETY: as the caller promises.
        let text = unsafe { CStr::from_ptr(*texts.add(at)) };
        OsString::from_vec(text.to_bytes().to_vec())
    });
    // A panic is a bug; the hook's own are caught where they come, and no other may cross into the loader.
    let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| command(arguments.collect())));
    c_int::from(status.unwrap_or(exit::UNAVAILABLE))
}

/// Puts `/dev/null` in the place of each of the three streams that is closed: the next file that is opened would take its
/// number, and be written to.
fn keep_streams() {
    use std::os::fd::AsRawFd;
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    while let Ok(null) = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()) {
        if null.as_raw_fd() > libc::STDERR_FILENO {
            break;
        }
        std::mem::forget(null);
    }
}

fn command(arguments: Vec<OsString>) -> u8 {
    // Before anything that costs: a harness waits for its hook.
    if let Some(arguments) = hook::asked(&arguments) {
        return hook::serve(arguments);
    }
    keep_streams();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(said) => return exit::of_arguments(&said),
    };
    let screen = Screen::of_this_process();
    let outcome = match arguments.command {
        Command::State(asked) => state::state(&asked, &screen),
        Command::Check(asked) => check::check(&asked, &screen),
        Command::Doctor(asked) => doctor::doctor(&asked, &screen),
        Command::Claims(asked) => claims::claims(&asked, &screen),
        Command::Run(asked) => run::run(&asked, &screen),
        Command::Hook(asked) => hook::by_hand(&asked),
        Command::Wrap(asked) => wrap::wrap(&asked),
        Command::Hooks(asked) => hooks::hooks(&asked, &screen),
        Command::Pages(asked) => pages::pages(&asked),
    };
    match outcome {
        Ok(Outcome::Yes) => 0,
        Ok(Outcome::No) => exit::NO,
        Ok(Outcome::Status(status)) => status,
        Err(failure) => failure.report(),
    }
}
