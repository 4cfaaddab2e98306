"""A wrapper as a coordinator would write it: claims the seat, starts the harness, ends with its real exit.

    python3 wrapper.py AGENT_DIRECTORY HARNESS COMMAND...

The harness and its hooks find the session in their environment.
"""
import os
import subprocess
import sys

import gallivant


def main(directory: str, harness: str, command: list[str]) -> int:
    agent = os.path.basename(directory)
    with gallivant.Session.start(directory, agent, harness, pty_session=agent) as session:
        process = subprocess.Popen(command, env={**os.environ, **session.to_env()})
        session.attach(process.pid)
        while True:
            try:
                status = process.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                session.heartbeat_if_due()
        session.end(f"exit {status}" if status >= 0 else f"signal {-status}")
        return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
