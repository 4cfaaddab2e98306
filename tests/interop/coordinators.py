"""What the tests of whole coordinators share: the provider of hosted agents and the two coordinators, as processes."""
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVER = ["node", os.path.join(ROOT, "tests/hosted-agents/server.mjs")]
NODE = ["node", os.path.join(ROOT, "examples/node-coordinator/serve.mjs")]
PYTHON = [sys.executable, os.path.join(ROOT, "examples/python-coordinator/coordinator.py")]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.path.join(ROOT, "bindings-python/python"),
    "HOSTED_AGENTS_KEY": "the-key-of-a-test",
}


def exchange(address, method, path, body=None, headers=(), timeout=60.0):
    """One request on a connection of its own: its status and its JSON."""
    line = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=timeout)
    try:
        sent = {"Content-Type": "application/json", "Connection": "close", **dict(headers)}
        line.request(method, path, None if body is None else json.dumps(body), sent)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


class Process:
    """A program that says its address, or only `ready`, in its first line."""

    def __init__(self, command, log):
        self.log = log
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=ENVIRONMENT
        )
        self.address = None

    def ready(self):
        """Waits until it works."""
        line = self.process.stdout.readline()
        assert line.startswith("ready"), f"it said {line!r}"
        self.address = line.split()[-1]
        return self

    def end(self, kill=True):
        """Kills it, or asks it to end; its status."""
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        status = self.process.wait(120)
        self.process.stdin.close()
        self.process.stdout.close()
        return status


class Provider(Process):
    """The provider, with its books."""

    def __init__(self, file, log, **agents):
        super().__init__([*SERVER, file], log)
        self.ready()
        if agents:
            self.control("/agents", agents)

    def control(self, path="", body=None):
        """What a test says to the provider, or asks it."""
        status, answer = exchange(self.address, "GET" if body is None else "POST", f"/control{path}", body)
        assert status == 200, answer
        return answer


def coordinator(command, root, provider, log):
    """Starts one, without waiting for it."""
    more = ["--port", "0"] if command is NODE else []
    return Process([*command, root, provider.address, *more, "--progress-ms", "1000"], log)


def until(condition, seconds=150.0, pause=0.05):
    """Waits until it holds, and gives what it came to."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to that in time")
        time.sleep(pause)
