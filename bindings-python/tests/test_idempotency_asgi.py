"""The ASGI middleware, driven without a server."""

import asyncio
import json
import os
import shutil
import signal
import unittest

import gallivant
from gallivant import aio
from gallivant.asgi import Answer, IdempotencyMiddleware
from gallivant.idempotency import IdempotencyStore

from .asgi_driver import Request, answer, ask, body_of
from .idempotency_support import StoreCase
from .test_idempotency_aio import looped

KEY = "k-1"


def belongs_to(scope):
    return "things.create", [scope["path"], "principal"]


class Things:
    """An app that makes things, and what may be set of how it does."""

    def __init__(self):
        self.made = []
        self.status = 201
        self.padding = b""
        self.before = None
        self.after = None
        self.runs = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        self.runs += 1
        body = await body_of(receive)
        if self.before is not None:
            await self.before(scope, receive, send)
        identity = f"t-{len(self.made) + 1}"
        self.made.append((identity, body))
        headers = [
            (b"content-type", b"application/json"),
            (b"location", f"/things/{identity}".encode()),
            (b"set-cookie", b"session=secret"),
        ]
        await answer(send, self.status, json.dumps({"id": identity}).encode() + self.padding, headers)
        if self.after is not None:
            await self.after(scope, receive, send)


class MiddlewareCase(StoreCase):
    def setUp(self):
        super().setUp()
        self.things = Things()

    def app(self, store=None, **options):
        options = {"belongs_to": belongs_to, "wait": 20, **options}
        return IdempotencyMiddleware(self.things, self.path if store is None else store, **options)

    def claim(self, path="/workspaces/w"):
        return self.store.inspect(*belongs_to({"path": path}), KEY)

    def refused(self, response, status, word):
        self.assertEqual((response.status, response.json["code"], response.json["status"]), (status, word, status))
        self.assertEqual(response.headers["content-type"], "application/problem+json")
        self.assertTrue(response.json["title"])
        self.assertNotIn(self.directory, response.body.decode())


