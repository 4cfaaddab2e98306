"""The conformance vectors through the adapter of every language, alone and in pairs.

Run by `make test` after `make build`. GALLIVANT_PAIRS=full runs every vector for every pair instead of the races only.
"""
import itertools
import os
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNER = os.path.join(ROOT, "tests/vectors/harness-state/run.py")
RUN = os.path.join(ROOT, "tests/adapters/run")
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
LANGUAGES = ["rust", "c", "python", "node"]
VECTORS = 90


def run(arguments, python=sys.executable, **options):
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    return subprocess.run([python, RUNNER, *arguments], **options)


def figures(done):
    """Passed, failed and skipped, from the runner's last line."""
    words = done.stdout.strip().splitlines()[-1].split()
    return int(words[0]), int(words[2]), int(words[4])


class Adapters(unittest.TestCase):
    def test_every_language_alone(self):
        for language in LANGUAGES:
            with self.subTest(language):
                done = run(["--", RUN, language])
                self.assertEqual(done.returncode, 0, done.stdout)
                passed, failed, skipped = figures(done)
                self.assertEqual(failed, 0, done.stdout)
                self.assertEqual(passed + skipped, VECTORS)
                self.assertLessEqual(skipped, 1 if os.geteuid() == 0 else 0)

    def test_every_language_with_the_further_vectors(self):
        folder = os.path.join(ROOT, "tests/vectors/harness-state-extra")
        for language in LANGUAGES:
            with self.subTest(language):
                done = run(["--vectors", folder, "--", RUN, language])
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertGreater(figures(done)[0], 40, done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "another user is run as already")
    def test_what_root_skips_runs_as_another_user(self):
        # Root's own interpreter may stand where nobody else can reach it.
        path = "/usr/local/bin:/usr/bin:/bin"
        python = shutil.which("python3", path=path)
        other = {"user": 65534, "group": 65534, "extra_groups": [], "env": {**os.environ, "PATH": path}}
        reach = f"test -x {RUN} && test -r {RUNNER} && test -x {TARGET}/release/adapter-rust && command -v node"
        if python is None or subprocess.run(["/bin/sh", "-c", reach], stdout=subprocess.DEVNULL, **other).returncode:
            self.skipTest("another user cannot reach the source tree or the interpreters")
        for language in LANGUAGES:
            with self.subTest(language):
                done = run(["--only", "ref-44", "--", RUN, language], python, **other)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertEqual(figures(done), (1, 0, 0), done.stdout)

    def test_hsi_6_two_languages_over_one_directory_behave_as_one_program(self):
        full = os.environ.get("GALLIVANT_PAIRS") == "full"
        for language, peer in itertools.permutations(LANGUAGES, 2):
            with self.subTest(f"{language} with {peer}"):
                selection = [] if full else ["--only", "race"]
                done = run([*selection, "--peer", f"{RUN} {peer}", "--", RUN, language])
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertGreaterEqual(figures(done)[0], 1, done.stdout)


if __name__ == "__main__":
    unittest.main()
