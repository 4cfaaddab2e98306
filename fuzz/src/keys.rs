//! The key index: whatever stands in its files, every event is known by its number and no other is.

use std::sync::OnceLock;

use gallivant_core::journal::How;
use gallivant_core::testing::{Simulation, simulated_host};

use crate::journal::{RUN, event, open};

/// One more segment than none, and some keys behind it.
const EVENTS: usize = 8_192 + 108;
const KEYS: &str = "/task/run/event-keys";

/// Edits of eight bytes: which file and what, where, and a byte.
pub fn keys(bytes: &[u8]) {
    let machine = machine();
    for edit in bytes.chunks_exact(8).take(16) {
        let names = machine.files.names(KEYS).expect("listed");
        let Some(name) = names.get(usize::from(edit[0]) % names.len().max(1)) else { break };
        let path = format!("{KEYS}/{name}");
        let mut bytes = machine.files.contents(&path).expect("read");
        let at = u32::from_le_bytes([edit[2], edit[3], edit[4], edit[5]]) as usize % (bytes.len() + 1);
        match edit[1] % 6 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, edit[6]),
            2 if at < bytes.len() => bytes[at] = edit[6],
            3 => bytes.drain(at..(at + usize::from(edit[6])).min(bytes.len())).for_each(drop),
            4 => {
                machine.files.unplant(&path).expect("removed");
                continue;
            }
            _ => bytes.extend_from_within(at..),
        }
        machine.files.plant_file(&path, bytes).expect("planted");
    }
    let known: Vec<usize> = (0..EVENTS).step_by(97).collect();
    let mut page: Vec<_> = known.iter().map(|number| event(&number.to_string())).collect();
    page.push(event("new"));
    let placed = open(&machine).append(&page).expect("appended").placed;
    for (placed, number) in placed.iter().zip(&known) {
        assert_eq!((placed.sequence, placed.how), (*number as u64 + 1, How::Known));
    }
    assert_eq!(placed[known.len()].sequence, EVENTS as u64 + 1);
}

/// A machine with a journal and its index, which are made once.
fn machine() -> Simulation {
    static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    let (_, machine) = simulated_host(1);
    machine.files.plant_directory(KEYS).expect("planted");
    let files = FILES.get_or_init(|| {
        let mut journal = open(&machine);
        let numbers: Vec<usize> = (0..EVENTS).collect();
        for page in numbers.chunks(100) {
            let page: Vec<_> = page.iter().map(|number| event(&number.to_string())).collect();
            journal.append(&page).expect("appended");
        }
        let names = machine.files.names(RUN).expect("listed").into_iter();
        let below = machine.files.names(KEYS).expect("listed").into_iter();
        names
            .filter(|name| name != "event-keys")
            .map(|name| format!("{RUN}/{name}"))
            .chain(below.map(|name| format!("{KEYS}/{name}")))
            .map(|path| (path.clone(), machine.files.contents(&path).expect("read")))
            .collect()
    });
    let (_, machine) = simulated_host(1);
    machine.files.plant_directory(KEYS).expect("planted");
    for (path, bytes) in files {
        machine.files.plant_file(path, bytes.clone()).expect("planted");
    }
    machine
}
