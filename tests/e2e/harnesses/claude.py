"""Claude Code: hooks in the project's settings, as in docs/guides/claude-code.md."""
from __future__ import annotations

import json
import os
import signal

from provider import Error, Text, Tool

from . import Derived, File, Harness, Place, Press, Run, See, Signal, Sleep, Start, Type, guide_block, with_recorder


def bash(command: str) -> Tool:
    return Tool("Bash", {"command": command, "description": "Works"})


def headless(prompt: str, *more: str, actions: tuple = ()) -> Start:
    return Start(("-p", prompt, "--output-format", "json", *more), actions)


def interactive(*actions: object) -> Start:
    return Start(("--permission-mode", "default", "--allowedTools", "Bash(touch begun:*)"), actions, terminal=True)


def prompt(text: str) -> tuple:
    return (See(r"❯|>"), Type(text), Press(("Enter",)))


BEGIN = "none unknown:claimed? ready"
END = "ended:other=session-end ended=exit-0"
QUIT = (Press(("C-c",)), Press(("C-c",)))

RUNS = (
    Run("plain", {"job-plain": (bash("echo hi > made"),)},
        (headless("Please do job-plain", "--allowedTools", "Bash"),),
        f"{BEGIN} active idle {END}",
        events=("SessionStart(startup)", "UserPromptSubmit", "PreToolUse(Bash)", "PostToolUse(Bash)", "Stop"),
        files=("made",)),
    Run("tool-fails", {"job-fail": (bash("touch made; exit 3"),)},
        (headless("Please do job-fail", "--allowedTools", "Bash"),),
        f"{BEGIN} active idle {END}",
        events=("PreToolUse(Bash)", "PostToolUseFailure(Bash)", "Stop"), no_events=("PostToolUse(Bash)",),
        files=("made",)),
    Run("denied-headless", {"job-deny": (bash("touch made"),)},
        (headless("Please do job-deny"),),
        f"{BEGIN} active idle {END}",
        events=("PreToolUse(Bash)", "Stop"), no_events=("PostToolUse(Bash)",), no_files=("made",)),
    Run("allowed", {"job-allow": (bash("touch made"),)},
        (interactive(*prompt("Please do job-allow"), See("Do you want"), Derived("active/permission"), Press(("Enter",)),
                     File("made"), Derived("idle"), *QUIT),),
        f"{BEGIN} active active/permission active idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("PreToolUse(Bash)", "PermissionRequest(Bash)", "PostToolUse(Bash)", "Stop"), files=("made",)),
    Run("denied", {"job-deny": (bash("touch made"),), "job-next": ()},
        (interactive(*prompt("Please do job-deny"), See("Do you want"), Derived("active/permission"), Press(("Escape",)),
                     See("Interrupted|rejected|What should"), Derived("idle", 8), *QUIT),),
        f"{BEGIN} active active/permission active? idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("PreToolUse(Bash)", "PermissionRequest(Bash)"), no_events=("PostToolUse(Bash)",), no_files=("made",)),
    Run("error-interactive", {"job-500": (Error(500),)}, (interactive(*prompt("Please do job-500"), See("API Error"), Derived("idle:stop-failure"), *QUIT),),
        f"{BEGIN} active idle:stop-failure ended:prompt_input_exit=session-end ended=exit-0",
        events=("StopFailure",), no_events=("Stop",)),
    Run("idle-reminder", {}, (interactive(*prompt("Please do nothing"), Derived("idle"), Sleep(6), *QUIT),),
        f"{BEGIN} active idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("Stop","Notification(idle_prompt)")),
    Run("clear", {}, (interactive(*prompt("Please do nothing"), Derived("idle"), *prompt("/clear"), Sleep(3), *QUIT),),
        f"{BEGIN} active idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("Stop","SessionEnd(clear)", "SessionStart(clear)")),
    Run("compact", {}, (interactive(*prompt("Please do nothing"), Derived("idle"), *prompt("/compact"), Sleep(5), *QUIT),),
        f"{BEGIN} active idle active:compacting-idle idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("Stop","PreCompact", "PostCompact", "SessionStart(compact)")),
    Run("question", {"job-ask": (Tool("AskUserQuestion", {"questions": [{"question": "Which one?", "header": "Choice", "multiSelect": False, "options": [{"label": "One", "description": "The first"}, {"label": "Two", "description": "The second"}]}]}),)},
        (interactive(*prompt("Please do job-ask"), See("Which one"), Derived("active/question"), Press(("Enter",)), Derived("idle"), *QUIT),),
        f"{BEGIN} active active/question active idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("PreToolUse(AskUserQuestion)", "PostToolUse(AskUserQuestion)", "Stop")),
    Run("error-500", {"job-500": (Error(500),)}, (headless("Please do job-500"),),
        f"{BEGIN} active idle:stop-failure ended:other=session-end ended=exit-1",
        events=("StopFailure",), no_events=("Stop",)),
    Run("error-400", {"job-400": (bash("touch made"), Error(400),)}, (headless("Please do job-400", "--allowedTools", "Bash"),),
        f"{BEGIN} active idle:stop-failure ended:other=session-end ended=exit-1",
        events=("PostToolUse(Bash)", "StopFailure",), no_events=("Stop",), files=("made",)),
    Run("interrupt-sigint", {"job-long": (bash("touch begun; sleep 30; touch over"),)},
        (headless("Please do job-long", "--allowedTools", "Bash", actions=(File("begun"), Signal(signal.SIGINT))),),
        f"{BEGIN} active {END}",
        events=("PreToolUse(Bash)",), no_events=("Stop",), no_files=("over",)),
    Run("interrupt-escape", {"job-long": (bash("touch begun; sleep 30; touch over"),)},
        (Start(("--allowedTools", "Bash"), (*prompt("Please do job-long"), File("begun"), Press(("Escape",)), See("Interrupted"), Derived("idle", 8), *QUIT), terminal=True),),
        f"{BEGIN} active idle ended:prompt_input_exit=session-end ended=exit-0",
        events=("PreToolUse(Bash)",), no_events=("Stop",), no_files=("over",)),
    Run("killed", {"job-long": (bash("touch begun; sleep 30; touch over"),)},
        (headless("Please do job-long", "--allowedTools", "Bash", actions=(File("begun"), Signal(signal.SIGKILL))),),
        f"{BEGIN} active ended=signal-9",
        events=("PreToolUse(Bash)",), no_files=("over",)),
    Run("subagent", {"job-parent": (Tool("Agent", {"description": "A child", "prompt": "Please do job-child", "subagent_type": "general-purpose", "run_in_background": False}), bash("touch made")),
         "job-child": (bash("touch childs"),)},
        (headless("Please do job-parent", "--allowedTools", "Bash", "Agent"),),
        f"{BEGIN} active idle {END}",
        events=("child:SubagentStart", "child:PreToolUse(Bash)", "child:SubagentStop", "Stop"), files=("made", "childs")),
    Run("subagent-background", {"job-parent": (Tool("Agent", {"description": "A child", "prompt": "Please do job-child", "subagent_type": "general-purpose", "run_in_background": True}), ),
         "job-child": (bash("touch childs; sleep 2"),)},
        (headless("Please do job-parent", "--allowedTools", "Bash", "Agent"),),
        f"{BEGIN} active idle active idle {END}",
        events=("child:SubagentStart", "child:PreToolUse(Bash)", "child:SubagentStop", "Stop"), files=("childs",)),
    Run("resume", {"job-first": (bash("touch first"),), "job-second": (bash("touch second"),)},
        (headless("Please do job-first", "--allowedTools", "Bash"), headless("Please do job-second", "--continue", "--allowedTools", "Bash")),
        f"{BEGIN} active idle {END} unknown:claimed? ready idle active idle {END}",
        events=("SessionStart(startup)", "SessionStart(resume)"), files=("first", "second")),
)


class Claude(Harness):
    name = hook_name = "claude"
    package = "@anthropic-ai/claude-code"
    version = "2.1.332"
    runs = RUNS

    def executable(self, prefix: str) -> str:
        machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
        return os.path.join(prefix, f"node_modules/@anthropic-ai/claude-code-linux-{machine}/claude")

    def install(self, place: Place, run: Run) -> None:
        hooks = json.loads(guide_block("claude-code.md", "json"))
        place.write(os.path.join(place.project, ".claude/settings.json"), with_recorder(hooks, place))
        # What the first start would otherwise ask a person.
        place.write(os.path.join(place.home, ".claude.json"), {
            "hasCompletedOnboarding": True, "theme": "dark", "messageIdleNotifThresholdMs": 2500,
            "customApiKeyResponses": {"approved": ["fake-key"], "rejected": []},
            "projects": {place.project: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        })

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{place.port}", "ANTHROPIC_API_KEY": "fake-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            # Otherwise a failing provider is asked again for over a minute.
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }


HARNESS = Claude()
