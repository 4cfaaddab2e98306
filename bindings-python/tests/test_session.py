"""Sessions: start, hand over, heartbeat, end."""

import os
import subprocess
import sys
import unittest

import gallivant
from gallivant import words
from gallivant.testing import TestHost

from .support import SeatCase, held_lock

NEW = {"agent": "worker", "harness": "claude", "pty_session": "w1"}
NOW = 1_700_000_000_000


class Sessions(SeatCase):
    def start(self, **keywords):
        return gallivant.Session.start(self.seat, **{**NEW, **keywords})

    def test_a_session_claims_holds_its_lease_and_writes(self):
        session = self.start(token="own")
        self.assertEqual(session.claim.sequence, 1)
        self.assertTrue(session.holds_lease)
        writer = session.writer
        self.assertEqual((writer.agent, writer.harness), ("worker", "claude"))
        self.assertEqual((writer.token, writer.pty_session), ("own", "w1"))
        self.assertEqual(writer.sequence, 1)
        self.assertTrue(writer.observe("idle"))
        self.assertEqual(gallivant.Reader(self.seat).read("lease").state, "idle")
        self.assertIn("worker", repr(session))

    def test_a_token_is_minted_where_none_is_given(self):
        self.assertNotEqual(self.start().writer.token, self.start().writer.token)

    def test_attach_names_the_harness_and_says_ready(self):
        session = self.start()
        self.assertIsNone(session.harness_process)
        process = session.attach(os.getpid())
        self.assertEqual(process, gallivant.ProcessIdentity.of(os.getpid()))
        self.assertEqual(session.harness_process, process)
        self.assertEqual(self.record()["state"], "ready")
        with self.assertRaises(gallivant.HarnessStateInputError) as raised:
            session.attach(2**31 - 1)
        self.assertEqual(raised.exception.reason, "no-such-process")

    def test_a_heartbeat_is_made_when_it_is_due(self):
        host = TestHost(wall_ms=NOW)
        session = self.start(host=host)
        session.writer.observe("idle")
        tick = session.heartbeat_if_due()
        self.assertEqual(tick, gallivant.Tick(outcome="not-due", due_at_ms=NOW + 300_000))
        host.advance_ms(300_001)
        self.assertEqual(session.heartbeat_if_due(), gallivant.Tick(outcome="renewed"))
        self.assertEqual(self.record()["writtenAtMs"], NOW + 300_001)

    def test_no_heartbeat_is_made_for_a_dead_harness_or_a_superseded_session(self):
        host = TestHost(wall_ms=NOW)
        session = self.start(host=host)
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        session.attach(child.pid)
        child.communicate(b"\n")
        host.advance_ms(300_002)
        self.assertEqual(session.heartbeat_if_due(), gallivant.Tick(outcome="harness-gone"))
        other = self.start(host=host, token="later")
        other.writer.observe("idle")
        superseded = self.start(host=host)
        gallivant.claim(self.seat, agent="worker", harness="claude", token="last", host=host)
        host.advance_ms(300_003)
        self.assertEqual(superseded.heartbeat_if_due(), gallivant.Tick(outcome="skipped", skip="superseded"))
        self.assertFalse(superseded.holds_lease)

    def test_end_is_durable_and_releases_the_lease(self):
        session = self.start()
        session.writer.observe("idle")
        self.assertEqual(session.end("signal 9").outcome, "landed")
        self.assertEqual(self.record()["exit"], "signal 9")
        self.assertFalse(session.holds_lease)

    def test_the_blocks_end_ends_the_session(self):
        with self.start() as session:
            session.writer.observe("idle")
        self.assertEqual((self.record()["state"], self.record()["exit"]), ("ended", "session end"))
        self.assertFalse(session.holds_lease)

    def test_an_exception_that_leaves_the_block_ends_the_session_as_an_error(self):
        for left in (ZeroDivisionError, KeyboardInterrupt):
            with self.assertRaises(left):
                with self.start() as session:
                    raise left
            self.assertEqual(self.record()["exit"], "error")
            self.assertFalse(session.holds_lease)

    def test_a_session_that_was_ended_in_its_block_keeps_that_exit(self):
        with self.assertRaises(ZeroDivisionError):
            with self.start() as session:
                session.end("exit 3")
                1 // 0
        self.assertEqual(self.record()["exit"], "exit 3")

    def test_a_block_whose_session_was_superseded_leaves_the_other_alone(self):
        with self.start():
            other = self.start()
            other.writer.observe("active")
        self.assertEqual(self.record()["state"], "active")

    def test_what_left_the_block_is_the_context_of_a_failure_to_end(self):
        fault = {"on": "sync", "repeat": True, "do": "error", "errno": "EIO"}
        host = TestHost()
        with self.assertRaises(gallivant.HarnessStateIoError) as raised:
            with self.start(host=host):
                host.set_faults([fault])
                1 // 0
        self.assertIsInstance(raised.exception.__context__, ZeroDivisionError)

    def test_letting_go_of_a_session_and_its_writer_releases_the_lease_and_writes_nothing(self):
        session = self.start()
        writer = session.writer
        writer.observe("active")
        before = self.bytes()
        reader = gallivant.Reader(self.seat)
        del session
        self.assertEqual(reader.read("lease").state, "active")
        del writer
        self.assertEqual(reader.read("lease").reason, words.UNKNOWN_SESSION_DEAD)
        self.assertEqual(self.bytes(), before)


