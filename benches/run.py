"""The bench table of harness state: each row beside its floor, as ratios.

    python3 benches/run.py [--row NAME] [--language NAME] [--rounds N] [--ext4 DIRECTORY] [--json FILE]

`make bench` builds and runs it. What the rows and floors are, and how the table is read, is in benches/README.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import counting
import processes
import table

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description="The bench table of harness state, each row beside its floor.")
    parser.add_argument("--row", help="only this operation: " + ", ".join(table.names()))
    parser.add_argument("--language", choices=processes.LANGUAGES, help="only rows in this language")
    parser.add_argument("--rounds", type=int, default=25, help="how often floor and row take turns (25)")
    parser.add_argument("--ext4", help="a directory on ext4 (one below the target directory)")
    parser.add_argument("--json", help="write the figures to this file too")
    given = parser.parse_args()
    if given.row is not None and given.row not in table.names():
        parser.error("no such row: " + given.row)
    return given


def file_system(path):
    found = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def main():
    given = arguments()
    programs = processes.Programs(HERE)
    programs.compile()
    places = {}
    disk = tempfile.mkdtemp(prefix="bench-", dir=given.ext4 or programs.target)
    memory = tempfile.mkdtemp(prefix="gallivant-bench-", dir="/dev/shm") if os.path.isdir("/dev/shm") else None
    try:
        if file_system(disk) == "ext2/ext3":
            places["ext4"] = disk
        else:
            print(f"not on ext4 but on {file_system(disk)}: those rows are left out; say --ext4 DIRECTORY")
        if memory is not None:
            places["tmpfs"] = memory
        if not counting.has_strace():
            print("no strace: system calls are not counted")
        found = []
        print(table.HEADING)
        for row in table.ROWS:
            if given.row not in (None, row.name):
                continue
            for result in row.measure(programs, places, given):
                print(table.line(result), flush=True)
                found.append(result)
        if given.json:
            with open(given.json, "w", encoding="utf-8") as file:
                json.dump(found, file, indent=1)
    finally:
        for place in (disk, memory):
            if place is not None:
                shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
