//! The command `gallivant`: a shell for what is on disk.
//!
//! It reads arguments, calls the core and prints; every rule about a file is the core's. In reading order:
//!
//! - [`arguments`]: what may be said; [`exit`]: what a script is told; [`terminal`], [`table`], [`moments`]: how it is shown;
//! - [`state`]: agents; [`hook`], [`wrap`], [`hooks`]: the writing side of a session;
//! - [`run`]: runs of the execution layer; [`claims`]: idempotent creates;
//! - [`check`], [`doctor`]: files and machines;
//! - [`pages`]: completions and manual pages.

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

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use exit::Outcome;
use terminal::Screen;

fn main() -> ExitCode {
    // Before anything that costs: a harness waits for its hook.
    if let Some(arguments) = hook::asked() {
        return hook::serve(&arguments);
    }
    let arguments = match Arguments::try_parse() {
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
        Command::Hook(asked) => hook::by_hand(&asked, &screen),
        Command::Wrap(asked) => wrap::wrap(&asked),
        Command::Hooks(asked) => hooks::hooks(&asked, &screen),
        Command::Pages(asked) => pages::pages(&asked),
    };
    match outcome {
        Ok(Outcome::Yes) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(exit::NO),
        Ok(Outcome::Status(status)) => ExitCode::from(status),
        Err(failure) => failure.report(),
    }
}
