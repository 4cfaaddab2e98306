"""The ASGI middleware where apps fail, clients leave, requests are cancelled and stores are busy."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import unittest

import gallivant
from gallivant.asgi import Answer, IdempotencyMiddleware
from gallivant.idempotency import IdempotencyStore

from .asgi_driver import Request, answer, ask, body_of
from .asgi_things import KEY, MiddlewareCase, belongs_to
from .test_idempotency_aio import looped


class Failing(MiddlewareCase):
    @looped
    async def test_ik_05_an_app_that_raises_releases(self):
        async def fail(*_request):
            raise EOFError

        self.things.before = fail
        app = self.app()
        for _ in range(2):
            with self.assertRaises(EOFError):
                await ask(app, key=KEY)
            self.assertIsNone(self.claim())
        self.things.before = None
        self.assertEqual((await ask(app, key=KEY, body=b"another")).status, 201)

    @looped
    async def test_an_app_that_raises_after_its_answer_has_completed(self):
        async def fail(*_request):
            raise EOFError

        self.things.after = fail
        app = self.app()
        with self.assertRaises(EOFError):
            await ask(app, key=KEY)
        self.assertTrue((await ask(app, key=KEY)).replayed)

    @looped
    async def test_what_does_not_count_as_completed_releases(self):
        for status in (302, 400, 404, 500):
            self.things.status = status
            self.assertEqual((await ask(self.app(), key=KEY)).status, status)
            self.assertIsNone(self.claim())
        async def later(status):
            return status < 300

        await ask(self.app(completes=later), key=KEY)
        self.assertIsNone(self.claim())
        self.things.status = 404
        app = self.app(completes=lambda status: status < 500)
        await ask(app, key=KEY)
        repeat = await ask(app, key=KEY)
        self.assertEqual((repeat.status, repeat.replayed), (404, True))

    @looped
    async def test_an_app_that_ends_without_its_whole_answer_has_perhaps_made_it(self):
        async def leave(_scope, _receive, send):
            await send({"type": "http.response.start", "status": 201, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})

        app = IdempotencyMiddleware(leave, self.path, belongs_to=belongs_to)
        response = await ask(app, key=KEY)
        self.assertIsNone(response.status)
        self.refused(await ask(app, key=KEY), 409, "idempotency_unknown")

    @looped
    async def test_what_the_program_does_wrong_after_it_made_the_thing_releases_nothing(self):
        def fail(_status):
            raise KeyError

        for number, wrong in enumerate(({"resource": lambda *_: 7}, {"completes": fail})):
            key = f"wrong-{number}"
            with self.assertRaises((TypeError, KeyError)):
                await ask(self.app(**wrong), key=key)
            self.refused(await ask(self.app(), key=key), 409, "idempotency_unknown")

    @looped
    async def test_ik_05_what_is_no_answer_of_asgi_is_raised_and_neither_sent_nor_saved(self):
        start = {"type": "http.response.start", "status": 201, "headers": []}
        wrong = {
            "no-status": (KeyError, [{**start, "status": None}], None),
            "text-status": (TypeError, [{**start, "status": "201"}], None),
            "part-status": (TypeError, [{**start, "status": 201.5}], None),
            "twice": (RuntimeError, [start, {**start, "status": 500}], "idempotency_unknown"),
            "number": (TypeError, [start, {"type": "http.response.body", "body": 1 << 40}], "idempotency_unknown"),
            "text": (TypeError, [start, {"type": "http.response.body", "body": "made"}], "idempotency_unknown"),
        }
        del wrong["no-status"][1][0]["status"]
        for key, (error, messages, word) in wrong.items():

            async def send_all(_scope, _receive, send, messages=messages):
                for message in messages:
                    await send(message)

            app = IdempotencyMiddleware(send_all, self.path, belongs_to=belongs_to)
            with self.subTest(key), self.assertRaises(error):
                await ask(app, key=key)
            if word is None:
                self.assertIsNone(self.store.inspect(*belongs_to({"path": "/workspaces/w"}), key))
            else:
                self.refused(await ask(app, key=key), 409, word)

    @looped
    async def test_ik_05_half_a_surrogate_pair_is_no_id_and_leaves_the_outcome_unknown(self):
        with self.assertRaises(UnicodeEncodeError):
            await ask(self.app(resource=lambda *_: "\ud800"), key=KEY)
        self.refused(await ask(self.app(), key=KEY), 409, "idempotency_unknown")

    @looped
    async def test_a_client_that_goes_in_the_middle_of_its_body_begins_nothing(self):
        response = await ask(self.app(), key=KEY, parts=[b"half"], leaves=True)
        self.assertIsNone(response.status)
        self.assertEqual((self.things.runs, self.claim()), (0, None))

    @looped
    async def test_a_client_that_goes_while_its_thing_is_made_finds_it_when_it_comes_back(self):
        async def leave(_scope, receive, _send):
            request.gone.set()
            listening = asyncio.ensure_future(receive())
            await asyncio.sleep(0.1)
            # It is not told, so that frameworks which listen go on.
            self.assertFalse(listening.done())
            listening.cancel()

        self.things.before = leave
        app = self.app()
        request = Request(key=KEY)
        await request.run(app)
        self.assertTrue((await ask(app, key=KEY)).replayed)
        self.assertEqual(len(self.things.made), 1)

    @looped
    async def test_an_app_that_listens_hears_of_the_end_of_its_answer(self):
        heard = []

        async def listen(_scope, receive, _send):
            heard.append((await receive())["type"])

        self.things.after = listen
        await ask(self.app(), key=KEY)
        self.assertEqual(heard, ["http.disconnect"])

    @looped
    async def test_an_app_that_stops_when_its_client_leaves_has_its_whole_answer_sent_first(self):
        async def streaming(_scope, receive, send):
            await body_of(receive)
            sending = asyncio.ensure_future(answer(send, 201, b"0123456789"))

            async def listen():
                await receive()
                sending.cancel()

            listening = asyncio.ensure_future(listen())
            await sending
            listening.cancel()

        class Slow(Request):
            async def send(self, message):
                await asyncio.sleep(0.02)
                await super().send(message)

        response = await Slow(key=KEY).run(IdempotencyMiddleware(streaming, self.path, belongs_to=belongs_to))
        self.assertEqual((response.status, response.body, response.is_whole), (201, b"0123456789", True))

    @looped
    async def test_a_cancellation_while_it_is_saved_waits_until_it_is(self):
        app = self.app(IdempotencyStore.open(self.path, busy_ms=5000))
        held = []

        async def hold(*_request):
            held.append(self.busy())
            held[0].__enter__()

        self.things.before = hold
        task = asyncio.ensure_future(ask(app, key=KEY))
        while not self.things.made:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.1)
        self.assertFalse(task.done())
        held[0].__exit__(None, None, None)
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertTrue((await ask(app, key=KEY)).replayed)

    @looped
    async def test_a_cancellation_while_it_cannot_be_saved_leaves_it_to_later(self):
        app = self.app(IdempotencyStore.open(self.path, busy_ms=100))
        held = []

        async def hold(*_request):
            held.append(self.busy())
            held[0].__enter__()

        self.things.before = hold
        task = asyncio.ensure_future(ask(app, key=KEY))
        while not self.things.made:
            await asyncio.sleep(0.01)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        held[0].__exit__(None, None, None)
        self.things.before = None
        self.assertTrue((await ask(app, key=KEY)).replayed)
        self.assertEqual(len(self.things.made), 1)

    @looped
    async def test_what_no_repetition_saves_is_not_tried_for_ever_and_releases_nothing(self):
        damage = """if True:
            import sqlite3, sys
            store = sqlite3.connect(sys.argv[1])
            store.execute("UPDATE claims SET token = x'00'")
            store.commit()"""

        async def corrupt(*_request):
            subprocess.run([sys.executable, "-c", damage, self.path], check=True)

        self.things.before = corrupt
        app = self.app()
        self.refused(await ask(app, key=KEY), 503, "idempotency_store_corrupt")
        tries = list(app._later)
        self.assertEqual(len(tries), 1)
        await asyncio.wait_for(tries[0], 10)
        self.assertEqual(len(self.things.made), 1)
        self.refused(await ask(app, key=KEY), 503, "idempotency_store_corrupt")

    async def cancelled(self, app, started, **request):
        task = asyncio.ensure_future(ask(app, key=KEY, **request))
        await started.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    @looped
    async def test_ik_05_a_cancelled_request_releases_and_after_the_mark_its_outcome_is_unknown(self):
        started, marks = asyncio.Event(), False

        async def hang(scope, *_request):
            if marks:
                await scope["gallivant.idempotency"].effect_starting()
            started.set()
            await asyncio.sleep(60)

        self.things.before = hang
        app = self.app()
        await self.cancelled(app, started)
        self.assertIsNone(self.claim())
        started.clear()
        marks = True
        await self.cancelled(app, started)
        self.things.before = None
        self.refused(await ask(app, key=KEY), 409, "idempotency_unknown")
        self.refused(await ask(app, key=KEY, body=b"other"), 409, "idempotency_key_reused")

        async def cannot_tell(_scope, _claim):
            return None

        self.refused(await ask(self.app(settle=cannot_tell), key=KEY), 409, "idempotency_unknown")

        async def finds(_scope, _claim):
            return "t-0"

        settled = await ask(self.app(settle=finds), key=KEY)
        self.assertEqual((settled.status, settled.json, settled.replayed), (200, {"resource": "t-0"}, True))
        found = await ask(self.app(found=lambda _scope, resource: Answer(201, body=resource.encode())), key=KEY)
        self.assertEqual((found.status, found.body, found.replayed), (201, b"t-0", True))
        self.assertEqual(self.things.made, [])

    @looped
    async def test_an_unknown_outcome_that_is_settled_as_absent_is_made(self):
        started = asyncio.Event()

        async def hang(scope, *_request):
            await scope["gallivant.idempotency"].effect_starting()
            started.set()
            await asyncio.sleep(60)

        self.things.before = hang
        await self.cancelled(self.app(), started)
        self.things.before = None
        made = await ask(self.app(settle=lambda _scope, claim: claim.settle(None)), key=KEY)
        self.assertEqual((made.status, made.replayed), (201, False))

    @looped
    async def test_after_the_mark_a_refusal_is_unknown_unless_the_app_says_that_nothing_was_made(self):
        says = False

        async def mark(scope, *_request):
            creating = scope["gallivant.idempotency"]
            creating.blocking.effect_starting()
            if says:
                await creating.release()

        self.things.before, self.things.status = mark, 500
        app = self.app()
        self.assertEqual((await ask(app, key=KEY)).status, 500)
        self.refused(await ask(app, key=KEY), 409, "idempotency_unknown")
        says = True
        self.assertEqual((await ask(app, key="k-2")).status, 500)
        self.assertEqual((await ask(app, key="k-2")).status, 500)
        self.things.status = 201
        said = [await ask(app, key="k-2") for _ in range(2)]
        self.assertEqual([(one.status, one.replayed) for one in said], [(201, False), (201, False)], "it kept nothing")

    @looped
    async def test_cancelled_at_any_moment_nothing_leaks_and_nothing_is_made_twice(self):
        app = self.app()
        replayed = 0
        for number in itertools.count():
            # Where the disk is slow, it takes longer until one comes to its answer.
            longer = max(0, number - 89)
            if longer and (replayed or longer > 100):
                break
            self.things.made.clear()
            key = f"k-{number}"
            task = asyncio.ensure_future(ask(app, key=key))
            for _ in range(number % 30):
                await asyncio.sleep(0)
            await asyncio.sleep((number // 30) * 0.001 + longer * 0.01)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            made = len(self.things.made)
            repeat = await ask(app, key=key)
            self.assertEqual(repeat.status, 201)
            # What the app had answered is replayed; what it had not is made now.
            self.assertEqual((len(self.things.made), repeat.replayed), (1, made == 1))
            replayed += made
        self.assertGreater(replayed, 0)

    @looped
    async def test_what_cannot_be_saved_now_is_saved_later_and_is_not_made_twice(self):
        app = self.app(IdempotencyStore.open(self.path, busy_ms=50), wait=20)
        held = []

        async def hold(*_request):
            held.append(self.busy())
            held[0].__enter__()

        self.things.before = hold
        self.refused(await ask(app, key=KEY), 503, "idempotency_busy")
        held[0].__exit__(None, None, None)
        self.things.before = None
        repeat = await ask(app, key=KEY)
        self.assertEqual((repeat.status, repeat.replayed, len(self.things.made)), (201, True, 1))

    @looped
    async def test_a_resource_that_cannot_be_named_leaves_the_outcome_unknown(self):
        def fail(*_answer):
            raise EOFError

        with self.assertRaises(EOFError):
            await ask(self.app(resource=fail), key=KEY)
        self.refused(await ask(self.app(), key=KEY), 409, "idempotency_unknown")

    @looped
    async def test_ik_10_an_app_that_was_taken_over_is_told_what_to_undo(self):
        machines = [gallivant.testing.TestHost(wall_ms=1_800_000_000_000, machine=name) for name in ("a", "b")]
        stores = [IdempotencyStore.open(self.path, host=machine) for machine in machines]
        lost = []
        winner = self.app(stores[1])

        async def lose(*_request):
            self.things.before = None
            machines[1].stand_at(1_800_000_120_000)
            self.assertEqual((await ask(winner, key=KEY)).status, 201)

        self.things.before = lose
        loser = self.app(stores[0], lost=lambda _scope, own, won: lost.append((own, won)))
        response = await ask(loser, key=KEY)
        self.refused(response, 409, "idempotency_claim_lost")
        self.assertEqual(response.json["resource"], "/things/t-1")
        self.assertEqual(lost, [("/things/t-2", "/things/t-1")])

    @looped
    async def test_ik_15_what_another_program_saved_is_no_answer_of_ours(self):
        self.store.begin(*belongs_to({"path": "/workspaces/w"}), KEY, b"{}").complete("t-9", b"\x00 no answer")
        response = await ask(self.app(), key=KEY)
        self.assertEqual((response.status, response.json, response.replayed), (200, {"resource": "t-9"}, True))


class Forked(MiddlewareCase):
    def test_ik_19_a_worker_that_was_forked_opens_its_own_store(self):
        app = self.app()
        asyncio.run(ask_once(app))
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            told = b""
            try:
                response = asyncio.run(ask_once(app))
                told = repr((response.status, response.replayed)).encode()
            finally:
                os.write(writes, told)
                os._exit(0)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            self.assertEqual(pipe.read(), b"(201, True)")
        os.waitpid(child, 0)


async def ask_once(app):
    return await ask(app, key=KEY)


if __name__ == "__main__":
    unittest.main()
