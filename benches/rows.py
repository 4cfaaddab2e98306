"""The rows of harness state from Python: python3 rows.py ROW DIRECTORY.

Says `ready`, then makes as many operations as each line of standard input says and answers how many nanoseconds they
took. Exits with 3 where the package has no such thing. The directory is one that `harness-state prepare` has made.
"""

import sys
import time

import gallivant

MISSING = 3
IDENTITY = {"agent": "host.worker", "harness": "claude", "token": "bench"}
FLEET = 10_000
# How long a file rests before a look at it is believed, and then some.
REST = 0.05


def writer(directory):
    return gallivant.Writer(directory, **IDENTITY, pty_session="worker", sequence=1)


def must(holds, what):
    if not holds:
        raise SystemExit(f"not as expected: {what}")


def restated(directory):
    observe = writer(directory).observe
    active = gallivant.Observation("active")

    def run():
        must(observe(active).outcome == "coalesced", "the outcome")

    run()
    time.sleep(REST)
    run()
    return run


def transition(directory):
    voice = writer(directory)
    # Whatever a run before this one left there.
    voice.interrupt()
    observe = voice.observe
    states = [gallivant.Observation("idle"), gallivant.Observation("active")]

    def run():
        must(observe(states[0]).outcome == "landed", "the outcome")
        states.reverse()

    return run


def heartbeat(directory):
    beat = writer(directory).heartbeat
    return lambda: must(beat().outcome == "landed", "the outcome")


def read(directory):
    reader = gallivant.Reader(directory)
    return lambda: must(reader.read().state == "active", "the state")


def whole_fleet(view):
    must(sum(entry.state.state == "active" for entry in view.entries) == FLEET, "the fleet")


def fleet(directory, threads=1):
    read_fleet = gallivant.read_fleet
    return lambda: whole_fleet(read_fleet(directory, threads=threads))


def fleet_unchanged(directory):
    kept = gallivant.Fleet(directory)
    return lambda: whole_fleet(kept.read())


def claim(directory):
    return lambda: must(gallivant.claim(directory, **IDENTITY).floor_failure is None, "the floor")


ROWS = {
    "restated": restated,
    "transition": transition,
    "heartbeat": heartbeat,
    "read": read,
    "fleet": fleet,
    "fleet-shared": lambda directory: fleet(directory, threads=2),
    "fleet-unchanged": fleet_unchanged,
    "claim": claim,
}


def main(row, directory):
    if row not in ROWS or (row.startswith("fleet") and not hasattr(gallivant, "Fleet")):
        print("no such row", file=sys.stderr)
        raise SystemExit(MISSING)
    run = ROWS[row](directory)
    print("ready", flush=True)
    for line in sys.stdin:
        count = range(int(line))
        started = time.perf_counter_ns()
        for _ in count:
            run()
        print(time.perf_counter_ns() - started, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
