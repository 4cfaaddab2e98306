"""Idempotent creates in plain threads and processes."""

import gc
import hashlib
import os
import signal
import threading
import time
import unittest

import gallivant
from gallivant.idempotency import (
    Fingerprint,
    FingerprintBuilder,
    FinishedClaim,
    IdempotencyStore,
    Reservation,
    Ticket,
    UnknownClaim,
)

from .idempotency_support import BODY, SCOPE, StoreCase, watchdog
from .support import AT_ONCE, Stopwatch

ANSWER = bytes(range(256))


class Creating(StoreCase):
    def test_ik_01_a_repeat_gets_the_resource_and_the_answer_byte_for_byte(self):
        begun = self.begin()
        self.assertIsInstance(begun, Reservation)
        self.assertEqual((begun.kind, begun.how), ("create", "fresh"))
        begun.complete("h-1", ANSWER)
        repeat = self.begin()
        self.assertIsInstance(repeat, FinishedClaim)
        self.assertEqual((repeat.kind, repeat.how), ("replay", "replayed"))
        self.assertEqual((repeat.resource, repeat.answer), ("h-1", ANSWER))
        self.assertTrue(repeat.still_stands())
        self.assertGreater(repeat.completed_ms, 1_600_000_000_000)

    def test_ik_02_another_body_is_refused_while_it_runs_and_afterwards(self):
        begun = self.begin()
        with self.assertRaises(gallivant.IdempotencyKeyReusedError):
            self.begin(body=b"{}")
        begun.complete("h-1", b"")
        with self.assertRaises(gallivant.IdempotencyKeyReusedError):
            self.begin(body=b"{}")
        self.assertEqual(self.inspect().resource, "h-1")

    def test_ik_03_the_fingerprint_is_of_the_exact_bytes_however_they_come(self):
        builder = FingerprintBuilder()
        for position in range(0, len(BODY), 5):
            builder.update(BODY[position : position + 5])
        self.assertEqual(builder.finish(), Fingerprint(BODY))
        self.assertEqual(builder.finish().digest, hashlib.sha256(BODY).digest())
        self.assertEqual(Fingerprint.from_digest(hashlib.sha256(BODY).digest()), Fingerprint(BODY))
        self.assertEqual(len({Fingerprint(BODY), builder.finish()}), 1)
        self.assertNotEqual(Fingerprint(b'{"a":1}'), Fingerprint(b'{ "a": 1 }'))
        with self.assertRaises(gallivant.IdempotencyInputError) as raised:
            Fingerprint.from_digest(b"short")
        self.assertEqual(raised.exception.reason, "digest")
        reservation = self.begin(body=builder.finish())
        self.assertEqual(reservation.fingerprint, Fingerprint(BODY))
        self.assertIsInstance(self.begin(body=BODY), Ticket)

    def test_a_body_and_an_answer_are_bytes(self):
        for body in ("text", bytearray(b"x"), memoryview(b"x"), None, 5):
            with self.assertRaises(TypeError):
                self.begin(body=body)
        with self.assertRaises(TypeError):
            self.begin(scope="org")
        with self.begin() as reservation, self.assertRaises(TypeError):
            reservation.complete("h-1", "text")

    def test_ik_05_the_end_of_the_block_releases_with_an_exception_and_without(self):
        with self.assertRaises(EOFError), self.begin():
            raise EOFError
        self.assertIsNone(self.inspect())
        with self.begin(body=b"another"):
            self.assertEqual(self.inspect().state, "reserved")
        self.assertIsNone(self.inspect())
        with self.begin() as reservation:
            reservation.complete("h-1", b"")
        self.assertEqual(self.inspect().state, "finished")

    def test_ik_05_letting_go_releases_and_an_explicit_release_does(self):
        begun = self.begin()
        del begun
        gc.collect()
        self.assertIsNone(self.inspect())
        self.begin().release()
        self.assertIsNone(self.inspect())

    def test_ik_05_after_the_mark_an_exception_leaves_it_unknown_until_it_is_settled(self):
        with self.assertRaises(EOFError), self.begin() as reservation:
            reservation.effect_starting()
            raise EOFError
        self.assertEqual(self.inspect().state, "marked")
        unknown = self.begin()
        self.assertIsInstance(unknown, UnknownClaim)
        self.assertEqual(unknown.kind, "unknown")
        with self.assertRaises(gallivant.IdempotencyInputError):
            unknown.settle("")
        settled = unknown.settle("h-1")
        self.assertEqual((settled.kind, settled.how, settled.resource, settled.answer), ("replay", "settled", "h-1", None))
        with self.begin("k-2") as reservation:
            reservation.effect_starting()
        with self.begin("k-2").settle(None) as reservation:
            self.assertEqual(reservation.how, "settled")

    def test_a_reservation_that_has_ended_is_lost(self):
        with self.begin() as reservation:
            reservation.release()
            with self.assertRaises(gallivant.IdempotencyClaimLostError):
                reservation.complete("h-1", b"")
        for call in (reservation.release, reservation.effect_starting, reservation.keep_alive):
            with self.assertRaises(gallivant.IdempotencyClaimLostError):
                call()
        reservation.__exit__(None, None, None)

    def test_ik_07_operations_and_scopes_separate(self):
        self.begin().complete("h-1", b"")
        for scope in (["org"], ["orgworkspace"], ["org/workspace"], ["org", "workspace", "x"]):
            with self.begin(scope=scope):
                pass
        with self.store.begin("others.create", SCOPE, "k-1", BODY):
            pass

    def test_ik_08_a_deleted_resource_is_made_anew_by_one(self):
        self.begin().complete("h-1", b"")
        claims = [self.begin() for _ in range(3)]
        begun = [claim.recreate() for claim in claims]
        self.assertEqual([one.kind for one in begun], ["create", "in_progress", "in_progress"])
        self.assertEqual(begun[0].how, "recreated")

    def test_ik_10_the_loser_learns_it_and_what_the_winner_made(self):
        elsewhere = gallivant.testing.TestHost(wall_ms=1_800_000_000_000, machine="another")
        theirs = IdempotencyStore.open(self.path, host=elsewhere)
        lost = self.begin(store=theirs)
        here = gallivant.testing.TestHost(wall_ms=1_800_000_120_000)
        here.stand_at(1_800_000_120_000)
        ours = IdempotencyStore.open(self.path, host=here)
        won = self.begin(store=ours)
        self.assertEqual((won.kind, won.how), ("create", "taken-over"))
        with self.assertRaises(gallivant.IdempotencyClaimLostError) as raised:
            lost.complete("h-lost", b"")
        self.assertIsNone(raised.exception.resource)
        won.complete("h-won", b"")
        with self.assertRaises(gallivant.IdempotencyClaimLostError) as raised:
            lost.complete("h-lost", b"")
        self.assertEqual(raised.exception.resource, "h-won")

    def test_ik_11_a_claim_lives_its_window(self):
        host = gallivant.testing.TestHost(wall_ms=1_800_000_000_000)
        store = IdempotencyStore.open(self.path, window_ms=60_000, host=host)
        self.begin(store=store).complete("h-1", b"")
        host.stand_at(1_800_000_059_999)
        self.assertEqual(self.begin(store=store).kind, "replay")
        host.stand_at(1_800_000_060_000)
        with self.begin(store=store) as reservation:
            self.assertEqual(reservation.how, "expired")

    def test_ik_14_too_large_an_answer_leaves_it_held(self):
        store = IdempotencyStore.open(self.path, max_answer_bytes=10)
        with self.begin(store=store) as reservation:
            with self.assertRaises(gallivant.IdempotencyAnswerTooLargeError):
                reservation.complete("h-1", bytes(11))
            reservation.complete("h-1", bytes(10))

    def test_ik_18_a_sweep_removes_what_has_expired(self):
        host = gallivant.testing.TestHost(wall_ms=1_800_000_000_000)
        store = IdempotencyStore.open(self.path, host=host)
        for number in range(300):
            self.begin(f"k-{number}", store=store).complete("h", b"")
        running = self.begin("running", store=store)
        host.stand_at(1_800_000_000_000 + 86_400_000)
        removed, more = 0, True
        while more:
            swept = store.sweep()
            removed, more = removed + swept.removed, swept.has_more
        self.assertEqual(removed, 300)
        self.assertEqual(self.begin("running", store=store).kind, "in_progress")
        running.release()


