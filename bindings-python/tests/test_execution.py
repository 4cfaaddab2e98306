"""`gallivant.execution.Execution`: what its calls answer and leave on disk, over a provider in memory."""

import decimal
import json
import os
import unittest

import gallivant
from gallivant import execution
from gallivant.execution import Execution, TransportError, collection_validation_error, dispatch_not_sent_error

from .execution_support import CAPABILITY, NOW, SUBMIT, Memory, TaskCase, lost

PREPARE = {"operationId": "op-0", "phase": "draft", "prompt": "plan it"}


class Remote(TaskCase):
    def test_work_is_submitted_once_observed_and_collected(self):
        task = self.made()
        self.assertFalse(os.path.exists(self.root))
        done = task.submit(SUBMIT)
        self.assertEqual((done["acceptance"], done["reused"]), ("accepted", False))
        again = task.submit(json.dumps(SUBMIT))
        self.assertEqual((again["acknowledgement"], again["reused"]), (done["acknowledgement"], True))
        self.assertEqual(self.transport.methods, ["submit"])
        report = task.reconcile(force=True)
        self.assertEqual((report["state"], report["called"]), ("running", ["inspect"]))
        self.assertIsNone(task.outcome("run-1"))
        self.assertIsNone(task.result_view("run-1"))

        self.transport.provider.jobs[self.transport.calls[0].input["idempotencyKey"]]["state"] = "succeeded"
        self.advance(60_000)
        self.assertEqual(task.startup()["called"], ["inspect", "collect"])
        self.assertTrue(task.outcome("run-1")["ok"])
        self.assertFalse(task.inspect()["live"])
        self.assertEqual(task.inspect()["costUsd"], 0.25)
        self.assertEqual(task.collect("run-1")["runId"], "run-1")
        self.assertEqual(task.result_view("run-1")["outcome"]["ok"], True)
        self.assertEqual(task.check("run-1")["records"], 1)
        self.assertEqual(task.dir_of("run-1"), os.path.join(self.root, "run-1"))
        self.assertEqual(task.read("run-1")["runId"], "run-1")
        self.assertIsNone(task.read("run-9"))
        self.assertIsNone(task.current())
        self.assertEqual(task.capabilities()["provider"], "memory")

    def test_a_session_is_continued(self):
        task = self.made()
        task.submit(SUBMIT)
        self.transport.provider.jobs[self.transport.calls[0].input["idempotencyKey"]]["state"] = "succeeded"
        task.startup()
        done = task.continue_({**SUBMIT, "operationId": "op-2", "runId": "run-2"})
        self.assertEqual(done["acknowledgement"]["sessionId"], "session-1")
        self.assertEqual(self.transport.calls[-1].input["previous"]["turnId"], "turn-1")

    def test_an_intake_turn_has_its_receipt(self):
        task = self.made(intake_deadline_at=NOW + 60_000)
        prepared = task.prepare(PREPARE)
        given = {**PREPARE, "kind": "intake", "runId": "run-0", "reservationUsd": 0.5}
        task.submit({**given, "preparation": prepared["receipt"], "grant": prepared["environment"]})
        self.assertEqual(self.transport.methods, ["prepare", "submit"])
        self.assertIsInstance(task.preparation_status("run-0"), dict)
        self.assertIsInstance(task.judge_preparation("run-0"), str)
        with self.assertRaises(gallivant.ExecutionUnknownRunError):
            task.preparation_status("run-9")

    def test_stops(self):
        task = self.made()
        task.submit(SUBMIT)
        self.assertEqual(task.request_cancel("no more", "c-1"), {"queued": True})
        with self.assertRaises(gallivant.ExecutionFencedError):
            task.continue_({**SUBMIT, "operationId": "op-2", "runId": "run-2"})
        self.assertTrue(task.cancel("no more", run_id="run-1", control_id="c-2")["confirmed"])
        self.assertEqual(self.transport.methods.count("cancel"), 1)
        for stop in (lambda task: task.preparation_stop("late"), lambda task: task.timeout_stop()):
            with self.subTest(stop):
                self.setUp()
                task = self.made()
                task.submit(SUBMIT)
                self.assertTrue(stop(task)["confirmed"])
                self.assertEqual(task.inspect()["state"], "cancelled")

    def test_a_lost_reply_is_looked_up_adopted_or_settled(self):
        self.transport.mishaps["submit"] = lost
        task = self.made()
        with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError) as raised:
            task.submit(SUBMIT)
        self.assertEqual((raised.exception.run_id, raised.exception.operation_id), ("run-1", "op-1"))
        (unknown,) = execution.unresolved(self.root)
        self.assertEqual((unknown.operation_id, unknown.account, unknown.intent_at), ("op-1", "me", NOW))
        self.assertTrue(unknown.remedy)
        self.assertEqual(task.startup()["called"], ["lookup"])
        self.assertEqual(self.acceptance(), "unknown")
        evidence = {"operationId": "op-1", "evidence": "seen in the provider's console by me"}
        seen = {"providerJobId": "job-7", "turnId": "turn-7", "sessionId": "s-7"}
        done = task.adopt({**evidence, "acknowledgement": seen})
        self.assertEqual(done["acceptance"], "accepted")
        self.assertEqual(execution.unresolved(self.root), [])

        self.setUp()
        self.transport.mishaps["submit"] = lost
        task = self.made()
        self.assertRaises(gallivant.ExecutionAcceptanceUnknownError, task.submit, SUBMIT)
        self.assertEqual(task.settle_absent(evidence)["acceptance"], "absent")

    def test_a_lost_answer_is_recovered(self):
        task = self.made()
        task.submit(SUBMIT)
        job = self.transport.provider.jobs[self.transport.calls[0].input["idempotencyKey"]]
        job["state"] = "waiting-for-input"
        task.startup()
        answer = {**SUBMIT, "operationId": "op-2", "runId": "run-2"}
        answer["response"] = {"signature": "call-1", "answer": "yes"}

        def reply_is_lost(call):
            self.transport.provider.acknowledgement(call.input)
            lost(call)

        self.transport.mishaps["continue"] = reply_is_lost
        self.assertRaises(gallivant.ExecutionAcceptanceUnknownError, task.continue_, answer)
        done = task.recover_response("op-2", answer)
        self.assertEqual(done["acceptance"], "accepted")
        self.assertEqual(self.transport.methods[-1], "recoverResponse")

    def test_ex_tra_27_nothing_sent_takes_the_operation_back(self):
        def refuse(call):
            raise dispatch_not_sent_error("no-route", "there is no route")

        self.transport.mishaps["submit"] = refuse
        task = self.made()
        self.assertRaises(gallivant.ExecutionDispatchRefusedError, task.submit, SUBMIT)
        self.assertEqual(execution.unresolved(self.root), [])
        del self.transport.mishaps["submit"]
        self.assertEqual(task.submit(SUBMIT)["acceptance"], "accepted")

    def test_ex_tra_29_nothing_sent_is_not_believed_once_it_sends(self):
        def refuse(call):
            self.assertFalse(call.is_sending)
            call.sending()
            raise dispatch_not_sent_error("no-route", "there is no route")

        self.transport.mishaps["submit"] = refuse
        self.assertRaises(gallivant.ExecutionAcceptanceUnknownError, self.made().submit, SUBMIT)

    def test_ex_tra_30_a_faulty_artifact_is_rejected_once(self):
        def faulty(call):
            raise collection_validation_error("checksum", "the archive is not what it says")

        self.transport.mishaps["collect"] = faulty
        task = self.made()
        task.submit(SUBMIT)
        self.transport.provider.jobs[self.transport.calls[0].input["idempotencyKey"]]["state"] = "succeeded"
        task.startup()
        self.assertTrue(task.outcome("run-1")["resultRejected"])
        self.assertEqual(task.startup()["called"], [])

    def test_ex_tra_26_a_failure_says_when_to_come_again(self):
        def busy(call):
            raise TransportError("rate", "slow down", retry_after_ms=120_000, code="429")

        task = self.made()
        task.submit(SUBMIT)
        self.transport.mishaps["inspect"] = busy
        report = task.reconcile(force=True)
        self.assertEqual((report["error"]["code"], report["error"]["reason"]), ("EXECUTION_IO", "rate"))
        self.assertEqual(report["nextAttemptAt"], NOW + 120_000)


