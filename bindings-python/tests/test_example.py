"""`examples/python-hook`: the settings and the hook of one's own, as a harness would run them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import gallivant

from .support import ROOT, SeatCase, contents, environment
from .test_hook import payloads

EXAMPLE = os.path.join(ROOT, "examples/python-hook")
SETTINGS = os.path.join(ROOT, "examples/settings/claude-code.settings.json")


class Example(SeatCase):
    def setUp(self):
        super().setUp()
        self.session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")
        scripts = tempfile.TemporaryDirectory()
        self.addCleanup(scripts.cleanup)
        # What installing the package puts on the path.
        command = os.path.join(scripts.name, "gallivant-hook")
        with open(command, "w") as script:
            script.write(f'#!/bin/sh\nexec {sys.executable} -c "from gallivant.hook import main; main()" "$@"\n')
        os.chmod(command, 0o700)
        path = f"{scripts.name}:{os.environ.get('PATH', '')}"
        self.env = environment(PATH=path, **self.session.to_env())

    def run_hook(self, command, payload):
        done = subprocess.run(command, shell=True, input=payload, env=self.env, capture_output=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        return gallivant.Reader(self.seat).read()

    def test_a_recorded_run_through_the_commands_of_the_settings(self):
        with open(SETTINGS) as settings:
            hooks = json.load(settings)["hooks"]
        told = []
        for name, payload in payloads("claude-code.interactive-permission-clear"):
            for group in hooks.get(json.loads(payload)["hook_event_name"], []):
                for hook in group["hooks"]:
                    self.assertEqual(hook["type"], "command")
                    state = self.run_hook(hook["command"], payload)
                    told.append((state.state, state.ask))
        self.assertEqual(told[0], ("ready", "none"))
        self.assertIn(("active", "permission"), told)
        self.assertEqual(told[-1], ("idle", "none"))
        self.assertEqual(self.log(), [])

    def test_every_event_of_the_settings_is_known(self):
        with open(SETTINGS) as settings:
            events = json.load(settings)["hooks"]
        self.assertGreaterEqual(len(events), 15)
        for event in events:
            payload = json.dumps({"hook_event_name": event}).encode()
            word = gallivant.observe_hook("claude", payload, self.session.environment()).word
            self.assertNotEqual(word, "unknown-event", event)

    def test_a_hook_of_ones_own_observes_and_then_does_its_own(self):
        command = f"{sys.executable} {os.path.join(EXAMPLE, 'hook.py')}"
        self.assertEqual(self.run_hook(command, b'{"hook_event_name":"UserPromptSubmit"}').state, "active")
        last_event = os.path.join(self.seat, "last-event")
        self.assertEqual(contents(last_event), b"UserPromptSubmit\n")
        self.run_hook(command, b"garbage")
        self.assertEqual(contents(last_event), b"UserPromptSubmit\n")
        self.env = environment()
        self.run_hook(command, b'{"hook_event_name":"Stop"}')
        self.assertEqual(contents(last_event), b"UserPromptSubmit\n")


if __name__ == "__main__":
    unittest.main()
