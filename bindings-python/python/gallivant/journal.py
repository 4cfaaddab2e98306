"""The journal of a run: what its provider said, each event once, in an order that never changes.

    owner = Owner(task_id="t-1", run_id="r-1", provider="acme")
    with Journal.open(directory, owner, Redactor(secrets)) as journal, Projection.open(directory) as lines:
        journal.append([Event("e-1", "provider", "message", "hello")])
        lines.catch_up()
    with Replay.open(directory, last_event_id) as replay:
        for frame in replay:
            if frame.row is not None:
                print(frame.row.id, frame.row.text)

A page that is appended once more adds nothing. The lines that people see are a projection of the journal: `LogReader` has
windows of them, `Replay` all of them and those to come. Neither takes a lock. Whoever appends and projects holds the lock
that guards the run. `gallivant.aio` has the same for asyncio, `gallivant.asgi` serves a replay as server-sent events.
"""

from __future__ import annotations

from . import errors as errors
from ._native import (
    Appended,
    Checked,
    Event,
    Frame,
    Gap,
    Journal,
    LogReader,
    Owner,
    PendingBatch,
    Placed,
    Position,
    Projected,
    Projection,
    Recovered,
    Replay,
    Row,
    Window,
    check,
    read_run_result_json,
    retention_candidates,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, Union

    from ._native import TestHost

    Path = Union[str, os.PathLike[str]]

__all__ = [
    "Appended",
    "Checked",
    "Event",
    "Frame",
    "Gap",
    "Journal",
    "LogReader",
    "Owner",
    "PendingBatch",
    "Placed",
    "Position",
    "Projected",
    "Projection",
    "Recovered",
    "Replay",
    "Row",
    "Window",
    "check",
    "read_run_result",
    "read_run_result_json",
    "retention_candidates",
]


def read_run_result(directory: Path, *, host: TestHost | None = None) -> dict[str, Any] | None:
    """The collected result of a run as it may be shown: `outcome`, `cost`, `artifacts`, `application`, `verification`; None
    where there is none. It is redacted by recognised credentials. Numbers become Python's: `read_run_result_json` gives the
    text with all their digits. Writes nothing.

    Raises `ExecutionUnknownRunError` where there is no such directory; `ExecutionVersionError` for a result of another
    package; `ExecutionIoError` for whatever is not a missing file, and for one that is no JSON object.
    """
    # Imported where it is needed: whoever follows a run reads no result.
    import json

    text = read_run_result_json(directory, host=host)
    result: dict[str, Any] | None = None if text is None else json.loads(text)
    return result
