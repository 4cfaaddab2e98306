"""`observe_hook`, and recorded runs of real harnesses through it."""

import os
import threading
import unittest

import gallivant
from gallivant import words

from .support import VECTORS, SeatCase, contents, held_lock

EVENTS = os.path.join(VECTORS, "harness-events")


def payloads(run):
    """The events of a recorded run in order: name and payload."""
    directory = os.path.join(EVENTS, run)
    return [(name, contents(os.path.join(directory, name))) for name in sorted(os.listdir(directory))]


class Hooks(SeatCase):
    def setUp(self):
        super().setUp()
        self.session = gallivant.Session.start(self.seat, agent="a", harness="claude", pty_session="p")

    def observe(self, payload, session=None, harness="claude"):
        return gallivant.observe_hook(harness, payload, self.session.to_env() if session is None else session)

    def test_an_event_is_observed_for_the_session_of_the_environment_or_for_the_one_that_is_given(self):
        payload = b'{"hook_event_name":"UserPromptSubmit"}'
        report = self.observe(payload)
        landed = gallivant.Report(outcome="landed")
        self.assertEqual(
            report, gallivant.HookReport(event="UserPromptSubmit", kind="observed", word="landed", report=landed)
        )
        self.assertEqual(self.record()["state"], "active")
        for session in (self.session.environment(), self.session):
            self.assertEqual(self.observe(bytearray(payload), session).word, "coalesced")
        for wrong in (payload.decode(), None, 5):
            with self.assertRaises(TypeError):
                self.observe(wrong)
        with self.assertRaisesRegex(TypeError, "^no session and no mapping of variables, given=`int`$"):
            self.observe(payload, 5)

    def test_hs_111_an_unknown_event_is_no_observation_and_no_error(self):
        report = self.observe(b'{"hook_event_name":"Tomorrow"}')
        self.assertEqual((report.event, report.kind), ("Tomorrow", "ignored"))
        self.assertEqual(report.word, words.IGNORED_UNKNOWN_EVENT)
        self.assertIsNone(report.error)
        self.assertEqual(self.log(), [])

    def test_hs_112_without_identity_nothing_changes(self):
        before = self.bytes()
        for session in ({}, {words.VARIABLE_AGENT_DIR: self.seat}):
            report = self.observe(b'{"hook_event_name":"Stop"}', session)
            self.assertEqual((report.event, report.kind, report.word), ("Stop", "observed", "identity-missing"))
            self.assertEqual(report.report, gallivant.Report(outcome="refused", refusal="identity-missing"))
        report = gallivant.observe_hook("claude", b'{"hook_event_name":"Stop"}', None)
        self.assertEqual(report.word, words.REFUSED_IDENTITY_MISSING)
        self.assertEqual(self.bytes(), before)
        self.assertEqual(self.log(), ["claude Stop refused identity-missing"])

    def test_hs_114_a_late_event_revives_nothing(self):
        self.session.writer.ended("exit 0")
        report = self.observe(b'{"hook_event_name":"UserPromptSubmit"}')
        self.assertEqual((report.word, report.report.refusal), ("terminal", "terminal"))
        self.assertEqual(self.record()["exit"], "exit 0")
        self.assertEqual(self.log(), ["claude UserPromptSubmit refused terminal"])

    def test_hs_116_a_byte_order_mark_is_dropped_and_a_lone_surrogate_is_marked(self):
        report = self.observe(b'\xef\xbb\xbf{"hook_event_name":"Stop"}')
        self.assertEqual((report.event, report.word, report.lossy), ("Stop", "landed", False))
        report = self.observe(b'{"hook_event_name":"Stop\\ud800"}')
        self.assertTrue(report.lossy)

    def test_c_016_a_hook_payload_with_a_byte_order_mark_is_read(self):
        payload = contents(os.path.join(VECTORS, "cases/C-016.bom.hook.json"))
        self.assertTrue(payload.startswith(b"\xef\xbb\xbf"))
        self.assertIn(self.observe(payload).word, ("landed", "coalesced"))

    def test_hs_115_what_cannot_be_read_is_in_the_report_and_in_the_log(self):
        for payload in (b"", b"garbage", b"[]", b'{"hook_event_name":"Stop","hook_event_name":"Stop"}', b"{" * 200):
            report = self.observe(payload)
            self.assertEqual((report.kind, report.word), ("failed", "HARNESS_STATE_INPUT"))
            self.assertIsInstance(report.error, gallivant.HarnessStateInputError)
            self.assertTrue(report.error.reason)
        self.assertEqual(len(self.log()), 5)

    def test_hs_21_a_hook_waits_for_the_lock_for_250_ms(self):
        before = self.bytes()
        with held_lock(self.seat):
            report = self.observe(b'{"hook_event_name":"Stop"}')
        self.assertIsInstance(report.error, gallivant.HarnessStateBusyError)
        self.assertIn("waited_ms=`250`", report.error.message)
        self.assertEqual(self.bytes(), before)
        self.assertEqual(len(self.log()), 1)

    def test_a_cancel_ends_the_wait_of_a_hook_and_the_log_says_that_the_event_is_lost(self):
        cancel = gallivant.Cancel()
        timer = threading.Timer(0.1, cancel.set)
        with held_lock(self.seat):
            timer.start()
            with self.assertRaises(gallivant.CancelledError):
                cancel.run(self.observe, b'{"hook_event_name":"Stop"}')
        timer.join()
        self.assertIn("GALLIVANT_CANCELLED", self.log()[0])

    def test_variables_that_are_not_in_order_are_in_the_report_and_in_the_log(self):
        broken = {**self.session.to_env(), words.VARIABLE_SESSION_SEQ: "first"}
        report = self.observe(b'{"hook_event_name":"Stop"}', broken)
        self.assertEqual((report.kind, report.error.reason), ("failed", "environment"))
        self.assertIn("(environment)", self.log()[0])
        report = self.observe(b'{"hook_event_name":"Stop"}', {**self.session.to_env(), words.VARIABLE_AGENT: "\ud800"})
        self.assertEqual((report.kind, report.error.reason), (words.HOOK_KIND_FAILED, "environment"))

    def test_a_harness_that_is_not_known_is_refused(self):
        with self.assertRaises(gallivant.HarnessStateInputError) as raised:
            self.observe(b"{}", harness="Claude")
        self.assertEqual(raised.exception.reason, "unknown-harness")
        known = (words.HARNESS_CLAUDE, words.HARNESS_CODEX, words.HARNESS_OPENCODE, words.HARNESS_GEMINI)
        for name in (*known, "claude-code", "gemini-cli"):
            self.assertIn(self.observe(b"{}", harness=name).kind, ("ignored", "failed"))


