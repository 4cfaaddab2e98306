"""Watches: being told of changes, and what a wait is ended by."""

import errno
import gc
import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import time
import unittest

import gallivant
from gallivant import words
from gallivant.testing import TestHost

from .support import Stopwatch, comes_within, run_python, start_python
from .test_fleet import FleetCase

LONG = 60


class WatchCase(FleetCase):
    def told(self, watch):
        """The next change, which has to come, as words."""
        change = watch.next(LONG)
        self.assertIsNotNone(change)
        return [(seat.path, self.word(seat.state)) for seat in change.seats]

    def word(self, state):
        return state and (state.reason if state.is_unknown else state.state)

    def record(self, agent="a", **options):
        watch = gallivant.Watch.record(os.path.join(self.root, agent), **options)
        self.addCleanup(watch.close)
        return watch

    def fleet(self, **options):
        watch = gallivant.Watch.fleet(self.root, **options)
        self.addCleanup(watch.close)
        return watch


class Telling(WatchCase):
    def test_hs_93_the_first_change_tells_what_is_there_and_later_ones_what_changes(self):
        watch = self.record()
        first = watch.next()
        self.assertEqual(first.seats, (gallivant.SeatChange(path="."),))
        self.assertEqual((first.noticing, bool(first.left_out)), (words.NOTICING_NOTIFIED, False))
        writer = self.agent("a")
        self.assertEqual(self.told(watch)[-1][0], ".")
        self.assertIsNone(watch.next(0.1))
        writer.observe("active")
        self.assertEqual(self.told(watch), [(".", "active")])
        os.unlink(os.path.join(self.root, "a/harness-state"))
        self.assertEqual(self.told(watch), [(".", None)])

    def test_hs_93_a_fleet_is_told_of_within_50_ms(self):
        writers = [self.agent(f"a{index}") for index in range(3)]
        watch = self.fleet()
        self.assertEqual(self.told(watch), [("a0", "idle"), ("a1", "idle"), ("a2", "idle")])
        states = itertools.cycle(("active", "idle"))

        def tell():
            state = next(states)
            with Stopwatch() as stopwatch:
                writers[1].observe(state)
                self.assertEqual(self.told(watch), [("a1", state)])
            return stopwatch.seconds

        comes_within(self, 0.05, tell)
        self.agent("new/deep")
        while ("new/deep", "idle") not in self.told(watch):
            pass
        self.assertEqual(gallivant.Watch.fleet(self.root, max_depth=1).next().left_out.too_deep, 1)

    def test_hs_93_a_burst_is_told_once(self):
        writer = self.agent("a")
        watch = self.fleet(settle_ms=200)
        self.told(watch)
        for state in ("active", "idle", "active"):
            writer.observe(state)
        self.assertEqual(self.told(watch), [("a", "active")])
        self.assertIsNone(watch.next(0.3))

    def test_hs_93_the_death_of_a_session_is_told(self):
        holder = start_python(
            "import sys, gallivant\n"
            "session = gallivant.Session.start(sys.argv[1], agent='a', harness='h', pty_session='p')\n"
            "session.writer.observe('active')\n"
            "print(session.holds_lease, flush=True)\n"
            "sys.stdin.read()\n",
            os.path.join(self.root, "a"),
            stdin=subprocess.PIPE,
        )
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline(), "True\n")
        watches = [self.fleet(probe="lease"), self.record(probe="lease")]
        for watch in watches:
            self.assertEqual(self.told(watch)[0][1], "active")
        holder.kill()
        holder.wait()
        for watch in watches:
            self.assertEqual(self.told(watch)[0][1], words.UNKNOWN_SESSION_DEAD)

    def test_hs_93_a_probe_of_ones_own_is_asked_at_its_interval(self):
        self.agent("a")
        alive, asked = [True], []

        def probe(record):
            asked.append(record.agent)
            return alive[0]

        watch = self.record(probe=probe, probe_interval_ms=20)
        self.assertEqual(self.told(watch), [(".", "idle")])
        while len(asked) < 3:
            self.assertIsNone(watch.next(0.1), "the same once more is no change")
        alive[0] = False
        self.assertEqual(self.told(watch), [(".", words.UNKNOWN_SESSION_DEAD)])
        self.assertEqual(self.told(self.record(probe="dead")), [(".", words.UNKNOWN_SESSION_DEAD)])
        process = gallivant.ProcessIdentity.of(os.getpid())
        self.assertEqual(self.told(self.record(probe=process)), [(".", "idle")])

    def test_hs_93_it_fires_when_an_answer_changes_by_time_alone(self):
        options = gallivant.Options(stale_ms=3_000)

        def first_look(number):
            self.agent(f"a{number}/a", options=options)
            watch = gallivant.Watch.fleet(os.path.join(self.root, f"a{number}"), options=options)
            self.addCleanup(watch.close)
            return watch, self.told(watch)

        # On a busy machine the first look may come too late for the change to be seen.
        looks = map(first_look, range(10))
        watch, told = next(look for look in looks if look[1] != [("a", "stale")])
        self.assertEqual(told, [("a", "idle")])
        self.assertEqual(self.told(watch), [("a", "stale")])

    def test_hs_93_where_nothing_can_be_watched_it_looks_at_its_interval_and_says_so(self):
        writer = self.agent("a")
        host = TestHost(faults=[{"on": "watch", "repeat": True, "do": "error", "errno": "ENOSPC"}])
        watch = self.record(host=host, poll_interval_ms=100)
        self.assertEqual(watch.next().noticing, words.NOTICING_POLLED_LIMIT)
        writer.observe("active")
        self.assertEqual(self.told(watch), [(".", "active")])

    def test_arguments_that_make_no_sense_are_refused_by_name(self):
        watch = self.record()
        for reason, wrong in (
            ("probe", lambda: self.record(probe="leese")),
            ("probe", lambda: self.record(probe=5)),
            ("probe", lambda: self.fleet(probe="alive")),
            ("out-of-range", lambda: watch.next(float("nan"))),
            ("out-of-range", lambda: watch.next(10**400)),
            ("out-of-range", lambda: self.record(settle_ms=-1)),
        ):
            with self.assertRaises((gallivant.HarnessStateInputError, gallivant.InputError)) as raised:
                wrong()
            self.assertEqual(raised.exception.reason, reason)
        self.assertIsNotNone(watch.next(-1.0), "as Python's own waits take it")
        self.assertIsNone(watch.next(0))


