"""Paid work that survives its coordinator: the second part of `make demo`.

The coordinator of `examples/node-coordinator` works for a small provider of hosted agents that keeps books. It is killed with
SIGKILL in the middle of a submit, when the provider has made the job and its answer is not there yet, and again in the middle of
collecting the result. Both times another one is started on the same directory. Then the provider's own books are read: one job,
one create, nothing lost.
"""
import http.client
import json
import os
import subprocess
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SERVER = os.path.join(ROOT, "tests/hosted-agents/server.mjs")
COORDINATOR = os.path.join(ROOT, "examples/node-coordinator/serve.mjs")
AGENTS = {"lines": 4, "everyMs": 100, "costUsd": 0.25, "page": 100}


class Program:
    """A program that says `ready ADDRESS` first. What it says later goes to `relay`."""

    def __init__(self, speaker, relay, *command):
        environment = {**os.environ, "HOSTED_AGENTS_KEY": "a-key-of-the-demo"}
        self.process = subprocess.Popen(
            ["node", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        first = self.process.stdout.readline()
        if not first.startswith("ready "):
            raise SystemExit(f"the demo's {speaker} did not start: {first}")
        self.address = first.split()[1]
        self.speaker = relay(speaker, self.process)

    def ask(self, path, body=None, headers=()):
        """One request, and what it is answered."""
        line = http.client.HTTPConnection(urllib.parse.urlsplit(self.address).netloc, timeout=60)
        try:
            sent = {"Content-Type": "application/json", "Connection": "close", **dict(headers)}
            line.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), sent)
            return json.loads(line.getresponse().read())
        finally:
            line.close()

    def kill(self):
        """Ends it without a word."""
        self.process.kill()
        self.process.wait()
        self.speaker.join(timeout=60)


def paid_work(place, say, relay, wait_for):
    """The whole of it, in a directory that is there; `say`, `relay` and `wait_for` are the demo's."""
    say("demo", "a provider of hosted agents, and a coordinator that has paid work done by it")
    programs = []

    def start(speaker, *command):
        programs.append(Program(speaker, relay, *command))
        return programs[-1]

    def coordinator():
        return start("coordinator", COORDINATOR, os.path.join(place, "root"), provider.address, "--port", "0", "--progress-ms", "1000")

    def killed(program, why):
        say("demo", f"kill -9 {program.process.pid}: {why}")
        program.kill()
        return coordinator()

    def make(program):
        wanted = {"prompt": "mend the build", "budgetUsd": 1}
        return program.ask("/tasks", wanted, {"Idempotency-Key": "wish-1"})["id"]

    try:
        provider = start("provider", SERVER, os.path.join(place, "provider.json"))
        provider.ask("/control/agents", AGENTS)
        first = coordinator()
        provider.ask("/control/fail", {"route": "create", "how": "hang"})
        task = make(first)
        wait_for(lambda: provider.ask("/control")["jobs"] == 1)
        second = killed(first, "the provider has made the job, and its answer never came")
        # The client heard nothing of what became of it, and asks again with the same key.
        say("demo", f"asked again with the same key: {'the same task' if make(second) == task else 'ANOTHER TASK'}")
        provider.ask("/control/fail", {"route": "result", "how": "hang"})
        wait_for(lambda: provider.ask("/control")["requests"].get("result", 0) == 1)
        third = killed(second, "the result was asked for, and never came")
        wait_for(lambda: third.ask(f"/tasks/{task}")["phase"] == "ended")
        done = third.ask(f"/tasks/{task}")
        with open(os.path.join(place, "root/tasks", task, "work", done["runId"], "job.log"), encoding="utf-8") as log:
            lines = len(log.read().splitlines())
        say("coordinator", f"{done['prompt']}: {done['state']}, ${done['costUsd']}, {lines} lines of output")
        books = provider.ask("/control/books")["turns"]
        for turn in books:
            say("books", f"{turn['job']}: {turn['prompt']}, {turn['state']}, ${turn['costUsd']}, created by {turn['came']} request")
        say("books", f"{len(books)} job in all, for one wish and two kills")
    finally:
        for program in programs:
            program.kill()
