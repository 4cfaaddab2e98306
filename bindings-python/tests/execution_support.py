"""What the tests of the execution layer share: a provider in memory, and a task of its own for each test."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import unittest

from gallivant.execution import TransportError, make_execution
from gallivant.testing import TestHost

CAPABILITY = {
    "provider": "memory",
    "transport": "memory",
    "location": "remote",
    "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []},
    "environments": {"required": False, "allowed": None},
    "models": "refused",
    "policies": {"required": False, "allowed": []},
    "preparation": {"version": 1, "boundary": "memory:none", "authority": "text-only", "environment": "none"},
    "continuation": "native",
    "observability": "events",
    "cancel": True,
    "interrupt": False,
    "cost": {"reports": True, "hardCap": False},
    "qualification": None,
}
NOW = 1_800_000_000_000
SUBMIT = {"operationId": "op-1", "runId": "run-1", "prompt": "do it", "reservationUsd": 0.5}


class Provider:
    """Jobs by their idempotency keys."""

    def __init__(self):
        self.jobs = {}
        self.now = NOW

    def acknowledgement(self, input):
        number = len(self.jobs) + 1
        previous = (input.get("previous") or {}).get("providerJobId")
        job = {
            "providerJobId": previous or f"job-{number}",
            "turnId": f"turn-{number}",
            "sessionId": input.get("sessionId") or f"session-{number}",
        }
        return self.jobs.setdefault(input["idempotencyKey"], {"job": job, "state": "running"})["job"]

    def observation(self, job):
        ended = {"completedAt": self.now} if job["state"] in ("succeeded", "cancelled") else {}
        events = [{"eventId": "e-1", "sequence": 1, "type": "output", "timestamp": self.now, "data": "hello"}]
        seen = {"state": job["state"], "observedAt": self.now, "events": events, "cursor": "c-1", "costUsd": 0.25}
        return {**job["job"], **seen, **ended}


class Memory:
    """A transport to such a provider. `mishaps` is a function by method, called instead of it."""

    def __init__(self, provider=None):
        self.provider = Provider() if provider is None else provider
        self.calls = []
        self.mishaps = {}

    def _job(self, input):
        return next(job for job in self.provider.jobs.values() if job["job"]["turnId"] == input["turnId"])

    def _do(self, name, call, work):
        self.calls.append(call)
        return self.mishaps.get(name, work)(call)

    def prepare(self, call):
        grant = {"boundary": "memory:none", "authority": "text-only", "grant": {"token": "g-1"}}
        return self._do("prepare", call, lambda call: grant)

    def submit(self, call):
        def submit(call):
            call.sending()
            return self.provider.acknowledgement(call.input)

        return self._do("submit", call, submit)

    def continue_(self, call):
        return self._do("continue", call, lambda call: self.provider.acknowledgement(call.input))

    def inspect(self, call):
        return self._do("inspect", call, lambda call: self.provider.observation(self._job(call.input)))

    def collect(self, call):
        def collect(call):
            job = self._job(call.input)["job"]
            outcome = {"finished": True, "ok": True, "cost": 0.25, "denials": []}
            return {**job, "inputHead": None, "outcome": outcome, "completedAt": self.provider.now, "text": "done"}

        return self._do("collect", call, collect)

    def cancel(self, call):
        def cancel(call):
            self._job(call.input)["state"] = "cancelled"
            return {"confirmed": True}

        return self._do("cancel", call, cancel)

    def lookup(self, call):
        def lookup(call):
            job = self.provider.jobs.get(call.input["idempotencyKey"])
            return job and self.provider.observation(job)

        return self._do("lookup", call, lookup)

    def recover_response(self, call):
        def recover(call):
            job = self.provider.jobs.get(call.input["idempotencyKey"])
            return job and job["job"]

        return self._do("recoverResponse", call, recover)

    @property
    def methods(self):
        return [call.method for call in self.calls]


class AsyncMemory:
    """The same with coroutines. A mishap may be a coroutine function."""

    def __init__(self):
        self.memory = Memory()

    def __getattr__(self, name):
        method = getattr(self.memory, name)

        async def awaited(call):
            answer = method(call)
            return await answer if hasattr(answer, "__await__") else answer

        return awaited


class TaskCase(unittest.TestCase):
    """A test with a task's root in `self.root`, a transport and a machine whose clock stands."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = os.path.join(directory.name, "task")
        self.transport = Memory()
        self.host = TestHost(wall_ms=NOW, jitter=0.5)

    def options(self, **options):
        made = {
            "task_id": "t-1",
            "provider": "memory",
            "account": "me",
            "capabilities": CAPABILITY,
            "transport": self.transport,
            "budget_usd": 8,
            "health": "external",
            "host": self.host,
        }
        return {**made, **options}

    def made(self, **options):
        execution = make_execution(self.root, **self.options(**options))
        self.addCleanup(execution.close)
        return execution

    def ledger(self):
        with open(os.path.join(self.root, "execution.json"), encoding="utf-8") as file:
            return json.load(file)

    def acceptance(self, operation="op-1"):
        operations = self.ledger()["operations"]
        found = operations.values() if isinstance(operations, dict) else operations
        return next(one["acceptance"] for one in found if one["operationId"] == operation)

    def advance(self, ms):
        self.host.advance_ms(ms)
        self.transport.provider.now += ms


def lost(call):
    """A reply that is lost after it was sent."""
    call.sending()
    raise TransportError("io", "the connection is gone")


class Never:
    """A method that does not return until it is released, whatever its signal says."""

    def __init__(self):
        self.entered = threading.Event()
        self.released = threading.Event()

    def __call__(self, call):
        self.entered.set()
        self.released.wait()
        return None
