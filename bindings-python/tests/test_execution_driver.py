"""The host driver for threads: deadlines, callers that give up, methods that fail or never return, digits."""

import contextvars
import decimal
import json
import os
import signal
import sys
import threading
import unittest

import gallivant
from gallivant import execution
from gallivant.execution import Signal, TransportError

from .execution_support import CAPABILITY, SUBMIT, Never, TaskCase, lost
from .support import AT_ONCE, Stopwatch, run_python


class Waiting(TaskCase):
    """On the machine's own clock."""

    def setUp(self):
        super().setUp()
        self.host = None

    def never(self, method="submit"):
        never = Never()
        self.transport.mishaps[method] = never
        self.addCleanup(never.released.set)
        return never

    def test_ex_tra_03_a_method_is_told_at_its_deadline_and_its_reply_is_not_read(self):
        fired = []

        def late(call):
            fired.append(call.signal.wait(60))
            return {"providerJobId": "job-late", "turnId": "turn-late"}

        self.transport.mishaps["submit"] = late
        with Stopwatch() as watch, self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
            self.made(limits={"deadlineMs": 1_000}).submit(SUBMIT)
        self.assertEqual(fired, [True])
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertEqual(self.acceptance(), "unknown")

    def test_ex_tra_05_a_method_that_never_returns_is_left_alone_after_a_second(self):
        self.never()
        with Stopwatch() as watch, self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
            self.made(limits={"deadlineMs": 1_000}).submit(SUBMIT)
        self.assertGreater(watch.seconds, 2.0)
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertTrue(self.transport.calls[0].signal.fired)
        # The boundary is usable while it still runs.
        self.assertEqual(self.made().startup()["called"], ["lookup"])

    def test_ex_tra_04_a_caller_gives_a_call_up(self):
        never, given_up = self.never("inspect"), Signal()
        task = self.made()
        task.submit(SUBMIT)
        threading.Thread(target=lambda: never.entered.wait() and given_up.fire()).start()
        report = task.reconcile(force=True, signal=given_up)
        self.assertEqual((report["error"]["code"], report["error"]["reason"]), ("EXECUTION_IO", "aborted"))

    def test_a_cancel_gives_a_call_up(self):
        never, cancel = self.never(), gallivant.Cancel()
        threading.Thread(target=lambda: never.entered.wait() and cancel.set()).start()
        with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
            cancel.run(self.made().submit, SUBMIT)
        with self.assertRaises(gallivant.CancelledError):
            cancel.run(self.made().reconcile)

    def test_a_signal_ends_the_wait_for_the_lock(self):
        task, given_up, holder = self.made(), Signal(), Never()
        task.submit(SUBMIT)
        self.transport.mishaps["inspect"] = holder
        passing = threading.Thread(target=lambda: task.reconcile(force=True))
        passing.start()
        holder.entered.wait()
        threading.Timer(0.1, given_up.fire).start()
        with self.assertRaises(gallivant.ExecutionBusyError) as raised:
            self.made(limits={"lockWaitMs": 60_000}).reconcile(force=True, signal=given_up)
        self.assertEqual(raised.exception.reason, "aborted")
        with self.assertRaises(gallivant.ExecutionBusyError) as raised:
            self.made(limits={"lockWaitMs": 0}).reconcile(force=True)
        holder.released.set()
        passing.join()

    def test_a_signal_that_has_fired_calls_nobody(self):
        given_up = Signal()
        given_up.fire()
        with self.assertRaises(gallivant.ExecutionBusyError) as raised:
            self.made().submit(SUBMIT, signal=given_up)
        self.assertEqual(raised.exception.reason, "aborted")
        self.assertEqual(self.transport.calls, [])
        self.assertFalse(os.path.exists(self.root))

    def test_closing_ends_the_wait_for_the_lock(self):
        task, holder, waiting = self.made(), Never(), self.made(limits={"lockWaitMs": 60_000})
        task.submit(SUBMIT)
        self.transport.mishaps["inspect"] = holder
        passing = threading.Thread(target=lambda: task.reconcile(force=True))
        passing.start()
        holder.entered.wait()
        threading.Timer(0.1, waiting.close).start()
        with Stopwatch() as watch, self.assertRaises(gallivant.ExecutionInputError) as raised:
            waiting.reconcile(force=True)
        self.assertEqual(raised.exception.reason, "closed")
        self.assertLess(watch.seconds, AT_ONCE)
        holder.released.set()
        passing.join()

    def test_an_interrupt_is_raised_once_what_is_known_is_saved(self):
        never = self.never("inspect")
        task = self.made()
        task.submit(SUBMIT)

        def interrupt():
            never.entered.wait()
            os.kill(os.getpid(), signal.SIGINT)
            self.transport.calls[-1].signal.wait()
            never.released.set()

        threading.Thread(target=interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            task.reconcile(force=True)
        self.assertEqual(task.inspect()["lastError"]["reason"], "aborted")

    def test_ex_bnd_36_closing_equals_a_crash(self):
        never = self.never()
        task = self.made()

        def close():
            never.entered.wait()
            task.close()
            never.released.set()

        threading.Thread(target=close).start()
        with self.assertRaises(gallivant.ExecutionInputError) as raised:
            task.submit(SUBMIT)
        self.assertEqual(raised.exception.reason, "closed")
        self.assertTrue(self.transport.calls[0].signal.fired)
        self.assertEqual(self.acceptance(), "unknown")
        self.assertEqual(self.made().startup()["called"], ["lookup"])

    def test_threads_share_an_execution(self):
        task, failed = self.made(), []
        task.submit(SUBMIT)

        def work():
            try:
                for _ in range(10):
                    task.inspect()
                    task.reconcile(force=True)
            except Exception as raised:
                failed.append(raised)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.transport.methods.count("inspect"), 40)


