"""Serves one hook of a harness: `python -m gallivant.hook HARNESS`, or the command `gallivant-hook HARNESS`.

The payload comes from standard input; for the notify program of Codex from the last argument. The session comes from
the environment that `Session.to_env` gave the harness. The process exits 0, prints nothing, and is over 1 s after it
was started; where the machine is so loaded that the interpreter took longer than that to start, 0.1 s after it has.
What it could not do is in `.harness-state.log` in the agent's directory.

A person calls `gallivant-hook --check`, `--help` or `--version`; the name of a harness never begins with a dash.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would load what costs more than the rest of a hook
import os
import sys

# Before anything that takes time. What ends a terminal's process group reaches the hook too, and a harness that is about
# to go ends the hooks of its last events: those matter most. They are served, and over within their second in any case,
# which is less than what leads from SIGTERM to SIGKILL. Only in a process that is a hook: whoever imports this module keeps its own signals.
_IS_COMMAND = __name__ == "__main__" or "".join(sys.argv[:1]).endswith("gallivant-hook")
if _IS_COMMAND and not "".join(sys.argv[1:2]).startswith("--"):
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)
    _signal.signal(_signal.SIGTERM, _signal.SIG_IGN)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["keep_deadline", "main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serves the hook of the harness that the arguments name (those of the command line by default), and exits.

    Nothing registered with `atexit` runs: a hook has nothing to tidy up that its deadline could not cut short.

    Where the first argument begins with `--` no hook is served: a person asks, is answered on standard output, and the
    exit status says how it stands.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0].startswith("--"):
        from . import _hook_by_hand

        raise SystemExit(_hook_by_hand.main(given))
    try:
        from . import _native

        _native.serve_hook(given, os.environ)
    except BaseException:
        # A broken installation or an interrupt: a harness would show it to a person, or stop its turn.
        pass
    finally:
        os._exit(0)


def keep_deadline() -> None:
    """For a hook program of your own: ends this process with status 0 once it is 1 s old, whatever it does then.

    The end is native and cannot be undone; it comes also while the process reads its standard input, waits for a lock
    or hangs. It is noted in `.harness-state.log` where the environment names an agent's directory.
    """
    from . import _native

    _native.arm_hook_deadline(os.environ.get("GALLIVANT_AGENT_DIR"))


if __name__ == "__main__":
    main()
