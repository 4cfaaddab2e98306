"""The raw steps of a machine, the pure functions and the constants."""

import decimal
import json
import threading
import unittest

import gallivant
from gallivant import execution
from gallivant.execution import AbortToken, Call, Done
from gallivant.testing import TestHost

from .execution_support import CAPABILITY, NOW, SUBMIT, TaskCase

OWNER = {"task_id": "t-1", "provider": "memory", "account": "me"}


class Steps(TaskCase):
    def test_ex_bnd_39_a_machine_is_stepped_to_its_end(self):
        machine = self.made().machine("submit", SUBMIT)
        call = machine.start()
        self.assertIsInstance(call, Call)
        self.assertEqual((call.port, call.method, call.deadline_at), ("transport", "submit", NOW + 20_000))
        self.assertEqual(json.loads(call.input_json)["operationId"], "op-1")
        # Everything that has to be durable before the call is (EX-BND-40).
        self.assertEqual(self.acceptance(), "unknown")
        done = machine.reply(call.id, '{"providerJobId":"job-1","turnId":"turn-1"}')
        self.assertIsInstance(done, Done)
        self.assertIsNone(done.error)
        self.assertEqual(json.loads(done.result_json())["acceptance"], "accepted")
        self.assertEqual(self.transport.calls, [])

    def test_ex_bnd_42_a_reply_to_another_call_is_refused_and_changes_nothing(self):
        task = self.made()
        machine = task.machine("submit", SUBMIT)
        call = machine.start()
        feeds = (
            lambda: machine.start(),
            lambda: machine.reply(call.id + 1, "{}"),
            lambda: machine.fail(call.id + 1, "{}"),
            lambda: machine.deadline(call.id + 1),
            lambda: machine.abort(call.id + 1),
            lambda: machine.sending(call.id + 1),
        )
        for number, feed in enumerate(feeds):
            with self.subTest(number):
                if number == 0:
                    # It has begun, and the outstanding call stays outstanding.
                    self.assertEqual(feed().error.reason, "reply")
                    continue
                with self.assertRaises(gallivant.ExecutionInputError) as raised:
                    feed()
                self.assertEqual(raised.exception.reason, "reply")
        done = machine.fail(call.id, '{"kind":"not-sent","message":"no route","code":"route"}')
        self.assertIsInstance(done.error, gallivant.ExecutionDispatchRefusedError)
        self.assertRaises(gallivant.ExecutionDispatchRefusedError, done.result_json)
        self.assertRaises(gallivant.ExecutionInputError, machine.reply, call.id, "{}")

    def test_ex_bnd_41_deadlines_and_aborts_are_fed(self):
        for end in ("deadline", "abort"):
            with self.subTest(end):
                self.setUp()
                machine = self.made().machine("submit", SUBMIT)
                call = machine.start()
                self.assertFalse(call.is_over)
                machine.sending(call.id)
                done = getattr(machine, end)(call.id)
                self.assertTrue(call.is_over)
                self.assertIsInstance(done.error, gallivant.ExecutionAcceptanceUnknownError)

    def test_ex_bnd_36_closing_a_machine_equals_a_crash(self):
        task = self.made()
        with task.machine("submit", SUBMIT) as machine:
            call = machine.start()
            self.assertIn("submit", repr(call))
        self.assertTrue(call.is_over)
        with self.assertRaises(gallivant.ExecutionInputError) as raised:
            machine.reply(call.id, "{}")
        self.assertEqual(raised.exception.reason, "closed")
        machine.close()
        self.assertEqual(self.acceptance(), "unknown")
        # The lock is free.
        self.assertEqual(task.startup()["called"], ["lookup"])

    def test_ex_bnd_43_a_machine_belongs_to_one_thread_at_a_time(self):
        entered, released = threading.Event(), threading.Event()

        def point(name):
            if name == "dispatch.intent":
                entered.set()
                released.wait()
            return "go"

        self.host = TestHost(wall_ms=NOW, points=point)
        machine = self.made().machine("submit", SUBMIT)
        stepping = threading.Thread(target=machine.start)
        stepping.start()
        entered.wait()
        self.assertRaises(gallivant.HandleBusyError, machine.abort, 1)
        released.set()
        stepping.join()

    def test_a_token_ends_the_wait_for_the_lock(self):
        task, token = self.made(), AbortToken()
        machine = task.machine("submit", SUBMIT)
        machine.start()
        token.abort()
        second = task.machine("reconcile", {"force": True}, token=token).start()
        self.assertEqual((second.error.code, second.error.reason), ("EXECUTION_BUSY", "aborted"))

    def test_only_what_writes_has_a_machine(self):
        self.assertRaises(gallivant.ExecutionInputError, self.made().machine, "inspect", {})
        self.assertRaises(gallivant.ExecutionInputError, self.made().machine, "nothing", {})


