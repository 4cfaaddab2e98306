//! What these tests share: a repository with a run's directory, a host whose sandbox is scripted, and the real one.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use gallivant_core::artifacts::{Git, GitOptions};
use gallivant_core::digest::sha256_hex;
use gallivant_core::json::Value;
use gallivant_core::redaction::Secrets;
use gallivant_core::verification::running::{End, Invocation, Sink, Stop};
use gallivant_core::verification::{
    ApprovedCommands, Block, CommandHost, Driver, Evidence, Readiness, Repository, Runtime, SystemCommands,
    Tools, Verdict, Verification, ViewLimits, sandbox_readiness, verify,
};
use gallivant_core::{Host, Result};

/// What a probe says that has shown everything.
pub(super) const PROVED: &str = "privateWrites=work\noutsideReads=fail\noutsideWrites=fail\ngitMetadata=hidden\n\
     hostConnection=fails\ngitReads=work\nindexWrites=fail\nend=reached\n";

/// A checkout with one commit, the directory of a run, and a place for private profiles.
pub(super) struct Ground {
    place: tempfile::TempDir,
    pub(super) checkout: PathBuf,
    pub(super) run: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) head: String,
    pub(super) environment: Vec<(String, String)>,
    pub(super) secrets: Secrets,
    pub(super) runtime: Option<Runtime>,
    pub(super) view_limits: ViewLimits,
    pub(super) host: Host,
}

impl Ground {
    pub(super) fn new() -> Ground {
        Ground::in_directory(&std::env::temp_dir())
    }

    pub(super) fn in_directory(above: &Path) -> Ground {
        let place = tempfile::tempdir_in(above).expect("a directory");
        let root = place.path().canonicalize().expect("resolved");
        let [checkout, run, scratch] = ["checkout", "run", "scratch"].map(|name| root.join(name));
        for directory in [&checkout, &run, &scratch] {
            std::fs::create_dir(directory).expect("a directory");
        }
        git(&checkout, &["init", "-q", "-b", "task"]);
        std::fs::write(checkout.join("tracked.txt"), "tracked\n").expect("written");
        std::fs::write(checkout.join(".gitignore"), "ignored/\n").expect("written");
        git(&checkout, &["add", "-A"]);
        git(&checkout, &["commit", "-q", "-m", "first"]);
        let head = git(&checkout, &["rev-parse", "HEAD"]);
        Ground {
            place,
            checkout,
            run,
            scratch,
            head,
            environment: Vec::new(),
            secrets: Secrets::none(),
            runtime: None,
            view_limits: ViewLimits::default(),
            host: Host::system(),
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.place.path().canonicalize().expect("resolved")
    }

    pub(super) fn git(&self) -> Git {
        Git::new(&self.checkout, GitOptions::default(), &self.host).expect("a repository")
    }

    /// A verification by scripted commands over the real repository.
    pub(super) fn scripted(&self, texts: &[&str], host: &Scripted) -> Result<Verdict> {
        self.with(texts, host, &self.git(), &|| false)
    }

    pub(super) fn with(
        &self,
        texts: &[&str],
        commands: &dyn CommandHost,
        repository: &dyn Repository,
        stop: Stop<'_>,
    ) -> Result<Verdict> {
        let approved = approved(texts);
        let request = Verification {
            run: &self.run,
            checkout: &self.checkout,
            applied_head: &self.head,
            commands: &approved,
            runtime: self.runtime.as_ref(),
            environment: &self.environment,
            secrets: &self.secrets,
            scratch: &self.scratch,
            view_limits: self.view_limits,
        };
        let tools = Tools {
            driver: Driver::of_this_system(),
            commands,
            repository,
            host: &self.host,
            stop,
            after_command: &|| Ok(()),
        };
        let verdict = verify(&request, &tools);
        assert!(names(&self.scratch).is_empty(), "no way out leaves a profile: {:?}", names(&self.scratch));
        verdict
    }

    /// A verification in the machine's sandbox. Where there is none, the refusal is checked and nothing is given.
    pub(super) fn really(&self, texts: &[&str]) -> Option<Verdict> {
        let commands = SystemCommands::new(&self.host);
        let verdict = self.with(texts, &commands, &self.git(), &|| false).expect("a verdict");
        if sandbox_works() {
            return Some(verdict);
        }
        println!("no sandbox works on this machine: the refusal was checked instead");
        assert_eq!(blocked(&verdict).reason, "verification-sandbox-unavailable");
        assert!(self.saved().get("commands").and_then(Value::as_array).expect("a list").is_empty());
        None
    }

    /// What one command has printed in the machine's sandbox, which has to end with this status.
    pub(super) fn output_of(&self, text: &str, status: i32) -> Option<String> {
        self.really(&[text])?;
        let saved = self.saved();
        let commands = saved.get("commands").and_then(Value::as_array).expect("a list");
        let output = commands[0].get("output").and_then(Value::as_str).expect("a text").to_owned();
        assert_eq!(exit_code(&commands[0]), Some(i64::from(status)), "{output}");
        Some(output)
    }

    /// The evidence on disk.
    pub(super) fn saved(&self) -> Value {
        let text = std::fs::read_to_string(self.run.join("verification.json")).expect("evidence");
        Value::parse(&text).expect("JSON")
    }
}

/// An approved list whose source is the list itself.
pub(super) fn approved(texts: &[&str]) -> ApprovedCommands {
    let commands: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let source = commands.join("\n");
    ApprovedCommands::new(commands, source.as_bytes(), &sha256_hex(source.as_bytes())).expect("approved")
}

pub(super) fn exit_code(command: &Value) -> Option<i64> {
    command.get("exitCode").and_then(Value::as_number).and_then(gallivant_core::json::Number::as_i64)
}

pub(super) fn blocked(verdict: &Verdict) -> &Block {
    match verdict {
        Verdict::Blocked(block) => block,
        Verdict::Verified(evidence) => panic!("verified: {evidence:?}"),
    }
}

pub(super) fn verified(verdict: &Verdict) -> &Evidence {
    match verdict {
        Verdict::Verified(evidence) => evidence,
        Verdict::Blocked(block) => panic!("blocked: {block:?}"),
    }
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// Runs Git on a repository of the test.
pub(super) fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(directory)
        .env_clear()
        .envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("HOME", "/nonexistent"),
        ])
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

