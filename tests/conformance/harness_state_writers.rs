//! Section D: writers, from what they refuse to what an observation changes (HS-30 to HS-50).

use gallivant_core::Code;
use gallivant_core::harness_state::{
    Ask, BlockedOn, Heartbeat, InputBuffer, Observation, Outcome, Refusal, Skip, State, Writer,
    WriterIdentity,
};

use crate::support::{NOW, Seat, active, identity, idle, line, observe};

pub(crate) fn skipped(writer: &Writer) -> Skip {
    match writer.heartbeat().expect("no error") {
        Heartbeat::Skipped(skip) => skip,
        Heartbeat::Landed { .. } => panic!("it landed"),
    }
}

pub(crate) fn beat(writer: &Writer) {
    assert!(matches!(writer.heartbeat().expect("no error"), Heartbeat::Landed { floor_failure: None }));
}

#[test]
fn hs_30_nothing_is_cached_that_another_program_may_change() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    // A rewrite of equal length: the inode differs, because the judged one is pinned.
    let rewritten = seat.text("harness-state").expect("a record").replace("\"active\"", "\"parked\"");
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    seat.plant("harness-state", rewritten);
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    seat.plant(".harness-state.seq", "9\n");
    assert_eq!(
        observe(&writer, &active()),
        Outcome::Refused(Refusal::Superseded),
        "the floor is looked at too"
    );
    seat.plant(".harness-state.seq", "1\n");
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
}

#[test]
fn hs_31_an_unknown_blocked_on_and_an_exit_beside_a_live_state_are_accepted() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let observation =
        Observation { blocked_on: BlockedOn::Unknown, exit: Some("exit 3".to_owned()), ..active() };
    assert_eq!(observe(&writer, &observation), Outcome::Landed);
    assert_eq!(seat.record().observation(), observation);
    assert!(seat.text("harness-state").expect("a record").contains("\"blockedOn\":\"unknown\""));
}

#[test]
fn hs_32_validation_comes_before_any_side_effect_and_in_its_order() {
    let seat = Seat::new();
    let unfenced = seat.writer_as(WriterIdentity { pty_session: None, ..identity("tok-a") }, None);
    let refused = |observation: &Observation| unfenced.observe(observation).expect_err("refused").code();
    let everything_wrong = Observation { ask: Ask::Unknown, ..Observation::new(State::Unknown) };
    assert_eq!(refused(&everything_wrong), Code::HarnessStateUnknownState);
    assert_eq!(
        refused(&Observation { state: State::Idle, ..everything_wrong.clone() }),
        Code::HarnessStateUnfenced
    );
    let placeholder = Observation::new(State::Ended).with_reason("superseded");
    assert_eq!(
        refused(&Observation { ask: Ask::Unknown, ..placeholder.clone() }),
        Code::HarnessStateUnknownAsk
    );
    assert_eq!(
        refused(&Observation { ask: Ask::Question, ..placeholder.clone() }),
        Code::HarnessStateAskWithoutHuman
    );
    assert_eq!(refused(&placeholder), Code::HarnessStateReservedReason);
    assert!(seat.names().is_empty(), "not even a lock file");
    assert!(seat.machine.operations().is_empty());
}

#[test]
fn hs_33_unknown_cannot_be_observed() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let error = writer.observe(&Observation::new(State::Unknown)).expect_err("refused");
    assert_eq!(error.code().word(), "unknown-state");
}

#[test]
fn hs_34_a_live_state_needs_a_pty_session_and_an_ending_does_not() {
    let seat = Seat::new();
    let sequence = seat.claim("tok-a").sequence;
    let unfenced = seat.writer_as(WriterIdentity { pty_session: None, ..identity("tok-a") }, Some(sequence));
    for state in [State::Ready, State::Idle, State::Active, State::Child] {
        let error = unfenced.observe(&Observation::new(state)).expect_err("refused");
        assert_eq!(error.code().word(), "unfenced");
    }
    assert_eq!(observe(&unfenced, &Observation::new(State::Ended)), Outcome::Landed);
    let empty = seat
        .writer_as(WriterIdentity { pty_session: Some(String::new()), ..identity("tok-a") }, Some(sequence));
    assert_eq!(observe(&empty, &active()), Outcome::Landed, "the empty string counts as present");
    assert_eq!(seat.record().pty_session.as_deref(), Some(""));
}

