"""A transport to a provider of hosted agents over its REST interface: what an adapter of your own may look like, with nothing
but the standard library. The provider here is the small one of `tests/hosted-agents/server.mjs`.

A call is one request on a connection of its own. Nothing here repeats a request, follows a redirect, keeps a connection or runs
by itself: the boundary asks again when that is due. What is said of a request is what is known of it:

- `not-sent` only before anything was done for the operation. A connection that is refused, a handshake that fails and a status
  of 400 come after `sending()`, and leave acceptance unknown.
- a look-up goes by the idempotency key alone. A job that only looks like it is another one.
- a stop is confirmed when the provider's own word is `cancelled`, and not when it has taken the request.
"""

from __future__ import annotations

import http.client
import json
import math
import socket
import time
import urllib.parse

from gallivant.execution import TransportError, dispatch_not_sent_error, fitting_events

# What the provider can do.
CAPABILITIES = {
    "provider": "hosted-agents",
    "transport": "rest",
    "location": "remote",
    "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "bearer", "secretNames": ["HOSTED_AGENTS_KEY"]},
    "environments": {"required": False, "allowed": None},
    "models": "native",
    "policies": {"required": False, "allowed": []},
    "preparation": None,
    "continuation": "native",
    "observability": "events",
    "cancel": True,
    "interrupt": False,
    "cost": {"reports": True, "hardCap": False},
}

# The provider's words for a turn, as states of a run. A word that is not known is no news, and never an end.
STATES = {
    "queued": "queued",
    "running": "running",
    "waiting": "waiting-for-input",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
}

ENDS = ("succeeded", "failed", "cancelled")

# Beyond the longest reply that the boundary takes, no more is read: a provider that never stops talking fills no memory.
BEYOND = 65_536


