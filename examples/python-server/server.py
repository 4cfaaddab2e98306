"""A server whose creates may be repeated, and whose runs are followed: `uvicorn --app-dir examples/python-server server:app`.

    curl -i -X POST localhost:8000/workspaces/7/harnesses -H 'Idempotency-Key: k-1' -H 'X-User: u' -d '{"name": "a"}'

Sent twice, it makes one harness and answers the same; killed in between, too, because a harness's name comes from its key.
Only the example takes a header's word for who is acting.

    curl -N localhost:8000/runs/7/events -H 'Last-Event-ID: 2'

streams what `run.py` beside this file writes into `runs/7`, from the third line on. Start it with
`--timeout-graceful-shutdown 5`: streams do not end by themselves.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from gallivant.asgi import IdempotencyMiddleware, ReplayApp

DIRECTORY = os.environ.get("HARNESSES", ".")


def directory_of_run(scope):
    """Of `/runs/7/events` the directory `runs/7`; None for what names no run."""
    named = re.fullmatch("/runs/([A-Za-z0-9-]+)/events", scope["path"])
    return os.path.join(DIRECTORY, "runs", named[1]) if named else None


runs = ReplayApp(directory_of_run)


async def serve(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError  # no lifespan, which servers take for an answer
    await (runs if scope["path"].startswith("/runs/") else create)(scope, receive, send)


async def create(scope, receive, send):
    """Makes a harness: a file with the request's body."""
    headers = dict(scope["headers"])
    if scope["method"] != "POST" or b"idempotency-key" not in headers or b"x-user" not in headers:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        return await send({"type": "http.response.body", "body": b""})
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    # A create that was killed after its effect and is made again makes the same file again.
    owner = json.dumps([*belongs_to(scope), headers[b"idempotency-key"].decode("latin-1")])
    identity = hashlib.sha256(owner.encode()).hexdigest()[:32]
    with open(os.path.join(DIRECTORY, f"{identity}.harness"), "wb") as harness:
        harness.write(body)
    headers = [(b"content-type", b"application/json"), (b"location", f"/harnesses/{identity}".encode())]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"id": identity}).encode()})


def belongs_to(scope):
    """Whatever decides what is made besides the body: the parent in the path, and who is acting."""
    user = dict(scope["headers"]).get(b"x-user", b"nobody").decode("latin-1")
    return "harnesses.create", [scope["path"], user]


app = IdempotencyMiddleware(serve, os.path.join(DIRECTORY, "idempotency.db"), belongs_to=belongs_to)
