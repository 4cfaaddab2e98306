"""The package for asyncio."""

import asyncio
import os
import threading
import time
import unittest

import gallivant
from gallivant import aio, words

from .support import AT_ONCE, CLAIMANT, PATIENT, SeatCase, held_lock, run_python, same

BRIEF = gallivant.Options(lock_wait_ms=300)
NEW = {"agent": "worker", "harness": "claude", "pty_session": "w1"}


class AioCase(SeatCase, unittest.IsolatedAsyncioTestCase):
    async def claimed_aio(self, **options):
        claim = await aio.claim(self.seat, **CLAIMANT, **options)
        return aio.Writer(self.seat, **CLAIMANT, pty_session="w1", sequence=claim.sequence, **options)

    async def cancel_while_locked(self, awaitable):
        """Cancels what waits for the lock and answers how long it took to pass the cancellation on."""
        with held_lock(self.seat):
            task = asyncio.ensure_future(awaitable)
            await asyncio.sleep(0.2)
            self.assertFalse(task.done())
            started = time.monotonic()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return time.monotonic() - started


class Calls(AioCase):
    async def test_writers_and_readers_answer_as_their_synchronous_selves(self):
        writer = await self.claimed_aio()
        self.assertEqual(writer.sequence, 1)
        self.assertEqual((writer.agent, writer.harness, writer.token), ("worker", "claude", "tok"))
        self.assertEqual((writer.pty_session, writer.directory), ("w1", self.seat))
        human = {"blocked_on": "human", "ask": "review"}
        report = await writer.observe("active", **human, input_buffer="empty", reason="r", exit="e")
        self.assertEqual(report, gallivant.Report(outcome="landed"))
        reader = aio.Reader(self.seat)
        self.assertEqual(reader.path, self.seat)
        state = await reader.read()
        self.assertTrue(same(state, gallivant.Reader(self.seat).read()))
        self.assertEqual((state.ask, state.reason, state.exit), ("review", "r", "e"))
        self.assertEqual((await reader.snapshot()).record.ask, "review")
        self.assertEqual((await writer.heartbeat()).outcome, "landed")
        writer.interrupt()
        observation = gallivant.Observation("active")
        self.assertEqual((await writer.observe_unless_ended(observation)).outcome, "landed")
        self.assertEqual((await writer.ended("exit 0")).outcome, "landed")
        self.assertEqual((await writer.observe_unless_ended("idle", reason="late")).refusal, "terminal")
        self.assertIn("gallivant.aio.Writer", repr(writer))
        self.assertIn("gallivant.aio.Reader", repr(reader))
        self.assertIsNone(await aio.Reader(self.seat + "/nothing").read())

    async def test_errors_pass_through(self):
        writer = await self.claimed_aio()
        with self.assertRaises(gallivant.HarnessStateUnknownStateError):
            await writer.observe("unknown")
        with self.assertRaises(gallivant.HarnessStateBadTokenError):
            await aio.claim_wrapperless(self.seat, **CLAIMANT)
        self.assertIsNone(await aio.claim_wrapperless(self.seat, **{**CLAIMANT, "token": "claude-session-1"}))

    async def test_a_session_is_claimed_handed_over_and_ended(self):
        async with await aio.Session.start(self.seat, **NEW) as session:
            self.assertEqual(session.claim.sequence, 1)
            self.assertTrue(session.holds_lease)
            self.assertIsNone(session.harness_process)
            process = await session.attach(os.getpid())
            self.assertEqual(session.harness_process, process)
            self.assertEqual((await aio.Reader(self.seat).read("lease")).state, "ready")
            self.assertEqual((await aio.Reader(self.seat).read(process)).state, "ready")
            self.assertEqual(session.environment().to_env(), session.to_env())
            self.assertEqual((await session.heartbeat_if_due()).outcome, "not-due")
            self.assertTrue(await session.writer.observe("idle"))
            self.assertIn("gallivant.aio.Session", repr(session))
        self.assertEqual(self.record()["exit"], "session end")
        session = await aio.Session.start(self.seat, **NEW, token="own")
        self.assertEqual((await session.end("signal 9")).outcome, "landed")
        self.assertEqual(self.record()["exit"], "signal 9")
        with self.assertRaises(ZeroDivisionError):
            async with await aio.Session.start(self.seat, **NEW):
                1 // 0
        self.assertEqual(self.record()["exit"], "error")

    async def test_hs_68_a_block_under_the_lock(self):
        writer = await self.claimed_aio(options=BRIEF)
        other = gallivant.Writer(self.seat, **CLAIMANT, pty_session="w1", sequence=1, options=BRIEF)
        async with writer.current_ownership() as owned:
            self.assertEqual(owned.sequence, 1)
            with self.assertRaises(gallivant.HarnessStateBusyError):
                await asyncio.get_running_loop().run_in_executor(None, other.observe, "idle")
        self.assertTrue(other.observe("idle"))
        guard = await writer.lock_current_ownership()
        guard.release()
        await aio.claim(self.seat, **{**CLAIMANT, "token": "later"})
        async with writer.current_ownership() as owned:
            self.assertIsNone(owned)

    async def test_the_loop_runs_while_calls_wait(self):
        writer = await self.claimed_aio(options=PATIENT)
        with held_lock(self.seat):
            tasks = [asyncio.ensure_future(writer.observe("idle")) for _ in range(5)]
            # A call that kept the loop would be over, as busy, before the loop's next turn.
            for _ in range(20):
                await asyncio.sleep(0.005)
            self.assertFalse(any(task.done() for task in tasks))
        for report in await asyncio.gather(*tasks):
            self.assertIn(report.outcome, ("landed", "coalesced"))


