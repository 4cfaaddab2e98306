"""The operations, their floors and bars, and how a line of the table is printed.

A result is a plain dict: row, language, where, bar, ratio, cpu_ratio, floor_us, row_us, calls, verdict, notes.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time

import counting
from processes import LANGUAGES, Missing, Process, take_turns

HEADING = f"{'operation':16} {'language':8} {'where':6} {'bar':>6} {'ratio':>7} {'cpu':>6} {'floor':>10} {'row':>10}  {'calls':>6}  verdict"


def line(result):
    if result.get("skipped"):
        return f"{result['row']:16} {result['language']:8} {result['where']:6} left out: {result['skipped']}"
    bar = "" if result["bar"] is None else f"{result['bar']:.2f}"
    ratio = "" if result["ratio"] is None else f"{result['ratio']:.2f}"
    processor = "" if result["cpu_ratio"] is None else f"{result['cpu_ratio']:.2f}"
    calls = "" if result["calls"] is None else f"{result['calls']:g}"
    times = [f"{result[name]:8.1f} µs" if result[name] else " " * 10 for name in ("floor_us", "row_us")]
    head = f"{result['row']:16} {result['language']:8} {result['where']:6} {bar:>6} {ratio:>7} {processor:>6} {times[0]:>10} {times[1]:>10}"
    notes = "".join("\n" + " " * 17 + note for note in result["notes"])
    return f"{head}  {calls:>6}  {result['verdict']}{notes}"


def result(row, language, where, **found):
    empty = {"bar": None, "ratio": None, "cpu_ratio": None, "floor_us": None, "row_us": None, "calls": None, "verdict": "", "notes": []}
    return {"row": row, "language": language, "where": where, **empty, **found}


def verdict(misses, has_bar):
    if misses:
        return "misses: " + ", ".join(misses)
    return "meets" if has_bar else "no bar"


class Operation:
    """One operation in several languages beside its floor.

    `floor` names the floor's row where it is the same everywhere, or gives it by file system. `bars` are by language, or
    by file system where all languages of `bars_for` share one. `count` is how many operations a batch has, so that one
    takes some 10 ms and neighbours hit both sides.
    """

    def __init__(self, name, floor, bars, count, where=("ext4",), languages=LANGUAGES, most_calls=None,
                 most_cold=None, one_create=False, disk_writes=None, prepare="prepare", at_a_time=1, row=None, rest=0.0):
        self.name, self.floor, self.bars, self.count = name, floor, bars, count
        self.where, self.languages = where, languages
        self.most_calls, self.most_cold, self.one_create = most_calls, most_cold, one_create
        self.most_disk_writes, self.prepare, self.at_a_time = disk_writes, prepare, at_a_time
        self.row, self.rest = row or name, rest

    def measure(self, programs, places, given):
        for where in self.where:
            if where not in places:
                continue
            place = places[where]
            shared = None
            for language in self.languages:
                if given.language not in (None, language):
                    continue
                if self.prepare == "prepare-fleet":
                    # Nobody writes into a fleet, so all rows read the same one.
                    if shared is None:
                        shared = self._directory(programs, place)
                    directories = [shared, shared]
                else:
                    directories = [self._directory(programs, place) for _ in range(2)]
                try:
                    yield self._beside(programs, where, language, directories, given.rounds)
                except Missing as missing:
                    yield {**result(self.name, language, where), "skipped": str(missing)}

    def _directory(self, programs, place):
        directory = programs.prepare(os.path.join(tempfile.mkdtemp(dir=place), "agent"), self.prepare)
        if self.rest:
            subprocess.run(["sleep", str(self.rest)], check=True)
        return directory

    def _beside(self, programs, where, language, directories, rounds):
        floor = self.floor[where] if isinstance(self.floor, dict) else self.floor
        bar = self.bars.get((language, where), self.bars.get(language))
        bare, full = programs.floor(floor), programs.row(language, self.row)
        floors, rows = [], []
        try:
            for _ in range(self.at_a_time):
                rows.append(Process(programs, full, directories[1]))
                floors.append(Process(programs, bare, directories[0]))
            ratio, processor, floor_ns, row_ns = take_turns(floors, rows, self.count, rounds)
        finally:
            for process in [*floors, *rows]:
                process.__exit__()
        found = result(self.name, language, where, bar=bar, ratio=ratio, cpu_ratio=processor,
                       floor_us=floor_ns / 1000, row_us=row_ns / 1000)
        misses = [] if bar is None or ratio <= bar else ["time"]
        if language in ("rust", "c") and self.at_a_time == 1 and counting.has_strace():
            misses += self._count(programs, language, full, directories[1], found)
        if self.at_a_time > 1:
            misses += self._tries(programs, language, directories[1], found)
        if language in ("rust", "c") and where == "ext4" and self.most_disk_writes is not None:
            misses += self._disk(programs, full, directories[1], found)
        found["verdict"] = verdict(misses, bar is not None)
        return found

    def _count(self, programs, language, command, directory, found):
        misses = []
        calls = counting.warm(programs, command, directory, min(self.count, counting.MORE))
        found["calls"] = round(counting.total(calls), 2)
        found["calls_by_name"] = calls
        if self.most_calls is None:
            return misses
        found["notes"].append(f"{counting.words(calls)} (bar {self.most_calls})")
        # A page more for the heap now and then is in the average.
        if counting.total(calls) > self.most_calls + 0.05:
            misses.append("calls")
        if self.one_create and (calls.get("create", 0) != 1 or any(name in calls for name in counting.SYNCS)):
            misses.append("creates or syncs")
        if self.most_cold is not None:
            first = counting.warm(programs, programs.row(language, f"first-{self.row}"), directory, counting.FIRST)
            found["cold_calls"] = round(counting.total(first), 2)
            of_a_process = counting.cold(programs, command, directory)
            found["notes"].append(f"cold: {found['cold_calls']:g} calls (bar {self.most_cold}); the first of a process: {of_a_process}")
            if found["cold_calls"] > self.most_cold + 0.05:
                misses.append("cold calls")
        return misses

    def _disk(self, programs, command, directory, found):
        measured = counting.disk_writes(programs, command, directory)
        if measured is None:
            found["notes"].append("the system does not say how often this disk writes")
            return []
        found["disk_writes"] = measured
        found["notes"].append(f"disk writes an operation: {measured:.3f} (bar {self.most_disk_writes})")
        return ["disk writes"] if measured > self.most_disk_writes else []

    def _tries(self, programs, language, directory, found):
        """Failed tries of the lock, counted where the core counts its own operations."""
        if language != "rust":
            return []
        command = programs.row(language, self.row + "-tries")
        rows = [Process(programs, command, directory) for _ in range(self.at_a_time)]
        for row in rows:
            row.begin(self.count)
        tries = sum(row.finish()[1] for row in rows)
        for row in rows:
            row.__exit__()
        operations = self.count * self.at_a_time
        # The proof that locks exclude tries once more in each process, and is one failed try.
        found["failed_tries"] = (tries - operations - self.at_a_time) / operations
        found["notes"].append(f"failed tries an operation: {found['failed_tries']:.2f} (bar 2)")
        return ["tries"] if found["failed_tries"] >= 2 else []


class Hook:
    """A hook process of an interpreter without its site packages, one transition each, beside the bare interpreter."""

    name, bar = "hook", 1.35
    # What the guides install: no site packages, nothing of the user's, the package by its path.
    PROGRAM = "import sys; sys.path.insert(0, {!r}); from gallivant import hook; hook.main(['claude'])"

    def measure(self, programs, places, given):
        if given.language not in (None, "python"):
            return
        for where, place in places.items():
            floor = [programs.python, "-I", "-S", "-c", "pass"]
            row = [programs.python, "-I", "-S", "-c", self.PROGRAM.format(programs.package)]
            directory = programs.prepare(os.path.join(tempfile.mkdtemp(dir=place), "agent"))
            ratio, floor_ns, row_ns = self._turns(floor, row, directory, max(given.rounds, 40))
            misses = [] if ratio <= self.bar else ["time"]
            yield result(self.name, "python", where, bar=self.bar, ratio=ratio, floor_us=floor_ns / 1000,
                         row_us=row_ns / 1000, verdict=verdict(misses, True))

    def _turns(self, floor, row, directory, rounds):
        own = {
            "GALLIVANT_AGENT_DIR": directory, "GALLIVANT_AGENT": "host.worker", "GALLIVANT_HARNESS": "claude",
            "GALLIVANT_SESSION_TOKEN": "bench", "GALLIVANT_SESSION_SEQ": "1", "GALLIVANT_PTY_SESSION": "worker",
        }
        environment = {**os.environ, **own}
        payloads = [
            json.dumps({"hook_event_name": name, "session_id": "s", "cwd": "/", "prompt": "go on"}).encode()
            for name in ("Stop", "UserPromptSubmit")
        ]
        before = transitions(directory)
        floors, rows = [], []
        for index in range(rounds):
            floors.append(timed(floor, environment, payloads[index % 2]))
            rows.append(timed(row, environment, payloads[index % 2]))
            floors.append(timed(floor, environment, payloads[index % 2]))
        landed = transitions(directory) - before
        if landed != rounds:
            raise RuntimeError(f"{landed} of {rounds} hooks made a transition")
        ratios = sorted(row * 2 / (floors[2 * i] + floors[2 * i + 1]) for i, row in enumerate(rows))
        return ratios[rounds // 2], sorted(floors)[rounds], sorted(rows)[rounds // 2]


def transitions(directory):
    with open(os.path.join(directory, "harness-state"), encoding="utf-8") as record:
        return json.load(record)["transitions"]


def timed(command, environment, payload):
    started = time.perf_counter_ns()
    subprocess.run(command, input=payload, env=environment, check=True)
    return time.perf_counter_ns() - started


class State:
    """`gallivant state` over a fleet from start to exit, beside a static program that opens, reads and closes each record
    by its known name. Once with all processors, which its threads share, and once with one."""

    name, bar = "state", 1.6

    def measure(self, programs, places, given):
        command = os.path.join(programs.built, "gallivant")
        if given.language not in (None, "rust") or "ext4" not in places:
            return
        directory = programs.prepare(os.path.join(tempfile.mkdtemp(dir=places["ext4"]), "agent"), "prepare-fleet")
        floor = [os.path.join(programs.out, "floors-static"), "once", "read-fleet", directory]
        everywhere = os.sched_getaffinity(0)
        for name, processors in (("state", everywhere), ("state, one cpu", {min(everywhere)})):
            os.sched_setaffinity(0, processors)
            try:
                turns = [(spawned(floor), spawned([command, "state", directory]), spawned(floor))
                         for _ in range(given.rounds + 1)][1:]
            finally:
                os.sched_setaffinity(0, everywhere)
            ratio, processor = (statistics.median(row[at] * 2 / (before[at] + after[at]) for before, row, after in turns)
                                for at in (0, 1))
            floor_ns, row_ns = (statistics.median(turn[at][0] for turn in turns) for at in (0, 1))
            misses = [] if ratio <= self.bar else ["time"]
            yield result(name, "rust", "ext4", bar=self.bar, ratio=ratio, cpu_ratio=processor, floor_us=floor_ns / 1000,
                         row_us=row_ns / 1000, verdict=verdict(misses, True))


def spawned(command):
    """How long a process took from start to exit, in ns, and how much processor time."""
    started = time.perf_counter_ns()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ, file_actions=silent), 0)
    took = time.perf_counter_ns() - started
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(" ".join(command))
    return took, (usage.ru_utime + usage.ru_stime) * 1e9


class Watching:
    """How soon a change is told, and how often the waiting thread runs while nothing changes."""

    name, longest_ms = "watch", 50

    def measure(self, programs, places, given):
        if given.language not in (None, "rust"):
            return
        for where, place in places.items():
            directory = programs.prepare(os.path.join(tempfile.mkdtemp(dir=place), "agent"))
            told = subprocess.run([*programs.row("rust", "watch"), directory], capture_output=True, text=True, check=True)
            middle, longest, runs = told.stdout.split()
            misses = ["50 ms"] * (float(longest) > self.longest_ms) + ["quiet"] * (int(runs) > 2)
            note = f"told after {middle} ms, at the longest {longest} ms (bar {self.longest_ms}); ran {runs} times in 2 s of nothing"
            yield result(self.name, "rust", where, verdict=verdict(misses, True), notes=[note])


BOTH = ("ext4", "tmpfs")
REPLACED = {"ext4": "exchange", "tmpfs": "rename"}
NATIVE = ["rust", "c"]


def bars(ext4, tmpfs):
    return {(language, where): bar for language in NATIVE for where, bar in (("ext4", ext4), ("tmpfs", tmpfs))}


def by_language(native, node=None, python=None):
    return {"rust": native, "c": native, "node": node, "python": python}


ROWS = [
    Operation("restated", "stat", by_language(2.5), 4000, BOTH, most_calls=2),
    Operation("transition", REPLACED, bars(1.3, 1.35), 300, BOTH, most_calls=14, most_cold=20, one_create=True,
              disk_writes=0.05),
    Operation("heartbeat", REPLACED, bars(1.3, 1.35), 300, BOTH, most_calls=14, most_cold=20, one_create=True,
              disk_writes=0.05),
    Operation("contended", REPLACED, by_language(1.3), 400, BOTH, NATIVE, at_a_time=4),
    Operation("read", "read", by_language(1.6, 2.2, 2.5), 2000, BOTH, most_calls=4),
    Operation("fleet", "read-fleet", by_language(1.3, 1.6, 1.6), 1, prepare="prepare-fleet", rest=0.1),
    Operation("fleet-shared", "read-fleet", by_language(1.3, 1.6, 1.6), 1, prepare="prepare-fleet", rest=0.1),
    Operation("fleet-unchanged", "stat-fleet", by_language(1.3, 1.6, 1.6), 1, prepare="prepare-fleet", rest=0.1),
    Operation("claim", "durable", by_language(1.15), 5),
    Hook(),
    State(),
    Watching(),
]


def names():
    return [row.name for row in ROWS]
