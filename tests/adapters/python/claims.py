"""The conformance adapter of idempotent creates of the Python package: one JSON request a line on standard input, one JSON
answer a line on standard output, as `tests/vectors/idempotency/README.md` says.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import gallivant
from gallivant.idempotency import (
    Fingerprint,
    FingerprintBuilder,
    FinishedClaim,
    IdempotencyStore,
    Reservation,
    Ticket,
    UnknownClaim,
)
from gallivant.testing import TestHost

Request = dict[str, Any]
Answer = dict[str, Any]

# What an adapter answers to a request that makes no sense.
INPUT: Answer = {"ok": False, "error": "INPUT"}


class Adapter:
    """One store and what came of it, by the ids of the requests."""

    def __init__(self) -> None:
        self.host = TestHost()
        self.store: IdempotencyStore | gallivant.GallivantError | None = None
        self.named: dict[str, Any] = {}

    def answer(self, request: Request) -> Answer:
        operation = getattr(self, f"do_{request.get('op')}", None)
        if operation is None:
            return INPUT
        try:
            answered: Answer = {"ok": True, **operation(request)}
        except gallivant.GallivantError as refused:
            return _refusal(refused)
        except (KeyError, TypeError):
            return INPUT
        return answered

    def do_open(self, request: Request) -> Answer:
        # Dropped before the store: what is left of them is released.
        self.named.clear()
        self.store = None
        options = request.get("options") or {}
        now_ms = request.get("now_ms")
        self.host = TestHost(wall_ms=now_ms, machine=options.get("host"), boot=options.get("boot"))
        self.host.stand_at(now_ms or 0)
        if options.get("engine") not in (None, "sqlite"):
            raise UnsupportedEngine("this package has no other engine")
        names = ("window_ms", "max_reservation_ms", "max_answer_bytes", "busy_ms")
        chosen = {name: options[name] for name in names if name in options}
        try:
            self.store = IdempotencyStore.open(os.path.join(request["dir"], "idempotency.db"), host=self.host, **chosen)
        except gallivant.GallivantError as refused:
            self.store = refused
            raise
        return {}

    def do_clock(self, request: Request) -> Answer:
        slept_ms = request.get("slept_ms")
        self.host.stand_at(request.get("now_ms") or 0, slept_ms=slept_ms or 0)
        if slept_ms is not None and isinstance(self.store, IdempotencyStore):
            # A sleep is detected by whoever looks; here it is looked at once.
            self.store.notice_sleep()
        return {}

    def do_many(self, request: Request) -> Answer:
        inner, count = request["request"], request["count"]
        answers: list[Answer] = [INPUT] * count

        def one(number: int) -> None:
            answers[number] = self.answer({**inner, "id": f"{inner.get('id')}.{number}"})

        threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"answers": answers}

    def do_in_child(self, request: Request) -> Answer:
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            reopen = request.get("reopen")
            answer = {"ok": True} if reopen is None else self.answer({**reopen, "op": "open"})
            if answer["ok"]:
                answer = self.answer(request["request"])
            os.write(writes, json.dumps(answer).encode())
            # Ends without running anything of the parent's.
            os._exit(0)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
        return {"child": json.loads(said)}

    def do_begin(self, request: Request) -> Answer:
        if "body_parts" in request:
            builder = FingerprintBuilder()
            for part in request["body_parts"]:
                builder.update(bytes.fromhex(part))
            body: bytes | Fingerprint = builder.finish()
        else:
            body = bytes.fromhex(request.get("body") or "")
        begun = self._store().begin(
            request["operation"], request["scope"], request["key"], body, timeout=_timeout(request)
        )
        return self._name(request, begun)

    def do_wait(self, request: Request) -> Answer:
        return self._name(request, self._of(Ticket, request).wait(_timeout(request) or 0.0))

    def do_recreate(self, request: Request) -> Answer:
        return self._name(request, self._of(FinishedClaim, request).recreate(timeout=_timeout(request)))

    def do_settle(self, request: Request) -> Answer:
        claim = self._of(UnknownClaim, request)
        return self._name(request, claim.settle(request.get("found"), timeout=_timeout(request)))

    def do_complete(self, request: Request) -> Answer:
        answer = bytes.fromhex(request.get("answer") or "")
        self._of(Reservation, request).complete(request["resource"], answer, timeout=_timeout(request))
        return {}

    def do_release(self, request: Request) -> Answer:
        self._of(Reservation, request).release(timeout=_timeout(request))
        return {}

    def do_effect_starting(self, request: Request) -> Answer:
        self._of(Reservation, request).effect_starting(timeout=_timeout(request))
        return {}

    def do_keep_alive(self, request: Request) -> Answer:
        self._of(Reservation, request).keep_alive(timeout=_timeout(request))
        return {}

    def do_abandon(self, request: Request) -> Answer:
        # The last reference: letting go of it is what is asked for.
        self.named.pop(request["id"], None)
        return {}

    def do_inspect(self, request: Request) -> Answer:
        seen = self._store().inspect(request["operation"], request["scope"], request["key"])
        if seen is None:
            return {"claim": None}
        answer = None if seen.answer is None else seen.answer.hex()
        return {"claim": {"state": seen.state, "resource": seen.resource, "answer": answer}}

    def do_sweep(self, _request: Request) -> Answer:
        swept = self._store().sweep()
        return {"removed": swept.removed, "more": swept.has_more}

    def do_capability(self, _request: Request) -> Answer:
        error = self.store if isinstance(self.store, gallivant.GallivantError) else self._store().capability().error
        return {"keyed_creates": error is None, "reason": None if error is None else error.code}

    def do_fill(self, request: Request) -> Answer:
        store = self._store()
        scope = request.get("scope") or ["org", "ws"]
        first = request.get("from", 0)
        for number in range(first, first + request["count"]):
            key = f"{request.get('prefix', '')}{number}"
            begun = store.begin(request.get("operation") or "things.create", scope, key, b"")
            if not isinstance(begun, Reservation):
                return INPUT
            begun.complete(key, b"\0")
        return {}

    def _store(self) -> IdempotencyStore:
        if isinstance(self.store, gallivant.GallivantError):
            raise self.store
        if self.store is None:
            raise KeyError("store")
        return self.store

    def _of(self, kind: Any, request: Request) -> Any:
        named = self.named[request["id"]]
        if not isinstance(named, kind):
            raise KeyError(request["id"])
        return named

    def _name(self, request: Request, begun: Any) -> Answer:
        """Gives the answer the id, and tells it."""
        answer: Answer = {"begin": begun.kind, "how": begun.how}
        if isinstance(begun, FinishedClaim):
            answer["resource"] = begun.resource
            answer["answer"] = None if begun.answer is None else begun.answer.hex()
        self.named[request["id"]] = begun
        return answer


class UnsupportedEngine(gallivant.GallivantError):
    """An engine that this package does not have."""

    code = "UNSUPPORTED"


def _timeout(request: Request) -> float | None:
    deadline_ms = request.get("deadline_ms")
    return None if deadline_ms is None else deadline_ms / 1000


def _refusal(error: gallivant.GallivantError) -> Answer:
    parts = ("remedy", "message", "reason", "resource", "file")
    return {"ok": False, "error": error.code, **{part: getattr(error, part) for part in parts}}


def main() -> None:
    adapter = Adapter()
    for line in sys.stdin:
        print(json.dumps(adapter.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