#[test]
fn hs_35_asks() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let human = |ask| active().blocked_on_human(ask);
    assert_eq!(writer.observe(&human(Ask::Unknown)).expect_err("refused").code().word(), "unknown-ask");
    for blocked_on in [BlockedOn::None, BlockedOn::Unknown] {
        let observation = Observation { blocked_on, ask: Ask::Permission, ..active() };
        assert_eq!(writer.observe(&observation).expect_err("refused").code().word(), "ask-without-human");
    }
    for ask in [Ask::None, Ask::Permission, Ask::Question, Ask::Review] {
        assert_eq!(observe(&writer, &human(ask)), Outcome::Landed);
        assert_eq!(seat.read().expect("a record").ask, ask);
    }
}

#[test]
fn hs_36_a_writer_is_refused_over_what_cannot_be_read() {
    let seat = Seat::new();
    seat.plant("harness-state", "{corrupted");
    for sequence in [None, Some(9)] {
        let writer = seat.writer("tok-a", sequence);
        assert_eq!(observe(&writer, &active()), Outcome::Refused(Refusal::Unreadable));
        assert_eq!(skipped(&writer), Skip::Unreadable);
    }
    assert_eq!(seat.text("harness-state").as_deref(), Some("{corrupted"));
}

#[test]
fn hs_37_which_sequence_a_writer_has() {
    let seat = Seat::new();
    let virgin = seat.writer("tok-a", None);
    assert_eq!(virgin.sequence(), None);
    assert_eq!(observe(&virgin, &active()), Outcome::Landed);
    assert_eq!((virgin.sequence(), seat.record().seq, seat.floor().as_deref()), (Some(1), 1, Some("1\n")));

    let seat = Seat::new();
    seat.plant("harness-state", line(&[("seq", "7")]));
    assert_eq!(observe(&seat.writer("tok-b", None), &active()), Outcome::Refused(Refusal::Unclaimed));
    let sibling = seat.writer("tok-a", None);
    assert_eq!(observe(&sibling, &idle()), Outcome::Landed);
    assert_eq!(sibling.sequence(), Some(7), "the own token's record says it");
    assert_eq!(
        observe(&seat.writer("tok-b", Some(7)), &active()),
        Outcome::Landed,
        "an adopted one is its own"
    );

    let seat = Seat::new();
    seat.plant(".harness-state.seq", "4\n");
    assert_eq!(observe(&seat.writer("tok-a", None), &active()), Outcome::Refused(Refusal::Superseded));
    assert_eq!(observe(&seat.writer("tok-a", Some(3)), &active()), Outcome::Refused(Refusal::Superseded));
    assert_eq!(seat.names(), [".harness-state.lock", ".harness-state.seq"]);
    assert_eq!(observe(&seat.writer("tok-a", Some(4)), &active()), Outcome::Landed);
    assert_eq!(seat.floor().as_deref(), Some("4\n"));
}

#[test]
fn hs_38_a_higher_sequence_on_disk_or_in_the_floor_supersedes() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("seq", "5"), ("incarnation", "\"tok-b\"")]));
    assert_eq!(observe(&seat.writer("tok-a", Some(4)), &active()), Outcome::Refused(Refusal::Superseded));
    for sequence in [5, 6] {
        seat.plant("harness-state", line(&[("seq", "5"), ("incarnation", "\"tok-b\"")]));
        assert_eq!(
            observe(&seat.writer("tok-a", Some(sequence)), &active()),
            Outcome::Landed,
            "even over a stranger"
        );
    }
    let writer = seat.writer("tok-a", Some(6));
    observe(&writer, &idle());
    let from = seat.machine.operations().len();
    seat.advance(1);
    observe(&writer, &active());
    let operations = seat.machine.operations().split_off(from);
    assert!(
        !operations.iter().any(|operation| operation.contains("read .harness-state.seq")),
        "{operations:?}"
    );
    seat.plant(".harness-state.seq", "7");
    assert_eq!(
        observe(&writer, &idle()),
        Outcome::Refused(Refusal::Superseded),
        "read again when it changed"
    );
}

#[test]
fn hs_39_a_foreign_schema_is_refused_after_the_sequence() {
    let seat = Seat::new();
    let foreign = line(&[("schema", "\"st2.harness-state.v2\""), ("seq", "3")]);
    seat.plant("harness-state", &foreign);
    assert_eq!(observe(&seat.writer("tok-a", None), &idle()), Outcome::Refused(Refusal::Schema));
    assert_eq!(observe(&seat.writer("tok-a", Some(3)), &idle()), Outcome::Refused(Refusal::Schema));
    assert_eq!(observe(&seat.writer("tok-a", Some(2)), &idle()), Outcome::Refused(Refusal::Superseded));
    assert_eq!(seat.text("harness-state"), Some(foreign));
}