class Environment(SeatCase):
    def test_hs_67_a_session_reaches_its_siblings_through_the_environment(self):
        session = gallivant.Session.start(self.seat, **NEW)
        variables = session.to_env()
        self.assertEqual(
            variables,
            {
                words.VARIABLE_AGENT_DIR: self.seat,
                words.VARIABLE_AGENT: "worker",
                words.VARIABLE_HARNESS: "claude",
                words.VARIABLE_SESSION_TOKEN: session.writer.token,
                words.VARIABLE_SESSION_SEQ: "1",
                words.VARIABLE_PTY_SESSION: "w1",
            },
        )
        self.assertEqual(session.environment().to_env(), variables)
        own = gallivant.SessionEnvironment.from_env(variables)
        self.assertEqual(own, session.environment())
        sibling = gallivant.Writer(
            own.agent_dir,
            agent=own.agent,
            harness=own.harness,
            token=own.token,
            pty_session=own.pty_session,
            sequence=own.sequence,
        )
        self.assertTrue(sibling.observe("idle"))

    def test_hs_67_a_sibling_has_its_writer_from_the_environment_in_one_call(self):
        session = gallivant.Session.start(self.seat, agent="worker", harness="claude", pty_session="w1")
        own = gallivant.SessionEnvironment.from_env(session.to_env())
        host = gallivant.testing.TestHost(wall_ms=NOW)
        sibling = own.writer(options=gallivant.Options(lock_wait_ms=50), host=host)
        self.assertEqual((sibling.directory, sibling.sequence, sibling.pty_session), (self.seat, 1, "w1"))
        self.assertEqual((sibling.agent, sibling.harness), ("worker", "claude"))
        self.assertEqual(sibling.observe("active").outcome, "landed")
        self.assertEqual(self.record()["incarnation"], session.writer.token)
        with held_lock(self.seat), self.assertRaisesRegex(gallivant.HarnessStateBusyError, "waited_ms=`50`"):
            sibling.observe("idle")
        for alone in (own.writer(), gallivant.aio.Writer.from_environment(own)):
            self.assertEqual((alone.directory, alone.token, alone.sequence), (self.seat, session.writer.token, 1))
        nobody = gallivant.SessionEnvironment(agent_dir=self.seat, agent="a", harness="h", token="")
        with self.assertRaises(gallivant.HarnessStateEmptyTokenError):
            nobody.writer()

    def test_from_env_takes_the_processes_own_environment(self):
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        for name in list(os.environ):
            if name.startswith("GALLIVANT_"):
                del os.environ[name]
        self.assertIsNone(gallivant.SessionEnvironment.from_env())
        own = gallivant.SessionEnvironment(agent_dir=self.seat, agent="a", harness="h", token="t")
        os.environ.update(own.to_env())
        self.assertEqual(gallivant.SessionEnvironment.from_env(), own)

    def test_a_missing_or_empty_variable_is_no_session(self):
        whole = gallivant.SessionEnvironment(agent_dir="/a", agent="a", harness="h", token="t", sequence=2**64 - 1)
        self.assertEqual(gallivant.SessionEnvironment.from_env(whole.to_env()), whole)
        for name in ("AGENT_DIR", "AGENT", "HARNESS", "SESSION_TOKEN"):
            variable = getattr(words, f"VARIABLE_{name}")
            self.assertIsNone(gallivant.SessionEnvironment.from_env({**whole.to_env(), variable: ""}))
            without = {key: value for key, value in whole.to_env().items() if key != variable}
            self.assertIsNone(gallivant.SessionEnvironment.from_env(without))

    def test_a_sequence_that_is_no_number_and_a_value_that_is_no_unicode_are_refused(self):
        whole = gallivant.SessionEnvironment(agent_dir="/a", agent="a", harness="h", token="t", sequence=1).to_env()
        for wrong in (
            {words.VARIABLE_SESSION_SEQ: "+1"},
            {words.VARIABLE_SESSION_SEQ: str(2**64)},
            {words.VARIABLE_AGENT: "\udcff"},
        ):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                gallivant.SessionEnvironment.from_env({**whole, **wrong})
            self.assertEqual(raised.exception.reason, "environment")
        with self.assertRaises(TypeError):
            gallivant.SessionEnvironment.from_env({**whole, words.VARIABLE_AGENT: 5})


if __name__ == "__main__":
    unittest.main()
