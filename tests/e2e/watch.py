"""Follows the record as any reader would, and compares what was derived with what is expected.

A derived state is one word: `idle`, `active/permission` (the ask), `idle:stop-failure` (the reason), `ended=exit-0`
(the exit), `ended:other=session-end`, `unknown:claimed`; `none` while nothing was ever observed.
"""
from __future__ import annotations

import re
import threading
import time

import gallivant

#: How long the watcher sleeps between two looks, in seconds. A hook process takes at least twenty times as long.
PERIOD = 0.002
#: Stands in a sequence for transitions that passed between two looks. No pattern matches it.
MISSED = "<missed>"


def word(state: gallivant.State | None) -> str:
    """The word for a derived state."""
    if state is None:
        return "none"
    parts = [state.state]
    if not state.is_unknown and state.ask != "none":
        parts.append(f"/{state.ask}")
    elif not state.is_unknown and state.blocked_on != "none":
        parts.append(f"/{state.blocked_on}")
    if state.reason is not None:
        parts.append(f":{state.reason}")
    if state.exit is not None:
        parts.append(f"={state.exit}")
    return "".join(parts).replace(" ", "-")


def matches(pattern: str, seen: list[str]) -> bool:
    """Whether a sequence of words is what the pattern says.

    A pattern is words and groups in round brackets, separated by spaces, each with `?` (may be missing), `*` or `+`
    where wanted. A `|` between spaces separates alternatives inside a group.
    """
    expression = []
    for item in pattern.split():
        name, repeat = re.fullmatch(r"(.*?)([?*+]?)", item).groups()
        if name in ("(", ")", "|"):
            expression.append("(?:" if name == "(" else name + repeat)
        else:
            expression.append(f"(?:{re.escape(name)} ){repeat}")
    return re.fullmatch("".join(expression), "".join(f"{one} " for one in seen)) is not None


class Watch:
    """Looks at a seat from `start` to `stop`. `seen` is the sequence of distinct words."""

    def __init__(self, seat: str) -> None:
        self.seen: list[str] = []
        #: When each word was first seen, in seconds since the start.
        self.times: list[float] = []
        self._reader = gallivant.Reader(seat)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._transition: int | None = None

    def start(self) -> None:
        self._begun = time.monotonic()
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """Looks a last time, so that what stands in the end is in `seen`."""
        self._ending.set()
        self._thread.join()
        self._look()

    def wait_for(self, pattern: str, seconds: float) -> bool:
        """Whether the present word comes to match the pattern, of one word, within that time."""
        deadline = time.monotonic() + seconds
        while not (self.seen and matches(pattern, self.seen[-1:])):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _run(self) -> None:
        while not self._ending.wait(PERIOD):
            self._look()

    def _look(self) -> None:
        state = self._reader.read()
        present = word(state)
        if not self.seen or self.seen[-1] != present:
            if state is not None and self._transition is not None:
                if state.transition_sequence > self._transition + 1:
                    self._append(MISSED)
            self._append(present)
        if state is not None and state.transition_sequence is not None:
            self._transition = state.transition_sequence

    def _append(self, one: str) -> None:
        self.seen.append(one)
        self.times.append(round(time.monotonic() - self._begun, 3))
