"""Coordinators are killed at random moments while they work for a provider that keeps books. At the end every operation has made
at most one job, no create was sent twice, every run was collected with all its output or is named as unresolved, and nothing that
a client was told was lost.

GALLIVANT_COORDINATOR_KILLS is how many are killed (50), GALLIVANT_SEED what is rolled. Four storms run at once: three of Node
coordinators, and one of a Node and a Python coordinator on one root.
"""
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from coordinators import NODE, PYTHON, ROOT, Provider, coordinator, exchange, until

sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))
from gallivant import journal
from gallivant.execution import unresolved

KILLS = int(os.environ.get("GALLIVANT_COORDINATOR_KILLS", "50"))
SEED = int(os.environ.get("GALLIVANT_SEED", "1"))
LINES = 3
AGENTS = {"lines": LINES, "everyMs": 60, "costUsd": 0.25, "page": 2, "replyMs": 16}
STORMS = [[NODE], [NODE], [NODE], [NODE, PYTHON]]


class Storm:
    """One root, one provider, and the coordinators that are killed over them."""

    def __init__(self, place, commands, kills, seed):
        self.place, self.commands, self.kills = place, commands, kills
        self.root = os.path.join(place, "root")
        self.dice = random.Random(seed)
        self.log = open(os.path.join(place, "log"), "w", encoding="utf-8")
        self.provider = Provider(os.path.join(place, "provider.json"), self.log, **AGENTS)
        self.running = [None] * len(commands)
        # By key: what a client wants, and the task that it was told of.
        self.wishes = {}
        self.stops = 0

    def run(self):
        """Kills, and then waits until everything has come to its end; gives the tasks."""
        for kill in range(self.kills):
            self.wishes[f"wish-{kill}"] = None
            started = [self.start(which) for which in range(len(self.commands))]
            front = started[0]
            victim = self.dice.randrange(len(self.commands))
            # Some while they start, some while they dispatch, some while they collect.
            early, late = self.dice.uniform(0.0, 0.5), self.dice.uniform(0.0, 0.15)
            is_early = self.dice.random() < 0.3
            killer = threading.Timer(early if is_early else late, self.running[victim].process.kill)
            if is_early:
                killer.start()
            try:
                front.ready()
                if not is_early:
                    killer.start()
                self.ask(front)
            except (OSError, ValueError, AssertionError):
                if not killer.ident:
                    raise
                # It was killed before it could answer.
            killer.join()
            self.running[victim].end()
            self.running[victim] = None
        self.end()
        front = self.start(0).ready()
        for which in range(1, len(self.commands)):
            self.start(which).ready()
        self.ask(front)
        assert all(self.wishes.values()), self.wishes
        return until(lambda: self.settled(front), 150 + len(self.wishes))

    def start(self, which):
        """The coordinator with this number, which runs then."""
        if self.running[which] is None:
            self.running[which] = coordinator(self.commands[which], self.root, self.provider, self.log)
        elif self.commands[which] is NODE and self.running[which].address is not None:
            self.running[which].ready = lambda: None
        return self.running[which]

    def ask(self, front):
        """A client asks for everything that it was not told of, with the same key each time; some of it is stopped again."""
        for key, task in self.wishes.items():
            if task is not None:
                continue
            body = {"prompt": key, "budgetUsd": 1}
            status, answer = exchange(front.address, "POST", "/tasks", body, {"Idempotency-Key": key})
            assert status in (201, 409), answer
            if status == 201:
                self.wishes[key] = answer["id"]
                if self.dice.random() < 0.15:
                    time.sleep(self.dice.uniform(0.0, 0.1))
                    exchange(front.address, "POST", f"/tasks/{answer['id']}/stop", {"reason": "enough"})
                    self.stops += 1

    def settled(self, front):
        """The tasks, once each has ended or is named as unresolved after a look-up."""
        try:
            tasks = exchange(front.address, "GET", "/state")[1]["tasks"]
        except TimeoutError:
            # Hundreds of tasks after a restart, on a machine that is busy.
            return None
        looked = [task["phase"] == "ended" or (task["isUnresolved"] and task["nextAttemptAt"]) for task in tasks]
        return tasks if len(tasks) == len(self.wishes) and all(looked) else None

    def end(self):
        """Kills what runs."""
        for which, running in enumerate(self.running):
            if running is not None:
                running.end()
            self.running[which] = None

    def close(self):
        """Leaves nothing that runs."""
        self.end()
        self.provider.end()
        self.log.close()


