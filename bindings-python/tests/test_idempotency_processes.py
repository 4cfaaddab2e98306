"""Idempotent creates across forks and the ends of processes, and what the module offers."""

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import unittest
import warnings

import gallivant
from gallivant import idempotency
from gallivant.idempotency import IdempotencyStore

from .idempotency_support import StoreCase, watchdog
from .support import AT_ONCE, Stopwatch, run_python


class Forking(StoreCase):
    def setUp(self):
        super().setUp()
        # Newer interpreters warn because threads are there, which is what is tested.
        warned = warnings.catch_warnings()
        warned.__enter__()
        self.addCleanup(warned.__exit__, None, None, None)
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)

    def in_child(self, test):
        """Runs `test` in a child of multiprocessing's and fails with what it raises."""
        fork = multiprocessing.get_context("fork")
        queue = fork.SimpleQueue()

        def run():
            # A child that waits for ever dies of it, and has then said nothing.
            signal.alarm(20)
            try:
                test()
            except BaseException as raised:
                queue.put(repr(raised))
            else:
                queue.put("")

        child = fork.Process(target=run)
        child.start()
        child.join(40)
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(queue.get(), "")

    def test_ik_19_what_came_through_a_fork_is_the_parents_and_a_fresh_store_works(self):
        reservation, ticket = self.begin(), self.begin()
        self.begin("done").complete("h", b"")
        claim = self.begin("done")

        def child():
            calls = (
                self.begin,
                self.inspect,
                self.store.sweep,
                self.store.notices,
                ticket.look,
                lambda: ticket.wait(1),
                claim.recreate,
                lambda: reservation.complete("h-1", b""),
                reservation.release,
            )
            for call in calls:
                with self.assertRaises(gallivant.IdempotencyForkedError) as raised:
                    call()
                self.assertEqual(raised.exception.reason, "forked")
            self.assertFalse(self.store.capability())
            reservation.__exit__(None, None, None)
            fresh = IdempotencyStore.open(self.path)
            self.assertEqual(self.begin(store=fresh).kind, "in_progress")
            with self.begin("child", store=fresh) as own:
                own.complete("h-child", b"")

        self.in_child(child)
        self.assertEqual(self.begin("child").resource, "h-child")
        self.assertEqual(self.inspect().state, "reserved")
        reservation.complete("h-1", b"")

    def test_c_066_a_fork_while_one_thread_waits_and_another_writes(self):
        reservation = self.begin()
        ticket = self.begin()
        stop = threading.Event()

        def write():
            number = 0
            while not stop.is_set():
                with self.begin(f"busy-{number}") as other:
                    other.keep_alive()
                number += 1

        def child():
            with self.assertRaises(gallivant.IdempotencyForkedError):
                self.begin("other")
            fresh = IdempotencyStore.open(self.path)
            with self.begin(f"child-{os.getpid()}", store=fresh) as own:
                own.complete("h", b"")
            gc.collect()

        waited = []
        threads = [threading.Thread(target=write), threading.Thread(target=lambda: waited.append(ticket.wait(60)))]
        with watchdog(120):
            for thread in threads:
                thread.start()
            try:
                for _ in range(8):
                    self.in_child(child)
            finally:
                stop.set()
                reservation.complete("h-1", b"")
                for thread in threads:
                    thread.join()
        self.assertEqual(waited[0].resource, "h-1")

    def test_ik_09_a_dead_owner_is_taken_over_at_once(self):
        def child():
            fresh = IdempotencyStore.open(self.path)
            held = self.begin(store=fresh)
            self.assertEqual(held.kind, "create")
            os.kill(os.getpid(), signal.SIGKILL)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(60)
        with Stopwatch() as watch, self.begin() as begun:
            self.assertEqual(begun.how, "taken-over")
        self.assertLess(watch.seconds, AT_ONCE)


class Surface(StoreCase):
    def test_every_public_name_is_there_and_documented(self):
        for name in idempotency.__all__:
            value = getattr(idempotency, name)
            self.assertTrue(value.__doc__, name)
            self.assertEqual((value.__module__, value.__qualname__), ("gallivant.idempotency", name))
            for member, definition in vars(value).items():
                if not member.startswith("_"):
                    self.assertTrue(definition.__doc__, f"{name}.{member}")

    def test_values_are_compared_copied_and_pickled_and_handles_are_not(self):
        self.begin().complete("h-1", b"\0")
        for value in (self.inspect(), self.store.sweep(), self.store.capability()):
            self.assertEqual(pickle.loads(pickle.dumps(value)), value)
            self.assertTrue(repr(value).startswith(type(value).__name__ + "("))
        with self.begin("k-2") as reservation:
            for handle in (self.store, reservation, self.begin("k-2"), self.begin(), self.store.notices()):
                with self.assertRaises(TypeError):
                    pickle.dumps(handle)
                self.assertIn("gallivant.idempotency.", repr(handle))

    def test_a_store_outlives_its_object_as_long_as_what_it_handed_out(self):
        begun = self.begin()
        self.store = None
        gc.collect()
        begun.complete("h-1", b"")

    def test_an_interpreter_that_ends_releases_what_it_holds(self):
        run_python(
            "import sys\n"
            "from gallivant.idempotency import IdempotencyStore\n"
            "held = IdempotencyStore.open(sys.argv[1]).begin('o', ['s'], 'k', b'')\n"
            "print(held.kind)\n",
            self.path,
        )
        with self.store.begin("o", ["s"], "k", b"another") as begun:
            self.assertEqual(begun.kind, "create")


if __name__ == "__main__":
    unittest.main()
