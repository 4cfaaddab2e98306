"""The store of idempotent creates in an event loop.

Whatever looks at the store or commits to it runs on a thread of the pool. What waits is no thread: a ticket's wait polls
the descriptor that tells of creates which end.
"""

from __future__ import annotations

import asyncio
import math
import os

from . import _native
from ._native import Capability, ClaimView, Fingerprint, Swept
from ._offload import finish, offload, offload_undone, submit
from .errors import GallivantError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Union

    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]
    NativeBegun = Union[_native.Reservation, _native.FinishedClaim, _native.Ticket, _native.UnknownClaim]
    Begun = Union["Reservation", "FinishedClaim", "Ticket", "UnknownClaim"]


class IdempotencyStore:
    """As `gallivant.idempotency.IdempotencyStore`, awaited. Opened by `await IdempotencyStore.open(path)`. Tasks, threads
    and event loops may share it.
    """

    def __init__(self, store: _native.IdempotencyStore) -> None:
        self._store = store
        self._bells: dict[asyncio.AbstractEventLoop, _Bell] = {}

    @staticmethod
    async def open(
        path: Path,
        *,
        window_ms: int | None = None,
        max_reservation_ms: int | None = None,
        max_answer_bytes: int | None = None,
        busy_ms: int | None = None,
        host: TestHost | None = None,
    ) -> IdempotencyStore:
        """As `gallivant.idempotency.IdempotencyStore.open`."""
        store = await offload(
            _native.IdempotencyStore.open,
            path,
            window_ms=window_ms,
            max_reservation_ms=max_reservation_ms,
            max_answer_bytes=max_answer_bytes,
            busy_ms=busy_ms,
            host=host,
        )
        return IdempotencyStore(store)

    async def begin(
        self,
        operation: str,
        scope: Sequence[str],
        key: str,
        body: bytes | Fingerprint,
        *,
        timeout: float | None = None,
    ) -> Begun:
        """As `gallivant.idempotency.IdempotencyStore.begin`. Cancelled, it has either reserved nothing or released the
        key again.
        """
        return await self._begun(self._store.begin, operation, scope, key, body, timeout=timeout)

    async def inspect(self, operation: str, scope: Sequence[str], key: str) -> ClaimView | None:
        """As `gallivant.idempotency.IdempotencyStore.inspect`."""
        return await offload(self._store.inspect, operation, scope, key)

    async def sweep(self) -> Swept:
        """As `gallivant.idempotency.IdempotencyStore.sweep`."""
        return await offload(self._store.sweep)

    async def capability(self) -> Capability:
        """As `gallivant.idempotency.IdempotencyStore.capability`."""
        return await offload(self._store.capability)

    def notice_sleep(self) -> None:
        """As `gallivant.idempotency.IdempotencyStore.notice_sleep`."""
        self._store.notice_sleep()

    @property
    def window_ms(self) -> int:
        """How long a finished claim is replayed, in ms."""
        return self._store.window_ms

    @property
    def max_reservation_ms(self) -> int:
        """After how many ms without a refresh a reservation whose owner lives answers unknown."""
        return self._store.max_reservation_ms

    @property
    def max_answer_bytes(self) -> int:
        """How many bytes the largest answer has that is saved."""
        return self._store.max_answer_bytes

    @property
    def busy_ms(self) -> int:
        """How many ms a call without a `timeout` waits for another process's transaction."""
        return self._store.busy_ms

    @property
    def path(self) -> str:
        """The path as it was given."""
        return self._store.path

    def __repr__(self) -> str:
        return f"<gallivant.aio.IdempotencyStore path={self.path!r}>"

    async def _begun(self, function: object, *args: object, **kwargs: object) -> Begun:
        begun: NativeBegun = await offload_undone(_give_up, function, *args, **kwargs)  # type: ignore[arg-type]
        if isinstance(begun, _native.Reservation):
            return Reservation(begun)
        if isinstance(begun, _native.FinishedClaim):
            return FinishedClaim(self, begun)
        if isinstance(begun, _native.Ticket):
            return Ticket(self, begun)
        return UnknownClaim(self, begun)


