"""Every code is reached from every language by a test: by a scenario case, which the drivers of all languages run, or by a test of
the language's own that asserts it.

Run by `make test`. A code that nothing real leads to in a language stands in `EXEMPT` with the reason, and only while it does.
"""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VECTORS = os.path.join(ROOT, "tests/vectors/execution")

EXEMPT = {
    ("Rust", "GALLIVANT_HANDLE_BUSY"): "what one thread at a time may use is borrowed, which the compiler checks",
    ("C", "GALLIVANT_INTERNAL"): "no function has a bug on demand; ffi/src/barrier.rs tests what a panic becomes",
    ("Node", "GALLIVANT_CANCELLED"): "a signal that ends a wait surfaces as its own reason",
    ("Node", "GALLIVANT_HANDLE_BUSY"): "JavaScript is one thread, and calls of one object wait for each other",
    ("Node", "IDEMPOTENCY_FORKED"): "nothing in Node forks without starting another program",
}


def camel(code):
    return "".join(word.capitalize() for word in re.sub("^GALLIVANT_", "", code).split("_"))


def word(code):
    """The word of the specification, as `Code::word` gives it."""
    if code.startswith("IDEMPOTENCY_"):
        return code.lower()
    return re.sub("^(HARNESS_STATE|EXECUTION|GALLIVANT)_", "", code).lower().replace("_", "-")


def in_rust(code):
    return rf'\bCode::{camel(code)}\b|word\(\), "{word(code)}"'


def in_c(code):
    """What the checking macros are told, what a comparison names, and the code in a report's text."""
    status = code if code.startswith("GALLIVANT_") else f"GALLIVANT_{code}"
    told = r"(?:CHECK_FAILS|REFUSES_\w+|failed_with)\(\s*(?:[\w>.-]+,\s*)?"
    if code == "GALLIVANT_INPUT":
        return rf"\bREFUSES_NULL\(|{told}{status}\b"
    return rf'{told}{status}\b|== *{status}\b|\\"{code}\\"'


def in_python(code):
    name = {"GALLIVANT_CANCELLED": "CancelledError"}.get(code, f"{camel(code)}Error")
    return rf'(?i:\w*raises\w*)\(\s*(?:\w+, )?[\w.]*\b{name}\b|except [\w.]*\b{name}\b|"{code}"|\b{code} '


def in_node(code):
    return rf"['\"]{code}['\"]"


OWN = {
    "Rust": (("tests", "core/src"), ".rs", in_rust),
    "C": (("tests/c",), ".c", in_c),
    "Python": (("bindings-python/tests",), ".py", in_python),
    "Node": (("bindings-node/test",), ".mjs", in_node),
}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


def tests_of(language):
    """The text of a language's tests. Of the core's sources those that are tests alone."""
    folders, ending, _ = OWN[language]
    texts = []
    for folder in folders:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                path = os.path.join(place, name)
                if name.endswith(ending) and (folder != "core/src" or re.search(r"/tests(/|\.rs$)", path)):
                    texts.append(read(path))
    return "\n".join(texts)


def codes():
    """All codes: each has a page."""
    return {name[: -len(".md")] for name in os.listdir(os.path.join(ROOT, "docs/errors")) if re.fullmatch(r"[A-Z_]+\.md", name)}


def by_a_case():
    """The codes that a scenario case expects, as the end of a call or in a report."""
    listed = read(VECTORS, "green.txt").split("\n")
    cases = [line.strip() for line in listed if line.strip() and not line.startswith("#")]
    return set(re.findall(r'"code": *"(EXECUTION_\w+)"', "".join(read(VECTORS, "cases", f"{case}.json") for case in cases)))


class Codes(unittest.TestCase):
    def test_every_code_is_reached_from_every_language(self):
        self.assertGreater(len(codes()), 50)
        self.assertGreater(len(by_a_case()), 15)
        self.assertEqual({code for _, code in EXEMPT} - codes(), set())
        for language, (_, _, pattern) in OWN.items():
            own = tests_of(language)
            missing = {code for code in codes() - by_a_case() if not re.search(pattern(code), own)}
            exempt = {code for of, code in EXEMPT if of == language}
            with self.subTest(language):
                self.assertEqual(sorted(missing - exempt), [], "no test reaches these")
                self.assertEqual(sorted(exempt - missing), [], "a test reaches these: they are exempt no more")

    def test_a_code_that_is_only_named_is_not_reached(self):
        code = "EXECUTION_HEALTH"
        for language, named, reached in [
            ("Rust", "ExecutionHealth,", "assert_eq!(error.code(), Code::ExecutionHealth);"),
            ("C", "/* GALLIVANT_EXECUTION_HEALTH */", "CHECK_FAILS(GALLIVANT_EXECUTION_HEALTH, NULL,"),
            ("C", "case GALLIVANT_EXECUTION_HEALTH:", "CHECK(gallivant_error_code(failure) == GALLIVANT_EXECUTION_HEALTH);"),
            ("Python", "from gallivant import ExecutionHealthError", "self.assertRaises(errors.ExecutionHealthError)"),
            ("Node", "// EXECUTION_HEALTH", "{ code: 'EXECUTION_HEALTH' }"),
        ]:
            with self.subTest(language):
                pattern = OWN[language][2](code)
                self.assertIsNone(re.search(pattern, named))
                self.assertIsNotNone(re.search(pattern, reached))


if __name__ == "__main__":
    unittest.main()
