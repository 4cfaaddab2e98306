"""The journal in an event loop: nothing of a replay is left, and a hundred of them follow one log."""

import asyncio
import gc
import os
import random
import threading
import time
import unittest
from unittest import mock

import gallivant
from gallivant import _aio_journal, _offload, aio, words
from gallivant.journal import Event
from gallivant.redaction import Redactor
from gallivant.testing import TestHost

from .journal_support import APPENDS, OWNER, RunCase, descriptors, text_of
from .support import AT_ONCE, Stopwatch, run_python, start_python

READERS = 100


class AioCase(RunCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        # The tests write in the loop's own thread.
        asyncio.get_running_loop().slow_callback_duration = 60

    async def opened(self, last_event_id=None, **options):
        replay = await aio.Replay.open(self.run_directory, last_event_id, **options)
        self.addCleanup(replay.close)
        return replay

    async def texts(self, replay, count):
        return [text_of(await asyncio.wait_for(replay.next(), 60)) for _ in range(count)]


class Writing(AioCase):
    async def test_ex_jrn_06_pages_are_appended_projected_and_read(self):
        page = [Event("a", "provider", "output", "one"), Event("b", "provider", "output", "two")]
        async with await aio.Journal.open(self.run_directory, OWNER, Redactor()) as journal:
            self.assertEqual([one.how for one in (await journal.append(page)).placed], ["recorded"] * 2)
            self.assertEqual([one.how for one in (await journal.append(iter(page))).placed], ["known"] * 2)
            self.assertEqual(((await journal.recover()).gap, journal.owner, journal.directory), (False, OWNER, self.run_directory))
            self.assertIn("gallivant.aio.Journal", repr(journal))
        with self.assertRaises(gallivant.ExecutionInputError):
            await journal.recover()
        async with await aio.Projection.open(self.run_directory) as projection:
            self.assertEqual((await projection.catch_up()).next, 3)
            self.assertEqual((await projection.trim(0)).first, 3)
        self.says("three", first=3)
        async with await aio.LogReader.open(self.run_directory) as reader:
            self.assertEqual([row.text for row in (await reader.tail()).rows], [None, "three"])
            self.assertEqual([row.id for row in (await reader.lines("2", 5)).rows], ["3"])
            self.assertEqual((await reader.history("3")).rows[0].reason, words.GAP_RETAINED)
        seen = []
        self.assertEqual((await aio.check_journal(self.run_directory, visit=seen.append)).records, 3)
        self.assertIsNone(await aio.read_run_result(self.run_directory))
        self.assertEqual(await aio.retention_candidates(self.root), [])

    async def test_cancelling_an_append_lets_it_finish_first(self):
        journal = await aio.Journal.open(self.run_directory, OWNER, Redactor())
        begun, go_on = threading.Event(), threading.Event()
        native = journal._journal

        class Slow:
            def append(self, page):
                begun.set()
                go_on.wait(60)
                return native.append(page)

        with mock.patch.object(journal, "_journal", Slow()):
            appending = asyncio.ensure_future(journal.append([Event("a", "provider", "t")]))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            appending.cancel()
            await asyncio.sleep(0.05)
            self.assertFalse(appending.done())
            go_on.set()
            with self.assertRaises(asyncio.CancelledError):
                await appending
        await journal.close()
        # Refused by the call itself, which was cancelled before it reached the disk, or whole.
        self.assertIn(os.path.exists(self.path("events.jsonl")) and len(self.records()), (False, 1))


class Frames(AioCase):
    async def test_ex_jrn_69_a_replay_is_iterated_and_no_thread_waits(self):
        self.says("one", "two")
        seen = []
        with mock.patch.object(_aio_journal, "offload", wraps=_aio_journal.offload) as offload:
            async with await aio.Replay.open(self.run_directory) as replay:
                async for frame in replay:
                    seen.append(text_of(frame))
                    if len(seen) == 5:
                        break
                    if len(seen) >= 2:
                        self.says(f"more {len(seen)}", first=len(seen) + 1)
                self.assertEqual(offload.call_count, 1, "the first page, and nothing after it")
                self.assertEqual((replay.resume_point, replay.directory), ("5", self.run_directory))
                self.assertIn("gallivant.aio.Replay", repr(replay))
        self.assertEqual(seen, ["one", "two", "more 2", "more 3", "more 4"])
        self.assertTrue(replay.closed)

    async def test_ex_jrn_67_it_resumes_just_after_an_id(self):
        self.counts(5)
        replay = await self.opened("3")
        self.assertEqual(replay.resume_point, "3")
        self.assertEqual(await self.texts(replay, 2), ["line 4", "line 5"])
        self.assertIsNone(await replay.poll())

    async def test_ex_jrn_70_a_heartbeat_wakes_the_loop(self):
        host = TestHost(wall_ms=1_000)
        replay = await self.opened(host=host)
        self.assertIsNone(await replay.poll())
        waiting = asyncio.ensure_future(replay.next())
        await asyncio.sleep(0.05)
        host.advance_ms(20_000)
        # The descriptor's own alarm runs on the machine's clock: a change wakes the loop in its place.
        with open(self.path("job.log"), "w"):
            pass
        frame = await asyncio.wait_for(waiting, 60)
        self.assertEqual((frame.event, frame.id, replay.resume_point), ("heartbeat", None, None))

    async def test_long_reads_are_done_on_a_thread_and_other_tasks_get_their_turn(self):
        self.says(*("x" * 40_000 for _ in range(40)))
        turns, done = 0, False

        async def others():
            nonlocal turns
            while not done:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.ensure_future(others())
        with mock.patch.object(_aio_journal, "offload", wraps=_aio_journal.offload) as offload:
            replay = await self.opened()
            most = 0
            for _ in range(40):
                await replay.next()
                most = max(most, replay.pending_bytes)
            done = True
            await other
            self.assertGreater(offload.call_count, 4)
            self.assertLess(offload.call_count, 20)
        self.assertLessEqual(most, 327_680)
        self.assertGreater(turns, 4)
        self.counts(300, first=41)
        turns, done = 0, False
        other = asyncio.ensure_future(others())
        await self.texts(replay, 300)
        done = True
        await other
        self.assertGreaterEqual(turns, 4)


class Ending(AioCase):
    async def test_cancelling_ends_the_wait_at_once_and_loses_nothing(self):
        async with await aio.Replay.open(self.run_directory) as replay:
            self.assertIsNone(await replay.poll())
            waiting = asyncio.ensure_future(replay.next())
            await asyncio.sleep(0.1)
            with Stopwatch() as stopwatch:
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
            self.assertLess(stopwatch.seconds, AT_ONCE)
            self.says("one", "two")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(replay.next(), 0)
            self.assertEqual(await self.texts(replay, 2), ["one", "two"])

    async def test_a_first_page_that_is_cancelled_is_given_by_the_next_call(self):
        self.says("one")
        replay = await self.opened()
        waiting = asyncio.ensure_future(replay.next())
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertIsNone(replay.resume_point)
        self.assertEqual(await self.texts(replay, 1), ["one"])
        self.assertEqual(replay.resume_point, "1")

    async def test_closing_ends_a_wait_and_an_iteration(self):
        replay = await self.opened()
        waiting = asyncio.ensure_future(replay.next())
        await asyncio.sleep(0.05)
        for use in (replay.next, replay.poll):
            with self.assertRaises(gallivant.HandleBusyError):
                await use()
        replay.close()
        with self.assertRaises(gallivant.CancelledError):
            await asyncio.wait_for(waiting, AT_ONCE)
        with self.assertRaises(gallivant.ExecutionInputError) as raised:
            await replay.next()
        self.assertEqual(raised.exception.reason, "closed")
        self.says("one")
        replay = await self.opened()
        asyncio.get_running_loop().call_later(0.1, replay.close)
        self.assertEqual([text_of(frame) async for frame in replay], ["one"])
        self.assertEqual([frame async for frame in replay], [])

    async def test_closing_while_a_page_is_read_ends_an_iteration(self):
        self.says("one")
        for pause in (0, 0.001, 0.003):
            replay = await self.opened()

            async def iterates():
                return [text_of(frame) async for frame in replay]

            iterating = asyncio.ensure_future(iterates())
            await asyncio.sleep(pause)
            replay.close()
            self.assertIn(await asyncio.wait_for(iterating, AT_ONCE), ([], ["one"]))

    async def test_ex_jrn_71_when_consumers_go_away_nothing_is_left_of_them(self):
        self.counts(3)
        loop = asyncio.get_running_loop()
        # All threads of the pool, which stay for the next call, whoever makes it.
        pool = threading.Barrier(_offload._MOST_THREADS)
        await asyncio.gather(*(_offload.offload(pool.wait) for _ in range(pool.parties)))
        gc.collect()
        before, threads = descriptors(), threading.active_count()
        tasks = len(asyncio.all_tasks())
        added, removed = [], []
        add_reader, remove_reader = loop.add_reader, loop.remove_reader

        def adding(descriptor, *arguments):
            added.append(descriptor)
            return add_reader(descriptor, *arguments)

        def removing(descriptor):
            removed.append(descriptor)
            return remove_reader(descriptor)

        async def follows():
            async with await aio.Replay.open(self.run_directory) as replay:
                async for _ in replay:
                    pass

        async def fails():
            with self.assertRaises(KeyError):
                async with await aio.Replay.open(self.run_directory) as replay:
                    async for frame in replay:
                        raise KeyError(frame.id)

        async def leaves():
            replay = await aio.Replay.open(self.run_directory)
            await replay.next()
            replay.close()

        with mock.patch.object(loop, "add_reader", adding), mock.patch.object(loop, "remove_reader", removing):
            following = [asyncio.ensure_future(follows()) for _ in range(20)]
            until = time.monotonic() + 60
            while len(set(added) - set(removed)) < 20:
                self.assertLess(time.monotonic(), until)
                await asyncio.sleep(0.01)
            self.assertEqual(threading.active_count(), threads, "no thread waits")
            watchers = descriptors().count("anon_inode:inotify") - before.count("anon_inode:inotify")
            timers = descriptors().count("anon_inode:[timerfd]") - before.count("anon_inode:[timerfd]")
            self.assertEqual((watchers, timers % 20), (20, 0))
            for task in following[:10]:
                task.cancel()
            await asyncio.wait(following[:10])
            await asyncio.gather(fails(), leaves())
            for task in following[10:]:
                task.cancel()
            await asyncio.wait(following)
        self.assertEqual(sorted(added), sorted(removed))
        self.assertEqual((descriptors(), threading.active_count()), (before, threads))
        self.assertEqual(len(asyncio.all_tasks()), tasks)

    async def test_opening_that_is_cancelled_leaves_no_descriptor(self):
        await aio.check_journal(self.run_directory)
        gc.collect()
        before = descriptors()
        for open in (
            lambda: aio.Replay.open(self.run_directory),
            lambda: aio.Journal.open(self.run_directory, OWNER, Redactor()),
            lambda: aio.LogReader.open(self.run_directory),
        ):
            for _ in range(20):
                opening = asyncio.ensure_future(open())
                await asyncio.sleep(0)
                opening.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await opening
            self.assertEqual(descriptors(), before)


class Many(AioCase):
    async def test_ex_jrn_72_a_hundred_readers_of_one_live_log_miss_no_row_and_see_none_twice(self):
        lines, most = 2000, 0
        writer = start_python(APPENDS, self.run_directory, str(lines), "20", "1")
        self.addCleanup(writer.communicate)
        threads = threading.active_count()

        async def follows(number):
            nonlocal most
            seen = []
            async with await aio.Replay.open(self.run_directory, heartbeats=False) as replay:
                async for frame in replay:
                    seen.append(text_of(frame))
                    most = max(most, replay.pending_bytes)
                    if number % 10 == 0 and len(seen) % 200 == 0:
                        await asyncio.sleep(0.01)
                    if len(seen) == lines:
                        break
            return seen

        all_seen = await asyncio.wait_for(asyncio.gather(*(follows(number) for number in range(READERS))), 120)
        wanted = [f"line {number}" for number in range(lines)]
        self.assertEqual([number for number, seen in enumerate(all_seen) if seen != wanted], [])
        self.assertLessEqual(most, 327_680)
        self.assertLessEqual(threading.active_count() - threads, 32, "the pool, and no thread for each")


    async def test_ex_jrn_72_waits_that_are_cancelled_at_any_moment_lose_no_row_and_double_none(self):
        seed = int(os.environ.get("GALLIVANT_SEED", time.time_ns() % 2**32))
        chance, lines = random.Random(seed), 1500
        writer = start_python(APPENDS, self.run_directory, str(lines), "10", "1")
        self.addCleanup(writer.communicate)
        seen, cancelled, resume = [], 0, None
        replay = await aio.Replay.open(self.run_directory, heartbeats=False)
        while len(seen) < lines:
            waiting = asyncio.ensure_future(replay.next())
            for _ in range(chance.choice((0, 1, 2, 3, 50))):
                await asyncio.sleep(0)
            waiting.cancel()
            try:
                frame = await waiting
            except asyncio.CancelledError:
                cancelled += 1
            else:
                seen.append(text_of(frame))
                resume = frame.id
            self.assertEqual(replay.resume_point, resume, f"seed {seed}")
            if chance.random() < 0.01:
                replay.close()
                replay = await aio.Replay.open(self.run_directory, resume, heartbeats=False)
        replay.close()
        self.assertEqual(seen, [f"line {number}" for number in range(lines)], f"seed {seed}")
        self.assertGreater(cancelled, 10)


class WithoutDescriptor(AioCase):
    async def test_where_the_loop_polls_no_descriptors_a_thread_waits_and_all_else_is_the_same(self):
        self.says("one")
        with mock.patch("asyncio.selector_events.BaseSelectorEventLoop.add_reader", side_effect=NotImplementedError):
            replay = await self.opened()
            self.assertEqual(await self.texts(replay, 1), ["one"])
            waiting = asyncio.ensure_future(self.texts(replay, 1))
            await asyncio.sleep(0.7)
            self.assertFalse(waiting.done())
            self.says("two", first=2)
            self.assertEqual(await waiting, ["two"])
            waiting = asyncio.ensure_future(replay.next())
            await asyncio.sleep(0.1)
            with Stopwatch() as stopwatch:
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
            self.assertLess(stopwatch.seconds, AT_ONCE)
            waiting = asyncio.ensure_future(replay.next())
            await asyncio.sleep(0.1)
            replay.close()
            with self.assertRaises(gallivant.CancelledError):
                await asyncio.wait_for(waiting, AT_ONCE)


class Processes(RunCase):
    def test_where_nothing_tells_of_changes_many_look_once_a_second_and_no_thread_waits(self):
        self.says("one")
        process = start_python(
            "import asyncio, resource, sys, threading\n"
            "from gallivant import aio, journal\n"
            "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
            "opened = []\n"
            "for number in range(40):\n"
            "    # Enough for the run's directory alone.\n"
            "    resource.setrlimit(resource.RLIMIT_NOFILE, (4 + number, hard))\n"
            "    opened.append(journal.Replay.open(sys.argv[1], heartbeats=False))\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))\n"
            "async def main():\n"
            "    replays = [aio.Replay(replay) for replay in opened]\n"
            "    print({replay.descriptor for replay in opened}, flush=True)\n"
            "    first = [(await replay.next()).row.text for replay in replays]\n"
            "    threads = threading.active_count()\n"
            "    waiting = [asyncio.ensure_future(replay.next()) for replay in replays]\n"
            "    await asyncio.sleep(0.2)\n"
            "    print(set(first), len(first), threading.active_count() - threads, flush=True)\n"
            "    texts = [(await one).row.text for one in waiting]\n"
            "    last = asyncio.ensure_future(replays[0].next())\n"
            "    await asyncio.sleep(0.05)\n"
            "    replays[0].close()\n"
            "    try: await last\n"
            "    except Exception as closed: print(set(texts), type(closed).__name__, threading.active_count() - threads)\n"
            "asyncio.run(main())\n",
            self.run_directory,
        )
        self.addCleanup(process.communicate)
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["{None}\n", "{'one'} 40 0\n"])
        self.says("two", first=2)
        self.assertEqual(process.communicate(timeout=60), ("{'two'} CancelledError 0\n", ""))

    def test_a_program_that_ends_while_a_replay_waits_is_not_kept(self):
        started = time.monotonic()
        run_python(
            "import asyncio, sys\n"
            "from unittest import mock\n"
            "from gallivant import aio\n"
            "async def main(run):\n"
            "    for polls in (True, False):\n"
            "        replay = await aio.Replay.open(run)\n"
            "        asyncio.ensure_future(replay.next())\n"
            "        await asyncio.sleep(0.2)\n"
            "        if polls: asyncio.get_running_loop().add_reader = mock.Mock(side_effect=NotImplementedError)\n"
            "asyncio.run(main(sys.argv[1]))\n",
            self.run_directory,
        )
        self.assertLess(time.monotonic() - started, AT_ONCE)


if __name__ == "__main__":
    unittest.main()
