//! How soon a watch tells of a change, and what it costs while nothing changes.

use std::sync::mpsc;
use std::time::Duration;

use gallivant_core::Host;
use gallivant_core::harness_state::{Observation, Options, State, Watch, WatchOptions, WatchProbe, Writer};

use crate::Failure;
use crate::prepare::identity;

const CHANGES: u32 = 40;
/// Longer than a watch settles, so that each change is told alone.
const BETWEEN: Duration = Duration::from_millis(20);
const QUIET: Duration = Duration::from_secs(2);

/// Prints three numbers: the median and the longest time from before a change was written until it was told, in ms, and
/// how often the waiting thread ran in two seconds without changes.
pub(crate) fn measure(directory: &str) -> Result<(), Failure> {
    let (options, host) = (Options::default(), Host::system());
    let mut watch = Watch::record(directory, WatchProbe::None, &WatchOptions::default(), &options, &host)?;
    watch.next(Some(Duration::from_secs(5)))?.ok_or("the watch did not begin")?;
    let writer = Writer::open(directory, identity(), Some(1), &options, &host)?;
    let (told, written) = mpsc::channel();
    let clock = std::sync::Arc::clone(&host.clock);
    let writing = std::thread::spawn(move || {
        for index in 0..CHANGES {
            clock.sleep(BETWEEN);
            let state = if index % 2 == 0 { State::Idle } else { State::Active };
            let before = clock.awake();
            if writer.observe(&Observation::new(state)).is_err() || told.send((state, before)).is_err() {
                return;
            }
        }
    });
    let mut delays = Vec::new();
    for _ in 0..CHANGES {
        let change = watch.next(Some(Duration::from_secs(5)))?.ok_or("a change was not told")?;
        let now = host.clock.awake();
        let (state, before) = written.recv()?;
        let seen = change.seats.first().and_then(|seat| seat.derived.as_ref()).map(|derived| derived.state);
        if seen != Some(state) {
            return Err(format!("{seen:?} was told and {state:?} written").into());
        }
        delays.push(now - before);
    }
    writing.join().map_err(|_| "the writing thread ended early")?;
    delays.sort();
    let before = runs()?;
    if watch.next(Some(QUIET))?.is_some() {
        return Err("a change was told and none written".into());
    }
    let milliseconds = |delay: Duration| delay.as_secs_f64() * 1000.0;
    let middle = delays[delays.len() / 2];
    let longest = delays[delays.len() - 1];
    println!("{:.2} {:.2} {}", milliseconds(middle), milliseconds(longest), runs()? - before);
    Ok(())
}

/// How often the calling thread has given up the processor by itself, which is how often it has waited.
#[expect(clippy::disallowed_methods, reason = "what the system says of this very thread")]
fn runs() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/thread-self/status")?;
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    Ok(count.ok_or("the system does not say")?.trim().parse()?)
}
