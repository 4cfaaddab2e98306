"""What a harness's file says: its package, how our hooks are installed, and the command lines of its runs."""
from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from provider import Script

if TYPE_CHECKING:
    from local_runs import Local, LocalRun

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


@dataclass(frozen=True)
class Place:
    """The directories of one run, all below `root`, and the provider's port."""

    root: str
    port: int

    def path(self, *names: str) -> str:
        return os.path.join(self.root, *names)

    @property
    def home(self) -> str:
        return self.path("home")

    @property
    def project(self) -> str:
        return self.path("project")

    @property
    def recorder(self) -> str:
        """The command that keeps the payload of a hook; put it beside ours."""
        return self.path("bin", "e2e-record")

    def write(self, path: str, content: object) -> None:
        """Writes a text, or anything else as JSON, and the directories above it."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=1))


# What is done to a harness while it runs. Each waits for its moment by what the harness itself shows or does.


@dataclass(frozen=True)
class See:
    """Waits until the terminal shows this regular expression."""

    text: str
    seconds: float = 30


@dataclass(frozen=True)
class Press:
    """Presses keys in the terminal, by tmux's names."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Type:
    """Types a text into the terminal."""

    text: str


@dataclass(frozen=True)
class File:
    """Waits until a file exists in the project: the tool has come that far."""

    name: str
    seconds: float = 30


@dataclass(frozen=True)
class Derived:
    """Waits until the state that a reader derives matches this word; if it never does, the run has failed."""

    word: str
    seconds: float = 10


@dataclass(frozen=True)
class Signal:
    """Sends the harness process a signal; SIGINT goes to its process group, as from a terminal."""

    number: signal.Signals


@dataclass(frozen=True)
class Sleep:
    """Waits, for what must not happen."""

    seconds: float


@dataclass(frozen=True)
class Leave:
    """Presses keys until the harness is gone: how many it wants depends on what it is still doing."""

    keys: tuple[str, ...]


Action = See | Press | Type | File | Derived | Signal | Sleep | Leave


@dataclass(frozen=True)
class Start:
    """One start of the harness. Without `terminal` it gets no input and its output goes to a file."""

    arguments: tuple[str, ...]
    actions: tuple[Action, ...] = ()
    terminal: bool = False
    seconds: float = 60


@dataclass(frozen=True)
class Run:
    """One run: what is done, what has to have happened, and what has to have been derived from it.

    `expect` is a pattern of `watch.matches`. `events` are labels of hook events that must have come, `no_events` that
    must not, with or without what stands in brackets; `files` and `no_files` say the same of the project. `log` are
    regular expressions for the lines that may stand in the hooks' log; any other line there fails the run. `settings`
    is for the harness's `install`. `skip` says why the harness cannot do it.

    `documented` is what is derived instead of `expect` where the harness does not tell enough: the word with which the
    guide's list "What is imprecise" speaks of it, and a pattern. Where the guide does not, the run fails.
    """

    #: The program that carries it out.
    stage: ClassVar[str] = "stage.py"

    name: str
    script: Script
    starts: tuple[Start, ...]
    expect: str
    events: tuple[str, ...] = ()
    no_events: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    no_files: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    settings: dict = field(default_factory=dict)
    skip: str | None = None
    documented: tuple[str, str] | None = None

    @property
    def needs_terminal(self) -> bool:
        return any(start.terminal for start in self.starts)


class GuideRun(Run):
    """The guide to local runs, followed by `local_guide.py`."""

    stage = "local_guide.py"


class Harness:
    """A harness. Subclasses set the attributes and write the methods that raise here."""

    name: str
    package: str
    version: str
    runs: tuple[Run, ...]
    #: What is particular about it as a local run, and the runs that are made of that.
    local: Local
    local_runs: tuple[LocalRun | GuideRun, ...]
    #: How the guide or this file spells the harness for `gallivant-hook`.
    hook_name: str
    #: Its page in docs/guides.
    guide: str

    def executable(self, prefix: str) -> str:
        """The program below the directory into which npm has put the package."""
        raise NotImplementedError

    def install(self, place: Place, run: Run | LocalRun) -> None:
        """Writes settings and hooks into home and project."""
        raise NotImplementedError

    def environment(self, place: Place) -> dict[str, str]:
        """The variables that it needs besides HOME, PATH and the like."""
        raise NotImplementedError

    def adapter(self) -> bool:
        """Whether this version of the library knows the harness."""
        import gallivant

        try:
            gallivant.observe_hook(self.hook_name, b"{}", None)
        except gallivant.GallivantError as error:
            if error.reason == "unknown-harness":
                return False
            raise
        return True


def with_recorder(settings: dict, place: Place, events: tuple[str, ...]) -> dict:
    """Hook settings in Claude Code's shape, with the recorder beside every command, and alone for further events. Hooks
    of one event run at once."""
    hooks = settings.setdefault("hooks", {})
    for event in {*hooks, *events}:
        hooks.setdefault(event, [{"hooks": []}])[0]["hooks"].append({"type": "command", "command": place.recorder})
    return settings


def guide_block(guide: str, language: str, number: int = 0) -> str:
    """A block of code of a guide in docs/guides, so that what runs is what people are told to install."""
    with open(os.path.join(ROOT, "docs/guides", guide), encoding="utf-8") as page:
        return re.findall(rf"```{language}\n(.*?)```", page.read(), re.DOTALL)[number]


def is_documented(harness: Harness, word: str) -> bool:
    """Whether the guide's list of what is imprecise has an entry that begins with this word."""
    path = os.path.join(ROOT, "docs/guides", harness.guide)
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as page:
        imprecise = page.read().partition("## What is imprecise")[2]
    return re.search(rf"^- \*\*{re.escape(word)}\b", imprecise, re.MULTILINE) is not None


def load(name: str) -> Harness:
    """The harness of that name."""
    from importlib import import_module

    return import_module(f"harnesses.{name}").HARNESS


NAMES = ("claude", "codex", "gemini", "opencode")
