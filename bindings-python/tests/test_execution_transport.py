"""What a transport says, and what becomes of it: its own words, its clock, pages that are too long, results, and what it leaves open."""

import asyncio
import http.server
import json
import os
import socket
import tempfile
import threading
import time
import unittest
import urllib.parse
import warnings

from gallivant import errors
from gallivant.execution import (
    TransportError,
    check_transport,
    dispatch_not_sent_error,
    fitting_events,
    make_execution,
)

from .support import AT_ONCE
from .test_execution_rest import KEY, WORK, transport

OWNED = {"job": "job-1", "turn": "turn-1", "session": "session-1"}


def now_ms():
    return time.time_ns() // 1_000_000


def seen(**more):
    turn = {**OWNED, "state": "running", "at": now_ms(), "endedAt": None, "costUsd": None, "events": [], "next": 0, "more": False}
    return {**turn, **more}


class Stub(http.server.ThreadingHTTPServer):
    """A provider of one turn, whose answers a test gives by method and the end of the path."""

    def __init__(self, answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urllib.parse.urlsplit(self.path)
                answer = answers.get(f"{self.command} {url.path.split('/')[-1]}")
                if answer == "lose":
                    self.close_connection = True
                    return
                text = json.dumps(answer(urllib.parse.parse_qs(url.query)) if callable(answer) else answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d" % self.server_address[1]


class Failing:
    """Every method fails so."""

    def __init__(self, failure):
        self.failure = failure

    def submit(self, call):
        raise self.failure

    inspect = collect = cancel = continue_ = submit


class Transports(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def boundary(self, adapter, name="task", **options):
        execution = make_execution(
            os.path.join(self.directory, name),
            task_id="task",
            provider="hosted-agents",
            account="me",
            budget_usd=20,
            health="external",
            capabilities=transport.CAPABILITIES,
            transport=adapter,
            secrets=[KEY],
            **options,
        )
        self.addCleanup(execution.close)
        return execution

    def stub(self, answers):
        server = Stub(answers)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        self.addCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
        return transport.HostedAgents(server.address, KEY)

    def settled(self, execution):
        for _ in range(20):
            self.assertIsNone(execution.startup()["error"])
            outcome = execution.outcome("run-1")
            if outcome is not None:
                return outcome
        return self.fail("it does not come to its end")

    def test_ex_tra_33_a_transports_own_words_reach_the_caller_redacted_and_no_file(self):
        with self.assertRaises(errors.ExecutionAcceptanceUnknownError) as lost:
            self.boundary(Failing(TypeError(f"job.id is no function, {KEY}"))).submit(WORK)
        self.assertIn("the transport failed, said=`TypeError: job.id is no function, ", lost.exception.message)
        self.assertNotIn(KEY, lost.exception.message)
        with open(os.path.join(self.directory, "task", "execution.json"), encoding="utf-8") as ledger:
            self.assertNotIn("no function", ledger.read())

        unset = dispatch_not_sent_error("unconfigured", "ACME_KEY is not set")
        with self.assertRaises(errors.ExecutionDispatchRefusedError) as refused:
            self.boundary(Failing(unset), "unset").submit(WORK)
        self.assertTrue(refused.exception.message.endswith("code=`unconfigured` said=`ACME_KEY is not set`"))

        adapter = Failing(TransportError("auth", "key 7 was revoked", code="revoked"))
        adapter.submit = lambda call: {"providerJobId": "j", "turnId": "t"}
        execution = self.boundary(adapter, "revoked")
        execution.submit(WORK)
        error = execution.startup()["error"]
        self.assertEqual((error["code"], error["reason"]), ("EXECUTION_IO", "auth"))

    def test_ex_obs_08_a_providers_clock_that_is_ahead_keeps_no_job_from_being_ended(self):
        for ahead in (500, 3_600_000, -3_600_000):
            with self.subTest(ahead=ahead):
                ended = lambda _: seen(at=now_ms() + ahead, state="succeeded", endedAt=now_ms() + ahead)  # noqa: B023
                result = {**OWNED, "output": "done", "ok": True, "costUsd": 0.5}
                adapter = self.stub({"POST jobs": OWNED, "GET turn-1": ended, "GET result": result})
                execution = self.boundary(adapter, f"task-{ahead}")
                execution.submit(WORK)
                outcome = self.settled(execution)
                self.assertEqual((outcome["ok"], outcome["completionInferred"]), (True, True))

    def test_ex_obs_24_a_results_text_and_input_head_are_in_the_file_of_the_run(self):
        ended = lambda _: seen(state="succeeded", endedAt=now_ms())
        result = {**OWNED, "output": "it is mended", "ok": True, "costUsd": 0.5}
        execution = self.boundary(self.stub({"POST jobs": OWNED, "GET turn-1": ended, "GET result": result}))
        head = "0123456789" * 4
        execution.submit({**WORK, "inputHead": head})
        self.settled(execution)
        with open(os.path.join(execution.dir_of("run-1"), "result.json"), encoding="utf-8") as file:
            saved = json.load(file)
        self.assertEqual((saved["text"], saved["inputHead"]), ("it is mended", head))

    def test_ex_obs_17_a_page_that_is_too_long_is_cut_and_its_end_held_back(self):
        sizes = [9_000] * 21 + [90_000, 10]
        events = [{"number": at + 1, "type": "message", "at": now_ms(), "data": 'x"' * (size // 2)} for at, size in enumerate(sizes)]
        page = lambda query: seen(state="succeeded", endedAt=now_ms(), events=events[int(query["after"][0]) :], next=len(events))
        result = {**OWNED, "output": "done", "ok": True, "costUsd": 0.5}
        execution = self.boundary(self.stub({"POST jobs": OWNED, "GET turn-1": page, "GET result": result}))
        execution.submit(WORK)
        self.settled(execution)
        self.assertEqual(execution.check("run-1")["records"], len(sizes))
        self.assertEqual((fitting_events([]), fitting_events([{"eventId": "e", "type": "x", "data": "x" * 70_000}])), (0, 0))
        self.assertEqual(fitting_events([{"eventId": "e", "type": "x"}] * 9, {"eventPageRecords": 4}), 4)

    def test_ex_tra_05_a_body_that_drips_is_ended_by_the_signal_and_leaves_nothing_open(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        gone = []

        def serve():
            line, _ = server.accept()
            with line:
                line.recv(65_536)
                began = time.monotonic()
                try:
                    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n")
                    while time.monotonic() - began < 60:
                        line.sendall(b" ")
                        time.sleep(0.02)
                except OSError:
                    gone.append(time.monotonic() - began)

        dripping = threading.Thread(target=serve)
        dripping.start()
        adapter = transport.HostedAgents("http://127.0.0.1:%d" % server.getsockname()[1], KEY)
        with self.assertRaises(errors.ExecutionAcceptanceUnknownError) as lost:
            self.boundary(adapter, limits={"deadlineMs": 1_000}).submit(WORK)
        self.assertEqual(lost.exception.reason, "deadline")
        dripping.join()
        self.assertTrue(gone and gone[0] < AT_ONCE, gone)

    def test_the_check_refuses_counts_that_are_none_and_methods_that_are_coroutines(self):
        subject = {"task_id": "t", "provider": "hosted-agents", "account": "me", "capabilities": transport.CAPABILITIES}
        adapter = transport.HostedAgents(None, None)
        counts = {"requests": 0, "jobs": 0, "cancellations": 0}
        for wrong in (counts, {**counts, "openHandles": 0}, {**counts, "open_handles": "none"}, None):
            with self.assertRaisesRegex(errors.ExecutionInputError, "open_handles|no integer"):
                check_transport(adapter, lambda: wrong, **subject)  # noqa: B023

        class Awaited:
            async def submit(self, call):
                return {}

            inspect = collect = submit

        with self.assertRaisesRegex(errors.ExecutionInputError, "coroutine.*method=`submit`"):
            check_transport(Awaited(), lambda: {**counts, "open_handles": 0}, **subject)
        # A method that turns out to be one is never awaited, and says so.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(errors.ExecutionAcceptanceUnknownError) as lost:
                self.boundary(Awaited()).submit(WORK)
        self.assertIn("a method is a coroutine, which is for AsyncExecution", lost.exception.message)

    def test_ex_tra_21_the_check_finds_nothing_in_the_methods_of_coroutines_behind_a_loop(self):
        """As the guide says of an asynchronous transport: each method behind `asyncio.run`."""
        jobs = {}

        class Awaited:
            async def submit(self, call):
                call.sending()
                jobs["state"] = "running"
                return {"providerJobId": "j", "turnId": "t"}

            async def inspect(self, call):
                return {"providerJobId": "j", "turnId": "t", "state": jobs["state"], "observedAt": now_ms()}

            async def collect(self, call):
                return None

            async def cancel(self, call):
                jobs["state"] = "cancelled"
                return {"confirmed": True}

        class Behind:
            def __init__(self, awaited):
                for name in ("submit", "inspect", "collect", "cancel"):
                    setattr(self, name, lambda call, method=getattr(awaited, name): asyncio.run(method(call)))

        record = {**transport.CAPABILITIES, "continuation": "none"}
        subject = {"task_id": "t", "provider": "hosted-agents", "account": "me", "capabilities": record}
        look = lambda: {
            "requests": 0, "jobs": len(jobs), "cancellations": int(jobs.get("state") == "cancelled"), "open_handles": 0,
        }
        self.assertEqual(check_transport(Behind(Awaited()), look, **subject), [])


if __name__ == "__main__":
    unittest.main()
