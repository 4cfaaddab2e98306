"""OpenCode: the plugin of the Node package in the project's settings, as in docs/guides/opencode.md."""
from __future__ import annotations

import json
import os
import signal

from local_runs import Local, local_runs
from provider import Error, Tool

from . import ROOT, Derived, File, Harness, Leave, Place, Press, Run, See, Signal, Sleep, Start, Type, guide_block

#: Keeps every event in the form of a hook payload, for the evidence; `message.*` and `*.updated` are left out.
RECORDER = """
import {{ writeFileSync }} from 'node:fs'
let count = 0
export const Recorder = async () => ({{
  event: async ({{ event }}) => {{
    if (/^(message|catalog|integration|reference|plugin)[.]|[.](updated|diff)$/.test(event.type)) return
    const said = {{ hook_event_name: event.type, reason: event.properties?.status?.type }}
    writeFileSync(`{events}/${{process.pid}}-${{count++}}`, JSON.stringify(said))
  }},
}})
"""


def shell(command: str) -> Tool:
    return Tool("bash", {"command": command, "description": "Works"})


def headless(prompt: str, *more: str, actions: tuple = ()) -> Start:
    return Start(("run", *more, prompt), actions)


def interactive(*actions: object) -> Start:
    return Start((), actions, terminal=True)


def prompt(text: str) -> tuple:
    return (See("Ask anything|ctrl"), Sleep(2), Type(text), Press(("Enter",)))


BEGIN = "none unknown:claimed ready"
QUIT = Leave(("C-c",))
LONG = (shell("touch begun; sleep 30; touch over"),)
ASKED = (See("Allow"), Derived("active/permission"), Sleep(1.5))
CHILD = Tool("task", {"description": "A child", "prompt": "Please do job-child", "subagent_type": "general"})

RUNS = (
    Run("plain", {"job-plain": (shell("echo hi > made"),)},
        (headless("Please do job-plain"),),
        f"{BEGIN} active idle ended=exit-0",
        events=("session.created", "session.status(busy)", "session.status(idle)", "session.idle"), files=("made",)),
    Run("tool-fails", {"job-fail": (shell("touch made; exit 3"),)},
        (headless("Please do job-fail"),),
        f"{BEGIN} active idle ended=exit-0", files=("made",)),
    # Nobody can be asked; the program itself refuses at once.
    Run("denied-headless", {"job-deny": (shell("touch made"),)},
        (headless("Please do job-deny"),),
        f"{BEGIN} active ( active/permission active )? idle ended=exit-0",
        events=("permission.asked", "permission.replied"), no_files=("made",), settings={"permission": "ask"}),
    Run("allowed", {"job-allow": (shell("touch made"),)},
        (interactive(*prompt("Please do job-allow"), *ASKED, Press(("Enter",)), File("made"), Derived("idle"),
                     QUIT),),
        f"{BEGIN} active active/permission active idle ended=exit-0",
        events=("permission.asked", "permission.replied"), files=("made",), settings={"permission": "ask"}),
    # A refusal ends the turn.
    Run("denied", {"job-deny": (shell("touch made"),)},
        (interactive(*prompt("Please do job-deny"), *ASKED, Press(("Escape",)), Sleep(3), QUIT),),
        f"{BEGIN} active active/permission active? idle ended=exit-0",
        events=("permission.asked", "permission.replied"), no_files=("made",), settings={"permission": "ask"}),
    Run("error-400", {"job-400": (shell("touch made"), Error(400))}, (headless("Please do job-400"),),
        f"{BEGIN} active idle? idle:stop-failure ended=exit-1", files=("made",), events=("session.error",)),
    Run("interrupt-sigint", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGINT))),),
        f"{BEGIN} active ( idle | idle:interrupted )? ended=signal-2",
        events=("session.status(busy)",), no_files=("over",)),
    Run("interrupt-escape", {"job-long": LONG, "go on": ()},
        (interactive(*prompt("Please do job-long"), File("begun"), Sleep(1), Press(("Escape",)), Sleep(1),
                     Press(("Escape",)), Sleep(3), *prompt("Please go on"), Sleep(3), QUIT),),
        f"{BEGIN} active ( idle | idle:interrupted )+ active idle ended=exit-0", no_files=("over",)),
    Run("killed", {"job-long": LONG},
        (headless("Please do job-long", actions=(File("begun"), Signal(signal.SIGKILL))),),
        f"{BEGIN} active ended=signal-9", no_files=("over",)),
    Run("subagent", {"job-parent": (CHILD, shell("touch made")), "job-child": (shell("touch childs"),)},
        (headless("Please do job-parent"),),
        f"{BEGIN} active idle ended=exit-0", files=("made", "childs")),
    Run("resume", {"job-first": (shell("touch first"),), "job-second": (shell("touch second"),)},
        (headless("Please do job-first"), headless("Please do job-second", "--continue")),
        f"{BEGIN} active idle ended=exit-0 unknown:claimed ready active idle ended=exit-0",
        files=("first", "second")),
)