class Options(TaskCase):
    def test_ex_bnd_05_a_transport_or_a_runner_is_given(self):
        for options in ({"transport": None}, {"runner": object()}, {"task_id": ""}, {"limits": {"deadlineMs": 0}}):
            with self.subTest(options), self.assertRaises(gallivant.ExecutionInputError):
                self.made(**options)

    def test_ex_tra_01_the_methods_that_an_object_has_are_those_of_the_transport(self):
        class Half:
            lookup = None

            def submit(self, call):
                raise AssertionError

        record = {**CAPABILITY, "preparation": None}
        with self.assertRaises(gallivant.ExecutionInputError) as raised:
            execution.ExecutionRegistry().register(record, transport=Half())
        self.assertIn("missing=`inspect continue collect cancel`", raised.exception.message)

    def test_limits_budget_secrets_and_health(self):
        task = self.made(limits={"deadlineMs": 5}, budget_usd=decimal.Decimal("0.000000001"), secrets=["sk-1"], health=None)
        self.assertEqual(task.limits["deadlineMs"], 5)
        self.assertRaises(gallivant.ExecutionAllowanceError, task.submit, SUBMIT)
        self.assertRaises(gallivant.ExecutionHealthError, self.made(health=None).submit, SUBMIT)
        record = {"version": 1, "provider": "memory", "account": "me", "ok": True, "checkedAt": NOW}
        health = {**record, "nextAttemptAt": NOW + 60_000, "failures": 0}
        self.assertRaises(gallivant.ExecutionAllowanceError, self.made(budget_usd=0.25, health=health).submit, SUBMIT)
        task = self.made(health=health)
        self.assertEqual(task.submit(SUBMIT)["acceptance"], "accepted")
        self.assertEqual(task.health_status()["nextAttemptAt"], NOW + 60_000)
        self.assertIsNone(self.made().health_status())
        self.assertFalse(task.is_due())
        self.advance(60_000)
        self.assertTrue(task.is_due())

    def test_ex_bnd_07_a_root_has_one_owner(self):
        self.made().submit(SUBMIT)
        self.assertRaises(gallivant.ExecutionOwnershipError, self.made(account="you").submit, SUBMIT)

    def test_ex_bnd_36_a_closed_boundary_is_not_used(self):
        with self.made() as task:
            task.submit(SUBMIT)
        for use in (task.inspect, lambda: task.submit(SUBMIT), task.startup):
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                use()
            self.assertEqual(raised.exception.reason, "closed")
        task.close()

    def test_a_point_fails_and_jitter_is_fixed(self):
        points = []

        def point(name):
            points.append(name)
            return "fail" if name == "pass.state" and self.is_failing else "go"

        self.is_failing = False
        self.host = execution_host(point)
        task = self.made()
        task.submit(SUBMIT)
        self.assertEqual([name for name in points if name.startswith("dispatch")][0], "dispatch.intent")
        self.transport.mishaps["inspect"] = lost
        first = task.reconcile(force=True)["nextAttemptAt"]
        self.assertEqual(first, NOW + execution.backoff(1, 0.5))

    def test_a_point_that_raises_is_raised(self):
        def point(name):
            raise KeyError(name)

        self.host = execution_host(point)
        self.assertRaises(KeyError, self.made().submit, SUBMIT)
        self.host = execution_host(lambda name: "maybe")
        self.assertRaises(gallivant.InputError, self.made().submit, SUBMIT)


