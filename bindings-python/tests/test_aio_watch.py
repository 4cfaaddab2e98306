"""Watches in an event loop."""

import asyncio
import os
import threading
import time
import unittest
from unittest import mock

import gallivant
from gallivant import _aio_watch, aio, words

from .support import AT_ONCE, Stopwatch, run_python
from .test_fleet import FleetCase


class AioWatchCase(FleetCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # The tests write in the loop's own thread.
        asyncio.get_running_loop().slow_callback_duration = 60

    async def told(self, watch):
        change = await asyncio.wait_for(watch.next(), 60)
        return [(seat.path, seat.state and (seat.state.reason or seat.state.state)) for seat in change.seats]


class Telling(AioWatchCase):
    async def test_hs_93_a_fleet_is_iterated(self):
        writer = self.agent("a")
        seen = []
        async with aio.Watch.fleet(self.root, max_depth=3) as watch:
            self.assertEqual(watch.path, self.root)
            self.assertIn("gallivant.aio.Watch", repr(watch))
            async for change in watch:
                seen += [(seat.path, seat.state.state) for seat in change.seats]
                if len(seen) == 2:
                    break
                writer.observe("active")
        self.assertEqual(seen, [("a", "idle"), ("a", "active")])
        self.assertTrue(watch.closed)

    async def test_hs_93_a_record_is_told_of_within_50_ms_and_no_thread_waits(self):
        writer = self.agent("a")
        directory = os.path.join(self.root, "a")
        with mock.patch.object(_aio_watch, "offload", wraps=_aio_watch.offload) as offload:
            async with aio.Watch.record(directory, probe="alive") as watch:
                self.assertEqual(await self.told(watch), [(".", "idle")])
                self.assertEqual(offload.call_count, 1, "the first look")
                taken = []
                # The quickest of some: a busy machine may delay any single one.
                for state in ("active", "idle") * 15:
                    waiting = asyncio.ensure_future(self.told(watch))
                    await asyncio.sleep(0.05)
                    with Stopwatch() as stopwatch:
                        writer.observe(state)
                        self.assertEqual(await waiting, [(".", state)])
                    taken.append(stopwatch.seconds)
                    if taken[-1] < 0.05:
                        break
                self.assertLess(min(taken), 0.05)
                self.assertEqual(offload.call_count, 1)

    async def test_many_watches_wait_in_one_loop(self):
        writers = [self.agent(f"a{index}") for index in range(50)]
        watches = [aio.Watch.record(os.path.join(self.root, f"a{index}")) for index in range(50)]
        for watch in watches:
            await watch.next()
        waiting = [asyncio.ensure_future(self.told(watch)) for watch in watches]
        await asyncio.sleep(0.05)
        for writer in writers:
            writer.observe("active")
        self.assertEqual(await asyncio.gather(*waiting), [[(".", "active")]] * 50)
        for watch in watches:
            watch.close()

    async def test_a_probe_that_is_a_function_is_asked_off_the_loop_and_a_coroutine_function_is_refused(self):
        self.agent("a")
        asked = []

        def probe(record):
            asked.append(threading.current_thread())
            return len(asked) < 3

        directory = os.path.join(self.root, "a")
        async with aio.Watch.record(directory, probe=probe, probe_interval_ms=20) as watch:
            self.assertEqual(await self.told(watch), [(".", "idle")])
            self.assertEqual(await self.told(watch), [(".", words.UNKNOWN_SESSION_DEAD)])
        self.assertNotIn(threading.main_thread(), asked)

        async def awaited(record):
            return True

        with self.assertRaises(TypeError):
            aio.Watch.record(directory, probe=awaited)


class Ending(AioWatchCase):
    async def test_cancelling_ends_the_wait_at_once_and_loses_nothing(self):
        writer = self.agent("a")
        async with aio.Watch.fleet(self.root) as watch:
            await watch.next()
            waiting = asyncio.ensure_future(watch.next())
            await asyncio.sleep(0.1)
            with Stopwatch() as stopwatch:
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
            self.assertLess(stopwatch.seconds, AT_ONCE)
            writer.observe("active")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(watch.next(), 0)
            self.assertEqual(await self.told(watch), [("a", "active")])

    async def test_a_first_look_that_is_cancelled_is_told_by_the_next_call(self):
        self.agent("a")
        async with aio.Watch.fleet(self.root) as watch:
            waiting = asyncio.ensure_future(watch.next())
            await asyncio.sleep(0)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertEqual(await self.told(watch), [("a", "idle")])

    async def test_closing_ends_a_wait_and_an_iteration(self):
        watch = aio.Watch.fleet(self.root)
        await watch.next()
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0.05)
        with self.assertRaises(gallivant.HandleBusyError):
            await watch.next()
        watch.close()
        with self.assertRaises(gallivant.CancelledError):
            await asyncio.wait_for(waiting, AT_ONCE)
        with self.assertRaises(gallivant.HarnessStateInputError) as raised:
            await watch.next()
        self.assertEqual(raised.exception.reason, "closed")
        watch = aio.Watch.fleet(self.root)
        asyncio.get_running_loop().call_later(0.1, watch.close)
        self.assertEqual(len([change async for change in watch]), 1)
        self.assertEqual([change async for change in watch], [])

    async def test_a_closed_watch_leaves_no_descriptor_and_no_reader(self):
        before = len(os.listdir("/proc/self/fd"))
        watch = aio.Watch.fleet(self.root)
        await watch.next()
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0.05)
        watch.close()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        # The numbers are used again at once, and nobody watches them.
        others = [os.pipe() for _ in range(4)]
        with self.assertRaises(gallivant.CancelledError):
            await waiting
        for read, write in others:
            self.assertFalse(asyncio.get_running_loop().remove_reader(read))
            os.close(read)
            os.close(write)


