"""`gallivant.aio.AsyncExecution`: the same boundary, with a transport whose methods are coroutines."""

import asyncio
import inspect
import json
import unittest

import gallivant
from gallivant import execution
from gallivant.aio import AsyncExecution
from gallivant.execution import Execution, dispatch_not_sent_error

from .execution_support import CAPABILITY, NOW, SUBMIT, AsyncMemory, TaskCase, lost
from .support import AT_ONCE, Stopwatch


class Case(TaskCase):
    def setUp(self):
        super().setUp()
        self.asynchronous = AsyncMemory()
        self.transport = self.asynchronous.memory

    def task(self, **options):
        return AsyncExecution.make(self.root, **self.options(**{"transport": self.asynchronous, **options}))

    def finish_job(self, state="succeeded"):
        self.transport.provider.jobs[self.transport.calls[0].input["idempotencyKey"]]["state"] = state


class Calls(Case):
    def test_work_is_submitted_once_observed_and_collected(self):
        async def work():
            async with self.task() as task:
                done = await task.submit(SUBMIT)
                again = await task.submit(json.dumps(SUBMIT))
                self.assertEqual((again["acknowledgement"], again["reused"]), (done["acknowledgement"], True))
                self.assertEqual((await task.reconcile(force=True))["state"], "running")
                self.finish_job()
                self.assertEqual((await task.startup())["called"], ["inspect", "collect"])
                self.assertTrue((await task.outcome("run-1"))["ok"])
                self.assertFalse((await task.inspect())["live"])
                self.assertEqual((await task.collect("run-1"))["runId"], "run-1")
                self.assertTrue((await task.result_view("run-1"))["outcome"]["ok"])
                self.assertEqual((await task.check("run-1"))["records"], 1)
                self.assertTrue((await task.dir_of("run-1")).endswith("run-1"))
                self.assertEqual((await task.read("run-1"))["runId"], "run-1")
                self.assertIsNone(await task.current())
                self.assertIsNone(await task.health_status())
                self.assertIsInstance(await task.is_due(), bool)
                with self.assertRaises(gallivant.ExecutionCapabilityError):
                    await task.interrupt("wait", run_id="run-1")
                self.assertEqual((await task.capabilities())["provider"], "memory")
                self.assertEqual(json.loads(await task.call_json("inspect"))["runId"], "run-1")
                again = {**SUBMIT, "operationId": "op-2", "runId": "run-2"}
                self.assertEqual((await task.continue_(again))["acknowledgement"]["sessionId"], "session-1")
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                await task.inspect()
            self.assertEqual(raised.exception.reason, "closed")

        asyncio.run(work())

    def test_intakes_stops_and_operators(self):
        async def work():
            task = self.task(intake_deadline_at=NOW + 60_000)
            prepared = await task.prepare({"operationId": "op-0", "phase": "draft", "prompt": "plan it"})
            given = {"operationId": "op-0", "kind": "intake", "phase": "draft", "prompt": "plan it", "runId": "run-0"}
            receipt = {"preparation": prepared["receipt"], "grant": prepared["environment"], "reservationUsd": 0.5}
            await task.submit({**given, **receipt})
            self.assertIsInstance(await task.preparation_status("run-0"), dict)
            self.assertIsInstance(await task.judge_preparation("run-0"), str)
            self.assertEqual(await task.request_cancel("no more", "c-1"), {"queued": True})
            self.assertTrue((await task.cancel("no more", run_id="run-0"))["confirmed"])
            for name, arguments in (("preparation_stop", ["late"]), ("timeout_stop", [])):
                self.setUp()
                task = self.task()
                await task.submit(SUBMIT)
                self.assertTrue((await getattr(task, name)(*arguments))["confirmed"])
            self.transport.mishaps["submit"] = lost
            evidence = {"operationId": "op-1", "evidence": "seen in the provider's console by me"}
            seen = {"acknowledgement": {"providerJobId": "job-7", "turnId": "turn-7"}}
            for name, given in (("adopt", seen), ("settle_absent", {})):
                self.setUp()
                self.transport.mishaps["submit"] = lost
                task = self.task()
                with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                    await task.submit(SUBMIT)
                self.assertEqual((await getattr(task, name)({**evidence, **given}))["operationId"], "op-1")

        asyncio.run(work())

    def test_a_lost_answer_is_recovered(self):
        async def work():
            task = self.task()
            await task.submit(SUBMIT)
            self.finish_job("waiting-for-input")
            await task.startup()
            answer = {**SUBMIT, "operationId": "op-2", "runId": "run-2"}
            answer["response"] = {"signature": "call-1", "answer": "yes"}
            self.transport.mishaps["continue"] = lost
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                await task.continue_(answer)
            self.transport.provider.acknowledgement(self.transport.calls[-1].input)
            self.assertEqual((await task.recover_response("op-2", answer))["acceptance"], "accepted")

        asyncio.run(work())

    def test_it_has_the_calls_of_the_threads(self):
        public = {name for name in vars(Execution) if not name.startswith("_")} - {"machine"}
        self.assertEqual({name for name in vars(AsyncExecution) if not name.startswith("_")} - {"make"}, public)
        for name in public:
            here, there = inspect.signature(getattr(AsyncExecution, name)), inspect.signature(getattr(Execution, name))
            expected = [one for one in there.parameters.values() if one.name != "signal"]
            self.assertEqual(list(here.parameters.values()), expected, name)
        there = [one for one in inspect.signature(execution.make_execution).parameters]
        self.assertEqual([one for one in inspect.signature(AsyncExecution.make).parameters], there)


