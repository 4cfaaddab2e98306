//! What a fleet costs beside bare system calls: `cargo bench -p gallivant-tests --bench fleet [-- RECORDS ROUNDS FOLDER]`.
//!
//! The first read against opening, looking at, reading and closing each record; the read of an unchanged fleet against
//! one `fstatat` for each. Medians of interleaved rounds, as ratios: machines are noisy, and a neighbour slows both sides
//! alike.
#![allow(missing_docs, reason = "a program")]
#![allow(clippy::disallowed_methods, reason = "a measurement prepares and times by itself")]

use std::path::Path;
use std::time::{Duration, Instant};

use gallivant_core::Host;
use gallivant_core::harness_state::{Fleet, FleetOptions, FleetProbe, Options};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number =
        |at: usize, default: usize| words.get(at).map_or(default, |word| word.parse().expect("a number"));
    let (records, rounds) = (number(0, 10_000), number(1, 30));
    let folder = words.get(2).map_or_else(std::env::temp_dir, Into::into);
    let root = tempfile::Builder::new().prefix("gallivant-fleet-").tempdir_in(folder).expect("a directory");
    let names: Vec<String> = (0..records).map(|agent| format!("agent-{agent:05}/harness-state")).collect();
    names.iter().for_each(|name| plant(root.path(), name));
    // What was written within the last 20 ms counts as still changing.
    std::thread::sleep(Duration::from_millis(100));

    let host = Host::system();
    let open =
        || Fleet::open(root.path(), &FleetOptions::default(), &Options::default(), &host).expect("opens");
    let read = |fleet: &Fleet| {
        let mut live = 0;
        fleet.for_each(FleetProbe::None, |entry| live += usize::from(entry.derived.state.is_live()));
        assert_eq!(live, records);
    };
    let kept = open();
    (0..2).for_each(|_| read(&kept));
    let directory = rustix::fs::openat(CWD, root.path(), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let directory = directory.expect("opens");
    let mut buffer = [0_u8; 4096];
    let [mut bare_reads, mut first_reads, mut bare_stats, mut unchanged_reads] = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        bare_reads.push(timed(|| {
            for name in &names {
                let file =
                    rustix::fs::openat(&directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
                let file = file.expect("opens");
                rustix::fs::fstat(&file).expect("looks");
                rustix::io::read(&file, &mut buffer).expect("reads");
            }
        }));
        let fleet = open();
        first_reads.push(timed(|| read(&fleet)));
        bare_stats.push(timed(|| {
            for name in &names {
                rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).expect("looks");
            }
        }));
        unchanged_reads.push(timed(|| read(&kept)));
    }
    let (first, bare) = (median(first_reads), median(bare_reads));
    println!("{records} records, first: {first:?}, bare reads: {bare:?}, ratio {:.2}", ratio(first, bare));
    let (unchanged, bare) = (median(unchanged_reads), median(bare_stats));
    println!(
        "{records} records, unchanged: {unchanged:?}, bare stats: {bare:?}, ratio {:.2}",
        ratio(unchanged, bare)
    );
}

fn plant(root: &Path, name: &str) {
    let now = Host::system().clock.wall_ms();
    let path = root.join(name);
    std::fs::create_dir(path.parent().expect("a directory")).expect("made");
    let line = format!(
        "{{\"schema\":\"st2.harness-state.v1\",\"agent\":\"host.worker\",\"harness\":\"codex\",\"state\":\"active\",\
         \"blockedOn\":\"none\",\"inputBuffer\":\"unknown\",\"ask\":\"none\",\"ptySession\":\"worker\",\
         \"incarnation\":\"4711-1-0-00ff00ff00ff00ff\",\"seq\":1,\"sinceMs\":{now},\"writtenAtMs\":{now},\
         \"transitions\":1}}\n"
    );
    std::fs::write(path, line).expect("written");
}

fn timed(action: impl FnOnce()) -> Duration {
    let began = Instant::now();
    action();
    began.elapsed()
}

fn median(mut taken: Vec<Duration>) -> Duration {
    taken.sort_unstable();
    taken[taken.len() / 2]
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
