"""Claims, writers and ownership."""

import os
import pathlib
import unittest

import gallivant
from gallivant.testing import TestHost

from .support import CLAIMANT, SeatCase, held_lock

MINUTE_MS = 60_000


class Claims(SeatCase):
    def test_hs_55_a_claim_answers_a_sequence_and_the_same_token_gets_another(self):
        self.assertEqual(gallivant.claim(self.seat, **CLAIMANT), gallivant.Claim(sequence=1, swept=0))
        self.assertEqual(gallivant.claim(self.seat, **CLAIMANT).sequence, 2)
        record = self.record()
        self.assertEqual((record["agent"], record["harness"], record["incarnation"]), ("worker", "claude", "tok"))
        self.assertEqual((record["state"], record["reason"], record["seq"]), ("ended", "superseded", 2))

    def test_a_path_is_a_string_or_path_like(self):
        path = pathlib.Path(self.seat)
        gallivant.claim(path, **CLAIMANT)
        writer = gallivant.Writer(path, **CLAIMANT, pty_session="w", sequence=1)
        self.assertTrue(writer.observe("idle"))
        self.assertEqual(writer.directory, self.seat)
        for place in (path, path / "harness-state", os.fspath(path)):
            reader = gallivant.Reader(place)
            self.assertEqual(reader.read().state, "idle")
            self.assertEqual(reader.path, os.fspath(place))

    def test_hs_57_a_damaged_floor_is_reported(self):
        os.mkdir(self.seat)
        with open(os.path.join(self.seat, ".harness-state.seq"), "w") as floor:
            floor.write("many\n")
        self.assertIn("number", gallivant.claim(self.seat, **CLAIMANT).floor_damage)

    def test_hs_62_a_floor_that_cannot_be_raised_is_reported_and_the_claim_stands(self):
        fault = {"on": "rename", "name": ".harness-state.seq", "do": "error", "errno": "EIO"}
        claim = gallivant.claim(self.seat, **CLAIMANT, host=TestHost(faults=[fault]))
        self.assertEqual(claim.sequence, 1)
        self.assertIsInstance(claim.floor_failure, gallivant.HarnessStateIoError)
        self.assertEqual(self.record()["seq"], 1)

    def test_hs_63_a_sibling_that_cannot_be_removed_is_reported(self):
        os.makedirs(os.path.join(self.seat, "harness-context"))
        claim = gallivant.claim(self.seat, **CLAIMANT)
        self.assertEqual(claim.sequence, 1)
        self.assertIsInstance(claim.context_failure, gallivant.HarnessStateIoError)

    def test_hs_64_a_wrapperless_claim_takes_only_a_free_seat(self):
        own = {**CLAIMANT, "token": "claude-session-1"}
        self.assertEqual(gallivant.claim_wrapperless(self.seat, **own).sequence, 1)
        self.assertEqual(gallivant.claim_wrapperless(self.seat, **{**own, "token": "claude-session-2"}).sequence, 2)
        gallivant.claim(self.seat, **CLAIMANT)
        self.assertIsNone(gallivant.claim_wrapperless(self.seat, **own))
        self.assertEqual(self.record()["incarnation"], "tok")

    def test_hs_08_minted_tokens_never_repeat(self):
        tokens = {gallivant.mint_token() for _ in range(1000)}
        self.assertEqual(len(tokens), 1000)
        self.assertFalse(any(token.startswith("claude-session-") for token in tokens))
        fixed = TestHost(random=[0xABC])
        self.assertTrue(gallivant.mint_token(host=fixed).endswith("0000000000000abc"))


