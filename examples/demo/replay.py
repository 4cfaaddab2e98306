"""Stands for a harness: hands the recorded payloads of one run to real hook processes, in their order.

    python3 replay.py HARNESS RUN_DIRECTORY [PAUSE_SECONDS [STOP_AFTER_EVENT]]

With STOP_AFTER_EVENT it falls silent after that event and lives on, as a harness in the middle of a turn does.
"""
import os
import subprocess
import sys
import time

HOOK = [sys.executable, "-m", "gallivant.hook"]


def main(harness: str, run: str, pause: float = 0.2, stop_after: str = "") -> None:
    for name in sorted(os.listdir(run)):
        if not name.endswith(".json"):
            continue
        path = os.path.join(run, name)
        if name.endswith(".notify.json"):
            # Codex hands the payload of its notify program over as the last argument.
            with open(path, encoding="utf-8") as payload:
                subprocess.run([*HOOK, harness, payload.read()], check=True)
        else:
            with open(path, "rb") as payload:
                subprocess.run([*HOOK, harness], stdin=payload, check=True)
        if stop_after and stop_after in name:
            time.sleep(3600)
        time.sleep(pause)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:4]), *sys.argv[4:5])