#[test]
fn hs_40_the_sequence_is_remembered_also_when_the_write_coalesces_or_is_dropped() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("seq", "5"), ("writtenAtMs", &NOW.to_string())]));
    let coalescing = seat.writer("tok-a", None);
    assert_eq!(observe(&coalescing, &active()), Outcome::Coalesced);
    assert_eq!(coalescing.sequence(), Some(5));
    seat.plant("harness-state", line(&[("seq", "5"), ("state", "\"ended\""), ("exit", "\"exit 0\"")]));
    let dropped = seat.writer("tok-a", None);
    let report = dropped.observe_unless_ended(&active()).expect("no error");
    assert_eq!((report.outcome, dropped.sequence()), (Outcome::Refused(Refusal::Terminal), Some(5)));
    let refused = seat.writer("tok-b", None);
    observe(&refused, &active());
    assert_eq!(refused.sequence(), None);
    // What is remembered counts although the record has gone.
    std::fs::remove_file(seat.path("harness-state")).expect("removed");
    assert_eq!(observe(&dropped, &active()), Outcome::Landed);
    assert_eq!(seat.record().seq, 5);
}

#[test]
fn hs_41_an_own_record_is_same_schema_and_same_token_and_nothing_else() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[("writtenAtMs", &NOW.to_string()), ("agent", "\"other\"")]));
    let writer = seat.writer_as(
        WriterIdentity {
            harness: "claude".to_owned(),
            pty_session: Some("x".to_owned()),
            ..identity("tok-a")
        },
        Some(5),
    );
    assert_eq!(
        observe(&writer, &active()),
        Outcome::Coalesced,
        "agent, harness, pty and sequence play no part"
    );
    seat.plant("harness-state", line(&[("writtenAtMs", &NOW.to_string()), ("incarnation", "\"tok-b\"")]));
    assert_eq!(observe(&writer, &active()), Outcome::Landed, "another's record never coalesces");
}

#[test]
fn hs_42_only_the_own_ending_with_an_exit_suppresses() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let unless_ended = |writer: &Writer| writer.observe_unless_ended(&active()).expect("no error").outcome;
    assert_eq!(unless_ended(&writer), Outcome::Landed, "the own placeholder does not");
    observe(&writer, &Observation::new(State::Ended));
    assert_eq!(unless_ended(&writer), Outcome::Landed, "an exitless ending does not");
    writer.ended(Some("exit 0")).expect("no error");
    assert_eq!(unless_ended(&writer), Outcome::Refused(Refusal::Terminal));
    assert_eq!(observe(&writer, &active()), Outcome::Landed, "plain observe may follow an ending");
    writer.ended(Some("exit 0")).expect("no error");
    assert_eq!(
        unless_ended(&seat.writer("tok-b", Some(1))),
        Outcome::Landed,
        "anybody else's ending does not"
    );
}

#[test]
fn hs_43_when_an_observation_coalesces() {
    let full = Observation { exit: Some("x".to_owned()), ..active().with_reason("r") };
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &full);
    assert_eq!(observe(&writer, &full), Outcome::Coalesced);
    let stamp = seat.record().written_at_ms;
    let changes: [Observation; 6] = [
        Observation { state: State::Idle, ..full.clone() },
        Observation { blocked_on: BlockedOn::Human, ..full.clone() },
        Observation { input_buffer: InputBuffer::Empty, ..full.clone() },
        Observation { blocked_on: BlockedOn::Human, ask: Ask::Review, ..full.clone() },
        Observation { reason: None, ..full.clone() },
        Observation { exit: None, ..full.clone() },
    ];
    for change in &changes {
        assert_eq!(observe(&writer, change), Outcome::Landed, "{change:?}");
        assert_eq!(observe(&writer, &full), Outcome::Landed);
    }
    assert!(seat.record().written_at_ms > stamp);
    let stamp = seat.record().written_at_ms;
    seat.machine.set_wall_ms(stamp + 299_999);
    assert_eq!(observe(&writer, &full), Outcome::Coalesced, "just inside the refresh");
    seat.machine.set_wall_ms(stamp - 60_000);
    assert_eq!(observe(&writer, &full), Outcome::Coalesced, "a stamp exactly at the skew");
    seat.machine.set_wall_ms(stamp - 60_001);
    assert_eq!(observe(&writer, &full), Outcome::Landed, "a stamp beyond it");
    writer.interrupt();
    assert_eq!(observe(&writer, &full), Outcome::Landed);
}

