"""Idempotent creates in an event loop."""

import asyncio
import gc
import os
import threading
import time
import unittest

import gallivant
from gallivant import _offload, aio

from .idempotency_support import BODY, OPERATION, SCOPE, StoreCase
from .support import AT_ONCE, Stopwatch

ANSWER = bytes(range(256))


def looped(test):
    """Runs a coroutine method in a loop of its own, within a minute."""

    def run(self):
        asyncio.run(asyncio.wait_for(test(self), 120))

    run.__name__ = test.__name__
    return run


class Awaited(StoreCase):
    async def opened(self, **options):
        return await aio.IdempotencyStore.open(self.path, **options)

    async def begun(self, store, key="k-1", body=BODY):
        return await store.begin(OPERATION, SCOPE, key, body)

    @looped
    async def test_ik_01_a_create_and_its_repeat(self):
        store = await self.opened()
        reservation = await self.begun(store)
        self.assertIsInstance(reservation, aio.Reservation)
        async with reservation as same:
            self.assertIs(same, reservation)
            await reservation.keep_alive()
            await reservation.complete("h-1", ANSWER)
        claim = await self.begun(store)
        self.assertEqual((claim.kind, claim.how, claim.resource, claim.answer), ("replay", "replayed", "h-1", ANSWER))
        self.assertTrue(await claim.still_stands())
        self.assertEqual((await store.inspect(OPERATION, SCOPE, "k-1")).state, "finished")
        self.assertTrue(await store.capability())
        self.assertEqual((await store.sweep()).removed, 0)
        async with await claim.recreate() as again:
            self.assertEqual(again.how, "recreated")

    @looped
    async def test_ik_05_a_block_releases_and_after_the_mark_leaves_it_unknown(self):
        store = await self.opened()
        with self.assertRaises(EOFError):
            async with await self.begun(store):
                raise EOFError
        self.assertIsNone(self.inspect())
        async with await self.begun(store) as reservation:
            await reservation.effect_starting()
        unknown = await self.begun(store)
        self.assertEqual(unknown.kind, "unknown")
        self.assertEqual((await unknown.settle("h-1")).resource, "h-1")

    @looped
    async def test_ik_06_waiting_takes_no_thread_and_wakes_when_it_lands(self):
        store = await self.opened()
        reservation = await self.begun(store)
        ticket = await self.begun(store)
        self.assertIsInstance(ticket, aio.Ticket)
        with self.assertRaises(gallivant.IdempotencyInProgressError):
            await ticket.wait(0.05)
        waits = [asyncio.ensure_future(ticket.wait(60)) for _ in range(100)]
        await asyncio.sleep(0.5)
        self.assertLessEqual(threading.active_count(), 1 + _offload._MOST_THREADS)
        # All of them are told by one descriptor.
        self.assertLess(len(os.listdir("/proc/self/fd")), 50)
        with Stopwatch() as watch:
            await reservation.complete("h-1", ANSWER)
            begun = await asyncio.gather(*waits)
        self.assertEqual({(one.kind, one.how, one.answer) for one in begun}, {("replay", "waited", ANSWER)})
        self.assertLess(watch.seconds, AT_ONCE)

    @looped
    async def test_ik_06_another_process_ends_a_wait(self):
        store = await self.opened()
        reservation = self.begin()
        ticket = await self.begun(store)
        waits = asyncio.ensure_future(ticket.wait(None))
        await asyncio.sleep(0.2)
        self.assertFalse(waits.done())
        reservation.release()
        begun = await waits
        self.assertEqual((begun.kind, begun.how), ("create", "waited"))
        await begun.release()

    @looped
    async def test_cancelling_a_wait_ends_it_at_once_and_reserves_nothing(self):
        store = await self.opened()
        reservation = await self.begun(store)
        waits = asyncio.ensure_future((await self.begun(store)).wait(None))
        await asyncio.sleep(0.2)
        waits.cancel()
        with Stopwatch() as watch, self.assertRaises(asyncio.CancelledError):
            await waits
        self.assertLess(watch.seconds, AT_ONCE)
        await reservation.release()
        self.assertIsNone(self.inspect())

    @looped
    async def test_cancelling_at_any_moment_of_a_create_leaks_no_reservation(self):
        store = await self.opened()

        async def create():
            async with await self.begun(store) as reservation:
                await reservation.keep_alive()

        for number in range(60):
            task = asyncio.ensure_future(create())
            for _ in range(number % 12):
                await asyncio.sleep(0)
            await asyncio.sleep((number // 12) * 0.001)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            self.assertIsNone(self.inspect(), number)

    @looped
    async def test_a_cancellation_during_the_end_of_a_block_waits_for_it(self):
        store = await self.opened()
        reservation = await self.begun(store)
        with self.busy():
            task = asyncio.ensure_future(reservation.__aexit__(None, None, None))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.sleep(0.1)
            self.assertFalse(task.done())
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertIsNone(self.inspect())

    @looped
    async def test_a_cancelled_begin_on_a_busy_store_ends_within_the_tenth_of_a_second(self):
        store = await self.opened()
        with self.busy():
            task = asyncio.ensure_future(store.begin(OPERATION, SCOPE, "k-1", BODY, timeout=60))
            await asyncio.sleep(0.2)
            task.cancel()
            with Stopwatch() as watch, self.assertRaises(asyncio.CancelledError):
                await task
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertIsNone(self.inspect())

    @looped
    async def test_the_loop_runs_while_the_store_is_busy(self):
        store = await self.opened()
        with self.busy():
            task = asyncio.ensure_future(store.begin(OPERATION, SCOPE, "k-1", BODY, timeout=0.5))
            turns, until = 0, time.monotonic() + 0.3
            while time.monotonic() < until:
                await asyncio.sleep(0)
                turns += 1
            with self.assertRaises(gallivant.IdempotencyBusyError):
                await task
        self.assertGreater(turns, 50)

    @looped
    async def test_ik_16_of_32_tasks_one_makes_the_thing(self):
        store = await self.opened()

        async def create():
            begun = await self.begun(store)
            if begun.kind == "in_progress":
                begun = await begun.wait(60)
            if begun.kind == "create":
                await asyncio.sleep(0.05)
                await begun.complete("h-1", ANSWER)
            return begun.kind

        kinds = await asyncio.gather(*(create() for _ in range(32)))
        self.assertEqual(sorted(kinds), ["create"] + ["replay"] * 31)

    @looped
    async def test_a_reservation_is_used_from_a_thread_too(self):
        store = await self.opened()
        async with await self.begun(store) as reservation:
            await asyncio.get_running_loop().run_in_executor(None, reservation.blocking.effect_starting)
            self.assertEqual(self.inspect().state, "marked")
            await reservation.release()

    @looped
    async def test_a_loop_without_readers_polls(self):
        store = await self.opened()
        reservation = await self.begun(store)
        ticket = await self.begun(store)
        loop = asyncio.get_running_loop()

        def none(*_arguments):
            raise NotImplementedError

        loop.add_reader = none
        try:
            waits = asyncio.ensure_future(ticket.wait(60))
            await asyncio.sleep(0.2)
            await reservation.complete("h-1", b"")
            self.assertEqual((await waits).kind, "replay")
        finally:
            del loop.add_reader

    @looped
    async def test_letting_go_of_everything_leaves_no_descriptor(self):
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        # Another file: SQLite keeps descriptors of one that the process has open elsewhere.
        store = await aio.IdempotencyStore.open(self.path + ".own")
        reservation = await self.begun(store)
        with self.assertRaises(gallivant.IdempotencyInProgressError):
            await (await self.begun(store)).wait(0.1)
        await reservation.release()
        del store, reservation
        # A thread of the pool may hold what it worked on for a moment longer.
        until = time.monotonic() + 60
        while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < until:
            gc.collect()
            await asyncio.sleep(0.01)
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before)


if __name__ == "__main__":
    unittest.main()