class HostedAgents:
    """A transport to the provider at `address` (`http://host:port`), with its key. Threads may share it. `place` is where a task's
    work belongs, `{"repo", "branch"}`, which the provider is told of with the revision to begin from, and names in its result.
    """

    def __init__(self, address: str | None, key: str | None, place: dict[str, str] | None = None) -> None:
        self._address = urllib.parse.urlsplit(address or "")
        self._key = key
        self._place = place

    def submit(self, call):
        """A new job."""
        self._begin(call)
        wanted = call.input
        body = {"prompt": wanted["prompt"], "model": wanted["model"]}
        if self._place is not None:
            body["work"] = {**self._place, "inputHead": wanted["inputHead"]}
        return owned(self._ask(call, "POST", "/jobs", body, wanted["idempotencyKey"]))

    def continue_(self, call):
        """Another turn of a session."""
        self._begin(call)
        wanted = call.input
        path = f"/jobs/{quoted(wanted['previous']['providerJobId'])}/turns"
        body = {"prompt": wanted["prompt"], "session": wanted["sessionId"]}
        return owned(self._ask(call, "POST", path, body, wanted["idempotencyKey"]))

    def inspect(self, call):
        """What a turn does, after the events that are known."""
        asked = call.input
        cursor = 0 if asked["cursor"] is None else asked["cursor"]
        return observed(self._ask(call, "GET", f"{turn_path(asked)}?after={cursor}"), asked["startedAt"], call.limits)

    def collect(self, call):
        """A turn's result; None while there is none."""
        result = self._ask(call, "GET", f"{turn_path(call.input)}/result", may_be_missing=True)
        if result is None:
            return None
        exit_status = 0 if result["ok"] else 1
        outcome = {"finished": True, "ok": result["ok"], "exit": exit_status, "cost": result["costUsd"], "denials": []}
        # As it came: the boundary judges whose it is, and a publication every path and hash of it.
        made = {"inputHead": call.input["inputHead"], **(result.get("work") or {})}
        made.update((name, result[name]) for name in ("files", "pr") if name in result)
        return {**made, **owned(result), "text": result["output"], "outcome": outcome}

    def cancel(self, call):
        """The end of a turn."""
        reply = self._ask(call, "POST", f"{turn_path(call.input)}/cancel", {}, call.input["idempotencyKey"])
        return {"confirmed": reply["state"] == "cancelled"}

    def lookup(self, call):
        """The turn of exactly this key; None where it is not found, which proves nothing."""
        found = self._ask(call, "GET", f"/keys/{quoted(call.input['idempotencyKey'])}", may_be_missing=True)
        return None if found is None else observed(found, call.input["intentAt"], call.limits)

    def _begin(self, call) -> None:
        """Nothing was sent before this, so that it may be said so. From here on it may not."""
        for name, given in (("address", self._address.hostname), ("key", self._key)):
            if not given:
                raise dispatch_not_sent_error("unconfigured", f"the provider has no {name}")
        call.sending()

    def _ask(self, call, verb, path, body=None, idempotency_key=None, may_be_missing=False):
        """One request. None stands for a 404 where the caller says that it may be."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json", "Connection": "close"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        answer, text = self._exchange(call, verb, path, None if body is None else json.dumps(body), headers)
        if answer.status == 404 and may_be_missing:
            return None
        if answer.status in (401, 403):
            raise TransportError("auth", "the provider does not accept the key")
        if answer.status in (429, 503):
            patience = f"the provider asks for patience, status {answer.status}"
            raise TransportError("rate", patience, retry_after_ms=1000 * seconds(answer.headers["Retry-After"]))
        if not 200 <= answer.status < 300:
            raise TransportError("io", f"the provider answers with status {answer.status}")
        try:
            return json.loads(text)
        except ValueError as failed:
            raise TransportError("protocol", "the provider answers with no JSON") from failed

    def _exchange(self, call, verb, path, body, headers):
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        line = kind(self._address.hostname, self._address.port, timeout=max(call.seconds_left(), 0.001))
        answer = None
        forget = None
        try:
            line.connect()
            # A timeout counts from byte to byte: one that drips is ended by the signal, which fires at the deadline. The connection
            # forgets its socket with the head of an answer that closes it, so that it is held here.
            held = line.sock
            forget = call.signal.on_fire(lambda: hang_up(held))
            line.request(verb, path, body, headers)
            answer = line.getresponse()
            most = call.limits["resultBytes"] + BEYOND
            text = answer.read(most + 1)
            if len(text) > most:
                raise TransportError("protocol", "the provider's answer is longer than any that is taken")
            if answer.length:
                raise TransportError("io", "the provider's answer has no end")
            return answer, text
        finally:
            if forget is not None:
                forget()
            if answer is not None:
                answer.close()
            line.close()


def hang_up(held: socket.socket) -> None:
    """Ends a connection under whoever reads from it."""
    try:
        held.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It has ended by itself.


def quoted(text: str) -> str:
    """A text as one part of a path."""
    return urllib.parse.quote(text, safe="")


def turn_path(input) -> str:
    """Where a turn is found."""
    return f"/jobs/{quoted(input['providerJobId'])}/turns/{quoted(input['turnId'])}"


def seconds(text: str | None) -> float:
    """What a `Retry-After` says, where it says seconds; what is no number is ignored."""
    try:
        return float(text) if text is not None else math.nan
    except ValueError:
        return math.nan


def owned(turn):
    """Whose turn it is."""
    return {"providerJobId": turn["job"], "turnId": turn["turn"], "sessionId": turn["session"]}


def observed(turn, since, limits):
    """What the provider says of a turn that began at `since`, as it is known here now: the time of an observation is this machine's,
    and an end by the provider's clock is told only where it lies between the two. After an end nothing is asked for any more, so that
    it is said with the last page of events and not before.
    """
    observed_at = time.time_ns() // 1_000_000
    events = [
        {
            "eventId": f"{turn['turn']}/{event['number']}",
            "sequence": event["number"],
            "type": event["type"],
            "timestamp": event["at"],
            "data": event["data"],
        }
        for event in turn["events"]
    ]
    page, cursor, has_more = paged(events, turn["next"], turn["more"], limits)
    is_ended = turn["state"] in ENDS
    is_early = has_more and is_ended
    ended_at = turn["endedAt"] if is_ended and not is_early else None
    return {
        **owned(turn),
        "state": "running" if is_early else STATES.get(turn["state"], "status-unknown"),
        "observedAt": observed_at,
        "completedAt": ended_at if ended_at is not None and since <= ended_at <= observed_at else None,
        "costUsd": turn["costUsd"],
        "events": page,
        "cursor": cursor,
    }


def paged(events, next_cursor, has_more, limits):
    """As many of the events as one page takes, the cursor behind them, and whether there are more."""
    kept = fitting_events(events, limits)
    if kept == 0 and events:
        # Too long for any page, and without its beginning nothing would ever come after it.
        beginning = json.dumps(events[0]["data"])[: limits["eventPageBytes"] // 8]
        events = [{**events[0], "data": {"cut": beginning}}, *events[1:]]
        kept = 1
    if kept == len(events):
        return events, next_cursor, has_more
    return events[:kept], events[kept - 1]["sequence"], True
