"""Replays: all lines and those to come, and what a wait for them is ended by."""

import gc
import json
import os
import select
import signal
import subprocess
import threading
import time
import unittest

import gallivant
from gallivant import words
from gallivant.journal import Frame, Replay, Row
from gallivant.testing import TestHost

from .journal_support import APPENDS, RunCase, descriptors, text_of
from .support import Stopwatch, comes_within, run_python, start_python

LONG = 60


class ReplayCase(RunCase):
    def taken(self, replay, count):
        """So many frames, which have to come."""
        frames = [replay.next(LONG) for _ in range(count)]
        self.assertNotIn(None, frames)
        return frames

    def texts(self, replay, count):
        return [text_of(frame) for frame in self.taken(replay, count)]


class Frames(ReplayCase):
    def test_ex_jrn_69_frames_are_rows_and_more_come_as_they_are_written(self):
        self.says("one", "two")
        replay = self.replay()
        first = replay.next()
        self.assertEqual(first, Frame(id="1", event="line", data='{"id":"1","kind":"line","text":"one"}'))
        self.assertEqual(first.row, Row(id="1", kind="line", text="one"))
        self.assertEqual(text_of(replay.next(0)), "two")
        self.assertIsNone(replay.next(0))
        self.assertIsNone(replay.poll())
        with Stopwatch() as stopwatch:
            self.assertIsNone(replay.next(0.2))
        self.assertGreaterEqual(stopwatch.seconds, 0.19)
        self.says("three", first=3)
        self.assertEqual(self.texts(replay, 1), ["three"])
        self.assertEqual(replay.directory, self.run_directory)

    def test_it_may_begin_before_there_is_a_log(self):
        replay = self.replay()
        self.assertIsNone(replay.next(0.05))
        self.says("one")
        self.assertEqual(self.texts(replay, 1), ["one"])

    def test_ex_jrn_67_it_resumes_just_after_an_id_and_says_where_to_resume(self):
        self.counts(10)
        replay = self.replay("7")
        self.assertEqual(replay.resume_point, "7")
        self.assertEqual([frame.id for frame in self.taken(replay, 3)], ["8", "9", "10"])
        self.assertEqual(replay.resume_point, "10")
        replay.close()
        self.assertEqual(replay.resume_point, "10")
        self.assertIsNone(self.replay("10").next(0.05))

    def test_ex_jrn_67_and_68_what_is_not_retained_and_what_was_never_issued_is_a_gap_first(self):
        self.counts(100)
        first = self.project(keep_bytes=500).first
        for after in ("3", "never"):
            with self.subTest(after):
                gap, line = self.taken(self.replay(after), 2)
                self.assertEqual((gap.id, gap.event), (None, "gap"))
                self.assertEqual(json.loads(gap.data), {"id": None, "kind": "gap", "reason": words.GAP_RETAINED})
                self.assertEqual(gap.row, Row(kind="gap", reason=words.GAP_RETAINED))
                self.assertEqual(line.id, str(first))

    def test_ex_jrn_70_heartbeats_come_after_20_seconds_move_no_cursor_and_may_be_left_out(self):
        self.says("one")
        for row, heartbeats in ((1, True), (2, False)):
            host = TestHost(wall_ms=1_000)
            replay = self.replay(heartbeats=heartbeats, host=host)
            self.taken(replay, row)
            host.advance_ms(19_999)
            self.assertIsNone(replay.next(0))
            host.advance_ms(1)
            heartbeat = replay.next(0)
            self.assertEqual(heartbeat, Frame(event="heartbeat", data="") if heartbeats else None)
            self.assertIsNone(heartbeat and heartbeat.row)
            self.assertEqual(replay.resume_point, str(row))
            self.says("more", first=row + 1)
            self.assertEqual(self.texts(replay, 1), ["more"])

    def test_ex_jrn_70_pending_bytes_are_bounded_whatever_stands_there(self):
        self.says(*("x" * 60_000 for _ in range(30)))
        replay, most = self.replay(), 0
        self.assertEqual((replay.pending_bytes, replay.has_unread, replay.due_in()), (0, True, 0.0))
        for _ in range(30):
            frame = replay.next(LONG)
            most = max(most, replay.pending_bytes + len(frame.data))
        self.assertGreater(most, 100_000)
        self.assertLessEqual(most, 327_680)
        self.assertIsNone(replay.poll())
        self.assertEqual((replay.pending_bytes, replay.has_unread), (0, False))
        self.assertTrue(10 < replay.due_in() <= 20, replay.due_in())

    def test_ex_jrn_69_a_frame_is_a_server_sent_event(self):
        self.assertEqual(Frame(id="7", event="line", data="{}").to_sse(), b"id: 7\nevent: line\ndata: {}\n\n")
        self.assertEqual(Frame(event="heartbeat", data="").to_sse(), b":heartbeat\n\n")
        broken = Frame(event="gap", data="a\rb\r\nc\n\u2028").to_sse()
        self.assertEqual(broken.decode(), "event: gap\ndata: a\ndata: b\ndata: c\ndata: \u2028\n\n")

    def test_ex_jrn_72_a_slow_reader_misses_nothing_of_a_live_log(self):
        writer = start_python(APPENDS, self.run_directory, "3000", "100", "1")
        self.addCleanup(writer.communicate)
        seen = []
        with self.replay() as replay:
            for frame in replay:
                seen.append(text_of(frame))
                if len(seen) % 500 == 0:
                    time.sleep(0.05)
                if len(seen) == 3000:
                    break
        self.assertEqual(seen, [f"line {number}" for number in range(3000)])


