"""Explanations, the extension object, evidence, children."""

import json
import os
import subprocess
import sys
import unittest

import gallivant
from gallivant import aio, words
from gallivant.testing import TestHost

from .support import CLAIMANT, SeatCase, same

NOW = 1_700_000_000_000


class Explaining(SeatCase):
    def test_hs_91_a_read_is_explained_in_one_call(self):
        host = TestHost(wall_ms=NOW)
        self.claimed(host=host).observe("active", reason="r")
        reader = gallivant.Reader(self.seat, host=host)
        explanation = reader.explain()
        self.assertEqual(explanation.state, reader.read())
        self.assertEqual((explanation.clause, explanation.reason), ("HS-84", "r"))
        self.assertEqual(explanation.rows[-1], gallivant.TriedRow(clause="HS-84", question="what was observed holds", matched=True))
        self.assertFalse(any(row.matched for row in explanation.rows[:-1]))
        self.assertEqual(explanation.record, reader.snapshot().record)
        self.assertIsNone(explanation.damage)
        self.assertEqual((explanation.now_ms, explanation.age_ms), (NOW, 0))
        self.assertIn("HS-84", repr(explanation))

    def test_hs_91_the_lines_are_for_people_and_the_object_for_programs(self):
        self.claimed().observe("active")
        explanation = gallivant.Reader(self.seat).explain("dead")
        self.assertEqual(str(explanation).splitlines()[0], "unknown (session-dead), by HS-80")
        said = json.loads(explanation.to_json())
        self.assertEqual((said["state"], said["reason"], said["clause"]), ("unknown", "session-dead", "HS-80"))
        self.assertEqual(len(said["rows"]), len(explanation.rows))
        self.assertNotIn("tok", str(explanation) + explanation.to_json())

    def test_hs_91_what_is_missing_or_damaged_is_explained_too(self):
        reader = gallivant.Reader(self.seat)
        nothing = reader.explain()
        self.assertEqual((nothing.state, nothing.record, nothing.age_ms, nothing.clause), (None, None, None, "HS-70"))
        self.assertIn("None", repr(nothing))
        self.claimed()
        with open(os.path.join(self.seat, "harness-state"), "wb") as record:
            record.write(b"{")
        damaged = reader.explain()
        self.assertEqual((damaged.clause, damaged.reason), ("HS-72", words.UNKNOWN_MALFORMED_RECORD))
        self.assertTrue(damaged.damage)

    def test_hs_91_a_snapshot_is_explained_for_any_clock_and_answer(self):
        host = TestHost(wall_ms=NOW)
        self.claimed(host=host).observe("idle")
        snapshot = gallivant.Reader(self.seat, host=host).snapshot()
        self.assertEqual(snapshot.explain().state, snapshot.derive())
        stale = snapshot.explain(now_ms=NOW + 900_000)
        self.assertEqual((stale.clause, stale.now_ms), ("HS-75", NOW + 900_000))
        self.assertEqual(snapshot.explain(probe="dead").clause, "HS-80")
        with self.assertRaises(gallivant.HarnessStateInputError):
            snapshot.explain(probe="lease")

    def test_hs_81_a_probe_is_asked_as_by_read(self):
        self.claimed().observe("idle")
        reader = gallivant.Reader(self.seat)
        asked = []
        self.assertEqual(reader.explain(lambda record: asked.append(record.incarnation)).clause, "HS-84")
        self.assertEqual(asked, ["tok"])
        self.assertEqual(reader.explain(lambda record: 1 // 0).clause, "HS-84")
        with self.assertRaises(SystemExit):
            reader.explain(lambda record: sys.exit(3))


class Extensions(SeatCase):
    def extension(self):
        return gallivant.Reader(self.seat).snapshot().record.extension

    def test_hs_95_a_record_tells_what_our_writers_add(self):
        writer = self.claimed()
        writer.observe("idle")
        raw = self.record()["gallivant"]
        said = self.extension()
        self.assertEqual((said.boot_id, said.boot_ms), (raw["bootId"], raw["bootMs"]))
        self.assertEqual((said.awake_ms, said.host, said.evidence), (raw["awakeMs"], raw["host"], raw["evidence"]))
        self.assertEqual((said.event_ms, said.children, said.late, said.process), (raw["eventMs"], (), 0, None))
        self.assertEqual(writer.evidence, words.EVIDENCE_WRAPPER)

    def test_hs_95_it_may_be_switched_off(self):
        self.claimed(options=gallivant.Options(extension=False)).observe("idle")
        self.assertNotIn("gallivant", self.record())
        self.assertIsNone(self.extension())

    def test_hs_95_a_session_names_its_harness(self):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.addCleanup(child.communicate, b"\n")
        session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")
        process = session.attach(child.pid)
        self.assertEqual(self.extension().process, process)
        self.assertEqual(self.extension().process.liveness(), "alive")

    def test_hs_98_a_screen_gives_way_to_a_hook_that_is_fresh(self):
        host = TestHost(wall_ms=NOW)
        claim = gallivant.claim(self.seat, **CLAIMANT, host=host)
        own = {**CLAIMANT, "pty_session": "w1", "sequence": claim.sequence, "host": host}
        screen = gallivant.Writer(self.seat, **own, evidence="screen")
        self.assertEqual(screen.evidence, "screen")
        channel = gallivant.Writer(self.seat, **own, evidence=words.EVIDENCE_CHANNEL)
        self.assertTrue(screen.observe("idle"))
        self.assertTrue(channel.observe("active"))
        self.assertEqual(screen.observe("idle").refusal, words.REFUSED_WEAKER_EVIDENCE)
        host.advance_ms(900_000)
        self.assertTrue(screen.observe("idle"))

    def test_hs_98_a_writer_of_the_environment_says_its_evidence(self):
        session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")
        self.assertEqual(session.writer.evidence, "wrapper")
        writer = session.environment().writer(evidence="channel")
        writer.observe("active")
        self.assertEqual(self.extension().evidence, "channel")
        for wrong in ("unknown", "guess", ""):
            for make in (
                lambda: session.environment().writer(evidence=wrong),
                lambda: gallivant.Writer(self.seat, **CLAIMANT, evidence=wrong),
            ):
                with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                    make()
                self.assertEqual(raised.exception.reason, "word")

    def test_hs_99_children_keep_a_turn_that_ended_active(self):
        writer = self.claimed()
        writer.observe("active")
        self.assertEqual(writer.note_child("c1", "started").outcome, "landed")
        self.assertEqual(writer.note_child("c1", words.CHILD_STEP_WORKING).outcome, "coalesced")
        writer.observe("idle")
        self.assertEqual(self.extension().children, ("c1",))
        state = gallivant.Reader(self.seat).read()
        self.assertEqual((state.state, state.reason), ("active", "children"))
        writer.note_child("c1", step="stopped")
        self.assertEqual(gallivant.Reader(self.seat).read().state, "idle")
        for reason, wrong in (("child", ("", "started")), ("child", ("x" * 129, "started")), ("word", ("c", "x"))):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                writer.note_child(*wrong)
            self.assertEqual(raised.exception.reason, reason)


class Paths(SeatCase):
    def test_the_empty_path_is_refused_everywhere(self):
        for make in (
            lambda: gallivant.Reader(""),
            lambda: aio.Reader(""),
            lambda: gallivant.Writer("", **CLAIMANT),
            lambda: gallivant.claim("", **CLAIMANT),
            lambda: gallivant.Watch.record(""),
            lambda: gallivant.Watch.fleet(""),
            lambda: aio.Fleet(""),
        ):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                make()
            self.assertEqual(raised.exception.reason, "path")


class Awaited(SeatCase, unittest.IsolatedAsyncioTestCase):
    async def test_hs_91_a_read_is_explained_with_any_probe(self):
        self.claimed().observe("active")
        reader = aio.Reader(self.seat)
        explanation = await reader.explain()
        self.assertTrue(same(explanation.state, await reader.read()))

        async def probe(record):
            return False

        for dead in (probe, lambda record: False, "dead"):
            self.assertEqual((await reader.explain(dead)).clause, "HS-80")
        self.assertEqual((await aio.Reader(self.seat + "/x").explain(probe)).clause, "HS-70")

    async def test_hs_99_and_hs_98_writers_note_children_and_say_their_evidence(self):
        claim = await aio.claim(self.seat, **CLAIMANT)
        own = {**CLAIMANT, "pty_session": "w1", "sequence": claim.sequence}
        writer = aio.Writer(self.seat, **own, evidence="hook")
        self.assertEqual(writer.evidence, "hook")
        await writer.observe("idle")
        self.assertTrue(await writer.note_child("c1", "started"))
        self.assertEqual((await aio.Reader(self.seat).read()).reason, "children")
        session = gallivant.SessionEnvironment(
            agent_dir=self.seat, agent="worker", harness="claude", token="tok", pty_session="w1", sequence=1
        )
        screen = aio.Writer.from_environment(session, evidence="screen")
        self.assertEqual((await screen.observe("active")).refusal, "weaker-evidence")


if __name__ == "__main__":
    unittest.main()
