"""Replays as server-sent events, under a plain asyncio driver; `tests/served` has them under a real server."""

import asyncio
import os
import threading
import unittest

import gallivant
from gallivant import _offload, words
from gallivant.asgi import ReplayApp, ReplayResponse
from gallivant.testing import TestHost

from .journal_support import RunCase, descriptors
from .sse import Browser

HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}


class Client:
    """One request, and what came back. While `paused` is set the client reads nothing."""

    def __init__(self, *, method="GET", path="/runs/r-1", last_event_id=None, headers=()):
        self.browser = Browser(last_event_id or "")
        self.status, self.headers, self.body, self.is_whole = None, {}, b"", False
        self.gone, self.reads = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self.waits = self.parts = 0
        self.fails = None
        self._told = False
        own = [] if last_event_id is None else [(b"Last-Event-ID", last_event_id.encode())]
        self.scope = {"type": "http", "method": method, "path": path, "headers": [*own, *headers]}

    async def receive(self):
        if not self._told:
            self._told = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if self.fails is not None:
            raise self.fails
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        assert self.status is not None and not self.is_whole, "a body out of turn"
        if not self.reads.is_set():
            self.waits += 1
        await self.reads.wait()
        self.parts += 1
        self.body += message["body"]
        self.browser.feed(message["body"])
        self.is_whole = not message.get("more_body", False)

    async def until(self, condition, seconds=20):
        async def polls():
            while not condition():
                await asyncio.sleep(0.005)

        await asyncio.wait_for(polls(), seconds)


