"""What the tests of idempotent creates share: a store of its own for each test, and a writer that keeps it busy."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import unittest

from gallivant.idempotency import IdempotencyStore

from .support import start_python

OPERATION, SCOPE, BODY = "harnesses.create", ["org", "workspace"], b'{"name":"worker"}'

HOLDS_THE_WRITE_LOCK = (
    "import sqlite3, sys\n"
    "held = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    "held.execute('BEGIN IMMEDIATE')\n"
    "print('held', flush=True)\n"
    "sys.stdin.read()\n"
)


class StoreCase(unittest.TestCase):
    """A test with a store in `self.store`, at `self.path`."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.path = os.path.join(directory.name, "idempotency.db")
        self.store = IdempotencyStore.open(self.path)

    def begin(self, key="k-1", body=BODY, scope=SCOPE, store=None, **options):
        return (store or self.store).begin(OPERATION, scope, key, body, **options)

    def inspect(self, key="k-1"):
        return self.store.inspect(OPERATION, SCOPE, key)

    @contextlib.contextmanager
    def busy(self):
        """Another process holds the write lock. Not this one: its own connection to the file would drop the store's."""
        import subprocess

        holder = start_python(HOLDS_THE_WRITE_LOCK, self.path, stdin=subprocess.PIPE)
        try:
            self.assertEqual(holder.stdout.readline(), "held\n")
            yield
        finally:
            holder.communicate(timeout=60)


@contextlib.contextmanager
def watchdog(seconds=120):
    """Kills the process where something in it waits for ever: no Python of it would run to say so."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
