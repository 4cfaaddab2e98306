"""What importing costs, and what the package offers."""

import ast
import os
import subprocess
import unittest

import gallivant
from gallivant import _native

from .support import PACKAGE, ROOT, run_python

EXPENSIVE = {"json", "re", "typing", "pathlib", "asyncio", "dataclasses", "enum", "collections", "functools", "inspect"}


def loaded_by(statement, **options):
    """The modules that a statement adds to those of a bare interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    return set(run_python(code, **options).split())


class Cost(unittest.TestCase):
    def test_importing_the_package_loads_nothing_else(self):
        self.assertEqual(loaded_by("import gallivant"), {"gallivant"})

    def test_using_it_loads_only_its_own_modules(self):
        own = {"gallivant", "gallivant._native"}
        # The exceptions come with the first name that can fail, and not with the first failure.
        errors = own | {"gallivant.errors", "__future__"}
        self.assertEqual(loaded_by("import gallivant; gallivant.Writer, gallivant.observe_hook"), errors)
        used = loaded_by(
            "import gallivant; gallivant.HarnessStateBusyError; gallivant.words.STATE_IDLE\n"
            "gallivant.Reader('/nowhere').read()"
        )
        self.assertEqual(used & EXPENSIVE, set())
        self.assertLessEqual(used, errors | {"gallivant.words"})

    def test_a_hook_process_loads_only_what_it_runs(self):
        served = "import gallivant.hook; from gallivant import _native; _native.serve_hook(['claude'], {})"
        hook = {"gallivant", "gallivant.hook", "gallivant._native", "__future__"}
        self.assertEqual(loaded_by(served, stdin=subprocess.DEVNULL), hook)

    def test_idempotent_creates_load_only_their_own_modules(self):
        own = {"gallivant", "gallivant._native", "gallivant.errors", "gallivant.idempotency", "__future__"}
        self.assertEqual(loaded_by("import gallivant; gallivant.idempotency.IdempotencyStore"), own)
        self.assertIn("gallivant.asgi", loaded_by("import gallivant; gallivant.asgi"))

    def test_the_journal_loads_only_its_own_modules(self):
        own = {"gallivant", "gallivant._native", "gallivant.errors", "gallivant.journal", "__future__"}
        self.assertEqual(loaded_by("import gallivant; gallivant.journal.Replay"), own)
        # A replay that waits asks for the main thread; only data of events and results needs more.
        used = loaded_by("import sys, gallivant; gallivant.journal.Replay.open('.', heartbeats=False).next(0)")
        self.assertEqual(used & EXPENSIVE, set())

    def test_the_execution_layer_is_loaded_on_demand(self):
        used = loaded_by("import gallivant; gallivant.aio; gallivant.journal; gallivant.idempotency; gallivant.testing")
        self.assertEqual({name for name in used if "execution" in name}, set())
        used = loaded_by("import gallivant; gallivant.execution.make_execution")
        self.assertIn("gallivant.execution", used)
        self.assertNotIn("asyncio", used)
        self.assertIn("gallivant._aio_execution", loaded_by("import gallivant; gallivant.aio.AsyncExecution"))
        # Also by `from gallivant.aio import *`, which asks for every name.
        self.assertIn("gallivant._aio_execution", loaded_by("from gallivant.aio import *"))

    def test_asyncio_is_loaded_on_demand(self):
        self.assertIn("asyncio", loaded_by("import gallivant; gallivant.aio"))
        self.assertIn("gallivant.aio", loaded_by("from gallivant import aio"))


class Surface(unittest.TestCase):
    def test_every_public_name_is_there_and_no_other(self):
        for name in gallivant.__all__:
            self.assertIsNotNone(getattr(gallivant, name))
            self.assertIn(name, dir(gallivant))
        for name in ("aio", "asgi", "errors", "execution", "hook", "idempotency", "journal", "testing", "words"):
            self.assertEqual(getattr(gallivant, name).__name__, f"gallivant.{name}")
        with self.assertRaises(AttributeError):
            gallivant.nothing
        self.assertFalse(hasattr(gallivant, "serve_hook"))
        scope = {}
        exec("from gallivant import *", scope)
        self.assertLessEqual(set(gallivant.__all__), set(scope))

    def test_what_the_type_checker_sees_is_what_is_there(self):
        with open(os.path.join(PACKAGE, "gallivant/__init__.py")) as source:
            tree = ast.parse(source.read())
        seen = {"__version__"}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in ("_native", "errors"):
                seen.update(alias.name for alias in node.names)
        seen.discard("_native")
        self.assertEqual(seen, set(gallivant.__all__))
        self.assertEqual(gallivant.__all__, sorted(gallivant.__all__))

    def test_the_stub_names_everything_that_the_native_module_has(self):
        with open(os.path.join(PACKAGE, "gallivant/_native.pyi")) as stub:
            tree = ast.parse(stub.read())
        in_stub = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        native = {name for name in dir(_native) if not name.startswith("__")}
        self.assertEqual(set(in_stub), native)
        for name, node in in_stub.items():
            if isinstance(node, ast.ClassDef):
                members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
                there = {member for member in vars(getattr(_native, name)) if not member.startswith("_")}
                self.assertEqual({member for member in members if not member.startswith("_")}, there, name)
        self.assertTrue(os.path.exists(os.path.join(PACKAGE, "gallivant/py.typed")))

    def test_everything_public_is_documented(self):
        for name in gallivant.__all__:
            value = getattr(gallivant, name)
            if name == "__version__":
                continue
            self.assertTrue(value.__doc__, name)
            if isinstance(value, type) and value.__module__ == "gallivant":
                for member, definition in vars(value).items():
                    if not member.startswith("_"):
                        self.assertTrue(definition.__doc__, f"{name}.{member}")

    def test_classes_name_the_package_as_their_module(self):
        for name in gallivant.__all__:
            value = getattr(gallivant, name)
            if isinstance(value, type) and not issubclass(value, Exception):
                self.assertEqual((value.__module__, value.__qualname__), ("gallivant", name))

    def test_there_is_one_version(self):
        self.assertEqual(gallivant.__version__, _native.version())
        with open(os.path.join(ROOT, "Cargo.toml")) as manifest:
            self.assertIn(f'\nversion = "{gallivant.__version__}"\n', manifest.read())


if __name__ == "__main__":
    unittest.main()
