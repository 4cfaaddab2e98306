"""What a transport of the execution layer is given, what it answers, and how it fails: the parts that threads and asyncio share."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, Union

from . import _native
from ._execution_json import text_of, value_of, written

# What a method answers: a JSON object, its text, or None where the method may answer null.
Reply = Union[Mapping[str, Any], str, bytes, None]

# How many seconds a method whose signal has fired is waited for, and then left alone (EX-TRA-05).
GRACE = 1.0

# How a driver's wait looks at what wakes nobody: at a clock that a test moves and at a `Cancel`; and at the machine's clock.
SHORT_PAUSE = 0.02
LONG_PAUSE = 1.0

_METHODS: tuple[str, ...] = tuple(_native.execution_constants()["METHODS"])

_PYTHON_NAMES = {"continue": "continue_", "recoverResponse": "recover_response"}


class Bell:
    """Wakes one thread, or lets it go on at once where it has rung since the last wait. A signal handler may ring it, which
    would wait for ever in a `threading.Event` whose own lock the thread under it holds.
    """

    def __init__(self) -> None:
        self._rung = threading.Lock()
        self._rung.acquire()

    def ring(self) -> None:
        """Rings it."""
        try:
            self._rung.release()
        except RuntimeError:
            # It has rung, and nobody has heard it yet.
            pass

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it rings, or so many seconds. Whether it has rung."""
        return self._rung.acquire(timeout=-1 if timeout is None else min(max(timeout, 0.0), threading.TIMEOUT_MAX))


class Signal:
    """Tells a call that it is over, once and for all. Threads may share it.

    A transport looks at the signal of its call; a caller hands one of its own to a method of an `Execution` and fires it to
    give the call up.
    """

    def __init__(self) -> None:
        # No lock guards the two: a handler of the operating system's signals, which may fire this, would wait for one that the
        # thread under it holds. Whoever takes a callback off the list calls it.
        self._fired = False
        self._callbacks: list[Callable[[], object]] = []

    @property
    def fired(self) -> bool:
        """Whether it has fired."""
        return self._fired

    def fire(self) -> None:
        """Fires, and calls what waits for that, on this thread. Does nothing the second time. A signal handler may do it.

        Raises what the first callback has raised that raised anything, once all of them were called.
        """
        self._fired = True
        failed: Exception | None = None
        while self._callbacks:
            try:
                callback = self._callbacks.pop(0)
            except IndexError:
                # Another thread has taken the last.
                break
            try:
                callback()
            except Exception as raised:
                failed = failed or raised
        if failed is not None:
            raise failed

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it fires, or so many seconds. Whether it has fired."""
        bell = Bell()
        forget = self.on_fire(bell.ring)
        try:
            bell.wait(timeout)
        finally:
            forget()
        return self._fired

    def on_fire(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Has this called when it fires, at once where it has: to close a connection, say. Answers a function that takes it
        back.
        """
        self._callbacks.append(callback)
        # It is called here, or by whoever fires, or was taken back.
        if self._fired and self._forget(callback):
            callback()
        return functools.partial(self._take_back, callback)

    def _take_back(self, callback: Callable[[], object]) -> None:
        self._forget(callback)

    def _forget(self, callback: Callable[[], object]) -> bool:
        """Whether it was there still."""
        try:
            self._callbacks.remove(callback)
        except ValueError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<gallivant.execution.Signal fired={self.fired}>"


