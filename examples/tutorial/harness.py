#!/usr/bin/env python3
"""Stands for Claude Code in the tutorial: it says by the same hooks what it would be doing, and needs no account.

    python3 harness.py asks      works for a moment, and waits for a person to permit a command until it is ended
    python3 harness.py works     is in the middle of a turn until it is ended
    python3 harness.py finishes  answers one prompt and ends

The payloads have the members of Claude Code's own; the hook is the command that stands in its settings.
"""
import json
import os
import subprocess
import sys
import time

HOOK = [sys.executable, "-I", "-S", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../bindings-python/python/gallivant/hook.py"), "claude"]

ASKS = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "make release"}}


def hook(event: dict) -> None:
    """What Claude Code does at each event: it starts the command and gives it the payload."""
    subprocess.run(HOOK, input=json.dumps({"session_id": "s-1", **event}).encode(), check=True)


def main(kind: str) -> None:
    hook({"hook_event_name": "SessionStart", "source": "startup"})
    hook({"hook_event_name": "UserPromptSubmit", "prompt": "do it"})
    if kind == "asks":
        hook(ASKS)
    if kind == "finishes":
        time.sleep(1)
        hook({"hook_event_name": "Stop"})
        return
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1])
