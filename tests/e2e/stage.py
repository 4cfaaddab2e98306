"""One run, inside its network namespace: provider, watcher, wrapper, harness. Started by `run.py`, never by hand.

    python3 stage.py ROOT HARNESS RUN EXECUTABLE

Everything of the run is below ROOT. What was seen stands in ROOT/result.json in the end.
"""
from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback

import harnesses
from harnesses import Derived, File, Leave, Place, Press, See, Signal, Sleep, Start, Type
from provider import Provider
from terminal import Terminal
from watch import Watch

HERE = os.path.dirname(os.path.abspath(__file__))
#: How long hooks that are still on their way get after a harness is gone, in seconds; each lives 1 s at most.
SETTLE = 1.2

#: What pip installs as `gallivant-hook`, with the source tree in place of an installed package.
HOOK = """#!{interpreter}
import sys
sys.path.insert(0, {python!r})
from gallivant.hook import main
sys.exit(main())
"""

#: A second hook beside ours, which keeps each payload and delays nothing: the evidence for what happened.
RECORDER = """#!/bin/sh
case $# in
0) exec cat >{events}/$$ ;;
*) printf %s "$1" >{events}/$$ ;;
esac
"""

#: Codex has room for one notify program; this one records and then is ours.
NOTIFY = """#!/bin/sh
{recorder} "$1"
exec gallivant-hook codex "$1"
"""


