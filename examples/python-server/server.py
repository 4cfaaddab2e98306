"""A server whose creates may be repeated: `uvicorn --app-dir examples/python-server server:app`.

    curl -i -X POST localhost:8000/workspaces/7/harnesses -H 'Idempotency-Key: k-1' -H 'X-User: u' -d '{"name": "a"}'

Sent twice, it makes one harness and answers the same. Only the example takes a header's word for who is acting.
"""

from __future__ import annotations

import json
import os
import uuid

from gallivant.asgi import IdempotencyMiddleware

DIRECTORY = os.environ.get("HARNESSES", ".")


async def create(scope, receive, send):
    """Makes a harness: a file with the request's body."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    identity = uuid.uuid4().hex
    with open(os.path.join(DIRECTORY, f"{identity}.harness"), "xb") as harness:
        harness.write(body)
    headers = [(b"content-type", b"application/json"), (b"location", f"/harnesses/{identity}".encode())]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"id": identity}).encode()})


def belongs_to(scope):
    """Whatever decides what is made besides the body: the parent in the path, and who is acting."""
    user = dict(scope["headers"]).get(b"x-user", b"nobody").decode("latin-1")
    return "harnesses.create", [scope["path"], user]


app = IdempotencyMiddleware(create, os.path.join(DIRECTORY, "idempotency.db"), belongs_to=belongs_to)
