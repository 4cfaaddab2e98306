"""Fleets: every record below a directory."""

import os
import pickle
import shutil
import tempfile
import threading
import time
import unittest

import gallivant
from gallivant import aio, words
from gallivant.testing import TestHost

from .support import Stopwatch, run_python, same

NOW = 1_700_000_000_000


class FleetCase(unittest.TestCase):
    """A test with a root directory in `self.root`."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = os.path.join(directory.name, "agents")

    def agent(self, path, state="idle", **options):
        """A writer of a session that has observed this."""
        directory = os.path.join(self.root, path)
        who = {"agent": path, "harness": "claude", "token": f"token-{path}"}
        claim = gallivant.claim(directory, **who, **options)
        writer = gallivant.Writer(directory, **who, pty_session="p", sequence=claim.sequence, **options)
        writer.observe(state)
        return writer


class Reading(FleetCase):
    def states(self, view):
        return [(entry.path, entry.state.reason if entry.state.is_unknown else entry.state.state) for entry in view]

    def test_hs_92_every_record_below_the_root_is_an_entry(self):
        for path in ("b", "a/x", "a", "a-b", "."):
            self.agent(path, "active" if path == "a/x" else "idle")
        fleet = gallivant.Fleet(self.root)
        view = fleet.read()
        self.assertEqual(
            self.states(view), [(".", "idle"), ("a", "idle"), ("a/x", "active"), ("a-b", "idle"), ("b", "idle")]
        )
        self.assertEqual(len(view), 5)
        self.assertEqual((view[0], view[-1]), (view.entries[0], view.entries[4]))
        self.assertIs(view[1], view.entries[1])
        self.assertIs(view[1].state, view[1].state)
        with self.assertRaises(IndexError):
            view[5]
        self.assertFalse(view.left_out)
        self.assertEqual(view.valid_until_ms, min(entry.state.valid_until_ms for entry in view))
        for entry in view:
            self.assertTrue(same(entry.state, gallivant.Reader(os.path.join(self.root, entry.path)).read()))
        self.assertEqual(fleet.root, self.root)
        self.assertIn(self.root, repr(fleet))

    def test_hs_92_a_read_that_finds_what_was_found_tells_the_same_view(self):
        host = TestHost(wall_ms=NOW)
        writer = self.agent("a", host=host)
        self.agent("b", host=host)
        fleet = gallivant.Fleet(self.root, host=host)
        first = fleet.read()
        state = first[0].state
        self.assertIs(fleet.read(), first)
        writer.observe("active")
        second = fleet.read()
        self.assertEqual(self.states(second), [("a", "active"), ("b", "idle")])
        self.assertEqual((self.states(first), state.state), ([("a", "idle"), ("b", "idle")], "idle"))
        self.assertIs(fleet.read(), second)
        shutil.rmtree(os.path.join(self.root, "b"))
        third = fleet.read()
        self.assertEqual(self.states(third), [("a", "active")])
        fleet.forget()
        self.assertIsNot(fleet.read(), third)
        self.assertEqual(fleet.read(), third)

    def test_hs_92_a_root_without_records_and_one_that_is_missing_have_no_entries(self):
        view = gallivant.read_fleet(self.root)
        self.assertEqual((len(view), list(view), view.entries), (0, [], ()))
        self.assertIsNone(view.valid_until_ms)
        self.assertFalse(os.path.exists(self.root))

    def test_hs_92_one_bad_entry_hides_no_other(self):
        self.agent("good")
        os.makedirs(os.path.join(self.root, "bad"))
        with open(os.path.join(self.root, "bad/harness-state"), "wb") as record:
            record.write(b"{")
        os.makedirs(os.path.join(self.root, "worse/harness-state"))
        found = self.states(gallivant.read_fleet(self.root))
        self.assertEqual(
            found,
            [("bad", words.UNKNOWN_MALFORMED_RECORD), ("good", "idle"), ("worse", words.UNKNOWN_UNREADABLE_RECORD)],
        )

    def test_hs_92_the_bounds_are_kept_and_what_is_left_out_is_said(self):
        for path in ("a", "b", "b/c", "d"):
            self.agent(path)
        view = gallivant.read_fleet(self.root, max_depth=1)
        self.assertEqual([entry.path for entry in view], ["a", "b", "d"])
        self.assertEqual(view.left_out, gallivant.LeftOut(too_deep=1))
        self.assertTrue(view.left_out)
        view = gallivant.Fleet(self.root, max_records=2).read()
        self.assertEqual(len(view), 2)
        self.assertGreater(view.left_out.too_many, 0)
        view = gallivant.read_fleet(self.root, max_directories=2)
        self.assertGreater(view.left_out.too_many, 0)

    def test_hs_92_threads_that_share_a_walk_find_what_one_finds_in_the_same_order(self):
        self.agent("0")
        for number in range(1, 150):
            shutil.copytree(os.path.join(self.root, "0"), os.path.join(self.root, str(number)))
        for bounds in ({}, {"max_records": 70}):
            alone = gallivant.read_fleet(self.root, **bounds)
            self.assertEqual(len(alone), bounds.get("max_records", 150))
            for threads in (2, 64, 1000):
                shared = gallivant.Fleet(self.root, threads=threads, **bounds).read()
                self.assertEqual((self.states(shared), shared.left_out), (self.states(alone), alone.left_out))
        for threads in (-1, 1.5, "2"):
            with self.assertRaises((TypeError, gallivant.InputError)):
                gallivant.read_fleet(self.root, threads=threads)

    def test_hs_92_a_later_read_opens_no_record_that_stands(self):
        host = TestHost()
        writers = [self.agent(path, host=host) for path in ("a", "b")]
        fleet = gallivant.Fleet(self.root, host=host)
        fleet.read()
        # A change time is believed once it is 20 ms old.
        time.sleep(0.05)
        fleet.read()
        before = len(host.operations())
        self.assertEqual(self.states(fleet.read()), [("a", "idle"), ("b", "idle")])
        self.assertFalse([line for line in host.operations()[before:] if ": read a/" in line or ": read b/" in line])
        writers[1].observe("active")
        self.assertEqual(self.states(fleet.read()), [("a", "idle"), ("b", "active")])
        fleet.forget()
        before = len(host.operations())
        fleet.read()
        self.assertTrue([line for line in host.operations()[before:] if ": read a/" in line])

    def test_hs_80_the_lease_is_asked_where_the_probe_says_so(self):
        start = (
            "import gallivant, sys\n"
            "session = gallivant.Session.start(sys.argv[1], agent='a', harness='h', pty_session='p')\n"
            "session.writer.observe('active')\n"
        )
        run_python(start, os.path.join(self.root, "dead"))
        self.assertEqual(self.states(gallivant.read_fleet(self.root)), [("dead", "active")])
        for view in (gallivant.Fleet(self.root, probe="lease").read(), gallivant.read_fleet(self.root, probe="lease")):
            self.assertEqual(self.states(view), [("dead", words.UNKNOWN_SESSION_DEAD)])

    def test_arguments_that_make_no_sense_are_refused_by_name(self):
        for reason, wrong in (
            ("path", lambda: gallivant.Fleet("")),
            ("path", lambda: gallivant.read_fleet("")),
            ("probe", lambda: gallivant.Fleet(self.root, probe="alive")),
            ("probe", lambda: gallivant.Fleet(self.root, probe=len)),
            ("out-of-range", lambda: gallivant.Fleet(self.root, max_depth=-1)),
            ("out-of-range", lambda: gallivant.read_fleet(self.root, max_records=2**64)),
        ):
            with self.assertRaises((gallivant.HarnessStateInputError, gallivant.InputError)) as raised:
                wrong()
            self.assertEqual(raised.exception.reason, reason)

    def test_a_view_is_a_value(self):
        self.agent("a", host=TestHost(wall_ms=NOW))
        view = gallivant.read_fleet(self.root, host=TestHost(wall_ms=NOW))
        same_view = pickle.loads(pickle.dumps(view))
        self.assertEqual(same_view, view)
        self.assertEqual(hash(same_view), hash(view))
        self.assertEqual(len(same_view), 1)
        self.assertEqual(repr(same_view), repr(view))

    def test_threads_share_a_fleet_and_a_child_goes_on_with_it(self):
        for index in range(20):
            self.agent(f"a{index}")
        fleet = gallivant.Fleet(self.root)
        counts = []
        threads = [threading.Thread(target=lambda: counts.append(len(fleet.read()))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [20] * 8)
        pid = os.fork()
        if pid == 0:
            os._exit(len(fleet.read()))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 20)

    def test_a_read_and_its_entries_cost_little_beside_the_system_calls(self):
        text = None
        for index in range(2000):
            directory = os.path.join(self.root, f"a{index}")
            if text is None:
                self.agent(f"a{index}")
                with open(os.path.join(directory, "harness-state"), "rb") as record:
                    text = record.read()
            else:
                os.makedirs(directory)
                with open(os.path.join(directory, "harness-state"), "wb") as record:
                    record.write(text)
        fleet = gallivant.Fleet(self.root)
        fleet.read()
        time.sleep(0.05)
        fleet.read()

        def bare():
            for index in range(2000):
                descriptor = os.open(os.path.join(self.root, f"a{index}/harness-state"), os.O_RDONLY)
                os.fstat(descriptor)
                os.read(descriptor, 4096)
                os.close(descriptor)

        def timed(call):
            with Stopwatch() as watch:
                call()
            return watch.seconds

        # The quickest of each by turns, and more of them where a neighbour on the machine was in the way.
        looked, calls = [], []
        while len(looked) < 7 or (min(looked) >= 1.6 * min(calls) and len(looked) < 60):
            looked.append(timed(lambda: [entry.state.state for entry in fleet.read()]))
            calls.append(timed(bare))
        self.assertLess(min(looked), 1.6 * min(calls))


class Awaited(FleetCase, unittest.IsolatedAsyncioTestCase):
    async def test_hs_92_a_fleet_is_read_off_the_loop(self):
        self.agent("a")
        fleet = aio.Fleet(self.root, max_depth=3, probe="lease")
        view = await fleet.read()
        self.assertEqual([entry.path for entry in view], ["a"])
        await fleet.forget()
        self.assertEqual(len(await fleet.read()), 1)
        self.assertEqual((await aio.read_fleet(self.root, max_depth=0)).left_out.too_deep, 1)
        self.assertEqual(fleet.root, self.root)
        self.assertIn("gallivant.aio.Fleet", repr(fleet))


if __name__ == "__main__":
    unittest.main()
