"""A local run of a real harness, inside its network namespace: provider, watcher, coordinator. Started by `run.py`.

    python3 local_stage.py ROOT HARNESS RUN EXECUTABLE

As `stage.py`, with `coordinator.py` in the place of the wrapper: the library's own runner starts the harness.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import harnesses
from harnesses import Start
from local_runs import RECORD, SECRET, LocalRun, shipped_profile
from stage import HERE, SETTLE, Stage, await_that, main

#: How long a run may take, in seconds.
PATIENCE = 120
#: The kernel cuts the name of a program at 15 bytes.
SUPERVISOR = "gallivant-supervise"[:15]


class Processes:
    """Looks at the process table until `stop`: `leaders` are the processes of a program that a supervisor has started."""

    def __init__(self, executable: str) -> None:
        self.leaders: set[int] = set()
        self._executable = executable.encode()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ending.wait(0.02):
            table = everybody()
            for pid, (_, parent, group, _) in table.items():
                # What is left to a supervisor by its parents runs another program.
                if pid == group and table.get(parent, ("",))[0] == SUPERVISOR and self._executable in command(pid):
                    self.leaders.add(pid)


def everybody() -> dict[int, tuple[str, int, int, str]]:
    """Name, parent, group and state of every process of the namespace."""
    table = {}
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                name, _, rest = stat.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        state, parent, group = rest.split()[:3]
        table[int(pid)] = (name, int(parent), int(group), state)
    return table


def command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return line.read()
    except OSError:
        return b""


def texts(value: object) -> list[str]:
    """Every text in a document."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


