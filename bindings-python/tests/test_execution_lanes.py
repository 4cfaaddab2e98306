"""Lanes for threads: bounded, in order, and one that fails or hangs keeps nobody else."""

import threading
import time
import unittest

import gallivant
from gallivant.execution import HealthStore, Signal, run_dispatch_lane, run_lane, run_progress_lane

from .execution_support import SUBMIT, TaskCase

ACCOUNT = ("memory", "me")


class Lanes(unittest.TestCase):
    def test_ex_sch_25_at_most_so_many_run_at_a_time_and_results_keep_their_order(self):
        lock, running, most, together = threading.Lock(), 0, 0, threading.Barrier(4)

        def task(number):
            def run():
                nonlocal running, most
                with lock:
                    running += 1
                    most = max(most, running)
                if number < 4:
                    together.wait(60)
                time.sleep(0.01 * (5 - number % 5))
                with lock:
                    running -= 1
                if number == 3:
                    raise ValueError("three")
                return number

            return run

        results = run_lane([task(number) for number in range(12)], 4)
        self.assertEqual(most, 4)
        self.assertEqual([result.value for result in results], [0, 1, 2, None, *range(4, 12)])
        with self.assertRaisesRegex(ValueError, "three"):
            results[3].result()
        self.assertEqual(run_lane([]), [])

    def test_ex_sch_26_one_that_hangs_holds_its_own_slot_only(self):
        released, done = threading.Event(), []

        def last():
            done.append(len(done))
            if len(done) == 9:
                released.set()

        self.assertEqual(len(run_lane([lambda: released.wait(60), *[last] * 9], 2)), 10)
        self.assertEqual(done, list(range(9)))

    def test_a_concurrency_out_of_range_is_refused_and_nothing_runs(self):
        ran = []
        for concurrency in (0, 65):
            with self.assertRaises(gallivant.ExecutionInputError):
                run_lane([lambda: ran.append(1)], concurrency)
        self.assertEqual(ran, [])


class Passes(TaskCase):
    def test_ex_sch_25_the_progress_lane_makes_a_pass_of_each_that_is_due(self):
        task = self.made()
        self.assertEqual(run_progress_lane([task]), [])
        task.submit(SUBMIT)
        self.advance(20_000)
        [(execution, result)] = run_progress_lane([task])
        self.assertIs(execution, task)
        self.assertEqual((result.value["called"], result.error), (["inspect"], None))
        self.assertEqual(run_progress_lane([task]), [])


class Dispatches(TaskCase):
    def setUp(self):
        super().setUp()
        self.store = HealthStore(self.root + "-health", scopes=[ACCOUNT], host=self.host)
        self.ran = []

    def run_one(self, **options):
        return run_dispatch_lane(self.store, [(ACCOUNT, lambda: self.ran.append(1) or "sent")], **options)

    def test_ex_sch_29_a_dispatch_is_retried_once_its_probe_has_succeeded(self):
        refresh = self.store.begin(*ACCOUNT)
        threading.Timer(0.1, lambda: refresh.record_json('{"ok":true}')).start()
        [result] = self.run_one(timeout=60)
        self.assertEqual((result.value, result.is_refused, self.ran), ("sent", False, [1]))

    def test_ex_sch_31_without_a_probe_or_with_one_that_fails_or_is_late_it_stays_refused(self):
        self.assertTrue(self.run_one(timeout=60)[0].is_refused)
        refresh = self.store.begin(*ACCOUNT)
        self.assertTrue(self.run_one(timeout=0.05)[0].is_refused)
        given_up = Signal()
        threading.Timer(0.05, given_up.fire).start()
        self.assertTrue(self.run_one(timeout=60, signal=given_up)[0].is_refused)
        threading.Timer(0.05, refresh.give_up).start()
        self.assertTrue(self.run_one(timeout=60)[0].is_refused)
        self.assertEqual(self.ran, [])


if __name__ == "__main__":
    unittest.main()
