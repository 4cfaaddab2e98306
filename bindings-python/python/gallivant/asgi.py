"""For Starlette, FastAPI and every other ASGI framework: a middleware for creates with an `Idempotency-Key`, and a run's
lines as server-sent events.

    def belongs_to(scope):
        # Whatever decides what is made besides the body: the parent in the path, and who is acting.
        workspace = scope["path"].split("/")[2]
        return "harnesses.create", [workspace, scope["user"].id]

    app = IdempotencyMiddleware(app, "/srv/app/idempotency.db", belongs_to=belongs_to)

Put it inside what authenticates, and outside whatever reads or changes the body. The guide is
`docs/guides/idempotency.md` of the project.

    async def events(request):
        return ReplayResponse(directory_of_run(request.path_params["run"]))
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os

from . import _native
from ._aio_idempotency import FinishedClaim, IdempotencyStore, Reservation, Ticket, UnknownClaim
from ._asgi_messages import Answer, Body, Captured, TooLarge, problem
from ._asgi_replay import ReplayApp, ReplayResponse
from ._offload import finish, over
from .errors import GallivantError, IdempotencyAnswerTooLargeError, IdempotencyClaimLostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import Any, Union

    from ._aio_idempotency import Begun
    from ._asgi_messages import App as App
    from ._asgi_messages import Header, Receive, Scope, Send

    Named = Union[tuple[str, Sequence[str]], None]
    Path = Union[str, os.PathLike[str]]

__all__ = ["Answer", "Creating", "IdempotencyMiddleware", "ReplayApp", "ReplayResponse", "SAVED_HEADERS"]

# The headers that are saved with an answer and replayed: those that say what the body is and where the thing is. Nothing
# that belongs to one client or one moment (cookies, credentials, dates) is among them.
SAVED_HEADERS = frozenset(
    (
        "content-type",
        "content-language",
        "content-encoding",
        "content-location",
        "etag",
        "last-modified",
        "link",
        "location",
        "vary",
    )
)

_REPLAYED: Header = (b"idempotent-replayed", b"true")

# How many seconds a running create lets pass between two signs of life: a fourth of the two minutes after which another
# machine takes it over (IK-09).
_SIGN_OF_LIFE = 30.0

# How many seconds lie between two tries to complete what could not be completed at once.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0

# Reservations of which no repetition helps: made, and not to be said.
_UNSAID: list[_native.Reservation] = []

# What an app could send besides start and body, which cannot be saved.
_NOT_SAVED = ("http.response.pathsend", "http.response.zerocopysend", "http.response.trailers", "http.response.push")

# A resource has an id; this is that of a thing whose app has named none.
_UNNAMED = "-"


class Creating:
    """What the app finds in `scope["gallivant.idempotency"]` while it makes the thing of a keyed request."""

    def __init__(self, operation: str, owner: Sequence[str], reservation: Reservation) -> None:
        self.operation = operation
        self.owner = tuple(owner)
        #: The id of what was made, where the app says it here; it goes before the middleware's own option.
        self.resource: str | None = None
        self._reservation = reservation

    @property
    def how(self) -> str:
        """How the right to make it came about: `fresh`, `waited`, `taken-over`, `expired`, `recreated`, `settled`."""
        return self._reservation.how

    @property
    def blocking(self) -> _native.Reservation:
        """The reservation with calls that block, for handlers that run on a thread."""
        return self._reservation.blocking

    async def effect_starting(self) -> None:
        """Says that an effect which a retry could double may happen from now on. Where the request then comes to no
        completed answer, its key answers 409 `idempotency_unknown` until it is settled. Where this raises, the effect must
        not be started.
        """
        await self._reservation.effect_starting()

    async def release(self) -> None:
        """Says that nothing was made after all, also after `effect_starting`: the key is free at once."""
        await self._reservation.release()


class IdempotencyMiddleware:
    """Answers repeats of a keyed request as its first one was answered, and lets one of them run.

    `store` is an `IdempotencyStore`, of `gallivant.aio` or `gallivant.idempotency`, or the path of one, which is then
    opened at the first keyed request and once more in a forked worker. `belongs_to(scope)` answers the operation and the
    scope of the key (a string, and a list of strings, outermost first), or None for a request that is to pass untouched; it
    may be a coroutine function. There is no default: a scope that leaves out the parent in the path or the acting principal
    would show one owner's answers to another.

    - `methods`: the others pass untouched. Default `("POST",)`. So does a request without a key, unless `required`.
    - `wait`: how many seconds a repeat waits for a create that runs, before it is answered 409 with `Retry-After`.
      Default 10.
    - `max_body_bytes`: a larger body is answered 413. Default 16 MiB. `spool_bytes`: more than this of a body or an answer
      is kept in an unnamed temporary file. Default 1 MiB.
    - `completes(status)`: whether an answer with this status is one of a thing that was made, and is saved. Default 2xx.
      Any other answer releases the key, but after `effect_starting`, when it leaves it unknown.
    - `resource`: the header that names what was made, or a function of status, headers and body. Default `"location"`.
    - `saved_headers`: the names of headers to save. Default `SAVED_HEADERS`.
    - `max_answer_bytes`: a larger answer is completed without its body, and repeats are answered 409
      `idempotency_answer_too_large` with the resource. Default the store's own, above which nothing is saved.
    - `reused_status`: what another body under a used key is answered. Default 409.
    - `retry_after`: the seconds of `Retry-After`. Default 1.
    - `settle(scope, claim)`: is asked about an unknown outcome. A coroutine function that finds out whether the thing exists
      and answers its id, or what `await claim.settle(...)` did; or None where it cannot tell.
    - `gone(scope, resource)`: whether what a replay would name is proved to be deleted; then it is made anew. A read that
      failed or was denied proves nothing: raise, or answer False.
    - `found(scope, resource)`: the `Answer` for a thing of which only the resource is known, because it was settled. Default:
      status 200 with `{"resource": ...}`.
    - `lost(scope, own, winner)`: is called where the key was taken over while the app ran, which takes a process that could
      not be proved to live, so that the app undoes what it has made. `own` and `winner` are the ids, None while there is
      none. The client is answered 409 `idempotency_claim_lost`.

    The answer of the app is kept back until it is whole and saved: what a client has seen is durable.
    """

    def __init__(
        self,
        app: App,
        store: IdempotencyStore | _native.IdempotencyStore | Path,
        *,
        belongs_to: Callable[[Scope], Named | Awaitable[Named]],
        methods: Iterable[str] = ("POST",),
        required: bool = False,
        wait: float = 10.0,
        max_body_bytes: int = 16 << 20,
        spool_bytes: int = 1 << 20,
        completes: Callable[[int], bool | Awaitable[bool]] = lambda status: 200 <= status < 300,
        resource: str | Callable[[int, list[Header], bytes], str | None] = "location",
        saved_headers: Iterable[str] = SAVED_HEADERS,
        max_answer_bytes: int | None = None,
        reused_status: int = 409,
        retry_after: int = 1,
        settle: Callable[[Scope, UnknownClaim], Awaitable[Begun | str | None]] | None = None,
        gone: Callable[[Scope, str], bool | Awaitable[bool]] | None = None,
        found: Callable[[Scope, str], Answer | Awaitable[Answer]] | None = None,
        lost: Callable[[Scope, str | None, str | None], object] | None = None,
    ) -> None:
        self.app = app
        self._store: IdempotencyStore | None = None
        self._path: Path | None = None
        if isinstance(store, IdempotencyStore):
            self._store = store
        elif isinstance(store, _native.IdempotencyStore):
            self._store = IdempotencyStore(store)
        else:
            self._path = store
        self._opened_by = 0
        self._belongs_to = belongs_to
        self._methods = frozenset(methods)
        self._required = required
        self._wait = wait
        self._max_body_bytes = max_body_bytes
        self._spool_bytes = spool_bytes
        self._completes = completes
        self._resource = resource
        self._saved_headers = frozenset(name.lower() for name in saved_headers)
        self._max_answer_bytes = max_answer_bytes
        self._reused_status = reused_status
        self._retry_after = retry_after
        self._settle = settle
        self._gone = gone
        self._found = found
        self._lost = lost
        self._later: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in self._methods:
            return await self.app(scope, receive, send)
        keys = [value for name, value in scope["headers"] if name.lower() == b"idempotency-key"]
        named = await _awaited(self._belongs_to(scope)) if keys or self._required else None
        if named is None:
            return await self.app(scope, receive, send)
        if len(keys) != 1:
            return await problem(400, "idempotency_key_invalid").send(send)
        operation, owner = named
        body = Body(most=self._max_body_bytes, in_memory=self._spool_bytes)
        try:
            fingerprint = await body.take(receive)
            if fingerprint is None:
                return None
            # What is no ASCII becomes characters that the core refuses.
            key = keys[0].decode("latin-1")
            answer = await self._decided(scope, (operation, owner, key, fingerprint))
            if isinstance(answer, Reservation):
                return await self._create(scope, send, body, Creating(operation, owner, answer), answer)
        except TooLarge:
            answer = problem(413, "content_too_large")
        finally:
            body.close()
        return await answer.send(send)

    async def _decided(
        self, scope: Scope, asked: tuple[str, Sequence[str], str, _native.Fingerprint]
    ) -> Answer | Reservation:
        """What is to be answered, or the right to make the thing."""
        try:
            store = await self._opened()
            return await self._followed(scope, await store.begin(*asked))
        except GallivantError as refused:
            return self._refusal(refused)

    async def _followed(self, scope: Scope, begun: Begun) -> Answer | Reservation:
        while True:
            if isinstance(begun, Reservation):
                return begun
            if isinstance(begun, Ticket):
                begun = await begun.wait(self._wait)
            elif isinstance(begun, UnknownClaim):
                settled = None if self._settle is None else await self._settle(scope, begun)
                if isinstance(settled, str):
                    settled = await begun.settle(settled)
                if settled is None or isinstance(settled, UnknownClaim):
                    return problem(409, "idempotency_unknown", retry_after=self._retry_after)
                begun = settled
            elif await self._is_gone(scope, begun.resource):
                begun = await begun.recreate()
            else:
                return await self._replay(scope, begun)

    async def _is_gone(self, scope: Scope, resource: str) -> bool:
        return self._gone is not None and resource != _UNNAMED and bool(await _awaited(self._gone(scope, resource)))

    async def _replay(self, scope: Scope, claim: FinishedClaim) -> Answer:
        """As the first request was answered."""
        read = None if claim.answer is None else Answer.of_saved(claim.answer)
        if read is None:
            answer = await self._of_found(scope, claim.resource)
        elif read[1]:
            answer = read[0]
        else:
            answer = problem(409, "idempotency_answer_too_large", resource=claim.resource)
        answer.headers.append(_REPLAYED)
        return answer

    async def _of_found(self, scope: Scope, resource: str) -> Answer:
        if self._found is not None:
            found: Answer = await _awaited(self._found(scope, resource))
            return Answer(found.status, found.headers, found.body)
        return Answer(200, [(b"content-type", b"application/json")], json.dumps({"resource": resource}).encode())

    async def _create(
        self, scope: Scope, send: Send, body: Body, creating: Creating, reservation: Reservation
    ) -> None:
        """Runs the app. Whatever becomes of it, the reservation is ended, or kept to be completed later."""
        kept = False

        async def whole(captured: Captured) -> None:
            nonlocal kept
            answer: Answer | None = None
            try:
                await self._end(creating, captured)
            except _Unsaid as unsaid:
                kept = True
                answer = self._refusal(unsaid.error)
                if unsaid.is_cancelled:
                    raise asyncio.CancelledError from unsaid
            except IdempotencyClaimLostError as lost:
                # Ended by the app itself, which has released it and says what it likes.
                if lost.reason != "ended":
                    if self._lost is not None:
                        await _awaited(self._lost(scope, creating.resource, lost.resource))
                    answer = self._refusal(lost)
            await (captured if answer is None else answer).send(send)
            # Only now: an app that listens for its client's leaving stops sending when it hears of it.
            body.answered.set()

        captured = Captured(self._spool_bytes, whole)
        extensions = {name: value for name, value in (scope.get("extensions") or {}).items() if name not in _NOT_SAVED}
        inner = {**scope, "extensions": extensions, "gallivant.idempotency": creating}
        # An app that hangs is not kept alive for ever: after the store's own longest reservation nobody knows (IK-09).
        longest = self._known().max_reservation_ms / 1000
        alive = asyncio.ensure_future(_keep_alive(reservation, longest, body.answered))
        try:
            await self.app(inner, body.receive, captured.take)
        finally:
            body.answered.set()
            alive.cancel()
            captured.close()
            if not kept:
                if captured.status and await self._is_made(captured.status):
                    # It had begun to say that it was made. Of what is completed already this does nothing.
                    await finish(_mark, creating.blocking)
                await finish(creating.blocking.__exit__, None, None, None)

    async def _is_made(self, status: int) -> bool:
        """Whether a status says that the thing was made; a function of the program that raises says nothing else."""
        try:
            return bool(await _awaited(self._completes(status)))
        except Exception:
            return True

    async def _end(self, creating: Creating, captured: Captured) -> None:
        """Ends the reservation as the app's answer says. Raises `_Unsaid` where that is tried again later."""
        if not await _awaited(self._completes(captured.status)):
            return await finish(creating.blocking.__exit__, None, None, None)
        ended = asyncio.ensure_future(self._complete(creating, captured))
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            # It was made: that is said before the cancellation goes on.
            await over(ended)
            failed = None if ended.cancelled() else ended.exception()
            if isinstance(failed, _Unsaid):
                failed.is_cancelled = True
                raise failed from None
            raise

    async def _complete(self, creating: Creating, captured: Captured) -> None:
        """Saves what the app has answered. Raises `_Unsaid` where that is tried again later."""
        try:
            answer = await captured.read()
            creating.resource = resource = creating.resource or self._named_by(answer) or _UNNAMED
            if not isinstance(resource, str):
                raise TypeError(f"the id of what was made is a str, not {type(resource).__name__}")
            # Half of a surrogate pair is no text, which no repetition mends.
            resource.encode()
            most = self._known().max_answer_bytes if self._max_answer_bytes is None else self._max_answer_bytes
            with_body = len(answer.body) <= most
            saved = answer.saved(self._saved_headers, with_body=with_body)
            without = answer.saved(self._saved_headers, with_body=False)
        except BaseException:
            # Made, and not to be said what: the key is given to nobody before that is settled.
            await finish(_mark, creating.blocking)
            raise
        try:
            await finish(_say, creating.blocking, resource, saved, without)
        except IdempotencyClaimLostError:
            raise
        except GallivantError as error:
            later = asyncio.ensure_future(_say_later(creating.blocking, resource, saved, without))
            self._later.add(later)
            later.add_done_callback(self._later.discard)
            raise _Unsaid(error) from error

    def _named_by(self, answer: Answer) -> str | None:
        if callable(self._resource):
            return self._resource(answer.status, answer.headers, answer.body)
        wanted = self._resource.lower().encode("latin-1")
        return next((value.decode("latin-1") for name, value in answer.headers if name.lower() == wanted), None)

    async def _opened(self) -> IdempotencyStore:
        if self._path is not None and (self._store is None or self._opened_by != os.getpid()):
            store = await IdempotencyStore.open(self._path)
            self._store, self._opened_by = store, os.getpid()
        return self._known()

    def _known(self) -> IdempotencyStore:
        """The store, which was opened before anything was reserved in it."""
        assert self._store is not None
        return self._store

    def _refusal(self, error: GallivantError) -> Answer:
        """The answer for an error of the store. One that is the program's own is raised."""
        word, code = error.code.lower(), error.code
        if code in ("IDEMPOTENCY_KEY_INVALID", "IDEMPOTENCY_SCOPE_INVALID"):
            return problem(400, word)
        if code == "IDEMPOTENCY_KEY_REUSED":
            return problem(self._reused_status, word)
        if code == "IDEMPOTENCY_IN_PROGRESS":
            return problem(409, word, retry_after=self._retry_after)
        if code == "IDEMPOTENCY_CLAIM_LOST":
            return problem(409, word, resource=error.resource)
        if code in ("IDEMPOTENCY_BUSY", "IDEMPOTENCY_FORKED") or code.startswith("IDEMPOTENCY_STORE_"):
            # Imported where it is needed: most servers never get here.
            import logging

            logging.getLogger("gallivant").error("%s; %s", error, error.remedy)
            return problem(503, word, retry_after=self._retry_after)
        raise error


