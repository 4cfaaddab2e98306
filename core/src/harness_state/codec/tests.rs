//! The quick decoder against the one that takes any JSON.

use super::*;
use crate::harness_state::{HarnessProcess, Word};

/// A record with every member that the quick decoder knows, or with as few as there can be.
fn record(is_full: bool) -> Record {
    let text = |text: &str| is_full.then(|| text.to_owned());
    let process = HarnessProcess { pid: u32::MAX, start: 7, pid_namespace: "pid:[4026531836]".to_owned() };
    let line = concat!(
        "{\"schema\":\"st2.harness-state.v1\",\"agent\":\"host.w\u{f6}rker\",\"harness\":\"claude\",\"state\":\"active\",",
        "\"blockedOn\":\"unknown\",\"inputBuffer\":\"empty\",\"incarnation\":\"tok\",\"sinceMs\":0,",
        "\"writtenAtMs\":18446744073709551615,\"transitions\":10,\"gallivant\":{\"bootId\":\"b\",\"bootMs\":1,",
        "\"awakeMs\":2,\"host\":\"h\",\"evidence\":\"hook\"}}\n",
    );
    let mut record = decode_any(line.as_bytes(), &mut Spare::default()).expect("a record");
    record.ask = Word::known(Ask::None);
    (record.reason, record.exit, record.pty_session) = (text("why"), text("exit 0"), text("p"));
    match &mut record.extension {
        Some(extension) if is_full => {
            (extension.event_ms, extension.late, extension.process) = (Some(3), 4, Some(process));
        }
        extension => *extension = None,
    }
    record
}

#[test]
fn hs_06_what_is_written_is_decoded_quickly_and_into_the_same() {
    for is_full in [true, false] {
        let record = record(is_full);
        let line = encode(&record);
        assert_eq!(decode_written(&line, &mut Spare::default()).as_ref(), Some(&record));
        assert_eq!(decode_any(&line, &mut Spare::default()), Ok(record));
    }
}

#[test]
fn hs_18_a_line_that_is_decoded_quickly_is_one_that_every_decoder_takes_so() {
    let pieces = [
        "",
        "\"",
        "\\",
        "\\u0041",
        "\\ud800",
        "{",
        "}",
        "[",
        ",",
        ":",
        "0",
        "01",
        "-",
        ".5",
        "e1",
        " ",
        "\n",
        "\t",
        "\0",
        "\u{7f}",
        "null",
        "\u{e9}",
        ",\"seq\":1",
        ",\"late\":2",
        ",\"exit\":\"x\"",
        ",\"new\":{}",
        "unknown",
        "99999999999999999999",
    ];
    let (mut quick, mut other) = (0, 0);
    let mut compare = |line: &str| match decode_written(line.as_bytes(), &mut Spare::default()) {
        None => other += 1,
        Some(record) => {
            quick += 1;
            assert_eq!(decode_any(line.as_bytes(), &mut Spare::default()), Ok(record), "{line:?}");
        }
    };
    for is_full in [true, false] {
        let line = String::from_utf8(encode(&record(is_full))).expect("a line is UTF-8");
        for (at, character) in line.char_indices() {
            let (before, from, after) = (&line[..at], &line[at..], &line[at + character.len_utf8()..]);
            for piece in pieces {
                compare(&[before, piece, from].concat());
                compare(&[before, piece, after].concat());
            }
        }
    }
    assert!(quick > 1000 && other > 10_000, "quick=`{quick}` other=`{other}`");
}

#[test]
fn hs_16_words_of_the_future_are_left_to_the_other_decoder() {
    let line = String::from_utf8(encode(&record(true))).expect("a line is UTF-8");
    for (known, new) in [("active", "dreaming"), ("\"hook\"", "\"rumour\""), ("\"unknown\"", "\"UNKNOWN\"")] {
        let line = line.replacen(known, new, 1);
        assert_eq!(decode_written(line.as_bytes(), &mut Spare::default()), None, "{new}");
        assert_eq!(
            encode(&decode(line.as_bytes()).expect("a record")),
            line.as_bytes(),
            "spelled as it stood"
        );
    }
}
