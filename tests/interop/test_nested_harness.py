"""HS-113 with real processes: a harness that a harness starts inherits the variables, and its hooks write nothing."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))

import gallivant  # noqa: E402

# A harness by its name alone: it does what its arguments say, one after the other. `event:<name>` runs a hook of its
# own; `start:<program>` starts a program with the rest of the arguments, through a shell as a tool does.
HARNESS = """#!{python}
import json, subprocess, sys
arguments = sys.argv[1:]
while arguments:
    step, _, value = arguments.pop(0).partition(":")
    if step == "event":
        payload = json.dumps({{"hook_event_name": value, "reason": "other"}}).encode()
        hook = [sys.executable, "-m", "gallivant.hook", "claude"]
        subprocess.run(hook, input=payload, check=True)
    elif step == "start":
        subprocess.run(["sh", "-c", '"$@"; :', "sh", value, *arguments], check=True)
        arguments = []
    elif step == "wait":
        sys.stdin.readline()
"""


class NestedHarness(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.directory = os.path.join(place.name, "agent")
        self.session = gallivant.Session.start(self.directory, "worker", "claude", pty_session="worker")
        self.addCleanup(self.session.end)

    def program(self, name):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as script:
            script.write(HARNESS.format(python=sys.executable))
        os.chmod(path, 0o755)
        return path

    def run_harness(self, command, attach=True):
        """Starts the outer harness, attaches it, and lets it go on once it is attached."""
        environment = {**os.environ, **self.session.to_env(), "PYTHONPATH": os.path.join(ROOT, "bindings-python/python")}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        if attach:
            self.session.attach(process.pid)
        process.communicate(b"\n", timeout=180)
        self.assertEqual(process.returncode, 0)

    def read(self):
        return gallivant.Reader(self.directory).read().state

    def log(self):
        try:
            with open(os.path.join(self.directory, ".harness-state.log"), encoding="utf-8") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def test_hs_113_a_nested_harness_writes_nothing(self):
        outer, inner = self.program("claude"), self.program("codex")
        nested = ["start:" + inner, "event:Stop", "event:SessionEnd"]
        self.run_harness([outer, "wait", "event:UserPromptSubmit", *nested])
        self.assertEqual(self.read(), "active")
        self.assertEqual(self.log().count("refused foreign-descendant"), 2, self.log())

    def test_c_008_a_copy_in_the_shell_tool_does_not_end_the_outer_turn(self):
        # The events of C-008.nested.hooks.jsonl in their order. A record of ours has no conversation to be mixed up.
        outer, inner = self.program("claude"), self.program("inner/claude")
        nested = ["start:" + inner, "event:SessionStart", "event:Stop", "event:SessionEnd"]
        self.run_harness([outer, "wait", "event:UserPromptSubmit", "event:PreToolUse", *nested])
        self.assertEqual(self.read(), "active")
        self.assertEqual(self.log().count("refused foreign-descendant"), 3, self.log())
        self.run_harness([outer, "wait", "event:Stop"])
        self.assertEqual(self.read(), "idle")

    def test_hs_113_the_own_harness_writes_also_under_a_shell_that_was_attached(self):
        outer = self.program("claude")
        self.run_harness(["sh", "-c", '"$@"; :', "sh", outer, "wait", "event:UserPromptSubmit", "event:Stop"])
        self.assertEqual(self.read(), "idle")
        self.assertEqual(self.log(), "")

    def test_hs_113_without_an_attached_harness_nothing_is_proved(self):
        outer, inner = self.program("claude"), self.program("codex")
        self.run_harness([outer, "wait", "event:UserPromptSubmit", "start:" + inner, "event:Stop"], attach=False)
        self.assertEqual(self.read(), "idle")


if __name__ == "__main__":
    unittest.main()
