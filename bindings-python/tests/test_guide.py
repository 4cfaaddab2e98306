"""The Python blocks of the guide and of the package's page, run in order as they stand there."""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import gallivant

from .support import ROOT, contents

UNDER_SETPRIV = '["setpriv", "--pdeathsig", "TERM", "claude"]'


class Guide(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = root.name
        # A harness that lives long enough to be attached.
        with open(os.path.join(self.root, "claude"), "w") as harness:
            harness.write("#!/bin/sh\nsleep 0.3\n")
        os.chmod(os.path.join(self.root, "claude"), 0o700)
        # The guide's wrapper sets a handler, here for the tests' own process.
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        kept = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", kept)
        os.environ["PATH"] = f"{self.root}:{kept}"

    def blocks_of(self, page):
        text = contents(os.path.join(ROOT, page)).decode()
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        return [re.sub(r'"/(srv/)?agents(?=[/"])', f'"{self.root}', block) for block in blocks]

    def run_blocks(self, page):
        scope = {"__name__": "guide"}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in self.blocks_of(page):
                exec(compile(block, page, "exec"), scope)
        return scope, said.getvalue().splitlines()

    def test_the_guide_of_redaction(self):
        _, said = self.run_blocks("docs/guides/redaction.md")
        self.assertEqual(
            said,
            [
                "login with [redacted] at https://[redacted]@example.com/",
                "{'[redacted]': ['Bearer [redacted]', 9007199254740993]}",
                "log: [redacted]",
            ],
        )

    def test_the_guide(self):
        scope, said = self.run_blocks("docs/guides/python.md")
        self.assertEqual(
            said[:-1],
            [
                "terminal",
                "nobody claims or writes now; the sequence is 2",
                "children",
                "channel ()",
                "landed 1",
                "idle none none until " + str(scope["state"].valid_until_ms),
                "HS-80 session-dead the probe says that the session is dead",
                "unknown (session-dead), by HS-80",
                "by-hand active",
                "worker idle",
                "2 until True False",
                "2 notified",
                "new claimed",
                "Stop observed superseded",
                "idle",
                "idle",
                "active",
                "['recorded', 'recorded']",
                "['known', 'known', 'recorded'] 3",
                "2 ['provider-gap']",
                "1 line hello",
                '2 line {"key":"[redacted]","usd":0.5}',
                "3 gap None",
                "2 2",
                '2 line {"key":"[redacted]","usd":0.5}',
                "3 gap None",
                "3",
                """b'id: 1\\nevent: line\\ndata: {"id":"1","kind":"line","text":"hello"}\\n\\n'""",
                """b'id: 2\\nevent: line\\ndata: {"id":"2","kind":"line","text":"{\\\\"key\\\\":\\\\"[redacted]\\\\",\\\\"usd\\\\":0.5}"}\\n\\n'""",
                """b'id: 3\\nevent: gap\\ndata: {"id":"3","kind":"gap"}\\n\\n'""",
                "HARNESS_STATE_EMPTY_TOKEN input mint a token, or pass on the one that the session's claim returned",
            ],
        )
        self.assertRegex(said[-1], "^5 [0-9]+ .*tested: ")

    def wrapper(self, block, harness):
        """The block's wrapper in a process of its own, around this harness."""
        with open(os.path.join(self.root, "claude"), "w") as file:
            file.write("#!/bin/sh\n" + harness)
        process = subprocess.Popen([sys.executable, "-c", block], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def read_when(self, wanted):
        """What the seat reads once `wanted` is so of it."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            state = gallivant.Reader(os.path.join(self.root, "worker")).read("lease")
            if state is not None and wanted(state):
                return state
            time.sleep(0.01)
        self.fail(f"the seat reads {state}")

    def test_each_guides_wrapper_passes_sigterm_on_and_ends_with_the_harnesss_exit(self):
        for page in ("docs/guides/python.md", "docs/guides/claude-code.md"):
            with self.subTest(page):
                process = self.wrapper(self.blocks_of(page)[0], "exec sleep 60\n")
                self.read_when(lambda state: state.state == "ready")
                process.send_signal(signal.SIGTERM)
                self.assertEqual((process.wait(20), process.stderr.read()), (0, ""))
                self.assertEqual(self.read_when(lambda state: True).exit, "signal 15")

    def test_each_guides_wrapper_says_nothing_of_a_harness_that_is_over_at_once(self):
        for page in ("docs/guides/python.md", "docs/guides/claude-code.md"):
            with self.subTest(page):
                block = self.blocks_of(page)[0]
                # The pid is looked at when the harness is over, however slow the machine.
                block = block.replace("signal.signal(", "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT); signal.signal(")
                process = self.wrapper(block, "exit 3\n")
                self.assertEqual((process.wait(20), process.stderr.read()), (0, ""))
                self.assertEqual(self.read_when(lambda state: True).exit, "exit 3")

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv")
    def test_the_guides_setpriv_ends_a_harness_whose_wrapper_was_killed(self):
        page = "docs/guides/python.md"
        self.assertIn(UNDER_SETPRIV, contents(os.path.join(ROOT, page)).decode())
        block = self.blocks_of(page)[0].replace('["claude"]', UNDER_SETPRIV)
        told = os.path.join(self.root, "told")
        process = self.wrapper(block, f"trap 'echo over >{told}; exit' TERM\necho up >{told}\nwhile :; do sleep 0.05; done\n")
        self.read_when(lambda state: state.state == "ready" and os.path.exists(told))
        process.kill()
        until = time.monotonic() + 20
        while contents(told) != b"over\n" and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(contents(told), b"over\n")

    def test_the_packages_page(self):
        scope, _said = self.run_blocks("bindings-python/README.md")
        self.assertEqual((scope["state"].state, scope["state"].exit), ("ended", "exit 0"))


if __name__ == "__main__":
    unittest.main()