#[test]
fn hs_44_an_unchanged_observation_that_is_too_old_is_stamped_again() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let before = seat.record();
    for age in [300_001, 900_000, 90_000_000] {
        seat.advance(age);
        assert_eq!(observe(&writer, &active()), Outcome::Landed);
        let after = seat.record();
        assert_eq!((after.since_ms, after.transitions), (before.since_ms, before.transitions));
        assert!(after.written_at_ms > before.written_at_ms);
    }
}

#[test]
fn hs_45_the_next_observation_after_an_interrupt_is_a_transition() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    let before = seat.record();
    seat.advance(10);
    writer.interrupt();
    assert_eq!(seat.record(), before, "interrupting writes nothing");
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    let after = seat.record();
    assert_eq!(after.transitions, before.transitions + 1);
    assert_eq!(after.since_ms, after.written_at_ms);
}

#[test]
fn hs_46_transitions_count_up_saturating_and_begin_at_0_over_nothing() {
    let seat = Seat::new();
    let writer = seat.writer("tok-a", Some(1));
    observe(&writer, &active());
    assert_eq!((seat.record().transitions, seat.record().since_ms), (0, NOW));
    observe(&writer, &idle());
    assert_eq!(seat.record().transitions, 1);
    let anybodys = line(&[("incarnation", "\"tok-b\""), ("transitions", &u64::MAX.to_string())]);
    seat.plant("harness-state", anybodys);
    observe(&writer, &active());
    assert_eq!(seat.record().transitions, u64::MAX);
    assert_eq!(seat.record().since_ms, seat.record().written_at_ms);
}

#[test]
fn hs_47_the_stamp_goes_past_a_trusted_one_and_restarts_at_an_untrusted_one() {
    let seat = Seat::new();
    let writer = seat.writer("tok-a", Some(1));
    for (previous, stamp) in
        [(NOW - 5, NOW), (NOW, NOW + 1), (NOW + 60_000, NOW + 60_001), (NOW + 60_001, NOW), (u64::MAX, NOW)]
    {
        seat.plant("harness-state", line(&[("writtenAtMs", &previous.to_string())]));
        assert_eq!(observe(&writer, &idle()), Outcome::Landed);
        assert_eq!(seat.record().written_at_ms, stamp, "over {previous}");
    }
    seat.machine.set_wall_ms(u64::MAX);
    seat.plant("harness-state", line(&[("writtenAtMs", &u64::MAX.to_string())]));
    observe(&writer, &idle());
    assert_eq!(seat.record().written_at_ms, u64::MAX, "saturating");
}

#[test]
fn hs_48_every_call_answers_a_typed_outcome() {
    let words: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.word()).collect();
    let of_writers = ["unreadable", "unclaimed", "superseded", "schema", "terminal"];
    let of_the_extension = ["late", "weaker-evidence", "foreign-descendant", "identity-missing"];
    assert_eq!(words, [&of_writers[..], &of_the_extension].concat());
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let landed = writer.observe(&active()).expect("no error").outcome;
    let coalesced = writer.observe(&active()).expect("no error").outcome;
    let refused = seat.writer("tok-b", None).observe(&active()).expect("a refusal is an answer").outcome;
    assert_eq!((landed.word(), coalesced.word(), refused.word()), ("landed", "coalesced", "refused"));
    assert_eq!((landed.refusal(), refused.refusal()), (None, Some(Refusal::Unclaimed)));
}

#[test]
fn hs_49_only_a_landed_observation_clears_the_interrupt() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    observe(&writer, &active());
    writer.interrupt();
    beat(&writer);
    let good = seat.text("harness-state").expect("a record");
    seat.plant("harness-state", "{x");
    assert_eq!(observe(&writer, &active()), Outcome::Refused(Refusal::Unreadable));
    seat.plant("harness-state", good);
    assert_eq!(observe(&writer, &active()), Outcome::Landed);
    assert_eq!(observe(&writer, &active()), Outcome::Coalesced);
}

