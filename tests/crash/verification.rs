//! Verification: a crash, and a failure, at every operation on the run's directory. No command runs twice, and nothing counts as
//! verified whose commands have not all succeeded.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::testing::{Action, Errno, Fault, Point, Simulation, simulated_host};
use gallivant_core::verification::evidence::EVIDENCE;
use gallivant_core::verification::running::{End, Invocation, Sink, Stop};
use gallivant_core::verification::{
    ApprovedCommands, CommandHost, Driver, Repository, SystemCommands, Tools, Verdict, Verification,
    ViewLimits, is_complete, verify,
};
use gallivant_core::{Code, Host, Result};

const RUN: &str = "/home/run";
const PROVED: &str = "privateWrites=work\noutsideReads=fail\noutsideWrites=fail\ngitMetadata=hidden\n\
     hostConnection=fails\ngitReads=work\nindexWrites=fail\nend=reached\n";

/// A repository on the machine's disk, where Git has to find it; the run's directory is simulated.
struct Place {
    directory: tempfile::TempDir,
    checkout: PathBuf,
    head: String,
    commands: ApprovedCommands,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("resolved");
        let checkout = root.join("checkout");
        for below in ["checkout", "scratch"] {
            std::fs::create_dir(root.join(below)).expect("made");
        }
        git(&checkout, &["init", "-q"]);
        std::fs::write(checkout.join("file"), "x\n").expect("written");
        git(&checkout, &["add", "-A"]);
        git(&checkout, &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "-m", "first"]);
        let head = git(&checkout, &["rev-parse", "HEAD"]);
        let list = vec!["one".to_owned(), "two".to_owned()];
        let commands = ApprovedCommands::new(list, b"", &sha256_hex(b"")).expect("approved");
        Place { directory, checkout, head, commands }
    }

    /// A machine on which the run's directory is durable.
    fn machine(&self) -> Simulation {
        let (_, machine) = simulated_host(7);
        for directory in ["/home", RUN] {
            machine.files.plant_directory(directory).expect("planted");
        }
        // The layout asks the disk of the host what stands at `.git`.
        let mut above: Vec<_> = self.checkout.ancestors().filter(|path| path.parent().is_some()).collect();
        above.reverse();
        for path in above {
            machine.files.plant_directory(path).expect("planted");
        }
        machine.files.plant_directory(self.checkout.join(".git")).expect("planted");
        machine.files.sync_everything();
        machine.another_process()
    }

    /// Verifies on a machine, and says which commands were run.
    fn verify(&self, machine: &Simulation) -> (Result<Verdict>, Vec<String>) {
        let (host, secrets) = (machine.host(), Secrets::none());
        let scratch = self.directory.path().join("scratch");
        let request = Verification {
            run: Path::new(RUN),
            checkout: &self.checkout,
            applied_head: &self.head,
            commands: &self.commands,
            runtime: None,
            environment: &[],
            secrets: &secrets,
            scratch: &scratch,
            view_limits: ViewLimits::default(),
        };
        let commands = Counting { real: SystemCommands::new(&Host::system()), ran: Mutex::default() };
        let repository = Clean(self.head.clone());
        let tools = Tools {
            driver: Some(Driver::Bubblewrap),
            commands: &commands,
            repository: &repository,
            host: &host,
            stop: &|| false,
            after_command: &|| Ok(()),
        };
        let verdict = verify(&request, &tools);
        let left = std::fs::read_dir(&scratch).expect("a directory").count();
        assert_eq!(left, 0, "no way out leaves a profile");
        (verdict, commands.ran.into_inner().expect("a lock"))
    }

    /// What a process finds after the first one was disturbed, and what it does.
    fn assert_goes_on(&self, machine: &Simulation, ran: &[String], was_verified: bool, at: &str) {
        let found = machine.files.contents(format!("{RUN}/{EVIDENCE}")).ok();
        let text = found.as_ref().map(|bytes| String::from_utf8(bytes.clone()).expect("text"));
        let evidence = text.map(|text| Value::parse(&text).unwrap_or_else(|error| panic!("{at}: {error}")));
        let is_whole = evidence.as_ref().is_some_and(|found| is_complete(found, &self.commands, &self.head));
        assert!(!is_whole || ran.len() == 2, "{at}: a success without its commands");
        assert!(is_whole || !was_verified, "{at}: what was said to be verified is lost");
        let (again, second) = self.verify(machine);
        match (evidence, again.unwrap_or_else(|error| panic!("{at}: {error}"))) {
            (None, Verdict::Verified(_)) => assert!(ran.is_empty(), "{at}: {ran:?} have run twice"),
            (Some(_), Verdict::Blocked(block)) => {
                assert_eq!(block.reason, "verification-interrupted", "{at}");
                assert!(second.is_empty(), "{at}: a command has run again");
                assert_eq!(machine.files.contents(format!("{RUN}/{EVIDENCE}")).ok(), found, "{at}");
            }
            (found, again) => panic!("{at}: {found:?} and {again:?}"),
        }
    }
}

