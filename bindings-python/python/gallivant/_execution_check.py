"""Whether a transport keeps those parts of its contract that only its provider's side shows. What is asked, and what is wrong with
what was seen, is the core's to say; this calls, waits and counts.
"""

from __future__ import annotations

import inspect
import threading
import time
import uuid
from collections.abc import Mapping

from . import _native, errors
from ._execution_driver import run_beside
from ._execution_functions import function_json
from ._execution_json import text_of, value_of, written
from ._execution_transport import GRACE, TransportCall, capabilities_text, failure_json, methods_of, python_name, reply_text, tell_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._execution_transport import Transport

_COUNTS = {"requests": "requests", "jobs": "jobs", "cancellations": "cancellations", "open_handles": "openHandles"}


def check_transport(
    transport: Transport,
    look: Callable[[], Mapping[str, int]],
    *,
    task_id: str,
    provider: str,
    account: str,
    capabilities: Mapping[str, Any] | str,
    nonce: str | None = None,
    input_head: str | None = None,
    policy: str | None = None,
    model: str | None = None,
    environment: str | None = None,
    limits: Mapping[str, int] | None = None,
    prompt: str | None = None,
    ending_prompt: str | None = None,
    secrets: Iterable[str] = (),
) -> list[dict[str, str]]:
    """Calls the methods of a transport and looks at its provider. Every reply is judged as a pass judges it; and `prepare` has to make
    no job, `submit` exactly one with one request and after `sending()`, `cancel`, called twice with one key, one effect, and a
    `lookup` of a key that nobody has sent has to find nothing. After no method a handle stays open, and nothing reaches the provider
    while nobody asks for anything. `recover_response` is not called: only a turn that waits for an answer has one. Gives what it found, as
    `{"clause", "method", "seen"}`; without findings the transport has kept what was looked at.

    It makes a job with `prompt` and stops it, with `ending_prompt` another one that ends by itself within ten seconds, and goes on in a
    session where the record says that turns do. Where the record has no stop, the job is left to its end. It takes a quarter of a
    second and the call for each method, so that the job of `prompt` has to live for about a second until it is stopped.

    `look` counts at the provider's end, a fake provider or a test account: `requests`, `jobs` and `cancellations` so far, and
    `open_handles` now: connections, files, threads. Its own looking is not counted, nor are the requests of a `submit` that only set
    something up. `nonce` makes its keys those of no other check. `secrets` are values that no finding shows.

    Raises `ExecutionInputError` that names the member, of the counts too, and for a transport whose methods are coroutines: check
    those in a thread, each behind `asyncio.run`. `ExecutionCapabilityError` for a record that is none, and what `look` raises.
    """
    for method in methods_of(transport):
        if inspect.iscoroutinefunction(getattr(transport, python_name(method))):
            message = f"a method is a coroutine, which is for AsyncExecution, method=`{python_name(method)}`"
            remedy = "check an object whose methods run those of the transport with asyncio.run"
            raise errors.ExecutionInputError(message, remedy=remedy)
    set_limits = {name: default for name, default, _, _ in _native.execution_constants()["EXECUTION_LIMITS"]}
    set_limits.update(limits or {})
    members = {
        "taskId": task_id,
        "provider": provider,
        "account": account,
        "nonce": uuid.uuid4().hex if nonce is None else nonce,
        "inputHead": input_head,
        "policy": policy,
        "model": model,
        "environment": environment,
        "limits": None if limits is None else dict(limits),
        "prompt": prompt,
        "endingPrompt": ending_prompt,
        "secrets": list(secrets),
    }
    fields = [f"{written(name)}:{written(value)}" for name, value in members.items() if value is not None]
    subject = "{" + ",".join([*fields, f'"capabilities":{capabilities_text(capabilities)}']) + "}"
    methods = written(methods_of(transport))
    seen: list[str] = []
    while True:
        asked = f'{{"methods":{methods},"subject":{subject},"seen":[{",".join(seen)}]}}'
        step = value_of(function_json("checkTransport", asked))
        if "ask" not in step:
            return [{**finding, "method": python_name(finding["method"])} for finding in step["findings"]]
        ask = step["ask"]
        before = _counted(look)
        asked_at = _now_ms()
        end, is_sending = _run(transport, ask, set_limits)
        ended_at = _now_ms()
        after = _counted(look)
        time.sleep(ask["quietMs"] / 1000)
        counts = {"before": before, "after": after, "quiet": _counted(look)}
        seen.append(written({**counts, "askedAt": asked_at, "endedAt": ended_at, "sending": is_sending, "end": end}))


def _counted(look: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    counts = look()
    if not isinstance(counts, Mapping) or set(counts) != set(_COUNTS):
        message = f"look gives a mapping of exactly these counts, counts=`{' '.join(_COUNTS)}`"
        raise errors.ExecutionInputError(message, remedy="return each of them as an integer from 0")
    for name, count in counts.items():
        if not isinstance(count, int) or count < 0:
            message = f"look gives a count that is no integer from 0, count=`{name}`"
            raise errors.ExecutionInputError(message, remedy="return each of them as an integer from 0")
    return {theirs: int(counts[ours]) for ours, theirs in _COUNTS.items()}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _run(transport: Transport, ask: Mapping[str, Any], limits: Mapping[str, int]) -> tuple[dict[str, Any], bool]:
    """Runs a method beside this thread, and gives how it has ended, and whether it said that it sends."""
    call = TransportCall(
        ask["method"],
        text_of(ask["input"]),
        deadline_at=_now_ms() + ask["deadlineMs"],
        limits=limits,
        now_ms=_now_ms,
    )
    end: dict[str, Any] = {}
    ended = threading.Event()

    def run() -> None:
        try:
            end["reply"] = reply_text(getattr(transport, python_name(call.method))(call))
        except BaseException as raised:
            end["failed"] = value_of(failure_json(raised))
        finally:
            ended.set()

    run_beside(run)
    if ended.wait(ask["deadlineMs"] / 1000):
        return end, call.is_sending
    tell_over(call)
    ended.wait(GRACE)
    return {"late": True}, call.is_sending
