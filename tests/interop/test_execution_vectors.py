"""The scenario cases of the execution layer, through the test driver.

Run by `make test` after `make build`. `tests/vectors/execution/green.txt` lists the cases that pass with what is built; a
case that passes and is not listed there is told, so that the list grows with the library.
"""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VECTORS = os.path.join(ROOT, "tests/vectors/execution")
DRIVERS = ["rust", "c", "python", "python-asyncio", "node"]


def cases():
    return {name[: -len(".json")] for name in os.listdir(os.path.join(VECTORS, "cases")) if name.endswith(".json")}


def green():
    with open(os.path.join(VECTORS, "green.txt"), encoding="utf-8") as lines:
        return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def run(language, *arguments):
    driver = f"{os.path.join(ROOT, 'tests/adapters/drive')} {language}"
    command = [sys.executable, os.path.join(VECTORS, "run_cases.py"), "--driver", driver, *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class ExecutionVectors(unittest.TestCase):
    def test_the_cases_that_are_listed_pass_and_no_others_do(self):
        self.assertLessEqual(green(), cases(), "green.txt names a case that does not exist")
        self.assertTrue(green())
        for language in DRIVERS:
            with self.subTest(language):
                done = run(language)
                passed = set(re.findall(r"^pass (\S+)", done.stdout, re.MULTILINE))
                failed = set(re.findall(r"^FAIL (\S+)", done.stdout, re.MULTILINE))
                self.assertEqual(passed | failed, cases(), done.stdout)
                self.assertLessEqual(green(), passed, done.stdout)
                self.assertEqual(passed - green(), set(), "add these cases to green.txt")


if __name__ == "__main__":
    unittest.main()
