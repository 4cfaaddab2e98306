"""The example's transport over REST, against a provider in a process of its own: lost replies, garbage, quiet, deaths."""

import http.client
import importlib.util
import json
import os
import subprocess
import tempfile
import time
import unittest

from gallivant import errors
from gallivant.execution import check_transport, make_execution, unresolved

from .support import AT_ONCE, ROOT, eventually

KEY = "the-key-of-a-test"
WORK = {"operationId": "op-1", "runId": "run-1", "prompt": "mend the build", "reservationUsd": 2}


def example(path):
    """A module of an example, which is in no package."""
    spec = importlib.util.spec_from_file_location("example_transport", os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


transport = example("examples/python-coordinator/transport.py")


class Provider:
    """The provider of `tests/hosted-agents` on a state file."""

    def __init__(self, file):
        self.file = file
        self.start()

    def start(self):
        command = ["node", os.path.join(ROOT, "tests/hosted-agents/server.mjs"), self.file]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[1]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def control(self, path="", body=None):
        line = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            line.request("GET" if body is None else "POST", f"/control{path}", text, {"Connection": "close"})
            answer = line.getresponse()
            assert answer.status == 200, answer.status
            return json.loads(answer.read())
        finally:
            line.close()

    def fail(self, route, how, **more):
        self.control("/fail", {"route": route, "how": how, **more})


class Rest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = os.path.join(directory.name, "task")
        self.provider = Provider(os.path.join(directory.name, "provider.json"))
        self.addCleanup(lambda: self.provider.kill())
        self.execution = self.boundary()

    def boundary(self, address=None, **options):
        execution = make_execution(
            self.root,
            task_id="task",
            provider="hosted-agents",
            account="me",
            budget_usd=20,
            health="external",
            capabilities=transport.CAPABILITIES,
            transport=transport.HostedAgents(self.provider.address if address is None else address, KEY),
            secrets=[KEY],
            **options,
        )
        self.addCleanup(execution.close)
        return execution

    def refused(self, error, reason, work=WORK, execution=None):
        with self.assertRaises(error) as caught:
            (execution or self.execution).submit(work)
        self.assertEqual(caught.exception.reason, reason)

    def told(self, report):
        return None if report["error"] is None else (report["error"]["code"], report["error"]["reason"])

    def came(self):
        return [turn["came"] for turn in self.provider.control("/books")["turns"]]

    def test_ex_led_34_a_lost_reply_is_recovered_by_look_up_and_never_by_a_second_submit(self):
        self.provider.fail("create", "lose-reply")
        self.refused(errors.ExecutionAcceptanceUnknownError, "io")
        self.refused(errors.ExecutionAcceptanceUnknownError, "unresolved")
        self.assertEqual(len(unresolved(self.root)), 1)
        # Both sides may die in between.
        self.execution.close()
        self.provider.kill()
        self.provider.start()
        execution = self.boundary()
        report = execution.startup()
        self.assertEqual((report["acceptance"], report["called"]), ("accepted", ["lookup"]))
        again = execution.submit(WORK)
        self.assertEqual((again["reused"], again["acknowledgement"]["providerJobId"]), (True, "job-1"))
        self.assertEqual(self.came(), [1])
        self.assertEqual(unresolved(self.root), [])

    def test_ex_tra_23_a_look_up_that_finds_nothing_frees_nothing(self):
        self.provider.fail("create", 500)
        self.refused(errors.ExecutionAcceptanceUnknownError, "io")
        self.assertEqual(self.execution.startup()["acceptance"], "unknown")
        self.assertEqual((len(unresolved(self.root)), self.provider.control()["requests"]["create"]), (1, 1))
        with open(os.path.join(self.root, "execution.json"), encoding="utf-8") as ledger:
            self.assertNotIn(KEY, ledger.read())

    def test_ex_tra_28_only_what_is_proved_is_called_not_sent(self):
        self.refused(errors.ExecutionDispatchRefusedError, "dispatch-refused", execution=self.boundary(address=""))
        self.assertEqual(unresolved(self.root), [])
        # Nobody listens there, which the transport cannot know of the request before.
        self.provider.kill()
        self.refused(errors.ExecutionAcceptanceUnknownError, "io")
        self.provider.start()

    def test_answers_that_are_cut_or_no_json_are_failures_of_that_call_alone(self):
        self.provider.fail("create", "cut-body")
        self.refused(errors.ExecutionAcceptanceUnknownError, "io")
        self.provider.fail("find", "garbage")
        report = self.execution.startup()
        self.assertEqual((self.told(report), report["acceptance"]), (("EXECUTION_PROTOCOL", "protocol"), "unknown"))
        self.assertEqual(self.execution.startup()["acceptance"], "accepted")
        wrong = [("garbage", "EXECUTION_PROTOCOL", "protocol"), ("cut-body", "EXECUTION_IO", "io"), (502, "EXECUTION_IO", "io")]
        for how, code, reason in wrong:
            with self.subTest(how):
                self.provider.fail("look", how)
                self.assertEqual(self.told(self.execution.startup()), (code, reason))
        self.assertIsNone(self.told(self.execution.startup()))
        self.assertEqual(self.came(), [1])

    def test_ex_tra_05_a_provider_that_hangs_ends_at_the_deadline(self):
        execution = self.boundary(limits={"deadlineMs": 2_000})
        self.provider.fail("create", "hang")
        began = time.monotonic()
        self.refused(errors.ExecutionAcceptanceUnknownError, "deadline", execution=execution)
        self.assertLess(time.monotonic() - began, AT_ONCE)
        self.assertEqual(execution.startup()["acceptance"], "accepted")

    def test_ex_bnd_11_a_turn_is_followed_by_cursor_collected_and_continued(self):
        self.execution.submit(WORK)
        turn = {"job": "job-1", "turn": "turn-1"}
        for text in ("one", "two", "three"):
            said = {"type": "message", "data": {"text": text}}
            self.provider.control("/turn", {**turn, "state": "running", "event": said})
        self.execution.reconcile(force=True)
        self.provider.fail("look", 429, retryAfter=120)
        report = self.execution.reconcile(force=True)
        self.assertEqual(self.told(report), ("EXECUTION_IO", "rate"))
        self.assertGreater(report["nextAttemptAt"], time.time() * 1000 + 60_000)
        self.provider.control("/turn", {**turn, "state": "succeeded", "costUsd": 0.5})
        while self.execution.inspect()["state"] != "retrieving-results":
            report = self.execution.startup()
        self.assertEqual(self.told(report), ("EXECUTION_RESULT", "missing"))
        self.provider.control("/turn", {**turn, "output": "it is mended"})
        while self.execution.outcome("run-1") is None:
            self.assertIsNone(self.told(self.execution.startup()))
        self.assertEqual((self.execution.outcome("run-1")["ok"], self.execution.check("run-1")["records"]), (True, 3))
        more = self.execution.continue_({**WORK, "operationId": "op-2", "runId": "run-2", "prompt": "and the tests"})
        self.assertEqual(more["acknowledgement"]["turnId"], "turn-2")
        self.assertEqual(self.provider.control()["jobs"], 1)

    def test_an_end_is_said_with_the_last_page_of_events_and_not_before(self):
        self.execution.submit(WORK)
        turn = {"job": "job-1", "turn": "turn-1"}
        for number in range(5):
            said = {"type": "message", "data": f"line {number}"}
            self.provider.control("/turn", {**turn, "state": "running", "event": said})
        self.provider.control("/turn", {**turn, "state": "succeeded", "costUsd": 0.5, "output": "it is mended"})
        states = []
        while self.execution.outcome("run-1") is None:
            states.append(self.execution.startup()["state"])
        self.assertEqual(states[:2], ["running", "running"])
        self.assertEqual(self.execution.check("run-1")["records"], 5)

    def test_ex_can_09_a_lost_reply_to_a_stop_is_sent_again_with_its_key(self):
        self.execution.submit(WORK)
        self.provider.fail("cancel", "lose-reply")
        self.assertEqual(self.execution.cancel("enough"), {"confirmed": False})
        self.assertEqual(self.execution.startup()["state"], "cancelled")
        self.assertEqual(self.provider.control()["cancellations"], 1)

    def test_ex_tra_07_nothing_stays_open_and_nothing_is_asked_by_itself(self):
        self.execution.submit(WORK)
        for _ in range(3):
            self.execution.reconcile(force=True)
        # The provider sees the end of a connection when it comes to look.
        eventually(lambda: self.provider.control()["connections"] == 0, "no connection is left")
        before = self.provider.control()
        self.assertEqual((before["requests"], before["connections"]), ({"create": 1, "look": 3}, 0))
        time.sleep(0.25)
        self.assertEqual(self.provider.control(), before)

    def look(self):
        seen = self.provider.control()
        counts = {"jobs": seen["jobs"], "cancellations": seen["cancellations"], "open_handles": seen["connections"]}
        return {**counts, "requests": sum(seen["requests"].values())}

    def test_ex_tra_07_ex_tra_21_the_check_finds_nothing_in_the_example_and_names_what_a_worse_one_does(self):
        good = transport.HostedAgents(self.provider.address, KEY)
        subject = {"task_id": "t", "provider": "hosted-agents", "account": "me", "capabilities": transport.CAPABILITIES}
        self.assertEqual(check_transport(good, self.look, **subject), [])
        self.assertEqual([turn["state"] for turn in self.provider.control("/books")["turns"]], ["cancelled", "cancelled"])

        class Worse:
            """It makes nothing, hangs, and has half of the methods."""

            def submit(self, call):
                return {"providerJobId": "job-1", "turnId": "turn-1", "sessionId": "session-1"}

            def inspect(self, call):
                call.signal.wait(60)

            def cancel(self, call):
                return {"confirmed": True}

        found = check_transport(Worse(), self.look, **subject, limits={"deadlineMs": 1_000})
        named = [f"{finding['clause']} {finding['method']}" for finding in found]
        wanted = ["EX-TRA-01 continue_", "EX-TRA-01 collect", "EX-TRA-07 submit", "EX-TRA-03 inspect", "EX-TRA-21 cancel"]
        self.assertEqual(named, wanted)
        with self.assertRaises(errors.ExecutionInputError):
            check_transport(good, self.look, **{**subject, "task_id": ""})


if __name__ == "__main__":
    unittest.main()
