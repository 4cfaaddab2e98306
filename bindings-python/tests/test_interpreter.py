"""The interpreter around the calls: its lock, signals, threads, forks, other interpreters."""

import copy
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import warnings

import gallivant

from .support import AT_ONCE, CLAIMANT, PATIENT, SeatCase, Stopwatch, held_lock, run_python, start_python


class Waiting(SeatCase):
    """What a call that waits for a lock does meanwhile."""

    def blocking_calls(self):
        """Every call that takes the lock."""
        writer = self.claimed(options=PATIENT)
        session = gallivant.Session.start(self.seat, agent="a", harness="h", pty_session="p", options=PATIENT)
        own = session.writer
        claimant = {**CLAIMANT, "token": "claude-session-1", "options": PATIENT}
        yield "claim", lambda: gallivant.claim(self.seat, **claimant)
        yield "claim_wrapperless", lambda: gallivant.claim_wrapperless(self.seat, **claimant)
        yield "observe", lambda: writer.observe("idle")
        yield "observe_unless_ended", lambda: writer.observe_unless_ended("idle")
        yield "ended", lambda: writer.ended("exit 0")
        yield "heartbeat", lambda: own.heartbeat()
        yield "lock_current_ownership", lambda: own.lock_current_ownership()
        yield "current_ownership", lambda: own.current_ownership().__enter__()
        yield "attach", lambda: session.attach(os.getpid())
        yield "end", lambda: session.end("exit 0")
        yield "start", lambda: gallivant.Session.start(self.seat, **claimant)

    def test_every_call_that_waits_releases_the_interpreter(self):
        calls = dict(self.blocking_calls())
        over, busy = [], []

        def wait(name):
            try:
                calls[name]()
            except gallivant.HarnessStateBusyError:
                busy.append(name)
            over.append(name)

        with held_lock(self.seat):
            waiting = [threading.Thread(target=wait, args=(name,)) for name in calls]
            for thread in waiting:
                thread.start()
            # A call that kept the interpreter would be over, as busy, before this thread's next turn.
            for _ in range(200):
                time.sleep(0.001)
            self.assertEqual(over, [])
        for thread in waiting:
            thread.join()
        self.assertEqual((sorted(over), busy), (sorted(calls), []))

    def test_ctrl_c_ends_a_wait_with_nothing_written(self):
        self.claimed()
        before = self.bytes()
        waiting = start_python(
            "import sys, gallivant\n"
            "own = {'agent': 'worker', 'harness': 'claude', 'token': 'tok', 'sequence': 1}\n"
            "writer = gallivant.Writer(sys.argv[1], **own, options=gallivant.Options(lock_wait_ms=60_000))\n"
            "try:\n"
            "    print('waiting', flush=True)\n"
            "    writer.ended('exit 0')\n"
            "except KeyboardInterrupt as interrupt: print('interrupted', repr(interrupt.__context__))\n",
            self.seat,
        )
        with held_lock(self.seat):
            self.assertEqual(waiting.stdout.readline(), "waiting\n")
            time.sleep(0.2)
            with Stopwatch() as watch:
                waiting.send_signal(signal.SIGINT)
                out, err = waiting.communicate(timeout=60)
        self.assertEqual((out, err), ("interrupted None\n", ""))
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertEqual(self.bytes(), before)

    def test_a_signal_handler_runs_during_a_wait_and_the_wait_goes_on(self):
        writer = self.claimed(options=PATIENT)
        handled, holding, is_handled = [], threading.Event(), threading.Event()

        def handle(*_arguments):
            handled.append(time.monotonic())
            is_handled.set()

        kept = signal.signal(signal.SIGALRM, handle)
        self.addCleanup(signal.signal, signal.SIGALRM, kept)

        def hold():
            with held_lock(self.seat):
                holding.set()
                is_handled.wait(50)
                time.sleep(0.25)

        holder = threading.Thread(target=hold)
        holder.start()
        holding.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        report = writer.observe("idle")
        returned = time.monotonic()
        holder.join()
        self.assertEqual(report.outcome, "landed")
        self.assertEqual(len(handled), 1)
        self.assertGreater(returned - handled[0], 0.2)

    def test_what_a_signal_handler_raises_is_raised_by_the_call(self):
        class Stop(Exception):
            pass

        def stop(*_arguments):
            raise Stop

        writer = self.claimed(options=PATIENT)
        kept = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, kept)
        with held_lock(self.seat), Stopwatch() as watch, self.assertRaises(Stop):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            writer.observe("idle")
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertTrue(writer.observe("idle"))

    def test_a_cancel_ends_the_waits_of_other_threads(self):
        writer = self.claimed(options=PATIENT)
        before = self.bytes()
        cancel = gallivant.Cancel()
        self.assertFalse(cancel.is_set)
        raised = []

        def wait():
            try:
                cancel.run(writer.observe, "idle", reason="r")
            except gallivant.CancelledError as cancelled:
                raised.append(cancelled)

        with held_lock(self.seat):
            waiting = threading.Thread(target=wait)
            waiting.start()
            time.sleep(0.2)
            with Stopwatch() as watch:
                cancel.set()
                waiting.join()
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertEqual(raised[0].code, "GALLIVANT_CANCELLED")
        self.assertTrue(cancel.is_set)
        self.assertEqual(self.bytes(), before)
        with self.assertRaises(gallivant.CancelledError):
            cancel.run(writer.observe, "idle")
        self.assertEqual(self.bytes(), before)
        self.assertEqual(cancel.run(gallivant.Reader(self.seat).read).reason, "claimed")
        self.assertTrue(writer.observe("idle"))

    def test_a_cancelled_block_still_ends_its_session(self):
        cancel = gallivant.Cancel()

        def run():
            with gallivant.Session.start(self.seat, agent="a", harness="h", pty_session="p") as session:
                cancel.set()
                session.writer.observe("idle")

        with self.assertRaises(gallivant.CancelledError):
            cancel.run(run)
        self.assertEqual(self.record()["exit"], "error")

    def test_a_cancel_answers_what_the_function_answers_and_raises_what_it_raises(self):
        cancel = gallivant.Cancel()
        self.assertEqual(cancel.run(divmod, 7, 2), (3, 1))
        self.assertEqual(cancel.run(int, "ff", base=16), 255)
        with self.assertRaises(ZeroDivisionError):
            cancel.run(divmod, 1, 0)

    def test_c_066_two_threads_never_wait_for_each_other_and_the_interpreter(self):
        # The heartbeat waits with the session's mutex held, and asks the interpreter for signals meanwhile.
        host = gallivant.testing.TestHost(wall_ms=1_000_000)
        session = gallivant.Session.start(self.seat, agent="a", harness="h", pty_session="p", host=host)
        session.writer.observe("idle")
        host.advance_ms(600_000)
        holding, holds = threading.Event(), []

        def hold():
            with held_lock(self.seat):
                holding.set()
                time.sleep(0.4)

        def ask():
            for _ in range(50):
                holds.append(session.holds_lease)
                session.harness_process

        threads = [threading.Thread(target=target) for target in (hold, ask, ask)]
        threads[0].start()
        holding.wait()
        for thread in threads[1:]:
            thread.start()
        self.assertEqual(session.heartbeat_if_due().outcome, "renewed")
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertEqual(set(holds), {True})


