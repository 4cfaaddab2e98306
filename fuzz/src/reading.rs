//! The projection: whatever stands in its files, windows are bounded, in order and free of doubles.

use gallivant_core::Code;
use gallivant_core::journal::{LogReader, MAX_PENDING_BYTES, MAX_ROWS, Projection, Replay, Row, Window};
use gallivant_core::testing::{Simulation, simulated_host};

use crate::journal::{RUN, event, open};

const FILES: [&str; 3] = ["/task/run/log-meta.json", "/task/run/job.idx", "/task/run/job.log"];

/// An even first byte: what stands between bytes 0xfe are the three files. An odd one: edits of a projection of six lines.
pub fn reading(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else { return };
    if rest.len() > 400_000 {
        return;
    }
    let (_, machine) = simulated_host(1);
    machine.files.plant_directory(RUN).expect("planted");
    if mode % 2 == 0 {
        for (path, bytes) in FILES.into_iter().zip(rest.splitn(3, |byte| *byte == 0xfe)) {
            machine.files.plant_file(path, bytes).expect("planted");
        }
    } else {
        let page: Vec<_> = (0..6).map(|number| event(&number.to_string())).collect();
        open(&machine).append(&page).expect("appended");
        Projection::open(RUN, &machine.host()).and_then(|mut lines| lines.catch_up()).expect("projected");
        edit(&machine, rest);
    }
    holds(&machine);
    let Ok(appended) = open(&machine).append(&[event("new")]) else { return };
    let caught_up = Projection::open(RUN, &machine.host()).and_then(|mut lines| lines.catch_up());
    if let Ok(now) = caught_up {
        assert_eq!(now.next, appended.end.sequence + 1);
        let tail = reader(&machine).tail().expect("what was written can be read");
        let last = tail.rows.last().and_then(|row| row.id.clone());
        assert_eq!(last, Some(appended.end.sequence.to_string()));
    }
    holds(&machine);
}

fn edit(machine: &Simulation, edits: &[u8]) {
    for edit in edits.chunks_exact(4).take(32) {
        let path = FILES[usize::from(edit[0]) % 3];
        let Ok(mut bytes) = machine.files.contents(path) else { continue };
        let at = usize::from(edit[2]) % (bytes.len() + 1);
        match edit[1] % 6 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, edit[3]),
            2 if at < bytes.len() => bytes[at] = edit[3],
            3 => bytes.drain(at..(at + usize::from(edit[3])).min(bytes.len())).for_each(drop),
            4 => {
                machine.files.unplant(path).expect("removed");
                continue;
            }
            _ => bytes.extend_from_within(at..),
        }
        machine.files.plant_file(path, bytes).expect("planted");
    }
}

fn reader(machine: &Simulation) -> LogReader {
    LogReader::open(RUN, &machine.host()).expect("the directory is there")
}

fn holds(machine: &Simulation) {
    let mut window = match reader(machine).tail() {
        Ok(window) => window,
        Err(error) => {
            assert!([Code::ExecutionJournal, Code::ExecutionVersion].contains(&error.code()), "{error}");
            return;
        }
    };
    for _ in 0..20 {
        is_in_order(&window);
        let Some(before) = &window.before else { break };
        let older = reader(machine).history(before).expect("a cursor that was given is good");
        assert!(older.before.as_ref() != Some(before), "it goes on");
        window = older;
    }
    let mut after = None;
    for _ in 0..20 {
        let window = reader(machine).lines(after.as_deref(), 7).expect("a cursor that was given is good");
        is_in_order(&window);
        assert!(window.rows.len() <= 7);
        match window.after {
            Some(last) => after = Some(last),
            None => break,
        }
    }
    let mut replay = Replay::open(RUN, None, &machine.host()).expect("opens");
    let mut last = 0;
    for _ in 0..2_000 {
        let Ok(Some(frame)) = replay.poll() else { break };
        assert!(replay.pending_bytes() <= MAX_PENDING_BYTES);
        if let Some(number) = frame.id.as_deref().and_then(number) {
            assert!(number > last || (number == 0 && last == 0), "nothing twice");
            last = number;
        }
    }
}

fn is_in_order(window: &Window) {
    assert!(window.rows.len() <= MAX_ROWS);
    let numbers: Vec<u64> = window.rows.iter().filter_map(|row: &Row| number(row.id.as_deref()?)).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
}

fn number(id: &str) -> Option<u64> {
    id.strip_prefix("byte:").unwrap_or(id).parse().ok()
}
