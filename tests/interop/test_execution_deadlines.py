"""The deadline of a call, against a real provider: what it ends, and what it leaves alone."""
import importlib.util
import json
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from coordinators import ROOT, Provider

sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))
from gallivant import errors
from gallivant.execution import make_execution, unresolved

_spec = importlib.util.spec_from_file_location("transport", os.path.join(ROOT, "examples/python-coordinator/transport.py"))
transport = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(transport)

WORK = {"operationId": "op-1", "runId": "run-1", "prompt": "do it", "reservationUsd": 0.5}


class Deadlines(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.provider = Provider(os.path.join(place.name, "provider.json"), None)
        self.addCleanup(self.provider.end)

    def task(self, name, **limits):
        execution = make_execution(
            os.path.join(self.place, name),
            task_id=name,
            provider="hosted-agents",
            account="me",
            budget_usd=8,
            health="external",
            capabilities=transport.CAPABILITIES,
            transport=transport.HostedAgents(self.provider.address, "a-key"),
            limits=limits,
        )
        self.addCleanup(execution.close)
        return execution

    def lost(self, execution, how, reason):
        self.provider.control("/fail", {"route": "create", "how": how})
        with self.assertRaises(errors.ExecutionAcceptanceUnknownError) as raised:
            execution.submit(WORK)
        self.assertEqual(raised.exception.reason, reason)

    def test_ex_sch_04_a_shorter_deadline_applies_and_a_submit_that_it_ended_stays_unknown(self):
        task = self.task("short", deadlineMs=2_000)
        began = time.monotonic()
        self.lost(task, "hang", "deadline")
        # The usual deadline is 20 s.
        self.assertLess(time.monotonic() - began, 15)
        # Nothing but a look-up changes that.
        with self.assertRaises(errors.ExecutionAcceptanceUnknownError):
            task.submit(WORK)
        self.assertEqual(len(unresolved(os.path.join(self.place, "short"))), 1)
        self.assertEqual(self.provider.control()["requests"], {"create": 1})
        self.assertEqual(task.startup()["acceptance"], "accepted")

    def test_ex_sch_08_a_longer_deadline_changes_no_allowance_and_no_recovery(self):
        seen = []
        for name, deadline_ms in (("short", 15_000), ("long", 120_000)):
            task = self.task(name, deadlineMs=deadline_ms)
            self.lost(task, "lose-reply", "io")
            with open(os.path.join(self.place, name, "execution.json"), encoding="utf-8") as file:
                ledger = json.load(file)
            [open_operation] = unresolved(os.path.join(self.place, name))
            report = task.startup()
            told = (report["acceptance"], report["called"], report["state"], task.inspect()["failures"])
            seen.append((ledger["allowance"], open_operation.remedy, told))
        self.assertEqual(seen[0], seen[1])


if __name__ == "__main__":
    unittest.main()
