"""A machine that a test controls: for those who crash-test their own coordinators.

    host = TestHost(wall_ms=1_000, faults=[{"on": "rename", "nth": 1, "do": "error", "errno": "EIO"}])
    writer = gallivant.Writer(directory, ..., host=host)

A fault that crashes kills this very process, as SIGKILL at that point would: run what is tested in a child.
"""

from __future__ import annotations

import json
from typing import cast

from . import _native
from . import errors as errors
from ._native import panic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["TestHost", "panic"]


class TestHost(_native.TestHost):
    """The machine itself with a test's hand on clock, chance and disk. Pass it as `host=` to whatever is tested.

    `wall_ms` is where the wall clock stands, in ms since 1970, or None for the machine's own clock; waiting is real
    in any case. `random` are the 64-bit values to give in turn, and then counting up from the last; empty for the
    machine's own chance. A fault says where and what: `at` (the number of an operation, which `operations()` tells), or
    `on` (a kind of operation, `mutating` or `any`) with `nth` and `name`; and `do`, which is `error`, `error-after`,
    `short`, `torn`, `crash`, `crash-after` or `full`, with `errno` or `bytes`.

    `machine` and `boot` are other names of the machine and of its boot: processes under different ones prove nothing of
    each other, as if they shared a disk.

    Two more are for `gallivant.execution`. `jitter` stands for the chance in the delays of retries, from 0 to 1. `points` is
    called with the name of each point that a call comes to (`dispatch.intent`, `collect.result`, `persist:execution.json` …),
    on the call's own thread, and answers `"go"`, or `"fail"` for a write that reports an error; one that takes its time is a
    pause, and one that calls `os._exit` is a crash.

    Raises `InputError` for a list of faults that cannot be used.
    """

    # Not a test case, whatever a test runner makes of the name.
    __test__ = False

    def __new__(
        cls,
        *,
        wall_ms: int | None = None,
        random: Iterable[int] = (),
        faults: Iterable[Mapping[str, object]] | None = None,
        machine: str | None = None,
        boot: str | None = None,
        jitter: float | None = None,
        points: Callable[[str], str] | None = None,
    ) -> TestHost:
        faults_json = None if faults is None else json.dumps([dict(fault) for fault in faults])
        made = super().__new__(
            cls,
            wall_ms=wall_ms,
            random=list(random),
            faults_json=faults_json,
            machine=machine,
            boot=boot,
            jitter=jitter,
            points=points,
        )
        return cast("TestHost", made)

    def set_faults(self, faults: Iterable[Mapping[str, object]]) -> None:
        """Replaces the faults by this list. Operations keep their numbers; what is counted by kind or name is counted
        from now on.

        Raises `InputError` for a list that cannot be used; the faults are then as they were.
        """
        self.set_faults_json(json.dumps([dict(fault) for fault in faults]))