def isolate(root: str) -> None:
    """Loopback only, and a /tmp of the run's own. Refuses to go on where anything but loopback can be reached."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise SystemExit(f"not in a network namespace of its own interfaces=`{names}`")
    with socket.socket() as control:
        up_and_running = 0x1 | 0x40
        set_flags = 0x8914
        fcntl.ioctl(control, set_flags, struct.pack("16sH14x", b"lo", up_and_running))
    private = os.path.join(root, "tmp")
    os.makedirs(private)
    os.chmod(private, 0o1777)
    subprocess.run(["mount", "--bind", private, "/tmp"], check=True)


class Stage:
    def __init__(self, root: str, harness: harnesses.Harness, run: harnesses.Run, executable: str) -> None:
        self.run, self.harness, self.executable = run, harness, executable
        # Without one nothing is derived, and the run is only for its payloads.
        self.adapter = harness.adapter()
        self.provider = Provider(run.script, os.path.join(root, "provider.jsonl"))
        self.place = Place(root, self.provider.port)
        self.problems: list[str] = []
        self.ends: list[dict] = []
        self.seat = self.place.path("agents", "worker")
        for name in ("home", "project", "events", "bin", "agents"):
            os.makedirs(self.place.path(name))
        self.watch = Watch(self.seat)

    def perform(self) -> None:
        python = os.path.join(harnesses.ROOT, "bindings-python/python")
        self.program("gallivant-hook", HOOK.format(interpreter=sys.executable, python=python))
        self.program("e2e-record", RECORDER.format(events=self.place.path("events")))
        self.program("e2e-notify", NOTIFY.format(recorder=self.place.recorder))
        self.harness.install(self.place, self.run)
        self.provider.start()
        self.watch.start()
        for number, start in enumerate(self.starts()):
            self.drive(start, self.place.path(f"start-{number}"))
            if self.problems:
                break
        self.watch.stop()
        self.provider.stop()

    def starts(self) -> tuple[Start, ...]:
        return self.run.starts

    def program(self, name: str, text: str) -> None:
        path = self.place.path("bin", name)
        self.place.write(path, text)
        os.chmod(path, 0o755)

    def environment(self) -> dict[str, str]:
        node = os.path.dirname(os.environ["NODE"])
        path = ":".join([self.place.path("bin"), node, "/usr/local/bin", "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": self.place.home, "LANG": "C.UTF-8", "TERM": "xterm-256color", "TMPDIR": "/tmp",
                "USER": "e2e", "SHELL": "/bin/bash", "PYTHONDONTWRITEBYTECODE": "1",
                **self.harness.environment(self.place)}

    def drive(self, start: Start, status: str) -> None:
        command = [sys.executable, os.path.join(HERE, "wrapper.py"), self.seat, self.harness.name, status,
                   self.executable, *start.arguments]
        # The wrapper alone needs the package; the harness gets no more than a person's shell would give it.
        environment = {**self.environment(), "PYTHONPATH": os.path.join(harnesses.ROOT, "bindings-python/python")}
        terminal = process = None
        if start.terminal:
            terminal = Terminal(command, self.place.project, environment)
        else:
            output = open(status + ".output", "wb")
            process = subprocess.Popen(command, cwd=self.place.project, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            if not await_that(lambda: os.path.exists(status + ".pid"), 20):
                self.problems.append("the wrapper did not start the harness")
                return
            for action in start.actions:
                if not self.act(action, terminal, status):
                    self.problems.append(f"waited in vain for {action}")
                    return
            if not await_that(lambda: os.path.exists(status + ".end"), start.seconds):
                self.problems.append(f"the harness was still running after {start.seconds} s")
                return
            time.sleep(SETTLE)
            with open(status + ".end", encoding="utf-8") as end:
                self.ends.append(json.load(end))
        finally:
            if terminal is not None:
                self.place.write(status + ".screen", terminal.screen())
                terminal.close()
            elif process.poll() is None:
                process.kill()

    def act(self, action: harnesses.Action, terminal: Terminal | None, status: str) -> bool:
        match action:
            case See(text, seconds):
                return terminal.see(text, seconds)
            case Press(keys):
                terminal.press(*keys)
            case Type(text):
                terminal.type(text)
                # A pasted return is a line of the text for some harnesses; a person is slower.
                time.sleep(0.5)
            case File(name, seconds):
                return await_that(lambda: os.path.exists(os.path.join(self.place.project, name)), seconds)
            case Derived(word, seconds):
                return self.watch.wait_for(word, seconds if self.adapter else 1) or not self.adapter
            case Leave(keys):
                # The harness may still be drawing the end of its turn, and takes the first key for that.
                time.sleep(1)
                for _ in range(5):
                    for key in keys:
                        terminal.press(key)
                        time.sleep(0.2)
                    if await_that(lambda: os.path.exists(status + ".end"), 3):
                        break
            case Sleep(seconds):
                time.sleep(seconds)
            case Signal(number):
                with open(status + ".pid", encoding="utf-8") as pid:
                    harness = int(pid.read())
                # A terminal interrupts everything that runs in the foreground; the wrapper lives on.
                os.killpg(os.getpgid(harness), number) if number == signal.SIGINT else os.kill(harness, number)
        return True

    def result(self) -> dict:
        log = os.path.join(self.seat, ".harness-state.log")
        lines = open(log, encoding="utf-8").read().splitlines() if os.path.exists(log) else []
        return {
            "seen": self.watch.seen,
            "times": self.watch.times,
            "events": [label(payload) for payload in self.payloads()],
            "log": [line.split(" ", 1)[1] for line in lines],
            "files": sorted(os.listdir(self.place.project)),
            "calls": self.provider.calls,
            "ends": self.ends,
            "problems": self.problems,
        }

    def payloads(self) -> list[dict]:
        """What the hooks were given, in the order in which it came."""
        found = []
        with os.scandir(self.place.path("events")) as entries:
            paths = [entry.path for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)]
        for path in paths:
            with open(path, "rb") as payload:
                try:
                    found.append(json.loads(payload.read()))
                except ValueError:
                    found.append({"hook_event_name": "undecodable"})
        return found


def label(payload: dict) -> str:
    """An event in one word: its name, what its typed members say, and `child:` before a subagent's own."""
    name = payload.get("hook_event_name") or f"notify:{payload.get('type')}"
    told = [payload[key] for key in ("source", "reason", "tool_name", "notification_type") if payload.get(key)]
    child = "child:" if payload.get("agent_id") else ""
    return f"{child}{name}({','.join(map(str, told))})" if told else f"{child}{name}"


def await_that(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def main(kind: type[Stage], root: str, harness_name: str, run_name: str, executable: str) -> None:
    isolate(root)
    harness = harnesses.load(harness_name)
    run = next(run for run in (*harness.runs, *harness.local_runs) if run.name == run_name)
    stage = kind(root, harness, run, executable)
    try:
        stage.perform()
    except Exception:
        stage.problems.append(traceback.format_exc())
    stage.place.write(os.path.join(root, "result.json"), stage.result())


if __name__ == "__main__":
    main(Stage, *sys.argv[1:])