class TransportCall:
    """One call of a transport's method. Its `repr` leaves the input out, which may hold prompts, answers and grants."""

    def __init__(
        self,
        method: str,
        input_json: str,
        *,
        deadline_at: int,
        limits: Mapping[str, int],
        now_ms: Callable[[], int],
    ) -> None:
        self.method = method
        """Which method, in the spelling of the contract: `continue`, `recoverResponse`."""
        self.input_json = input_json
        """The method's input as JSON text, with all digits of its numbers."""
        self.deadline_at = deadline_at
        """When the call counts as failed, in ms since 1970 on the boundary's clock."""
        self.limits = limits
        """The limits in force, by their names."""
        self.signal = Signal()
        """Fires at the deadline, when the caller gives up, and when the boundary is closed. The method should end then."""
        self._now_ms = now_ms
        self._is_sending = False

    @property
    def input(self) -> dict[str, Any]:
        """The method's input, with exactly the members of the contract; a fresh copy each time."""
        value: dict[str, Any] = value_of(self.input_json)
        return value

    def seconds_left(self) -> float:
        """How long it is to the deadline: what a client's own timeout may be. Never below 0."""
        return max(0.0, (self.deadline_at - self._now_ms()) / 1000)

    def sending(self) -> None:
        """To be called just before the first request to the provider, or the first record of the transport's own: from then on
        `not-sent` is not believed of this call (EX-TRA-29). Does nothing the second time.
        """
        self._is_sending = True

    @property
    def is_sending(self) -> bool:
        """Whether `sending` was called."""
        return self._is_sending

    def __repr__(self) -> str:
        return f"<gallivant.execution.TransportCall method={self.method!r} deadline_at={self.deadline_at}>"


def tell_over(call: TransportCall) -> None:
    """Tells a method that its call is over. What a callback of its own raises then changes nothing about that."""
    try:
        call.signal.fire()
    except Exception:
        pass


