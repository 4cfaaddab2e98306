"""Gemini CLI: hooks in the home's settings, as in docs/guides/gemini-cli.md."""
from __future__ import annotations

import json
import os
import signal

from local_runs import Local, local_runs
from provider import Error, Tool

from . import (
    Derived, File, Harness, Leave, Place, Press, Run, See, Signal, Sleep, Start, Type, guide_block, with_recorder,
)

#: Recorded also where there is no adapter yet.
EVENTS = ("SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterTool", "AfterAgent", "SessionEnd")


def shell(command: str) -> Tool:
    return Tool("run_shell_command", {"command": command, "description": "Works"})


MODEL = ("-m", "gemini-2.5-flash")


def headless(prompt: str, *more: str, actions: tuple = ()) -> Start:
    return Start((*(more or ("--yolo",)), *MODEL, "-p", prompt, "--output-format", "json"), actions)


def interactive(*actions: object) -> Start:
    return Start(MODEL, actions, terminal=True)


def prompt(text: str) -> tuple:
    return (See("Type your message"), Type(text), Press(("Enter",)))


BEGIN = "none unknown:claimed ready"
END = "ended:exit=session-end ended=exit-0"
ASKED = (See("Allow"), Derived("active/permission"), Sleep(1.5))
#: An interactive one tells its end three times.
AGAIN = ("^gemini SessionEnd refused terminal$",)
LONG = (shell("touch begun; sleep 30; touch over"),)
QUIT = Leave(("C-c", "C-c"))

RUNS = (
    Run("plain", {"job-plain": (shell("echo hi > made"),)},
        (headless("Please do job-plain"),),
        f"{BEGIN} active idle {END}",
        events=("SessionStart(startup)", "BeforeAgent", "BeforeTool(run_shell_command)", "AfterTool(run_shell_command)",
                "AfterAgent", "SessionEnd(exit)"), files=("made",)),
    Run("tool-fails", {"job-fail": (shell("touch made; exit 3"),)},
        (headless("Please do job-fail"),),
        f"{BEGIN} active idle {END}", events=("AfterTool(run_shell_command)", "AfterAgent"), files=("made",)),
    # Where nobody can be asked the tool is not on offer.
    Run("denied-headless", {"job-deny": (shell("touch made"),)},
        (headless("Please do job-deny", "--approval-mode", "default"),),
        f"{BEGIN} active idle {END}", events=("AfterAgent",), no_files=("made",)),
    Run("allowed", {"job-allow": (shell("touch made"),)},
        (interactive(*prompt("Please do job-allow"), *ASKED, Press(("Enter",)), File("made"), Derived("idle"),
                     QUIT),),
        f"{BEGIN} active active/permission active idle {END}",
        events=("Notification(ToolPermission)", "AfterTool(run_shell_command)", "AfterAgent"),
        files=("made",), log=AGAIN),
    Run("denied", {"job-deny": (shell("touch made"),), "go on": ()},
        (interactive(*prompt("Please do job-deny"), *ASKED, Press(("Escape",)), Sleep(3),
                     *prompt("Please go on"), Derived("idle"), QUIT),),
        f"{BEGIN} active active/permission active? ( idle | idle:interrupted ) active idle {END}",
        events=("Notification(ToolPermission)",), no_files=("made",), log=AGAIN,
        documented=("Interrupts and refusals", f"{BEGIN} active active/permission active idle {END}")),
    # It waits for the next prompt, which is given after some seconds.
    Run("error-interactive", {"job-400": (Error(400),), "go on": ()},
        (interactive(*prompt("Please do job-400"), See("(?i)fake provider fails|API Error"), Sleep(3),
                     *prompt("Please go on"), Derived("idle"), QUIT),),
        f"{BEGIN} active ( idle | idle:stop-failure ) active idle {END}", events=("AfterAgent",), log=AGAIN,
        documented=("Errors", f"{BEGIN} active idle {END}")),
    Run("error-500", {"job-500": (Error(500),)}, (headless("Please do job-500"),),
        f"{BEGIN} active ( idle | idle:stop-failure )? ended:exit=session-end? ended=exit-244",
        events=("BeforeAgent",), no_events=("AfterAgent",)),
    Run("error-400", {"job-400": (shell("touch made"), Error(400))}, (headless("Please do job-400"),),
        f"{BEGIN} active ( idle | idle:stop-failure )? ended:exit=session-end? ended=exit-144",
        events=("AfterTool",), no_events=("AfterAgent",), files=("made",)),
    Run("interrupt-sigint", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGINT))),),
        f"{BEGIN} active ( idle | idle:interrupted )? {END}",
        events=("BeforeTool",), no_files=("over",)),
    Run("interrupt-escape", {"job-long": LONG, "go on": ()},
        (Start(("--yolo", *MODEL), (*prompt("Please do job-long"), File("begun"), Sleep(1), Press(("Escape",)),
                                   Sleep(3), *prompt("Please go on"), Derived("idle"), QUIT), terminal=True),),
        f"{BEGIN} active ( idle | idle:interrupted ) active idle {END}", no_files=("over",), log=AGAIN,
        documented=("Interrupts and refusals", f"{BEGIN} active idle {END}")),
    Run("killed", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGKILL))),),
        f"{BEGIN} active ended=signal-9", no_files=("over",)),
    Run("resume", {"job-first": (shell("touch first"),), "job-second": (shell("touch second"),)},
        (headless("Please do job-first"), headless("Please do job-second", "--yolo", "--resume", "latest")),
        f"{BEGIN} active idle {END} unknown:claimed ready idle active idle {END}",
        events=("SessionStart(startup)", "SessionStart(resume)"), files=("first", "second")),
)

