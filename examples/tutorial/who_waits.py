"""Who waits for a person, below a directory: the last step of the tutorial.

    python3 who_waits.py AGENTS
"""
import sys

import gallivant

fleet = gallivant.read_fleet(sys.argv[1], probe="lease")
for seat in fleet.entries:
    state = seat.state
    if state.blocked_on == "human":
        print(f"{seat.path} waits for you: {state.ask}")
    elif state.state == "unknown":
        print(f"{seat.path}: nobody can say, because {state.reason}")
