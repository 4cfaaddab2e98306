"""Rows as processes: building them, preparing their directories, and letting them take turns."""

import os
import shutil
import statistics
import subprocess
import sys
import time

LANGUAGES = ["rust", "c", "node", "python"]
MISSING = 3


class Missing(Exception):
    """A row that does not exist in this build, or whose program does not."""


class Programs:
    """The programs of the rows and how each is called."""

    def __init__(self, here):
        self.here = here
        self.root = os.path.dirname(here)
        self.target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(self.root, "target")
        self.built = os.path.join(self.target, "release")
        self.out = os.path.join(self.built, "benches")
        self.prepare_program = os.path.join(self.built, "harness-state")
        # The interpreter itself: a shim that chooses one would be measured with it.
        self.python = os.path.realpath(sys.executable)
        self.package = os.path.join(self.root, "bindings-python/python")

    def compile(self):
        os.makedirs(self.out, exist_ok=True)
        warnings = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
        self._cc(*warnings, "floors.c", "-o", os.path.join(self.out, "floors"))
        # For whole processes, of which half the start would else be the loader's.
        self._cc(*warnings, "-static", "floors.c", "-o", os.path.join(self.out, "floors-static"))
        self._cc(
            *warnings, f"-I{self.root}/include", "rows.c", "-o", os.path.join(self.out, "rows"),
            f"-L{self.built}", "-lgallivant", f"-Wl,-rpath,{self.built}",
        )

    def _cc(self, *arguments):
        subprocess.run([os.environ.get("CC", "cc"), *arguments], cwd=self.here, check=True)

    def floor(self, name):
        return [os.path.join(self.out, "floors"), name]

    def row(self, language, name):
        commands = {
            "rust": [self.prepare_program],
            "c": [os.path.join(self.out, "rows")],
            "node": [shutil.which("node") or "node", os.path.join(self.here, "rows.mjs")],
            "python": [self.python, os.path.join(self.here, "rows.py")],
        }
        return [*commands[language], name]

    def prepare(self, directory, what="prepare"):
        """A fresh directory with a seat, or a fleet, as `harness-state` makes them."""
        subprocess.run([self.prepare_program, what, directory], check=True)
        return directory

    def environment(self):
        return {**os.environ, "PYTHONPATH": self.package, "PYTHONDONTWRITEBYTECODE": "1"}


class Process:
    """A running row. `with Process(...) as row: row.run(100)` answers nanoseconds."""

    def __init__(self, programs, command, directory, before=()):
        self._process = subprocess.Popen(
            [*before, *command, directory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=programs.environment(),
        )
        if self._process.stdout.readline() != "ready\n":
            _, error = self._process.communicate()
            if self._process.returncode == MISSING:
                raise Missing(error.strip())
            raise RuntimeError(f"{' '.join(command)}: {error.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()

    def begin(self, count):
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()

    def finish(self):
        answer = self._process.stdout.readline().split()
        if not answer:
            raise RuntimeError(self._process.stderr.read().strip())
        return [int(number) for number in answer]

    def run(self, count):
        self.begin(count)
        return self.finish()[0]

    def processor_ns(self):
        """How long its main thread has had a processor, in ns; 0 where the system does not say."""
        try:
            with open(f"/proc/{self._process.pid}/schedstat", encoding="ascii") as stat:
                return int(stat.read().split()[0])
        except OSError:
            return 0


def take_turns(floors, rows, count, rounds):
    """The median ratio of the rows to the floors, the same of processor time alone, and each side's median time in ns.

    `floors` and `rows` are lists of processes that work at the same time: one each, or several that contend. The first
    round warms up and does not count. Within a round the floor runs before and after the row, so that a machine that
    becomes slower or faster does not count for one side. The ratio of processor time is none where nobody tells it.
    """

    def batch(processes):
        had = sum(process.processor_ns() for process in processes)
        started = time.perf_counter_ns()
        for process in processes:
            process.begin(count)
        own = [process.finish()[0] for process in processes]
        # One process measures itself; of several the whole counts.
        took = own[0] if len(own) == 1 else time.perf_counter_ns() - started
        busy = sum(process.processor_ns() for process in processes) - had
        return took / (count * len(processes)), busy

    ratios, busy, bare, full = [], [], [], []
    for index in range(rounds + 1):
        (before, busy_before), (row, busy_row), (after, busy_after) = batch(floors), batch(rows), batch(floors)
        floor = (before + after) / 2
        if index > 0:
            ratios.append(row / floor)
            bare.append(floor)
            full.append(row)
            if busy_before + busy_after > 0:
                busy.append(busy_row * 2 / (busy_before + busy_after))
    processor = statistics.median(busy) if busy else None
    return statistics.median(ratios), processor, statistics.median(bare), statistics.median(full)