class Functions(unittest.TestCase):
    def test_ex_cost_21_amounts_are_whole_nano_dollars(self):
        for amount, expected in ((0.3, 300_000_000), (8, 8_000_000_000), ("1e-9", 1), (decimal.Decimal("1E-9"), 1)):
            with self.subTest(amount):
                self.assertEqual(execution.nanos(amount), expected)
        self.assertEqual((execution.nanos("0.0000000001"), execution.nanos("0.0000000019", round="down")), (1, 1))
        most = decimal.Decimal("9000000000")
        self.assertEqual(execution.usd(execution.nanos(most)), most)
        self.assertEqual(execution.usd(execution.nanos("8999999999.999999999")), decimal.Decimal("8999999999.999999999"))
        self.assertEqual(execution.money("8", "up"), {"nano": "8000000000", "usd": "8"})
        for wrong in (-1, float("nan"), float("inf"), "9000000000.1", "x", True):
            with self.subTest(wrong), self.assertRaises(gallivant.ExecutionInputError):
                execution.nanos(wrong)
        self.assertEqual(execution.intake_reservation(8, 8), execution.usd(500_000_000))
        self.assertRaises(gallivant.ExecutionAllowanceError, execution.intake_reservation, 0, 0)

    def test_keys_and_ids(self):
        key = execution.idempotency_key(**OWNER, run_id="run-1", operation_id="op-1")
        self.assertTrue(key.startswith("gx-"))
        self.assertNotEqual(key, execution.cancellation_key(**OWNER, run_id="run-1"))
        self.assertRegex(execution.run_id(**OWNER, operation_id="op-1"), "^r-[0-9a-f]{32}$")
        parts = {"provider": "memory", "provider_job_id": "job-1", "turn_id": None, "event_id": "e-1"}
        self.assertRegex(execution.replay_key(**parts), "^[0-9a-f]{64}$")

    def test_cursors_and_gaps(self):
        self.assertEqual(execution.check_cursor("c-1"), {"valid": True, "bytes": 5})
        self.assertFalse(execution.check_cursor("x" * 5000)["valid"])
        self.assertFalse(execution.check_cursor("half \ud800")["valid"])
        for endless in (float("nan"), float("-inf"), decimal.Decimal("Infinity"), decimal.Decimal("sNaN")):
            self.assertEqual(execution.check_cursor(endless), {"valid": False, "bytes": 0})
        self.assertTrue(execution.gap_id("c-1"))
        self.assertRaises(gallivant.ExecutionProtocolError, execution.gap_id, "x" * 5000)

    def test_waiting_and_health(self):
        self.assertGreater(execution.backoff(3, 1.0), execution.backoff(3, 0.0))
        self.assertGreaterEqual(execution.backoff(1, 0.5, retry_after_ms=90_000.5, limits={"progressMs": 5000}), 90_001)
        tree = {"input": [], "head": [], "index": []}
        digest = "1b16b1df538ba12dc3f97edbb85caa7050d46c148134290feba80f8236c83db9"
        file = {"path": "./a", "beforeHash": None, "afterHash": digest, "text": "n"}
        self.assertEqual(execution.validate_manifest([file], tree), {"files": [{**file, "path": "a"}]})
        with self.assertRaises(gallivant.ExecutionResultError):
            execution.validate_manifest([file, file], tree)
        with self.assertRaises(gallivant.ExecutionIoError):
            execution.validate_manifest([file], {**tree, "head": None})
        execution.public_text_check("a title")
        with self.assertRaises(gallivant.ExecutionResultError):
            execution.public_text_check("a\0title")
        self.assertFalse(execution.health_authorize(None, NOW))
        record = {"version": 1, "provider": "p", "account": "a", "ok": True, "checkedAt": NOW, "failures": 0}
        self.assertTrue(execution.health_authorize({**record, "nextAttemptAt": NOW + 1}, NOW))

    def test_what_is_live_and_what_was_never_dispatched(self):
        self.assertTrue(execution.execution_live({"provider": "memory"}))
        self.assertFalse(execution.execution_live({"execution": {"collected": True}}))
        self.assertFalse(execution.unsubmitted_initial_dispatch({}, {}))

    def test_texts(self):
        self.assertEqual(execution.crc32c("123456789"), "e3069283")
        self.assertEqual(execution.sanitize({"a": "my hunter2"}, ["hunter2"])["a"].count("hunter2"), 0)
        self.assertEqual(json.loads(execution.function_json("crc32c", '{"text":"123456789"}')), "e3069283")
        self.assertRaises(gallivant.ExecutionInputError, execution.function_json, "nothing", "{}")


class Documents(unittest.TestCase):
    def test_a_decimal_is_written_with_its_digits(self):
        from gallivant._execution_json import written

        huge = decimal.Decimal("1E+400")
        value = {"a": [decimal.Decimal("0.10"), 1, (huge,)], "b": None, "c": "\ud800é"}
        self.assertEqual(written(value), '{"a":[0.10,1,[1E+400]],"b":null,"c":"\\ud800é"}')
        self.assertEqual(written(decimal.Decimal("0.000000001")), "0.000000001")
        self.assertRaises(TypeError, written, {1: decimal.Decimal(1)})
        self.assertEqual(json.loads(written(CAPABILITY)), CAPABILITY)


if __name__ == "__main__":
    unittest.main()
