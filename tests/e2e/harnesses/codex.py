"""Codex: hooks in the home's hooks.json and the notify program, as in docs/guides/codex.md."""
from __future__ import annotations

import json
import os
import signal

from local_runs import Local, local_runs
from provider import Error, Text, Tool

from . import (
    Derived, File, Harness, Leave, Place, Press, Run, See, Signal, Sleep, Start, Type, guide_block, with_recorder,
)

#: Recorded whether the guide installs ours for them or not.
EVENTS = ("SubagentStart", "SubagentStop")

CONFIG = """model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
{notify}
[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[projects."{project}"]
trust_level = "trusted"
"""


def shell(command: str, **more: object) -> Tool:
    return Tool("exec_command", {"cmd": command, **more})


ALL = ("--skip-git-repo-check", "--dangerously-bypass-hook-trust")
FREE = (*ALL, "--dangerously-bypass-approvals-and-sandbox")


def provider_settings(place: Place) -> list[str]:
    """What a turn that ignores the user's settings is told of the fake provider."""
    own = f'{{name="fake",base_url="http://127.0.0.1:{place.port}/v1",wire_api="responses",env_key="FAKE_API_KEY",' \
          'request_max_retries=0,stream_max_retries=0}'
    return ["-c", 'model_provider="fake"', "-c", f"model_providers.fake={own}", "-c", "check_for_update_on_startup=false"]


def headless(prompt: str, *more: str, actions: tuple = ()) -> Start:
    return Start(("exec", *(more or FREE), "--json", prompt), actions)


def interactive(*actions: object) -> Start:
    arguments = ("--dangerously-bypass-hook-trust", "-a", "on-request", "-s", "workspace-write")
    return Start(arguments, actions, terminal=True)


def prompt(text: str) -> tuple:
    return (See(r"›"), Type(text), Press(("Enter",)))


BEGIN = "none unknown:claimed ready"
END = "ended:other=session-end ended=exit-0"
QUIT = Leave(("C-c",))

LONG = (shell("touch begun; sleep 30; touch over"),)
ESCALATED = shell("touch made", sandbox_permissions="require_escalated", justification="it must be")
ASKED = (See("it must be"), Derived("active/permission"), Sleep(1))
CHILD = Tool("spawn_agent", {"message": "Please do job-child"}, "multi_agent_v1")

