"""The bench table of reading a journal: each row beside its floor, as ratios.

    python3 benches/journal_reading.py [--rounds N] [--records N] [--large BYTES] [--disk DIRECTORY]

Build first: cargo build --release -p gallivant-benches. How the table is read is in benches/README.md.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import counting
from processes import Process, Programs, take_turns

SMALL = 10_000_000
# As `followers.rs` has them: readers, rows of a page, pages of a burst.
READERS, PAGE, BURST = 100, 100, 10
TAIL_ROWS = 400
TAIL_BAR = 1.5
# How much more than its result a tail may read.
TAIL_BYTES = 64 * 1024
TURN = 20


class Bench:
    def __init__(self, programs, given):
        self.programs, self.given = programs, given
        self.floors = os.path.join(programs.out, "journal-reading-floors")
        self.core = os.path.join(programs.built, "journal")
        os.makedirs(programs.out, exist_ok=True)
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, *flags, "journal_reading_floors.c", "-o", self.floors], cwd=programs.here, check=True
        )

    def prepare(self, what, directory):
        subprocess.run([self.core, "prepare-" + what, directory], check=True)
        return directory

    def row(self, name, directory):
        return Process(self.programs, [self.core, name], directory)

    def floor(self, name, directory):
        return Process(self.programs, [self.floors, name], directory)

    def show(self, place, name, beside, found, of=1, bar=None):
        """A line of the table; times are divided by `of`, the rows that one operation is about."""
        ratio, cpu, floor, row = found
        verdict = "no bar" if bar is None else f"{'meets' if ratio <= bar else 'misses'} {bar}"
        busy = "" if cpu is None else f"{cpu:.2f}"
        print(
            f"{place:10} {name:14} {beside:22} {row / of / 1e3:10.2f} {floor / of / 1e3:10.2f} {ratio:7.2f} {busy:>6}"
            f"  {verdict}",
            flush=True,
        )

    def tails(self, place, directory):
        """The last lines of a small log and of a large one, and how much is read for them."""
        more_than_result = []
        for name, size in (("small", SMALL), ("large", self.given.large)):
            at = self.prepare(f"lines-{size}", os.path.join(directory, name))
            with self.row("bare-tail", at) as floor, self.row("tail", at) as row:
                found = take_turns([floor], [row], TURN, self.given.rounds)
            self.show(place, f"tail {size // 1_000_000} MB", "scan and parse", found, bar=TAIL_BAR)
            if counting.has_strace():
                result, read = last_lines(at), self.bytes_read("tail", at)
                verdict = "meets" if read <= result + TAIL_BYTES else "misses"
                print(f"    reads {read:.0f} bytes for lines of {result}: {verdict} {TAIL_BYTES} more")
                more_than_result.append(read - result)
        if more_than_result:
            print(f"    more than the lines, small and large: {more_than_result[0]:.0f}, {more_than_result[1]:.0f}")

    def bytes_read(self, name, directory):
        """Bytes that one operation of a row reads: the difference of two runs, which leaves out what starting costs."""
        totals = []
        for operations in (TURN, 2 * TURN):
            with tempfile.NamedTemporaryFile("r") as trace:
                calls = "trace=read,pread64,readv,preadv,preadv2"
                before = ["strace", "-f", "-qq", "-s", "0", "-e", calls, "-o", trace.name]
                with Process(self.programs, [self.core, name], directory, before) as process:
                    process.run(operations)
                text = trace.read()
            totals.append(sum(int(length) for length in re.findall(r"read\w*\(.* = (\d+)$", text, re.MULTILINE)))
        return (totals[1] - totals[0]) / TURN

    def projections(self, place, directory):
        records = self.given.records
        at = self.prepare(f"projected-{records}", os.path.join(directory, "projected"))
        rounds = max(self.given.rounds // 5, 5)
        log = os.path.getsize(os.path.join(at, "events.jsonl"))
        print(f"    {records} records and two pages more: a log of {log / 1e6:.0f} MB")
        with self.floor("catch-up", at) as floor, self.row("catch-up", at) as row:
            self.show(place, "catch-up", "read log, write", take_turns([floor], [row], 1, rounds), of=records)
        with self.floor("lines", at) as floor, self.row("replay", at) as row:
            self.show(place, "replay", "read line by line", take_turns([floor], [row], 1, rounds), of=records)
        return at

    def followers(self, place, directory):
        """A page that 100 readers of one process read, beside reading its bytes as often; another process writes it."""
        ratios, floors, rows = [], [], []
        with self.row("project", directory) as writer:
            with self.floor("follow", directory) as floor, self.row("follow", directory) as row:
                for index in range(self.given.rounds + 3):
                    writer.run(1)
                    # By turns the floor and the row meet the page first.
                    times = {side: side.run(1) for side in ((floor, row) if index % 2 else (row, floor))}
                    if index >= 3:
                        ratios.append(times[row] / times[floor])
                        floors.append(times[floor])
                        rows.append(times[row])
        found = statistics.median(ratios), None, statistics.median(floors), statistics.median(rows)
        self.show(place, "follow", "read the bytes", found, of=READERS * PAGE)

    def live(self, place, directory):
        """Bursts of pages while 100 threads follow them, beside the same writing that nobody follows."""
        alone = shutil.copytree(directory, directory + "-alone")
        ratios, floors, rows = [], [], []
        with self.row("project", alone) as floor, self.row("live", directory) as row:
            for index in range(max(self.given.rounds // 2, 5) + 1):
                before, took, after = floor.run(BURST), row.run(1), floor.run(BURST)
                if index > 0:
                    floors.append((before + after) / 2)
                    rows.append(took)
                    ratios.append(took / floors[-1])
        found = statistics.median(ratios), None, statistics.median(floors), statistics.median(rows)
        each = READERS * PAGE * BURST
        self.show(place, "live", "writing alone", found, of=each)
        more = (found[3] - found[2]) / each
        delivered = each * len(ratios)
        print(f"    a row of a reader costs {more / 1e3:.2f} us more; {delivered} rows, none lost and none twice")


def last_lines(directory):
    """Bytes of the last lines of a log."""
    with open(os.path.join(directory, "job.log"), "rb") as file:
        file.seek(-1_000_000, os.SEEK_END)
        return sum(map(len, file.read().splitlines(keepends=True)[-TAIL_ROWS:]))


def main():
    parser = argparse.ArgumentParser(description="The bench table of reading a journal, each row beside its floor.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=2_000_000_000, help="bytes of the large log (2,000,000,000)")
    parser.add_argument("--disk", help="a directory on the disk to be measured (one below the target directory)")
    given = parser.parse_args()
    programs = Programs(os.path.dirname(os.path.abspath(__file__)))
    bench = Bench(programs, given)
    disk = tempfile.mkdtemp(prefix="bench-", dir=given.disk or programs.built)
    memory = tempfile.mkdtemp(prefix="gallivant-bench-", dir="/dev/shm") if os.path.isdir("/dev/shm") else None
    try:
        print("place      operation      beside                     row us   floor us   ratio    cpu  verdict")
        for place in filter(None, (disk, memory)):
            kind = subprocess.run(["stat", "-f", "-c", "%T", place], capture_output=True, text=True).stdout.strip()
            if place == (memory or disk):
                # A large log is made in memory where there is room: it is in memory anyway when it is measured.
                bench.tails(kind, place)
            projected = bench.projections(kind, place)
            bench.followers(kind, projected)
            bench.live(kind, projected)
    finally:
        for place in filter(None, (disk, memory)):
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