LOCAL_BEGIN = "none unknown:claimed? ready"
#: It does not wait for its last hooks, and tells after its end that the tool is over that died of the same signal.
STOPPED = "ended:exit=session-end?"
LATE = "ended:exit=session-end unknown:activity-after-end ended:exit=session-end"
AFTER_END = ("^gemini AfterTool refused terminal$",)
NEXT = f"unknown:claimed? ready idle active idle {END}"
LOCAL = Local(
    args=("--yolo",), model="gemini-2.5-flash", denied_args=("--approval-mode", "default"), tool=shell, mints=True,
    # Where nobody can be asked the tool is not on offer.
    fails_with=244, denied={"answers": 1},
    states={
        "succeeds": f"{LOCAL_BEGIN} active idle {END}",
        "denied": f"{LOCAL_BEGIN} active idle {END}",
        "fails": f"{LOCAL_BEGIN} active ( idle | idle:stop-failure )? ended:exit=session-end? ended=exit-244",
        "cancelled": f"{LOCAL_BEGIN} active {STOPPED} ended=exit-0",
        "stubborn": f"{LOCAL_BEGIN} active {STOPPED} ( ended=exit-0 | ended=signal-KILL )",
        "restarted": f"{LOCAL_BEGIN} active idle {END}",
        "resumed": f"{LOCAL_BEGIN} active idle {END} {NEXT}",
        "interrupted": f"{LOCAL_BEGIN} active {STOPPED} ended=exit-0 {NEXT}",
    },
    documented={
        "cancelled": ("Stops", f"{LOCAL_BEGIN} active {LATE} ended=exit-0"),
        "stubborn": ("Stops", f"{LOCAL_BEGIN} active {LATE} ( ended=exit-0 | ended=signal-KILL )"),
        "interrupted": ("Stops", f"{LOCAL_BEGIN} active {LATE} ended=exit-0 {NEXT}"),
    },
    log={"cancelled": AFTER_END, "stubborn": AFTER_END, "interrupted": AFTER_END},
)


class Gemini(Harness):
    name = hook_name = "gemini"
    package = "@google/gemini-cli"
    version = "0.61.0"
    guide = "gemini-cli.md"
    runs = RUNS
    local = LOCAL
    local_runs = local_runs(LOCAL)

    def executable(self, prefix: str) -> str:
        return os.path.join(prefix, "node_modules/.bin/gemini")

    def install(self, place: Place, run: Run) -> None:
        settings = json.loads(guide_block("gemini-cli.md", "json")) if self.adapter() else {}
        settings.setdefault("security", {})["auth"] = {"selectedType": "gemini-api-key"}
        settings["privacy"] = {"usageStatisticsEnabled": False}
        # Otherwise a failing provider is asked again for minutes.
        settings["general"] = {"enableAutoUpdate": False, "maxAttempts": 1}
        place.write(os.path.join(place.home, ".gemini/settings.json"), with_recorder(settings, place, EVENTS))

    def environment(self, place: Place) -> dict[str, str]:
        return {"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{place.port}",
                "GEMINI_CLI_TRUST_WORKSPACE": "true"}


HARNESS = Gemini()