class Ending(ReplayCase):
    def test_ctrl_c_ends_a_wait_at_once_and_loses_no_row(self):
        self.says("one")

        def end():
            waiting = start_python(
                "import sys, time\n"
                "from gallivant.journal import Replay\n"
                "replay = Replay.open(sys.argv[1])\n"
                "try:\n"
                "    for frame in replay: print(frame.id, flush=True)\n"
                "except KeyboardInterrupt: print('interrupted', time.monotonic(), replay.resume_point)\n",
                self.run_directory,
            )
            self.assertEqual(waiting.stdout.readline(), "1\n")
            time.sleep(0.3)
            sent = time.monotonic()
            waiting.send_signal(signal.SIGINT)
            out, err = waiting.communicate(timeout=LONG)
            said, at, resume = out.split()
            self.assertEqual((said, resume, err), ("interrupted", "1", ""))
            return float(at) - sent

        comes_within(self, 0.1, end)

    def test_closing_from_another_thread_ends_a_wait_and_an_iteration(self):
        self.says("one")

        def end(wait):
            replay = self.replay()
            replay.next()
            closed = []

            def close():
                time.sleep(0.2)
                closed.append(time.monotonic())
                replay.close()

            thread = threading.Thread(target=close)
            thread.start()
            wait(replay)
            taken = time.monotonic() - closed[0]
            thread.join()
            return taken

        def iterates(replay):
            self.assertEqual(list(replay), [])

        def waits(replay):
            with self.assertRaises(gallivant.CancelledError):
                replay.next()

        for wait in (iterates, waits):
            comes_within(self, 0.1, lambda: end(wait))

    def test_a_cancel_ends_the_wait_under_it_and_loses_no_row(self):
        replay = self.replay()

        def end():
            cancel, raised = gallivant.Cancel(), []

            def wait():
                try:
                    cancel.run(replay.next)
                except gallivant.CancelledError:
                    raised.append(time.monotonic())

            waiting = threading.Thread(target=wait)
            waiting.start()
            time.sleep(0.2)
            set_at = time.monotonic()
            cancel.set()
            waiting.join()
            return raised[0] - set_at

        comes_within(self, 0.1, end)
        self.says("one")
        self.assertEqual(self.texts(replay, 1), ["one"])

    def test_other_threads_run_while_one_waits_and_cannot_use_the_replay(self):
        replay = self.replay()
        frames = []
        waiting = threading.Thread(target=lambda: frames.append(replay.next(LONG)))
        waiting.start()
        # This thread has turns although the other one waits.
        for _ in range(100):
            time.sleep(0.001)
        for use in (replay.next, replay.poll, replay.due_in):
            with self.assertRaises(gallivant.HandleBusyError):
                use()
        self.assertEqual((replay.resume_point, replay.pending_bytes), (None, 0))
        self.assertTrue(waiting.is_alive())
        self.says("one")
        waiting.join()
        self.assertEqual([text_of(frame) for frame in frames], ["one"])

    def test_a_replay_that_is_closed_is_refused_and_one_whose_time_is_no_number(self):
        replay = self.replay()
        for wrong in (float("nan"), 10**400):
            with self.assertRaises(gallivant.InputError):
                replay.next(wrong)
        self.assertFalse(replay.closed)
        replay.close()
        replay.close()
        self.assertTrue(replay.closed)
        self.assertEqual(list(replay), [])
        self.assertIn("closed=True", repr(replay))
        for use in (replay.next, replay.poll, replay.fileno, replay.due_in, lambda: replay.descriptor):
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                use()
            self.assertEqual(raised.exception.reason, "closed")


