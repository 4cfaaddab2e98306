"""Claims and writes without an end, until it is killed: `killed_writer.py DIRECTORY`."""
import itertools
import os
import sys

import gallivant

directory = sys.argv[1]
print("ready", flush=True)
for life in itertools.count():
    token = f"python-{os.getpid()}-{life}"
    claim = gallivant.claim(directory, agent="a", harness="python", token=token)
    writer = gallivant.Writer(
        directory, agent="a", harness="python", pty_session="p", token=token, sequence=claim.sequence
    )
    for turn in range(40):
        state = ("active", "idle")[turn % 2]
        writer.observe(gallivant.Observation(state, reason="r" * (turn * 37 % 900)))
        writer.heartbeat()
    writer.ended("exit 0")