def execution_host(point):
    return gallivant.testing.TestHost(wall_ms=NOW, jitter=0.5, points=point)


class Roots(TaskCase):
    def test_a_relative_root_is_the_same_task_wherever_the_process_goes(self):
        first, second = (os.path.join(os.path.dirname(self.root), name) for name in ("first", "second"))
        for directory in (first, second):
            os.mkdir(directory)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(first)
        store = execution.HealthStore("health", host=self.host)
        self.root = "task"
        task = self.made(health="external")
        os.chdir(second)
        self.assertFalse(task.submit(SUBMIT)["reused"])
        with store.begin("memory", "me") as refresh:
            refresh.record_json('{"ok":true,"evidence":{}}')
        os.chdir(os.path.dirname(first))
        self.assertTrue(task.submit(SUBMIT)["reused"])
        self.assertTrue(store.authorize("memory", "me"))
        self.assertEqual(task.dir_of("run-1"), os.path.join(first, "task", "run-1"))
        self.assertEqual((sorted(os.listdir(first)), os.listdir(second)), (["health", "task"], []))


class Health(TaskCase):
    def test_ex_sch_12_a_store_authorises_by_what_is_recorded(self):
        root = os.path.join(os.path.dirname(self.root), "health")
        scope = ("memory", "me")
        store = execution.HealthStore(root, limits={"healthRefreshMs": 5000}, scopes=[("other", "me")], host=self.host)
        store.want(*scope)
        self.assertEqual(sorted(store.due()), [scope, ("other", "me")])
        task = self.made(health=store)
        self.assertRaises(gallivant.ExecutionHealthError, task.submit, SUBMIT)
        self.assertIsNone(store.health_status(*scope))
        self.assertFalse(os.path.exists(root))
        with store.begin(*scope) as refresh:
            self.assertIsNone(store.begin(*scope))
            self.assertTrue(store.scheduled(*scope))
            self.assertEqual(store.join_scheduled(*scope, 0.01), "under-way")
            self.assertTrue(json.loads(refresh.record_json('{"ok":true,"evidence":{"n":1}}'))["ok"])
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                refresh.record_json('{"ok":true}')
            self.assertEqual(raised.exception.reason, "closed")
        self.assertEqual(store.join_scheduled(*scope, 0), "not-scheduled")
        self.assertTrue(store.authorize(*scope))
        self.assertEqual(task.submit(SUBMIT)["acceptance"], "accepted")
        self.assertEqual(task.health_status(), store.health_status(*scope))
        self.assertTrue(store.begin(*scope).give_up())
        failed = store.record(*scope, {"ok": False, "code": "auth", "remedy": "sign in again"})
        self.assertEqual((failed["failures"], failed["nextAttemptAt"] > NOW), (1, True))
        self.assertFalse(store.authorize(*scope))
        self.assertRaises(gallivant.ExecutionInputError, store.record, *scope, {"ok": False})


