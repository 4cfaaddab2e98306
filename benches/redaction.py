"""Redaction in three languages beside bare aho-corasick, and Python and Node beside the core too, as ratios.

    python3 benches/redaction.py [--rounds N]

Build first, with the packages in their places: make build && cargo build --release -p gallivant-benches. What is
measured is in benches/README.md.
"""

import argparse
import os
import shutil
import subprocess
import tempfile

from processes import Process, Programs, take_turns

# Language, row, which row in Rust it is beside, and the bar, which is of the bare search over the same chunks.
MEASURED = [
    ("rust", "stream", "bare", 1.2),
    ("node", "stream", "bare", 1.7),
    ("python", "stream", "bare", 1.4),
    ("node", "texts", "bare", 1.7),
    ("python", "texts", "bare", 1.4),
    ("node", "stream", "stream", None),
    ("python", "stream", "stream", None),
    ("node", "texts", "texts", None),
    ("python", "texts", "texts", None),
    ("node", "lines", "lines", None),
    ("python", "lines", "lines", None),
]
# How many texts of a mebibyte a side redacts before it is the other's turn.
TURN = 5


def main():
    parser = argparse.ArgumentParser(description="Redaction beside bare aho-corasick, and languages beside the core too.")
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    programs = Programs(os.path.dirname(os.path.abspath(__file__)))
    core = os.path.join(programs.built, "redaction")
    rows = {
        "node": [shutil.which("node") or "node", os.path.join(programs.here, "redaction_rows.mjs")],
        "python": [programs.python, os.path.join(programs.here, "redaction_rows.py")],
        "rust": [core],
    }
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([core, "prepare", directory], check=True)
        print("row            beside           MB/s    ratio     cpu  verdict")
        for language, name, beside, bar in MEASURED:
            with Process(programs, [core, beside], directory) as floor:
                with Process(programs, [*rows[language], name], directory) as row:
                    ratio, cpu, _, took = take_turns([floor], [row], TURN, given.rounds)
            size = os.path.getsize(os.path.join(directory, "text"))
            verdict = "no bar" if bar is None else f"{'meets' if ratio <= bar else 'misses'} {bar}"
            print(
                f"{language + ' ' + name:14} {'aho-corasick' if beside == 'bare' else 'rust ' + beside:12} {size / took * 1e3:8.0f} {ratio:8.2f} {cpu or 0:7.2f}"
                f"  {verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