class _Unsaid(Exception):
    """The thing was made, and the store could not be told."""

    def __init__(self, error: GallivantError) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_cancelled = False


def _say(reservation: _native.Reservation, resource: str, saved: bytes, without_body: bytes) -> None:
    """Completes on a thread and in one piece, so that no cancellation comes between its steps."""
    try:
        for answer in (saved, without_body):
            try:
                return reservation.complete(resource, answer)
            except IdempotencyAnswerTooLargeError:
                continue
        # The resource alone, which every store takes.
        reservation.complete(resource, b"")
    except IdempotencyClaimLostError:
        raise
    except GallivantError:
        # Made, and not said. Marked, the key is at least not given to another, whatever becomes of this process.
        _mark(reservation)
        raise


def _mark(reservation: _native.Reservation) -> None:
    try:
        reservation.effect_starting()
    except GallivantError:
        pass


async def _say_later(reservation: _native.Reservation, resource: str, saved: bytes, without_body: bytes) -> None:
    """Tries again until the store is told, or belongs to another. What no repetition helps is kept to the end of the process,
    since dropping it could release a key whose thing exists."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await asyncio.sleep(pause)
        except asyncio.CancelledError:
            # The loop ends: now or never.
            try:
                await finish(_say, reservation, resource, saved, without_body)
            except GallivantError:
                pass
            raise
        pause = min(pause * 2, _LONGEST_PAUSE)
        try:
            return await finish(_say, reservation, resource, saved, without_body)
        except IdempotencyClaimLostError:
            return None
        except GallivantError as error:
            if error.kind not in ("busy", "unavailable"):
                _UNSAID.append(reservation)
                return None


async def _keep_alive(reservation: Reservation, longest: float, answered: asyncio.Event) -> None:
    """Gives signs of life as long as the app runs, for so many seconds at most. One that fails is the next one's to repeat."""
    for _ in range(math.ceil(longest / _SIGN_OF_LIFE) - 1):
        if answered.is_set():
            return
        await asyncio.sleep(_SIGN_OF_LIFE)
        try:
            await reservation.keep_alive()
        except IdempotencyClaimLostError:
            return
        except GallivantError:
            continue


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
