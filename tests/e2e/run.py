"""Real harnesses against a fake provider, offline, with our hooks installed: what is derived and what happened.

    python3 run.py [--harness NAME]... [--kind KIND] [--run NAME]... [--keep] [--verbose] [--record]

Prints a line for each run and, last, `N passed, N failed, N skipped`; exits 1 if a run failed. See README.md.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
#: The longest that one run may take with everything, in seconds.
LIMIT = 180

try:
    import harnesses
    import local_runs
    import packages
    from watch import matches
except ImportError as error:
    sys.exit(f"the Python package is not built or not on PYTHONPATH: {error}; use `make e2e`")


def namespace() -> list[str]:
    """The command that runs another one where only loopback can be reached, and ends it with everything in it."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def why_nothing_can_run(cache: str) -> str | None:
    for program in ("npm", "node", "unshare", "timeout", "mount"):
        if shutil.which(program) is None:
            return f"no {program}"
    if subprocess.run([*namespace(), "mount", "--bind", cache, "/tmp"], capture_output=True).returncode != 0:
        return "no namespaces for this user"
    for path in (cache, harnesses.ROOT, sys.executable, shutil.which("node")):
        if os.path.realpath(path).startswith("/tmp/"):
            return "something that is needed is below /tmp, which each run replaces by its own"
    return None


def came(event: str, events: list[str]) -> bool:
    """Whether an event was recorded; its name alone stands for every label that begins with it."""
    return any(label == event or label.startswith(f"{event}(") for label in events)


def judge(harness: harnesses.Harness, run: harnesses.Run, result: dict) -> tuple[list[str], str]:
    """Why the run has failed, empty if it has passed; and what is to be said of a pass."""
    wrong = list(result["problems"])
    wrong += [f"the event {event} did not come" for event in run.events if not came(event, result["events"])]
    wrong += [f"the event {event} came" for event in run.no_events if came(event, result["events"])]
    wrong += [f"the file {name} is missing" for name in run.files if name not in result["files"]]
    wrong += [f"the file {name} is there" for name in run.no_files if name in result["files"]]
    for line in result["log"]:
        if not any(re.search(allowed, line) for allowed in run.log):
            wrong.append(f"the hooks' log says: {line}")
    if any(end["end"] != "landed" for end in result["ends"]) or len(result["ends"]) != len(run.starts):
        wrong.append(f"a session was not ended as it should: {result['ends']}")
    if matches(run.expect, result["seen"]):
        return wrong, ""
    if run.documented and matches(run.documented[1], result["seen"]):
        word = run.documented[0]
        if harnesses.is_documented(harness, word):
            return wrong, f" (imprecise, as {harness.guide} says: {word})"
        wrong.append(f"imprecise, and {harness.guide} does not say so: {word}")
    return [*wrong, f"expected: {run.expect}"], ""


def perform(harness: harnesses.Harness, run: harnesses.Run, prefix: str, root: str) -> dict:
    """Runs it in its namespace, with an environment of its own, and answers what was seen."""
    environment = {
        "PATH": os.environ["PATH"], "NODE": os.path.realpath(shutil.which("node")), "LANG": "C.UTF-8",
        "PYTHONPATH": os.path.join(harnesses.ROOT, "bindings-python/python"), "PYTHONDONTWRITEBYTECODE": "1",
        "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", ""),
    }
    stage = [sys.executable, os.path.join(HERE, run.stage), root, harness.name, run.name, harness.executable(prefix)]
    command = ["timeout", "--kill-after=5", str(LIMIT), *namespace(), *stage]
    with open(os.path.join(root, "stage.output"), "wb") as output:
        code = subprocess.run(command, env=environment, cwd=root, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT).returncode
    try:
        with open(os.path.join(root, "result.json"), encoding="utf-8") as result:
            return json.load(result)
    except FileNotFoundError:
        with open(os.path.join(root, "stage.output"), encoding="utf-8", errors="replace") as output:
            problem = f"the run ended with {code} and no result: {output.read()[-2000:]}"
        return {"seen": [], "events": [], "log": [], "files": [], "ends": [], "calls": [], "turns": [],
                "problems": [problem]}