RUNS = (
    Run("plain", {"job-plain": (shell("echo hi > made"),)},
        (headless("Please do job-plain"),),
        f"{BEGIN} active idle {END}",
        events=("SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)", "PostToolUse(Bash)", "Stop",
                "notify:agent-turn-complete"),
        files=("made",)),
    Run("tool-fails", {"job-fail": (shell("touch made; exit 3"),)},
        (headless("Please do job-fail"),),
        f"{BEGIN} active idle {END}",
        events=("PostToolUse(Bash)", "Stop"), files=("made",)),
    # Nobody can be asked: the call is refused at once, and no request is told.
    Run("denied-headless", {"job-deny": (ESCALATED, Text(delay=1))},
        (headless("Please do job-deny", *ALL, "-s", "read-only"),),
        f"{BEGIN} active idle {END}",
        events=("PreToolUse(Bash)", "Stop"), no_events=("PostToolUse",), no_files=("made",)),
    Run("allowed", {"job-allow": (ESCALATED,)},
        (interactive(*prompt("Please do job-allow"), *ASKED, Press(("Enter",)), File("made"), Derived("idle"), QUIT),),
        f"{BEGIN} active active/permission active idle {END}",
        events=("PermissionRequest(Bash)", "PostToolUse(Bash)", "Stop"), files=("made",)),
    Run("denied", {"job-deny": (ESCALATED,)},
        (interactive(*prompt("Please do job-deny"), *ASKED, Press(("Escape",)), Derived("idle:interrupted"), QUIT),),
        f"{BEGIN} active active/permission active? idle:interrupted {END}",
        events=("PermissionRequest(Bash)", "Interrupt"), no_events=("PostToolUse",), no_files=("made",)),
    # Codex tells nothing of an error; headless, its end follows at once.
    Run("error-500", {"job-500": (Error(500),)},
        (headless("Please do job-500"),),
        f"{BEGIN} active ( idle | idle:stop-failure )? ended:other=session-end ended=exit-1",
        events=("UserPromptSubmit",), no_events=("Stop",)),
    Run("error-400", {"job-400": (shell("touch made"), Error(400))},
        (headless("Please do job-400"),),
        f"{BEGIN} active ( idle | idle:stop-failure )? ended:other=session-end ended=exit-1",
        events=("PostToolUse(Bash)",), no_events=("Stop",), files=("made",)),
    # It waits for the next prompt, which is given after some seconds.
    Run("error-interactive", {"job-500": (Error(500),), "go on": ()},
        (interactive(*prompt("Please do job-500"), See("experiencing high demand"), Sleep(3),
                     *prompt("Please go on"), Derived("idle"), QUIT),),
        f"{BEGIN} active ( idle | idle:stop-failure ) active idle {END}",
        events=("UserPromptSubmit", "Stop"),
        documented=("Errors", f"{BEGIN} active idle {END}")),
    Run("interrupt-sigint", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGINT))),),
        f"{BEGIN} active idle:interrupted ended:other=session-end ended=exit-1",
        events=("PreToolUse(Bash)", "Interrupt"), no_events=("Stop",), no_files=("over",)),
    Run("interrupt-escape", {"job-long": LONG, "go on": ()},
        (interactive(*prompt("Please do job-long"), File("begun"), Sleep(1), Press(("Escape",)), Sleep(3),
                     *prompt("Please go on"), Derived("idle"), QUIT),),
        f"{BEGIN} active idle:interrupted active idle {END}",
        events=("PreToolUse(Bash)", "Interrupt", "Stop"), no_files=("over",)),
    Run("killed", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGKILL))),),
        f"{BEGIN} active ended=signal-9",
        events=("PreToolUse(Bash)",), no_events=("SessionEnd",), no_files=("over",)),
    # The child outlives the turn's own call by a second; the turn goes on meanwhile.
    Run("subagent", {"job-parent": (CHILD, shell("sleep 2; touch made")), "job-child": (shell("touch childs"),)},
        (headless("Please do job-parent"),),
        f"{BEGIN} active idle {END}",
        events=("child:SubagentStart", "child:PreToolUse(Bash)", "child:SubagentStop", "Stop"),
        files=("made", "childs")),
    Run("resume", {"job-first": (shell("touch first"),), "job-second": (shell("touch second"),)},
        (headless("Please do job-first"),
         Start(("exec", *FREE, "--json", "resume", "--last", "Please do job-second"))),
        f"{BEGIN} active idle {END} unknown:claimed ready idle active idle {END}",
        events=("SessionStart(startup)", "SessionStart(resume)"), files=("first", "second")),
    Run("notify-only", {"job-plain": (shell("echo hi > made"),)},
        (interactive(*prompt("Please do job-plain"), File("made"), Derived("idle"), QUIT),),
        # Without hooks Codex may go by the signal itself; the record has what the wrapper saw.
        f"{BEGIN} idle ( ended=exit-0 | ended=signal-2 )",
        events=("notify:agent-turn-complete",), no_events=("Stop",), files=("made",), settings={"hooks": False}),
)

LOCAL_BEGIN = "none unknown:claimed? ready"
LOCAL = Local(
    args=FREE, model="fake-model", denied_args=(*ALL, "-s", "read-only"), tool=shell,
    states={
        "succeeds": f"{LOCAL_BEGIN} active idle {END}",
        "denied": f"{LOCAL_BEGIN} active idle {END}",
        "fails": f"{LOCAL_BEGIN} active ( idle | idle:stop-failure )? ended:other=session-end ended=exit-1",
        "cancelled": f"{LOCAL_BEGIN} active ended=signal-TERM",
        "stubborn": f"{LOCAL_BEGIN} active ended=signal-TERM",
        "restarted": f"{LOCAL_BEGIN} active idle {END}",
        "resumed": f"{LOCAL_BEGIN} active idle {END} unknown:claimed? ready idle active idle {END}",
        "prepared": f"{LOCAL_BEGIN} ended=exit-0",
    },
    boundary="isolated-profile", profile=provider_settings,
)


class Codex(Harness):
    name = hook_name = "codex"
    package = "@openai/codex"
    version = "0.171.0"
    guide = "codex.md"
    runs = RUNS
    local = LOCAL
    local_runs = local_runs(LOCAL)

    def executable(self, prefix: str) -> str:
        return os.path.join(prefix, "node_modules/.bin/codex")

    def install(self, place: Place, run: Run) -> None:
        if run.settings.get("hooks", True):
            hooks = with_recorder(json.loads(guide_block("codex.md", "json")), place, EVENTS)
            place.write(os.path.join(place.home, ".codex/hooks.json"), hooks)
        # The guide's line, with the recorder before the command.
        notify = guide_block("codex.md", "toml").strip()
        ours = notify.replace('"gallivant-hook", "codex"', json.dumps(place.path("bin", "e2e-notify")))
        assert ours != notify, "the guide's notify line has changed"
        place.write(os.path.join(place.home, ".codex/config.toml"),
                    CONFIG.format(port=place.port, project=place.project, notify=ours))

    def environment(self, place: Place) -> dict[str, str]:
        return {"FAKE_API_KEY": "fake-key"}


HARNESS = Codex()
