//! Observed harness state: a record of a live session, its floor and its lock.

use std::path::Path;

use gallivant_core::harness_state::{
    Ask, Claimant, Observation, Options, Outcome, Reader, Refusal, State, Word, Writer, claim,
};
use gallivant_core::testing::TestHost;

use crate::{Domain, every_version};

pub(crate) const DOMAIN: Domain = Domain { folder: "harness-state", write };

fn claimant(token: &str) -> Claimant {
    Claimant { agent: "worker".to_owned(), harness: "claude".to_owned(), token: token.to_owned() }
}

fn writer(directory: &Path, token: &str, sequence: u64, host: &TestHost) -> Writer {
    let identity = claimant(token).writer_identity(Some("w1".to_owned()));
    Writer::open(directory, identity, Some(sequence), &Options::default(), host.host()).expect("a writer")
}

fn write(directory: &Path, host: &TestHost) {
    let claimed = claim(directory, &claimant("first"), &Options::default(), host.host()).expect("claimed");
    let seen = Observation::new(State::Active).blocked_on_human(Ask::Permission).with_reason("may it?");
    let report = writer(directory, "first", claimed.sequence, host).observe(&seen).expect("observed");
    assert_eq!(report.outcome, Outcome::Landed);
}

#[test]
fn the_record_of_another_release_is_read_and_its_seat_claimed_again() {
    every_version(&DOMAIN, |version, directory, host| {
        let options = Options::default();
        let reader = Reader::open(directory, &options, host.host());
        let before = reader.snapshot();
        let record = before.record().unwrap_or_else(|| panic!("{version}: no record"));
        assert_eq!(
            (record.agent.as_str(), &record.state),
            ("worker", &Word::known(State::Active)),
            "{version}"
        );
        let seen = reader.read(None).expect("something stands there");
        // The machine was booted again in between.
        assert_eq!((seen.state, seen.reason.as_deref()), (State::Unknown, Some("rebooted")), "{version}");

        let claimed = claim(directory, &claimant("second"), &options, host.host()).expect("claimed");
        assert_eq!(claimed.sequence, 2, "{version}: the floor was read");
        let late =
            writer(directory, "first", 1, host).observe(&Observation::new(State::Idle)).expect("answered");
        assert_eq!(late.outcome, Outcome::Refused(Refusal::Superseded), "{version}");
        writer(directory, "second", 2, host).observe(&Observation::new(State::Idle)).expect("observed");
        assert_eq!(reader.read(None).expect("it stands").state, State::Idle, "{version}");
    });
}