/// Whether the sandbox works on this machine.
pub(super) fn sandbox_works() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        let place = tempfile::tempdir().expect("a directory");
        let ready = readiness(&SystemCommands::new(&Host::system()), place.path(), &|| false);
        if let Err(error) = &ready {
            println!("{error}");
        }
        ready.is_ok()
    })
}

/// A readiness check with these commands.
pub(super) fn readiness(commands: &dyn CommandHost, scratch: &Path, stop: Stop<'_>) -> Result<Value> {
    let host = Host::system();
    let scratch = scratch.to_owned();
    let driver = Driver::of_this_system();
    sandbox_readiness(&Readiness { driver, runtime: None, scratch, commands, host: &host }, stop)
}

/// What a scripted sandbox does with what it is given.
pub(super) type Act = Box<dyn FnOnce(&Invocation, Sink<'_>) -> io::Result<End> + Send>;

/// Real processes, but for those in a sandbox: the probe and the commands are scripted.
pub(super) struct Scripted {
    real: SystemCommands,
    probe: Mutex<Option<Act>>,
    commands: Mutex<VecDeque<Act>>,
    seen: Mutex<Vec<Invocation>>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Scripted")
    }
}

impl Scripted {
    /// A sandbox that is proved to work, and in which every command succeeds.
    pub(super) fn new() -> Scripted {
        Scripted {
            real: SystemCommands::new(&Host::system()),
            probe: Mutex::default(),
            commands: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    pub(super) fn with_probe(self, act: Act) -> Scripted {
        *self.probe.lock().expect("a lock") = Some(act);
        self
    }

    /// What the next command does.
    pub(super) fn then(self, act: Act) -> Scripted {
        self.commands.lock().expect("a lock").push_back(act);
        self
    }

    /// The commands that were put into the sandbox, by their texts.
    pub(super) fn texts(&self) -> Vec<String> {
        self.seen().iter().map(text_of).collect()
    }

    pub(super) fn seen(&self) -> Vec<Invocation> {
        self.seen.lock().expect("a lock").clone()
    }
}

impl CommandHost for Scripted {
    fn run(&self, invocation: &Invocation, output: Sink<'_>, stop: Stop<'_>) -> io::Result<End> {
        if Some(invocation.program.as_path())
            != Driver::of_this_system().map(|driver| Path::new(driver.program()))
        {
            return self.real.run(invocation, output, stop);
        }
        if invocation.arguments.iter().any(|word| word.to_string_lossy().contains(".gallivant-probe")) {
            return match self.probe.lock().expect("a lock").take() {
                Some(act) => act(invocation, output),
                None => says(PROVED, End::Exited(0))(invocation, output),
            };
        }
        self.seen.lock().expect("a lock").push(invocation.clone());
        let act = self.commands.lock().expect("a lock").pop_front();
        act.map_or(Ok(End::Exited(0)), |act| act(invocation, output))
    }
}

/// Prints this and ends so.
pub(super) fn says(text: &str, end: End) -> Act {
    let text = text.to_owned();
    Box::new(move |_, output| {
        output(text.as_bytes());
        Ok(end)
    })
}

/// The last argument: the text of a command.
pub(super) fn text_of(invocation: &Invocation) -> String {
    invocation.arguments.last().expect("an argument").to_string_lossy().into_owned()
}
