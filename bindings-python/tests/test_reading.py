"""Readers, snapshots and probes."""

import os
import re
import subprocess
import sys
import threading
import time
import unittest

import gallivant
from gallivant import words
from gallivant.testing import TestHost

from .support import AT_ONCE, CLAIMANT, PATIENT, SeatCase, held_lock, start_python

NOW = 1_700_000_000_000


class Reading(SeatCase):
    def test_hs_70_never_observed_is_none_and_creates_nothing(self):
        reader = gallivant.Reader(self.seat)
        self.assertIsNone(reader.read())
        snapshot = reader.snapshot()
        self.assertIsNone(snapshot.record)
        self.assertIsNone(snapshot.damage)
        self.assertIsNone(snapshot.derive())
        self.assertFalse(snapshot.wants_probe())
        self.assertFalse(os.path.exists(self.seat))

    def test_the_empty_path_is_refused(self):
        with self.assertRaises(gallivant.HarnessStateInputError) as caught:
            gallivant.Reader("")
        self.assertEqual(caught.exception.reason, "path")

    def test_hs_84_a_read_answers_every_field(self):
        host = TestHost(wall_ms=NOW)
        writer = self.claimed(host=host)
        writer.observe("active", blocked_on="human", input_buffer="empty", ask="question", reason="r")
        state = gallivant.Reader(self.seat, host=host).read()
        self.assertEqual(
            state,
            gallivant.State(
                state="active",
                blocked_on="human",
                input_buffer="empty",
                ask="question",
                since_ms=NOW + 1,
                exit=None,
                reason="r",
                harness="claude",
                observed_at_ms=NOW + 1,
                ownership_sequence=1,
                transition_sequence=1,
                evidence_incarnation="tok",
                # HS-96: on the reader's own clock, not by a stamp that was moved on by 1 ms.
                valid_until_ms=NOW + 900_000,
            ),
        )
        self.assertFalse(state.is_unknown)

    def assert_alike(self, one, other):
        """The same but for the instant until which it holds: a reader that has to wait between two of its clocks is that much
        later."""
        without, untils = zip(*(re.subn(r"valid_until_ms=\d+", "", repr(state)) for state in (one, other)))
        self.assertEqual(without[0], without[1])
        self.assertEqual(untils, (1, 1))
        self.assertAlmostEqual(one.valid_until_ms, other.valid_until_ms, delta=1000)

    def test_hs_69_reading_again_answers_what_stands_now(self):
        writer = self.claimed()
        reader = gallivant.Reader(self.seat)
        self.assertEqual(reader.read().reason, "claimed")
        for state in ("active", "idle", "active"):
            writer.observe(state)
            first, second = reader.read(), reader.read()
            self.assertEqual(first.state, state)
            self.assert_alike(second, first)
            self.assert_alike(second, gallivant.Reader(self.seat).read())
        record = os.path.join(self.seat, "harness-state")
        os.remove(record)
        self.assertEqual([reader.read(), reader.read()], [None, None])
        with open(record, "w", encoding="utf-8") as file:
            file.write("{")
        self.assertEqual([reader.read().reason, reader.read().reason], ["malformed-record"] * 2)

    def test_threads_may_share_a_reader(self):
        writer = self.claimed()
        writer.observe("active")
        reader = gallivant.Reader(self.seat)
        found = []
        threads = [
            threading.Thread(target=lambda: found.extend({reader.read().state for _ in range(2_000)})) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["active"] * 4)

    def test_hs_83_unknown_says_why_and_blanks_the_rest(self):
        host = TestHost(wall_ms=NOW)
        self.claimed(host=host).observe("idle")
        host.advance_ms(900_001)
        state = gallivant.Reader(self.seat, host=host).read()
        self.assertTrue(state.is_unknown)
        self.assertEqual((state.state, state.blocked_on, state.input_buffer, state.ask), ("unknown",) * 4)
        self.assertEqual(state.reason, words.UNKNOWN_STALE)
        self.assertIsNone(state.since_ms)
        self.assertEqual(state.observed_at_ms, NOW + 1)

    def test_hs_71_and_hs_72_what_cannot_be_read_is_unknown_and_no_exception(self):
        os.makedirs(os.path.join(self.seat, "harness-state"))
        reader = gallivant.Reader(self.seat)
        self.assertEqual(reader.read().reason, words.UNKNOWN_UNREADABLE_RECORD)
        self.assertIsNotNone(reader.snapshot().damage)
        os.rmdir(os.path.join(self.seat, "harness-state"))
        with open(os.path.join(self.seat, "harness-state"), "wb") as record:
            record.write(bytes(1466))
        self.assertEqual(reader.read().reason, words.UNKNOWN_MALFORMED_RECORD)
        self.assertIsNone(reader.snapshot().record)

    def test_hs_69_a_reader_does_not_wait_for_the_lock(self):
        self.claimed().observe("idle")
        with held_lock(self.seat):
            started = time.monotonic()
            self.assertEqual(gallivant.Reader(self.seat, options=PATIENT).read().state, "idle")
            self.assertLess(time.monotonic() - started, AT_ONCE)

    def test_a_snapshot_derives_for_any_clock_without_reading_again(self):
        host = TestHost(wall_ms=NOW)
        self.claimed(host=host).observe("idle")
        snapshot = gallivant.Reader(self.seat, host=host).snapshot()
        os.unlink(os.path.join(self.seat, "harness-state"))
        self.assertEqual(snapshot.derive().state, "idle")
        self.assertEqual(snapshot.derive(now_ms=NOW + 900_001).reason, words.UNKNOWN_STALE)
        self.assertEqual(snapshot.derive(probe="dead").reason, words.UNKNOWN_SESSION_DEAD)
        self.assertEqual(snapshot.derive(probe="indeterminate").state, "idle")
        self.assertTrue(snapshot.wants_probe())
        self.assertFalse(snapshot.wants_probe(now_ms=NOW + 900_001))
        self.assertEqual(snapshot.record.state, "idle")
        self.assertIn("idle", repr(snapshot))
        with self.assertRaises(gallivant.HarnessStateInputError):
            snapshot.derive(probe="lease")

    def test_hs_16_a_word_of_the_future_is_spelled_in_the_record_and_unknown_in_the_state(self):
        self.claimed().observe("idle")
        path = os.path.join(self.seat, "harness-state")
        with open(path) as record:
            text = record.read()
        with open(path, "w") as record:
            record.write(text.replace('"idle"', '"resting"'))
        reader = gallivant.Reader(self.seat)
        self.assertEqual(reader.snapshot().record.state, "resting")
        self.assertEqual(reader.read().reason, words.UNKNOWN_LITERAL_UNKNOWN)


