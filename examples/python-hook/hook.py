#!/usr/bin/env python3
"""A hook of your own for Claude Code: tells what the event says, and then does something of yours with it.

Where there is nothing of yours to do, this file is not needed: the command `gallivant-hook claude` is the same hook.
"""

import os
import sys


def main() -> None:
    # Here and not above, so that a missing package breaks no turn either.
    import gallivant
    from gallivant import hook

    # Over within a second and with status 0 from here on, whatever the rest does.
    hook.keep_deadline()
    report = gallivant.observe_hook("claude", sys.stdin.buffer.read(), os.environ)
    if report.word == "landed":
        notify(report.event)


def notify(event: object) -> None:
    """Yours: here a file that something else watches. It must print nothing."""
    with open(os.path.join(os.environ["GALLIVANT_AGENT_DIR"], "last-event"), "w") as last:
        last.write(f"{event}\n")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        # An interrupt too: a harness would show it to a person, or stop its turn.
        pass