class Refusing(StoreCase):
    def test_ik_12_a_store_that_cannot_be_opened_says_which_file(self):
        path = os.path.join(self.directory, "nowhere", "idempotency.db")
        with self.assertRaises(gallivant.IdempotencyStoreUnavailableError) as raised:
            IdempotencyStore.open(path)
        self.assertEqual(raised.exception.file, path)
        self.assertIsNone(raised.exception.resource)
        self.assertTrue(raised.exception.remedy)

    def test_ik_12_capability_says_whether_keyed_creates_are_available(self):
        available = self.store.capability()
        self.assertTrue(available)
        self.assertEqual((available.keyed_creates, available.error), (True, None))
        os.rename(self.path, self.path + ".away")
        gone = self.store.capability()
        self.assertFalse(gone)
        self.assertIsInstance(gone.error, gallivant.IdempotencyStoreUnavailableError)
        with self.assertRaises(gallivant.IdempotencyStoreUnavailableError):
            self.begin()

    def test_ik_13_keys_and_scopes_have_their_shape(self):
        for key in ("", "a b", "ä", "x" * 256, "a\n"):
            with self.assertRaises(gallivant.IdempotencyKeyInvalidError):
                self.begin(key)
        for scope in ([], [""], ["x" * 256]):
            with self.assertRaises(gallivant.IdempotencyScopeInvalidError):
                self.begin(scope=scope)
        with self.assertRaises(gallivant.InputError) as raised:
            self.begin("\ud800")
        self.assertEqual(raised.exception.reason, "unicode")

    def bent(self, **bytes_at: int) -> str:
        """A closed store in which bytes of SQLite's header say something else, by their offset."""
        path = os.path.join(self.directory, "bent.db")
        IdempotencyStore.open(path)
        with open(path, "r+b") as file:
            for offset, byte in bytes_at.items():
                file.seek(int(offset.lstrip("_")))
                file.write(bytes([byte]))
        return path

    def test_ik_15_a_store_of_another_version_is_named_and_left_alone(self):
        # The last byte of `user_version`, which is the store's schema.
        path = self.bent(_63=9)
        with self.assertRaises(gallivant.IdempotencyStoreVersionError) as raised:
            IdempotencyStore.open(path)
        self.assertEqual((raised.exception.file, raised.exception.kind), (path, "incompatible"))

    def test_ik_12_a_store_that_does_not_share_memory_is_refused(self):
        # How the file is written and read: 2 is by a write-ahead log, 1 without.
        path = self.bent(_18=1, _19=1)
        with self.assertRaises(gallivant.IdempotencyStoreUnsupportedError) as raised:
            IdempotencyStore.open(path)
        self.assertEqual((raised.exception.file, raised.exception.kind), (path, "unavailable"))

    def test_ik_15_a_damaged_store_is_named_and_left_alone(self):
        path = os.path.join(self.directory, "damaged.db")
        with open(path, "wb") as file:
            file.write(b"x")
        with self.assertRaises(gallivant.IdempotencyStoreCorruptError) as raised:
            IdempotencyStore.open(path)
        self.assertEqual((raised.exception.file, raised.exception.kind), (path, "corrupt"))
        self.assertTrue(raised.exception.remedy)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"x")

    def test_options_out_of_range_are_refused_by_name(self):
        for options in ({"window_ms": 59_999}, {"window_ms": 31 * 86_400_000}, {"max_reservation_ms": 1}):
            with self.assertRaises(gallivant.IdempotencyInputError) as raised:
                IdempotencyStore.open(self.path, **options)
            self.assertEqual(raised.exception.reason, next(iter(options)).replace("_ms", ""))
        with self.assertRaises(gallivant.InputError) as raised:
            self.begin(timeout=float("nan"))
        self.assertEqual(raised.exception.reason, "out-of-range")

    def test_ik_19_a_busy_database_is_waited_for_within_the_timeout(self):
        with self.busy():
            for timeout in (0.0, 0.3):
                with Stopwatch() as watch, self.assertRaises(gallivant.IdempotencyBusyError):
                    self.begin(timeout=timeout)
                self.assertLess(watch.seconds, timeout + AT_ONCE)
                self.assertGreaterEqual(watch.seconds, timeout)
            self.assertIsNone(self.inspect())
            self.assertTrue(IdempotencyStore.open(self.path, busy_ms=50).capability())
        with self.begin():
            pass


