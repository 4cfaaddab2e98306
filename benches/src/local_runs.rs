//! Local runs beside their floors: a start through the supervisor beside a bare fork and exec with the same redirections, what the
//! supervisor takes for itself from its start to its end, how much it weighs while it waits, and one look at a tree of 200
//! processes.
//!
//! `local-runs [--rounds N] [SUPERVISOR]`

#![allow(clippy::disallowed_methods, reason = "a bench takes time and files from the machine")]

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gallivant_core::Host;
use gallivant_core::json::{Object, Value};
use gallivant_core::local_runner::profiles::Turn;
use gallivant_core::local_runner::{ProcessHost, Spawn, Spawned, find_supervisor};
use gallivant_core::process::Signal;

/// What a start may cost above its floor, and a look.
const START_BAR: Duration = Duration::from_millis(3);
const LOOK_BAR: Duration = Duration::from_millis(5);
/// What the supervisor may add to a start, which is all that a start has more than the bare one.
const SUPERVISOR_BAR: Duration = Duration::from_millis(1);
const TREE: usize = 200;
/// What the supervisor may have, in bytes: its file, and what of its memory is its own.
const WEIGHT_BAR: u64 = 1_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut rounds, mut supervisor) = (200, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).expect("a number of rounds"),
            path => supervisor = Some(path.to_owned()),
        }
    }
    let found =
        find_supervisor(supervisor.as_deref().map(Path::new)).expect("gallivant-supervise, or its path");
    let mut options = Object::new();
    options.insert("supervisor", Value::from(found.to_string_lossy().into_owned()));
    let bench = Bench { host: Host::system(), processes: ProcessHost::of(&options).expect("options") };
    let root = tempfile::tempdir().expect("a directory");
    bench.starts(root.path(), rounds);
    bench.costs(root.path(), rounds);
    bench.weighs(root.path(), &found);
    bench.looks(root.path(), rounds);
}

struct Bench {
    host: Host,
    processes: ProcessHost,
}

impl Bench {
    fn spawn(&self, directory: &Path, script: &str) -> Spawned {
        let spec = Value::parse(&format!(
            r#"{{"argv":["/bin/sh","-c",{}],"cwd":"/","env":{{"PATH":"/usr/bin:/bin"}}}}"#,
            Value::from(script).to_json()
        ));
        let spawn = Spawn {
            directory,
            run_id: "run",
            operation_id: "op",
            spec: &spec.expect("JSON"),
            turn: Turn::default(),
            session: None,
            log: "provider.log",
        };
        self.processes.spawn(&spawn, &self.host).expect("it is forked")
    }

