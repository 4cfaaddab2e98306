"""The blocks of the guides to the command line, to local runs and to publication, run as they stand there."""
import contextlib
import hashlib
import io
import json
import os
import re
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
            ["bash", "-uc", text], cwd=self.folder, env=environment, text=True, timeout=180, input=says,
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


# Stands for Claude Code, and says what that would: `make e2e` runs the real one by the same page.
CLAUDE = """#!/bin/sh
if [ "$1" = --version ]; then echo '9.0.0 (Claude Code)'; exit; fi
prompt=$(cat)
echo "$@" >arguments
while [ $# -gt 0 ]; do
    case $1 in --session-id | --resume) how=$1 session=$2 ;; esac
    shift
done
echo "$how $session $prompt" >>asked
echo "{\\"type\\":\\"system\\",\\"subtype\\":\\"init\\",\\"session_id\\":\\"$session\\"}"
[ "$prompt" != wait ] || sleep 600
echo "{\\"type\\":\\"result\\",\\"subtype\\":\\"success\\",\\"is_error\\":false,\\"session_id\\":\\"$session\\",\\"total_cost_usd\\":0.25}"
"""


class LocalRuns(InAFolder):
    PAGE = "docs/guides/local-runs.md"

    def setUp(self):
        super().setUp()
        for name in ("bin", "work", "node_modules"):
            os.mkdir(self.at(name))
        os.symlink(COMMAND, self.at("bin/gallivant"))
        os.symlink(os.path.join(ROOT, "bindings-node"), self.at("node_modules/gallivant"))
        with open(self.at("bin/claude"), "w", encoding="utf-8") as file:
            file.write(CLAUDE)
        os.chmod(self.at("bin/claude"), 0o755)
        for name, language in (("coordinator.py", "python"), ("coordinator.mjs", "js")):
            program, *_ = blocks(self.PAGE, language)
            with open(self.at(name), "w", encoding="utf-8") as file:
                file.write(program.replace("/srv/", f"{self.folder}/"))

    def shell(self, text):
        """What a block of the shell prints; `/srv` is the folder."""
        path = os.pathsep.join([self.at("bin"), os.path.dirname(shutil.which("node")), "/usr/local/bin:/usr/bin:/bin"])
        environment = {"PATH": path, "HOME": self.folder, "PYTHONPATH": os.path.join(ROOT, "bindings-python/python")}
        done = subprocess.run(
            ["bash", "-euc", text.replace("/srv", self.folder)], cwd=self.folder, env=environment, text=True, timeout=180,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def asked(self):
        with open(self.at("work/asked"), encoding="utf-8") as file:
            return [line.split(" ", 2) for line in file.read().splitlines()]

    def test_the_page_is_followed_from_start_to_end(self):
        install, run, state = blocks(self.PAGE, "sh")
        self.shell(install)
        with open(self.at("work/.claude/settings.json"), encoding="utf-8") as file:
            self.assertIn("gallivant hook claude", file.read())
        said = self.shell(run)
        self.assertIn('"subtype":"init"', said)
        self.assertRegex(said, r"ok=True exit=0 cost=0\.25 denied=0 session=[0-9a-f-]{36}\n$")
        self.assertRegex(self.shell(state), r"worker +ended +\S+ +claude")
        # The next turn, by the program in the other language, goes on in the session of the first.
        with open(os.path.join(ROOT, self.PAGE), encoding="utf-8") as page:
            self.assertIn('`node coordinator.mjs "mend the failing test"`', page.read())
        said = self.shell('node coordinator.mjs "and the other one"')
        self.assertRegex(said, r"ok=true exit=0 cost=0\.25 denied=0 session=[0-9a-f-]{36}\n$")
        (first, session, prompt), (second, resumed, more) = self.asked()
        self.assertEqual((first, prompt), ("--session-id", "mend the failing test"))
        self.assertEqual((second, resumed, more), ("--resume", session, "and the other one"))

    def test_a_run_outlives_its_coordinator_and_is_taken_up(self):
        program = ["python3", self.at("coordinator.py"), "wait"]
        environment = {"PATH": f"{self.at('bin')}:/usr/bin:/bin", "PYTHONPATH": os.path.join(ROOT, "bindings-python/python")}
        with subprocess.Popen(program, env=environment, stdout=subprocess.PIPE) as coordinator:
            self.assertIn(b"init", coordinator.stdout.readline())
            coordinator.kill()
        # Each language's block stops a run, here the one that the dead program has left; the second finds it stopped.
        options = {"task_id": "task-1", "provider": "claude", "account": "me", "capabilities": LOCAL, "health": "external"}
        names = {}
        exec(blocks(self.PAGE, "python")[1], names)
        with make_execution(self.at("tasks/1"), runner={}, **options) as execution:
            run = execution.current()
            self.assertIsNone(execution.outcome(run["runId"]))
            with contextlib.redirect_stdout(io.StringIO()) as said:
                names["stop"](execution, run["runId"])
        self.assertEqual(said.getvalue(), "cancelled\n")
        with open(self.at("coordinator.mjs"), encoding="utf-8") as file:
            made = file.read().partition("let run =")[0]
        with open(self.at("stop.mjs"), "w", encoding="utf-8") as file:
            file.write(f"{made}{blocks(self.PAGE, 'js')[1]}await stop(execution, '{run['runId']}')\n")
        self.assertEqual(self.shell("node stop.mjs"), "cancelled\n")
        self.assertEqual(len(self.asked()), 1)

    def test_a_prepared_turn_is_started_as_it_was_rendered(self):
        names = {}
        exec(blocks(self.PAGE, "python")[2].replace("/srv/", f"{self.folder}/"), names)
        with open(os.path.join(ROOT, self.PAGE), encoding="utf-8") as page:
            [written] = re.findall(r'`"preparation": (\{"version"[^`]*)`', page.read())
        record = {**LOCAL, "preparation": json.loads(written)}
        options = {"task_id": "task-1", "provider": "claude", "account": "me", "capabilities": record, "health": "external"}
        with make_execution(self.at("tasks/1"), runner={}, budget_usd=8, **options) as execution:
            before, os.environ["PATH"] = os.environ["PATH"], f"{self.at('bin')}:{os.environ['PATH']}"
            try:
                names["draft"](execution, "plan it")
            finally:
                os.environ["PATH"] = before
            self.assertTrue(execution.wait_for_kill("run-draft-1", 120))
            self.assertTrue(execution.settle("run-draft-1")["ok"])
        with open(self.at("work/arguments"), encoding="utf-8") as file:
            self.assertIn(" --tools  ", file.read())
        self.assertEqual([asked[-1] for asked in self.asked()], ["plan it"])

    def test_a_profile_of_the_users_own_starts(self):
        [profile] = (json.loads(block) for block in blocks(self.PAGE, "json"))
        with open(self.at("bin/my-harness"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$@" >said\n')
        os.chmod(self.at("bin/my-harness"), 0o755)
        spec = {"harness": "mine", "cwd": self.folder, "env": {"PATH": f"{self.at('bin')}:/usr/bin:/bin"}, "args": ["--quick"]}
        options = {"task_id": "t-1", "provider": "claude", "account": "me", "capabilities": LOCAL, "health": "external"}
        with make_execution(self.at("task"), runner={"harnesses": profile}, **options) as execution:
            execution.start({"operationId": "op-1", "runId": "run-1", "prompt": "fix the test", "spec": spec})
            self.assertTrue(execution.wait_for_kill("run-1", 120))
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
