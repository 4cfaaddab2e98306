"""Whether a transport keeps those parts of its contract that only its provider's side shows. What is asked, and what is wrong with
what was seen, is the core's to say; this calls, waits and counts.
"""

from __future__ import annotations

import threading
import time
import uuid

from . import _native
from ._execution_driver import run_beside
from ._execution_functions import function_json
from ._execution_json import text_of, value_of, written
from ._execution_transport import GRACE, TransportCall, TransportError, capabilities_text, methods_of, python_name, reply_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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
) -> list[dict[str, str]]:
    """Calls the methods of a transport and looks at its provider: that `prepare` makes no job, `submit` exactly one, and `cancel`,
    called twice with one key, has one effect; that after no method a handle stays open, and that nothing reaches the provider while
    nobody asks for anything. Takes a quarter of a second for each method. Gives what it found, as `{"clause", "method", "seen"}`;
    without findings the transport has kept what was looked at.

    `look` counts at the provider's end, a fake provider or a test account: `requests`, `jobs`, `cancellations` and `open_handles`,
    all so far. The check makes one job, and cancels it. `nonce` makes its keys those of no other check.

    Raises `ExecutionInputError` that names the member, `ExecutionCapabilityError` for a record that is none, and what `look` raises.
    """
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
    }
    fields = [f"{written(name)}:{written(value)}" for name, value in members.items() if value is not None]
    subject = "{" + ",".join([*fields, f'"capabilities":{capabilities_text(capabilities)}']) + "}"
    methods = written(methods_of(transport))
    seen: list[str] = []
    while True:
        now = time.time_ns() // 1_000_000
        asked = f'{{"methods":{methods},"subject":{subject},"now":{now},"seen":[{",".join(seen)}]}}'
        step = value_of(function_json("checkTransport", asked))
        if "ask" not in step:
            findings: list[dict[str, str]] = step["findings"]
            return findings
        ask = step["ask"]
        before = _counted(look)
        end = _run(transport, ask, set_limits)
        after = _counted(look)
        time.sleep(ask["quietMs"] / 1000)
        seen.append(written({"before": before, "after": after, "quiet": _counted(look), "end": end}))


def _counted(look: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    counts = look()
    return {theirs: counts[ours] for ours, theirs in _COUNTS.items()}


def _run(transport: Transport, ask: Mapping[str, Any], limits: Mapping[str, int]) -> dict[str, Any]:
    """Runs a method beside this thread, and gives how it has ended."""
    call = TransportCall(
        ask["method"],
        text_of(ask["input"]),
        deadline_at=time.time_ns() // 1_000_000 + ask["deadlineMs"],
        limits=limits,
        now_ms=lambda: time.time_ns() // 1_000_000,
    )
    end: dict[str, Any] = {}
    ended = threading.Event()

    def run() -> None:
        try:
            end["reply"] = reply_text(getattr(transport, python_name(call.method))(call))
        except TransportError as failed:
            end["failed"] = str(failed.kind)
        except BaseException:
            end["failed"] = "io"
        finally:
            ended.set()

    run_beside(run)
    if ended.wait(ask["deadlineMs"] / 1000):
        return end
    call.signal.fire()
    ended.wait(GRACE)
    return {"late": True}
