//! Of section D: heartbeats, and endings as observations (HS-51 to HS-54a).

use gallivant_core::harness_state::{InputBuffer, Observation, Outcome, Skip, State, WriterIdentity};

use crate::harness_state_writers::{beat, skipped};
use crate::support::{NOW, Seat, active, identity, line, observe};

#[test]
fn hs_51_a_heartbeat_renews_the_stamp_and_keeps_everything_else_as_it_stood() {
    let seat = Seat::plain();
    let odd = "{ \"x\" : [1 , 1e999 , \"\\ud800 : \" ] }";
    let planted = line(&[("blockedOn", "\"committee\""), ("ask", "\"bribe\""), ("later", odd), ("seq", "3")]);
    seat.plant("harness-state", planted.replacen('{', "{ \"later\" : true,", 1));
    let writer = seat.writer("tok-a", Some(3));
    beat(&writer);
    let expected = line(&[
        ("blockedOn", "\"committee\""),
        ("ask", "\"bribe\""),
        ("seq", "3"),
        ("writtenAtMs", &NOW.to_string()),
        ("later", "true"),
    ]);
    let expected = expected.replace("}\n", ",\"later\":{\"x\":[1,1e999,\"\\ud800 : \"]}}\n");
    assert_eq!(seat.text("harness-state"), Some(expected));
    // Whoever of the session wrote it; quiet where there is nothing.
    beat(&seat.writer_as(
        WriterIdentity { agent: "host.other".to_owned(), pty_session: None, ..identity("tok-a") },
        None,
    ));
    assert_eq!(seat.record().agent, "host.worker");
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    assert_eq!(skipped(&writer), Skip::Absent);
    seat.plant("harness-state", "{x");
    assert_eq!(skipped(&writer), Skip::Unreadable);
}

#[test]
fn hs_52_each_heartbeat_lands_and_touches_the_stamp_only() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let before = seat.record();
    for beats in 1..=3 {
        beat(&writer);
        let after = seat.record();
        assert_eq!(after.written_at_ms, before.written_at_ms + beats);
        assert_eq!((after.since_ms, after.transitions), (before.since_ms, before.transitions));
    }
}

#[test]
fn hs_53_what_a_heartbeat_does_not_renew() {
    let seat = Seat::new();
    let cases = [
        (line(&[("schema", "\"st2.harness-state.v2\"")]), Some(1), Skip::Schema),
        (line(&[("state", "\"compacting\"")]), Some(1), Skip::UnknownState),
        (line(&[("state", "\"unknown\"")]), Some(1), Skip::UnknownState),
        (line(&[("state", "\"ended\"")]), Some(1), Skip::Ended),
        (line(&[("incarnation", "\"tok-b\"")]), Some(1), Skip::ForeignToken),
        (line(&[("seq", "2")]), Some(1), Skip::Superseded),
    ];
    for (planted, sequence, skip) in cases {
        seat.plant("harness-state", &planted);
        assert_eq!(skipped(&seat.writer("tok-a", sequence)), skip);
        assert_eq!(seat.text("harness-state"), Some(planted));
    }
    seat.plant("harness-state", line(&[("seq", "2")]));
    let token_only = seat.writer("tok-a", None);
    beat(&token_only);
    assert_eq!(token_only.sequence(), None, "a heartbeat resolves none");
    // HSI-1 holds for heartbeats: a floor above the session's sequence fences them.
    seat.plant(".harness-state.seq", "3\n");
    assert_eq!(skipped(&token_only), Skip::Superseded);
}

#[test]
fn hs_54_ended_is_an_observation_of_ended() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let outcome = |exit| writer.ended(exit).expect("no error").outcome;
    assert_eq!(outcome(Some("signal 9")), Outcome::Landed);
    assert_eq!(
        seat.record().observation(),
        Observation { exit: Some("signal 9".to_owned()), ..Observation::new(State::Ended) }
    );
    assert_eq!(seat.record().input_buffer.value, InputBuffer::Unknown);
    assert_eq!(outcome(Some("signal 9")), Outcome::Coalesced);
    assert_eq!(outcome(Some("exit 0")), Outcome::Landed, "another exit replaces");
    assert_eq!(outcome(None), Outcome::Landed);
}

#[test]
fn hs_54a_an_observation_cannot_spell_the_placeholder() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let forged = Observation::new(State::Ended).with_reason("superseded");
    for outcome in [writer.observe(&forged), writer.observe_unless_ended(&forged)] {
        assert_eq!(outcome.expect_err("refused").code().word(), "reserved-reason");
    }
    assert_eq!(observe(&writer, &active().with_reason("superseded")), Outcome::Landed);
    let with_exit = Observation { exit: Some("exit 0".to_owned()), ..forged };
    assert_eq!(observe(&writer, &with_exit), Outcome::Landed);
}