class Clock(TaskCase):
    def test_a_manual_clock_decides_the_deadline(self):
        def wait(call):
            self.assertEqual(call.seconds_left(), 20)
            self.host.advance_ms(20_000)
            call.signal.wait()
            self.assertEqual(call.seconds_left(), 0)

        self.transport.mishaps["submit"] = wait
        with Stopwatch() as watch, self.assertRaises(gallivant.ExecutionAcceptanceUnknownError):
            self.made().submit(SUBMIT)
        self.assertLess(watch.seconds, AT_ONCE)


class Failing(TaskCase):
    def reason(self, mishap):
        """What a pass says of an inspection that goes so."""
        if not self.transport.provider.jobs:
            self.made().submit(SUBMIT)
        self.transport.mishaps["inspect"] = mishap
        error = self.made().reconcile(force=True)["error"]
        return error["code"], error["reason"]

    def raising(self, raised):
        def fail(call):
            raise raised

        return fail

    def test_ex_tra_34_whatever_a_method_raises_is_a_failure_of_that_call(self):
        for raised in (RuntimeError("broken"), SystemExit(3), KeyboardInterrupt()):
            with self.subTest(raised):
                self.assertEqual(self.reason(self.raising(raised)), ("EXECUTION_IO", "io"))
        self.assertEqual(self.made().inspect()["state"], "queued")

    def test_ex_tra_36_a_kind_decides_the_code(self):
        for kind in ("io", "auth", "rate", "not-sent", "aborted"):
            with self.subTest(kind):
                expected = "io" if kind == "not-sent" else kind
                self.assertEqual(self.reason(self.raising(TransportError(kind, "x"))), ("EXECUTION_IO", expected))
        self.assertEqual(self.reason(self.raising(TransportError("protocol")))[0], "EXECUTION_PROTOCOL")
        self.assertEqual(self.reason(self.raising(TransportError("deadline")))[0], "EXECUTION_DEADLINE")
        self.assertEqual(self.reason(self.raising(TransportError("strange"))), ("EXECUTION_IO", "io"))
        # Members of the wrong type are as if they were not there.
        strange = TransportError("rate", retry_after_ms=float("nan"), code=7)
        self.assertEqual(self.reason(self.raising(strange)), ("EXECUTION_IO", "rate"))
        self.assertEqual(self.reason(self.raising(TransportError("rate", code={1, 2}))), ("EXECUTION_IO", "rate"))
        self.assertEqual(self.reason(self.raising(TransportError({1}, [2]))), ("EXECUTION_IO", "io"))

    def test_ex_tra_31_what_cannot_be_looked_at_has_failed_all_the_same(self):
        class Shy(Exception):
            def __str__(self):
                raise ValueError("no words")

        class Bare(TransportError):
            def __init__(self):
                pass

        class Own(TransportError):
            def __init__(self):
                self.kind = "auth"

        for raised in (Shy(), Bare()):
            with self.subTest(raised=type(raised).__name__):
                self.assertEqual(self.reason(self.raising(raised)), ("EXECUTION_IO", "io"))
        self.assertEqual(self.reason(self.raising(Own())), ("EXECUTION_IO", "auth"))
        for after in (10**400, 10**5000, float("inf"), -1):
            late = TransportError("rate", retry_after_ms=after)
            with self.subTest(digits=len(late.to_json())):
                self.assertEqual(self.reason(self.raising(late)), ("EXECUTION_IO", "rate"))

    def test_ex_tra_27_half_a_character_in_a_message_hides_no_kind(self):
        self.transport.mishaps["submit"] = self.raising(TransportError("not-sent", "caf\ud800", code="\udfff"))
        with self.assertRaises(gallivant.ExecutionDispatchRefusedError) as refused:
            self.made().submit(SUBMIT)
        self.assertIn("caf\ufffd", str(refused.exception))

    def test_ex_tra_03_what_a_callback_of_the_signal_raises_changes_nothing_about_the_call(self):
        called = []

        def late(call):
            for number in range(3):
                call.signal.on_fire(lambda number=number: called.append(number) or 1 / 0)
            call.signal.wait(60)

        self.transport.mishaps["inspect"] = late
        self.made().submit(SUBMIT)
        report = self.made(limits={"deadlineMs": 50}).reconcile(force=True)
        self.assertEqual(report["error"]["code"], "EXECUTION_DEADLINE")
        self.assertEqual(called, [0, 1, 2])

    def test_ex_tra_10_a_reply_that_is_no_object_breaks_the_contract(self):
        cyclic = []
        cyclic.append(cyclic)
        for reply in ([], 7, True, "no json", b"\xff", {1, 2}, object(), cyclic, float("nan"), None, "null"):
            with self.subTest(reply=repr(reply)[:20]):
                self.assertEqual(self.reason(lambda call: reply)[0], "EXECUTION_PROTOCOL")

    def test_ex_tra_06_a_reply_is_measured_in_bytes_of_its_text(self):
        self.assertEqual(self.reason(lambda call: {"x": "é" * 65_530})[0], "EXECUTION_PROTOCOL")
        seen = self.transport.provider.observation(next(iter(self.transport.provider.jobs.values())))
        self.transport.mishaps["inspect"] = lambda call: {**seen, "x": "é" * 60_000}
        self.assertIsNone(self.made().reconcile(force=True)["error"])


