"""A wrapper as a coordinator would write it: claims the seat, starts the harness, ends with its real exit.

    python3 wrapper.py AGENT_DIRECTORY HARNESS COMMAND...

The harness and its hooks find the session in their environment.
"""
import os
import subprocess
import sys

import gallivant


def main(directory: str, harness: str, command: list[str]) -> int:
    agent = os.path.basename(os.path.abspath(directory))
    with gallivant.Session.start(directory, agent, harness, pty_session=agent) as session:
        process = subprocess.Popen(command, env={**os.environ, **session.to_env()})
        session.attach(process.pid)
        while (status := wait(process, seconds=1)) is None:
            try:
                if session.heartbeat_if_due().skip == "superseded":
                    process.terminate()  # another session has the seat: nothing that this one does is seen any more
            except gallivant.GallivantError as error:
                # A full disk or a busy lock now is no reason to leave the harness alone: the next one may land.
                print(f"{error}; {error.remedy}", file=sys.stderr)
        session.end(f"exit {status}" if status >= 0 else f"signal {-status}")
        return status


def wait(process: subprocess.Popen, seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
