"""The coordinators of the guide, as they stand there: killed in the middle of a submit, run again, after a lost reply, beside another
one that has a task's lock, and judged by the books.
"""
import fcntl
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
SAID = "".join(f"{name} succeeded 0.25 0 do {name}: done\n" for name in "abc")


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
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def killed_and_run_again(self, command, folder):
        self.provider.control("/fail", {"route": "create", "how": "hang"})
        first = self.start(command, folder)
        # One that dies between an intent and its arrival leaves an operation that waits for a person, and no end.
        until(lambda: self.provider.control()["jobs"] >= 3)
        first.kill()
        first.communicate()
        self.assertEqual(self.run_to_its_end(command, folder), "")

    def run_to_its_end(self, command, folder):
        """What it says of trouble. Each task has ended well, and was sent once."""
        said, trouble = self.start(command, folder).communicate(timeout=180)
        self.assertEqual(said, SAID, trouble)
        books = self.provider.control("/books")["turns"]
        self.assertEqual(sorted((turn["prompt"], turn["came"]) for turn in books), [("do a", 1), ("do b", 1), ("do c", 1)])
        return trouble

    def node(self):
        transport = os.path.join(ROOT, "examples/node-coordinator/transport.mjs")
        program = self.block("js").replace("'./transport.mjs'", json.dumps(transport))
        # From the package's folder its own name leads to it.
        return ["node", "--input-type=module", "-e", program], os.path.join(ROOT, "bindings-node")

    def python(self):
        return [sys.executable, "-c", self.block("python")], ROOT

    def test_in_node(self):
        self.killed_and_run_again(*self.node())

    def test_in_python(self):
        self.killed_and_run_again(*self.python())

    def after_a_lost_reply(self, command, folder):
        self.provider.control("/fail", {"route": "create", "how": "lose-reply"})
        trouble = self.run_to_its_end(command, folder)
        self.assertIn("EXECUTION_ACCEPTANCE_UNKNOWN io it is not known whether the provider owns it", trouble)

    def test_in_node_after_a_lost_reply(self):
        self.after_a_lost_reply(*self.node())

    def test_in_python_after_a_lost_reply(self):
        self.after_a_lost_reply(*self.python())

    def beside_another(self, command, folder):
        """The other one has the locks for longer than anybody waits for one."""
        locks = []
        for name in ("a", "b", "c"):
            work = os.path.join(self.tasks, name, "work")
            os.makedirs(work, mode=0o700)
            lock = open(os.path.join(work, "execution.lock"), "w", encoding="utf-8")
            self.addCleanup(lock.close)
            fcntl.flock(lock, fcntl.LOCK_EX)
            locks.append(lock)
        coordinator = self.start(command, folder)
        with self.assertRaises(subprocess.TimeoutExpired):
            coordinator.wait(12)
        for lock in locks:
            fcntl.flock(lock, fcntl.LOCK_UN)
        said, trouble = coordinator.communicate(timeout=180)
        self.assertEqual((said, trouble), (SAID, ""))

    def test_in_node_beside_another(self):
        self.beside_another(*self.node())

    def test_in_python_beside_another(self):
        self.beside_another(*self.python())


if __name__ == "__main__":
    unittest.main()