class Descriptors(ReplayCase):
    def test_ex_jrn_71_nothing_of_a_replay_is_left_whichever_way_it_ends(self):
        self.counts(3)
        gc.collect()
        before, threads = descriptors(), threading.active_count()

        def closed():
            replay = Replay.open(self.run_directory)
            self.assertGreater(len(descriptors()), len(before))
            replay.next()
            replay.close()

        def left_by_an_exception():
            with self.assertRaises(KeyError), Replay.open(self.run_directory) as replay:
                for frame in replay:
                    raise KeyError(frame.id)

        def let_go():
            next(iter(Replay.open(self.run_directory)))

        for end in (closed, left_by_an_exception, let_go):
            for _ in range(3):
                end()
                self.assertEqual((descriptors(), threading.active_count()), (before, threads), end.__name__)

    def test_a_selector_takes_the_replay(self):
        with self.replay() as replay:
            self.assertEqual(replay.fileno(), replay.descriptor)
            self.assertIsNone(replay.poll())
            self.assertEqual(select.select([replay], [], [], 0.1)[0], [])
            self.says("one")
            frame = None
            while frame is None:
                self.assertEqual(select.select([replay], [], [], LONG)[0], [replay])
                frame = replay.poll()
            self.assertEqual(text_of(frame), "one")
            while replay.poll() is not None:
                pass
            self.assertEqual(select.select([replay], [], [], 0.1)[0], [])

    def test_in_a_forked_child_it_is_dead_and_the_parents_lives_on(self):
        self.says("one")
        replay = self.replay()
        replay.next()
        pid = os.fork()
        if pid == 0:
            reasons = []
            for use in (replay.next, replay.poll, replay.fileno):
                try:
                    use()
                except gallivant.ExecutionInputError as error:
                    reasons.append(error.reason)
            replay.close()
            del replay
            os._exit(0 if reasons == ["forked"] * 3 else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.says("two", first=2)
        self.assertEqual(self.texts(replay, 1), ["two"])

    def test_a_child_forked_while_another_thread_waits_is_not_harmed(self):
        said = run_python(
            "import os, sys, threading, time, gallivant\n"
            "replay = gallivant.journal.Replay.open(sys.argv[1])\n"
            "threading.Thread(target=replay.next, args=(1,), daemon=True).start()\n"
            "time.sleep(0.2)\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    try: replay.next()\n"
            "    except gallivant.ExecutionInputError as error: print(error.reason, flush=True)\n"
            "    replay.close()\n"
            "    del replay\n"
            "    os._exit(0)\n"
            "print(os.waitpid(pid, 0)[1])\n",
            self.run_directory,
        )
        self.assertEqual(said, "forked\n0\n")

    def test_where_the_system_does_not_tell_it_looks_by_itself(self):
        host = TestHost(faults=[{"on": "watch", "repeat": True, "do": "error", "errno": "ENOSPC"}])
        replay = self.replay(host=host)
        self.assertIsNone(replay.next(0))
        self.says("one")
        self.assertEqual(self.texts(replay, 1), ["one"])

    def test_a_writer_that_is_killed_leaves_a_replay_that_goes_on(self):
        writer = start_python(APPENDS, self.run_directory, "100000", "10", "0", stdin=subprocess.DEVNULL)
        self.addCleanup(writer.communicate)
        replay = self.replay()
        seen = self.texts(replay, 50)
        writer.kill()
        writer.wait()
        self.project()
        while (frame := replay.next(0.2)) is not None:
            if frame.event == "line":
                seen.append(text_of(frame))
        self.assertEqual(seen, [f"line {number}" for number in range(len(seen))])


if __name__ == "__main__":
    unittest.main()