class Digits(TaskCase):
    def test_ex_bnd_46_digits_survive_in_both_directions(self):
        task = self.made(budget_usd=decimal.Decimal("9000000000"))
        seen = []

        def submit(call):
            seen.append(call.input_json)
            return json.dumps({"providerJobId": "job-1", "turnId": "turn-1", "cursor": None}).encode()

        self.transport.mishaps["submit"] = submit
        task.submit({**SUBMIT, "reservationUsd": decimal.Decimal("12345678.123456789")})
        self.assertIn('"reservationUsd":12345678.123456789', seen[0])
        self.transport.mishaps["inspect"] = lambda call: (
            '{"providerJobId":"job-1","turnId":"turn-1","state":"running","observedAt":%d,"events":[],'
            '"costUsd":12345678.123456788}' % self.transport.provider.now
        )
        self.transport.mishaps.pop("submit")
        task.reconcile(force=True)
        told = json.loads(task.call_json("inspect"), parse_float=decimal.Decimal)
        self.assertEqual(execution.nanos(told["costUsd"]), 12_345_678_123_456_788)

    def test_ex_tra_32_texts_go_over_as_they_are(self):
        prompt = "  tab\t\u2028 é \U0001f600 \u0000 "
        self.made().submit({**SUBMIT, "prompt": prompt})
        self.assertEqual(self.transport.calls[0].input["prompt"], prompt)
        self.assertNotIn(prompt, repr(self.transport.calls[0]))

    def test_an_input_that_has_no_json_form_is_refused(self):
        task = self.made()
        self.assertRaises(TypeError, task.submit, {"prompt": {1, 2}})
        for wrong in ("[]", "no json", {"prompt": float("nan")}, '{"prompt": "\\ud800"}'):
            with self.subTest(wrong), self.assertRaises(gallivant.ExecutionInputError):
                task.submit(wrong)
        with self.assertRaisesRegex(gallivant.ExecutionInputError, "an escape is half a character"):
            task.submit({"prompt": "x\ud83d"})
        self.assertFalse(os.path.exists(self.root))

    def test_a_method_runs_in_the_context_of_its_caller(self):
        variable = contextvars.ContextVar("variable")
        variable.set("mine")
        seen = []
        self.transport.mishaps["submit"] = lambda call: seen.append((variable.get(), call.limits["deadlineMs"]))
        self.assertRaises(gallivant.ExecutionAcceptanceUnknownError, self.made().submit, SUBMIT)
        self.assertEqual(seen, [("mine", 20_000)])