class Answering(MiddlewareCase):
    @looped
    async def test_ik_01_a_repeat_is_answered_as_the_first_without_what_was_one_clients(self):
        app = self.app()
        first, repeat = await ask(app, key=KEY), await ask(app, key=KEY)
        self.assertEqual((first.status, first.body, first.replayed), (201, b'{"id": "t-1"}', False))
        self.assertIn("set-cookie", first.headers)
        self.assertEqual((repeat.status, repeat.body, repeat.replayed), (201, first.body, True))
        self.assertEqual(repeat.headers["location"], "/things/t-1")
        self.assertEqual(repeat.headers["content-length"], str(len(first.body)))
        self.assertNotIn("set-cookie", repeat.headers)
        self.assertEqual(self.things.runs, 1)
        self.assertEqual(self.claim().resource, "/things/t-1")

    @looped
    async def test_what_has_no_key_or_belongs_to_nobody_passes_untouched(self):
        app = self.app(belongs_to=lambda scope: None if scope["path"] == "/free" else belongs_to(scope))
        for request in ({}, {"key": KEY, "path": "/free"}, {"key": KEY, "method": "PUT"}):
            for _ in range(2):
                self.assertEqual((await ask(app, **request)).status, 201)
        self.assertEqual(len(self.things.made), 6)
        await app({"type": "lifespan"}, None, None)
        self.assertIsNone(self.claim())

    @looped
    async def test_a_key_may_be_required(self):
        app = self.app(required=True)
        self.refused(await ask(app), 400, "idempotency_key_invalid")
        self.assertEqual((await ask(app, key=KEY)).status, 201)

    @looped
    async def test_ik_02_another_body_is_refused(self):
        app = self.app()
        await ask(app, key=KEY)
        self.refused(await ask(app, key=KEY, body=b"{ }"), 409, "idempotency_key_reused")
        self.refused(await ask(self.app(reused_status=422), key=KEY, body=b"{ }"), 422, "idempotency_key_reused")
        self.assertEqual(len(self.things.made), 1)

    @looped
    async def test_ik_03_the_body_reaches_the_app_byte_for_byte_however_it_came(self):
        parts = [os.urandom(50_000) for _ in range(60)]
        app = self.app(spool_bytes=100_000)
        await ask(app, key=KEY, parts=parts)
        self.assertEqual(self.things.made[0][1], b"".join(parts))
        self.assertTrue((await ask(app, key=KEY, body=b"".join(parts))).replayed)
        await ask(app, key="k-2", body=b"")
        self.assertEqual(self.things.made[1][1], b"")

    @looped
    async def test_ik_06_of_32_clients_at_once_one_makes_the_thing(self):
        async def slowly(*_request):
            await asyncio.sleep(0.2)

        self.things.before = slowly
        app = self.app()
        answers = await asyncio.gather(*(ask(app, key=KEY) for _ in range(32)))
        self.assertEqual({(one.status, one.body) for one in answers}, {(201, b'{"id": "t-1"}')})
        self.assertEqual(sum(one.replayed for one in answers), 31)
        self.assertEqual(self.things.runs, 1)

    @looped
    async def test_ik_06_a_repeat_does_not_wait_for_ever(self):
        go = asyncio.Event()
        self.things.before = lambda *_request: go.wait()
        app = self.app(wait=0.1, retry_after=7)
        first = asyncio.ensure_future(ask(app, key=KEY))
        while self.claim() is None:
            await asyncio.sleep(0.01)
        repeat = await ask(app, key=KEY)
        self.refused(repeat, 409, "idempotency_in_progress")
        self.assertEqual(repeat.headers["retry-after"], "7")
        self.refused(await ask(app, key=KEY, body=b"other"), 409, "idempotency_key_reused")
        go.set()
        self.assertEqual((await first).status, 201)

    @looped
    async def test_ik_07_the_scope_separates(self):
        app = self.app()
        for path in ("/workspaces/a", "/workspaces/b"):
            self.assertFalse((await ask(app, key=KEY, path=path)).replayed)
        self.assertEqual(len(self.things.made), 2)

        async def later(scope):
            await asyncio.sleep(0)
            return belongs_to(scope)

        self.assertTrue((await ask(self.app(belongs_to=later), key=KEY, path="/workspaces/a")).replayed)

    @looped
    async def test_ik_08_what_is_gone_is_made_anew(self):
        gone = []
        app = self.app(gone=lambda _scope, resource: resource in gone)
        await ask(app, key=KEY)
        self.assertTrue((await ask(app, key=KEY)).replayed)
        gone.append("/things/t-1")
        again = await asyncio.gather(*(ask(app, key=KEY) for _ in range(8)))
        self.assertEqual({one.body for one in again}, {b'{"id": "t-2"}'})
        self.assertEqual(len(self.things.made), 2)

    @looped
    async def test_ik_12_nothing_is_made_where_the_store_is_unavailable(self):
        path = os.path.join(self.directory, "later", "idempotency.db")
        app = self.app(path)
        refused = await ask(app, key=KEY)
        self.refused(refused, 503, "idempotency_store_unavailable")
        self.assertEqual((refused.headers["retry-after"], self.things.runs), ("1", 0))
        self.assertEqual((await ask(app)).status, 201)
        os.mkdir(os.path.dirname(path))
        self.assertEqual((await ask(app, key=KEY)).status, 201)
        shutil.rmtree(os.path.dirname(path))
        self.refused(await ask(app, key="k-2"), 503, "idempotency_store_unavailable")

    @looped
    async def test_ik_13_a_bad_key_is_refused(self):
        app = self.app()
        for key in ("", "a b", "ä", "x" * 256, ["a", "b"]):
            self.refused(await ask(app, key=key), 400, "idempotency_key_invalid")
        self.refused(await ask(self.app(belongs_to=lambda _: ("o", [])), key=KEY), 400, "idempotency_scope_invalid")
        self.assertEqual(self.things.runs, 0)

    @looped
    async def test_ik_14_an_answer_that_is_too_large_is_sent_once_and_its_resource_is_told_afterwards(self):
        self.things.padding = b" " * 1000
        for key, app in (
            ("by-the-middleware", self.app(max_answer_bytes=500)),
            ("by-the-store", self.app(IdempotencyStore.open(self.path, max_answer_bytes=500))),
        ):
            first, repeat = await ask(app, key=key), await ask(app, key=key)
            self.assertEqual((first.status, len(first.body)), (201, 1000 + len(b'{"id": "t-1"}')))
            self.refused(repeat, 409, "idempotency_answer_too_large")
            self.assertEqual((repeat.json["resource"], repeat.replayed), (first.headers["location"], True))
        self.assertEqual(len(self.things.made), 2)

    @looped
    async def test_ik_19_a_store_that_is_busy_refuses_and_nothing_is_made(self):
        app = self.app(IdempotencyStore.open(self.path, busy_ms=50))
        with self.busy():
            self.refused(await ask(app, key=KEY), 503, "idempotency_busy")
        self.assertEqual(self.things.runs, 0)

    @looped
    async def test_a_body_above_the_limit_is_refused(self):
        app = self.app(max_body_bytes=10)
        self.refused(await ask(app, key=KEY, body=bytes(11)), 413, "content_too_large")
        self.refused(await ask(app, key=KEY, parts=[bytes(6), bytes(6), bytes(6)]), 413, "content_too_large")
        self.assertEqual((await ask(app, key=KEY, body=bytes(10))).status, 201)

    @looped
    async def test_the_resource_is_what_the_app_names(self):
        async def named(scope, *_request):
            scope["gallivant.idempotency"].resource = "by-the-app"

        for key, options, resource in (
            ("a", {}, "/things/t-1"),
            ("b", {"resource": lambda status, headers, body: json.loads(body)["id"]}, "t-2"),
            ("c", {"resource": "x-none"}, "-"),
        ):
            await ask(self.app(**options), key=key)
            self.assertEqual(self.store.inspect(*belongs_to({"path": "/workspaces/w"}), key).resource, resource)
        self.things.before = named
        await ask(self.app(), key="d")
        self.assertEqual(self.store.inspect(*belongs_to({"path": "/workspaces/w"}), "d").resource, "by-the-app")

    @looped
    async def test_the_app_finds_what_it_makes_and_may_send_nothing_that_is_not_saved(self):
        seen = []

        async def look(scope, *_request):
            creating = scope["gallivant.idempotency"]
            seen.append((creating.operation, creating.owner, creating.how, sorted(scope["extensions"])))

        self.things.before = look
        await ask(self.app(), key=KEY)
        self.assertEqual(seen, [("things.create", ("/workspaces/w", "principal"), "fresh", ["http.response.debug"])])

    @looped
    async def test_a_store_of_either_kind_and_a_path_are_taken(self):
        for number, store in enumerate((self.store, await aio.IdempotencyStore.open(self.path), self.path)):
            self.assertEqual((await ask(self.app(store), key=KEY)).replayed, number > 0)


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
        self.things.status = 404
        app = self.app(completes=lambda status: status < 500)
        await ask(app, key=KEY)
        repeat = await ask(app, key=KEY)
        self.assertEqual((repeat.status, repeat.replayed), (404, True))

    @looped
    async def test_an_app_that_ends_without_its_whole_answer_releases(self):
        async def leave(_scope, _receive, send):
            await send({"type": "http.response.start", "status": 201, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})

        app = IdempotencyMiddleware(leave, self.path, belongs_to=belongs_to)
        response = await ask(app, key=KEY)
        self.assertIsNone(response.status)
        self.assertIsNone(self.claim())

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
        settled = await ask(self.app(settle=lambda _scope, claim: claim.settle("t-0")), key=KEY)
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

    @looped
    async def test_cancelled_at_any_moment_nothing_leaks_and_nothing_is_made_twice(self):
        app = self.app()
        replayed = 0
        for number in range(90):
            self.things.made.clear()
            key = f"k-{number}"
            task = asyncio.ensure_future(ask(app, key=key))
            for _ in range(number % 30):
                await asyncio.sleep(0)
            await asyncio.sleep((number // 30) * 0.001)
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