class Reservation:
    """As `gallivant.idempotency.Reservation`, awaited, for `async with`:

    async with reservation:
        made = await make(body)
        await reservation.complete(made.id, answer)

    A cancellation is an exception that leaves the block. The block's end waits until it is over whatever happens.
    """

    kind = "create"

    def __init__(self, reservation: _native.Reservation) -> None:
        self._reservation = reservation

    @property
    def blocking(self) -> _native.Reservation:
        """The same reservation with calls that block, for a thread."""
        return self._reservation

    @property
    def how(self) -> str:
        """How it came about."""
        return self._reservation.how

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the body that it belongs to."""
        return self._reservation.fingerprint

    async def complete(self, resource: str, answer: bytes, *, timeout: float | None = None) -> None:
        """As `gallivant.idempotency.Reservation.complete`. Cancelled while it waits for another process it has written
        nothing; past that it finishes first. What was made is then to be completed all the same: repeat it in
        `asyncio.shield`, or call `effect_starting` before making anything.
        """
        await offload(self._reservation.complete, resource, answer, timeout=timeout)

    async def release(self, *, timeout: float | None = None) -> None:
        """As `gallivant.idempotency.Reservation.release`."""
        await offload(self._reservation.release, timeout=timeout)

    async def effect_starting(self, *, timeout: float | None = None) -> None:
        """As `gallivant.idempotency.Reservation.effect_starting`."""
        await offload(self._reservation.effect_starting, timeout=timeout)

    async def keep_alive(self, *, timeout: float | None = None) -> None:
        """As `gallivant.idempotency.Reservation.keep_alive`."""
        await offload(self._reservation.keep_alive, timeout=timeout)

    async def __aenter__(self) -> Reservation:
        return self

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await finish(self._reservation.__exit__, exception_type, exception, traceback)

    def __repr__(self) -> str:
        return f"<gallivant.aio.Reservation how={self.how}>"


class FinishedClaim:
    """As `gallivant.idempotency.FinishedClaim`, awaited."""

    kind = "replay"

    def __init__(self, store: IdempotencyStore, claim: _native.FinishedClaim) -> None:
        self._store = store
        self._claim = claim

    @property
    def how(self) -> str:
        """How it came about."""
        return self._claim.how

    @property
    def resource(self) -> str:
        """The id of the thing that was made."""
        return self._claim.resource

    @property
    def answer(self) -> bytes | None:
        """The answer that the first create's caller got; None where the resource was only found afterwards."""
        return self._claim.answer

    @property
    def completed_ms(self) -> int:
        """When the create finished, in ms since 1970."""
        return self._claim.completed_ms

    async def recreate(self, *, timeout: float | None = None) -> Begun:
        """As `gallivant.idempotency.FinishedClaim.recreate`."""
        return await self._store._begun(self._claim.recreate, timeout=timeout)

    async def still_stands(self) -> bool:
        """As `gallivant.idempotency.FinishedClaim.still_stands`."""
        return await offload(self._claim.still_stands)

    def __repr__(self) -> str:
        return f"<gallivant.aio.FinishedClaim resource={self.resource!r} how={self.how}>"


class UnknownClaim:
    """As `gallivant.idempotency.UnknownClaim`, awaited."""

    kind = "unknown"

    def __init__(self, store: IdempotencyStore, claim: _native.UnknownClaim) -> None:
        self._store = store
        self._claim = claim

    @property
    def how(self) -> str:
        """How it came about."""
        return self._claim.how

    async def settle(self, found: str | None, *, timeout: float | None = None) -> Begun:
        """As `gallivant.idempotency.UnknownClaim.settle`."""
        return await self._store._begun(self._claim.settle, found, timeout=timeout)

    def __repr__(self) -> str:
        return f"<gallivant.aio.UnknownClaim how={self.how}>"


