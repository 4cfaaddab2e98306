"""A small coordinator of paid work, without a face: it has the tasks below a directory done by a provider of hosted agents.

    HOSTED_AGENTS_KEY=… python3 coordinator.py ROOT PROVIDER [--progress-ms 10000] [--repository FILE]

A task is a file, `ROOT/tasks/ID/task.json` with `{"prompt", "model", "budgetUsd"}`; its ledger, journal and result are below
`ROOT/tasks/ID/work`. With a FILE, which describes a repository (`publishing.py`), results are published that are to be. The coordinator in `examples/node-coordinator` makes and shows such tasks, and both may work on one root at
the same time: the boundaries' locks let one of them act on a task at a time, and what the other has sent is never sent again.

Says `ready` once it works. Kill it at any moment, and start it again: it goes on. On SIGINT and SIGTERM it lets a submit and a
publication end that have begun, and gives everything else up.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import signal
import sys
import threading
import time

from gallivant import errors
from gallivant.execution import Signal, make_execution, run_id
from publishing import Publishing
from transport import CAPABILITIES, HostedAgents

TASK_ID = re.compile(r"\w[\w.-]{0,63}", re.ASCII)
# So many tasks are worked on at once, in each lane.
CONCURRENCY = 8
# How often each lane looks, in seconds.
LOOK = 0.25
# What may go by itself. Every other refusal of a dispatch is for a person, and not tried again by itself (EX-LED-41).
PASSES = (
    errors.ExecutionBusyError,
    errors.ExecutionPublicationBusyError,
    errors.ExecutionIoError,
    errors.ExecutionDeadlineError,
)
# How long a publication that failed waits, in seconds.
WAIT = 5.0
# How a publication ends. What is blocked, no repetition changes.
ENDS = ("published", "blocked")


def say(line: str) -> None:
    """Tells a person."""
    print(f"coordinator: {line}", file=sys.stderr, flush=True)


class Task:
    """A task, and what is to be done with it: `new` (to be dispatched), `runs` (to be asked about, unresolved ones too),
    `publishes` (its result is on the way to a branch), `refused` (for a person), `ended`.
    """

    def __init__(self, name, wanted, execution):
        self.name = name
        self.wanted = wanted
        self.execution = execution
        # Made of the task and not of the attempt: a dispatch that is repeated meets the first one (EX-LED-72).
        self.operation_id = f"{name}.1"
        owner = {"task_id": name, "provider": CAPABILITIES["provider"], "account": "main"}
        self.run_id = run_id(**owner, operation_id=self.operation_id)
        self.phase = "new"
        self.told = None
        # What a publication has come to that leaves no checkpoint, and when the next may be tried.
        self.published = None
        self.publish_at = 0.0

    def learn(self):
        """Reads from the ledger how the task stands."""
        try:
            outcome = self.execution.outcome(self.run_id)
        except errors.ExecutionUnknownRunError:
            self.phase = "new" if self.execution.inspect()["stopFence"] is None else "ended"
        else:
            self.phase = "runs" if outcome is None else "publishes" if self.is_to_be_published(outcome) else "ended"

    def is_to_be_published(self, outcome):
        """Asked of the checkpoint: another coordinator may have published it."""
        if self.wanted.get("publish") is None or not outcome["ok"]:
            return False
        application = (self.execution.result_view(self.run_id) or {}).get("application") or {}
        is_over = application.get("status") in ENDS or self.published == "nothing"
        return not is_over and self.execution.inspect()["stopFence"] is None

    def note(self, error):
        """Tells of what a pass has saved as a reason to come again, once."""
        if error is not None and error["code"] != self.told:
            say(f"{self.name}: {error['code']}: {error.get('message', '')}; {error['remedy']}")
        self.told = error and error["code"]


class Coordinator:
    """The tasks below a root, by their names. `over` ends its lanes when it fires."""

    def __init__(self, root, transport, publishing, key, limits, over):
        self.root = os.path.join(root, "tasks")
        self.transport = transport
        self.publishing = publishing
        self.options = {
            "provider": CAPABILITIES["provider"],
            "account": "main",
            "capabilities": CAPABILITIES,
            "secrets": [key],
            "limits": limits,
            "health": "external",
        }
        self.over = over
        self.tasks = {}
        os.makedirs(self.root, mode=0o700, exist_ok=True)

    def find(self):
        """Takes in the tasks that it does not know, with a pass for every recorded run, before anything is paid for (EX-REC-32)."""
        found = []
        for name in os.listdir(self.root):
            path = os.path.join(self.root, name)
            if name in self.tasks or not TASK_ID.fullmatch(name) or not os.path.exists(os.path.join(path, "task.json")):
                continue
            with open(os.path.join(path, "task.json"), encoding="utf-8") as file:
                wanted = json.load(file)
            root = os.path.join(path, "work")
            # The key is there in tasks that are published nowhere, with null.
            publish = wanted.get("publish")
            transport = self.transport(publish and {name: publish[name] for name in ("repo", "branch")})
            execution = make_execution(root, task_id=name, budget_usd=wanted["budgetUsd"], transport=transport, **self.options)
            task = Task(name, wanted, execution)
            self.tasks[name] = task
            found.append(task)
        self.each(found, self.take_in)

    def take_in(self, task):
        """Learns how a task stands."""
        task.learn()
        if task.phase == "runs":
            task.note(task.execution.startup(signal=self.over)["error"])

    def dispatch(self, task):
        """Dispatches what is new. A submit that was begun is not given up: its reply is paid for."""
        wanted = task.wanted
        work = {
            "operationId": task.operation_id,
            "prompt": wanted["prompt"],
            "model": wanted["model"],
            "reservationUsd": wanted["budgetUsd"],
        }
        try:
            if wanted.get("publish") is not None:
                if self.publishing is None:
                    task.phase = "refused"  # Another coordinator on this root may have the repository.
                    return
                work["inputHead"] = wanted["publish"]["inputHead"]
                self.publishing.prepare(task)
            done = task.execution.submit(work)
            say(f"{task.name} is {done['acknowledgement']['providerJobId']} at the provider")
            task.learn()
        except errors.ExecutionError as refused:
            if isinstance(refused, errors.ExecutionFencedError):
                # A stop was queued before: a pass writes its fence down.
                task.execution.startup(signal=self.over)
            task.learn()
            if task.phase == "new" and not isinstance(refused, PASSES):
                task.phase = "refused"
            if not isinstance(refused, errors.ExecutionFencedError):
                raise
        except OSError:
            task.phase = "refused"
            raise

    def progress(self, task):
        """One pass, if it is due: it looks up, inspects, stops, collects."""
        if not task.execution.is_due():
            return
        task.note(task.execution.reconcile(signal=self.over)["error"])
        task.learn()
        if task.phase != "runs":
            say(f"{task.name} has ended")

    def publish(self, task):
        """Goes on with a publication. One that has begun is not given up at an end: commands that were interrupted are never run
        again (EX-VER-18), and the work would wait for a person.
        """
        if self.publishing is None or time.monotonic() < task.publish_at:
            return
        task.publish_at = time.monotonic() + WAIT
        try:
            done = self.publishing.publish(task)
            task.published = done["status"]
            say(f"{task.name} is {done['status']} {done.get('reason', '')}".rstrip())
            task.learn()
        except errors.ExecutionFencedError:
            # A stop came before the push: a pass writes its fence down.
            task.execution.startup(signal=self.over)
            task.learn()
        except (errors.ExecutionError, OSError) as refused:
            if not isinstance(refused, PASSES):
                task.phase = "refused"
            raise

    def each(self, tasks, work):
        """Does something for each task, for at most so many at a time. What one fails with is said, and harms no other."""

        def guarded(task):
            if self.over.fired:
                return
            try:
                work(task)
            except errors.ExecutionBusyError:
                pass  # Somebody else has the task now.
            except errors.ExecutionError as failed:
                if not self.over.fired:
                    task.note({"code": failed.code, "message": failed.message, "remedy": failed.remedy})
            except OSError as failed:
                task.note({"code": "failed", "remedy": str(failed)})

        with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as pool:
            list(pool.map(guarded, tasks))

    def lane(self, phase, work, before=None):
        """Turns of work until the end."""
        while not self.over.fired:
            try:
                if before is not None:
                    before()
                self.each([task for task in list(self.tasks.values()) if task.phase == phase], work)
            except OSError as failed:
                say(str(failed))
            self.over.wait(LOOK)

    def run(self):
        """Works until the end. A lane for each, so that a submit which hangs until its deadline keeps nobody's pass (EX-SCH-27), and
        commands nobody's submit.
        """
        lanes = [
            threading.Thread(target=self.lane, args=("new", self.dispatch, self.find)),
            threading.Thread(target=self.lane, args=("runs", self.progress)),
            threading.Thread(target=self.lane, args=("publishes", self.publish)),
        ]
        for lane in lanes:
            lane.start()
        print("ready", flush=True)
        for lane in lanes:
            lane.join()
        for task in self.tasks.values():
            task.execution.close()


def main() -> int:
    """The command."""
    arguments = argparse.ArgumentParser(usage="coordinator.py ROOT PROVIDER [--progress-ms MS] [--repository FILE]")
    arguments.add_argument("root")
    arguments.add_argument("provider")
    arguments.add_argument("--progress-ms", type=int, default=10_000)
    arguments.add_argument("--repository")
    wanted = arguments.parse_args()
    key = os.environ.get("HOSTED_AGENTS_KEY")
    if not key:
        say("the provider needs a key, variable=`HOSTED_AGENTS_KEY`")
        return 1
    over = Signal()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: threading.Thread(target=over.fire).start())
    limits = {"progressMs": wanted.progress_ms}
    publishing = Publishing(wanted.root, wanted.repository) if wanted.repository else None

    def transport(place):
        return HostedAgents(wanted.provider, key, place)

    Coordinator(wanted.root, transport, publishing, key, limits, over).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
