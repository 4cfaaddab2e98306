"""The ASGI middleware, driven without a server: what each request is answered."""

import asyncio
import json
import os
import shutil
import unittest
from unittest import mock

from gallivant import aio, asgi
from gallivant.idempotency import IdempotencyStore

from .asgi_driver import ask
from .asgi_things import KEY, MiddlewareCase, belongs_to
from .test_idempotency_aio import looped


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
        with self.assertLogs("gallivant", "ERROR") as logged:
            refused = await ask(app, key=KEY)
        self.refused(refused, 503, "idempotency_store_unavailable")
        self.assertIn(path, logged.output[0])
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
        tiny = self.app(IdempotencyStore.open(self.path, max_answer_bytes=0))
        self.assertEqual((await ask(tiny, key="tiny")).status, 201)
        self.assertEqual((await ask(tiny, key="tiny")).json, {"resource": "/things/t-3"})

    @looped
    async def test_ik_14_as_much_of_an_answer_is_saved_as_the_store_takes(self):
        self.things.padding = b" " * (2 << 20)
        app = self.app(IdempotencyStore.open(self.path, max_answer_bytes=3 << 20))
        first, repeat = await ask(app, key=KEY), await ask(app, key=KEY)
        self.assertEqual((repeat.status, repeat.body, repeat.replayed), (201, first.body, True))

    @looped
    async def test_ik_09_an_app_is_kept_alive_for_as_long_as_the_store_says_and_no_longer(self):
        asked = []

        async def keep_alive(_reservation, longest, _answered):
            asked.append(longest)

        with mock.patch.object(asgi, "_keep_alive", keep_alive):
            app = self.app(IdempotencyStore.open(self.path, max_reservation_ms=7_200_000))
            self.assertEqual((await ask(app, key=KEY)).status, 201)
        self.assertEqual(asked, [7200.0])

    @looped
    async def test_ik_09_signs_of_life_come_until_the_longest_reservation_is_over(self):
        class Alive:
            signs = 0

            async def keep_alive(self):
                self.signs += 1

        alive = Alive()
        with mock.patch.object(asgi, "_SIGN_OF_LIFE", 0.001):
            await asgi._keep_alive(alive, 0.004, asyncio.Event())
        self.assertEqual(alive.signs, 3)

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


if __name__ == "__main__":
    unittest.main()
