"""A replay under uvicorn with Starlette: raw clients that read slowly, leave in the middle and come back, over logs that
grow and are trimmed meanwhile, and a server that stops. Needs both from pip, so that `bindings-python/check.sh` runs it:

    python -m unittest bindings-python/tests/served/replay_check.py
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from gallivant.journal import Event, Journal, Owner, Projection
from gallivant.redaction import Redactor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from sse import Browser  # noqa: E402

OWNER = Owner(task_id="t", run_id="r1", provider="acme")


class Client:
    """A raw client of one stream."""

    def __init__(self, port, path="/runs/r1/events", *, last_event_id=None, method="GET", small=False, takes="gzip"):
        self.socket = socket.socket()
        if small:
            # So that little is on its way while nothing is read.
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(30)
        try:
            self.socket.connect(("127.0.0.1", port))
        except ConnectionError:
            self.socket.close()
            raise
        after = "" if last_event_id is None else f"Last-Event-ID: {last_event_id}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: {takes}\r\n{after}\r\n"
        self.socket.sendall(head.encode())
        self.browser = Browser(last_event_id or "")
        self._rest = b""
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._received(65536)
        head, _, self._rest = head.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        self.is_over = False

    def until(self, condition, most=65536):
        """Reads parts of the body until something is so."""
        while not condition():
            assert not self.is_over, "the stream has ended"
            self._chunk(most)
        return self

    def rest(self):
        """All of a body that ends."""
        body = b""
        while True:
            try:
                piece = self.socket.recv(65536)
            except ConnectionError:
                piece = b""
            if not piece:
                return self._rest + body
            body += piece

    def close(self, *, resets=False):
        if resets:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def _chunk(self, most):
        while b"\r\n" not in self._rest:
            self._rest += self._received(most)
        size, _, self._rest = self._rest.partition(b"\r\n")
        size = int(size, 16)
        while len(self._rest) < size + 2:
            self._rest += self._received(most)
        self.is_over = size == 0
        self.browser.feed(self._rest[:size])
        self._rest = self._rest[size + 2 :]

    def _received(self, most):
        piece = self.socket.recv(most)
        if not piece:
            raise ConnectionError("the server has closed")
        return piece


class Served(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.run_directory = os.path.join(self.directory, "r1")
        os.mkdir(self.run_directory)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @contextlib.contextmanager
    def server(self, *options):
        command = [sys.executable, "-m", "uvicorn", "--app-dir", HERE, "--port", str(self.port)]
        command += ["--timeout-graceful-shutdown", "1", *options, "replay_app:app"]
        with open(os.path.join(self.directory, "log"), "ab") as log:
            environment = {**os.environ, "SERVED_DIRECTORY": self.directory}
            server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            self.wait_for(lambda: self.left())
            yield server
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)

    def log(self):
        with open(os.path.join(self.directory, "log")) as log:
            return log.read()

    def wait_for(self, condition, seconds=30):
        until = time.monotonic() + seconds
        while True:
            with contextlib.suppress(ConnectionError):
                if condition():
                    return
            self.assertLess(time.monotonic(), until, "it did not become so in time")
            time.sleep(0.02)

    def client(self, *arguments, **options):
        client = Client(self.port, *arguments, **options)
        self.addCleanup(client.close)
        return client

    def left(self):
        """What the server has open, this request included."""
        client = Client(self.port, "/left", takes="identity")
        try:
            size = int(client.headers["content-length"])
            while len(client._rest) < size:
                client._rest += client._received(65536)
            return json.loads(client._rest)
        finally:
            client.close()

    def says(self, *texts, first=1):
        with Journal.open(self.run_directory, OWNER, Redactor()) as journal:
            journal.append([Event(f"e-{number}", "provider", "output", text) for number, text in enumerate(texts, first)])
        with Projection.open(self.run_directory) as projection:
            projection.catch_up()

    def trimmed(self, keep_bytes):
        with Projection.open(self.run_directory) as projection:
            return projection.trim(keep_bytes).first

    def test_ex_jrn_69_a_stream_with_any_text_arrives_uncompressed_and_goes_on(self):
        texts = ["one", "a\rb\r\nc\n\n", "\u2028id: 9\u2029", "😀" * 20_000 + "\n"]
        with self.server():
            client = self.client()
            self.assertEqual((client.status, client.headers["content-type"]), (200, "text/event-stream"))
            self.assertNotIn("content-encoding", client.headers)
            self.says(*texts)
            client.until(lambda: len(client.browser.events) == 4)
            self.assertEqual((client.browser.texts[:3], client.browser.gaps), (texts[:3], [None]))
            self.says("more", first=5)
            client.until(lambda: client.browser.last_event_id == "5")
            self.assertEqual(self.client("/runs/r1/events?after=4").until(lambda: True).status, 200)
            mounted = self.client("/many/r1", last_event_id="3")
            mounted.until(lambda: mounted.browser.last_event_id == "5")
            self.assertEqual(mounted.browser.texts, ["more"])

    def test_ex_jrn_72_a_slow_reader_gets_every_row_while_others_are_not_held_up(self):
        self.says(*(f"{number} " + "x" * 20_000 for number in range(400)))
        with self.server():
            slow = self.client(small=True)
            slow.until(lambda: slow.browser.texts, 2048)
            quick = self.client()
            quick.until(lambda: len(quick.browser.texts) == 400)
            for number in range(20):
                self.says(f"{400 + number} live", first=401 + number)
                time.sleep(0.01)
            quick.until(lambda: len(quick.browser.texts) == 420)
            while len(slow.browser.texts) < 420:
                slow.until(lambda seen=len(slow.browser.texts): len(slow.browser.texts) > seen, 4096)
            for client in (slow, quick):
                self.assertEqual([int(text.split()[0]) for text in client.browser.texts], list(range(420)))

    def test_ex_jrn_72_a_hundred_clients_of_one_live_log_each_get_every_row_once(self):
        with self.server():
            clients = [self.client() for _ in range(100)]
            for first in range(1, 1001, 20):
                self.says(*(f"line {number}" for number in range(first, first + 20)), first=first)
            for number, client in enumerate(clients):
                with self.subTest(client=number):
                    client.until(lambda client=client: client.browser.last_event_id == "1000")
                    self.assertEqual(client.browser.texts, [f"line {number}" for number in range(1, 1001)])

    def test_ex_jrn_67_clients_that_leave_in_the_middle_come_back_and_miss_nothing(self):
        self.says(*(f"line {number}" for number in range(300)))
        with self.server():
            seen, after = [], None
            for turn in range(20):
                client = self.client(last_event_id=after, small=True)
                wanted = min(len(seen) + 17, 300 + turn)
                client.until(lambda: len(seen) + len(client.browser.texts) >= wanted, 512)
                seen += client.browser.texts
                after = client.browser.last_event_id
                client.close(resets=turn % 2 == 0)
                self.says(f"line {300 + turn}", first=301 + turn)
            client = self.client(last_event_id=after)
            client.until(lambda: client.browser.last_event_id == "320")
            seen += client.browser.texts
            self.assertEqual(seen, [f"line {number}" for number in range(320)])

    def test_ex_jrn_71_what_clients_that_left_had_open_is_closed(self):
        self.says("one")
        with self.server():
            self.client().until(lambda: True)
            clients = [self.client() for _ in range(30)]
            for client in clients:
                client.until(lambda client=client: client.browser.texts)
            held = self.left()
            self.assertGreater(held["descriptors"], 90)
            for number, client in enumerate(clients):
                client.close(resets=number % 2 == 0)
            self.wait_for(lambda: self.left()["tasks"] <= held["tasks"] - 90)
            self.wait_for(lambda: self.left()["descriptors"] <= held["descriptors"] - 90)
            self.assertLessEqual(self.left()["threads"], held["threads"])
        self.assertNotIn("Traceback", self.log())

    def test_ex_jrn_67_a_log_that_was_trimmed_meanwhile_is_a_gap_and_goes_on(self):
        self.says(*(f"line {number}" for number in range(1, 201)))
        with self.server():
            client = self.client()
            client.until(lambda: client.browser.last_event_id == "200")
            client.close()
            self.says(*(f"line {number}" for number in range(201, 401)), first=201)
            first = self.trimmed(1000)
            self.assertGreater(first, 300)
            again = self.client(last_event_id=client.browser.last_event_id)
            again.until(lambda: again.browser.last_event_id == "400")
            self.assertEqual((again.browser.events[0][:2], again.browser.gaps), (("200", "gap"), ["retained"]))
            self.assertEqual(again.browser.texts, [f"line {number}" for number in range(first, 401)])
            self.says("after", first=401)
            again.until(lambda: again.browser.texts[-1] == "after")

    def test_head_wrong_methods_and_runs_that_are_not_there(self):
        with self.server():
            for path, method, status in (
                ("/runs/r1/events", "HEAD", 200),
                ("/many/r1", "HEAD", 200),
                ("/many/r1", "POST", 405),
                ("/runs/r1/events", "POST", 405),
                ("/runs/r2/events", "GET", 404),
                ("/runs/r2/events", "HEAD", 404),
                ("/many/..", "GET", 404),
            ):
                with self.subTest(f"{method} {path}"):
                    client = self.client(path, method=method)
                    self.assertEqual(client.status, status)
                    client.socket.shutdown(socket.SHUT_WR)
                    body = client.rest()
                    self.assertEqual(body == b"", method == "HEAD", body)
                    if status == 405:
                        self.assertEqual({one.strip() for one in client.headers["allow"].split(",")}, {"GET", "HEAD"})
        self.assertNotIn("Traceback", self.log())

    def test_a_server_that_stops_ends_its_streams_and_a_client_goes_on_at_the_next(self):
        self.says("one", "two")
        with self.server() as server:
            client = self.client()
            client.until(lambda: len(client.browser.texts) == 2)
            stopped = time.monotonic()
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            self.assertLess(time.monotonic() - stopped, 10)
            client.rest()
        self.assertNotIn("Traceback", self.log())
        self.says("three", first=3)
        with self.server():
            again = self.client(last_event_id=client.browser.last_event_id)
            again.until(lambda: again.browser.texts == ["three"])


if __name__ == "__main__":
    unittest.main()
