"""Local runs of real harnesses: what each run is, and the judgement of what it left.

A harness's file says in a `Local` how its program is used and what is particular about it; `local_runs` makes the same
runs of it for every harness. `local_stage.py` carries one out.
"""
from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from harnesses import ROOT, Harness, Place, is_documented
from provider import Error, Reply, Script, Text
from watch import matches

#: What a tree that will not go gets to go by itself, in ms, before it is killed; and one that goes, which never needs it.
SHORT_MS, LONG_MS = 4000, 60_000
#: Printed by a tool and named as a secret of the run: it must not be in the journal.
SECRET = "sesame-7c1f"
#: Longer than one argument of a process may be on Linux (128 KiB), and begins as an option would.
LONG_PROMPT = "--job-plain is what you do, and this is why: " + "because " * 20_000
#: A tool with a child that answers no TERM and has left its harness's session and tree: only the ladder's KILL ends it.
STUBBORN = "(trap '' TERM; setsid sleep 40 >/dev/null 2>&1 &); touch begun; sleep 40; touch over"

RECORD = {
    "provider": "harness", "transport": "process", "location": "local", "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []}, "environments": {"required": False, "allowed": None},
    "models": "required", "policies": {"required": False, "allowed": []}, "preparation": None, "continuation": "native",
    "observability": "events", "cancel": True, "interrupt": True, "cost": {"reports": True, "hardCap": False},
    "qualification": None,
}


@dataclass(frozen=True)
class Local:
    """How a harness is run locally, and what is particular about it.

    `args` go into the spec and `model` into the input, `tool` makes the reply that runs a shell command, and
    `denied_args` are in the place of `args` where nothing is permitted. `error` is what the provider fails with, and
    the harness then with `fails_with`. `states` has the pattern of each run that it can do, by its name, `documented`
    the word of the guide's list and a pattern instead, as in `harnesses.Run`. `cost` is whether it tells one, `denied`
    what a run has that is denied its tool, `mints` whether its session is chosen for it. `boundary` is what a prepared turn
    is kept within, `prepared` what such a run has, and `profile` the arguments that its profile gets besides, by the place.
    """

    args: tuple[str, ...]
    model: str
    denied_args: tuple[str, ...]
    tool: Callable[[str], Reply]
    states: dict[str, str]
    error: int = 500
    fails_with: int = 1
    documented: dict[str, tuple[str, str]] = field(default_factory=dict)
    settings: dict[str, dict] = field(default_factory=dict)
    log: dict[str, tuple[str, ...]] = field(default_factory=dict)
    cost: bool = False
    denied: dict = field(default_factory=dict)
    mints: bool = False
    boundary: str | None = None
    prepared: dict = field(default_factory=dict)
    profile: Callable[[Place], list[str]] | None = None


@dataclass(frozen=True)
class LocalRun:
    """One run: the prompt of each turn, what is done meanwhile, and what has to have come of it.

    `restart` kills the coordinator once its tool has begun and starts another one. `stop` stops the run then, with so
    many ms before what is left is killed; `kills` is whether it comes to that. With `interrupts` it is the first turn
    that is stopped, and the next one goes on in its session. One that is `prepared` is an intake turn: the library
    renders its command line, and no hook of the user's settings is there to tell a state. `answers` are the provider's model calls that have tools
    on offer. The rest is as in `harnesses.Run`.
    """

    #: The program that carries it out.
    stage: ClassVar[str] = "local_stage.py"

    name: str
    script: Script
    prompts: tuple[str, ...]
    expect: str
    ok: bool = True
    exit: int | None = 0
    state: str = "succeeded"
    args: tuple[str, ...] = ()
    answers: int = 2
    restart: bool = False
    stop: int | None = None
    kills: bool = False
    interrupts: bool = False
    prepared: bool = False
    cost: bool = False
    denials: int = 0
    says: str | None = "All done."
    files: tuple[str, ...] = ()
    no_files: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    settings: dict = field(default_factory=dict)
    documented: tuple[str, str] | None = None
    skip: str | None = None
    needs_terminal: bool = False


def local_runs(local: Local) -> tuple[LocalRun, ...]:
    """The runs of a harness: those for which it has states."""
    tool = local.tool

    def run(name: str, script: Script, *prompts: str, **said: object) -> LocalRun | None:
        if name not in local.states:
            return None
        said = {"args": local.args, "log": local.log.get(name, ()), "cost": local.cost, **said}
        return LocalRun(f"local-{name}", script, prompts, local.states[name], settings=local.settings.get(name, {}),
                        documented=local.documented.get(name), **said)

    long = tool("touch begun; sleep 40; touch over")
    stopped = {"files": ("begun",), "no_files": ("over",)}
    runs = (
        run("succeeds", {"job-plain": (tool(f"echo hi > made; echo {SECRET}"),)}, LONG_PROMPT, files=("made",)),
        run("denied", {"job-deny": (tool("touch made"), Text(delay=1))}, "Please do job-deny", no_files=("made",),
            args=local.denied_args, **local.denied),
        run("fails", {"job-fail": (tool("touch made"), Error(local.error))}, "Please do job-fail", ok=False,
            exit=local.fails_with, state="failed", files=("made",), says=None),
        run("cancelled", {"job-long": (long,)}, "Please do job-long", stop=LONG_MS, answers=1, **stopped),
        run("stubborn", {"job-long": (tool(STUBBORN),)}, "Please do job-long", stop=SHORT_MS, kills=True, answers=1,
            **stopped),
        run("restarted", {"job-slow": (tool("touch begun; sleep 4; touch over"),)}, "Please do job-slow",
            restart=True, files=("begun", "over")),
        run("resumed", {"job-first": (tool("touch first"),), "job-second": (tool("touch second"),)},
            "Please do job-first", "Please do job-second", files=("first", "second"), answers=4),
        run("interrupted", {"job-long": (long,), "job-next": ()}, "Please do job-long", "Please do job-next",
            stop=LONG_MS, interrupts=True, **stopped),
        run("prepared", {"job-prepared": (tool("touch made"),)}, "Please do job-prepared", prepared=True,
            no_files=("made",), **local.prepared),
    )
    return tuple(one for one in runs if one is not None)


