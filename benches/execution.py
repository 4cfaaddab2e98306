"""What driving a call costs in Node and Python beyond the language's bare hop to a worker and back, and a hundred runs at once.

    python3 benches/execution.py [--rounds N] [DIRECTORY]

Needs `make build`. A call is a pass that inspects: one question to a transport in memory that answers at once, over a ledger in
DIRECTORY (a folder in memory where there is one). What the core does for it is taken off: that is the time of the same machine
stepped by hand. So is a bare hop for each hop that the driver needs:

| row | its hops | a bare hop |
| --- | --- | --- |
| Python, threads | 1: the method's thread | a thread that is started, and an event that it sets |
| Python, asyncio | 2: the two steps | a function on the default executor, awaited |
| Node | 0: both sides have the two of the steps | |

All rows are processes that take turns in short batches. The table shows the best batch of each, which is the one that no neighbour
has disturbed. Bars: at most 10 µs beyond the hops; no stretch of more than 5 ms in which the event loop does not turn.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bindings-python/python"))

BATCH = 40
BAR_US = 10
LOOP_BAR_MS = 5
CAPABILITY = {
    "provider": "bench",
    "transport": "memory",
    "location": "remote",
    "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []},
    "environments": {"required": False, "allowed": None},
    "models": "refused",
    "policies": {"required": False, "allowed": []},
    "preparation": None,
    "continuation": "none",
    "observability": "states",
    "cancel": False,
    "interrupt": False,
    "cost": {"reports": True, "hardCap": False},
}
IDS = '{"providerJobId":"job-1","turnId":"turn-1"'


def observed():
    """What the transport answers, as text."""
    return f'{IDS},"state":"running","observedAt":{time.time_ns() // 1_000_000},"events":[]}}'


class Memory:
    """A transport that answers at once."""

    def submit(self, call):
        return IDS + "}"

    def inspect(self, call):
        return observed()

    def collect(self, call):
        return None


class AsyncMemory:
    """The same, awaited."""

    async def submit(self, call):
        return IDS + "}"

    async def inspect(self, call):
        return observed()

    async def collect(self, call):
        return None


OPTIONS = {
    "task_id": "task",
    "provider": "bench",
    "account": "me",
    "budget_usd": 8,
    "health": "external",
    "capabilities": CAPABILITY,
}
WORK = {"operationId": "op-1", "prompt": "do it", "reservationUsd": 0.5}


def hop():
    """A thread that is started, and an event that it sets."""
    over = threading.Event()
    threading.Thread(target=over.set, daemon=True).start()
    over.wait()


def row_of(name, root):
    """What one operation of a row is."""
    from gallivant.execution import make_execution

    if name == "hop":
        return hop
    task = make_execution(root, transport=Memory(), **OPTIONS)
    task.submit(WORK)
    if name == "driven":
        return lambda: task.call_json("reconcile", '{"force":true}')

    def stepped():
        with task.machine("reconcile", '{"force":true}') as machine:
            machine.reply(machine.start().id, observed())

    return stepped


async def awaited_row_of(name, root):
    """The same for asyncio."""
    from gallivant.aio import AsyncExecution

    if name == "aio-hop":
        loop = asyncio.get_running_loop()
        return lambda: loop.run_in_executor(None, int)
    task = AsyncExecution.make(root, transport=AsyncMemory(), **OPTIONS)
    await task.submit(WORK)
    return lambda: task.call_json("reconcile", '{"force":true}')


def serve(name, root):
    """A row as a process: so many operations for each line, and the nanoseconds that they took, the clock's and the processor's."""

    def started():
        return time.perf_counter_ns(), time.process_time_ns()

    def answer(since):
        print(*(now - then for now, then in zip(started(), since)), flush=True)

    async def awaited():
        run = await awaited_row_of(name, root)
        print("ready", flush=True)
        for line in sys.stdin:
            began = started()
            for _ in range(int(line)):
                await run()
            answer(began)

    if name.startswith("aio-"):
        asyncio.run(awaited())
        return
    run = row_of(name, root)
    print("ready", flush=True)
    for line in sys.stdin:
        began = started()
        for _ in range(int(line)):
            run()
        answer(began)


class Row:
    """A running row."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", command
        self.times = []

    def batch(self):
        """Makes a batch, and keeps the microseconds of one operation, by the clock and by the processor."""
        print(BATCH, file=self.process.stdin, flush=True)
        wall, cpu = self.process.stdout.readline().split()
        self.times.append((int(wall) / BATCH / 1000, int(cpu) / BATCH / 1000))

    def end(self):
        """Ends it, and gives the best batch."""
        self.process.stdin.close()
        self.process.wait()
        return [min(column) for column in zip(*self.times)]


def main():
    """The table."""
    parser = argparse.ArgumentParser(usage="execution.py [--rounds N] [DIRECTORY]")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("directory", nargs="?", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve, given.directory)
        return
    place = tempfile.mkdtemp(prefix="gallivant-bench-", dir=given.directory)
    node = ["node", os.path.join(HERE, "execution_rows.mjs")]
    python = [sys.executable, os.path.abspath(__file__), "--serve"]
    commands = {name: [*python, name] for name in ("hop", "stepped", "driven", "aio-hop", "aio-driven")}
    commands.update({f"node-{name}": [*node, name] for name in ("hop", "stepped", "driven")})
    try:
        rows = {name: Row([*command, os.path.join(place, name)]) for name, command in commands.items()}
        for _ in range(given.rounds):
            for row in rows.values():
                row.batch()
        us = {name: row.end() for name, row in rows.items()}
        print("row             | clock     | a call | by hand | bare hop | hops | beyond | bar 10 µs")
        for name, call, core, bare, hops in [
            ("Python, threads", us["driven"], us["stepped"], us["hop"], 1),
            ("Python, asyncio", us["aio-driven"], us["stepped"], us["aio-hop"], 2),
            ("Node", us["node-driven"], us["node-stepped"], us["node-hop"], 0),
        ]:
            for at, clock in enumerate(("wall", "processor")):
                beyond = call[at] - core[at] - hops * bare[at]
                figures = f"{call[at]:6.1f} | {core[at]:7.1f} | {bare[at]:8.1f} | {hops:4} | {beyond:6.1f}"
                print(f"{name:15} | {clock:9} | {figures} | {'meets' if beyond <= BAR_US else 'misses'}")
        told = subprocess.run([*node, "crowd", os.path.join(place, "crowd")], stdout=subprocess.PIPE, text=True, check=True)
        crowd = json.loads(told.stdout)
        verdict = "meets" if crowd["workMs"] <= LOOP_BAR_MS else "misses"
        print(
            f"100 runs at once in Node, one of which hangs: a call takes {crowd['medianMs']:.1f} ms beyond its provider's 50, "
            f"99 of 100 at most {crowd['p99Ms']:.1f}, none more than {crowd['mostMs']:.1f}; the longest turn of the event loop has "
            f"worked {crowd['workMs']:.1f} ms ({crowd['loopMs']:.1f} by the clock): {verdict}"
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