class CoordinatorStorm(unittest.TestCase):
    def judge(self, storm, tasks):
        books = storm.provider.control("/books")
        jobs = {}
        for turn in books["turns"]:
            self.assertNotIn(turn["prompt"], jobs, "two jobs for one wish")
            self.assertEqual(turn["came"], 1, f"a create was sent again: {turn}")
            jobs[turn["prompt"]] = turn
        self.assertEqual({task["id"] for task in tasks}, set(storm.wishes.values()))
        self.assertEqual(len(tasks), len(storm.wishes))
        counts = {"succeeded": 0, "cancelled": 0, "unresolved": 0, "never sent": 0, "interrupted appends": 0}
        for task in tasks:
            job, work = jobs.get(task["prompt"]), os.path.join(storm.root, "tasks", task["id"], "work")
            named = unresolved(work) if os.path.exists(work) else []
            if task["isUnresolved"]:
                self.assertIsNone(job, f"a job that the provider has is not known: {task}")
                self.assertEqual(len(named), 1)
                counts["unresolved"] += 1
                continue
            self.assertEqual(named, [])
            if task["job"] is None:
                self.assertIsNone(job, task)
                self.assertTrue(task["state"] is None, task)
                counts["never sent"] += 1
                continue
            self.assertEqual((job["job"], job["state"]), (task["job"], task["state"]), task)
            counts[task["state"]] += 1
            if task["state"] == "succeeded":
                self.assertEqual((task["ok"], task["costUsd"]), (True, 0.25))
                run = exchange(storm.running[0].address, "GET", f"/tasks/{task['id']}")[1]["runId"]
                checked = journal.check(os.path.join(work, run))
                # A kill between the announcement of a batch and its bytes leaves a named gap in the place of one event (EX-JRN-17).
                gaps = sum(gap.last - gap.first + 1 for gap in checked.gaps)
                self.assertEqual(checked.records + gaps, LINES, checked)
                counts["interrupted appends"] += gaps
                self.assertEqual({gap.reason for gap in checked.gaps} - {"interrupted-append"}, set())
        return counts

    def test_ex_bnd_34_killed_coordinators_make_one_job_for_an_operation_and_lose_nothing(self):
        place = tempfile.mkdtemp(prefix="gallivant-storm-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        share = -(-KILLS // len(STORMS))
        storms, found = [], [None] * len(STORMS)
        for number, commands in enumerate(STORMS):
            own = os.path.join(place, str(number))
            os.mkdir(own)
            storms.append(Storm(own, commands, share, SEED * 1000 + number))
            self.addCleanup(storms[-1].close)

        def run(number):
            try:
                found[number] = storms[number].run()
            except Exception as failed:
                found[number] = failed

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(STORMS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = {}
        for storm, tasks in zip(storms, found):
            with open(os.path.join(storm.place, "log"), encoding="utf-8") as log:
                said = log.read()[-4000:]
            self.assertIsInstance(tasks, list, f"GALLIVANT_SEED={SEED}: {tasks!r}\n{said}")
            for word, count in self.judge(storm, tasks).items():
                total[word] = total.get(word, 0) + count
        self.assertGreater(total["succeeded"], KILLS // 4, total)
        if "GALLIVANT_COORDINATOR_KILLS" in os.environ:
            print(f"coordinator storm: {share * len(STORMS)} kills, {total}, seed {SEED}")


if __name__ == "__main__":
    unittest.main()
