"""`gallivant-hook --check`, `--help` and `--version`, as a person calls them."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gallivant
from gallivant import words

from .support import PACKAGE, SeatCase, environment, run_python

COMMAND = "from gallivant.hook import main; main()"


class ByHand(SeatCase):
    def setUp(self):
        super().setUp()
        self.session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")
        self.session.writer.observe("idle")
        self.variables = self.session.to_env()

    def ask(self, *arguments, variables=None, **options):
        """Exit status, the lines on standard output, and standard error, of both spellings of the command."""
        env = environment(**(self.variables if variables is None else variables))
        answers = []
        for command in (["-m", "gallivant.hook"], ["-c", COMMAND]):
            done = subprocess.run(
                [sys.executable, *command, *arguments], env=env, capture_output=True, text=True, timeout=30, **options
            )
            answers.append((done.returncode, done.stdout.splitlines(), done.stderr))
        self.assertEqual(answers[0], answers[1])
        return answers[0]

    def test_a_hook_in_order_is_ok_and_nothing_is_changed_or_logged(self):
        before = self.bytes()
        for arguments in (["--check"], ["--check", "claude"]):
            status, lines, err = self.ask(*arguments)
            self.assertEqual((status, lines[-1], err), (0, "ok", ""), lines)
        text = "\n".join(lines)
        self.assertIn(f"gallivant {gallivant.__version__}", text)
        for variable, value in self.variables.items():
            self.assertIn(variable, text)
            self.assertEqual(value in text, variable != words.VARIABLE_SESSION_TOKEN, variable)
        self.assertIn("a reader concludes idle", text)
        self.assertIn("owns the seat", text)
        self.assertEqual((self.bytes(), self.log()), (before, []))

    def test_what_is_wrong_is_the_last_line_with_what_to_do(self):
        status, lines, err = self.ask("--check", variables={})
        self.assertEqual((status, err), (1, ""))
        self.assertIn("agent-dir: GALLIVANT_AGENT_DIR is missing; start the harness by `gallivant wrap`, or with the variables", lines[-1])
        status, lines, _ = self.ask("--check", "codex")
        self.assertEqual(status, 1)
        self.assertIn("harness: the hook serves codex, and the session is one of claude; ", lines[-1])
        gallivant.claim(self.seat, agent="b", harness="claude", token="other")
        status, lines, _ = self.ask("--check", "claude")
        self.assertEqual(status, 1)
        self.assertIn("owner: another session's token stands in the record; ", lines[-1])

    def test_a_harness_that_is_not_known_is_told(self):
        status, lines, err = self.ask("--check", "clod")
        self.assertEqual((status, len(lines), err), (1, 1, ""))
        self.assertIn("known=`claude codex opencode gemini`; ", lines[0])
        self.assertEqual(self.ask("--check", "\udcff")[0], 1)

    def test_help_and_version(self):
        status, lines, err = self.ask("--help", variables={})
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(lines[0].startswith("usage: gallivant-hook HARNESS"), lines)
        self.assertEqual(self.ask("--version"), (0, [f"gallivant {gallivant.__version__}"], ""))

    def test_what_is_not_understood_is_said_on_standard_error(self):
        for arguments in (["--chekc"], ["--help", "me"], ["--check", "claude", "more"], ["--"]):
            status, lines, err = self.ask(*arguments)
            self.assertEqual((status, lines), (2, []))
            self.assertIn("usage:", err)
        self.assertEqual(self.log(), [])

    def test_a_terminal_without_unicode_is_answered_too(self):
        odd = os.path.join(os.path.dirname(self.seat), "agent-é")
        session = gallivant.Session.start(odd, agent="a", harness="claude", pty_session="p")
        variables = {**session.to_env(), "PYTHONIOENCODING": "ascii"}
        status, lines, err = self.ask("--check", variables=variables)
        self.assertEqual((status, lines[-1], err), (0, "ok", ""))

    def test_an_answer_that_cannot_be_written_is_said_in_one_line(self):
        read, closed = os.pipe()
        os.close(read)
        self.addCleanup(os.close, closed)
        full = os.open("/dev/full", os.O_WRONLY)
        self.addCleanup(os.close, full)
        for asked in ("--check", "--help", "--version"):
            for out, status, said in ((full, 6, r"^gallivant-hook: the output cannot be written: .*\n$"), (closed, 141, "^$")):
                command = [sys.executable, "-m", "gallivant.hook", asked]
                env = environment(**self.variables)
                done = subprocess.run(command, env=env, stdout=out, stderr=subprocess.PIPE, text=True, timeout=30)
                with self.subTest(asked, status=status):
                    self.assertEqual(done.returncode, status)
                    self.assertRegex(done.stderr, said)

    def test_a_broken_installation_is_told(self):
        with tempfile.TemporaryDirectory() as broken:
            shutil.copytree(
                os.path.join(PACKAGE, "gallivant"),
                os.path.join(broken, "gallivant"),
                ignore=shutil.ignore_patterns("_native*", "__pycache__"),
            )
            for asked in ("--check", "--version"):
                status, lines, err = self.ask(asked, variables={"PYTHONPATH": broken})
                self.assertEqual((status, len(lines), err), (1, 1, ""))
                self.assertIn("not wholly installed", lines[0])

    def test_a_hook_that_is_served_loads_nothing_of_it(self):
        code = (
            "import os, sys\n"
            "from gallivant import hook\n"
            "os._exit = lambda status: print(sorted(name for name in sys.modules if name.startswith('gallivant')))\n"
            "hook.main(['claude'])\n"
        )
        said = run_python(code, stdin=subprocess.DEVNULL)
        self.assertEqual(said, "['gallivant', 'gallivant._native', 'gallivant.hook']\n")


if __name__ == "__main__":
    unittest.main()
