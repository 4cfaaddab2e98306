"""A wrapper as a coordinator would write it: claims the seat, starts the harness, ends with its real exit.

    python3 wrapper.py AGENT_DIRECTORY HARNESS COMMAND...

The harness and its hooks find the session in their environment.
"""
import os
import signal
import subprocess
import sys

import gallivant


def main(directory: str, harness: str, command: list[str]) -> int:
    agent = os.path.basename(os.path.abspath(directory))
    with gallivant.Session.start(directory, agent, harness, pty_session=agent) as session:
        process = subprocess.Popen(command, env={**os.environ, **session.to_env()})
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())  # or the harness would outlive its wrapper
        attempt(session.attach, process.pid)
        while (status := wait(process, seconds=1)) is None:
            tick = attempt(session.heartbeat_if_due)
            if tick is not None and tick.skip == "superseded":
                process.terminate()  # another session has the seat: nothing that this one does is seen any more
        session.end(f"exit {status}" if status >= 0 else f"signal {-status}")
        return status


def attempt(call, *arguments):
    """What the call answers. A full disk or a busy lock is told and is no reason to leave the harness alone."""
    try:
        return call(*arguments)
    except gallivant.GallivantError as error:
        if error.reason != "no-such-process":  # a harness that was over before it could be attached has its exit
            print(f"{error}; {error.remedy}", file=sys.stderr)
        return None


def wait(process: subprocess.Popen, seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
