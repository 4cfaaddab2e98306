"""Serves one hook of a harness: `python -m gallivant.hook HARNESS`, or the command `gallivant-hook HARNESS`.

The payload comes from standard input; for the notify program of Codex from the last argument. The session comes from
the environment that `Session.to_env` gave the harness. The process exits 0, prints nothing, and is over 1 s after it
was started; where the machine is so loaded that the interpreter took longer than that to start, 0.1 s after it has.
What it could not do is in `.harness-state.log` in the agent's directory.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

__all__ = ["keep_deadline", "main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serves the hook of the harness that the arguments name (those of the command line by default), and exits.

    Nothing registered with `atexit` runs: a hook has nothing to tidy up that its deadline could not cut short.
    """
    try:
        from . import _native

        _native.serve_hook(sys.argv[1:] if arguments is None else list(arguments), os.environ)
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
