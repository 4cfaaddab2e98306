//! A run's journal with its index and projection, and the output of a local run with its queue.

use std::path::Path;

use gallivant_core::journal::{
    Content, Event, GapReason, How, Journal, LocalOutput, LocalRun, LogReader, OutputQueue, Owner,
    Projection, Provenance, RowContent, Source, check,
};
use gallivant_core::redaction::{Patterns, Redactor, Secrets};
use gallivant_core::testing::TestHost;

use crate::{Domain, WRITTEN, every_version};

pub(crate) const JOURNAL: Domain = Domain { folder: "journal", write: write_journal };
pub(crate) const LOCAL_OUTPUT: Domain = Domain { folder: "local-output", write: write_output };

const LIVE: LocalRun = LocalRun { started_at_ms: WRITTEN, has_exited: false };

fn owner() -> Owner {
    Owner {
        task_id: "t-1".to_owned(),
        run_id: "run-1".to_owned(),
        provider: "prov".to_owned(),
        job_id: Some("job-1".to_owned()),
        turn_id: Some("turn-1".to_owned()),
    }
}

fn local_owner() -> Owner {
    Owner { job_id: None, turn_id: None, ..owner() }
}

fn journal(directory: &Path, owner: Owner, host: &TestHost) -> Journal {
    let redactor = Redactor::new(&Secrets::lenient(["hidden-word"]), Patterns::Off).expect("a small one");
    Journal::open(directory, owner, host.host(), &redactor).expect("the run's directory opens")
}

fn said(id: &str, text: &str) -> Event {
    Event {
        id: id.to_owned(),
        provider_sequence: Some(7_u64.into()),
        provenance: Provenance::Provider,
        timestamp: Some(WRITTEN.into()),
        content: Content::Said { kind: "output".to_owned(), data: text.into() },
    }
}

fn write_journal(directory: &Path, host: &TestHost) {
    let gap = Event::gap("gap-1", GapReason::Provider, Provenance::Provider);
    let page = [said("a", "one"), gap, said("b", "the hidden-word")];
    journal(directory, owner(), host).append(&page).expect("appended");
    Projection::open(directory, host.host()).expect("opened").catch_up().expect("projected");
    // What the projection has not shown yet.
    journal(directory, owner(), host).append(&[said("c", "three")]).expect("appended");
}

fn write_output(root: &Path, host: &TestHost) {
    let run = root.join("run-1");
    std::fs::create_dir_all(&run).expect("a run");
    let secrets = r#"{"version":1,"expiresAt":1700086400000,"secrets":["retained-word"]}"#;
    std::fs::write(run.join("sensitive-redactions.json"), secrets).expect("written");
    std::fs::write(run.join("provider.log"), "one\ntwo retained-word\nthr").expect("written");
    let served = LocalOutput::open(&run, host.host(), &Secrets::lenient(["supplied-word"]))
        .and_then(|mut output| output.serve(LIVE, &mut journal(&run, local_owner(), host)));
    served.expect("a turn");
    OutputQueue::open(root, host.host()).expect("a queue").hold("run-1", LIVE).expect("held");
}

#[test]
fn the_journal_of_another_release_is_read_and_appended_to() {
    every_version(&JOURNAL, |version, directory, host| {
        let whole = check(directory, host.host()).expect("checked");
        assert_eq!((whole.end.sequence, whole.records, whole.gaps.len()), (4, 3, 1), "{version}");
        let again = journal(directory, owner(), host).append(&[said("b", "again"), said("d", "four")]);
        let placed: Vec<_> =
            again.expect("appended").placed.iter().map(|placed| (placed.sequence, placed.how)).collect();
        assert_eq!(placed, [(3, How::Known), (5, How::Recorded)], "{version}: each event once");
        let shown = Projection::open(directory, host.host()).expect("opened").catch_up().expect("projected");
        assert_eq!((shown.first, shown.next), (1, 6), "{version}");
        let window = LogReader::open(directory, host.host()).expect("opened").tail().expect("a window");
        let rows: Vec<_> = window.rows.iter().map(|row| row.content.clone()).collect();
        assert_eq!(rows.len(), 5, "{version}");
        assert_eq!(rows[1], RowContent::Gap(None), "{version}");
        for (row, text) in [(0, "one"), (2, "the [redacted]"), (3, "three"), (4, "four")] {
            assert!(
                matches!(&rows[row], RowContent::Line(line) if line.contains(text)),
                "{version}: {:?}",
                rows[row]
            );
        }
    });
}

#[test]
fn the_output_of_a_local_run_of_another_release_is_taken_in_further() {
    every_version(&LOCAL_OUTPUT, |version, root, host| {
        let run = root.join("run-1");
        let log =
            |directory: &Path| std::fs::read_to_string(directory.join("events.jsonl")).expect("a journal");
        assert_eq!(log(&run).lines().count(), 2, "{version}: a line that had not ended is no event yet");
        let raw = std::fs::read_to_string(run.join("provider.log")).expect("raw output") + "ee\n";
        std::fs::write(run.join("provider.log"), raw).expect("written");
        let mut queue = OutputQueue::open(root, host.host()).expect("a queue");
        assert_eq!(queue.runs().expect("read"), ["run-1"], "{version}");
        let ended = LocalRun { has_exited: true, ..LIVE };
        let mut source = |_: &str| {
            Ok(Source { run: ended, owner: local_owner(), secrets: Secrets::lenient(["supplied-word"]) })
        };
        queue.pass(None, &mut source).expect("a pass");
        let text = log(&run);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{version}: {text}");
        assert!(lines[1].contains("two [redacted]") && lines[2].contains("\"three\""), "{version}: {text}");
    });
}
