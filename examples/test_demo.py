"""The demo says what it promises."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo")
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import record

TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))


def bare(**variables):
    """An environment that does not say where the package is, as one has who starts the demo by hand."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}


class Started(unittest.TestCase):
    def ends_with_a_line(self, said, demo, **variables):
        done = subprocess.run(
            [sys.executable, demo], capture_output=True, text=True, timeout=180, env=bare(**variables)
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, said)
        self.assertTrue(done.stderr.endswith("; run `make demo`\n"), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_without_a_status_bar_it_ends_with_one_clear_line(self):
        with tempfile.TemporaryDirectory() as empty:
            self.ends_with_a_line("no status bar at", os.path.join(HERE, "demo.py"), CARGO_TARGET_DIR=empty)

    def test_without_the_package_it_ends_with_one_clear_line(self):
        with tempfile.TemporaryDirectory() as root:
            package = os.path.join(root, "bindings-python/python/gallivant")
            shutil.copytree(
                os.path.join(ROOT, "bindings-python/python/gallivant"),
                package,
                ignore=shutil.ignore_patterns("_native*", "__pycache__"),
            )
            demo = shutil.copytree(HERE, os.path.join(root, "examples/demo"))
            self.ends_with_a_line("package is not built", os.path.join(demo, "demo.py"))


class StatusBar(unittest.TestCase):
    def test_an_output_that_cannot_be_written_is_told(self):
        with tempfile.TemporaryDirectory() as seat, open("/dev/full", "wb") as full:
            bar = os.path.join(TARGET, "release/examples/status-bar")
            done = subprocess.run([bar, "--once", seat], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (1, "standard output: No space left on device\n"))


class Wrapper(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.record = os.path.join(root.name, "worker/harness-state")

    def start(self, *command):
        wrapper = [sys.executable, os.path.join(HERE, "wrapper.py"), os.path.dirname(self.record), "claude", *command]
        package = os.path.join(ROOT, "bindings-python/python")
        process = subprocess.Popen(wrapper, stderr=subprocess.PIPE, text=True, env=bare(PYTHONPATH=package))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def read(self):
        with open(self.record, encoding="utf-8") as file:
            return file.read()

    def test_sigterm_reaches_the_harness_whose_exit_is_told(self):
        process = self.start("sleep", "60")
        until = time.monotonic() + 60
        while not (os.path.exists(self.record) and '"state":"ready"' in self.read()):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.terminate()
        self.assertEqual((process.wait(60), process.stderr.read()), (256 - signal.SIGTERM, ""))
        self.assertIn('"exit":"signal 15"', self.read())

    def test_a_harness_that_is_over_at_once_is_told_without_a_complaint(self):
        process = self.start("sh", "-c", "exit 3")
        self.assertEqual((process.wait(60), process.stderr.read()), (3, ""))
        self.assertIn('"exit":"exit 3"', self.read())


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        bar = os.path.join(TARGET, "release/examples/status-bar")
        status, cls.said, cls.frames = record.record(bar, "0.4")
        if status:
            raise AssertionError(cls.said)

    def lines(self, speaker, *words):
        """The numbers of the speaker's lines that hold all the words."""
        spoken = enumerate(line.split(" | ", 1) for line in self.said.splitlines() if " | " in line)
        return [n for n, (who, line) in spoken if who.strip() == speaker and all(word in line for word in words)]

    def test_coordinator_and_status_bar_show_each_transition(self):
        for speaker in ("coordinator", "status bar"):
            for agent in ("claude", "codex"):
                asked = self.lines(speaker, agent, "human", "permission")
                ended = self.lines(speaker, agent, "ended")
                self.assertTrue(self.lines(speaker, agent, "active"), self.said)
                self.assertTrue(asked, f"{speaker} {agent}\n{self.said}")
                self.assertTrue(ended, f"{speaker} {agent}\n{self.said}")
                self.assertLess(asked[0], ended[-1])
            self.assertTrue(self.lines(speaker, "doomed", "unknown", "session-dead"), self.said)

    def test_the_command_at_a_terminal_beside_it_shows_what_the_recording_shows(self):
        with open(os.path.join(ROOT, "docs/state-watch.txt"), encoding="utf-8") as file:
            recorded = record.read(file.read())

        def states(frames):
            return {(agent, state) for frame in frames for agent, state, why in frame.rows() if why != "claimed"}

        def lasting(states):
            # A session is claimed and ready for no longer than its harness takes to start and to be given its first
            # prompt: on a busy machine both may be over before they are drawn.
            return {(agent, state) for agent, state in states if state != "ready"}

        self.assertGreaterEqual(len(recorded), 15)
        self.assertIn(("claude", "active, asks for a permission"), states(recorded))
        self.assertLessEqual(lasting(states(recorded)), states(self.frames), record.written(self.frames))
        self.assertLessEqual(states(self.frames), states(recorded), record.written(self.frames))
        self.assertEqual(recorded[-1].rows()[-1], ("doomed", "unknown", "session-dead"))
        self.assertEqual(self.frames[-1].rows(), recorded[-1].rows())
        self.assertTrue(all(len(line) <= record.COLUMNS for frame in self.frames for line in frame.lines))

    def test_what_is_concluded_from_a_death_and_why(self):
        self.assertTrue(self.lines("no probe", "active"), self.said)
        self.assertTrue(self.lines("lease probe", "unknown", "session-dead"), self.said)

    def test_killed_twice_the_coordinator_has_one_job_made_and_loses_nothing(self):
        self.assertEqual(len(self.lines("demo", "kill -9")), 3, self.said)
        self.assertTrue(self.lines("demo", "the same task"), self.said)
        self.assertTrue(self.lines("coordinator", "mend the build: succeeded, $0.25, 4 lines"), self.said)
        self.assertTrue(self.lines("books", "job-1: mend the build, succeeded, $0.25, created by 1 request"), self.said)
        self.assertTrue(self.lines("books", "1 job in all"), self.said)

    def test_at_the_end_a_result_becomes_a_branch(self):
        if self.lines("demo", "no sandbox works here"):
            return
        self.assertTrue(self.lines("evidence", "sh greet.sh | grep -qx 'hello, world': exit 0, in"), self.said)
        self.assertTrue(self.lines("repository", "1 commit", "by A Coordinator; echo hello, world"), self.said)
        [last] = self.lines("requests", "1 in all: Greet the world, to main")
        self.assertEqual(last, len(self.said.splitlines()) - 1)


class WithoutASandbox(unittest.TestCase):
    def test_the_last_part_says_so_in_a_line_and_goes_on(self):
        # No namespace may be made below this one.
        closed = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
        if subprocess.run([*closed, "true"], capture_output=True).returncode != 0:
            self.skipTest("no namespace can be closed here")
        program = "from publication import publication; publication('/nonexistent', print, None, None)"
        environment = bare(PYTHONPATH=os.pathsep.join([HERE, os.path.join(ROOT, "bindings-python/python")]))
        done = subprocess.run([*closed, sys.executable, "-c", program], capture_output=True, text=True, timeout=180, env=environment)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 1))
        self.assertRegex(done.stdout, "^demo no sandbox works here, so that no result is verified and none is published; ")


if __name__ == "__main__":
    unittest.main()
