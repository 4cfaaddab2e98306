"""What importing the packages costs beside a bare interpreter: python3 benches/import_cost.py [ROUNDS].

Medians of interleaved runs, as ratios: machines are noisy, and a neighbour slows both sides alike. `make build` first.
"""
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "bindings-node/lib/index.js")
PAIRS = [
    ("python: import gallivant", 1.15, ["python3", "-c", "pass"], ["python3", "-c", "import gallivant"]),
    ("python: import gallivant and one reader", None, ["python3", "-c", "pass"],
     ["python3", "-c", "import gallivant; gallivant.Reader('.').read()"]),
    ("node: require", 1.08, ["node", "-e", "0"], ["node", "-e", f"require({PACKAGE!r})"]),
]


def timed(command):
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def main(rounds=40):
    os.environ["PYTHONPATH"] = os.path.join(ROOT, "bindings-python/python")
    # Shims that choose an interpreter would be measured with it.
    os.environ["PATH"] = os.path.dirname(os.path.realpath(sys.executable)) + os.pathsep + os.environ["PATH"]
    for name, bar, floor, command in PAIRS:
        bare, loaded = [], []
        for _ in range(rounds):
            bare.append(timed(floor))
            loaded.append(timed(command))
        ratio = statistics.median(loaded) / statistics.median(bare)
        limit = "" if bar is None else f"  (bar {bar})"
        print(f"{name:42} {statistics.median(bare) * 1000:6.1f} ms -> {statistics.median(loaded) * 1000:6.1f} ms  {ratio:.3f} x{limit}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