class Writers(SeatCase):
    def setUp(self):
        super().setUp()
        self.host = TestHost(wall_ms=1_000_000)

    def test_hs_48_every_call_answers_a_typed_outcome(self):
        writer = self.claimed(host=self.host)
        self.assertEqual(writer.observe("active"), gallivant.Report(outcome="landed"))
        self.assertEqual(writer.observe("active"), gallivant.Report(outcome="coalesced"))
        self.assertEqual(writer.ended("exit 0"), gallivant.Report(outcome="landed"))
        refused = gallivant.Report(outcome="refused", refusal="terminal")
        self.assertEqual(writer.observe_unless_ended("idle"), refused)
        gallivant.claim(self.seat, **CLAIMANT, host=self.host)
        self.assertEqual(writer.observe("idle"), gallivant.Report(outcome="refused", refusal="superseded"))
        stranger = gallivant.Writer(self.seat, agent="a", harness="h", token="other", pty_session="p")
        self.assertEqual(stranger.observe("idle").refusal, "unclaimed")

    def test_hs_31_every_field_of_an_observation_is_written(self):
        writer = self.claimed(host=self.host)
        writer.observe("active", blocked_on="human", input_buffer="nonempty", ask="review", reason="", exit="odd")
        record = self.record()
        wanted = {"state": "active", "blockedOn": "human", "inputBuffer": "nonempty", "ask": "review"}
        self.assertEqual({key: record[key] for key in wanted}, wanted)
        self.assertEqual((record["reason"], record["exit"], record["ptySession"]), ("", "odd", "w1"))
        observation = gallivant.Reader(self.seat, host=self.host).snapshot().record.observation
        self.assertEqual(writer.observe(observation).outcome, "coalesced")

    def test_hs_42_only_the_own_ending_with_an_exit_is_kept(self):
        writer = self.claimed(host=self.host)
        self.assertTrue(writer.observe_unless_ended("active", reason="r"))
        writer.ended()
        self.assertTrue(writer.observe_unless_ended(gallivant.Observation("idle")))
        writer.ended("signal 9")
        self.assertFalse(writer.observe_unless_ended("idle"))
        self.assertTrue(writer.observe("idle"))

    def test_hs_45_after_an_interrupt_the_next_observation_is_a_transition(self):
        writer = self.claimed(host=self.host)
        writer.observe("active")
        transitions = self.record()["transitions"]
        self.assertIsNone(writer.interrupt())
        self.assertEqual(writer.observe("active").outcome, "landed")
        self.assertEqual(self.record()["transitions"], transitions + 1)

    def test_hs_51_a_heartbeat_renews_the_stamp_or_says_why_not(self):
        absent = gallivant.Writer(self.seat, **CLAIMANT, host=self.host)
        self.assertEqual(absent.heartbeat(), gallivant.Heartbeat(outcome="skipped", skip="absent"))
        writer = self.claimed(host=self.host)
        self.assertEqual(writer.heartbeat().skip, "ended")
        writer.observe("idle")
        self.host.advance_ms(MINUTE_MS)
        self.assertEqual(writer.heartbeat(), gallivant.Heartbeat(outcome="landed"))
        self.assertEqual(self.record()["writtenAtMs"], 1_000_000 + MINUTE_MS)

    def test_hs_40_a_writer_without_a_sequence_resolves_one(self):
        writer = gallivant.Writer(self.seat, **CLAIMANT, pty_session="p", host=self.host)
        self.assertIsNone(writer.sequence)
        writer.observe("idle")
        self.assertEqual(writer.sequence, 1)

    def test_hs_50_a_floor_that_cannot_be_raised_is_reported_and_the_record_stands(self):
        fault = {"on": "rename", "name": ".harness-state.seq", "do": "error", "errno": "ENOSPC"}
        host = TestHost(faults=[fault])
        writer = gallivant.Writer(self.seat, **CLAIMANT, pty_session="p", sequence=5, host=host)
        report = writer.observe("idle")
        self.assertEqual(report.outcome, "landed")
        self.assertIsInstance(report.floor_failure, gallivant.HarnessStateIoError)
        self.assertEqual(self.record()["seq"], 5)

    def test_a_writer_tells_who_writes(self):
        writer = gallivant.Writer(self.seat, agent="a", harness="h", token="t", pty_session="", sequence=2**64 - 1)
        self.assertEqual((writer.agent, writer.harness, writer.token, writer.pty_session), ("a", "h", "t", ""))
        self.assertEqual((writer.sequence, writer.directory), (2**64 - 1, self.seat))
        self.assertIn(self.seat, repr(writer))
        self.assertIsNone(gallivant.Writer(self.seat, agent="a", harness="h", token="t").pty_session)
        self.assertFalse(os.path.exists(self.seat))


class Ownership(SeatCase):
    """HS-68 in its two forms."""

    BRIEF = gallivant.Options(lock_wait_ms=50)

    def is_locked(self):
        other = gallivant.Writer(self.seat, **{**CLAIMANT, "token": "other"}, pty_session="p", options=self.BRIEF)
        try:
            other.observe("idle")
        except gallivant.HarnessStateBusyError:
            return True
        return False

    def test_hs_68_the_block_runs_under_the_lock(self):
        writer = self.claimed()
        with writer.current_ownership() as owned:
            self.assertEqual(owned.sequence, 1)
            self.assertTrue(self.is_locked())
        self.assertFalse(self.is_locked())
        with self.assertRaises(gallivant.HarnessStateInputError) as raised:
            owned.sequence
        self.assertEqual(raised.exception.reason, "released")

    def test_hs_68_a_session_that_was_superseded_gets_none_and_no_lock(self):
        writer = self.claimed()
        gallivant.claim(self.seat, **{**CLAIMANT, "token": "later"})
        with writer.current_ownership() as owned:
            self.assertIsNone(owned)
            self.assertFalse(self.is_locked())
        self.assertIsNone(writer.lock_current_ownership())

    def test_an_exception_that_leaves_the_block_releases_and_passes_through(self):
        writer = self.claimed()
        with self.assertRaises(ZeroDivisionError):
            with writer.current_ownership():
                1 // 0
        self.assertFalse(self.is_locked())

    def test_a_guard_is_released_by_hand_by_its_block_and_with_the_object(self):
        writer = self.claimed()
        guard = writer.lock_current_ownership()
        self.assertTrue(self.is_locked())
        guard.release()
        guard.release()
        self.assertFalse(self.is_locked())
        with writer.lock_current_ownership() as guard:
            self.assertEqual(guard.sequence, 1)
            self.assertTrue(self.is_locked())
        self.assertFalse(self.is_locked())
        guard = writer.lock_current_ownership()
        self.assertTrue(self.is_locked())
        del guard
        self.assertFalse(self.is_locked())

    def test_a_context_manager_is_entered_once(self):
        manager = self.claimed().current_ownership()
        with manager as owned:
            owned.release()
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                manager.__enter__()
            self.assertEqual(raised.exception.reason, "entered")
            self.assertFalse(self.is_locked())
        with manager as owned:
            self.assertEqual(owned.sequence, 1)

    def test_a_block_that_cannot_be_entered_is_busy(self):
        writer = self.claimed(options=self.BRIEF)
        with held_lock(self.seat):
            with self.assertRaises(gallivant.HarnessStateBusyError):
                with writer.current_ownership():
                    self.fail("the block ran without the lock")


if __name__ == "__main__":
    unittest.main()
