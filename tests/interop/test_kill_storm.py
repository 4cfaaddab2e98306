"""Python and Node programs are killed while they claim and write; this process reads all the while.

GALLIVANT_KILLS is how many are killed (16), GALLIVANT_SEED what is rolled.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KILLS = int(os.environ.get("GALLIVANT_KILLS", "16"))
SEED = int(os.environ.get("GALLIVANT_SEED", "1"))
WRITERS = [
    [sys.executable, os.path.join(HERE, "killed_writer.py")],
    ["node", os.path.join(HERE, "killed_writer.mjs")],
]
SKEW_MS = 60_000
READ_WITHIN_MS = 5_000
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "bindings-python/python")}


class Reader(threading.Thread):
    """Reads the record without a pause and finds it whole, and each time no older than the last."""

    def __init__(self, path):
        super().__init__()
        self.path, self.stop, self.failure = path, threading.Event(), None
        self.reads, self.versions, self.last = 0, 0, (0, 0, 0)

    def run(self):
        while not self.stop.is_set():
            try:
                with open(self.path, "rb") as file:
                    found = file.read()
                if not found.endswith(b"}\n"):
                    raise AssertionError(f"torn: {found[:200]!r}")
                record = json.loads(found)
            except (OSError, ValueError, AssertionError) as failure:
                self.failure = failure
                return
            now = (record["seq"], record["transitions"], record["writtenAtMs"])
            fell = any(new < old for new, old in zip(now[:2], self.last))
            if now[2] < self.last[2] and not self.was_set_back(now[2]):
                fell = True
            if fell:
                self.failure = AssertionError(f"it fell from {self.last} to {now}")
                return
            self.versions += now != self.last
            self.last = now
            self.reads += 1

    def was_set_back(self, stamp):
        """More than a write a millisecond drives the stamps ahead of the clock, and from the skew on HS-47 sets them
        back to it. This process may look a little later than the write."""
        clock = time.time() * 1000
        return self.last[2] + READ_WITHIN_MS > clock + SKEW_MS and stamp <= clock + READ_WITHIN_MS


class KillStorm(unittest.TestCase):
    def start(self, command):
        process = subprocess.Popen([*command, self.directory], stdout=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(self.kill, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    @staticmethod
    def kill(process):
        process.kill()
        process.wait()
        process.stdout.close()

    def test_hsi_5_python_and_node_writers_that_are_killed_leave_whole_records(self):
        dice = random.Random(SEED)
        sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))
        import gallivant

        # Removed last, when nobody writes into it any more.
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.directory = os.path.join(place.name, "agent")
        gallivant.claim(self.directory, agent="a", harness="python", token="first")
        reader = Reader(os.path.join(self.directory, "harness-state"))
        reader.start()
        self.addCleanup(reader.stop.set)
        processes = [self.start(command) for command in WRITERS]
        for _ in range(KILLS):
            time.sleep(dice.uniform(0.0, 0.04))
            victim = dice.randrange(len(WRITERS))
            self.kill(processes[victim])
            self.assertIsNone(reader.failure, f"GALLIVANT_SEED={SEED}: {reader.failure!r}")
            processes[victim] = self.start(WRITERS[victim])
        for process in processes:
            self.kill(process)
        reader.stop.set()
        reader.join()
        self.assertIsNone(reader.failure, f"GALLIVANT_SEED={SEED}: {reader.failure!r}")
        self.assertGreater(reader.versions, KILLS, "the writers write")
        # The dead hold nothing, for which it would wait in vain.
        claim = gallivant.claim(self.directory, agent="a", harness="python", token="last")
        self.assertGreater(claim.sequence, reader.last[0])
        left = [name for name in os.listdir(self.directory) if ".tmp-" in name]
        # At most one staged file a process that died, which a claim sweeps after an hour.
        self.assertLessEqual(len(left), KILLS + len(WRITERS))
        if "GALLIVANT_KILLS" in os.environ:
            print(
                f"kill storm, Python and Node: {KILLS} kills, {reader.versions} records and {claim.sequence} claims "
                f"seen in {reader.reads} reads, {len(left)} staged files left, seed {SEED}"
            )


if __name__ == "__main__":
    unittest.main()
