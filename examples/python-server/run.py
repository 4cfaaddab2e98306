"""Writes a run for the server beside this file: what it reads from its standard input, a line an event.

    some-agent | python3 examples/python-server/run.py runs/7

An event's id is where its line begins. So a program that was killed is started again with the same input from the start, and
every line is there once.
"""

from __future__ import annotations

import os
import sys

from gallivant.journal import Event, Journal, Owner, Projection
from gallivant.redaction import Redactor


def main(directory: str) -> None:
    os.makedirs(directory, exist_ok=True)
    owner = Owner(task_id="example", run_id=os.path.basename(directory), provider="stdin")
    # Only one program writes a run at a time; here whoever starts this sees to it.
    with Journal.open(directory, owner, Redactor()) as journal, Projection.open(directory) as lines:
        position = 0
        for line in sys.stdin.buffer:
            text = line.rstrip(b"\n").decode("utf-8", "replace")
            journal.append([Event(f"byte:{position}", "local", "output", text)])
            lines.catch_up()
            position += len(line)


if __name__ == "__main__":
    main(sys.argv[1])
