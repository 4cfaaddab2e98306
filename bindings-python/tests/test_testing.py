"""The machine that a test controls."""

import os
import signal
import unittest

import gallivant
from gallivant.testing import TestHost

from .support import CLAIMANT, SeatCase, start_python

CRASHING = """
import json, sys, gallivant
from gallivant.testing import TestHost
host = TestHost(faults=json.loads(sys.argv[2]))
claim = gallivant.claim(sys.argv[1], agent='a', harness='h', token='later', host=host)
print(claim.sequence, flush=True)
"""


class Hosts(SeatCase):
    def test_the_wall_clock_stands_where_the_test_puts_it(self):
        host = TestHost(wall_ms=5_000)
        writer = self.claimed(host=host)
        writer.observe("idle")
        self.assertEqual(self.record()["writtenAtMs"], 5_001)
        host.advance_ms(900_000)
        self.assertEqual(gallivant.Reader(self.seat, host=host).read().reason, "stale")
        host.set_wall_ms(6_000)
        host.advance_ms(-500)
        writer.observe("active")
        self.assertEqual(self.record()["writtenAtMs"], 5_500)

    def test_what_is_asked_at_points_is_a_function(self):
        self.assertRaises(TypeError, TestHost, points="dispatch.intent")

    def test_hs_96_a_wall_clock_that_is_set_is_no_staleness(self):
        host = TestHost(wall_ms=5_000)
        self.claimed(host=host).observe("idle")
        host.set_wall_ms(2**64 - 1)
        self.assertEqual(gallivant.Reader(self.seat, host=host).read().state, "idle")
        by_the_wall_clock = gallivant.Options(extension=False)
        self.assertEqual(gallivant.Reader(self.seat, host=host, options=by_the_wall_clock).read().reason, "stale")

    def test_without_a_clock_of_its_own_it_has_the_machines(self):
        host = TestHost()
        host.set_wall_ms(5)
        host.advance_ms(5)
        self.claimed(host=host)
        self.assertGreater(self.record()["writtenAtMs"], 1_600_000_000_000)

    def test_chance_is_what_the_test_says(self):
        host = TestHost(random=[1, 2**64 - 1])
        tokens = [gallivant.mint_token(host=host).rsplit("-", 1)[1] for _ in range(3)]
        self.assertEqual(tokens, ["0" * 15 + "1", "f" * 16, "0" * 16])

    def test_operations_are_told_and_faults_meet_them(self):
        host = TestHost()
        writer = self.claimed(host=host)
        self.assertTrue(any("rename" in operation for operation in host.operations()))
        host.set_faults([{"on": "write", "do": "short", "bytes": 3, "errno": "ENOSPC"}])
        before = self.bytes()
        with self.assertRaises(gallivant.HarnessStateIoError) as raised:
            writer.observe("idle")
        self.assertEqual(raised.exception.os_error, 28)
        self.assertEqual(self.bytes(), before)
        self.assertTrue(writer.observe("idle"))
        with self.assertRaises(gallivant.InputError):
            host.set_faults([{"do": "nothing"}])

    def test_a_reader_and_a_hook_take_a_host_too(self):
        host = TestHost(wall_ms=7_000)
        with gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p", host=host) as session:
            payload = b'{"hook_event_name":"UserPromptSubmit"}'
            report = gallivant.observe_hook("claude", payload, session.to_env(), host=host)
            self.assertEqual(report.word, "landed")
            self.assertEqual(gallivant.Reader(self.seat, host=host).read().since_ms, 7_001)

    def test_hsi_5_a_claim_that_crashes_at_any_operation_leaves_a_whole_record(self):
        gallivant.claim(self.seat, **CLAIMANT)
        operation = 0
        while True:
            operation += 1
            process = start_python(CRASHING, self.seat, f'[{{"at": {operation}, "do": "crash"}}]')
            out, err = process.communicate(timeout=60)
            if process.returncode == 0:
                break
            self.assertEqual((process.returncode, out, err), (-signal.SIGKILL, "", ""), operation)
            self.assertIn(self.record()["incarnation"], ("tok", "later"))
            self.assertEqual(gallivant.Reader(self.seat).read().reason, "claimed")
            self.assertLess(operation, 200)
        self.assertGreater(operation, 10)
        self.assertEqual(self.record()["seq"], int(out))
        self.assertGreater(int(out), 1)

    def test_no_test_runner_takes_the_class_for_a_test(self):
        self.assertFalse(TestHost.__test__)
        self.assertTrue(os.path.exists(os.path.dirname(self.seat)))


if __name__ == "__main__":
    unittest.main()