class Registry(TaskCase):
    def test_records_have_adapters(self):
        registry = execution.ExecutionRegistry()
        self.assertFalse(registry.capabilities_for("claude")["newDispatch"]["available"])
        shown = registry.register(CAPABILITY, transport=self.transport)
        self.assertEqual(shown, registry.capabilities()[-1])
        self.assertRaises(gallivant.ExecutionCapabilityError, registry.register, CAPABILITY)
        self.assertIs(registry.adapter("memory")[0], self.transport)
        self.assertEqual(registry.adapter("codex"), (None, None))
        attached = registry.attach("openai-agents", transport=Memory())
        self.assertTrue(attached["newDispatch"]["available"])
        with self.assertRaises(gallivant.ExecutionCapabilityError) as raised:
            registry.register({**CAPABILITY, "provider": "sk-1"}, secrets=["sk-1"])
        self.assertEqual(raised.exception.reason, "secret")
        with self.assertRaises(gallivant.ExecutionCapabilityError) as raised:
            registry.capabilities_for("nobody")
        self.assertEqual(raised.exception.reason, "unavailable")
        self.assertIsInstance(execution.execution_registry, execution.ExecutionRegistry)

    def test_a_runner_brings_its_preparation(self):
        class Host:
            minimum_version = "2.0.0"

            def render(self):
                raise AssertionError

        registry = execution.ExecutionRegistry()
        self.assertTrue(registry.attach("claude", runner=Host())["newDispatch"]["available"])
        self.assertRaises(gallivant.ExecutionCapabilityError, registry.attach, "codex", runner=object())

    def test_ex_bnd_19_a_root_has_the_provider_that_its_files_say(self):
        registry = execution.ExecutionRegistry()
        registry.register(CAPABILITY, transport=self.transport)
        other = Memory()
        registry.register({**CAPABILITY, "provider": "other"}, transport=other)
        options = self.options(capabilities=registry)
        first = execution.make_execution(self.root, **options)
        first.submit(SUBMIT)
        first.close()
        for name in ("transport", "capabilities", "provider"):
            del options[name]
        with execution.execution_runner(self.root, registry, provider="other", **options) as task:
            self.assertEqual(task.capabilities()["provider"], "memory")
            self.assertEqual(task.startup()["called"], ["inspect"])
        self.assertEqual(other.calls, [])

    def test_a_runtime_is_judged(self):
        execution.assert_execution_dependency(contract_version=execution.EXECUTION_VERSION, has_intake=True)
        for wrong in ({"contract_version": 2, "has_intake": True}, {"contract_version": 1, "has_intake": False}):
            self.assertRaises(gallivant.ExecutionDependencyError, execution.assert_execution_dependency, **wrong)


