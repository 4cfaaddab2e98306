//! tmp
use super::*;
use crate::random::{Random, SystemRandom};
use crate::storage::OsFileSystem;
use std::time::Instant;

#[test]
#[ignore = "measure"]
#[allow(clippy::disallowed_methods)]
fn measure() {
    let n: u64 = 1_000_000;
    let path = std::env::temp_dir().join(format!("gallivant-keys-{:016x}", SystemRandom.next_u64()));
    let run = OsFileSystem.open_or_create(&path).expect("made");
    let mut log = Vec::new();
    let mut reach = Reach::default();
    let mut all = Vec::new();
    let data = "y".repeat(200);
    for sequence in 1..=n {
        let k = key(sequence);
        let mut line = format!(
            "{{\"version\":1,\"taskId\":\"task-1\",\"runId\":\"run-1\",\"provider\":\"prov\",\"eventId\":\"event-{sequence}\",\"key\":\"{}\",\"sequence\":{sequence},\"providerSequence\":{sequence},\"provenance\":\"provider\",\"timestamp\":1779999940000,\"type\":\"output\",\"data\":\"{data}\"",
            hex(&k)
        );
        let crc = crc32c::crc32c(line.as_bytes());
        line.push_str(&format!(",\"crc\":\"{crc:08x}\"}}\n"));
        log.extend_from_slice(line.as_bytes());
        reach = Reach { offset: log.len() as u64, sequence, crc };
        all.push((k, sequence));
    }
    std::fs::write(path.join("events.jsonl"), &log).unwrap();
    let ack = Acknowledged { offset: reach.offset, sequence: n };
    println!("log {} MB", log.len() / 1_000_000);
    drop(log);
    for _ in 0..3 {
        let t = Instant::now();
        let file = run.open_data("events.jsonl", DataAccess::Read).unwrap();
        let mut buf = vec![0; 256 * 1024];
        let (mut at, mut crc) = (0, 0);
        while at < ack.offset {
            let read = file.read_at(at, &mut buf).unwrap();
            crc = crc32c::crc32c_append(crc, &buf[..read]);
            at += read as u64;
        }
        let floor = t.elapsed();
        let t = Instant::now();
        let mut at = 0;
        use sha2::Digest;
        let mut sha = sha2::Sha256::new();
        while at < ack.offset {
            let read = file.read_at(at, &mut buf).unwrap();
            sha.update(&buf[..read]);
            at += read as u64;
        }
        let floor2 = t.elapsed();
        println!("read+crc {floor:?} {crc} read+sha256 {floor2:?} {:?}", sha.finalize()[0]);
        let t = Instant::now();
        log::scan(&*file, Acknowledged::default(), ack, &mut |_| Ok(())).unwrap();
        println!("scan alone {:?}", t.elapsed());
        let _ = std::fs::remove_dir_all(path.join("event-keys"));
        let t = Instant::now();
        let keys = ReplayKeys::open(&run, ack).unwrap();
        println!("rebuild {:?}", t.elapsed());
        drop(keys);
        let t = Instant::now();
        let keys = ReplayKeys::open(&run, ack).unwrap();
        println!("open {:?} memory {}", t.elapsed(), keys.memory());
    }
    for (name, start) in [("empty", 0_u64), ("1M", n)] {
        let path = if start == 0 { path.join("other") } else { path.clone() };
        let run = OsFileSystem.open_or_create(&path).expect("made");
        let mut keys = ReplayKeys::open(
            &run,
            Acknowledged { offset: if start == 0 { 0 } else { ack.offset }, sequence: start },
        )
        .unwrap();
        let mut times = Vec::new();
        let mut ins = Vec::new();
        for page in 0..2000_u64 {
            let batch: Vec<(Key, u64)> = (1..=100)
                .map(|i| (key(5_000_000 + start + page * 100 + i), start + page * 100 + i))
                .collect();
            let wanted: Vec<Key> = batch.iter().map(|b| b.0).collect();
            let r = Reach {
                offset: (if start == 0 { 0 } else { ack.offset }) + (page + 1) * 45000,
                sequence: start + page * 100 + 100,
                crc: 1,
            };
            let mut found = Vec::new();
            let t = Instant::now();
            keys.look_up(&wanted, &mut found).unwrap();
            times.push(t.elapsed());
            let t = Instant::now();
            keys.insert(&batch, r).unwrap();
            ins.push(t.elapsed());
        }
        times.sort();
        ins.sort();
        println!(
            "{name}: look up median {:?} p90 {:?} max {:?}; insert median {:?} p90 {:?} p99 {:?} max {:?}",
            times[1000], times[1800], times[1999], ins[1000], ins[1800], ins[1980], ins[1999]
        );
    }
    let mut keys = ReplayKeys::open(&run, ack).unwrap();
    let mut times = Vec::new();
    for page in 0..500 {
        let wanted: Vec<Key> = (0..100).map(|i| all[(page * 100 + i * 7919) % all.len()].0).collect();
        let mut found = Vec::new();
        let t = Instant::now();
        keys.look_up(&wanted, &mut found).unwrap();
        times.push(t.elapsed());
        assert!(found.iter().all(Option::is_some));
    }
    times.sort();
    println!("known page median {:?} p90 {:?}", times[250], times[450]);
    std::fs::remove_dir_all(&path).unwrap();
}
