"""A run's result to a pull request, for threads and for asyncio: with Git, and with this system's sandbox where there is one."""

import asyncio
import hashlib
import json
import os
import subprocess
import tempfile

import gallivant
from gallivant import aio
from gallivant.execution import Signal
from gallivant.execution_result import reconcile_execution_result

from .execution_support import SUBMIT, AsyncMemory, TaskCase


def git(at, *args):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{who}_NAME": "t", f"GIT_{who}_EMAIL": "t@example.org"})
    done = subprocess.run(("git", *args), cwd=at, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Service:
    """Pull requests, as data."""

    def __init__(self):
        self.opened = []
        self.calls = []

    def find_pull_request(self, call):
        self.calls.append(call.method)
        return self.opened[0] if self.opened else None

    def create_pull_request(self, call):
        self.calls.append(call.method)
        self.opened.append({"number": 7, "title": call.input["title"], "head": call.input["head"]})
        return self.opened[0]


class AsyncService:
    def __init__(self, service):
        self._service = service

    async def find_pull_request(self, call):
        await asyncio.sleep(0)
        return self._service.find_pull_request(call)

    async def create_pull_request(self, call):
        await asyncio.sleep(0)
        return self._service.create_pull_request(call)


class PublicationCase(TaskCase):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        at = lambda name: os.path.join(place.name, name)  # noqa: E731
        self.origin, self.checkout, self.scratch = at("origin.git"), at("checkout"), at("scratch")
        os.mkdir(self.scratch)
        git(place.name, "init", "-q", "--bare", "--initial-branch=main", "origin.git")
        git(place.name, "init", "-q", "--initial-branch=main", "checkout")
        with open(os.path.join(self.checkout, "README"), "w", encoding="utf-8") as file:
            file.write("one\n")
        git(self.checkout, "add", "-A")
        git(self.checkout, "commit", "-q", "-m", "first")
        git(self.checkout, "remote", "add", "origin", self.origin)
        git(self.checkout, "push", "-q", "origin", "main")
        git(self.checkout, "checkout", "-q", "-b", "task/1")
        self.head = git(self.checkout, "rev-parse", "HEAD")
        self.service = Service()

    def result(self, call):
        job = self.transport._job(call.input)["job"]
        files = [{"path": "README", "beforeHash": sha256("one\n"), "afterHash": sha256("two\n"), "text": "two\n"}]
        outcome = {"finished": True, "ok": True, "cost": 0.25, "denials": []}
        work = {"repo": "org/repo", "branch": "task/1", "files": files, "pr": {"title": "A title", "body": "A body"}}
        return {**job, "inputHead": self.head, "outcome": outcome, "completedAt": self.transport.provider.now, **work}

    def collected(self):
        task = self.made()
        task.submit({**SUBMIT, "inputHead": self.head})
        for job in self.transport.provider.jobs.values():
            job["state"] = "succeeded"
        self.transport.mishaps["collect"] = self.result
        self.advance(60_000)
        self.assertIsNone(task.reconcile(force=True)["error"])
        return task

    def plan(self, *commands):
        source = json.dumps(commands)
        return {
            "repo": "org/repo",
            "origin": self.origin,
            "branch": "task/1",
            "base": "main",
            "author": {"name": "A Coordinator", "email": "coordinator@example.org"},
            "verification": {"commands": list(commands), "source": source, "approvedHash": sha256(source)},
        }

    def places(self, **others):
        made = {"checkout": self.checkout, "scratch": self.scratch, "publisher": self.service}
        return {**made, "entry_stopped": lambda run_id: False, **others}

    def check(self, answer):
        """What a publication has come to, on a machine with a sandbox and on one without."""
        head = git(self.checkout, "rev-parse", "HEAD")
        self.assertNotEqual(head, self.head)
        self.assertEqual(answer["appliedHead"], head)
        if answer["status"] == "blocked":
            self.assertEqual(answer["reason"], "verification-sandbox-unavailable")
            print(f"no sandbox here: {answer['detail']}")
            return
        self.assertEqual((answer["status"], answer["pr"]["number"]), ("published", 7))
        self.assertEqual(git(self.origin, "rev-parse", "refs/heads/task/1"), head)
        self.assertEqual(self.service.calls, ["findPullRequest", "createPullRequest"])


class Threads(PublicationCase):
    def test_ex_art_33_a_result_is_published_once(self):
        task, plan = self.collected(), self.plan("grep -q two README")
        asked = []
        answer = reconcile_execution_result(task, "run-1", plan, **self.places(entry_stopped=asked.append))
        self.check(answer)
        self.assertEqual(set(asked), {"run-1"})
        count = len(asked)
        again = reconcile_execution_result(task, "run-1", plan, **self.places(entry_stopped=asked.append))
        self.assertEqual((again, len(asked)), (answer, count))
        self.assertEqual(os.listdir(self.scratch), [])

    def test_an_environment_is_any_mapping_and_may_hold_what_is_no_text(self):
        os.environb[b"GALLIVANT_TEST_OF_BYTES"] = b"\xff"
        self.addCleanup(os.environb.pop, b"GALLIVANT_TEST_OF_BYTES")
        task, plan = self.collected(), self.plan('test -n "$PATH" && test -z "$GALLIVANT_TEST_OF_BYTES"')
        self.check(reconcile_execution_result(task, "run-1", plan, **self.places(environment=os.environ)))

    def test_a_stopped_entry_and_a_stop_refuse(self):
        task, plan = self.collected(), self.plan()
        with self.assertRaises(gallivant.ExecutionFencedError):
            reconcile_execution_result(task, "run-1", plan, **self.places(entry_stopped=lambda run_id: True))
        task.request_cancel("enough", "stop-1")
        with self.assertRaises(gallivant.ExecutionFencedError):
            reconcile_execution_result(task, "run-1", plan, **self.places())
        self.assertEqual(self.service.calls, [])

    def test_what_is_wrong_is_an_error_that_names_it(self):
        task, plan = self.collected(), self.plan("true")
        for change in ({"repo": None}, {"author": {}}, {"verification": {}}):
            with self.subTest(change), self.assertRaises(gallivant.ExecutionInputError):
                reconcile_execution_result(task, "run-1", {**plan, **change}, **self.places())
        changed = {**plan["verification"], "source": "another"}
        with self.assertRaises(gallivant.ExecutionConflictError):
            reconcile_execution_result(task, "run-1", {**plan, "verification": changed}, **self.places())
        with self.assertRaises(gallivant.ExecutionUnknownRunError):
            reconcile_execution_result(task, "run-9", plan, **self.places())
        signal = Signal()
        signal.fire()
        with self.assertRaises(gallivant.ExecutionBusyError):
            reconcile_execution_result(task, "run-1", plan, **self.places(signal=signal))

    def test_a_publisher_that_fails_is_asked_again(self):
        def fails(call):
            raise RuntimeError("no service")

        task, plan = self.collected(), self.plan()
        self.service.create_pull_request, create = fails, self.service.create_pull_request
        try:
            answer = reconcile_execution_result(task, "run-1", plan, **self.places())
            self.assertEqual(answer["reason"], "verification-sandbox-unavailable")
        except gallivant.ExecutionIoError as failed:
            self.assertEqual(failed.reason, "io")
            self.service.create_pull_request, self.service.calls = create, []
            self.check(reconcile_execution_result(task, "run-1", plan, **self.places()))


class Coroutines(PublicationCase):
    def test_ex_art_33_a_result_is_published_once(self):
        self.collected()

        async def publish():
            memory = AsyncMemory()
            memory.memory = self.transport
            made = self.options(transport=memory)
            async with aio.AsyncExecution.make(self.root, **made) as task:

                async def stopped(run_id):
                    return False

                places = self.places(publisher=AsyncService(self.service), entry_stopped=stopped)
                return await aio.reconcile_execution_result(task, "run-1", self.plan("grep -q two README"), **places)

        self.check(asyncio.run(publish()))