#[test]
fn ex_ver_18_no_crash_lets_a_command_run_twice() {
    let place = Place::new();
    let machine = place.machine();
    assert!(matches!(place.verify(&machine).0, Ok(Verdict::Verified(_))));
    let operations = machine.files.operations().len() as u64;
    let (mut points, mut images) = (0, 0);
    for number in 1..=operations {
        let crashing = place.machine();
        crashing.files.set_faults([Fault::crash_after(number)]);
        let (verdict, ran) = place.verify(&crashing);
        points += 1;
        let was_verified = matches!(verdict, Ok(Verdict::Verified(_)));
        for image in crashing.files.images_after_crash().seeded(number, 1) {
            images += 1;
            let at = format!("operation {number}, {}", image.description);
            place.assert_goes_on(&crashing.rebooted(&image.files), &ran, was_verified, &at);
        }
        place.assert_goes_on(&crashing.another_process(), &ran, was_verified, &format!("operation {number}"));
    }
    println!("{points} points, {images} images");
    assert!(points > 20 && images > 40, "only {points} points and {images} images");
}

#[test]
fn ex_ver_06_an_operation_that_fails_is_no_verdict() {
    let place = Place::new();
    let machine = place.machine();
    place.verify(&machine).0.expect("a verdict");
    let operations = machine.files.operations();
    let mut failed = 0;
    for (number, operation) in (1..).zip(operations) {
        let Ok(fault) = Fault::new(Point::at(number), Action::Error(Errno::EIO)) else { continue };
        let at = format!("operation {number}, {:?}", operation.kind);
        let machine = place.machine();
        machine.files.set_faults([fault]);
        let (verdict, ran) = place.verify(&machine);
        if let Err(error) = &verdict {
            failed += 1;
            assert_eq!(error.code(), Code::ExecutionIo, "{at}: {error}");
        }
        machine.files.set_faults([]);
        let was_verified = matches!(verdict, Ok(Verdict::Verified(_)));
        place.assert_goes_on(&machine, &ran, was_verified, &at);
    }
    assert!(failed > 15, "only {failed} failed");
}

/// Real Git; a sandbox that is proved to work and in which every command succeeds.
#[derive(Debug)]
struct Counting {
    real: SystemCommands,
    ran: Mutex<Vec<String>>,
}

impl CommandHost for Counting {
    fn run(&self, invocation: &Invocation, output: Sink<'_>, stop: Stop<'_>) -> io::Result<End> {
        if !invocation.program.ends_with("bwrap") {
            return self.real.run(invocation, output, stop);
        }
        if invocation.arguments.iter().any(|word| word.to_string_lossy().contains(".gallivant-probe")) {
            output(PROVED.as_bytes());
        } else {
            let text = invocation.arguments.last().expect("a text").to_string_lossy().into_owned();
            self.ran.lock().expect("a lock").push(text);
        }
        Ok(End::Exited(0))
    }
}

#[derive(Debug)]
struct Clean(String);

impl Repository for Clean {
    fn head(&self) -> Result<String> {
        Ok(self.0.clone())
    }

    fn is_clean(&self) -> Result<bool> {
        Ok(true)
    }
}

fn git(directory: &Path, args: &[&str]) -> String {
    let output =
        std::process::Command::new("git").args(args).current_dir(directory).output().expect("git starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}
