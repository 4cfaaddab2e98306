"""What the tests of the journal share: a run of its own for each test, and pages of events."""

from __future__ import annotations

import json
import os
import tempfile
import unittest

from gallivant.journal import Event, Journal, LogReader, Owner, Projection, Replay
from gallivant.redaction import Redactor

OWNER = Owner(task_id="t-1", run_id="r-1", provider="acme", job_id="j-1", turn_id="u-1")

# Appends pages of lines to the run in a directory, each projected at once: directory, lines, lines a page, pause in ms.
APPENDS = (
    "import sys, time\n"
    "from gallivant.journal import Event, Journal, Owner, Projection\n"
    "from gallivant.redaction import Redactor\n"
    "owner = Owner(task_id='t-1', run_id='r-1', provider='acme', job_id='j-1', turn_id='u-1')\n"
    "directory, lines, size, pause = sys.argv[1], *map(int, sys.argv[2:])\n"
    "journal, projection = Journal.open(directory, owner, Redactor()), Projection.open(directory)\n"
    "print('open', flush=True)\n"
    "for at in range(0, lines, size):\n"
    "    page = [Event(f'p-{number}', 'local', 'output', f'line {number}') for number in range(at, min(at + size, lines))]\n"
    "    journal.append(page)\n"
    "    projection.catch_up()\n"
    "    time.sleep(pause / 1000)\n"
)


class RunCase(unittest.TestCase):
    """A test with a run's directory in `self.run_directory`."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.run_directory = os.path.join(directory.name, "r-1")
        os.mkdir(self.run_directory)

    def path(self, name):
        return os.path.join(self.run_directory, name)

    def journal(self, secrets=(), **options):
        journal = Journal.open(self.run_directory, OWNER, Redactor(secrets), **options)
        self.addCleanup(journal.close)
        return journal

    def says(self, *texts, first=1):
        """Appends lines with these texts, and projects them."""
        page = [Event(f"e-{number}", "provider", "output", text) for number, text in enumerate(texts, first)]
        with Journal.open(self.run_directory, OWNER, Redactor()) as journal:
            journal.append(page)
        self.project()

    def counts(self, lines, first=1):
        """Appends so many lines, each with its number, and projects them."""
        self.says(*(f"line {number}" for number in range(first, first + lines)), first=first)

    def project(self, keep_bytes=None):
        with Projection.open(self.run_directory) as projection:
            projection.catch_up()
            return None if keep_bytes is None else projection.trim(keep_bytes)

    def reader(self):
        reader = LogReader.open(self.run_directory)
        self.addCleanup(reader.close)
        return reader

    def replay(self, last_event_id=None, **options):
        replay = Replay.open(self.run_directory, last_event_id, **options)
        self.addCleanup(replay.close)
        return replay

    def records(self):
        """The records of the log."""
        with open(self.path("events.jsonl"), encoding="utf-8") as log:
            return [json.loads(line) for line in log]


def text_of(frame):
    """What a frame of a line shows."""
    return json.loads(frame.data)["text"]


def descriptors():
    """What this process has open, by what it is."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return sorted(found)
