"""The conformance adapter of journals of the Python package: one JSON request a line on standard input, one JSON answer a
line on standard output, as `tests/adapters/journal.md` says.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gallivant
from gallivant import journal
from gallivant.redaction import Redactor
from gallivant.testing import TestHost

Request = dict[str, Any]
Answer = dict[str, Any]


class Adapter:
    """One run, and what is open of it."""

    def __init__(self) -> None:
        self.host = TestHost()
        self.directory = ""
        self.journal: journal.Journal | None = None
        self.projection: journal.Projection | None = None
        self.replay: journal.Replay | None = None

    def answer(self, request: Request) -> Answer:
        try:
            answered: Answer = {"ok": True, **getattr(self, f"do_{request['op']}")(request)}
        except gallivant.GallivantError as refused:
            return {"ok": False, "error": refused.code, "reason": refused.reason}
        return answered

    def do_open(self, request: Request) -> Answer:
        owner, self.directory = request["owner"], request["dir"]
        self.host = TestHost(wall_ms=request["now_ms"])
        self.projection = self.replay = None
        self.journal = journal.Journal.open(
            self.directory,
            journal.Owner(
                task_id=owner["taskId"],
                run_id=owner["runId"],
                provider=owner["provider"],
                job_id=owner["jobId"],
                turn_id=owner["turnId"],
            ),
            Redactor(request["secrets"]),
            host=self.host,
        )
        return {}

    def do_append(self, request: Request) -> Answer:
        assert self.journal is not None
        appended = self.journal.append(journal.Event.page_from_json(request["page"]))
        return {"placed": [[one.sequence, one.how] for one in appended.placed], "end": _position(appended.end)}

    def do_recover(self, request: Request) -> Answer:
        assert self.journal is not None
        recovered = self.journal.recover()
        return {"kept": recovered.kept, "gap": recovered.gap, "end": _position(recovered.end)}

    def do_project(self, request: Request) -> Answer:
        return _projected(self._projection().catch_up())

    def do_trim(self, request: Request) -> Answer:
        return _projected(self._projection().trim(request["keep_bytes"]))

    def do_tail(self, request: Request) -> Answer:
        return _window(self._reader().tail())

    def do_history(self, request: Request) -> Answer:
        return _window(self._reader().history(request["before"]))

    def do_lines(self, request: Request) -> Answer:
        return _window(self._reader().lines(request["after"], request["limit"]))

    def do_replay(self, request: Request) -> Answer:
        if self.replay is not None:
            self.replay.close()
        self.replay = journal.Replay.open(self.directory, request["after"], heartbeats=False, host=self.host)
        return {}

    def do_frames(self, request: Request) -> Answer:
        assert self.replay is not None
        frames: list[list[str | None]] = []
        while len(frames) < request["count"]:
            frame = self.replay.next(request["timeout_ms"] / 1000)
            if frame is None:
                break
            frames.append([frame.id, frame.event, frame.data, frame.to_sse().decode()])
        return {"frames": frames, "resume": self.replay.resume_point}

    def do_check(self, request: Request) -> Answer:
        checked = journal.check(self.directory, host=self.host)
        pending = checked.pending
        return {
            "end": _position(checked.end),
            "records": checked.records,
            "gaps": [[gap.first, gap.last, gap.reason, gap.start, gap.end] for gap in checked.gaps],
            "pending": None if pending is None else [pending.records, pending.kept],
        }

    def do_result(self, request: Request) -> Answer:
        return {"result": journal.read_run_result_json(self.directory, host=self.host)}

    def do_candidates(self, request: Request) -> Answer:
        return {"candidates": journal.retention_candidates(request["root"], host=self.host)}

    def _projection(self) -> journal.Projection:
        if self.projection is None:
            self.projection = journal.Projection.open(self.directory, host=self.host)
        return self.projection

    def _reader(self) -> journal.LogReader:
        return journal.LogReader.open(self.directory, host=self.host)


def _position(position: journal.Position) -> list[int]:
    return [position.offset, position.sequence]


def _projected(projected: journal.Projected) -> Answer:
    return {"projected": [projected.first, projected.next, projected.bytes]}


def _window(window: journal.Window) -> Answer:
    rows = [{"id": row.id, "kind": row.kind, "text": row.text, "reason": row.reason} for row in window.rows]
    return {"rows": rows, "before": window.before, "after": window.after}


def main() -> None:
    adapter = Adapter()
    for line in sys.stdin:
        print(json.dumps(adapter.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
