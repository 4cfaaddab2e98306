"""A coordinator as anybody writes one: starts local runs, follows them to their end, and takes up what a dead one has left.

    python3 coordinator.py PLAN NOTES

PLAN is a JSON file: `root`, `record`, `secrets` and `runner` of the boundary; `turns`, each the input of a dispatch, the first of
`start` and the others of `continue`, with that of `prepare` in it where the turn is prepared; and `stop`, where the first run is to be stopped: `when` a file exists, with which
`killAfterMs`, or by an interrupt where it `interrupts`. NOTES gets a line of JSON for everything that was done.
"""
from __future__ import annotations

import json
import os
import sys
import time

from gallivant.execution import Execution, make_execution

#: How often a run is looked at, in seconds. Each look renews the stamp of the run's session.
PERIOD = 0.1
#: How long a stopped tree may take to go once its KILL is due, in seconds.
PATIENCE = 30
#: A journal takes one page of output in a pass.
PAGES = 100


class Notes:
    """Lines of JSON in a file that outlives the program."""

    def __init__(self, path: str) -> None:
        self.path = path

    def add(self, what: str, **told: object) -> None:
        with open(self.path, "a", encoding="utf-8") as notes:
            notes.write(json.dumps({"what": what, "at": time.monotonic(), **told}) + "\n")


def follow(execution: Execution, run_id: str, stop: dict | None, notes: Notes) -> None:
    """Passes until the run is settled; stops it on the way where that is planned."""
    while (outcome := execution.settle(run_id)) is None:
        if stop is not None and os.path.exists(stop["when"]):
            notes.add("stopping", run=run_id)
            if stop["interrupts"]:
                execution.interrupt("enough", run_id=run_id)
            else:
                execution.kill(run_id, "enough", kill_after_ms=stop["killAfterMs"])
            notes.add("stopped", gone=execution.wait_for_kill(run_id, PATIENCE))
            stop = None
        time.sleep(PERIOD)
        execution.reconcile(force=True)
    notes.add("settled", run=run_id, outcome=outcome, lines=lines(execution, run_id))


def lines(execution: Execution, run_id: str) -> list[dict]:
    """The public lines of a run, once everything is in its journal."""
    rows: list[dict] = []
    seen = None
    for _ in range(PAGES):
        execution.reconcile(force=True)
        page = execution.lines(run_id, after=seen)
        seen = page["after"] or seen
        rows += page["rows"]
        if rows and not page["rows"]:
            break
    return rows


def main(plan_path: str, notes_path: str) -> None:
    with open(plan_path, encoding="utf-8") as file:
        plan = json.load(file)
    notes = Notes(notes_path)
    with make_execution(
        plan["root"], task_id="task-1", provider=plan["record"]["provider"], account="me", capabilities=plan["record"],
        runner=plan["runner"], secrets=plan["secrets"], health="external",
    ) as execution:
        found = execution.current()
        if found is not None:
            notes.add("took over", job=found)
            execution.startup()
        for number, turn in enumerate(plan["turns"]):
            if execution.read(turn["runId"]) is None:
                if "prepare" in turn:
                    prepared = execution.prepare(turn.pop("prepare"))
                    turn = {**turn, "preparation": prepared["receipt"], "native": prepared["native"]}
                execution.continue_(turn) if number else execution.start(turn)
                notes.add("started", job=execution.read(turn["runId"]))
            follow(execution, turn["runId"], None if number else plan["stop"], notes)
    notes.add("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
