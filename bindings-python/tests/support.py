"""What the tests share: a seat of its own for each test, other processes, a lock that somebody holds."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import gallivant

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VECTORS = os.path.join(ROOT, "tests/vectors")
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(gallivant.__file__)))

CLAIMANT = {"agent": "worker", "harness": "claude", "token": "tok"}
# A call that waits for a lock is not over by itself while a test does something about it.
PATIENT = gallivant.Options(lock_wait_ms=60_000)
# What ends at once ends within this on any machine, and what it is compared with takes longer.
AT_ONCE = 15


class SeatCase(unittest.TestCase):
    """A test with an agent's directory in `self.seat`."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.seat = os.path.join(directory.name, "seat")

    def claimed(self, **options):
        """A writer that has claimed, with a pty session."""
        claim = gallivant.claim(self.seat, **CLAIMANT, **options)
        return gallivant.Writer(self.seat, **CLAIMANT, pty_session="w1", sequence=claim.sequence, **options)

    def record(self):
        """The record's JSON; None where there is none."""
        text = self.bytes()
        return None if text is None else json.loads(text)

    def bytes(self):
        """The record's bytes; None where there is none."""
        return contents(os.path.join(self.seat, "harness-state"))

    def log(self):
        """The entries of the log, without their times."""
        entries = (contents(os.path.join(self.seat, ".harness-state.log")) or b"").decode().splitlines()
        return [entry.split(" ", 1)[1] for entry in entries]


def contents(path):
    """A file's bytes; None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def held_lock(seat):
    """Holds the seat's lock as another program would: another open of the file excludes this one."""
    with open(os.path.join(seat, ".harness-state.lock"), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment(**variables):
    """The environment of a process that imports the package under test and has no session but what is given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GALLIVANT_")}
    return {**inherited, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1", **variables}


def start_python(code, *arguments, python=sys.executable, env=None, **options):
    """Starts an interpreter on a program text."""
    return subprocess.Popen(
        [python, "-c", code, *arguments],
        env=environment() if env is None else env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run_python(code, *arguments, **options):
    """What a program text prints. Fails with its standard error where it fails."""
    process = start_python(code, *arguments, **options)
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:
        raise AssertionError(f"exit {process.returncode}: {err}")
    return out


def same(state, other):
    """Whether two reads on real clocks conclude the same. A reader that has to wait between two of its clocks takes an answer
    to hold for that much longer or shorter."""
    fields = [name for name in vars(gallivant.State) if not name.startswith("_") and name != "valid_until_ms"]
    alike = all(getattr(state, name) == getattr(other, name) for name in fields)
    return alike and abs(state.valid_until_ms - other.valid_until_ms) <= 5_000


class Stopwatch:
    """`with Stopwatch() as watch: ...`, then `watch.seconds`."""

    def __enter__(self):
        self._started = time.monotonic()
        return self

    def __exit__(self, *_exception):
        self.seconds = time.monotonic() - self._started


def comes_within(test, seconds, attempt, tries=30):
    """That something takes no longer than that by itself: `attempt` gives the seconds that it took. A busy machine may delay
    any single one; what is slow by itself is slow each time."""
    taken = []
    while len(taken) < tries:
        taken.append(attempt())
        if taken[-1] < seconds:
            return
    test.fail(f"none of {tries} came within {seconds} s: {taken}")


def eventually(condition, what, seconds=60):
    """Waits for a condition, and gives what it came to."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"it was waited for in vain: {what}")
        time.sleep(0.005)
    return found