def shipped_profile(name: str) -> dict:
    """The library's own profile of a harness."""
    with open(os.path.join(ROOT, "core/src/local_runner/profiles/profiles.json"), encoding="utf-8") as profiles:
        return json.load(profiles)[name]


def judge(harness: Harness, run: LocalRun, result: dict) -> tuple[list[str], str]:
    """As that of the other runs: why the run has failed, and what is to be said of a pass."""
    wrong = list(result["problems"])
    if result["turns"]:
        wrong += _judge_turns(harness, run, result)
        wrong += _judge_processes(run, result)
    else:
        wrong.append("no turn was settled")
    wrong += [f"the file {name} is missing" for name in run.files if name not in result["files"]]
    wrong += [f"the file {name} is there" for name in run.no_files if name in result["files"]]
    wrong += [f"the hooks' log says: {line}" for line in result["log"] if not matches_one(run.log, line)]
    if (tried := shipped_profile(harness.name).get("tried")) != harness.version:
        wrong.append(f"the profile was tried with {tried}, says profiles.json")
    if matches(run.expect, result["seen"]):
        return wrong, ""
    if run.documented and matches(run.documented[1], result["seen"]):
        if is_documented(harness, run.documented[0]):
            return wrong, f" (imprecise, as {harness.guide} says: {run.documented[0]})"
        wrong.append(f"imprecise, and {harness.guide} does not say so: {run.documented[0]}")
    return [*wrong, f"expected: {run.expect}"], ""


def matches_one(patterns: tuple[str, ...], line: str) -> bool:
    return any(re.search(pattern, line) for pattern in patterns)


def _judge_turns(harness: Harness, run: LocalRun, result: dict) -> list[str]:
    """Outcome, ledger, job record, journal and session of each turn."""
    wrong = []
    turns = result["turns"]
    if len(turns) != len(run.prompts):
        wrong.append(f"{len(turns)} of {len(run.prompts)} turns were settled")
    for number, turn in enumerate(turns):
        outcome, ledger, job = turn["outcome"], turn["ledger"], turn["job"]
        is_stopped = run.stop is not None and (number == 0 or not run.interrupts)
        # What a stopped turn says is quarantined, its exit too; the session's record has that.
        expected = (False, None, "cancelled", None) if is_stopped else (run.ok, run.exit, run.state, run.exit)
        said = (outcome["ok"], outcome["exit"], ledger["terminalState"], job["exit"])
        if said != expected:
            wrong.append(f"outcome, exit, state and the job's exit: {said}")
        if len(outcome["denials"]) != run.denials:
            wrong.append(f"the denials are {outcome['denials']}")
        if not is_stopped and (bool(outcome["cost"]) != run.cost and run.ok or outcome["cost"] != ledger["costUsd"]):
            wrong.append(f"the cost is {outcome['cost']}, and {ledger['costUsd']} in the ledger")
        if (harness.local.mints or not is_stopped) and not ledger["sessionId"]:
            wrong.append("the session is not known")
        if ledger["sessionId"] and (foreign := set(turn["hooks"]) - {ledger["sessionId"]}):
            wrong.append(f"the session is {ledger['sessionId']}, hooks spoke of {sorted(foreign)}")
        if job["sessionId"] != ledger["sessionId"]:
            wrong.append(f"job and ledger name two sessions: {job['sessionId']} and {ledger['sessionId']}")
        if run.says is not None and not is_stopped and run.says not in turn["lines"]:
            wrong.append("the journal lacks the model's answer")
        if not turn["lines"].strip():
            wrong.append("the journal has no line")
        if SECRET in turn["lines"]:
            wrong.append("the journal shows a secret")
    if run.stop is None and len({turn["outcome"]["cost"] for turn in turns}) != 1:
        wrong.append(f"like turns cost differently: {[turn['outcome']['cost'] for turn in turns]}")
    if len({turn["ledger"]["sessionId"] for turn in turns}) != 1:
        wrong.append(f"the turns had two sessions: {[turn['ledger']['sessionId'] for turn in turns]}")
    return wrong


def _judge_processes(run: LocalRun, result: dict) -> list[str]:
    """Who ran, who was asked, who is left, and whose states stand in the record."""
    wrong = []
    if len(result["leaders"]) != len(run.prompts):
        wrong.append(f"harnesses were started with the pids {result['leaders']}")
    if result["answers"] != run.answers:
        wrong.append(f"the provider answered {result['answers']} calls and not {run.answers}: {result['replies']}")
    if result["left"]:
        wrong.append(f"processes are left: {result['left']}")
    if result["unheard"]:
        wrong.append(f"the provider never got the prompts {[prompt[:40] for prompt in result['unheard']]}")
    if not result["remembers"]:
        wrong.append("the last turn's conversation lacks the first one's prompt")
    if result["owner"] != result["session"]:
        wrong.append(f"the record is of {result['owner']}, the run's session is {result['session']}")
    if run.restart and not result["took_over"]:
        wrong.append("the second coordinator found no run")
    if run.stop:
        took = result["stopped_after_ms"]
        if took is None or (took >= run.stop) != run.kills:
            wrong.append(f"the tree went {took} ms after the stop, its KILL was due after {run.stop} ms")
        if result["cancellation"] != "confirmed":
            wrong.append(f"the cancellation is {result['cancellation']}")
    return wrong
