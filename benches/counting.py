"""What does not depend on how busy the machine is: system calls and disk writes of an operation."""

import collections
import os
import re
import shutil
import tempfile

from processes import Process

# `123 openat(…` or, without other threads, `openat(…`; a call that was interrupted begins a second time as resumed.
_CALL = re.compile(r"^(?:\d+ +)?([a-z_0-9]+)\(")
MORE = 100
# Writers that stay open have three descriptors each.
FIRST = 50
SYNCS = ("fsync", "fdatasync", "sync", "syncfs", "sync_file_range")


def has_strace():
    return shutil.which("strace") is not None


def _calls(programs, command, directory, counts):
    with tempfile.NamedTemporaryFile("r") as trace:
        before = ["strace", "-f", "-qq", "-s", "0", "-o", trace.name]
        with Process(programs, command, directory, before) as process:
            for count in counts:
                process.run(count)
        found = collections.Counter()
        creates = 0
        for line in trace:
            call = _CALL.match(line)
            if call is not None:
                found[call.group(1)] += 1
                creates += "O_CREAT|O_EXCL" in line
        found["create"] = creates
        return found


def warm(programs, command, directory, count=MORE):
    """The system calls of an operation by name, as their average over `count`; `create` counts exclusive creations.

    The difference of two runs of which one makes so many more: what starting costs is in both.
    """
    fewer = _calls(programs, command, directory, [count])
    more = _calls(programs, command, directory, [count, count])
    # The second batch is announced and answered by one read and one write of the process.
    more["read"] -= 1
    more["write"] -= 1
    return {name: (more[name] - fewer[name]) / count for name in more if more[name] != fewer[name]}


def cold(programs, command, directory):
    """How many system calls the first operation of a process makes, what it keeps for later ones included."""
    none = _calls(programs, command, directory, [0])
    one = _calls(programs, command, directory, [1])
    return sum(one.values()) - one["create"] - sum(none.values()) + none["create"]


def total(calls):
    return sum(count for name, count in calls.items() if name != "create")


def words(calls):
    """For people: `openat 3, close 3, …`, the most frequent first."""
    named = sorted((item for item in calls.items() if item[0] != "create"), key=lambda item: -item[1])
    return ", ".join(f"{name} {count:g}" for name, count in named if count >= 0.5)


def _device(path):
    number = os.stat(path).st_dev
    return os.major(number), os.minor(number)


def _writes(path):
    """Writes that the disk below a directory has completed; None where the system does not say."""
    wanted = _device(path)
    with open("/proc/diskstats", encoding="ascii") as stats:
        for line in stats:
            parts = line.split()
            if (int(parts[0]), int(parts[1])) == wanted:
                return int(parts[7])
    return None


def disk_writes(programs, command, directory, count=1000, tries=5):
    """Disk writes of an operation over `count` of them; None where the system does not say.

    They are the whole machine's, because the kernel and not the process writes. A neighbour can only add to them, so the
    least of several tries counts.
    """
    found = []
    with Process(programs, command, directory) as process:
        process.run(count)
        for _ in range(tries):
            os.sync()
            before = _writes(directory)
            if before is None:
                return None
            process.run(count)
            found.append((_writes(directory) - before) / count)
    return min(found)
