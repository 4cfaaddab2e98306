"""Idempotent creates: what a create's key means before, while and after the thing it names exists.

    store = IdempotencyStore.open("/srv/app/idempotency.db")
    begun = store.begin("harnesses.create", ["org", "workspace"], key, body)
    if isinstance(begun, Reservation):
        with begun as reservation:
            made = make(body)
            reservation.complete(made.id, answer)

`begin` answers one of four: a `Reservation` (make the thing), a `FinishedClaim` (it was made), a `Ticket` (it is being
made), an `UnknownClaim` (nobody knows whether it was made). `gallivant.aio` has the same for asyncio, `gallivant.asgi` a
middleware that does all of it for a server; the guide is `docs/guides/idempotency.md` of the project.
"""

from __future__ import annotations

from . import errors as errors
from ._native import (
    Capability,
    ClaimNotices,
    ClaimView,
    Fingerprint,
    FingerprintBuilder,
    FinishedClaim,
    IdempotencyStore,
    Reservation,
    Swept,
    Ticket,
    UnknownClaim,
)

__all__ = [
    "Capability",
    "ClaimNotices",
    "ClaimView",
    "Fingerprint",
    "FingerprintBuilder",
    "FinishedClaim",
    "IdempotencyStore",
    "Reservation",
    "Swept",
    "Ticket",
    "UnknownClaim",
]
