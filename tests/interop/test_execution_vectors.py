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


def read(*path):
    with open(os.path.join(VECTORS, *path), encoding="utf-8") as text:
        return text.read()


def camel(code):
    return "".join(word.capitalize() for word in code.split("_"))


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


class Codes(unittest.TestCase):
    """Every code of the execution layer is reached from every language by a test: by a scenario case, which all of them run, or
    by a test of the language's own.
    """

    # What is not built yet, and has its page already.
    LATER = {"EXECUTION_VERIFICATION_SANDBOX"}
    OWN = {
        "Rust": ("tests/conformance", ".rs", lambda code: rf"\bCode::{camel(code)}\b"),
        "C": ("tests/c", ".c", lambda code: rf"\b(?:GALLIVANT_)?{code}\b"),
        "Python": ("bindings-python/tests", ".py", lambda code: rf"\b{camel(code)}Error\b|\b{code}\b"),
        "Node": ("bindings-node/test", ".mjs", lambda code: rf"\b{code}\b"),
    }

    def test_every_code_is_reached_from_every_language(self):
        names = (name[: -len(".md")] for name in os.listdir(os.path.join(ROOT, "docs/errors")))
        codes = {name for name in names if name.startswith("EXECUTION_")} - self.LATER
        self.assertGreater(len(codes), 20)
        by_all = set(re.findall(r'"code": *"(EXECUTION_\w+)"', "".join(read("cases", f"{case}.json") for case in green())))
        self.assertGreater(len(by_all), 15)
        for language, (folder, ending, pattern) in self.OWN.items():
            own = "".join(read(ROOT, folder, name) for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(ending))
            missing = sorted(code for code in codes - by_all if not re.search(pattern(code), own))
            with self.subTest(language):
                self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