class ServedCase(RunCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        asyncio.get_running_loop().slow_callback_duration = 60

    def started(self, app, **request):
        client = Client(**request)
        client.task = asyncio.ensure_future(app(client.scope, client.receive, client.send))
        self.addCleanup(client.task.cancel)
        return client

    async def ended(self, client):
        """Lets the client go, and waits until the app has noticed."""
        client.gone.set()
        await asyncio.wait_for(client.task, 20)

    async def asked(self, app, **request):
        """A request whose answer ends by itself."""
        client = self.started(app, **request)
        await asyncio.wait_for(client.task, 20)
        self.assertTrue(client.is_whole)
        return client

    @property
    def response(self):
        return ReplayResponse(self.run_directory)


class Streaming(ServedCase):
    async def test_ex_jrn_69_lines_that_stand_there_and_those_to_come_are_events(self):
        self.says("one", "two")
        client = self.started(self.response)
        await client.until(lambda: len(client.browser.texts) == 2)
        self.assertEqual((client.status, client.headers), (200, HEADERS))
        self.says("three", first=3)
        await client.until(lambda: len(client.browser.texts) == 3)
        self.assertEqual(client.browser.texts, ["one", "two", "three"])
        self.assertEqual([(id, event) for id, event, _ in client.browser.events], [("1", "line"), ("2", "line"), ("3", "line")])
        self.assertFalse(client.is_whole)
        await self.ended(client)

    async def test_headers_are_there_before_the_first_line(self):
        client = self.started(ReplayResponse(self.run_directory, headers=[(b"x-run", b"r-1")]))
        await client.until(lambda: client.status is not None)
        self.assertEqual(client.headers, {**HEADERS, "x-run": "r-1"})
        await self.ended(client)

    async def test_ex_jrn_67_it_goes_on_after_the_last_event_id_of_the_request_or_of_the_page(self):
        self.counts(10)
        response = ReplayResponse(self.run_directory, last_event_id="8")
        for asked, first in (("4", "5"), (None, "9"), ("", "9")):
            client = self.started(response, last_event_id=asked)
            await client.until(lambda: client.browser.last_event_id == "10")
            self.assertEqual(client.browser.events[0][0], first)
            await self.ended(client)

    async def test_ex_jrn_68_an_id_that_no_row_ever_had_is_told_as_a_gap_that_moves_no_id(self):
        self.counts(3)
        for header in (b"nobody's", b"\xff", b"999"):
            client = self.started(self.response, headers=[(b"last-event-id", b"1"), (b"last-event-id", header)])
            await client.until(lambda: len(client.browser.texts) == 3)
            self.assertEqual((client.browser.events[0][:2], client.browser.gaps), (("", "gap"), [None]))
            await self.ended(client)

    async def test_ex_jrn_67_a_trimmed_log_begins_with_a_gap(self):
        self.counts(100)
        first = self.project(keep_bytes=500).first
        client = self.started(self.response, last_event_id="2")
        await client.until(lambda: client.browser.last_event_id == "100")
        self.assertEqual(client.browser.events[0][:2], ("2", "gap"))
        self.assertEqual(client.browser.gaps, [words.GAP_RETAINED])
        self.assertEqual(client.browser.texts, [f"line {number}" for number in range(first, 101)])
        await self.ended(client)

    async def test_any_text_arrives_as_it_is(self):
        texts = ["a\rb", "a\nb", "a\r\nb\n\n\nid: 99\ndata: x\n\n", "\u2028 \u2029 \x85 \x00", " : ", "", "😀" * 9, "ü\ud7ff"]
        self.says(*texts)
        client = self.started(self.response)
        await client.until(lambda: len(client.browser.texts) == len(texts))
        self.assertEqual(client.browser.texts, texts)
        self.assertEqual(client.browser.last_event_id, str(len(texts)))
        bytewise = Browser()
        for at in range(len(client.body)):
            bytewise.feed(client.body[at : at + 1])
        self.assertEqual(bytewise.events, client.browser.events)
        await self.ended(client)

    async def test_ex_jrn_86_a_heartbeat_is_a_comment_and_moves_no_id(self):
        self.says("one")
        host = TestHost(wall_ms=1_000)
        client = self.started(ReplayResponse(self.run_directory, host=host))
        await client.until(lambda: client.browser.texts == ["one"])
        host.advance_ms(20_000)
        # The alarm runs on the machine's clock: a change wakes the loop in its place.
        with open(self.path("job.log"), "ab"):
            pass
        await client.until(lambda: client.browser.comments == ["heartbeat"])
        self.assertEqual((client.browser.last_event_id, len(client.browser.events)), ("1", 1))
        await self.ended(client)


class Backpressure(ServedCase):
    async def test_ex_jrn_72_while_the_client_does_not_read_nothing_is_read_and_no_row_is_lost(self):
        self.says(*(f"{number} " + "x" * 30_000 for number in range(60)))
        client = self.started(self.response)
        client.reads.clear()
        await client.until(lambda: client.waits == 1)
        with open("/proc/self/io") as figures:
            before = figures.read().split("\n")[0]
        await asyncio.sleep(0.2)
        with open("/proc/self/io") as figures:
            read = int(figures.read().split("\n")[0].split()[1]) - int(before.split()[1])
        self.assertLess(read, 100_000, "nothing of the log is read meanwhile")
        self.assertEqual(client.waits, 1, "the next part waits for this one")
        client.reads.set()
        await client.until(lambda: len(client.browser.texts) == 60)
        self.assertEqual([int(text.split()[0]) for text in client.browser.texts], list(range(60)))
        await self.ended(client)

    async def test_short_frames_go_out_many_in_a_message_and_a_slow_client_holds_nobody_up(self):
        self.counts(4000)
        slow = self.started(self.response)
        slow.reads.clear()
        quick = self.started(self.response)
        await quick.until(lambda: len(quick.browser.texts) == 4000)
        self.assertLess(quick.parts, 100)
        slow.reads.set()
        await slow.until(lambda: len(slow.browser.texts) == 4000)
        self.assertEqual(slow.browser.events, quick.browser.events)
        await asyncio.gather(self.ended(slow), self.ended(quick))


class Ending(ServedCase):
    async def asyncSetUp(self):
        await super().asyncSetUp()
        pool = threading.Barrier(_offload._MOST_THREADS)
        await asyncio.gather(*(_offload.offload(pool.wait) for _ in range(pool.parties)))

    def left(self):
        return descriptors(), threading.active_count(), len(asyncio.all_tasks())

    async def test_ex_jrn_71_nothing_is_left_when_the_client_leaves_the_server_cancels_or_the_transport_fails(self):
        self.counts(5)
        before = self.left()

        async def leaves(client):
            client.gone.set()
            await client.task

        async def leaves_without_reading(client):
            client.reads.clear()
            self.says("more", first=6)
            await client.until(lambda: client.waits == 1)
            await leaves(client)

        async def is_cancelled(client):
            client.task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await client.task

        async def is_cancelled_without_reading(client):
            client.reads.clear()
            self.says("more", first=7)
            await client.until(lambda: client.waits == 1)
            await is_cancelled(client)

        async def fails(client):
            client.fails = BrokenPipeError()
            self.says("more", first=8)
            await client.task

        for end in (leaves, leaves_without_reading, is_cancelled, is_cancelled_without_reading, fails):
            with self.subTest(end.__name__):
                client = self.started(self.response)
                await client.until(lambda: len(client.browser.texts) >= 5)
                self.assertGreater(len(self.left()[0]), len(before[0]))
                await asyncio.wait_for(end(client), 20)
                self.assertEqual(self.left(), before)

    async def test_what_a_server_raises_is_passed_on_and_leaves_nothing(self):
        self.says("one")
        before = self.left()
        client = self.started(self.response)
        await client.until(lambda: client.browser.texts == ["one"])
        client.fails = ZeroDivisionError()
        self.says("two", first=2)
        with self.assertRaises(ZeroDivisionError):
            await asyncio.wait_for(client.task, 20)
        self.assertEqual(self.left(), before)

    async def test_a_run_that_cannot_be_read_any_more_ends_its_stream_in_order(self):
        self.says("one")
        client = self.started(self.response)
        await client.until(lambda: client.browser.texts == ["one"])
        with self.assertLogs("gallivant", "ERROR") as logged:
            with open(self.path("log-meta.json.new"), "w") as meta:
                meta.write('{"version":9}')
            os.replace(self.path("log-meta.json.new"), self.path("log-meta.json"))
            await asyncio.wait_for(client.task, 20)
        self.assertTrue(client.is_whole)
        self.assertIn("EXECUTION_VERSION", logged.output[0])


class Refusing(ServedCase):
    def refused(self, client, status, word):
        self.assertEqual((client.status, client.headers["content-type"]), (status, "application/problem+json"))
        self.assertIn(f'"code": "{word}"'.encode(), client.body)
        self.assertNotIn(self.root.encode(), client.body)

    async def test_a_run_that_is_not_there_is_404(self):
        missing = ReplayResponse(os.path.join(self.root, "none"))
        self.refused(await self.asked(missing), 404, "execution_unknown_run")
        self.refused(await self.asked(missing, method="HEAD"), 404, "execution_unknown_run")

    async def test_a_run_that_cannot_be_read_is_logged_and_answered_before_anything_is_streamed(self):
        self.says("one")
        with open(self.path("log-meta.json"), "w") as meta:
            meta.write('{"version":9}')
        with self.assertLogs("gallivant", "ERROR"):
            self.refused(await self.asked(self.response), 500, "execution_version")
        os.unlink(self.path("log-meta.json"))
        os.mkdir(self.path("log-meta.json"))
        with self.assertLogs("gallivant", "ERROR"):
            self.refused(await self.asked(self.response), 503, "execution_io")

    async def test_head_has_the_headers_alone_and_other_methods_are_405(self):
        self.says("one")
        before = descriptors()
        head = await self.asked(self.response, method="HEAD")
        self.assertEqual((head.status, head.headers, head.body), (200, HEADERS, b""))
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            client = await self.asked(self.response, method=method)
            self.refused(client, 405, "method_not_allowed")
            self.assertEqual(client.headers["allow"], "GET, HEAD")
        self.assertEqual(descriptors(), before)

    async def test_an_app_over_many_runs_asks_where_one_is(self):
        self.says("one")
        asked = []

        def locate(scope):
            asked.append(scope["path"])
            return self.run_directory if scope["path"] == "/runs/r-1" else None

        async def awaited(scope):
            return ReplayResponse(locate(scope), last_event_id="1", headers=[(b"x-run", b"r-1")])

        app = ReplayApp(locate)
        client = self.started(app)
        await client.until(lambda: client.browser.texts == ["one"])
        await self.ended(client)
        self.refused(await self.asked(app, path="/runs/r-2"), 404, "execution_unknown_run")
        self.assertEqual(asked, ["/runs/r-1", "/runs/r-2"])
        self.refused(await self.asked(app, method="POST"), 405, "method_not_allowed")
        self.assertEqual(len(asked), 2, "a wrong method asks for nothing")
        client = self.started(ReplayApp(awaited))
        await client.until(lambda: client.headers.get("x-run") == "r-1")
        self.says("two", first=2)
        await client.until(lambda: client.browser.texts == ["two"])
        await self.ended(client)

    async def test_what_is_no_request_of_http_is_not_taken(self):
        for kind in ("lifespan", "websocket"):
            with self.assertRaises(NotImplementedError):
                await self.response({"type": kind}, None, None)
            with self.assertRaises(NotImplementedError):
                await ReplayApp(lambda scope: None)({"type": kind}, None, None)


class Module(unittest.TestCase):
    def test_both_are_public_and_documented(self):
        for name in ("ReplayApp", "ReplayResponse"):
            self.assertIn(name, gallivant.asgi.__all__)
            self.assertTrue(getattr(gallivant.asgi, name).__doc__)


if __name__ == "__main__":
    unittest.main()
