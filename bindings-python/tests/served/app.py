"""A Starlette app behind the middleware, as uvicorn serves it. What it makes it appends to a file, a line a thing, so that
several workers may be counted together.
"""

import asyncio
import os
import time

from starlette.applications import Starlette
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from gallivant.asgi import IdempotencyMiddleware

DIRECTORY = os.environ["SERVED_DIRECTORY"]


class ByHeader(AuthenticationBackend):
    async def authenticate(self, conn):
        return AuthCredentials(), SimpleUser(conn.headers.get("x-principal", "nobody"))


def belongs_to(scope):
    return "things.create", [scope["path"], scope["user"].username]


def made(body):
    with open(os.path.join(DIRECTORY, "made"), "a") as things:
        things.write(body + "\n")
    with open(os.path.join(DIRECTORY, "made")) as things:
        return f"t-{len(things.readlines())}"


async def create(request):
    told = await request.json()
    if told.get("marks"):
        await request.scope["gallivant.idempotency"].effect_starting()
    await asyncio.sleep(told.get("seconds", 0))
    if told.get("fails"):
        raise RuntimeError("as the test asked")
    if told.get("refuses"):
        return JSONResponse({"refused": True}, 422)
    identity = made(told["name"])
    answer = {"id": identity, "padding": "x" * told.get("padding", 0)}
    return JSONResponse(answer, 201, headers={"location": f"/things/{identity}", "set-cookie": "session=secret"})


def create_on_a_thread(request):
    request.scope["gallivant.idempotency"].blocking.effect_starting()
    time.sleep(0.05)
    return JSONResponse({"id": made("thread")}, 201)


async def stream(request):
    identity = made((await request.body()).decode())

    async def parts():
        for number in range(20):
            yield f"{identity} {number}\n"
            await asyncio.sleep(0.01)

    return StreamingResponse(parts(), 201, media_type="text/plain")


app = Starlette(
    routes=[
        Route("/workspaces/{name}/things", create, methods=["POST"]),
        Route("/threads", create_on_a_thread, methods=["POST"]),
        Route("/streams", stream, methods=["POST"]),
    ],
    middleware=[
        Middleware(AuthenticationMiddleware, backend=ByHeader()),
        Middleware(
            IdempotencyMiddleware,
            store=os.path.join(DIRECTORY, "idempotency.db"),
            belongs_to=belongs_to,
            wait=5.0,
            max_body_bytes=1 << 20,
        ),
        Middleware(GZipMiddleware, minimum_size=200),
    ],
)