class Waiting(Case):
    """On the machine's own clock."""

    def setUp(self):
        super().setUp()
        self.host = None

    def test_ex_tra_03_a_method_is_cancelled_at_its_deadline(self):
        ended = []

        async def late(call):
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(call.signal.fired)

        self.transport.mishaps["submit"] = late

        async def work():
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                await self.task(limits={"deadlineMs": 1_000}).submit(SUBMIT)

        with Stopwatch() as watch:
            asyncio.run(work())
        self.assertEqual(ended, [True])
        self.assertLess(watch.seconds, AT_ONCE)

    def test_ex_tra_05_a_method_that_never_returns_is_left_alone_after_a_second(self):
        async def work():
            released = asyncio.Event()

            async def never(call):
                while not released.is_set():
                    try:
                        await released.wait()
                    except asyncio.CancelledError:
                        continue

            self.transport.mishaps["submit"] = never
            with Stopwatch() as watch, self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                await self.task(limits={"deadlineMs": 1_000}).submit(SUBMIT)
            self.assertGreater(watch.seconds, 2.0)
            self.assertLess(watch.seconds, AT_ONCE)
            self.assertEqual((await self.task().startup())["called"], ["lookup"])
            released.set()

        asyncio.run(work())

    def test_cancelling_the_task_gives_the_call_up_and_passes_through(self):
        async def work():
            entered, ended = asyncio.Event(), []

            async def slow(call):
                call.sending()
                entered.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    ended.append(call.signal.fired)

            self.transport.mishaps["submit"] = slow
            task = self.task()
            submitting = asyncio.ensure_future(task.submit(SUBMIT))
            await entered.wait()
            submitting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await submitting
            self.assertEqual(ended, [True])
            self.assertEqual(self.acceptance(), "unknown")
            # What was given up is saved, the lock is free, and nothing is sent again.
            self.assertEqual((await task.startup())["called"], ["lookup"])
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                await task.submit(SUBMIT)
            self.assertEqual(self.transport.methods.count("submit"), 1)

        asyncio.run(work())

    def test_a_pass_that_is_cancelled_saves_why_it_comes_again(self):
        async def work():
            entered = asyncio.Event()

            async def slow(call):
                entered.set()
                await asyncio.sleep(60)

            task = self.task()
            await task.submit(SUBMIT)
            self.transport.mishaps["inspect"] = slow
            passing = asyncio.ensure_future(task.reconcile(force=True))
            await entered.wait()
            passing.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await passing
            self.assertEqual((await task.inspect())["lastError"]["reason"], "aborted")

        asyncio.run(work())

    def test_cancelling_ends_the_wait_for_the_lock(self):
        async def work():
            first = self.task()
            entered, released = asyncio.Event(), asyncio.Event()
            await first.submit(SUBMIT)

            async def slow(call):
                entered.set()
                await released.wait()
                return {}

            self.transport.mishaps["inspect"] = slow
            passing = asyncio.ensure_future(first.reconcile(force=True))
            await entered.wait()
            waiting = asyncio.ensure_future(self.task(limits={"lockWaitMs": 60_000}).reconcile(force=True))
            await asyncio.sleep(0.1)
            with Stopwatch() as watch, self.assertRaises(asyncio.CancelledError):
                waiting.cancel()
                await waiting
            self.assertLess(watch.seconds, AT_ONCE)
            released.set()
            self.assertEqual((await passing)["error"]["code"], "EXECUTION_PROTOCOL")
            self.assertEqual(self.transport.methods.count("inspect"), 1)

        asyncio.run(work())

    def test_ex_bnd_36_closing_equals_a_crash(self):
        async def work():
            entered = asyncio.Event()

            async def slow(call):
                entered.set()
                await asyncio.sleep(60)

            self.transport.mishaps["submit"] = slow
            task = self.task()
            submitting = asyncio.ensure_future(task.submit(SUBMIT))
            await entered.wait()
            await task.close()
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                await submitting
            self.assertEqual(raised.exception.reason, "closed")
            self.assertTrue(self.transport.calls[0].signal.fired)
            self.assertEqual(self.acceptance(), "unknown")

        asyncio.run(work())

    def test_the_loop_goes_on_while_a_method_waits(self):
        async def work():
            released = asyncio.Event()

            async def slow(call):
                await released.wait()
                return {"providerJobId": "job-1", "turnId": "turn-1"}

            self.transport.mishaps["submit"] = slow
            submitting = asyncio.ensure_future(self.task().submit(SUBMIT))
            for _ in range(20):
                await asyncio.sleep(0.005)
            self.assertFalse(submitting.done())
            released.set()
            self.assertEqual((await submitting)["acceptance"], "accepted")

        asyncio.run(work())


