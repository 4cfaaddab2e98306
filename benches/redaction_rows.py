"""The rows of redaction from Python: python3 redaction_rows.py ROW DIRECTORY.

Says `ready`, then makes as many operations as each line of standard input says and answers how many nanoseconds they
took. The directory is one that `redaction prepare` has made.
"""

import os
import sys
import time

from gallivant.redaction import Redactor

CHUNK = 64 * 1024


def must(holds, what):
    if not holds:
        raise SystemExit(f"not as expected: {what}")


def stream(text, redactor):
    opened = redactor.stream()
    chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]

    def run():
        length = len(opened.push_all(chunks)) + len(opened.finish())
        must(length == len(text), "the length")

    return run


def each(texts, redactor):
    return lambda: must(len(redactor.texts(texts)) == len(texts), "the texts")


def texts(text, redactor):
    text = text.decode()
    return each([text[at : at + CHUNK] for at in range(0, len(text), CHUNK)], redactor)


def lines(text, redactor):
    return each(text.decode().splitlines(), redactor)


ROWS = {"stream": stream, "texts": texts, "lines": lines}


def main(row, directory):
    def read(name):
        with open(os.path.join(directory, name), "rb") as file:
            return file.read()

    run = ROWS[row](read("text"), Redactor(read("secrets").split(b"\n"), patterns=False))
    print("ready", flush=True)
    for line in sys.stdin:
        count = range(int(line))
        started = time.perf_counter_ns()
        for _ in count:
            run()
        print(time.perf_counter_ns() - started, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