class Contending(SeatCase):
    def test_hs_24_threads_of_one_process_exclude_each_other(self):
        sequences, owned_at_once, inside = [], [], []

        def contend(number):
            for _ in range(20):
                own = {**CLAIMANT, "token": f"tok-{number}"}
                sequence = gallivant.claim(self.seat, **own).sequence
                sequences.append(sequence)
                writer = gallivant.Writer(self.seat, **own, pty_session="p", sequence=sequence)
                with writer.current_ownership() as owned:
                    if owned is not None:
                        inside.append(number)
                        owned_at_once.append(len(inside))
                        inside.remove(number)

        threads = [threading.Thread(target=contend, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(sequences), list(range(1, 121)))
        self.assertTrue(owned_at_once)
        self.assertEqual(set(owned_at_once), {1})

    def test_one_writer_is_shared_by_threads(self):
        writer = self.claimed()
        outcomes = []

        def work(state):
            for _ in range(50):
                outcomes.append(writer.observe(state).outcome)
                writer.heartbeat()

        threads = [threading.Thread(target=work, args=(state,)) for state in ("idle", "active", "ready")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(outcomes), 150)
        self.assertLessEqual(set(outcomes), {"landed", "coalesced"})
        self.assertEqual(self.record()["transitions"], outcomes.count("landed"))

    def test_hsi_6_processes_of_all_interpreters_here_behave_as_one(self):
        pythons = interpreters()
        code = (
            "import sys, gallivant\n"
            "for turn in range(25):\n"
            "    token = f'tok-{sys.argv[2]}-{turn}'\n"
            "    print(gallivant.claim(sys.argv[1], agent='a', harness='h', token=token).sequence)\n"
        )
        running = [start_python(code, self.seat, str(n), python=python) for n, python in enumerate(pythons)]
        sequences = []
        for process in running:
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, err), (0, ""), process.args[0])
            sequences.extend(int(line) for line in out.split())
        self.assertEqual(sorted(sequences), list(range(1, 25 * len(pythons) + 1)))


