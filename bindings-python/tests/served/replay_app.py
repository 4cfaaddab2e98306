"""A Starlette app that streams the runs below a directory, as uvicorn serves it, and tells what it has open."""

import asyncio
import os
import threading

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from gallivant.asgi import ReplayApp, ReplayResponse

DIRECTORY = os.environ["SERVED_DIRECTORY"]


async def events(request):
    run = os.path.join(DIRECTORY, request.path_params["run"])
    return ReplayResponse(run, last_event_id=request.query_params.get("after"))


async def left(request):
    tasks = [task for task in asyncio.all_tasks() if not task.done()]
    return JSONResponse(
        {"descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(), "tasks": len(tasks)}
    )


def locate(scope):
    name = scope["path"].rsplit("/", 1)[-1]
    return os.path.join(DIRECTORY, name) if name.isalnum() else None


app = Starlette(
    routes=[
        Route("/runs/{run}/events", events, methods=["GET", "HEAD"]),
        Route("/left", left),
        Mount("/many", ReplayApp(locate)),
    ],
    middleware=[Middleware(GZipMiddleware, minimum_size=0)],
)