class Failing(Case):
    def test_ex_tra_34_whatever_a_method_raises_is_a_failure_of_that_call(self):
        async def cancelled(call):
            raise asyncio.CancelledError

        async def broken(call):
            raise RuntimeError("broken")

        class Shy(Exception):
            def __str__(self):
                raise ValueError("no words")

        async def shy(call):
            raise Shy

        async def refused(call):
            raise dispatch_not_sent_error("no-route", "there is no route")

        async def work():
            task = self.task()
            self.transport.mishaps["submit"] = refused
            with self.assertRaises(gallivant.ExecutionDispatchRefusedError):
                await task.submit(SUBMIT)
            del self.transport.mishaps["submit"]
            await task.submit(SUBMIT)
            for mishap in (cancelled, broken, lost, shy):
                self.transport.mishaps["inspect"] = mishap
                self.assertEqual((await task.reconcile(force=True))["error"]["reason"], "io")

        asyncio.run(work())

    def test_a_manual_clock_decides_the_deadline(self):
        async def wait(call):
            self.host.advance_ms(20_000)
            await asyncio.sleep(60)

        async def work():
            self.transport.mishaps["submit"] = wait
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
                await self.task().submit(SUBMIT)

        with Stopwatch() as watch:
            asyncio.run(work())
        self.assertLess(watch.seconds, AT_ONCE)

    def test_a_process_host_is_awaited(self):
        class Host:
            async def spawn(self, call):
                return {"pid": 4242, "identity": "linux:a:1:1"}

        async def work():
            record = {**CAPABILITY, "location": "local", "transport": "cli", "models": "native", "preparation": None}
            task = self.task(transport=None, runner=Host(), capabilities=record)
            await task.submit({**SUBMIT, "spec": {"argv": ["true"]}})
            self.assertEqual((await task.current())["process"]["pid"], 4242)

        asyncio.run(work())


if __name__ == "__main__":
    unittest.main()
