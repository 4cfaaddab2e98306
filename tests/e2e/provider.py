"""A fake model provider on 127.0.0.1 that answers by a script.

A script is a dictionary: a marker, which is a word of a prompt, and the replies to the conversation that it begins.
The marker that a person's text named last decides, and the count of the model's turns since then says which reply is
next; after the last one `Text("All done.")` follows for ever. Nothing is counted here, so that several conversations,
retries and resumed sessions do not disturb each other. `protocols.py` knows how each harness asks and is answered.
"""
from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import protocols

MODEL = "fake-model"


@dataclass(frozen=True)
class Text:
    """The model answers with text, which ends its turn. `delay` is in seconds, before the first byte."""

    text: str = "All done."
    delay: float = 0

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class Tool:
    """The model asks for one tool call. `namespace` is a matter of OpenAI's Responses."""

    name: str
    input: dict
    namespace: str | None = None
    delay: float = 0

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Error:
    """The provider fails with this status."""

    status: int
    delay: float = 0

    def __str__(self) -> str:
        return str(self.status)


Reply = Text | Tool | Error
Script = dict[str, tuple[Reply, ...]]


def next_reply(script: Script, conversation: protocols.Conversation) -> Reply:
    """What the script says to a conversation."""
    marker, turns = None, 0
    for speaker, text in conversation.turns:
        if speaker == "model":
            turns += 1
            continue
        named = [word for word in script if word in text]
        if named:
            marker, turns = max(named, key=text.rindex), 0
    replies = script.get(marker, ())
    reply = replies[turns] if turns < len(replies) else Text()
    # Harnesses also ask for titles and summaries of a conversation, and offer no tools for them.
    if isinstance(reply, Tool) and reply.name not in conversation.tools:
        return Text()
    return reply


class Provider:
    """Serves a script until `stop`. `port` is where; `calls` are the model calls so far, a dictionary each."""

    def __init__(self, script: Script, log: str) -> None:
        self.script = script
        self.calls: list[dict] = []
        self._log = log
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()

    def note(self, entry: dict, body: object) -> None:
        with self._lock:
            self.calls.append(entry)
            with open(self._log, "a", encoding="utf-8") as log:
                log.write(json.dumps({**entry, "body": body}) + "\n")


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(b"", "text/plain")

        def do_GET(self) -> None:
            models = [{"id": MODEL, "object": "model"}]
            listing = {"object": "list", "data": models, "models": []}
            self.answer_json(listing if self.path.split("?")[0].endswith("/models") else {})

        def do_POST(self) -> None:
            body = json.loads(self.body() or b"{}")
            path = self.path.split("?")[0]
            protocol = next((known for known in protocols.ALL if known.serves(path)), None)
            if protocol is None:
                self.answer_json(protocols.side_call(path))
                return
            conversation = protocol.read(body)
            reply = next_reply(provider.script, conversation)
            provider.note({"path": path, "reply": str(reply), "tools": sorted(conversation.tools)}, body)
            time.sleep(reply.delay)
            try:
                if isinstance(reply, Error):
                    self.answer_json(protocol.error(reply.status), reply.status)
                elif protocol.streams(path, body):
                    self.answer_stream(protocol.stream(body, reply))
                else:
                    self.answer_json(protocol.whole(body, reply))
            except (BrokenPipeError, ConnectionResetError):
                pass  # The harness was interrupted and no longer listens.

        def body(self) -> bytes:
            if self.headers.get("transfer-encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            whole = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole

        def answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def answer_json(self, value: object, status: int = 200) -> None:
            self.answer(json.dumps(value).encode(), "application/json", status)

        def answer_stream(self, events: list) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for event in events:
                named = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
                data = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"{named}data: {data}\n\n".encode())
                self.wfile.flush()

    return Handler
