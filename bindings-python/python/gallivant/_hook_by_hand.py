"""What `gallivant-hook` answers a person: `--check`, `--command`, `--help`, `--version`. A hook that is served loads nothing of this."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: gallivant-hook HARNESS            serve one hook, as a harness's settings call it: the payload on standard
                                         input, the session in the environment; prints nothing and exits 0
       gallivant-hook --check [HARNESS]  say what a hook would find that is started here, and end with the line `ok`,
                                         or with what is wrong and what to do; exits 0 or 1
       gallivant-hook --command HARNESS  print the command line that starts a hook quickest, for the settings
       gallivant-hook --version
       gallivant-hook --help

HARNESS is claude, codex, opencode or gemini. Run --check where the harness runs its
hooks, such as from the harness's own shell tool: what it finds depends on the environment.
"""


def main(arguments: Sequence[str]) -> int:
    """Answers on standard output, and answers the exit status: 2 for arguments that are none. Where the answer cannot be
    written it is that of the command `gallivant`: 141 where nobody reads any more, else 6.
    """
    try:
        status = _answered(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError as failed:
        # What is left in the buffer would be tried once more at the end, and fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(failed, BrokenPipeError):
            return 141
        print(f"gallivant-hook: the output cannot be written: {failed}", file=sys.stderr)
        return 6


def _answered(arguments: Sequence[str]) -> int:
    # What a directory is called may be more than the terminal's encoding has.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    asked, *rest = arguments
    if asked == "--check" and len(rest) <= 1:
        return _check(*rest)
    if asked == "--command" and len(rest) == 1:
        return _command(*rest)
    if rest or asked not in ("--help", "--version"):
        print(f"gallivant-hook: not understood\n{USAGE}", end="", file=sys.stderr)
        return 2
    if asked == "--help":
        print(USAGE, end="")
        return 0
    try:
        from . import _native
    except ImportError as missing:
        return _not_installed(missing)
    print(f"gallivant {_native.version()}")
    return 0


def _check(harness: str | None = None) -> int:
    try:
        from . import _native, errors
    except ImportError as missing:
        return _not_installed(missing)
    try:
        in_order, text = _native.check_hook(os.environ, harness)
    except errors.GallivantError as error:
        print(f"{error}; {error.remedy}")
        return 1
    print(text, end="")
    return 0 if in_order else 1


def _command(harness: str) -> int:
    import shlex

    hook = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
    print(shlex.join([sys.executable, "-I", "-S", hook, harness]))
    return 0


def _not_installed(missing: ImportError) -> int:
    print(f"the package is not wholly installed, python=`{sys.executable}`: {missing}; install the wheel into it")
    return 1