class Probes(SeatCase):
    def setUp(self):
        super().setUp()
        self.writer = self.claimed()
        self.writer.observe("active")
        self.reader = gallivant.Reader(self.seat, options=gallivant.Options(probe_budget_ms=60_000))

    def judged(self, probe, reader=None):
        state = (reader or self.reader).read(probe)
        return state.reason if state.is_unknown else state.state

    def test_hs_80_a_fixed_answer(self):
        self.assertEqual(self.judged("dead"), words.UNKNOWN_SESSION_DEAD)
        self.assertEqual(self.judged("alive"), "active")
        self.assertEqual(self.judged("indeterminate"), "active")

    def test_hs_80_a_function_gets_the_record_and_answers_in_words_or_truth_values(self):
        asked = []
        answers = {"alive": "active", True: "active", None: "active", "indeterminate": "active"}
        answers.update({"dead": words.UNKNOWN_SESSION_DEAD, False: words.UNKNOWN_SESSION_DEAD})
        for answer, wanted in answers.items():
            self.assertEqual(self.judged(lambda record, answer=answer: asked.append(record) or answer), wanted)
        self.assertEqual(len(asked), len(answers))
        self.assertIsInstance(asked[0], gallivant.Record)
        self.assertEqual((asked[0].pty_session, asked[0].incarnation), ("w1", "tok"))

    def test_hs_79_a_function_is_asked_only_where_its_answer_decides(self):
        self.writer.ended("exit 0")
        asked = []
        self.assertEqual(self.judged(lambda record: asked.append(record)), "ended")
        self.assertEqual(asked, [])

    def test_hs_81_a_probe_that_raises_is_indeterminate(self):
        self.assertEqual(self.judged(lambda record: 1 // 0), "active")
        self.assertEqual(self.judged(lambda: "dead"), "active")

    def test_hs_81_a_probe_that_takes_too_long_is_indeterminate(self):
        def slow(record):
            time.sleep(0.3)
            return "dead"

        hasty = gallivant.Reader(self.seat, options=gallivant.Options(probe_budget_ms=200))
        self.assertEqual(self.judged(slow, hasty), "active")

    def test_what_is_no_exception_passes_through_a_probe(self):
        class Stop(BaseException):
            pass

        for raised in (KeyboardInterrupt, SystemExit, GeneratorExit, Stop):

            def probe(record, raised=raised):
                raise raised

            with self.assertRaises(raised):
                self.reader.read(probe)
        self.assertEqual(self.judged("alive"), "active")

    def test_what_is_no_answer_is_indeterminate_and_what_is_no_probe_is_refused(self):
        for answer in ("ded", 0, b"dead", "lease", "\udcff"):
            self.assertEqual(self.judged(lambda record, answer=answer: answer), "active")
        for wrong in ("leese", 5, b"lease"):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                self.reader.read(wrong)
            self.assertEqual(raised.exception.reason, "probe")
            self.assertRegex(raised.exception.message, "^a probe is lease, alive, dead or indeterminate, .*, given=`[a-z]+`$")

    def test_a_probe_may_call_the_library_itself(self):
        other = gallivant.Reader(self.seat)

        def probe(record):
            try:
                other.read(lambda record: sys.exit(3))
            except SystemExit:
                return other.read("dead").reason == words.UNKNOWN_SESSION_DEAD

        self.assertEqual(self.judged(probe), "active")

    def test_hs_94_the_lease_says_whether_a_session_in_another_process_lives(self):
        holder = start_python(
            "import sys, gallivant\n"
            "session = gallivant.Session.start(sys.argv[1], agent='a', harness='h', pty_session='p')\n"
            "session.writer.observe('active')\n"
            "print(session.holds_lease, flush=True)\n"
            "sys.stdin.read()\n",
            self.seat,
            stdin=subprocess.PIPE,
        )
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline(), "True\n")
        self.assertEqual(self.judged("lease"), "active")
        holder.kill()
        holder.wait()
        self.assertEqual(self.judged("lease"), words.UNKNOWN_SESSION_DEAD)

    def test_hs_94_a_process_identity_says_whether_that_process_lives(self):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        process = gallivant.ProcessIdentity.of(child.pid)
        self.assertEqual(process.pid, child.pid)
        self.assertEqual(process.liveness(), "alive")
        self.assertEqual(self.judged(process), "active")
        child.communicate(b"\n")
        self.assertEqual(process.liveness(), "dead")
        self.assertEqual(self.judged(process), words.UNKNOWN_SESSION_DEAD)
        self.assertIsNone(gallivant.ProcessIdentity.of(child.pid))
        elsewhere = gallivant.ProcessIdentity(
            pid=process.pid, start=process.start, boot=process.boot, pid_namespace="another", host=process.host
        )
        self.assertEqual(elsewhere.liveness(), "indeterminate")


if __name__ == "__main__":
    unittest.main()