LOCAL_BEGIN = "none unknown:claimed? ready"
LOCAL_END = "active idle ended=exit-0"
LOCAL = Local(
    args=(), model="fake/fake-model", denied_args=(), tool=shell, cost=True, settings={"denied": {"permission": "ask"}},
    # It asks again for ever where the provider says that it failed itself.
    # A refusal ends the turn, without an answer and with exit 0.
    error=400, denied={"ok": False, "state": "failed", "says": None, "answers": 1},
    states={
        "succeeds": f"{LOCAL_BEGIN} {LOCAL_END}",
        "denied": f"{LOCAL_BEGIN} active ( active/permission active )? idle ended=exit-0",
        "fails": f"{LOCAL_BEGIN} active idle? idle:stop-failure ended=exit-1",
        "cancelled": f"{LOCAL_BEGIN} active ended=signal-TERM",
        "stubborn": f"{LOCAL_BEGIN} active ended=signal-TERM",
        "restarted": f"{LOCAL_BEGIN} {LOCAL_END}",
        "resumed": f"{LOCAL_BEGIN} {LOCAL_END} unknown:claimed? ready {LOCAL_END}",
    },
)


class OpenCode(Harness):
    name = hook_name = "opencode"
    package = "opencode-ai"
    version = "1.18.33"
    guide = "opencode.md"
    runs = RUNS
    local = LOCAL
    local_runs = local_runs(LOCAL)

    def executable(self, prefix: str) -> str:
        machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
        return os.path.join(prefix, f"node_modules/opencode-linux-{machine}/bin/opencode")

    def install(self, place: Place, run: Run) -> None:
        ours = {}
        if self.adapter():
            # The guide's settings, with the source tree in place of an installed package.
            block = guide_block("opencode.md", "json")
            ours = json.loads(block.replace("/path/to/node_modules/gallivant", os.path.join(ROOT, "bindings-node")))
        recorder = RECORDER.format(events=place.path("events"))
        place.write(os.path.join(place.project, ".opencode/plugin/recorder.js"), recorder)
        # It would try for over a minute to fetch its plugin package.
        place.write(os.path.join(place.home, ".npmrc"), "fetch-retries=0\n")
        place.write(os.path.join(place.project, "opencode.json"), {
            **ours,
            "model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": False, "share": "disabled",
            "permission": {"bash": run.settings.get("permission", "allow")},
            "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "name": "Fake",
                "options": {"baseURL": f"http://127.0.0.1:{place.port}/v1", "apiKey": "fake"},
                # Dollars for a million tokens.
                "models": {"fake-model": {"name": "Fake", "tool_call": True, "cost": {"input": 1000, "output": 2000}}},
            }},
        })

    def environment(self, place: Place) -> dict[str, str]:
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}


HARNESS = OpenCode()
