"""The wrapper that every run puts around the real harness: claims the seat, hands the session on, ends with the exit.

    python3 wrapper.py SEAT HARNESS STATUS COMMAND...

STATUS is a path. The harness's pid appears in STATUS.pid once it is attached; exit, count of renewals and lease stand
in STATUS.end, as JSON, once the session has ended.
"""
import json
import os
import signal
import subprocess
import sys
import time

import gallivant

#: So short that heartbeats land in every run: they must change no derived state.
REFRESH_MS = 300
#: How long the claim stands alone, in seconds: long enough for the watcher to see it.
CLAIMED = 0.1


def publish(path: str, text: str) -> None:
    with open(path + ".new", "w", encoding="utf-8") as new:
        new.write(text)
    os.replace(path + ".new", path)


def main(seat: str, harness: str, status: str, command: list[str]) -> int:
    # It shares the harness's terminal, where an interrupt is the harness's business. A handler, other than ignoring, is
    # not inherited by what is started.
    signal.signal(signal.SIGINT, lambda *_: None)
    renewed = 0
    options = gallivant.Options(refresh_ms=REFRESH_MS)
    with gallivant.Session.start(seat, "worker", harness, pty_session="e2e", options=options) as session:
        # Wrappers prepare their harness after the claim; meanwhile readers are told that the seat is taken.
        time.sleep(CLAIMED)
        child = subprocess.Popen(command, env={**os.environ, **session.to_env()})
        session.attach(child.pid)
        publish(status + ".pid", str(child.pid))
        lease = session.holds_lease
        while True:
            try:
                code = child.wait(0.1)
                break
            except subprocess.TimeoutExpired:
                renewed += session.heartbeat_if_due().outcome == "renewed"
        exit = f"exit {code}" if code >= 0 else f"signal {-code}"
        report = session.end(exit)
    publish(status + ".end", json.dumps({"exit": exit, "renewed": renewed, "lease": lease, "end": report.outcome}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
