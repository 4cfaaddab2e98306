"""The middleware under uvicorn with Starlette: real sockets, real clients that leave in the middle, several workers, a
server that is killed. Needs both from pip, so that `bindings-python/check.sh` runs it:

    python -m unittest bindings-python/tests/served/check.py
"""

import contextlib
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from gallivant.idempotency import IdempotencyStore

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = "/workspaces/w/things"


class Served(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @contextlib.contextmanager
    def server(self, *options):
        command = [sys.executable, "-m", "uvicorn", "--app-dir", HERE, "--port", str(self.port), *options, "app:app"]
        log = open(os.path.join(self.directory, "log"), "ab")
        environment = {**os.environ, "SERVED_DIRECTORY": self.directory}
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            self.wait_for(lambda: self.ask(method="GET")[0] is not None)
            yield server
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(30)
            log.close()

    def wait_for(self, condition, seconds=30):
        until = time.monotonic() + seconds
        while True:
            with contextlib.suppress(ConnectionError):
                if condition():
                    return
            self.assertLess(time.monotonic(), until, "it did not become so in time")
            time.sleep(0.02)

    def ask(self, key=None, body=b'{"name":"a"}', path=PATH, method="POST", principal="p", timeout=30):
        """Status, headers and body."""
        headers = {"content-type": "application/json", "x-principal": principal}
        if key is not None:
            headers["idempotency-key"] = key
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def raw(self, key, body, path=PATH, length=None):
        """A client that has sent its request and may leave."""
        client = socket.create_connection(("127.0.0.1", self.port))
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\nidempotency-key: {key}\r\nx-principal: p\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body) if length is None else length}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        return client

    def made(self):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.directory, "made")) as things:
            return things.read().split()
        return []

    def claim(self, key, path=PATH):
        store = IdempotencyStore.open(os.path.join(self.directory, "idempotency.db"))
        return store.inspect("things.create", [path, "p"], key)

    def test_ik_01_a_repeat_is_answered_as_the_first(self):
        with self.server():
            first, repeat = self.ask("k"), self.ask("k")
            self.assertEqual((first[0], repeat[0], first[2]), (201, 201, repeat[2]))
            self.assertEqual(repeat[1]["idempotent-replayed"], "true")
            self.assertEqual(repeat[1]["location"], first[1]["location"])
            self.assertIn("set-cookie", first[1])
            self.assertNotIn("set-cookie", repeat[1])
            self.assertEqual(self.ask("k", b'{"name": "a"}')[0], 409)
            self.assertEqual(self.ask("k", principal="q")[1].get("idempotent-replayed"), None)
            self.assertEqual(self.ask("bad key")[0], 400)
            self.assertEqual(self.ask("large", bytes(2 << 20))[0], 413)
            self.assertEqual(self.made(), ["a", "a"])

    def test_ik_06_of_32_clients_at_once_one_makes_the_thing_in_one_worker_and_in_several(self):
        for options in ((), ("--workers", "3")):
            with self.subTest(options), self.server(*options):
                key, answers = f"k-{len(options)}", []
                body = b'{"name":"a","seconds":0.3}'
                threads = [
                    threading.Thread(target=lambda: answers.append(self.ask(key, body))) for _ in range(32)
                ]
                before = len(self.made())
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual({(status, told) for status, _, told in answers}, {(201, answers[0][2])})
                self.assertEqual(sum("idempotent-replayed" in headers for _, headers, _ in answers), 31)
                self.assertEqual(len(self.made()) - before, 1)

    def test_clients_that_leave_in_the_middle_leak_nothing_and_find_their_thing_when_they_come_back(self):
        body = b'{"name":"left","seconds":0.2}'
        with self.server():
            for number in range(32):
                client = self.raw(f"k-{number}", body)
                time.sleep((number % 8) * 0.01)
                if number % 2:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.close()
            answers = [self.ask(f"k-{number}", body) for number in range(32)]
            self.assertEqual({status for status, _, _ in answers}, {201})
            self.assertEqual(self.made(), ["left"] * 32)

    def test_a_client_that_leaves_in_the_middle_of_its_body_begins_nothing(self):
        with self.server():
            self.raw("k", b'{"name"', length=1000).close()
            time.sleep(0.3)
            self.assertIsNone(self.claim("k"))
            self.assertEqual((self.ask("k")[0], self.made()), (201, ["a"]))

    def test_a_client_that_leaves_a_stream_finds_all_of_it_when_it_comes_back(self):
        with self.server():
            client = self.raw("k", b"name", path="/streams")
            self.wait_for(lambda: self.claim("k", "/streams") is not None)
            client.close()
            status, headers, body = self.ask("k", b"name", path="/streams")
            self.assertEqual((status, body.count(b"\n")), (201, 20))
            self.assertEqual((headers["idempotent-replayed"], self.made()), ("true", ["name"]))

    def test_ik_05_what_fails_and_what_is_refused_releases_and_after_the_mark_is_unknown(self):
        with self.server():
            for told, status in (('"fails":true', 500), ('"refuses":true', 422)):
                body = f'{{"name":"x",{told}}}'.encode()
                self.assertEqual([self.ask("k", body)[0] for _ in range(2)], [status, status])
                self.assertIsNone(self.claim("k"))
            body = b'{"name":"x","fails":true,"marks":true}'
            self.assertEqual(self.ask("k", body)[0], 500)
            status, headers, told = self.ask("k", body)
            self.assertEqual((status, json.loads(told)["code"]), (409, "idempotency_unknown"))
            self.assertIn("retry-after", headers)
            self.assertEqual(self.made(), [])

    def test_ik_09_a_server_that_is_killed_in_the_middle_holds_no_key(self):
        for marks in (False, True):
            key, body = f"k-{marks}", json.dumps({"name": "a", "seconds": 30, "marks": marks}).encode()
            with self.server() as server:
                client = self.raw(key, body)
                state = "marked" if marks else "reserved"
                self.wait_for(lambda: getattr(self.claim(key), "state", None) == state)
                os.killpg(server.pid, signal.SIGKILL)
                server.wait(30)
                client.close()
            with self.server("--timeout-graceful-shutdown", "1"):
                if marks:
                    status, _, told = self.ask(key, body)
                    self.assertEqual((status, json.loads(told)["code"]), (409, "idempotency_unknown"))
                else:
                    # Nothing was made, so that even another body may.
                    self.assertEqual((self.ask(key)[0], self.made()), (201, ["a"]))

    def test_a_server_that_is_told_to_stop_finishes_what_runs(self):
        with self.server("--timeout-graceful-shutdown", "10") as server:
            answers = []
            thread = threading.Thread(target=lambda: answers.append(self.ask("k", b'{"name":"a","seconds":1}')))
            thread.start()
            self.wait_for(lambda: self.claim("k") is not None)
            server.send_signal(signal.SIGTERM)
            thread.join()
        self.assertEqual((answers[0][0], self.claim("k").state, self.made()), (201, "finished", ["a"]))

    def test_a_server_that_stops_at_once_releases_what_runs(self):
        with self.server("--timeout-graceful-shutdown", "1") as server:
            client = self.raw("k", b'{"name":"a","seconds":60}')
            self.wait_for(lambda: self.claim("k") is not None)
            server.send_signal(signal.SIGTERM)
            server.wait(30)
            client.close()
        # Nothing stands there, or what a dead process has left: the next one makes it.
        with self.server():
            self.assertEqual(self.ask("k", b'{"name":"b"}')[0], 201)
        self.assertEqual(self.made(), ["b"])

    def test_an_answer_that_is_compressed_is_saved_and_replayed_so(self):
        with self.server():
            body = b'{"name":"a","padding":2000}'
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            seen = []
            for _ in range(2):
                headers = {"idempotency-key": "k", "x-principal": "p", "accept-encoding": "gzip"}
                connection.request("POST", PATH, body, headers)
                response = connection.getresponse()
                seen.append((response.getheader("content-encoding"), gzip.decompress(response.read())))
            connection.close()
            self.assertEqual(seen[0], seen[1])
            self.assertEqual((seen[0][0], self.made()), ("gzip", ["a"]))

    def test_a_handler_on_a_thread_marks_by_calls_that_block(self):
        with self.server():
            answers = []
            threads = [
                threading.Thread(target=lambda: answers.append(self.ask("k", b"", path="/threads"))) for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual({(status, told) for status, _, told in answers}, {(201, answers[0][2])})
            self.assertEqual(self.made(), ["thread"])


if __name__ == "__main__":
    unittest.main()
