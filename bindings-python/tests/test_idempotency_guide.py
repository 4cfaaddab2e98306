"""The Python blocks of the guide of idempotent creates, run in order as they stand there, and the example server."""

import asyncio
import contextlib
import io
import os
import re
import runpy
import tempfile
import unittest
import unittest.mock

from .asgi_driver import ask
from .support import ROOT, contents

PAGE = "docs/guides/idempotency.md"

SAID = """\
b'{"id": "h-1"}' b'{"id": "h-1"}'
None
recreated in_progress
['acme', 'workspace-7', 'user-3'] replay
['acme', 'workspace-8', 'user-3'] create
['acme', 'workspace-7', 'user-4'] create
True replay
unknown marked
replay settled rented-1 None
making b'{}' of harnesses.create for ('7', 'user-3')
201 b'{"id": "h-1"}' False
201 b'{"id": "h-1"}' True
h-3
True
"""


class Guide(unittest.TestCase):
    def test_the_guide(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        page = contents(os.path.join(ROOT, PAGE)).decode()
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        scope, said = {"__name__": "guide"}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block.replace("/srv/app", directory.name), PAGE, "exec"), scope)
        self.assertEqual(said.getvalue(), SAID)

    def test_ik_03_and_ik_07_the_guide_says_what_belongs_into_the_scope_and_that_bytes_are_exact(self):
        page = " ".join(contents(os.path.join(ROOT, PAGE)).decode().split())
        for said in ("the parent in the path", "the acting principal", '`{"a":1}` and `{ "a": 1 }` are two bodies'):
            self.assertIn(said, page)

    def test_the_example_server_makes_one_harness_of_any_number_of_repeats(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(ROOT, "examples/python-server/server.py")
        with unittest.mock.patch.dict(os.environ, {"HARNESSES": directory.name}):
            server = runpy.run_path(path)

        async def clients():
            users = ["u"] * 16 + ["v"] * 16
            return await asyncio.gather(
                *(ask(server["app"], key="k-1", body=b'{"name": "a"}', headers=[("x-user", user)]) for user in users)
            )

        answers = asyncio.run(clients())
        self.assertEqual({one.status for one in answers}, {201})
        self.assertEqual([len({one.body for one in half}) for half in (answers[:16], answers[16:])], [1, 1])
        made = [name for name in os.listdir(directory.name) if name.endswith(".harness")]
        self.assertEqual(len(made), 2)


if __name__ == "__main__":
    unittest.main()
