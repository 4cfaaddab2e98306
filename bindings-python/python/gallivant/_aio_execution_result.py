"""A run's result to a pull request, for asyncio: `gallivant.aio.reconcile_execution_result`."""

from __future__ import annotations

import asyncio
import inspect

from . import _native
from ._execution_json import value_of
from ._offload import offload
from .execution_result import PublicationCalls, input_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, Optional, Union

    from ._aio_execution import AsyncExecution
    from ._execution_transport import TransportCall
    from .execution_result import AsyncPublisher

    Path = Union[str, os.PathLike[str]]


async def reconcile_execution_result(
    execution: AsyncExecution,
    run_id: str,
    plan: Mapping[str, Any],
    *,
    checkout: Path,
    scratch: Path,
    publisher: AsyncPublisher,
    entry_stopped: Callable[[str], Union[bool, Awaitable[bool]]],
    runtime: Optional[Mapping[str, str]] = None,
    environment: Optional[Mapping[str, str]] = None,
    git: Optional[Mapping[str, Any]] = None,
) -> dict[str, Any]:
    """As `gallivant.execution_result.reconcile_execution_result`. Cancelling the task that awaits it ends the command that runs."""
    input_json = input_of(run_id, plan, checkout, scratch, runtime, environment, git)
    token = _native.AbortToken()
    boundary = execution._driver.boundary
    local = await offload(_native.PublicationPorts, boundary, input_json, token)
    ports = _Calls(boundary, execution.limits, local, publisher, entry_stopped)
    try:
        text = await execution._driver.run("reconcileExecutionResult", input_json, ports=ports)
    except asyncio.CancelledError:
        token.abort()
        raise
    answer: dict[str, Any] = value_of(text)
    return answer


class _Calls(PublicationCalls):
    """As its base; what this machine answers is answered on a thread of the pool."""

    async def answer(self, port: str, call: TransportCall) -> Any:
        return await offload(self._local.answer, port, call.method, call.input_json)

    async def _stopped(self, call: TransportCall) -> Any:
        stopped = self._entry_stopped(call.input["runId"])
        return {"stopped": bool(await stopped if inspect.isawaitable(stopped) else stopped)}
