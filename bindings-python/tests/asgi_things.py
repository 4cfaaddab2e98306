"""An app that makes things behind the middleware, and the store that both stand on."""

from __future__ import annotations

import json

from gallivant.asgi import IdempotencyMiddleware

from .asgi_driver import answer, body_of
from .idempotency_support import StoreCase

KEY = "k-1"


def belongs_to(scope):
    return "things.create", [scope["path"], "principal"]


class Things:
    """An app that makes things, and what may be set of how it does."""

    def __init__(self):
        self.made = []
        self.status = 201
        self.padding = b""
        self.before = None
        self.after = None
        self.runs = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        self.runs += 1
        body = await body_of(receive)
        if self.before is not None:
            await self.before(scope, receive, send)
        identity = f"t-{len(self.made) + 1}"
        self.made.append((identity, body))
        headers = [
            (b"content-type", b"application/json"),
            (b"location", f"/things/{identity}".encode()),
            (b"set-cookie", b"session=secret"),
        ]
        await answer(send, self.status, json.dumps({"id": identity}).encode() + self.padding, headers)
        if self.after is not None:
            await self.after(scope, receive, send)


class MiddlewareCase(StoreCase):
    def setUp(self):
        super().setUp()
        self.things = Things()

    def app(self, store=None, **options):
        options = {"belongs_to": belongs_to, "wait": 20, **options}
        return IdempotencyMiddleware(self.things, self.path if store is None else store, **options)

    def claim(self, path="/workspaces/w"):
        return self.store.inspect(*belongs_to({"path": path}), KEY)

    def refused(self, response, status, word):
        self.assertEqual((response.status, response.json["code"], response.json["status"]), (status, word, status))
        self.assertEqual(response.headers["content-type"], "application/problem+json")
        self.assertTrue(response.json["title"])
        self.assertNotIn(self.directory, response.body.decode())