class Signals(unittest.TestCase):
    def test_a_signal_fires_once(self):
        fired, one = [], Signal()
        forget = one.on_fire(lambda: fired.append("forgotten"))
        one.on_fire(lambda: fired.append("told"))
        forget()
        self.assertFalse(one.wait(0))
        one.fire()
        one.fire()
        one.on_fire(lambda: fired.append("late"))()
        self.assertEqual((fired, one.fired, one.wait()), (["told", "late"], True, True))
        self.assertIn("fired=True", repr(one))

    def test_every_callback_is_called_whatever_one_of_them_raises(self):
        fired, one = [], Signal()
        for number in range(3):
            one.on_fire(lambda number=number: fired.append(number) or 1 / 0)
        self.assertRaises(ZeroDivisionError, one.fire)
        one.fire()
        self.assertEqual(fired, [0, 1, 2])

    def test_a_signal_handler_may_fire_it_wherever_it_comes(self):
        """Fires it from the middle of every method, as a handler does that comes there, at each line in turn."""
        whole = {Signal.on_fire.__code__, Signal.fire.__code__, Signal.wait.__code__}

        def used(fire_at):
            told, one, lines = [], Signal(), [0]

            def trace(frame, event, argument):
                if frame.f_code not in whole:
                    return None
                if event == "line":
                    lines[0] += 1
                    if lines[0] == fire_at:
                        sys.settrace(None)
                        one.fire()
                return trace

            sys.settrace(trace)
            try:
                one.on_fire(lambda: told.append("told"))
                one.on_fire(lambda: told.append("taken back"))()
                one.wait(0)
                one.fire()
            finally:
                sys.settrace(None)
            return lines[0], told

        count, told = used(None)
        self.assertEqual(told, ["told"])
        self.assertGreater(count, 10)
        for at in range(1, count + 1):
            answers = []
            thread = threading.Thread(target=lambda: answers.append(used(at)), daemon=True)
            thread.start()
            thread.join(AT_ONCE)
            self.assertTrue(answers, f"it waits for itself at line {at}")
            _, told = answers[0]
            self.assertEqual(told.count("told"), 1)
            self.assertLessEqual(told.count("taken back"), 1)


# A boundary whose last use is in the ending interpreter: its capability record and its root are handed over.
ENDING = (
    "import json, sys\n"
    "from gallivant.execution import make_execution\n"
    "class Provider:\n"
    "    def submit(self, call): return {'providerJobId': 'j', 'turnId': 't', 'sessionId': 's'}\n"
    "    inspect = collect = continue_ = cancel = lookup = prepare = submit\n"
    "class Last:\n"
    "    def __init__(self, task, work): self.task, self.work = task, work\n"
    "    def __del__(self): self.task.submit(self.work)\n"
    "names = dict(task_id='t', provider='memory', account='me', budget_usd=8, health='external')\n"
    "task = make_execution(sys.argv[1], capabilities=sys.argv[2], transport=Provider(), **names)\n"
    "last = Last(task, json.loads(sys.argv[3]))\n"
    "print('over')\n"
)


class Processes(TaskCase):
    def test_a_call_while_the_interpreter_ends_waits_for_no_thread(self):
        with Stopwatch() as watch:
            self.assertEqual(run_python(ENDING, self.root, json.dumps(CAPABILITY), json.dumps(SUBMIT)), "over\n")
        self.assertLess(watch.seconds, AT_ONCE)
        self.assertEqual(self.acceptance(), "unknown")

    def test_a_forked_child_has_a_boundary_of_its_own(self):
        task = self.made()
        task.submit(SUBMIT)
        machine = task.machine("reconcile", {"force": True})
        machine.start()
        child = os.fork()
        if child == 0:
            refused = []
            for use in (task.inspect, lambda: machine.abort(1), task.startup):
                try:
                    use()
                except gallivant.ExecutionInputError as error:
                    refused.append(error.reason)
            os._exit(0 if refused == ["forked"] * 3 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        # The parent's lock is still held by its machine.
        with self.assertRaises(gallivant.ExecutionBusyError):
            self.made(limits={"lockWaitMs": 0}).startup()
        machine.close()
        self.transport.mishaps["inspect"] = lost
        # It would be busy if the child's end or the parent's machine held the lock still.
        self.made().startup()


if __name__ == "__main__":
    unittest.main()