#[test]
fn hs_50_a_landed_observation_says_who_wrote_it_and_raises_the_floor_after_the_record() {
    let seat = Seat::new();
    seat.plant("harness-state", line(&[]));
    let other = WriterIdentity {
        agent: "host.other".to_owned(),
        harness: "claude".to_owned(),
        pty_session: Some("p".to_owned()),
        token: "tok-b".to_owned(),
    };
    let from = seat.machine.operations().len();
    assert_eq!(observe(&seat.writer_as(other, Some(7)), &idle()), Outcome::Landed);
    let record = seat.record();
    assert_eq!(
        (
            record.agent.as_str(),
            record.harness.as_str(),
            record.pty_session.as_deref(),
            record.incarnation.as_str()
        ),
        ("host.other", "claude", Some("p"), "tok-b")
    );
    assert_eq!((record.seq, seat.floor().as_deref()), (7, Some("7\n")));
    let operations = seat.machine.operations().split_off(from);
    let published = |name: &str| {
        operations.iter().position(|operation| {
            (operation.contains("rename") || operation.contains("exchange")) && operation.ends_with(name)
        })
    };
    assert!(published(" harness-state") < published(" .harness-state.seq"), "{operations:?}");
    // The heartbeat of a record whose floor was lost raises it too; sequence 0 writes none.
    std::fs::remove_file(seat.path(".harness-state.seq")).expect("removed");
    beat(&seat.writer("tok-b", Some(7)));
    assert_eq!(seat.floor().as_deref(), Some("7\n"));
    let zero = Seat::new();
    assert_eq!(observe(&zero.writer("tok-a", Some(0)), &active()), Outcome::Landed);
    assert_eq!(zero.floor(), None);
    // A floor that cannot be written is reported and undoes nothing.
    let failing = Seat::new();
    std::fs::create_dir(failing.path(".harness-state.seq")).expect("a directory");
    let report = failing.writer("tok-a", Some(2)).observe(&active()).expect("no error");
    assert_eq!(report.outcome, Outcome::Landed);
    assert_eq!(report.floor_failure.expect("reported").code(), Code::HarnessStateIo);
}

#[test]
fn what_could_not_be_read_again_is_refused_and_nothing_is_written() {
    let seat = Seat::new();
    let writer = seat.owner("tok-a");
    let before = seat.bytes("harness-state");
    let error = writer.observe(&active().with_reason("y".repeat(5 << 20))).expect_err("too large");
    assert_eq!((error.code(), error.reason()), (Code::HarnessStateInput, Some("too-large")));
    assert_eq!(seat.bytes("harness-state"), before);
    assert_eq!(observe(&writer, &active().with_reason("y".repeat(3 << 20))), Outcome::Landed);
    assert_eq!(seat.reads().0, State::Active);
}

#[test]
fn a_relative_directory_means_the_same_after_a_change_of_the_working_directory() {
    let seat = Seat::new();
    let relative = crate::support::in_forked_child(|| {
        std::env::set_current_dir(seat.root()).expect("there");
        let writer = Writer::open("agent", identity("tok-a"), None, &seat.options, seat.machine.host());
        std::env::set_current_dir("/").expect("there");
        let landed =
            writer.expect("a writer").observe(&active()).expect("no error").outcome == Outcome::Landed;
        u8::from(!landed || std::path::Path::new("/agent").exists())
    });
    assert_eq!(relative, 0);
    assert_eq!(seat.reads().0, State::Active);
    let refused = Writer::open("", identity("tok-a"), None, &seat.options, seat.machine.host());
    assert_eq!(refused.expect_err("the empty path").reason(), Some("path"));
}

#[test]
fn a_program_that_ignores_the_lock_keeps_its_file_and_the_call_refuses() {
    let (_, simulation) = gallivant_core::testing::simulated_host(1);
    let host = simulation.host();
    let options = gallivant_core::harness_state::Options::default();
    let writer = Writer::open("/agent", identity("tok-a"), None, &options, &host).expect("a writer");
    observe(&writer, &active());
    let other = simulation.files.another_process();
    let point = gallivant_core::testing::Point::on(gallivant_core::testing::OperationKind::Exchange);
    simulation.files.pause_before(point, move || {
        other.unplant("/agent/harness-state").expect("removed");
        other.plant_directory("/agent/harness-state").expect("a directory in its place");
    });
    let error = writer.observe(&idle()).expect_err("something else stands there");
    assert_eq!(error.code(), Code::HarnessStateIo);
    let found = simulation.files.metadata("/agent/harness-state").expect("it stands");
    assert_eq!(found.file_type, gallivant_core::storage::FileType::Directory);
    let names = simulation.files.names("/agent").expect("listed");
    assert!(!names.iter().any(|name| name.contains("tmp-")), "{names:?}");
}
