"""The main job in half a minute: `make demo`.

Recorded sessions of Claude Code and Codex are replayed through real hook processes into one directory, while a Node
coordinator and a C status bar, which know nothing of each other, show each transition as it comes. Then a wrapper is
killed with SIGKILL, and a Python reader says what can be concluded, and why. After it a coordinator of paid work is killed
twice, and its provider's books are read (`paid_work.py`). At the end a result becomes a branch (`publication.py`).

    python3 demo.py [STATUS_BAR [PAUSE_SECONDS]]

After `make build` it needs no arguments and nothing in the environment.
"""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.join(ROOT, "bindings-python/python")
# The wrapper and the hooks that are started below import the package too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))
sys.path.insert(0, PACKAGE)

import gallivant
from paid_work import paid_work
from publication import publication

BUILT = os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"), "release")
STATUS_BAR = os.path.join(BUILT, "examples/status-bar")
RUNS = os.path.join(ROOT, "tests/vectors/harness-events")
COORDINATOR = os.path.join(ROOT, "examples/node-coordinator/coordinator.mjs")

print_lock = threading.Lock()
heard: set[str] = set()


def say(speaker: str, line: str) -> None:
    with print_lock:
        print(f"{speaker:>11} | {line}", flush=True)


def relay(speaker: str, process: subprocess.Popen) -> threading.Thread:
    """Prints what a program prints, under its name."""

    def run() -> None:
        for line in process.stdout:
            heard.add(speaker)
            say(speaker, line.rstrip("\n"))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def start_session(agents: str, agent: str, harness: str, run: str, *replay: str) -> subprocess.Popen:
    command = [sys.executable, os.path.join(HERE, "replay.py"), harness, os.path.join(RUNS, run), *replay]
    wrapper = [sys.executable, os.path.join(HERE, "wrapper.py"), os.path.join(agents, agent), harness, *command]
    # A process group of its own, so that the whole session can be ended at the end of the demo.
    return subprocess.Popen(wrapper, start_new_session=True)


def wait_for(condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the demo did not come to its end in time")
        time.sleep(0.05)


def explain(agents: str, agent: str) -> None:
    """What a reader may conclude, with a probe and without one."""
    reader = gallivant.Reader(os.path.join(agents, agent))
    record = reader.snapshot().record
    say("record", f"{agent}: {record.state}, written {int(time.time() * 1000) - record.written_at_ms} ms ago by "
                  f"session {record.seq}, which never said that it ended")
    without = reader.read()
    say("no probe", f"{agent}: {without.state}, which holds until the record is stale")
    probed = reader.read(probe="lease")
    say("lease probe", f"{agent}: {probed.state} ({probed.reason}), because the session's lease was released by its death")


def check_built(status_bar: str) -> None:
    """Ends with one line where something has not been built yet."""
    try:
        gallivant.Reader
    except ImportError as missing:
        raise SystemExit(f"demo.py: the Python package is not built: {missing}; run `make demo`")
    if not any(name.endswith(".node") for name in os.listdir(os.path.join(ROOT, "bindings-node"))):
        raise SystemExit("demo.py: the Node package is not built; run `make demo`")
    if not os.access(status_bar, os.X_OK):
        raise SystemExit(f"demo.py: there is no status bar at {status_bar}; run `make demo`")


def main(status_bar: str = STATUS_BAR, pause: str = "0.2") -> None:
    check_built(status_bar)
    # Long enough for everybody who watches to show it.
    shown = 6 * float(pause)
    with tempfile.TemporaryDirectory(prefix="gallivant-demo-") as agents:
        for agent in ("claude", "codex", "doomed"):
            os.mkdir(os.path.join(agents, agent))
        pipes = {"stdout": subprocess.PIPE, "text": True, "cwd": agents}
        coordinator = subprocess.Popen(["node", COORDINATOR, "--follow", "."], **pipes)
        bar = subprocess.Popen([os.path.abspath(status_bar), "claude", "codex", "doomed"], **pipes)
        speakers = [relay("coordinator", coordinator), relay("status bar", bar)]
        doomed = None
        try:
            wait_for(lambda: len(heard) == 2)
            say("demo", "two recorded sessions are replayed through real hook processes")
            sessions = [
                start_session(agents, "claude", "claude", "claude-code.interactive-permission-clear", pause),
                start_session(agents, "codex", "codex", "codex.interactive-permission", pause),
            ]
            for session in sessions:
                session.wait()
            say("demo", "both sessions are over; a third one works on a turn when its wrapper is killed")
            doomed = start_session(agents, "doomed", "claude", "claude-code.headless", pause, "PreToolUse")
            reader = gallivant.Reader(os.path.join(agents, "doomed"))
            wait_for(lambda: (state := reader.read()) is not None and state.state == "active")
            time.sleep(shown)
            os.kill(doomed.pid, signal.SIGKILL)
            doomed.wait()
            say("demo", f"kill -9 {doomed.pid}")
            time.sleep(shown)
            explain(agents, "doomed")
        finally:
            if doomed is not None:
                os.killpg(doomed.pid, signal.SIGKILL)
            for program in (coordinator, bar):
                program.terminate()
                program.wait()
            for speaker in speakers:
                speaker.join(timeout=60)
    with tempfile.TemporaryDirectory(prefix="gallivant-demo-") as place:
        paid_work(place, say, relay, wait_for)
    with tempfile.TemporaryDirectory(prefix="gallivant-demo-") as place:
        publication(place, say, relay, wait_for)


if __name__ == "__main__":
    main(*sys.argv[1:])