class Ending(WatchCase):
    """What ends a wait."""

    def test_closing_from_another_thread_ends_a_wait_and_an_iteration(self):
        def end():
            watch, raised = self.record(), []
            watch.next()

            def wait():
                try:
                    watch.next()
                except gallivant.CancelledError as cancelled:
                    raised.append(cancelled)

            waiting = threading.Thread(target=wait)
            waiting.start()
            time.sleep(0.2)
            with Stopwatch() as stopwatch:
                watch.close()
                waiting.join()
            self.assertEqual(len(raised), 1)
            return stopwatch.seconds

        comes_within(self, 0.1, end)
        watch = self.record()
        closing = threading.Timer(0.2, watch.close)
        closing.start()
        self.assertEqual(len(list(watch)), 1)
        self.assertEqual(list(watch), [])

    def test_once_it_is_closed_every_use_says_so_and_no_descriptor_is_left(self):
        # What an earlier test has left to be collected is not closed in between.
        gc.collect()
        before = os.listdir("/proc/self/fd")
        with self.record() as watch:
            self.assertIs(iter(watch), watch)
            watch.next()
            self.assertGreater(len(os.listdir("/proc/self/fd")), len(before))
            self.assertFalse(watch.closed)
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(before))
        self.assertTrue(watch.closed)
        watch.close()
        for use in (watch.next, watch.poll, watch.fileno, lambda: watch.descriptor):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                use()
            self.assertEqual(raised.exception.reason, "closed")
        self.assertIn("closed=True", repr(watch))
        watch = gallivant.Watch.fleet(self.root)
        del watch
        self.assertEqual(len(os.listdir("/proc/self/fd")), len(before))

    def test_ctrl_c_ends_a_wait_within_a_tenth_of_a_second(self):
        def end():
            waiting = start_python(
                "import sys, time, gallivant\n"
                "watch = gallivant.Watch.fleet(sys.argv[1])\n"
                "watch.next()\n"
                "print('waiting', flush=True)\n"
                "try:\n"
                "    for change in watch: print(change)\n"
                "except KeyboardInterrupt as interrupt: print('interrupted', time.monotonic())\n",
                self.root,
            )
            self.assertEqual(waiting.stdout.readline(), "waiting\n")
            time.sleep(0.3)
            sent = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            out, err = waiting.communicate(timeout=LONG)
            said, at = out.split()
            self.assertEqual((said, err), ("interrupted", ""))
            return float(at) - sent

        comes_within(self, 0.1, end)

    def test_a_signal_that_another_thread_gets_is_handled_within_a_tenth_of_a_second(self):
        watch = self.record()
        watch.next()

        class Stop(Exception):
            pass

        def stop(*_arguments):
            raise Stop

        kept = signal.signal(signal.SIGUSR1, stop)
        self.addCleanup(signal.signal, signal.SIGUSR1, kept)

        def end():
            sent = []

            def send():
                time.sleep(0.2)
                sent.append(time.monotonic())
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

            thread = threading.Thread(target=send)
            thread.start()
            with self.assertRaises(Stop):
                watch.next()
            taken = time.monotonic() - sent[0]
            thread.join()
            return taken

        comes_within(self, 0.1, end)

    def test_a_signal_handler_that_returns_lets_the_wait_go_on(self):
        watch = self.record()
        watch.next()
        handled = []
        kept = signal.signal(signal.SIGALRM, lambda *_: handled.append(True))
        self.addCleanup(signal.signal, signal.SIGALRM, kept)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with Stopwatch() as stopwatch:
            self.assertIsNone(watch.next(0.4))
        self.assertEqual(handled, [True])
        self.assertGreaterEqual(stopwatch.seconds, 0.39)

    def test_a_cancel_ends_the_waits_under_it_and_no_later_one(self):
        watch = self.record()
        watch.next()
        cancels = []

        def end():
            cancel, raised = gallivant.Cancel(), []
            cancels.append(cancel)

            def wait():
                try:
                    cancel.run(watch.next)
                except gallivant.CancelledError:
                    raised.append(time.monotonic())

            waiting = threading.Thread(target=wait)
            waiting.start()
            time.sleep(0.2)
            set_at = time.monotonic()
            cancel.set()
            waiting.join()
            return raised[0] - set_at

        comes_within(self, 0.1, end)
        with self.assertRaises(gallivant.CancelledError):
            cancels[0].run(watch.next)
        self.assertIsNone(watch.next(0))
        self.agent("a")
        self.assertTrue(self.told(watch))

    def test_other_threads_run_while_one_waits_and_cannot_use_the_watch(self):
        watch = self.record()
        watch.next()
        told = []
        waiting = threading.Thread(target=lambda: told.append(watch.next(LONG)))
        waiting.start()
        # This thread has turns although the other one waits.
        for _ in range(100):
            time.sleep(0.001)
        for _ in range(3):
            with self.assertRaises(gallivant.HandleBusyError):
                watch.next(0)
        self.assertTrue(waiting.is_alive())
        self.agent("a")
        waiting.join()
        self.assertEqual([len(change.seats) for change in told], [1])

    def test_what_a_probe_raises_is_raised_and_the_change_is_told_by_the_next_call(self):
        self.agent("a")
        raises = [True]

        def probe(record):
            if raises[0]:
                sys.exit(3)

        watch = self.record(probe=probe)
        with self.assertRaises(SystemExit):
            watch.next()
        raises[0] = False
        self.assertEqual(self.told(watch), [(".", "idle")])


