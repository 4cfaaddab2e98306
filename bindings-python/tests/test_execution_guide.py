"""The Python blocks of the guide of paid work, run in order as they stand there, against a provider on this machine."""

import contextlib
import http.server
import io
import json
import os
import re
import tempfile
import threading
import time
import unittest
import urllib.parse

from .support import ROOT, contents

PAGE = "docs/guides/python-execution.md"

SAID = """\
accepted job-1 True
True 250000000 []
[]
300000000 8999999999.999999999 1
transport submit op-1
EXECUTION_DISPATCH_REFUSED
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """Jobs that have ended when they are looked at for the second time."""

    jobs = {}

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer hunter2!":
            return self.answer(401, None)
        number = len(self.jobs) + 1
        job = {"id": f"job-{number}", "turn": f"turn-{number}", "looks": 0, "events": [], "text": "done", "cost": 0.25}
        return self.answer(200, self.jobs.setdefault(body["key"], job))

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path)
        job = next(job for job in self.jobs.values() if job["id"] == path.path.rsplit("/", 1)[-1])
        job["looks"] += 1
        job["now"] = time.time_ns() // 1_000_000
        job["state"] = "running"
        if job["looks"] > 1:
            job["state"] = "succeeded"
            job.setdefault("ended", job["now"])
        return self.answer(200, job)

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments):
        pass


class Guide(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{server.server_port}"
        Provider.jobs = {}

    def test_the_guide(self):
        page = contents(os.path.join(ROOT, PAGE)).decode()
        scope, said = {"__name__": "guide"}, io.StringIO()
        with contextlib.redirect_stdout(said):
            for block in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
                block = block.replace("/srv/tasks", self.root).replace("api.acme.example", self.host)
                exec(compile(block.replace("HTTPSConnection", "HTTPConnection"), PAGE, "exec"), scope)
        self.assertEqual(said.getvalue(), SAID)
        self.assertEqual(len(Provider.jobs), 1)


if __name__ == "__main__":
    unittest.main()
