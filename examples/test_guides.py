"""Every block of code on every page is run, compiled, or compared with the file that it quotes; those of the shell are run here.

`SHOWN_BY` says for each page and language which test does it. A block that is new on a page without a row fails here, and so does
a row whose test does not name the page any more.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK = os.path.join(ROOT, "bindings-python/python/gallivant/hook.py")
BLOCK = re.compile(r"^```(\w+)(?:,\w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HERE = "examples/test_guides.py"
OF_RUNS = "examples/test_guides_of_runs.py"
SETTINGS = "tests/conformance/harness_settings.rs"
# A task with an operation whose acceptance is not known, and what its provider can do.
LEDGER = os.path.join(ROOT, "tests/compat/0.1.0/execution")
CAPABILITY = {
    "provider": "memory", "transport": "memory", "location": "remote", "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []}, "environments": {"required": False, "allowed": None},
    "models": "refused", "policies": {"required": False, "allowed": []}, "continuation": "native", "observability": "events",
    "preparation": {"version": 1, "boundary": "memory:none", "authority": "text-only", "environment": "none"},
    "cancel": True, "interrupt": False, "cost": {"reports": True, "hardCap": False}, "qualification": None,
}

# Page and language: the test, and what in it names the page or what the page shows.
SHOWN_BY = {
    ("README.md", "python js c rust"): ("examples/test_readme.py", "README.md"),
    ("core/README.md", "rust"): ("core/src/lib.rs", "README.md"),
    ("bindings-python/README.md", "python"): ("bindings-python/tests/test_guide.py", "bindings-python/README.md"),
    ("bindings-node/README.md", "js"): ("bindings-node/test/guide.test.mjs", "README.md"),
    ("docs/tutorial.md", "sh text python"): ("examples/test_tutorial.py", "docs/tutorial.md"),
    ("docs/c-api.md", "c"): ("ffi/tests/pages.rs", "docs/c-api.md"),
    ("docs/c-api.md", "sh"): ("tests/c/run.sh", "pkg-config --variable=libdir gallivant"),
    ("docs/format/idempotency.md", "sql"): (HERE, "docs/format/idempotency.md"),
    ("docs/guides/browser.md", "js html"): ("bindings-node/test/browser_guide.test.mjs", "browser.md"),
    ("docs/guides/claude-code.md", "json"): (SETTINGS, "claude-code.md"),
    ("docs/guides/claude-code.md", "python"): ("bindings-python/tests/test_guide.py", "docs/guides/claude-code.md"),
    ("docs/guides/claude-code.md", "sh"): (HERE, "docs/guides/claude-code.md"),
    ("docs/guides/codex.md", "json toml"): (SETTINGS, "codex.md"),
    ("docs/guides/codex.md", "sh"): (HERE, "docs/guides/codex.md"),
    ("docs/guides/command-line.md", "sh"): (OF_RUNS, "docs/guides/command-line.md"),
    ("docs/guides/coordinator.md", "js python"): ("tests/interop/test_coordinator_guide.py", "docs/guides/coordinator.md"),
    ("docs/guides/gemini-cli.md", "json"): (SETTINGS, "gemini-cli.md"),
    ("docs/guides/gemini-cli.md", "sh"): (HERE, "docs/guides/gemini-cli.md"),
    ("docs/guides/idempotency.md", "python"): ("bindings-python/tests/test_idempotency_guide.py", "docs/guides/idempotency.md"),
    ("docs/guides/idempotency.md", "js"): ("bindings-node/test/idempotency_guide.test.mjs", "idempotency.md"),
    ("docs/guides/local-runs.md", "rust"): ("core/src/lib.rs", "guide-local-runs.md"),
    ("docs/guides/local-runs.md", "sh python js json"): (OF_RUNS, "docs/guides/local-runs.md"),
    ("docs/guides/node.md", "js"): ("bindings-node/test/guide.test.mjs", "node.md"),
    ("docs/guides/node.md", "sh"): (HERE, "docs/guides/node.md"),
    ("docs/guides/opencode.md", "js"): (SETTINGS, "opencode.md"),
    ("docs/guides/opencode.md", "json sh"): (HERE, "docs/guides/opencode.md"),
    ("docs/guides/operators.md", "sh json"): (HERE, "docs/guides/operators.md"),
    ("docs/guides/publish-a-result.md", "rust"): ("core/src/lib.rs", "guide-publish-a-result.md"),
    ("docs/guides/publish-a-result.md", "json"): (OF_RUNS, "docs/guides/publish-a-result.md"),
    ("docs/guides/publish-a-result.md", "js"): ("bindings-node/test/execution_result.test.mjs", "publish-a-result.md"),
    ("docs/guides/python-execution.md", "python"): ("bindings-python/tests/test_execution_guide.py", "docs/guides/python-execution.md"),
    ("docs/guides/python.md", "python"): ("bindings-python/tests/test_guide.py", "docs/guides/python.md"),
    ("docs/guides/python.md", "sh"): (HERE, "docs/guides/python.md"),
    ("docs/guides/redaction.md", "python"): ("bindings-python/tests/test_guide.py", "docs/guides/redaction.md"),
    ("docs/guides/redaction.md", "js"): ("bindings-node/test/guide.test.mjs", "redaction.md"),
    ("docs/guides/rust.md", "rust"): ("core/src/lib.rs", "guide.md"),
    ("docs/guides/rust.md", "toml"): (HERE, "docs/guides/rust.md"),
    ("docs/guides/transport.md", "js python c"): ("examples/test_readme.py", "docs/guides/transport.md"),
    ("docs/guides/transport.md", "rust"): ("core/src/lib.rs", "guide-transport.md"),
    ("docs/guides/verification.md", "rust"): ("core/src/lib.rs", "guide-verification.md"),
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks(page, language):
    return [text for named, text in BLOCK.findall(read(page)) if named == language]


def pages():
    found = ["README.md", "core/README.md", "ffi/README.md", "bindings-python/README.md", "bindings-node/README.md"]
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        if not folder.endswith("docs/spec"):
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(found)


class EveryBlock(unittest.TestCase):
    def test_every_block_has_a_test_that_shows_it(self):
        there = {(page, language) for page in pages() for language, _ in BLOCK.findall(read(page))}
        rows = {(page, language) for page, languages in SHOWN_BY for language in languages.split()}
        self.assertEqual(there, rows)
        for (page, languages), (test, names) in SHOWN_BY.items():
            with self.subTest(page=page, languages=languages):
                self.assertIn(names, read(test))


class Shell(unittest.TestCase):
    """The blocks of the shell, in a folder that has `gallivant-hook` on its path and stands for `/tmp`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.bin = os.path.join(self.folder, "bin")
        os.mkdir(self.bin)
        self.program("gallivant-hook", f'exec python3 -I -S "{HOOK}" "$@"')

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def run_block(self, text, **variables):
        """What it prints on both streams; the log of a hook that had nothing to say is missing, and `cat` says so."""
        text = text.replace("/tmp/seat", f"{self.folder}/seat")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GALLIVANT_")}, "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.join(ROOT, "bindings-python/python"), **variables,
        }
        done = subprocess.run(
            ["bash", "-uc", text], cwd=self.folder, env=environment, text=True, timeout=180,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        return done.stdout

    def record(self):
        with open(os.path.join(self.folder, "seat/harness-state"), encoding="utf-8") as file:
            return json.load(file)

    def test_the_check_of_each_guide_answers(self):
        for page, harness in (
            ("docs/guides/claude-code.md", "claude"), ("docs/guides/codex.md", "codex"), ("docs/guides/python.md", "claude"),
        ):
            with self.subTest(page):
                [check] = [block for block in blocks(page, "sh") if "--check" in block]
                self.assertEqual(check, f"gallivant-hook --check {harness}\n")
                said = self.run_block(check)
                # There is no session in this environment, which is what it says.
                self.assertIn(f"the hook serves {harness}\n", said)
                self.assertIn("GALLIVANT_AGENT_DIR is missing", said)

    def test_claude_code_by_hand(self):
        [block] = [block for block in blocks("docs/guides/claude-code.md", "sh") if "harness-state" in block]
        said = self.run_block(block)
        self.assertIn('"state":"active"', said)
        self.assertIn(".harness-state.log: No such file", said)
        self.assertEqual(self.record()["harness"], "claude")

    def test_gemini_cli_by_hand(self):
        # Stands for the harness, and gives its hooks what it would: `make e2e` runs the real one.
        self.program("gemini", 'echo \'{"hook_event_name":"SessionEnd","reason":"exit"}\' | gallivant-hook gemini')
        [block] = blocks("docs/guides/gemini-cli.md", "sh")
        said = self.run_block(block)
        record = self.record()
        self.assertEqual((record["state"], record["reason"]), ("ended", "exit"), said)

    def test_opencode_by_hand(self):
        _, payload = blocks("docs/guides/opencode.md", "json")
        idle = '{"event":{"type":"session.idle","properties":{"sessionID":"ses_1"}}}'
        self.program("opencode", f"echo '{idle}' | gallivant-hook opencode")
        [block] = blocks("docs/guides/opencode.md", "sh")
        said = self.run_block(block)
        self.assertEqual(self.record()["state"], "idle", said)
        # The payload of the page is of a subagent: it is understood, and no turn of the session's own.
        self.assertEqual(json.loads(payload)["session"]["parentID"], "ses_0")
        self.run_block(block.replace("opencode run 'Say hi'", f"echo '{payload}' | gallivant-hook opencode"))
        self.assertNotEqual(self.record()["state"], "active")

    def test_the_plugin_of_opencode_is_where_the_page_says(self):
        plugin, _ = blocks("docs/guides/opencode.md", "json")
        [path] = json.loads(plugin)["plugin"]
        self.assertTrue(os.path.exists(os.path.join(ROOT, "bindings-node", path.split("/gallivant/")[1])), path)

    def test_node_finds_the_folder(self):
        # Without npm, which the tests do not need: the last line.
        [block] = blocks("docs/guides/node.md", "sh")
        link = block.splitlines()[-1]
        self.assertIn("ln -s ../../libgallivant/bindings-node", link)
        os.symlink(ROOT, os.path.join(self.folder, "libgallivant"))
        os.mkdir(os.path.join(self.folder, "program"))
        said = self.run_block(f"cd program\n{link}\nnode -p \"require('gallivant').version\"")
        self.assertRegex(said, r"^\d+\.\d+\.\d+\n$")

    def test_python_is_built_as_the_page_says(self):
        [block] = [block for block in blocks("docs/guides/python.md", "sh") if "cargo" in block]
        makefile = read("Makefile")
        for part in ("PYO3_BUILD_EXTENSION_MODULE", "-p gallivant-python", "libgallivant_native.so", "_native.abi3.so",
                     "python3 -m unittest discover -s bindings-python/tests -t bindings-python"):
            self.assertIn(part, block)
            self.assertIn(part, makefile)

    @unittest.skipUnless(shutil.which("jq"), "needs jq")
    def test_an_operator_finds_what_is_not_known(self):
        [query] = blocks("docs/guides/operators.md", "sh")
        shutil.copy(os.path.join(LEDGER, "execution.json"), self.folder)
        found = json.loads(self.run_block(query))
        self.assertEqual((found["operationId"], found["runId"], found["action"]), ("op-2", "run-op-2", "submit"))
        self.assertTrue(found["idempotencyKey"].startswith("gx-"))

    def test_what_an_operator_hands_over_is_taken(self):
        from gallivant.execution import make_execution

        def unheard(call):
            raise AssertionError(f"an act of an operator calls nobody, method={call.method}")

        methods = ("prepare", "submit", "inspect", "continue_", "collect", "cancel", "lookup", "recover_response")
        transport = type("Provider", (), {name: staticmethod(unheard) for name in methods})()
        adopt, absent = (json.loads(block) for block in blocks("docs/guides/operators.md", "json"))
        for act, given, acceptance in (("adopt", adopt, "accepted"), ("settle_absent", absent, "absent")):
            with self.subTest(act):
                root = shutil.copytree(LEDGER, os.path.join(self.folder, act))
                with make_execution(
                    root, task_id="t-1", provider="memory", account="a-1", capabilities=CAPABILITY, transport=transport,
                    budget_usd=8, health="external",
                ) as execution:
                    getattr(execution, act)({**given, "operationId": "op-2"})
                with open(os.path.join(root, "execution.json"), encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["operations"]["op-2"]["acceptance"], acceptance)

    def test_the_crate_is_where_the_page_says(self):
        [block] = blocks("docs/guides/rust.md", "toml")
        [path] = re.findall(r'path = "libgallivant/(\w+)"', block)
        self.assertIn('name = "gallivant-core"', read(f"{path}/Cargo.toml"))

    def test_the_index_of_claims_is_that_of_the_code(self):
        [block] = blocks("docs/format/idempotency.md", "sql")
        [index] = [line.rstrip(";") for line in block.splitlines() if line.startswith("CREATE INDEX")]
        code = " ".join(read("core/src/idempotency/sqlite/row.rs").replace("\\\n", " ").split())
        self.assertIn(" ".join(index.split()), code)


if __name__ == "__main__":
    unittest.main()
