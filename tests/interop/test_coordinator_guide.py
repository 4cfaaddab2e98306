"""The coordinators of the guide, as they stand there: killed in the middle of a submit, run again, and judged by the books."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from coordinators import ENVIRONMENT, ROOT, Provider, until

PAGE = os.path.join(ROOT, "docs/guides/coordinator.md")
SAID = "a succeeded 0.25 0\nb succeeded 0.25 0\nc succeeded 0.25 0\n"


class Guide(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.tasks = os.path.join(place.name, "tasks")
        for name in ("a", "b", "c"):
            os.makedirs(os.path.join(self.tasks, name))
            with open(os.path.join(self.tasks, name, "task.json"), "w", encoding="utf-8") as task:
                json.dump({"prompt": f"do {name}", "model": None, "budgetUsd": 1}, task)
        self.provider = Provider(os.path.join(place.name, "p.json"), None, lines=3, everyMs=20, costUsd=0.25, page=100)
        self.addCleanup(self.provider.end)

    def block(self, language):
        with open(PAGE, encoding="utf-8") as page:
            blocks = re.findall(rf"\n\n```{language}\n(.*?)^```$", page.read(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 1)
        return blocks[0].replace("/srv/coordinator/tasks", self.tasks)

    def start(self, command, folder):
        environment = {**ENVIRONMENT, "HOSTED_AGENTS": self.provider.address}
        environment["PYTHONPATH"] += os.pathsep + os.path.join(ROOT, "examples/python-coordinator")
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)

    def killed_and_run_again(self, command, folder):
        self.provider.control("/fail", {"route": "create", "how": "hang"})
        first = self.start(command, folder)
        until(lambda: self.provider.control()["jobs"] >= 1)
        first.kill()
        first.communicate()
        said, _ = self.start(command, folder).communicate(timeout=60)
        self.assertEqual(said, SAID)
        books = self.provider.control("/books")["turns"]
        self.assertEqual(sorted((turn["prompt"], turn["came"]) for turn in books), [("do a", 1), ("do b", 1), ("do c", 1)])

    def test_in_node(self):
        transport = os.path.join(ROOT, "examples/node-coordinator/transport.mjs")
        program = self.block("js").replace("'./transport.mjs'", json.dumps(transport))
        # From the package's folder its own name leads to it.
        self.killed_and_run_again(["node", "--input-type=module", "-e", program], os.path.join(ROOT, "bindings-node"))

    def test_in_python(self):
        self.killed_and_run_again([sys.executable, "-c", self.block("python")], ROOT)


if __name__ == "__main__":
    unittest.main()
