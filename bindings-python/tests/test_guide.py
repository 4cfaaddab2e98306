"""The Python blocks of the guide and of the package's page, run in order as they stand there."""

import contextlib
import io
import os
import re
import tempfile
import unittest

from .support import ROOT, contents


class Guide(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = root.name
        # A harness that lives long enough to be attached.
        with open(os.path.join(self.root, "claude"), "w") as harness:
            harness.write("#!/bin/sh\nsleep 0.3\n")
        os.chmod(os.path.join(self.root, "claude"), 0o700)
        kept = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", kept)
        os.environ["PATH"] = f"{self.root}:{kept}"

    def run_blocks(self, page):
        text = contents(os.path.join(ROOT, page)).decode()
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        scope = {"__name__": "guide"}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(re.sub(r'"/(srv/)?agents(?=[/"])', f'"{self.root}', block), page, "exec"), scope)
        return scope, said.getvalue().splitlines()

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
                "HARNESS_STATE_EMPTY_TOKEN input mint a token, or pass on the one that the session's claim returned",
            ],
        )
        self.assertRegex(said[-1], "^5 [0-9]+ .*tested: ")

    def test_the_packages_page(self):
        scope, _said = self.run_blocks("bindings-python/README.md")
        self.assertEqual((scope["state"].state, scope["state"].exit), ("ended", "exit 0"))


if __name__ == "__main__":
    unittest.main()