class Descriptors(WatchCase):
    def test_a_selector_takes_the_watch(self):
        writer = self.agent("a")
        with self.fleet() as watch:
            self.assertEqual(watch.fileno(), watch.descriptor)
            self.assertIsNotNone(watch.poll())
            self.assertEqual(select.select([watch], [], [], 0.1)[0], [])
            writer.observe("active")
            changes = []
            while not changes:
                self.assertEqual(select.select([watch], [], [], LONG)[0], [watch])
                change = watch.poll()
                if change is not None:
                    changes.append(change)
            self.assertEqual(changes[0].seats[0].state.state, "active")
            self.assertIsNone(watch.poll())
            self.assertEqual(select.select([watch], [], [], 0.1)[0], [])

    def test_in_a_forked_child_it_is_dead_and_the_parents_lives_on(self):
        self.agent("a")
        watch = self.fleet()
        watch.next()
        pid = os.fork()
        if pid == 0:
            reasons = []
            for use in (watch.next, watch.poll, watch.fileno):
                try:
                    use()
                except gallivant.HarnessStateInputError as error:
                    reasons.append(error.reason)
            watch.close()
            del watch
            os._exit(0 if reasons == ["forked"] * 3 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.agent("b")
        while ("b", "idle") not in self.told(watch):
            pass

    def test_a_child_forked_while_another_thread_waits_is_not_harmed(self):
        said = run_python(
            "import os, sys, threading, time, gallivant\n"
            "watch = gallivant.Watch.fleet(sys.argv[1])\n"
            "watch.next()\n"
            "threading.Thread(target=watch.next, args=(1,), daemon=True).start()\n"
            "time.sleep(0.2)\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    try: watch.next()\n"
            "    except gallivant.HarnessStateInputError as error: print(error.reason, flush=True)\n"
            "    watch.close()\n"
            "    del watch\n"
            "    os._exit(0)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n",
            self.root,
        )
        self.assertEqual(said, "forked\n0\n")

    def test_without_a_descriptor_left_it_cannot_be_opened(self):
        said = run_python(
            "import os, resource, sys, gallivant\n"
            "gallivant.Watch\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
            "try: gallivant.Watch.fleet(sys.argv[1])\n"
            "except gallivant.HarnessStateIoError as error: print(error.os_error)\n",
            self.root,
        )
        self.assertEqual(said, f"{errno.EMFILE}\n")


if __name__ == "__main__":
    unittest.main()