class Waiting(StoreCase):
    def test_ik_06_a_repeat_waits_and_is_answered_as_soon_as_it_lands(self):
        reservation = self.begin()
        ticket = self.begin()
        self.assertIsInstance(ticket, Ticket)
        self.assertEqual(ticket.look().kind, "in_progress")
        with self.assertRaises(gallivant.IdempotencyInProgressError):
            ticket.wait(0.05)
        landed = []

        def finish():
            time.sleep(0.2)
            reservation.complete("h-1", ANSWER)
            landed.append(time.monotonic())

        thread = threading.Thread(target=finish)
        thread.start()
        with watchdog():
            begun = ticket.wait(100)
        answered = time.monotonic()
        thread.join()
        self.assertEqual((begun.kind, begun.how, begun.answer), ("replay", "waited", ANSWER))
        self.assertLess(answered - landed[0], AT_ONCE)

    def test_ik_06_a_release_hands_the_create_to_one_who_waits(self):
        reservation = self.begin()
        tickets = [self.begin() for _ in range(4)]
        begun = []

        def wait(ticket):
            one = ticket.wait(60)
            if one.kind == "create":
                one.complete("h-1", b"")
            begun.append((one.kind, one.how))

        threads = [threading.Thread(target=wait, args=(ticket,)) for ticket in tickets]
        with watchdog():
            for thread in threads:
                thread.start()
            reservation.release()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(begun), [("create", "waited")] + [("replay", "waited")] * 3)

    def interrupted(self, wait):
        with watchdog():
            timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
            with Stopwatch() as watch, self.assertRaises(KeyboardInterrupt):
                timer.start()
                wait()
            self.assertLess(watch.seconds, AT_ONCE)
            timer.join()

    def test_ctrl_c_ends_a_wait_for_a_create(self):
        with self.begin():
            self.interrupted(lambda: self.begin().wait(None))

    def test_ctrl_c_ends_a_wait_for_a_busy_store(self):
        with self.busy():
            self.interrupted(lambda: self.begin(timeout=110))

    def test_a_cancel_ends_a_wait_and_nothing_is_reserved(self):
        held = self.begin()
        ticket = self.begin()
        cancel = gallivant.Cancel()
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        with watchdog(), Stopwatch() as watch, self.assertRaises(gallivant.CancelledError):
            cancel.run(ticket.wait, None)
        self.assertLess(watch.seconds, AT_ONCE)
        held.release()
        self.assertIsNone(self.inspect())

    def test_c_066_one_thread_waits_and_another_works_on_the_same_store(self):
        reservation = self.begin()
        ticket = self.begin()
        begun = []
        waiter = threading.Thread(target=lambda: begun.append(ticket.wait(60)))
        with watchdog():
            waiter.start()
            for number in range(50):
                with self.begin(f"k-other-{number}") as other:
                    other.complete("h", b"")
            self.assertEqual(begun, [])
            reservation.complete("h-1", b"")
            waiter.join()
        self.assertEqual(begun[0].resource, "h-1")

    def test_c_066_no_thread_waits_for_the_interpreter_while_another_waits_for_the_store(self):
        with self.busy(), watchdog():
            began = threading.Event()
            refused = []

            def contend(number):
                began.set()
                try:
                    self.begin(f"k-{number}", timeout=1.0)
                except gallivant.IdempotencyBusyError:
                    refused.append(number)

            threads = [threading.Thread(target=contend, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            began.wait()
            counted, until = 0, time.monotonic() + 0.5
            while time.monotonic() < until:
                counted += 1
            for thread in threads:
                thread.join()
        self.assertEqual(len(refused), 4)
        self.assertGreater(counted, 1000)

    def test_ik_16_of_32_threads_one_makes_the_thing(self):
        begun = []

        def create():
            one = self.begin()
            if one.kind == "in_progress":
                one = one.wait(60)
            if one.kind == "create":
                one.complete("h-1", ANSWER)
            begun.append((one.kind, getattr(one, "answer", ANSWER)))

        threads = [threading.Thread(target=create) for _ in range(32)]
        with watchdog():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(begun), [("create", ANSWER)] + [("replay", ANSWER)] * 31)

    def test_threads_share_a_reservation(self):
        reservation = self.begin()
        stop = threading.Event()

        def live():
            while not stop.is_set():
                reservation.keep_alive()

        threads = [threading.Thread(target=live) for _ in range(3)]
        with watchdog():
            for thread in threads:
                thread.start()
            for _ in range(20):
                reservation.effect_starting()
            stop.set()
            for thread in threads:
                thread.join()
            reservation.complete("h-1", b"")
        self.assertEqual(self.inspect().state, "finished")


if __name__ == "__main__":
    unittest.main()
