"""The blocks of the guides to the command line, to local runs and to publication, run as they stand there."""
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from test_guides import CAPABILITY, LEDGER, ROOT, blocks

import gallivant
from gallivant.execution import make_execution
from gallivant.execution_result import reconcile_execution_result

COMMAND = os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"), "release/gallivant")
LOCAL = {**CAPABILITY, "provider": "claude", "transport": "process", "location": "local", "models": "native", "preparation": None}


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, *names):
        return os.path.join(self.folder, *names)


class CommandLine(InAFolder):
    def run_block(self, text, says=""):
        """What it prints, with `gallivant` and a program `claude` on the path, and a home of its own."""
        os.makedirs(self.at("bin"), exist_ok=True)
        if not os.path.exists(self.at("bin/gallivant")):
            os.symlink(COMMAND, self.at("bin/gallivant"))
        with open(self.at("bin/claude"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(self.at("bin/claude"), 0o755)
        environment = {"PATH": f"{self.at('bin')}:/usr/local/bin:/usr/bin:/bin", "HOME": self.folder, "GALLIVANT_DIR": self.at("agents")}
        done = subprocess.run(
            ["bash", "-uc", text], cwd=self.folder, env=environment, text=True, timeout=60, input=says,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        return done.stdout

    def test_a_program_is_wrapped(self):
        wrap, _ = blocks("docs/guides/command-line.md", "sh")
        self.assertEqual(self.run_block(wrap), "")
        with open(self.at("agents/worker/harness-state"), encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual((record["state"], record["exit"], record["harness"]), ("ended", "exit 3", "claude"))

    def test_hooks_come_and_go(self):
        _, hooks = blocks("docs/guides/command-line.md", "sh")
        install, show, remove = hooks.splitlines()
        os.mkdir(self.at(".claude"))
        before = '{\n  "model": "large"\n}\n'
        with open(self.at(".claude/settings.json"), "w", encoding="utf-8") as file:
            file.write(before)
        self.assertIn("gallivant hook claude", self.run_block(install.partition("#")[0] + " --yes"))
        self.assertNotIn("missing", self.run_block(show))
        self.run_block(remove + " --yes")
        with open(self.at(".claude/settings.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), before)


class LocalRuns(InAFolder):
    def test_a_run_is_started_stopped_and_settled(self):
        [block] = blocks("docs/guides/local-runs.md", "python")
        spec = {"argv": ["/bin/sh", "-c", "exec sleep 60"], "cwd": self.folder, "env": {"PATH": "/usr/bin:/bin"}}
        names = {"make_execution": make_execution, "RECORD": LOCAL, "SPEC": spec}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(block.replace("/srv/tasks/1", self.at("task")), names)
        self.assertIn("'finished': True", said.getvalue())

    def test_a_profile_of_the_users_own_starts(self):
        [profile] = (json.loads(block) for block in blocks("docs/guides/local-runs.md", "json"))
        os.mkdir(self.at("bin"))
        with open(self.at("bin/my-harness"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$@" >said\n')
        os.chmod(self.at("bin/my-harness"), 0o755)
        spec = {"harness": "mine", "cwd": self.folder, "env": {"PATH": f"{self.at('bin')}:/usr/bin:/bin"}, "args": ["--quick"]}
        options = {"task_id": "t-1", "provider": "claude", "account": "me", "capabilities": LOCAL, "health": "external"}
        with make_execution(self.at("task"), runner={"harnesses": profile}, **options) as execution:
            execution.start({"operationId": "op-1", "runId": "run-1", "prompt": "fix the test", "spec": spec})
            self.assertTrue(execution.wait_for_kill("run-1", 30))
        with open(self.at("said"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "run --quick\n")


class Publication(InAFolder):
    def test_the_plan_is_taken_once_its_source_is_the_approved_one(self):
        [plan] = (json.loads(block) for block in blocks("docs/guides/publish-a-result.md", "json"))
        root = shutil.copytree(LEDGER, self.at("task"))
        methods = ("prepare", "submit", "inspect", "continue_", "collect", "cancel", "lookup", "recover_response")
        transport = type("Provider", (), {name: None for name in methods})
        for name in methods:
            setattr(transport, name, lambda self, call: self.fail(call.method))
        options = {"task_id": "t-1", "provider": "memory", "account": "a-1", "capabilities": CAPABILITY, "health": "external"}
        places = {"checkout": self.folder, "scratch": self.folder, "publisher": object(), "entry_stopped": lambda run_id: False}
        # The page says in words what the hash is of.
        right = hashlib.sha256(plan["verification"]["source"].encode()).hexdigest()
        with make_execution(root, transport=transport(), budget_usd=8, **options) as execution:
            for approved, refused in (("0" * 64, gallivant.ExecutionConflictError), (right, gallivant.ExecutionResultError)):
                plan["verification"]["approvedHash"] = approved
                with self.assertRaises(refused):
                    reconcile_execution_result(execution, "run-op-2", plan, **places)


if __name__ == "__main__":
    unittest.main()
