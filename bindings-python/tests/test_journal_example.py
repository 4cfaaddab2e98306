"""`examples/python-server`: a run that is written by one program and streamed by the other."""

import asyncio
import os
import runpy
import subprocess
import sys
import unittest
import unittest.mock

from .support import ROOT, environment
from .test_journal_asgi import ServedCase

EXAMPLE = os.path.join(ROOT, "examples/python-server")


class Example(ServedCase):
    def writes(self, text):
        command = [sys.executable, os.path.join(EXAMPLE, "run.py"), os.path.join(self.root, "runs/7")]
        done = subprocess.run(command, input=text, env=environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    async def test_ex_jrn_67_a_run_is_streamed_from_any_line_on_and_written_once_however_often(self):
        with unittest.mock.patch.dict(os.environ, {"HARNESSES": self.root}):
            app = runpy.run_path(os.path.join(EXAMPLE, "server.py"))["app"]
        self.writes("one\ntwo\n")
        client = self.started(app, path="/runs/7/events")
        await client.until(lambda: client.browser.texts == ["one", "two"])
        await asyncio.to_thread(self.writes, "one\ntwo\nthree\n")
        await client.until(lambda: client.browser.texts == ["one", "two", "three"])
        await self.ended(client)
        again = self.started(app, path="/runs/7/events", last_event_id="2")
        await again.until(lambda: again.browser.texts == ["three"])
        await self.ended(again)
        for path in ("/runs/8/events", "/runs/../events", "/runs/7"):
            client = await self.asked(app, path=path)
            self.assertEqual(client.status, 404)
        self.assertEqual((await self.asked(app, path="/runs/7/events", method="POST")).status, 405)


if __name__ == "__main__":
    unittest.main()
