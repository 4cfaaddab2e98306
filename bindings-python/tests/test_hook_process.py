"""The hook as a process: exit 0, silent, over within its deadline, whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import gallivant
from gallivant import words

from .support import AT_ONCE, PACKAGE, SeatCase, Stopwatch, comes_within, contents, environment, eventually, held_lock, run_python
from .test_hook import payloads

# The deadline, and what a quiet machine takes to start and to reap a process.
LIMIT = 1.0 + 0.3
STOP = b'{"hook_event_name":"Stop"}'
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


# No room is left for another thread's stack.
WITHOUT_THREADS = """
import resource, time
from gallivant import _native, hook
with open("/proc/self/statm") as pages:
    room = int(pages.read().split()[0]) * resource.getpagesize() + (1 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
hook.keep_deadline()
time.sleep(90)
"""


# Runs the module as the command does, and sends this process a signal at each of its lines after the first ones.
INTERRUPTED = """
import os, runpy, sys
import gallivant
sys.argv = ["/usr/bin/gallivant-hook", "claude"]
lines = []
def trace(frame, event, _argument):
    if not frame.f_code.co_filename.endswith("gallivant/hook.py"):
        return None
    if event == "line":
        lines.append(frame.f_lineno)
        # What is imported by then is loaded in every interpreter.
        if len(lines) > 10:
            os.kill(os.getpid(), ENDING)
    return trace
sys.settrace(trace)
runpy.run_module("gallivant.hook", run_name=NAME)
import gallivant.hook
gallivant.hook.main()
"""


def ignores(pid, signals):
    """Whether a process ignores these by now."""
    with open(f"/proc/{pid}/status") as status:
        [mask] = [int(line.split()[1], 16) for line in status if line.startswith("SigIgn:")]
    return all(mask >> (number - 1) & 1 for number in signals)


class HookCase(SeatCase):
    def setUp(self):
        super().setUp()
        self.session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")
        self.session.writer.observe("active")
        self.variables = self.session.to_env()

    def hook(self, *arguments, payload=STOP, variables=None, **options):
        """Runs a hook process and asserts what holds for every one."""
        env = environment(**(self.variables if variables is None else variables))
        command = [sys.executable, "-m", "gallivant.hook", *arguments]

        def run():
            with Stopwatch() as watch:
                done = subprocess.run(command, input=payload, env=env, capture_output=True, timeout=120, **options)
            self.assert_harmless(done, watch.seconds)

        self.in_its_time(run)

    def in_its_time(self, run, tries=20):
        """Runs hooks until none of them was cut off by its deadline, within which a busy machine may not even start one. What is
        slow by itself is cut off each time."""
        for _ in range(tries):
            before = contents(self.log_file())
            run()
            entries = (contents(self.log_file()) or b"")[len(before or b""):]
            if b"reason=deadline" not in entries:
                return
            if before is None:
                os.remove(self.log_file())
            else:
                os.truncate(self.log_file(), len(before))
        self.fail(f"each of {tries} was cut off: {entries}")

    def log_file(self):
        return os.path.join(self.seat, ".harness-state.log")

    def assert_harmless(self, done, seconds):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertLess(seconds, AT_ONCE)


class Hooks(HookCase):
    def test_hs_115_an_event_is_observed_and_nothing_is_printed(self):
        self.hook("claude")
        self.assertEqual(self.record()["state"], "idle")
        self.assertEqual(self.log(), [])

    def test_hs_115_a_payload_that_cannot_be_used_is_logged(self):
        before = self.bytes()
        for payload in (b"", b"garbage", b'{"hook_event_name":', b"\x00" * 100):
            self.hook("claude", payload=payload)
        self.assertEqual(self.bytes(), before)
        self.assertEqual(len(self.log()), 4)

    def test_hs_116_a_byte_order_mark_is_dropped(self):
        self.hook("claude", payload=b"\xef\xbb\xbf" + STOP)
        self.assertEqual(self.record()["state"], "idle")

    def test_hs_116_a_payload_of_20_mb_is_taken_whole_and_refused(self):
        before = self.bytes()
        payload = b'{"hook_event_name":"Stop","text":"' + b"x" * 20_000_000 + b'"}'
        command = [sys.executable, "-m", "gallivant.hook", "claude"]
        with Stopwatch() as watch, subprocess.Popen(command, env=environment(**self.variables), **PIPES) as process:
            # A harness's own write fails with a broken pipe where its hook does not read on.
            process.stdin.write(payload)
            process.stdin.close()
            out, err = process.stdout.read(), process.stderr.read()
        self.assert_harmless(subprocess.CompletedProcess(command, process.returncode, out, err), watch.seconds)
        self.assertEqual(self.bytes(), before)
        self.assertIn("payload-too-large", self.log()[0])

    def test_hs_112_a_hook_without_identity_changes_nothing(self):
        before = self.bytes()
        self.hook("claude", variables={})
        self.hook("claude", variables={words.VARIABLE_AGENT_DIR: self.seat})
        self.assertEqual(self.bytes(), before)
        self.assertEqual(self.log(), ["claude Stop refused identity-missing"])

    def test_hs_115_bad_arguments_are_logged_where_the_directory_is_known(self):
        before = self.bytes()
        for arguments in ((), ("clod",), ("-h",), ("claude", "more"), ("",), ("cl\udcffude",)):
            self.hook(*arguments)
            self.hook(*arguments, variables={})
        self.assertEqual(self.bytes(), before)
        self.assertEqual(len(self.log()), 6)
        self.assertTrue(all("reason=arguments" in entry for entry in self.log()), self.log())

    def test_hs_115_variables_that_are_not_in_order_are_logged(self):
        self.hook("claude", variables={**self.variables, words.VARIABLE_SESSION_SEQ: "1.0"})
        self.hook("claude", variables={**self.variables, words.VARIABLE_AGENT: "\udcff"})
        self.assertEqual(len(self.log()), 2)
        self.assertEqual(self.record()["state"], "active")

    def test_hs_115_a_directory_that_is_gone_or_not_to_be_read_is_no_failure(self):
        self.hook("claude", variables={**self.variables, words.VARIABLE_AGENT_DIR: self.seat + "/gone/away"})
        self.hook("claude", variables={**self.variables, words.VARIABLE_AGENT_DIR: "\udcff"})
        with open(self.seat + ".file", "w"):
            pass
        self.hook("claude", variables={**self.variables, words.VARIABLE_AGENT_DIR: self.seat + ".file"})

    def test_the_payload_of_codex_notify_is_the_last_argument(self):
        self.session = gallivant.Session.start(self.seat, agent="a", harness="codex", pty_session="p")
        self.variables = self.session.to_env()
        self.session.writer.observe("idle", reason="interrupted")
        before = self.bytes()
        notify = dict(payloads("codex.headless"))["06.notify.json"].decode()
        self.hook("codex", notify, payload=b"not looked at")
        self.hook("codex", "notify", notify, payload=b"not looked at")
        self.assertEqual((self.bytes(), self.log()), (before, []))
        self.hook("codex", "not json")
        self.assertIn("malformed-payload", self.log()[0])
        stop = dict(payloads("codex.headless"))["05.Stop.json"]
        self.hook("codex", payload=stop)
        self.assertIsNone(gallivant.Reader(self.seat).read().reason)

    def test_streams_that_are_closed_are_no_failure(self):
        closed = "exec {} && exec " + f"{sys.executable} -m gallivant.hook claude"
        for streams, state in (("<&- >&- 2>&-", "active"), (">&- 2>&-", "idle")):
            env = environment(**self.variables)
            done = subprocess.run(["sh", "-c", closed.format(streams)], input=STOP, env=env, capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
            self.assertEqual(self.record()["state"], state)

    def test_a_broken_installation_is_silent_too(self):
        with tempfile.TemporaryDirectory() as broken:
            shutil.copytree(
                os.path.join(PACKAGE, "gallivant"),
                os.path.join(broken, "gallivant"),
                ignore=shutil.ignore_patterns("_native*", "__pycache__"),
            )
            self.hook("claude", variables={**self.variables, "PYTHONPATH": broken})
        self.assertEqual(self.record()["state"], "active")

    def test_warnings_turned_into_errors_change_nothing(self):
        self.hook("claude", variables={**self.variables, "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"})
        self.assertEqual(self.record()["state"], "idle")

    def test_recorded_runs_go_through_real_hook_processes(self):
        for harness, run in (("claude", "claude-code.headless"), ("codex", "codex.headless")):
            session = gallivant.Session.start(self.seat, agent="a", harness=harness, pty_session="p")
            told = []
            for name, payload in payloads(run):
                if ".notify." in name:
                    self.hook(harness, payload.decode(), payload=b"", variables=session.to_env())
                else:
                    self.hook(harness, payload=payload, variables=session.to_env())
                state = gallivant.Reader(self.seat).read().state
                if not told or told[-1] != state:
                    told.append(state)
            self.assertEqual(told, ["ready", "active", "idle", "ended"], run)
            self.assertEqual(self.log(), [])


class Deadlines(HookCase):
    """Nobody closes the pipe, lets go of the lock, or comes back."""

    def start(self, command, **options):
        return subprocess.Popen(command, env=environment(**self.variables), **PIPES, **options)

    def outlive(self, *commands, sent=b"", **options):
        """Starts processes whose input stays open, and asserts that all are over in time."""
        with Stopwatch() as watch:
            processes = [self.start(command, **options) for command in commands]
            for process in processes:
                process.stdin.write(sent)
                process.stdin.flush()
            done = []
            for process in processes:
                with process.stdout, process.stderr:
                    out, err = process.stdout.read(), process.stderr.read()
                done.append(subprocess.CompletedProcess(process.args, process.wait(), out, err))
        for process, result in zip(processes, done):
            process.stdin.close()
            self.assert_harmless(result, watch.seconds)

    def test_c_025_hs_115_a_held_lock_is_logged_within_the_deadline(self):
        before = self.bytes()
        with held_lock(self.seat):
            self.hook("claude")
        self.assertEqual(self.bytes(), before)
        self.assertIn("HARNESS_STATE_BUSY", self.log()[0])

    def test_hs_115_a_pipe_that_stays_open_ends_within_the_deadline(self):
        self.outlive([sys.executable, "-m", "gallivant.hook", "claude"])
        self.assertEqual(len(self.log()), 1)
        self.assertEqual(self.record()["state"], "active")

    def test_hs_115_the_deadline_is_a_second(self):
        def lasts():
            with Stopwatch() as watch:
                self.outlive([sys.executable, "-m", "gallivant.hook", "claude"])
            return watch.seconds

        comes_within(self, LIMIT, lasts)

    def test_a_whole_payload_counts_although_the_pipe_stays_open(self):
        self.in_its_time(lambda: self.outlive([sys.executable, "-m", "gallivant.hook", "claude"], sent=STOP))
        self.assertEqual(self.record()["state"], "idle")
        self.assertEqual(self.log(), [])

    def test_a_pipe_that_stays_open_and_a_held_lock_together_keep_the_deadline(self):
        with held_lock(self.seat):
            self.in_its_time(lambda: self.outlive([sys.executable, "-m", "gallivant.hook", "claude"], sent=STOP))
        self.assertIn("HARNESS_STATE_BUSY", self.log()[0])

    def test_the_deadline_counts_from_the_processes_start(self):
        program = f"sleep 0.5; exec {sys.executable} -m gallivant.hook claude"
        self.in_its_time(lambda: self.outlive(["sh", "-c", program], sent=STOP))
        self.assertEqual(self.record()["state"], "idle")
        program = "import time; from gallivant import hook; hook.keep_deadline(); time.sleep(90)"

        def lasts():
            with Stopwatch() as watch:
                self.outlive(["sh", "-c", f"sleep 0.6; exec {sys.executable} -c '{program}'"])
            self.assertIn("reason=deadline", self.log()[-1])
            return watch.seconds

        comes_within(self, LIMIT, lasts)

    def test_hs_115_the_deadline_holds_in_native_code_that_keeps_the_interpreter(self):
        armed = "import ctypes, os, signal, sys; from gallivant import hook; hook.keep_deadline(); hook.keep_deadline()"
        waiting = (
            "ctypes.PyDLL(None).sleep(90)",
            "sys.stdin.buffer.read()",
            "os.read(0, 1)",
            "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); signal.sigwait({signal.SIGTERM})",
        )
        self.outlive(*([sys.executable, "-c", f"{armed}; {blocked}"] for blocked in waiting))
        self.outlive([sys.executable, "-c", f"{armed}\nwhile True: pass"])
        self.assertEqual(len(self.log()), 5)
        self.assertTrue(all("reason=deadline" in entry for entry in self.log()), self.log())

    def test_the_deadline_holds_where_the_alarm_is_blocked_or_ignored_by_whoever_started_the_process(self):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})

        def ignore():
            signal.signal(signal.SIGALRM, signal.SIG_IGN)

        for prepare in (block, ignore):
            self.outlive([sys.executable, "-c", WITHOUT_THREADS], preexec_fn=prepare)
        # No thread, and so no entry: it was the alarm.
        self.assertEqual(self.log(), [])

    def test_no_signal_but_kill_keeps_a_hook_from_serving_and_ending_with_0(self):
        endings = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
        for ending in endings:
            process = self.start([sys.executable, "-m", "gallivant.hook", "claude"])
            eventually(lambda: process.poll() is not None or ignores(process.pid, endings), "it ignores them")
            process.send_signal(ending)
            with process.stdin, process.stdout, process.stderr:
                out, err = process.stdout.read(), process.stderr.read()
                self.assertEqual((process.wait(), out, err), (0, b"", b""))

    def test_hs_115_an_interrupt_at_any_line_of_the_module_loses_no_event(self):
        for name in ("__main__", "gallivant.hook"):
            for ending in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                with self.subTest(f"{name} {ending.name}"):
                    self.session.writer.observe("active")
                    program = INTERRUPTED.replace("NAME", repr(name)).replace("ENDING", str(int(ending)))
                    command = [sys.executable, "-c", program]
                    done = subprocess.run(command, input=STOP, env=environment(**self.variables), capture_output=True)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
                    self.assertEqual(self.record()["state"], "idle")

    def test_the_file_itself_is_a_hook_and_the_command_says_how(self):
        said = subprocess.run(
            [sys.executable, "-m", "gallivant.hook", "--command", "claude"],
            env=environment(), capture_output=True, text=True, check=True,
        )
        # A folder of the package's name where the harness works is not looked into.
        with tempfile.TemporaryDirectory() as project:
            os.mkdir(os.path.join(project, "gallivant"))
            with open(os.path.join(project, "gallivant", "__init__.py"), "w") as module:
                module.write("print('here'); raise SystemExit(3)")
            variables = {**self.variables, "PATH": os.environ.get("PATH", "")}
            done = subprocess.run(said.stdout, shell=True, cwd=project, env=variables, input=STOP, capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(self.record()["state"], "idle")

    def test_importing_the_module_leaves_the_signals_alone(self):
        said = run_python(
            "import signal; kept = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]\n"
            "import gallivant.hook\n"
            "print(kept == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])\n"
        )
        self.assertEqual(said, "True\n")

    def test_a_hook_that_is_done_does_not_wait_for_its_deadline(self):
        def lasts():
            with Stopwatch() as watch:
                self.hook("claude")
            return watch.seconds

        comes_within(self, 0.6, lasts)


class Log(HookCase):
    def test_hs_115_the_log_is_private_and_bounded(self):
        path = os.path.join(self.seat, ".harness-state.log")
        with open(path, "w") as log:
            os.chmod(path, 0o600)
            log.write("1 old entry\n" * 6000)
        self.hook("clod")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertLessEqual(len(contents(path)), 64 * 1024)
        self.assertIn("reason=arguments", self.log()[-1])


if __name__ == "__main__":
    unittest.main()