class Cancelling(AioCase):
    async def test_cancelling_ends_the_wait_and_nothing_is_written_afterwards(self):
        writer = await self.claimed_aio(options=PATIENT)
        before = self.bytes()
        for waiting in (
            lambda: writer.observe("idle"),
            lambda: writer.ended("exit 0"),
            lambda: writer.lock_current_ownership(),
            lambda: aio.claim(self.seat, **CLAIMANT, options=PATIENT),
            lambda: aio.Session.start(self.seat, **NEW, options=PATIENT),
        ):
            self.assertLess(await self.cancel_while_locked(waiting()), AT_ONCE)
        await asyncio.sleep(0.2)
        self.assertEqual(self.bytes(), before)
        self.assertTrue(await writer.observe("idle"))

    async def test_a_second_cancellation_does_not_cut_the_first_short(self):
        writer = await self.claimed_aio(options=PATIENT)
        with held_lock(self.seat):
            task = asyncio.ensure_future(writer.observe("idle"))
            await asyncio.sleep(0.2)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        before = self.bytes()
        await asyncio.sleep(0.2)
        self.assertEqual(self.bytes(), before)

    async def test_a_time_limit_ends_the_wait(self):
        writer = await self.claimed_aio(options=PATIENT)
        with held_lock(self.seat):
            started = time.monotonic()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(writer.observe("idle"), 0.2)
            self.assertLess(time.monotonic() - started, AT_ONCE)

    async def test_a_block_that_is_cancelled_while_it_is_entered_holds_nothing(self):
        writer = await self.claimed_aio(options=PATIENT)

        async def enter():
            async with writer.current_ownership():
                self.fail("the block ran")

        self.assertLess(await self.cancel_while_locked(enter()), AT_ONCE)
        self.assertTrue(await writer.observe("idle"))

    async def test_a_cancelled_block_ends_its_session_as_an_error(self):
        entered = asyncio.Event()

        async def run():
            async with await aio.Session.start(self.seat, **NEW) as session:
                await session.writer.observe("active")
                entered.set()
                await asyncio.sleep(60)

        task = asyncio.ensure_future(run())
        await entered.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(self.record()["exit"], "error")

    async def test_calls_beyond_the_pool_wait_their_turn_and_can_be_cancelled(self):
        writer = await self.claimed_aio(options=PATIENT)
        with held_lock(self.seat):
            tasks = [asyncio.ensure_future(writer.observe("idle")) for _ in range(40)]
            await asyncio.sleep(0.2)
            for task in tasks:
                task.cancel()
            done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), AT_ONCE)
        self.assertTrue(all(isinstance(result, asyncio.CancelledError) for result in done))
        self.assertTrue(await writer.observe("idle"))


