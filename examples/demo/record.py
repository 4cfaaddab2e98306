"""Records what `gallivant state --watch` shows while the demo runs, as text: python3 record.py [OUT]

The demo has one terminal of 100 columns and 24 rows, and the watch another beside it. A frame is kept where an agent is another
or does something else than in the frame before; the lengths of time alone make none. `docs/state-watch.txt` was made so.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILT = os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"), "release")
COLUMNS, ROWS = 100, 24
# Before each frame the watch puts the cursor into the corner.
CORNER = "\x1b[H"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Frame(NamedTuple):
    seconds: float
    lines: list[str]

    def rows(self) -> list[tuple[str, str, str]]:
        """Agent, state and why of each row."""
        state, length, why = (self.lines[0].find(heading) for heading in ("STATE", "FOR", "WHY"))
        return [(line[:state].strip(), line[state:length].strip(), line[why:].strip()) for line in self.lines[1:]]


class Terminal:
    """A program at a terminal of its own, and what it has shown there, each piece with its time."""

    def __init__(self, command: list[str], **options) -> None:
        self.began = time.monotonic()
        self.pieces: list[tuple[float, str]] = []
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, **options)
        os.close(theirs)
        self.reader = threading.Thread(target=self.read, args=(ours,), daemon=True)
        self.reader.start()

    def read(self, ours: int) -> None:
        with open(ours, "rb", buffering=0) as shown:
            while True:
                try:
                    piece = shown.read(65536)
                except OSError:
                    # What Linux says once nobody has the other side any more.
                    return
                if not piece:
                    return
                self.pieces.append((time.monotonic(), piece.decode(errors="replace")))

    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces).replace("\r\n", "\n")

    def frames(self) -> list[Frame]:
        """A frame is written in one piece, and begins in the corner; times count from the first one that shows an agent. The
        last ones, in which agents disappear, are left out: the demo takes its directory away."""
        found: list[Frame] = []
        for at, piece in self.pieces:
            for text in piece.split(CORNER)[1:]:
                lines = [line.rstrip() for line in CONTROL.sub("", text).replace("\r", "").rstrip("\n").split("\n")]
                if len(lines) < 2 or not lines[0].startswith("AGENT"):
                    continue
                frame = Frame(at - found[0].seconds if found else at, lines)
                if not found or frame.rows() != found[-1].rows():
                    found.append(frame)
        while len(found) > 1 and len(found[-1].lines) < len(found[-2].lines):
            found.pop()
        return [Frame(frame.seconds if at else 0.0, frame.lines) for at, frame in enumerate(found)]


def record(*arguments: str, timeout: float = 400) -> tuple[int, str, list[Frame]]:
    """Runs the demo with these arguments: its status, what it printed, and what the watch has shown beside it."""
    with tempfile.TemporaryDirectory(prefix="gallivant-record-") as place:
        environment = {**os.environ, "TMPDIR": place, "NO_COLOR": "1", "TERM": "xterm"}
        demo = Terminal([sys.executable, os.path.join(HERE, "demo.py"), *arguments], env=environment)
        while not (agents := [name for name in os.listdir(place) if name.startswith("gallivant-demo-")]):
            if demo.process.poll() is not None:
                demo.reader.join(60)
                return demo.process.returncode, demo.text(), []
            time.sleep(0.01)
        watch = Terminal(
            [os.path.join(BUILT, "gallivant"), "state", "--watch", "."],
            cwd=os.path.join(place, agents[0]), env=environment,
        )
        try:
            status = demo.process.wait(timeout)
        finally:
            for terminal in (watch, demo):
                terminal.process.kill()
                terminal.process.wait()
                terminal.reader.join(60)
        return status, demo.text(), watch.frames()


def written(frames: list[Frame]) -> str:
    return "\n".join(f"after {frame.seconds:.1f} s\n" + "".join(f"{line}\n" for line in frame.lines) for frame in frames)


def read(text: str) -> list[Frame]:
    """What `written` has made."""
    pieces = (piece.splitlines() for piece in text.strip().split("\n\n"))
    return [Frame(float(head.split()[1]), lines) for head, *lines in pieces]


def main(out: str = "/dev/stdout") -> None:
    status, said, frames = record(os.path.join(BUILT, "examples/status-bar"), "0.5")
    if status:
        raise SystemExit(said)
    with open(out, "w", encoding="utf-8") as file:
        file.write(written(frames))


if __name__ == "__main__":
    main(*sys.argv[1:])