class TransportError(Exception):
    """What a method of a transport fails with, where it knows more than that it failed. Any other exception is `io`.

    `kind` is `io`, `auth` (the provider does not accept who asks), `rate` (it asks for patience), `protocol` (its answer breaks
    its own contract), `not-sent`, `collection-validation`, `deadline` or `aborted`; anything else is `io`. `retry_after_ms` is
    after how many milliseconds the provider wants to be asked again. `code` is the transport's own.
    """

    # An heir may have an `__init__` of its own that calls none.
    kind: str = "io"
    message: str = ""
    retry_after_ms: float | None = None
    code: str | None = None

    def __init__(
        self, kind: str, message: str = "", *, retry_after_ms: float | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_ms = retry_after_ms
        self.code = code

    def to_json(self) -> str:
        """The failure as `Machine.fail` takes it."""
        # A member of the wrong type is as if it were not there (EX-TRA-31).
        texts = {"kind": self.kind, "message": self.message, "code": self.code}
        members: dict[str, Any] = {name: text for name, text in texts.items() if isinstance(text, str)}
        after = self.retry_after_ms
        # Compared and not converted: an integer may be too large for a `float`.
        if isinstance(after, (int, float)) and abs(after) <= sys.float_info.max:
            members["retryAfterMs"] = after
        return written(members)


def dispatch_not_sent_error(code: str, message: str) -> TransportError:
    """A refusal before anything was sent, to be raised by `submit` or `continue_` (EX-TRA-27): the operation is taken back, and
    may be dispatched again. Honest only before the transport has saved anything of its own for the operation and before its
    first request to the provider, requests that only set something up included (EX-TRA-28).
    """
    return TransportError("not-sent", message, code=code)


def collection_validation_error(reason: str, message: str) -> TransportError:
    """A fault of a downloaded artifact of a completed turn that will be there each time, to be raised by `collect` (EX-TRA-30):
    the result is rejected and not asked for again. Not for a download that failed.
    """
    return TransportError("collection-validation", message, code=reason)


class Transport(Protocol):
    """A remote adapter: your own code, which reaches the provider. These methods every transport has; besides, as the provider's
    record promises and in the same form:

    - `prepare`: a boundary and a grant for an intake turn, without a paid submit: a `ProviderPreparation` (EX-TRA-12, EX-TRA-13);
    - `continue_`: another turn of a session: a `ProviderAcknowledgement` (EX-TRA-16);
    - `cancel`: the end of a job: a `ProviderStop` (EX-TRA-19);
    - `lookup`: the job of a saved intent: a `ProviderObservation`, or None (EX-TRA-22);
    - `recover_response`: an answer whose reply was lost: a `ProviderAcknowledgement`, or None (EX-TRA-24).

    A method blocks, and returns a `dict` with the members of the type that is named here, or JSON text as `str` or `bytes`, which keeps all digits. It raises `TransportError`;
    any other exception is a failure of that call with `io` too. Each call runs on a thread beside the caller's.
    """

    def submit(self, call: TransportCall, /) -> Reply:
        """A new job: a `ProviderAcknowledgement` (EX-TRA-14)."""

    def inspect(self, call: TransportCall, /) -> Reply:
        """What a job does: a `ProviderObservation` (EX-TRA-15)."""

    def collect(self, call: TransportCall, /) -> Reply:
        """A job's result, a `ProviderResult`; None while there is none (EX-TRA-18)."""


class AsyncTransport(Protocol):
    """As `Transport`, with methods that are coroutines. A call that is over is cancelled, and its signal fires."""

    def submit(self, call: TransportCall, /) -> Awaitable[Reply]:
        """As `Transport.submit`."""

    def inspect(self, call: TransportCall, /) -> Awaitable[Reply]:
        """As `Transport.inspect`."""

    def collect(self, call: TransportCall, /) -> Awaitable[Reply]:
        """As `Transport.collect`."""


def python_name(method: str) -> str:
    """What a method of the contract is called on a Python object."""
    return _PYTHON_NAMES.get(method, method)


def methods_of(transport: object) -> list[str]:
    """The methods of the contract that a transport has: their presence on the object declares them, and none is called."""
    return [method for method in _METHODS if callable(getattr(transport, python_name(method), None))]


def reply_text(reply: object) -> str:
    """The text of a reply.

    Raises `TransportError` for what has no JSON form.
    """
    if inspect.iscoroutine(reply):
        # Nobody will run it.
        reply.close()
        raise TransportError("protocol", "a method is a coroutine, which is for AsyncExecution")
    try:
        return reply.decode() if isinstance(reply, bytes) else text_of(dict(reply) if isinstance(reply, Mapping) else reply)
    except (TypeError, ValueError, RecursionError) as failed:
        raise TransportError("protocol", f"a reply has no JSON form: {type(failed).__name__}") from failed


def failure_json(raised: BaseException) -> str:
    """What a method raised, as `Machine.fail` takes it."""
    try:
        if not isinstance(raised, TransportError):
            raised = TransportError("io", f"{type(raised).__name__}: {raised}")
        return raised.to_json()
    except Exception:
        # It cannot even be looked at, and has failed all the same.
        return TransportError("io", type(raised).__name__).to_json()


def adapter_options(transport: object | None, runner: object | None) -> dict[str, Any]:
    """What the core is told of a transport and of a process host: one of the program's own is an object, the built-in one a mapping
    of its options.
    """
    options: dict[str, Any] = {}
    if transport is not None:
        options["transport"] = {"methods": methods_of(transport)}
    if runner is not None:
        options["runner"] = dict(runner) if isinstance(runner, Mapping) else True
    return options


def boundary_options(
    *,
    task_id: str,
    provider: str,
    account: str,
    capabilities: object,
    transport: object | None,
    runner: object | None,
    budget_usd: object | None,
    limits: Mapping[str, int] | None,
    secrets: Iterable[str],
    health: object | None,
    intake_deadline_at: int | None,
    sandbox_required: bool,
) -> str:
    """The options of a boundary as JSON text (EX-BND-04)."""
    members = {
        "taskId": task_id,
        "provider": provider,
        "account": account,
        "budgetUsd": budget_usd,
        "limits": None if limits is None else dict(limits),
        "secrets": list(secrets),
        "health": dict(health) if isinstance(health, Mapping) else health,
        "intakeDeadlineAt": intake_deadline_at,
        "sandboxRequired": sandbox_required,
        **adapter_options(transport, runner),
    }
    fields = [f"{written(name)}:{written(value)}" for name, value in members.items() if value is not None]
    return "{" + ",".join([*fields, f'"capabilities":{capabilities_text(capabilities)}']) + "}"


def capabilities_text(capabilities: object) -> str:
    """A record as JSON text; it may be that already."""
    return text_of(dict(capabilities) if isinstance(capabilities, Mapping) else capabilities)
