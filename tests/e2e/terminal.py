"""A terminal for interactive runs: one window of a tmux server of its own."""
from __future__ import annotations

import re
import shlex
import subprocess
import time


class Terminal:
    """Runs a command in a window of 110 by 40. `environment` is the whole environment of the command."""

    def __init__(self, command: list[str], directory: str, environment: dict[str, str]) -> None:
        self._environment = environment
        self._last = ""
        # The server remembers the environment of the call that starts it and gives it to the window.
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "e2e", "-x", "110", "-y", "40", "-c", directory,
                   shlex.join(command))

    def _tmux(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(["tmux", "-u", "-L", "e2e", *arguments], env=self._environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def screen(self) -> str:
        """What the window shows, or the last that it showed."""
        done = self._tmux("capture-pane", "-p", "-t", "e2e")
        if done.returncode == 0:
            self._last = done.stdout
        return self._last

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "e2e", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "e2e", "-l", text)

    def see(self, text: str, seconds: float) -> bool:
        """Whether the window comes to show a regular expression within that time."""
        deadline = time.monotonic() + seconds
        while not re.search(text, self.screen()):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def close(self) -> None:
        self._tmux("kill-server")
