//! The rows of verification: `verification [--rounds N] [FOLDER…]`.
//!
//! A command in the sandbox beside a bare bubblewrap with the same mounts, which take turns; and the view of Git's data of a
//! repository with 20,000 files, alone and beside the same plumbing by hand.
#![allow(clippy::disallowed_methods, reason = "a floor makes the bare calls")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use gallivant_core::Host;
use gallivant_core::verification::git_view::build;
use gallivant_core::verification::profile::Profile;
use gallivant_core::verification::running::{CommandHost, End, SystemCommands};
use gallivant_core::verification::sandbox::{Layout, Sandbox};
use gallivant_core::verification::{Driver, Readiness, ViewLimits, sandbox_readiness};

type Failure = Box<dyn Error>;

/// How many files the large repository has.
const FILES: usize = 20_000;

fn main() -> Result<(), Failure> {
    let (mut rounds, mut folders) = (60, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().ok_or("--rounds N")?.parse()?,
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    if folders.is_empty() {
        folders.push(std::env::temp_dir());
    }
    println!("{:28} {:>10} {:>10} {:>7}", "row", "row ms", "floor ms", "ratio");
    for folder in folders {
        println!("in {}", folder.display());
        let place = tempfile::tempdir_in(&folder)?;
        sandbox(place.path(), rounds)?;
        view(place.path(), (rounds / 10).max(3))?;
    }
    Ok(())
}

fn sandbox(place: &Path, rounds: usize) -> Result<(), Failure> {
    let host = Host::system();
    let (checkout, scratch) = (place.join("small"), place.join("scratch"));
    repository(&checkout, 3)?;
    fs::create_dir(&scratch)?;
    let driver = Driver::of_this_system().ok_or("no driver")?;
    let commands = SystemCommands::new(&host);
    let readiness = || -> Result<(), Failure> {
        let runtime = None;
        let readiness = Readiness {
            driver: Some(driver),
            runtime,
            scratch: scratch.clone(),
            commands: &commands,
            host: &host,
        };
        Ok(sandbox_readiness(&readiness, &|| false).map(drop)?)
    };
    readiness()?;
    let profile = Profile::create(&scratch, &host)?;
    fs::create_dir(profile.path().join("git"))?;
    let layout = Layout::over(&checkout, profile.path(), None, None, &host)?;
    let sandbox = Sandbox::new(driver, layout, &[]);
    let invocation = sandbox.invocation("true", &[], 60_000);
    let row = || match commands.run(&invocation, &mut |_| true, &|| false) {
        Ok(End::Exited(0)) => Ok(()),
        other => Err(format!("{other:?}").into()),
    };
    let floor = || {
        let mut command = Command::new(&invocation.program);
        command.args(&invocation.arguments).env_clear().envs(invocation.environment.clone());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status()?.success() { Ok(()) } else { Err("it failed".into()) }
    };
    beside("start of a sandbox", rounds, row, floor)?;
    alone("readiness", rounds / 3, readiness)
}

fn view(place: &Path, rounds: usize) -> Result<(), Failure> {
    let host = Host::system();
    let checkout = place.join("large");
    let head = repository(&checkout, FILES)?;
    let commands = SystemCommands::new(&host);
    let mut built = 0;
    let mut make = || -> Result<(), Failure> {
        built += 1;
        let at = place.join(format!("view-{built}"));
        let limits = ViewLimits::default();
        let view = build(&at, &checkout, &head, &limits, &commands, &host, &|| false);
        let view = view.map_err(|error| format!("{error:?}"))?;
        if view.objects < FILES { Err("objects are missing".into()) } else { Ok(()) }
    };
    alone("view of 20,000 loose files", rounds, &mut make)?;
    git(&checkout, &["repack", "-q", "-a", "-d"])?;
    alone("view of 20,000 packed files", rounds, &mut make)
}

/// A repository with one commit of so many files, a hundred a directory.
fn repository(at: &Path, files: usize) -> Result<String, Failure> {
    fs::create_dir(at)?;
    git(at, &["init", "-q"])?;
    for file in 0..files {
        let directory = at.join(format!("directory-{}", file / 100));
        if file % 100 == 0 {
            fs::create_dir(&directory)?;
        }
        let line = format!("file {file} of a repository, with a line that differs in each\n");
        fs::write(directory.join(format!("file-{file}.txt")), line.repeat(20))?;
    }
    git(at, &["add", "-A"])?;
    git(at, &["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "all"])?;
    git(at, &["rev-parse", "HEAD"])
}

fn git(at: &Path, args: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git").args(args).current_dir(at).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Row and floor take turns; the medians, and the median of the ratios.
fn beside(
    name: &str,
    rounds: usize,
    row: impl Fn() -> Result<(), Failure>,
    floor: impl Fn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut rows, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds + 3 {
        let (first, second) =
            if round % 2 == 0 { (took(&row)?, took(&floor)?) } else { swap(took(&floor)?, took(&row)?) };
        if round >= 3 {
            rows.push(first);
            floors.push(second);
            ratios.push(first / second);
        }
    }
    println!("{name:28} {:10.2} {:10.2} {:7.2}", median(&mut rows), median(&mut floors), median(&mut ratios));
    Ok(())
}

fn swap(floor: f64, row: f64) -> (f64, f64) {
    (row, floor)
}

fn alone(name: &str, rounds: usize, mut row: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
    let mut rows = (0..rounds).map(|_| took(&mut row)).collect::<Result<Vec<_>, _>>()?;
    println!("{name:28} {:10.2} {:>10} {:>7}", median(&mut rows), "-", "-");
    Ok(())
}

fn took(mut work: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let before = Instant::now();
    work()?;
    Ok(before.elapsed().as_secs_f64() * 1e3)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