class Runs(SeatCase):
    """What a recorded run leaves after each of its events."""

    def told(self, harness, run):
        session = gallivant.Session.start(self.seat, agent="a", harness=harness, pty_session="p")
        told = []
        for name, payload in payloads(run):
            report = gallivant.observe_hook(harness, payload, session.to_env())
            self.assertNotEqual(report.kind, "failed", name)
            state = gallivant.Reader(self.seat).read()
            what = state.state if state.ask == "none" else f"{state.state}:{state.ask}"
            if not told or told[-1] != what:
                told.append(what)
        return told

    def test_hs_110_headless_runs_of_claude_code(self):
        for run in ("headless", "files", "toolfail", "subagent"):
            with self.subTest(run):
                self.assertEqual(self.told("claude", f"claude-code.{run}"), ["ready", "active", "idle", "ended"])

    def test_hs_110_a_permission_and_a_clear_of_claude_code(self):
        turn = ["active", "active:permission", "active", "idle"]
        run = self.told("claude", "claude-code.interactive-permission-clear")
        # Between the turns a compaction runs and is over: active in between, no ask.
        self.assertEqual(run, ["ready", *turn, "active", "idle", *turn])

    def test_hs_111_runs_of_gemini_cli(self):
        self.assertEqual(self.told("gemini", "gemini-cli.headless"), ["ready", "active", "idle", "ended"])
        asked = self.told("gemini", "gemini-cli.interactive-question-clear")
        self.assertEqual(asked[-5:], ["active", "active:question", "active", "idle", "ended"])

    def test_hs_111_runs_of_opencode(self):
        asked = ["ready", "active", "active:permission", "active", "idle"]
        self.assertEqual(self.told("opencode", "opencode.permission"), asked)

    def test_hs_111_runs_of_codex(self):
        self.assertEqual(self.told("codex", "codex.headless"), ["ready", "active", "idle", "ended"])
        turn = ["active", "active:permission", "active", "idle"]
        self.assertEqual(self.told("codex", "codex.interactive-permission"), ["ready", *turn, "ended"])


if __name__ == "__main__":
    unittest.main()