class LocalStage(Stage):
    run: LocalRun

    def starts(self) -> tuple[Start, ...]:
        return (Start(()),)

    def drive(self, start: Start, status: str) -> None:
        self.notes = self.place.path("notes.jsonl")
        self.task = self.place.path("task")
        begun = os.path.join(self.place.project, "begun")
        plan = {
            "root": self.task, "record": self.record(), "secrets": ["fake-key"], "runner": self.runner(),
            "turns": [self.turn(number, prompt) for number, prompt in enumerate(self.run.prompts, 1)],
            "stop": None,
        }
        if self.run.stop is not None:
            plan["stop"] = {"when": begun, "killAfterMs": self.run.stop, "interrupts": self.run.interrupts}
        self.place.write(self.place.path("plan.json"), plan)
        self.processes = Processes(self.executable)
        self.processes.start()
        coordinator = self.coordinate()
        if self.run.restart:
            await_that(lambda: os.path.exists(begun) or coordinator.poll() is not None, PATIENCE)
            if not os.path.exists(begun):
                self.problems.append("the tool never began")
            # All that was started with it, as a terminal that closes or a service manager would end it.
            if coordinator.poll() is None:
                os.killpg(coordinator.pid, signal.SIGKILL)
            coordinator.wait()
            time.sleep(0.5)
            coordinator = self.coordinate()
        try:
            code = coordinator.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            coordinator.kill()
            self.problems.append(f"the run was not settled after {PATIENCE} s")
        else:
            if code != 0:
                self.problems.append(f"the coordinator ended with {code}: {self.said()[-1500:]}")
        time.sleep(SETTLE)
        self.processes.stop()

    def record(self) -> dict:
        if not self.run.prepared:
            return RECORD
        boundary = self.harness.local.boundary
        return {**RECORD, "provider": self.harness.name,
                "authentication": {"scheme": "cli", "secretNames": sorted(self.harness.environment(self.place))},
                "preparation": {"version": 1, "boundary": boundary, "authority": "native", "environment": "native"}}

    def runner(self) -> dict:
        """The profile as it is shipped, with what leads it to the fake provider in front of its last argument."""
        if not self.run.prepared or self.harness.local.profile is None:
            return {}
        profile = shipped_profile(self.harness.name)
        *render, last = profile["preparation"]["render"]
        profile["preparation"]["render"] = [*render, *self.harness.local.profile(self.place), last]
        return {"harnesses": {self.harness.name: profile}}

    def turn(self, number: int, prompt: str) -> dict:
        if self.run.prepared:
            return self.prepared(number, prompt)
        spec = {
            "harness": self.harness.name, "program": self.executable, "args": list(self.run.args),
            "cwd": self.place.project, "env": self.environment(), "secrets": [SECRET],
            "session": {"agentDir": self.seat, "agent": "worker"},
        }
        return {"operationId": f"op-{number}", "runId": f"run-{number}", "prompt": prompt, "spec": spec,
                "model": self.harness.local.model}

    def prepared(self, number: int, prompt: str) -> dict:
        environment = self.environment()
        environment["PATH"] = f"{os.path.dirname(self.executable)}:{environment['PATH']}"
        own = {"operationId": f"op-{number}", "prompt": prompt, "model": self.harness.local.model}
        spec = {"cwd": self.place.project, "env": environment, "secrets": [SECRET],
                "session": {"agentDir": self.seat, "agent": "worker"}}
        return {**own, "runId": f"run-{number}", "kind": "intake", "spec": spec,
                "prepare": {**own, "phase": "draft", "environment": environment}}

    def coordinate(self) -> subprocess.Popen:
        command = [sys.executable, os.path.join(HERE, "coordinator.py"), self.place.path("plan.json"), self.notes]
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.path.join(harnesses.ROOT, "bindings-python/python"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        with open(self.place.path("coordinator.output"), "ab") as output:
            return subprocess.Popen(command, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=output, start_new_session=True)

    def said(self) -> str:
        with open(self.place.path("coordinator.output"), encoding="utf-8", errors="replace") as output:
            return output.read()

    def read(self, *names: str) -> dict:
        with open(os.path.join(self.task, *names), encoding="utf-8") as file:
            return json.load(file)

    def noted(self, what: str) -> list[dict]:
        if not os.path.exists(self.notes):
            return []
        with open(self.notes, encoding="utf-8") as notes:
            return [note for note in map(json.loads, notes) if note["what"] == what]

    def result(self) -> dict:
        result = {**super().result(), "turns": [], "leaders": [], "left": []}
        if not os.path.exists(os.path.join(self.task, "execution.json")):
            return result
        settled = {note["run"]: note for note in self.noted("settled")}
        ledger = self.read("execution.json")["executions"]
        hooks = [payload["session_id"] for payload in self.payloads() if payload.get("session_id")]
        for run_id, note in settled.items():
            shown = "\n".join(row.get("text") or "" for row in note["lines"])
            result["turns"].append({"outcome": note["outcome"], "ledger": ledger[run_id], "hooks": hooks,
                                    "job": self.read(run_id, "job.json"), "lines": shown})
        last = f"run-{len(settled)}"
        stopped_run = "run-1" if self.run.interrupts else last
        asked = self.asked()
        stopping, stopped = self.noted("stopping"), self.noted("stopped")
        if stopped and not stopped[0]["gone"]:
            self.problems.append("the stopped tree never went")
        with open(os.path.join(self.seat, "harness-state"), encoding="utf-8") as record:
            owner = json.load(record)["incarnation"]
        return {
            **result,
            "leaders": sorted(self.processes.leaders),
            "left": [name for pid, (name, _, _, state) in everybody().items() if pid != os.getpid() and state != "Z"],
            "answers": sum(bool(call["tools"]) for call in self.provider.calls),
            "replies": [call["reply"] for call in self.provider.calls],
            "unheard": [prompt for prompt in self.run.prompts if not any(prompt in text for text in asked)],
            "remembers": all(prompt in asked[-1] for prompt in self.run.prompts) if asked else False,
            "owner": owner,
            "session": self.read(last, "session.json")["token"] if settled else None,
            "took_over": self.noted("took over"),
            "stopped_after_ms": 1000 * (stopped[0]["at"] - stopping[0]["at"]) if stopped else None,
            "cancellation": (ledger.get(stopped_run, {}).get("cancellation") or {}).get("status"),
        }

    def asked(self) -> list[str]:
        """All texts of each model call with tools on offer, or of every one of a turn that has none, in order."""
        if not os.path.exists(self.place.path("provider.jsonl")):
            return []
        with open(self.place.path("provider.jsonl"), encoding="utf-8") as calls:
            return ["\n".join(texts(call["body"])) for call in map(json.loads, calls) if call["tools"] or self.run.prepared]


if __name__ == "__main__":
    main(LocalStage, *sys.argv[1:])