class Table:
    """Prints the runs as they end and counts them."""

    def __init__(self) -> None:
        self.counts = {"ok": 0, "FAILED": 0, "skipped": 0}
        print(f"{'harness':<9} {'version':<8} {'run':<20} {'verdict':<8} {'s':>5}  sequence", flush=True)

    def add(self, harness: harnesses.Harness, run: str, verdict: str, seconds: float, said: str) -> None:
        self.counts[verdict] += 1
        print(f"{harness.name:<9} {harness.version:<8} {run:<20} {verdict:<8} {seconds:>5.1f}  {said}", flush=True)


def cut(words: list[str], most: int = 60) -> str:
    """At most so many words, with what was left out counted."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return " ".join(words[:most]) + more


def details(result: dict) -> list[str]:
    replies = [call["reply"] for call in result["calls"]]
    return [f"events: {cut(result['events'])}", f"replies: {cut(replies)}", f"ends: {result['ends']}",
            f"times: {result.get('times')}"]


def run_one(harness: harnesses.Harness, run: harnesses.Run, prefix: str, arguments: argparse.Namespace,
            table: Table) -> None:
    runs = os.path.join(arguments.cache, "runs")
    os.makedirs(runs, exist_ok=True)
    root = tempfile.mkdtemp(prefix=f"{harness.name}-{run.name}-", dir=runs)
    begun = time.monotonic()
    result = perform(harness, run, prefix, root)
    is_local = isinstance(run, local_runs.LocalRun)
    wrong, remark = (local_runs.judge if is_local else judge)(harness, run, result)
    missing = not harness.adapter()
    verdict = "skipped" if missing else "FAILED" if wrong else "ok"
    said = cut(result["seen"]) + remark
    table.add(harness, run.name, verdict, time.monotonic() - begun, f"adapter-missing; {said}" if missing else said)
    shown = result["problems"] if missing else wrong
    for line in [*shown, *(details(result) if shown or missing or arguments.verbose else [])]:
        print(f"          {line}", flush=True)
    if arguments.keep or (wrong and not missing):
        print(f"          kept in {root}", flush=True)
    else:
        shutil.rmtree(root, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harness", action="append", choices=harnesses.NAMES)
    parser.add_argument("--run", action="append")
    parser.add_argument("--kind", choices=("sessions", "local"), help="only runs under a wrapper, or only local runs")
    parser.add_argument("--keep", action="store_true", help="keep every run's directory, not only a failed one's")
    parser.add_argument("--verbose", action="store_true", help="print events and replies of every run")
    parser.add_argument("--record", action="store_true", help="run a harness without an adapter too, for its payloads")
    arguments = parser.parse_args()
    arguments.cache = packages.cache_directory()
    os.makedirs(arguments.cache, exist_ok=True)
    nothing = why_nothing_can_run(arguments.cache)
    table = Table()
    for name in arguments.harness or harnesses.NAMES:
        harness = harnesses.load(name)
        both = {"sessions": harness.runs, "local": harness.local_runs}
        kinds = [both[arguments.kind]] if arguments.kind else both.values()
        runs = [run for kind in kinds for run in kind if not arguments.run or run.name in arguments.run]
        whole = nothing or (None if harness.adapter() or arguments.record else "adapter-missing")
        prefix = None
        if runs and not whole:
            prefix, whole = packages.fetch(harness, arguments.cache)
        for run in runs:
            no_tmux = "no tmux" if run.needs_terminal and shutil.which("tmux") is None else None
            if reason := whole or run.skip or no_tmux:
                table.add(harness, run.name, "skipped", 0, f"because: {reason}")
            else:
                run_one(harness, run, prefix, arguments, table)
    counts = table.counts
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