class Forking(SeatCase):
    def setUp(self):
        super().setUp()
        # Newer interpreters warn because the threads of other tests' pools are there, which is what is tested.
        warned = warnings.catch_warnings()
        warned.__enter__()
        self.addCleanup(warned.__exit__, None, None, None)
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)

    def in_child(self, test):
        """Runs `test` in a forked child and fails with what it raises."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            failure = b""
            try:
                test()
            except BaseException as raised:
                failure = repr(raised).encode()
            os.write(write, failure)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            failure = pipe.read()
        os.waitpid(pid, 0)
        self.assertEqual(failure, b"")

    def test_hs_24_a_guard_is_dead_in_a_forked_child_and_holds_on_in_the_parent(self):
        writer = self.claimed(options=gallivant.Options(lock_wait_ms=50))
        with writer.current_ownership() as owned:

            def child():
                with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                    owned.sequence
                self.assertEqual(raised.exception.reason, "forked")
                owned.release()

            self.in_child(child)
            self.assertEqual(owned.sequence, 1)
            with self.assertRaises(gallivant.HarnessStateBusyError):
                gallivant.claim(self.seat, **CLAIMANT, options=gallivant.Options(lock_wait_ms=50))
        self.assertTrue(writer.observe("idle"))

    def test_hs_24_a_guard_that_threads_use_at_the_fork_is_dead_in_the_child(self):
        writer = self.claimed()
        stop = threading.Event()
        with writer.current_ownership() as owned:

            def use():
                while not stop.is_set():
                    owned.sequence

            def child():
                # A child that waits for ever dies of it, and has then said nothing.
                signal.alarm(60)
                owned.release()
                owned.__exit__(None, None, None)
                with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                    owned.sequence
                self.assertEqual(raised.exception.reason, "forked")
                raise EOFError

            threads = [threading.Thread(target=use) for _ in range(3)]
            for thread in threads:
                thread.start()
            try:
                for _ in range(20):
                    with self.assertRaisesRegex(AssertionError, "EOFError"):
                        self.in_child(child)
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            self.assertEqual(owned.sequence, 1)
            with self.assertRaises(gallivant.HarnessStateBusyError):
                gallivant.claim(self.seat, **CLAIMANT, options=gallivant.Options(lock_wait_ms=50))
        self.assertTrue(writer.observe("idle"))

    def test_hs_24_a_child_that_outlives_the_block_does_not_keep_the_lock(self):
        writer = self.claimed()
        with writer.current_ownership():
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
        # It would be busy for as long as the child lives.
        self.assertTrue(writer.observe("idle"))
        os.close(read)
        os.close(write)
        os.waitpid(pid, 0)

    def test_a_session_in_a_forked_child_is_the_parents(self):
        with gallivant.Session.start(self.seat, agent="a", harness="h", pty_session="p") as session:
            session.writer.observe("active")

            def child():
                for call in (session.heartbeat_if_due, session.end):
                    with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                        call()
                    self.assertEqual(raised.exception.reason, "forked")
                self.assertFalse(session.holds_lease)
                session.__exit__(None, None, None)

            self.in_child(child)
            self.assertEqual(self.record()["state"], "active")
            self.assertTrue(session.holds_lease)

    def test_a_child_writes_with_its_parents_writer(self):
        writer = self.claimed()
        writer.observe("idle")
        self.in_child(lambda: self.assertEqual(writer.observe("active").outcome, "landed"))
        self.assertEqual(self.record()["state"], "active")
        self.assertEqual(writer.observe("idle").outcome, "landed")

    def test_c_020_a_started_program_inherits_no_lock(self):
        writer = self.claimed()
        with writer.current_ownership():
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
        self.assertTrue(writer.observe("idle"))
        child.communicate(b"\n")


class Handles(SeatCase):
    def test_handles_are_neither_copied_nor_pickled(self):
        writer = self.claimed()
        session = gallivant.Session.start(self.seat, agent="a", harness="h")
        handles = [
            writer,
            session,
            session.writer.lock_current_ownership(),
            writer.current_ownership(),
            gallivant.Reader(self.seat),
            gallivant.Reader(self.seat).snapshot(),
            gallivant.Reader(self.seat).explain(),
            gallivant.Fleet(self.seat),
            gallivant.Watch.record(self.seat),
            gallivant.Cancel(),
            gallivant.testing.TestHost(),
        ]
        for handle in handles:
            for copying in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.subTest(type(handle).__name__), self.assertRaises(TypeError):
                    copying(handle)

    def test_classes_are_final_and_instances_have_no_further_attributes(self):
        for name in ("Writer", "Reader", "Session", "Observation", "State", "Fleet", "Watch"):
            with self.assertRaises(TypeError):
                type("Own", (getattr(gallivant, name),), {})
        with self.assertRaises(AttributeError):
            self.claimed().own = 1
        with self.assertRaises(TypeError):
            gallivant.Session()


class OtherInterpreters(unittest.TestCase):
    @unittest.skipIf(sys.version_info < (3, 12), "older interpreters share what the first one has loaded")
    def test_a_second_interpreter_in_the_process_is_refused_cleanly(self):
        said = run_python(
            "try: import _interpreters as interpreters\n"
            "except ImportError: import _xxsubinterpreters as interpreters\n"
            "import gallivant._native\n"
            "other = interpreters.create()\n"
            "try: failed = interpreters.run_string(other, 'import gallivant._native')\n"
            "except interpreters.RunFailedError as raised: failed = raised\n"
            "print('ImportError' in str(failed), gallivant.mint_token() != '')\n"
        )
        self.assertEqual(said, "True True\n")


def interpreters():
    """This interpreter twice, and one of each other version that is installed here and works."""
    found = [sys.executable, sys.executable]
    for minor in range(9, 15):
        name = f"python3.{minor}"
        path = shutil.which(name)
        if path is None or sys.version_info[:2] == (3, minor):
            continue
        tried = subprocess.run([path, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True)
        if tried.stdout == f"(3, {minor})\n":
            found.append(path)
    return found


if __name__ == "__main__":
    unittest.main()
