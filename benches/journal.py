"""The bench table of the journal: each row beside its floor, as ratios, and beside SQLite.

    python3 benches/journal.py [--rounds N] [--records N] [--disk DIRECTORY]

Build first: cargo build --release -p gallivant-benches. How the table is read is in benches/README.md.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


# SQLite moves its log into the file once in some nine pages with random keys, and the journal puts its index in order
# once in 82: the means hold both often enough.
SQLITE_ROUNDS = 250


class Row:
    """A running row; `time()` makes one operation and answers its nanoseconds."""

    def __init__(self, command, directory):
        self._process = subprocess.Popen(
            [*command, directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._process.stdout.readline() != "ready\n":
            sys.exit(f"{command} {directory} did not start")

    def time(self):
        self._process.stdin.write("1\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit("a row failed")
        return int(answer)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def percentile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def beside(floor, row, rounds):
    """Each by turns: the times of both, the median of the rounds' ratios, and the ratio of the means."""
    floors, rows, ratios = [], [], []
    for _ in range(3):
        floor.time(), row.time()
    for _ in range(rounds):
        before, took, after = floor.time(), row.time(), floor.time()
        floors += [before, after]
        rows.append(took)
        ratios.append(2 * took / (before + after))
    floor.close()
    row.close()
    return floors, rows, statistics.median(ratios), statistics.fmean(rows) / statistics.fmean(floors)


def syncs(command, directory):
    """System calls of one operation more, by kind."""
    counts = []
    for operations in (3, 8):
        with tempfile.NamedTemporaryFile(suffix=".strace") as log:
            traced = ["strace", "-f", "-c", "-U", "calls,name", "-o", log.name, *command, directory]
            subprocess.run(traced, input="1\n" * operations, text=True, stdout=subprocess.DEVNULL, check=True)
            counts.append({})
            for line in log.read().decode().splitlines():
                parts = line.split()
                if len(parts) == 2 and parts[0].isdigit() and parts[1] != "total":
                    counts[-1][parts[1]] = int(parts[0])
    names = sorted(set(counts[0]) | set(counts[1]))
    differences = {name: (counts[1].get(name, 0) - counts[0].get(name, 0)) / 5 for name in names}
    return {name: count for name, count in differences.items() if count}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--disk", help="a directory on the disk to be measured (one below the target directory)")
    given = parser.parse_args()
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(os.path.dirname(HERE), "target")
    built = os.path.join(target, "release")
    floors = os.path.join(built, "journal-floors")
    compiler = os.environ.get("CC", "cc")
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
    subprocess.run([compiler, *flags, "journal_floors.c", "-o", floors], cwd=HERE, check=True)
    program = os.path.join(built, "journal")
    row = lambda name, directory: Row([program, name], directory)
    floor = lambda name, directory: Row([floors, name], directory)
    places = [tempfile.mkdtemp(prefix="bench-", dir=given.disk or built)]
    if os.path.isdir("/dev/shm"):
        places.append(tempfile.mkdtemp(prefix="gallivant-bench-", dir="/dev/shm"))
    print("place        operation       beside          median us   floor us   p90 us   ratio   means")

    def show(place, name, other, found):
        floored, rowed, ratio, means = found
        kind = subprocess.run(["stat", "-f", "-c", "%T", place], capture_output=True, text=True).stdout.strip()
        print(
            f"{kind:12} {name:15} {other:15} {statistics.median(rowed) / 1e3:9.0f}  {statistics.median(floored) / 1e3:9.0f}"
            f"  {percentile(rowed, 0.9) / 1e3:7.0f}  {ratio:6.2f}  {means:6.2f}",
            flush=True,
        )

    try:
        for place in places:
            made = {}
            for name, records in (("empty", 0), ("full", given.records)):
                made[name] = os.path.join(place, name)
                # Filled in memory where there is one, and then copied: filling is not what is measured.
                source = os.path.join(places[-1], "filled-" + name)
                if not os.path.isdir(source):
                    subprocess.run([program, f"prepare-{records}", source], check=True)
                shutil.copytree(source, made[name])
                # The floor appends to a log of the same length: on a disk a long file is extended by more work than a short one.
                log = os.path.join(made[name], "events.jsonl")
                if os.path.exists(log):
                    shutil.copy(log, os.path.join(made[name], "bare.jsonl"))
            os.sync()
            rounds = given.rounds
            for name in ("empty", "full"):
                at = made[name]
                show(place, f"append {name}", "bare", beside(floor("batch", at), row("append", at), rounds))
                alone = beside(floor("batch-alone", at), row("append-alone", at), rounds)
                show(place, f"alone {name}", "bare", alone)
                sqlite = beside(row("sqlite", at), row("append", at), max(rounds, SQLITE_ROUNDS))
                show(place, f"append {name}", "sqlite", sqlite)
                show(place, f"known {name}", "append", beside(row("append", at), row("known", at), rounds))
                show(place, f"open {name}", "append", beside(row("append", at), row("open", at), rounds))
                whole = beside(floor("read-and-hash", at), row("check", at), max(rounds // 10, 5))
                show(place, f"check {name}", "read and crc", whole)
            both = beside(row("append", made["empty"]), row("append", made["full"]), 3 * rounds)
            show(place, "append full", "append empty", both)
            print(f"    p90 by p90 of the two: {percentile(both[1], 0.9) / percentile(both[0], 0.9):.2f}")
            if shutil.which("strace"):
                for name in ("empty", "full"):
                    print(f"    calls of a page, {name}: {syncs([program, 'append'], made[name])}")
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
