"""Local runs from Python: a shell script in the place of a harness, started, watched, stopped and settled."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import tempfile
import threading
import time
import unittest

from gallivant import aio, errors
from gallivant.execution import Signal, make_execution

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "gallivant"
RECORD = {
    "provider": "prov", "transport": "process", "location": "local",
    "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []},
    "environments": {"required": False, "allowed": None}, "models": "native",
    "policies": {"required": True, "allowed": ["safe"]}, "preparation": None, "continuation": "native",
    "observability": "events", "cancel": True, "interrupt": True, "cost": {"reports": True, "hardCap": False},
    "qualification": None,
}
OPTIONS = {"task_id": "t-1", "provider": "prov", "account": "acct", "capabilities": RECORD, "health": "external"}
STUBBORN = "trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done"


def runs(pid: int) -> bool:
    """Whether a process runs under this pid; one that nobody has reaped does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@unittest.skipUnless((PACKAGE / "gallivant-supervise").exists(), "make build puts the supervisor beside the package")
class LocalRuns(unittest.TestCase):
    def setUp(self) -> None:
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def input(self, script: str) -> dict[str, object]:
        spec = {"argv": ["/bin/sh", "-c", script], "cwd": str(self.place), "env": {"PATH": "/usr/bin:/bin"}}
        return {"operationId": "op-1", "runId": "run-1", "prompt": "do it", "policy": "safe", "spec": spec}

    def pid(self) -> int:
        mark, until = self.place / "pid", time.monotonic() + 20
        while not (mark.exists() and mark.read_text().endswith("\n")):
            self.assertLess(time.monotonic(), until, "the script never began")
            time.sleep(0.005)
        return int(mark.read_text())

    def test_ex_pre_10_ctrl_c_ends_the_harness_that_is_asked_for_its_version(self) -> None:
        program = self.place / "drafter"
        program.write_text(f"#!/bin/sh\necho $$ > '{self.place}/pid'\nsleep 60\n")
        program.chmod(0o755)
        profile = {
            "program": str(program), "start": [], "resume": [], "prompt": "stdin", "output": "exit",
            "preparation": {"boundary": "tools-off", "minimumVersion": "1", "version": ["--version"], "render": []},
        }
        preparation = {"version": 1, "boundary": "tools-off", "authority": "native", "environment": "native"}
        options = {**OPTIONS, "capabilities": {**RECORD, "preparation": preparation}}

        def interrupt() -> None:
            self.pid()
            signal.raise_signal(signal.SIGINT)

        began = time.monotonic()
        with make_execution(self.place / "task", runner={"harnesses": {"prov": profile}}, **options) as execution:
            interrupter = threading.Thread(target=interrupt)
            interrupter.start()
            with self.assertRaises(KeyboardInterrupt):
                execution.prepare({"operationId": "op-1", "phase": "draft", "prompt": "plan it"})
            interrupter.join()
        self.assertFalse(runs(self.pid()))
        # Long before the harness would have been given up on.
        self.assertLess(time.monotonic() - began, 15)

    def test_ex_bnd_24_a_run_is_started_read_and_settled(self) -> None:
        with make_execution(self.place / "task", runner={}, **OPTIONS) as execution:
            job = execution.start(self.input("echo said; exit 3"))
            self.assertEqual(execution.read("run-1"), execution.current())
            self.assertEqual(execution.dir_of("run-1"), str(self.place / "task" / "run-1"))
            self.assertNotEqual(job["process"]["pid"], job["process"]["supervisor"]["pid"])
            self.assertTrue(execution.wait_for_kill("run-1", 20))
            outcome = execution.settle("run-1")
            assert outcome is not None
            self.assertEqual((outcome["ok"], outcome["exit"]), (False, 3))
            self.assertEqual(execution.settle("run-1"), outcome)
            for _ in range(3):
                execution.reconcile(force=True)
            self.assertIn("said", str(execution.lines("run-1")["rows"]))

    def test_ex_bnd_29_and_30_a_stubborn_tree_is_killed_when_it_is_due(self) -> None:
        with make_execution(self.place / "task", runner={}, **OPTIONS) as execution:
            execution.start(self.input(STUBBORN))
            pid = self.pid()
            self.assertIsNone(execution.settle("run-1"))
            self.assertFalse(execution.wait_for_kill("run-1", 0.05))
            self.assertEqual(execution.kill("run-1", "enough", kill_after_ms=100)["confirmed"], False)
            self.assertTrue(runs(pid))
            self.assertTrue(execution.wait_for_kill("run-1", 20))
            self.assertFalse(runs(pid))

    def test_a_signal_ends_the_wait(self) -> None:
        with make_execution(self.place / "task", runner={}, **OPTIONS) as execution:
            execution.start(self.input(STUBBORN))
            signal = Signal()
            signal.fire()
            self.assertFalse(execution.wait_for_kill("run-1", 20, signal=signal))
            execution.kill("run-1", "enough", kill_after_ms=0)
            self.assertTrue(execution.wait_for_kill("run-1", 20))

    def test_ex_loc_01_without_the_supervisor_nothing_is_dispatched(self) -> None:
        runner = {"supervisor": str(self.place / "nowhere")}
        with make_execution(self.place / "task", runner=runner, **OPTIONS) as execution:
            with self.assertRaises(errors.ExecutionCapabilityError) as refused:
                execution.start(self.input("true"))
            self.assertEqual(refused.exception.reason, "unavailable")
            self.assertIn("GALLIVANT_SUPERVISE", refused.exception.remedy)

    def test_a_relative_supervisor_is_the_same_program_wherever_the_process_goes(self) -> None:
        (self.place / "supervise").symlink_to(PACKAGE / "gallivant-supervise")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.place)
        with make_execution("task", runner={"supervisor": "supervise"}, **OPTIONS) as execution:
            os.chdir("/")
            execution.start(self.input("exit 3"))
            self.assertTrue(execution.wait_for_kill("run-1", 20))
            outcome = execution.settle("run-1")
            assert outcome is not None
            self.assertEqual((outcome["ok"], outcome["exit"]), (False, 3))

    def test_awaited(self) -> None:
        async def run() -> None:
            async with aio.AsyncExecution.make(self.place / "task", runner={}, **OPTIONS) as execution:
                await execution.start(self.input(STUBBORN))
                self.pid()
                self.assertFalse(await execution.wait_for_kill("run-1", 0.05))
                await execution.kill("run-1", "enough", kill_after_ms=50)
                self.assertTrue(await execution.wait_for_kill("run-1", 20))
                await execution.reconcile(force=True)
                outcome = await execution.settle("run-1")
                assert outcome is not None
                self.assertEqual(outcome["ok"], False)

        asyncio.run(run())


if __name__ == "__main__":
    unittest.main()