class Probing(AioCase):
    async def asyncSetUp(self):
        self.writer = await self.claimed_aio()
        await self.writer.observe("active")
        self.reader = aio.Reader(self.seat, options=gallivant.Options(probe_budget_ms=60_000))

    async def judged(self, probe, reader=None):
        state = await (reader or self.reader).read(probe)
        return state.reason if state.is_unknown else state.state

    async def test_a_probe_may_be_a_coroutine_function(self):
        asked = []
        for answer, wanted in (
            ("alive", "active"),
            (True, "active"),
            (None, "active"),
            ("dead", words.UNKNOWN_SESSION_DEAD),
            (False, words.UNKNOWN_SESSION_DEAD),
        ):

            async def probe(record, answer=answer):
                asked.append((record.incarnation, threading.current_thread()))
                await asyncio.sleep(0)
                return answer

            self.assertEqual(await self.judged(probe), wanted)
        self.assertEqual(asked, [("tok", threading.main_thread())] * 5)

    async def test_hs_81_a_coroutine_that_raises_or_takes_too_long_is_indeterminate(self):
        cancelled = []

        async def raising(record):
            raise ZeroDivisionError

        async def slow(record):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise
            return "dead"

        self.assertEqual(await self.judged(raising), "active")
        hasty = aio.Reader(self.seat, options=gallivant.Options(probe_budget_ms=200))
        self.assertEqual(await self.judged(slow, hasty), "active")
        self.assertEqual(cancelled, [True])

    async def test_hs_79_a_coroutine_is_asked_only_where_its_answer_decides(self):
        asked = []

        async def probe(record):
            asked.append(record)

        await self.writer.ended("exit 0")
        self.assertEqual(await self.judged(probe), "ended")
        self.assertIsNone(await aio.Reader(self.seat + "/nothing").read(probe))
        self.assertEqual(asked, [])

    async def test_hs_80_a_live_record_without_a_session_is_unfenced_where_a_probe_is_given(self):
        unfenced = self.bytes().replace(b'"ptySession":"w1",', b"")
        with open(os.path.join(self.seat, "harness-state"), "wb") as record:
            record.write(unfenced)

        async def probe(record):
            return "alive"

        self.assertEqual(await self.judged(probe), words.UNKNOWN_UNFENCED_RECORD)
        self.assertEqual(await self.judged(None), "active")

    async def test_an_object_with_an_asynchronous_call_is_a_coroutine_function(self):
        class Probe:
            async def __call__(self, record):
                return False

        self.assertEqual(await self.judged(Probe()), words.UNKNOWN_SESSION_DEAD)

    async def test_what_is_no_answer_is_indeterminate_and_what_is_no_probe_is_refused(self):
        for answer in ("ded", 0, b"dead", "lease"):

            async def probe(record, answer=answer):
                return answer

            self.assertEqual(await self.judged(probe), "active")
        with self.assertRaises(gallivant.HarnessStateInputError):
            await self.judged("ded")

    async def test_a_plain_function_is_asked_off_the_loop(self):
        asked = []
        self.assertEqual(await self.judged(lambda record: asked.append(threading.current_thread())), "active")
        self.assertNotEqual(asked, [threading.main_thread()])

    async def test_cancelling_a_read_cancels_its_probe(self):
        entered = asyncio.Event()

        async def probe(record):
            entered.set()
            await asyncio.sleep(60)

        reader = aio.Reader(self.seat, options=gallivant.Options(probe_budget_ms=60_000))
        task = asyncio.ensure_future(reader.read(probe))
        await entered.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task


class Processes(SeatCase):
    def test_a_forked_child_has_a_pool_of_its_own(self):
        said = run_python(
            "import asyncio, os, sys\n"
            "from gallivant import aio\n"
            "async def claim(token):\n"
            "    return (await aio.claim(sys.argv[1], agent='a', harness='h', token=token)).sequence\n"
            "print(asyncio.run(claim('parent')), flush=True)\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    print(asyncio.run(claim('child')), flush=True)\n"
            "    os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
            "print(asyncio.run(claim('parent')))\n",
            self.seat,
        )
        self.assertEqual(said, "1\n2\n3\n")

    def test_a_program_that_ends_while_a_call_waits_is_not_kept(self):
        self.claimed()
        with held_lock(self.seat):
            started = time.monotonic()
            run_python(
                "import asyncio, sys\n"
                "from gallivant import Options, aio\n"
                "patient = Options(lock_wait_ms=60_000)\n"
                "async def main():\n"
                "    asyncio.ensure_future(aio.claim(sys.argv[1], agent='a', harness='h', token='t', options=patient))\n"
                "    await asyncio.sleep(0.2)\n"
                "asyncio.run(main())\n",
                self.seat,
            )
            self.assertLess(time.monotonic() - started, AT_ONCE)

    def test_a_program_that_ends_while_a_call_is_past_its_wait_lets_it_finish(self):
        said = run_python(
            "import time\n"
            "from gallivant import _offload\n"
            "def late():\n"
            "    time.sleep(0.3)\n"
            "    print('over', flush=True)\n"
            "_offload.submit(late)\n"
            "_offload.submit(lambda: 1 / 0)\n"
        )
        self.assertEqual(said, "over\n")

    def test_a_thread_serves_one_call_after_the_other(self):
        said = run_python(
            "import asyncio, threading\n"
            "from gallivant import _offload\n"
            "async def main():\n"
            "    for _ in range(200):\n"
            "        await _offload.offload(int)\n"
            "        # One that is about to wait for more is not counted on.\n"
            "        while not _offload._pool._free: await asyncio.sleep(0.001)\n"
            "    return threading.active_count()\n"
            "print(asyncio.run(main()))\n"
        )
        self.assertEqual(said, "2\n")


if __name__ == "__main__":
    unittest.main()