class WithoutDescriptor(AioWatchCase):
    """A loop that polls no descriptors stands for a platform that has none: both wait on a thread."""

    def setUp(self):
        super().setUp()
        patched = mock.patch("asyncio.selector_events.BaseSelectorEventLoop.add_reader", side_effect=NotImplementedError)
        # The loop's own reader, by which threads wake it, stands by then.
        self.patched = patched

    async def test_hs_93_a_thread_waits_and_all_else_is_the_same(self):
        writer = self.agent("a")
        with self.patched:
            async with aio.Watch.fleet(self.root) as watch:
                self.assertEqual(await self.told(watch), [("a", "idle")])
                waiting = asyncio.ensure_future(self.told(watch))
                await asyncio.sleep(0.7)
                self.assertFalse(waiting.done())
                writer.observe("active")
                self.assertEqual(await waiting, [("a", "active")])
                waiting = asyncio.ensure_future(watch.next())
                await asyncio.sleep(0.1)
                with Stopwatch() as stopwatch:
                    waiting.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await waiting
                self.assertLess(stopwatch.seconds, AT_ONCE)
                waiting = asyncio.ensure_future(watch.next())
                await asyncio.sleep(0.1)
                watch.close()
                with self.assertRaises(gallivant.CancelledError):
                    await asyncio.wait_for(waiting, AT_ONCE)


class Processes(FleetCase):
    def test_a_program_that_ends_while_a_watch_waits_is_not_kept(self):
        started = time.monotonic()
        run_python(
            "import asyncio, sys\n"
            "from unittest import mock\n"
            "from gallivant import aio\n"
            "async def main(root):\n"
            "    for polls in (True, False):\n"
            "        watch = aio.Watch.fleet(root)\n"
            "        asyncio.ensure_future(watch.next())\n"
            "        asyncio.ensure_future(aio.Watch.fleet(root).next())\n"
            "        await asyncio.sleep(0.2)\n"
            "        if polls: asyncio.get_running_loop().add_reader = mock.Mock(side_effect=NotImplementedError)\n"
            "asyncio.run(main(sys.argv[1]))\n",
            self.root,
        )
        self.assertLess(time.monotonic() - started, AT_ONCE)


if __name__ == "__main__":
    unittest.main()