    /// Floor, row, floor, in turn.
    fn starts(&self, root: &Path, rounds: usize) {
        let (mut floors, mut rows) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            floors.push(floor(root));
            let directory = root.join(format!("run-{round}"));
            std::fs::create_dir(&directory).expect("a directory");
            let began = Instant::now();
            let spawned = self.spawn(&directory, "exit 0");
            let process = Value::Object(spawned.reply);
            spawned.gate.open().expect("it is there");
            rows.push(began.elapsed());
            floors.push(floor(root));
            self.goes(&directory, &process);
        }
        let (floor, row) = (tenth(&mut floors), tenth(&mut rows));
        verdict("start, above a bare fork and exec", row.saturating_sub(floor), START_BAR);
        verdict("the supervisor's part of a start", row.saturating_sub(floor), SUPERVISOR_BAR);
        println!(
            "  floor {floor:?}, row {row:?}; medians {:?}, {:?}; {rounds} rounds",
            median(&floors),
            median(&rows)
        );
    }

    /// The processor time of a whole run's processes, from the start of the supervisor to the end of it, beside that of the same
    /// harness started bare. Waiting for the disk, which the record of the end is written to, is no part of it.
    fn costs(&self, root: &Path, rounds: usize) {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("on Linux");
        let before = processor_time_of_children();
        for _ in 0..rounds {
            floor(root);
        }
        let between = processor_time_of_children();
        for round in 0..rounds {
            let directory = root.join(format!("cost-{round}"));
            std::fs::create_dir(&directory).expect("a directory");
            self.spawn(&directory, "exit 0").gate.open().expect("it is there");
            // It is this process's child since its own launcher has ended.
            while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
        }
        let after = processor_time_of_children();
        rustix::process::set_child_subreaper(None).expect("on Linux");
        let each = |time: Duration| time / u32::try_from(rounds).expect("fewer");
        let (floor, row) = (each(between - before), each(after - between));
        println!(
            "a supervisor's own processor time, with two durable records of the end: {:?}",
            row.saturating_sub(floor)
        );
        println!("  harness alone {floor:?}, with its supervisor {row:?}; means of {rounds} rounds");
    }

    /// The program's file, and a supervisor's memory while its harness runs.
    fn weighs(&self, root: &Path, program: &Path) {
        let directory = root.join("weight");
        std::fs::create_dir(&directory).expect("a directory");
        let spawned = self.spawn(&directory, "exec sleep 0.3");
        let supervisor =
            spawned.reply.get("supervisor").and_then(|process| process.get("pid")?.as_number()?.as_u64());
        let process = Value::Object(spawned.reply);
        spawned.gate.open().expect("it is there");
        std::thread::sleep(Duration::from_millis(100));
        let status = std::fs::read_to_string(format!("/proc/{}/status", supervisor.expect("a pid")));
        let status = status.expect("it waits");
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
            line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
        };
        let (own, all) = (kib("RssAnon:") * 1024, kib("VmRSS:") * 1024);
        let file = std::fs::metadata(program).expect("it is there").len();
        for (what, bytes) in [("the supervisor's file", file), ("its own memory", own)] {
            let word = if bytes <= WEIGHT_BAR { "meets" } else { "misses" };
            println!("{what}: {bytes} bytes, bar {WEIGHT_BAR}: {word}");
        }
        println!("  {all} bytes with what it shares with others");
        self.goes(&directory, &process);
    }

    fn looks(&self, root: &Path, rounds: usize) {
        let directory = root.join("tree");
        std::fs::create_dir(&directory).expect("a directory");
        let script = format!("n=1; while test $n -lt {TREE}; do sleep 600 & n=$((n+1)); done; wait");
        let spawned = self.spawn(&directory, &script);
        let process = Value::Object(spawned.reply);
        spawned.gate.open().expect("it is there");
        let run = self.host.files.open(&directory).expect("it is there");
        let look = || {
            let seen = self.processes.observe(&*run, &process, &Value::Null, &self.host).expect("a look");
            seen.get("pids").and_then(Value::as_array).map_or(0, |pids| pids.len())
        };
        while look() < TREE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut looks: Vec<Duration> = (0..rounds)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(look(), TREE, "everybody is seen");
                began.elapsed()
            })
            .collect();
        let all = std::fs::read_dir("/proc").expect("proc").count();
        verdict("a look at a tree of 200 processes", tenth(&mut looks), LOOK_BAR);
        println!("  median {:?}; {all} entries in /proc; {rounds} rounds", median(&looks));
        let sent = self.processes.signal(&*run, &process, &Value::Null, Signal::Kill, &self.host);
        assert_eq!(sent.expect("sent").get("sent").and_then(Value::as_bool), Some(true));
        self.goes(&directory, &process);
    }

    fn goes(&self, directory: &Path, process: &Value) {
        let run = self.host.files.open(directory).expect("it is there");
        loop {
            let seen = self.processes.observe(&*run, process, &Value::Null, &self.host).expect("a look");
            if seen.get("tree").and_then(Value::as_str) == Some("gone") {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The same program with its output in the same place, started by the standard library.
fn floor(root: &Path) -> Duration {
    let began = Instant::now();
    let log: File =
        OpenOptions::new().create(true).append(true).open(root.join("floor.log")).expect("a file");
    let errors = log.try_clone().expect("a copy");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exit 0"]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    let child = command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
    let took = began.elapsed();
    child.expect("it starts").wait().expect("it ends");
    took
}

/// Of all that have been waited for, and of those that they have waited for. By proc(5) the two stand in the 16th and 17th field, in
/// ticks; the second field may hold anything and ends with the last parenthesis.
fn processor_time_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks: u64 =
        fields.split_whitespace().skip(13).take(2).map(|n| n.parse::<u64>().expect("a number")).sum();
    Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second()).expect("a hundred")
}

/// What a tenth of them stays below: a start is handed from process to process four times, and each time waits behind everybody
/// else on a busy machine. The times are in order afterwards.
fn tenth(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 10]
}

fn median(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() / 2]
}

fn verdict(what: &str, took: Duration, bar: Duration) {
    let word = if took <= bar { "meets" } else { "misses" };
    println!("{what}: {:.3} ms, bar {} ms: {word}", took.as_secs_f64() * 1000.0, bar.as_millis());
}
