"""The conformance adapter of the Python package: one JSON request a line on standard input, one JSON answer a line on
standard output, as `tests/vectors/harness-state/README.md` says. Everything runs with the default options, but without
the extension: the vectors compare whole records, as every program writes them.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import gallivant
from gallivant import words
from gallivant.testing import TestHost

OPTIONS = gallivant.Options(extension=False)

Request = dict[str, Any]
Answer = dict[str, Any]

# The protocol has one word for any failure of a file or of the lock's path.
_IO = ("HARNESS_STATE_IO", "HARNESS_STATE_LOCKING")


# Python's own words for arguments that are no Unicode, or no integer of 64 bits.
NO_ARGUMENTS = (UnicodeEncodeError, OverflowError)


class Adapter:
    """One case after the other, each with its own directory, clock and writers."""

    def __init__(self) -> None:
        self.directory = ""
        self.host = TestHost()
        # A writer whose construction was refused is kept as its error.
        self.writers: dict[str, gallivant.Writer | Exception] = {}

    def begin(self, request: Request) -> Answer:
        self.directory = request["dir"]
        self.host = TestHost(wall_ms=request.get("now_ms"))
        self.writers = {}
        return {}

    def clock(self, request: Request) -> Answer:
        self.host.set_wall_ms(request["now_ms"])
        return {}

    def mint(self, request: Request) -> Answer:
        return {"token": gallivant.mint_token(host=self.host)}

    def open(self, request: Request) -> Answer:
        token = request.get("token")
        try:
            writer = gallivant.Writer(
                self.directory,
                agent=request["agent"],
                harness=request["harness"],
                pty_session=request.get("pty"),
                token=gallivant.mint_token(host=self.host) if token is None else token,
                sequence=request.get("seq"),
                options=OPTIONS,
                host=self.host,
            )
        except (gallivant.GallivantError, *NO_ARGUMENTS) as refused:
            self.writers[request["writer"]] = refused
        else:
            self.writers[request["writer"]] = writer
        return {}

    def claim(self, request: Request) -> Answer:
        return {"seq": gallivant.claim(self.directory, **self._claimant(request)).sequence}

    def claim_wrapperless(self, request: Request) -> Answer:
        claim = gallivant.claim_wrapperless(self.directory, **self._claimant(request))
        return {"seq": None if claim is None else claim.sequence}

    def observe(self, request: Request) -> Answer:
        return _outcome(self._writer(request).observe(_observation(request)))

    def observe_unless_ended(self, request: Request) -> Answer:
        report = self._writer(request).observe_unless_ended(_observation(request))
        return {**_outcome(report), "accepted": bool(report)}

    def ended(self, request: Request) -> Answer:
        return _outcome(self._writer(request).ended((request.get("args") or {}).get("exit")))

    def heartbeat(self, request: Request) -> Answer:
        return {"outcome": self._writer(request).heartbeat().outcome}

    def interrupt(self, request: Request) -> Answer:
        self._writer(request).interrupt()
        return {}

    def read(self, request: Request) -> Answer:
        state = gallivant.Reader(self.directory, options=OPTIONS, host=self.host).read(request.get("probe"))
        if state is None:
            return {"read": None}
        return {
            "read": {
                "state": state.state,
                "blockedOn": state.blocked_on,
                "inputBuffer": state.input_buffer,
                "ask": state.ask,
                "harness": state.harness,
                "sinceMs": state.since_ms,
                "observedAtMs": state.observed_at_ms,
                "ownershipSequence": state.ownership_sequence,
                "transitionSequence": state.transition_sequence,
                "evidenceIncarnation": state.evidence_incarnation,
                "exit": state.exit,
                "reason": state.reason,
            }
        }

    def _claimant(self, request: Request) -> dict[str, Any]:
        return {**{key: request[key] for key in ("agent", "harness", "token")}, "options": OPTIONS, "host": self.host}

    def _writer(self, request: Request) -> gallivant.Writer:
        writer = self.writers[request["writer"]]
        if isinstance(writer, Exception):
            raise writer
        return writer


def _observation(request: Request) -> gallivant.Observation:
    args = request.get("args") or {}
    return gallivant.Observation(
        _known("STATE", args["state"]) or "unknown",
        blocked_on=_known("BLOCKED_ON", args.get("blockedOn")),
        input_buffer=_known("INPUT_BUFFER", args.get("inputBuffer")),
        ask=_known("ASK", args.get("ask")),
        reason=args.get("reason"),
        exit=args.get("exit"),
    )


def _known(prefix: str, word: str | None) -> str | None:
    """The package refuses a word that does not exist; to the protocol such a word is `unknown`."""
    known = [value for name, value in vars(words).items() if name.startswith(prefix + "_")]
    return word if word is None or word in known else "unknown"


def _outcome(report: gallivant.Report) -> Answer:
    refused = "" if report.refusal is None else f":{report.refusal}"
    return {"outcome": report.outcome + refused}


def _word(error: gallivant.GallivantError) -> str:
    if error.code in _IO:
        return "io"
    return error.code.split("HARNESS_STATE_", 1)[-1].lower().replace("_", "-")


def main() -> None:
    adapter = Adapter()
    operations: dict[str, Callable[[Request], Answer]] = {
        name: getattr(adapter, name)
        for name in (
            *("begin", "clock", "open", "mint", "claim", "claim_wrapperless"),
            *("observe", "observe_unless_ended", "ended", "heartbeat", "interrupt", "read"),
        )
    }
    for line in sys.stdin.buffer:
        request = json.loads(line)
        operation = operations.get(request.get("op"))
        if operation is None:
            answer = {"ok": False, "error": "unknown-op"}
        else:
            try:
                answer = {"ok": True, **operation(request)}
            except gallivant.GallivantError as error:
                answer = {"ok": False, "error": _word(error)}
            except NO_ARGUMENTS:
                answer = {"ok": False, "error": "input"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
