"""A plain asyncio driver of ASGI apps: a request with everything that a server would do around it, and nothing else."""

from __future__ import annotations

import asyncio
import json


class Response:
    """What the app sent."""

    def __init__(self):
        self.status = None
        self.raw_headers = []
        self.body = b""
        self.is_whole = False

    @property
    def headers(self):
        return {name.decode(): value.decode() for name, value in self.raw_headers}

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def replayed(self):
        return self.headers.get("idempotent-replayed") == "true"


class Request:
    """One request. `parts` are what `receive` hands out; `leaves` makes the client go in the middle of its body."""

    def __init__(self, *, key=None, body=b"{}", parts=None, path="/workspaces/w", method="POST", headers=(), leaves=False):
        self.parts = [body] if parts is None else list(parts)
        self.leaves = leaves
        self.gone = asyncio.Event()
        self.response = Response()
        keys = [] if key is None else [key] if isinstance(key, str) else key
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"idempotency-key", one.encode("latin-1")) for one in keys]
            + [(name.encode(), value.encode()) for name, value in headers],
            "extensions": {"http.response.pathsend": {}, "http.response.debug": {}},
        }

    async def receive(self):
        if self.parts:
            part = self.parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self.parts) or self.leaves}
        if not self.leaves:
            await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        response = self.response
        if message["type"] == "http.response.start":
            assert response.status is None, "the answer was started twice"
            response.status, response.raw_headers = message["status"], list(message["headers"])
        else:
            assert message["type"] == "http.response.body", message
            assert response.status is not None and not response.is_whole, "a body out of turn"
            response.body += message.get("body", b"")
            response.is_whole = not message.get("more_body", False)

    async def run(self, app):
        await app(self.scope, self.receive, self.send)
        return self.response


async def ask(app, **request):
    """Sends a request and answers the response."""
    return await Request(**request).run(app)


async def body_of(receive):
    """All of a request's body, as an app reads it."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client has gone")
        body += message["body"]
        if not message["more_body"]:
            return body


async def answer(send, status, body=b"", headers=()):
    """Answers in two parts, as frameworks do."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
    await send({"type": "http.response.body", "body": body[len(body) // 2 :], "more_body": False})
