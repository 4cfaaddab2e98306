"""A run's result to a pull request: applied, committed, verified, pushed and asked to be merged, each at most once.

`reconcile_execution_result` is for threads, `gallivant.aio.reconcile_execution_result` for asyncio. What a plan holds, what is
answered and what is to be done about it is told in `docs/guides/publish-a-result.md`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

from . import _native
from ._execution_driver import Ports
from ._execution_json import value_of, written
from ._execution_transport import Reply, Signal, TransportCall

if TYPE_CHECKING:
    from ._execution_driver import Driver
    from .execution import Execution

    Path = Union[str, os.PathLike[str]]

_PYTHON_NAMES = {"findPullRequest": "find_pull_request", "createPullRequest": "create_pull_request"}

__all__ = ["AsyncPublisher", "Publisher", "reconcile_execution_result"]


class Publisher(Protocol):
    """The coordinator's way to pull requests (EX-ART-35). It may have `push` too, which then takes the place of the library's own.

    Each method is given a call whose `input` has `runId`, `repo`, `origin`, `branch`, `base` and `head`, and may be called again
    for the same, because its answer may have been lost. It raises `TransportError`; any other exception is a failure as well.
    """

    def find_pull_request(self, call: TransportCall, /) -> Reply:
        """The open pull request of the branch; None where there is none."""

    def create_pull_request(self, call: TransportCall, /) -> Reply:
        """Opens one, of `title` and `body`, and gives what is to be saved of it. Asked for only where none was found."""


class AsyncPublisher(Protocol):
    """As `Publisher`, with methods that are coroutines."""

    def find_pull_request(self, call: TransportCall, /) -> Awaitable[Reply]:
        """As `Publisher.find_pull_request`."""

    def create_pull_request(self, call: TransportCall, /) -> Awaitable[Reply]:
        """As `Publisher.create_pull_request`."""


def reconcile_execution_result(
    execution: Execution,
    run_id: str,
    plan: Mapping[str, Any],
    *,
    checkout: Path,
    scratch: Path,
    publisher: Publisher,
    entry_stopped: Callable[[str], bool],
    runtime: Optional[Mapping[str, str]] = None,
    environment: Optional[Mapping[str, str]] = None,
    git: Optional[Mapping[str, Any]] = None,
    signal: Optional[Signal] = None,
) -> dict[str, Any]:
    """Publishes the collected result of a run, and goes on with a publication that was interrupted: `{status: "published",
    appliedHead, pr}`, `{status: "blocked", reason, detail, blockedAt, appliedHead}`, which no repetition changes, or
    `{status: "nothing"}`.

    `checkout` is the root of a checkout at the task branch that nobody else works in; `scratch` an existing directory outside of
    it. `entry_stopped` says whether your registry has stopped the task's entry of a run: it is asked at the beginning, and again
    before the push. `runtime` is `{directory, programs}`, `environment` the coordinator's, `git` `{program, variables, settings}`.
    `signal` gives the call up.

    Raises `ExecutionFencedError`, `ExecutionResultError`, `ExecutionPublicationBusyError`, `ExecutionConflictError` for commands
    whose source is not the approved one, and those of every call. What was reached stays, and the call may be repeated.
    """
    input_json = input_of(run_id, plan, checkout, scratch, runtime, environment, git)
    token = _native.AbortToken()
    forget = signal.on_fire(token.abort) if signal is not None else None
    try:
        boundary = execution._boundary
        local = _native.PublicationPorts(boundary, input_json, token)
        ports = PublicationCalls(boundary, execution.limits, local, publisher, entry_stopped)
        driver: Driver = execution._driver
        answer: dict[str, Any] = value_of(driver.run("reconcileExecutionResult", input_json, signal, ports=ports))
        return answer
    finally:
        if forget is not None:
            forget()


def input_of(
    run_id: str,
    plan: Mapping[str, Any],
    checkout: Path,
    scratch: Path,
    runtime: Optional[Mapping[str, str]],
    environment: Optional[Mapping[str, str]],
    git: Optional[Mapping[str, Any]],
) -> str:
    """What machine and ports are made of."""
    members = {
        **plan,
        "runId": run_id,
        "checkout": os.fspath(checkout),
        "scratch": os.fspath(scratch),
        "runtime": runtime,
        "environment": _variables(environment) if isinstance(environment, Mapping) else environment,
        "git": git,
    }
    return written(members)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment as JSON has it. `os.environ` is a mapping and no dict, and has bytes that are no UTF-8 as halves of surrogate
    pairs, in whose place there is a question mark.
    """

    def plain(text: str) -> str:
        return text.encode(errors="replace").decode() if isinstance(text, str) else text

    return {plain(name): plain(value) for name, value in environment.items()}


class PublicationCalls(Ports):
    """Whom the calls of a publication are for."""

    def __init__(
        self,
        boundary: _native.Boundary,
        limits: Mapping[str, int],
        local: _native.PublicationPorts,
        publisher: object,
        entry_stopped: Callable[[str], Any],
    ) -> None:
        super().__init__(boundary, None, None, limits)
        self._local = local
        self._publisher = publisher
        self._entry_stopped = entry_stopped

    def method(self, step: _native.Call) -> Callable[[TransportCall], Any]:
        """The function that answers a step."""
        if step.port == "coordinator":
            return self._stopped
        if step.port == "publisher":
            name = _PYTHON_NAMES.get(step.method, step.method)
            own: Optional[Callable[[TransportCall], Any]] = getattr(self._publisher, name, None)
            if own is not None:
                return own
        return lambda call: self.answer(step.port, call)

    def answer(self, port: str, call: TransportCall) -> Any:
        """What this machine answers."""
        return self._local.answer(port, call.method, call.input_json)

    def _stopped(self, call: TransportCall) -> Any:
        return {"stopped": bool(self._entry_stopped(call.input["runId"]))}