class Ticket:
    """As `gallivant.idempotency.Ticket`, awaited. Any number of tasks may wait; no thread does."""

    kind = "in_progress"

    def __init__(self, store: IdempotencyStore, ticket: _native.Ticket) -> None:
        self._store = store
        self._ticket = ticket

    @property
    def how(self) -> str:
        """How it came about."""
        return self._ticket.how

    async def look(self, *, timeout: float | None = None) -> Begun:
        """As `gallivant.idempotency.Ticket.look`."""
        return await self._store._begun(self._ticket.look, timeout=timeout)

    async def wait(self, timeout: float | None) -> Begun:
        """As `gallivant.idempotency.Ticket.wait`. Cancelled, it has either reserved nothing or released the key again."""
        loop = asyncio.get_running_loop()
        until = math.inf if timeout is None else loop.time() + timeout
        # The first look comes before any preparation; what happens after a sign was made is told by it.
        begun = await self.look(timeout=_left(loop, until))
        if not isinstance(begun, Ticket) or loop.time() >= until:
            return await self._at_deadline(begun)
        bell = _Bell.of(self._store, loop)
        try:
            while True:
                sign = bell.sign()
                begun = await self.look(timeout=_left(loop, until))
                left = until - loop.time()
                if not isinstance(begun, Ticket) or left <= 0:
                    return await self._at_deadline(begun)
                longest = begun._ticket.next_look(bell.rings)
                await asyncio.wait((sign,), timeout=min(longest, left))
                bell.forget(sign)
        finally:
            bell.let_go()

    async def _at_deadline(self, begun: Begun) -> Begun:
        if not isinstance(begun, Ticket):
            return begun
        # Looks a last time, and has the error of the core.
        return await self._store._begun(self._ticket.wait, 0.0)

    def __repr__(self) -> str:
        return f"<gallivant.aio.Ticket how={self.how}>"


class _Bell:
    """Tells all waits of one store in one loop of creates that end. They share it, because a user of the machine may have a
    limited number of such descriptors.
    """

    def __init__(self, store: IdempotencyStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop
        self._users = 0
        self._signs: set[asyncio.Future[None]] = set()
        self._notices = store._store.notices()
        if self._notices is not None:
            try:
                loop.add_reader(self._notices.descriptor, self._ring)
            except NotImplementedError:
                self._close()

    @staticmethod
    def of(store: IdempotencyStore, loop: asyncio.AbstractEventLoop) -> _Bell:
        """The store's bell in this loop, with one more user, who lets go of it."""
        bell = store._bells.get(loop)
        if bell is None:
            bell = store._bells[loop] = _Bell(store, loop)
        bell._users += 1
        return bell

    @property
    def rings(self) -> bool:
        """Whether it tells; where not, one looks by the time alone."""
        return self._notices is not None

    def sign(self) -> asyncio.Future[None]:
        """What is set at the next notice. Made before the look that it is to come after."""
        sign: asyncio.Future[None] = self._loop.create_future()
        self._signs.add(sign)
        return sign

    def forget(self, sign: asyncio.Future[None]) -> None:
        """Nobody waits for this sign any more."""
        self._signs.discard(sign)

    def let_go(self) -> None:
        """One user fewer; the last one closes it."""
        self._users -= 1
        if self._users == 0:
            del self._store._bells[self._loop]
            self._signs.clear()
            if self._notices is not None:
                self._loop.remove_reader(self._notices.descriptor)
                self._close()

    def _ring(self) -> None:
        signs, self._signs = self._signs, set()
        try:
            if self._notices is not None:
                self._notices.drain()
        except GallivantError:
            # It tells no more, and must not be asked for ever.
            if self._notices is not None:
                self._loop.remove_reader(self._notices.descriptor)
                self._close()
        for sign in signs:
            _tell(sign)

    def _close(self) -> None:
        notices, self._notices = self._notices, None
        if notices is not None:
            # Closing may take as long as a disk's sync.
            submit(notices.close)


def _give_up(begun: NativeBegun) -> None:
    """Releases what a cancelled task has reserved."""
    if isinstance(begun, _native.Reservation):
        begun.__exit__(None, None, None)


def _left(loop: asyncio.AbstractEventLoop, until: float) -> float:
    """What is left for another process's transaction: a millisecond at least, which a look without contention takes."""
    return max(until - loop.time(), 0.001)


def _tell(sign: asyncio.Future[None]) -> None:
    if not sign.done():
        sign.set_result(None)