class Local(TaskCase):
    def test_a_process_host_is_asked(self):
        asked = []

        class Host:
            def spawn(self, call):
                asked.append(call)
                return {"pid": 4242, "identity": "linux:a:1:1"}

            def observe(self, call):
                return {"tree": "alive"}

        record = {**CAPABILITY, "location": "local", "transport": "cli", "models": "native", "preparation": None}
        task = self.made(transport=None, runner=Host(), capabilities=record)
        done = task.submit({**SUBMIT, "spec": {"argv": ["true"]}})
        self.assertEqual(done["acceptance"], "accepted")
        self.assertEqual([(call.method, call.input["runId"]) for call in asked], [("spawn", "run-1")])
        self.assertEqual(task.current()["process"]["pid"], 4242)
        with self.assertRaises(gallivant.ExecutionCapabilityError) as raised:
            task.interrupt("wait", run_id="run-1", control_id="c-1")
        self.assertEqual(raised.exception.reason, "interrupt")
        # It has no `signal`: the call fails, and the stop stands.
        self.assertFalse(task.cancel("enough")["confirmed"])

    def test_ex_jrn_34_a_queue_of_local_output_that_makes_no_sense_refuses_a_new_intent(self):
        os.makedirs(self.root, exist_ok=True)
        with open(os.path.join(self.root, "local-output-queue.json"), "w", encoding="utf-8") as queue:
            queue.write('{"version":1,"runs":"none"}')
        local = {**CAPABILITY, "location": "local", "transport": "cli", "preparation": None}
        task = self.made(transport=None, runner=object(), capabilities=local, budget_usd=None)
        with self.assertRaises(gallivant.ExecutionQueueError):
            task.submit({"operationId": "op-1", "prompt": "do it"})
        self.assertFalse(os.path.exists(os.path.join(self.root, "execution.json")))


class Surface(unittest.TestCase):
    def test_everything_public_is_documented(self):
        for name in execution.__all__:
            value = getattr(execution, name)
            if callable(value) and name != "Reply":
                self.assertTrue(value.__doc__, name)
        for name, value in vars(Execution).items():
            if not name.startswith("_"):
                self.assertTrue(value.__doc__, name)

    def test_ex_bnd_01_the_public_items_are_there(self):
        self.assertEqual(execution.EXECUTION_VERSION, 1)
        self.assertEqual(execution.EXECUTION_CURSOR_BYTES, 4096)
        self.assertEqual(execution.PROVIDER_STATES[0], "queued")
        self.assertEqual(len(execution.PROVIDER_STATES), 10)
        self.assertEqual(execution.EXECUTION_LIMITS["deadlineMs"], {"default": 20_000, "min": 1, "max": 120_000})


if __name__ == "__main__":
    unittest.main()
