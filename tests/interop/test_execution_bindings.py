"""What every binding of the execution layer has alike: names, digits, amounts, operator acts, drivers. Run by `make test`."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))
sys.path.insert(0, os.path.join(ROOT, "tests/vectors/execution"))

import gallivant.aio  # noqa: E402
import gallivant.execution as execution  # noqa: E402
import gallivant.execution_result as execution_result  # noqa: E402
import run_cases  # noqa: E402

DRIVERS = ["rust", "c", "python", "python-asyncio", "node"]
NOW = 1780000000000
RECORD = {
    "provider": "p", "transport": "rest", "location": "remote", "newDispatch": {"available": True, "reason": None},
    "authentication": {"scheme": "none", "secretNames": []}, "environments": {"required": False, "allowed": None},
    "models": "refused", "policies": {"required": False, "allowed": []}, "preparation": None, "continuation": "native",
    "observability": "events", "cancel": True, "interrupt": False, "cost": {"reports": True, "hardCap": False},
    "qualification": None,
}
METHODS = ["submit", "inspect", "continue", "collect", "cancel", "lookup"]
OPTIONS = {
    "taskId": "t", "provider": "p", "account": "me", "capabilities": RECORD, "transport": {"methods": METHODS},
    "budgetUsd": 8, "health": "external",
}
SUBMIT = {"operationId": "op-1", "runId": "run-1", "prompt": "do it", "reservationUsd": 0.5}
ACKNOWLEDGED = {"providerJobId": "job-1", "turnId": "turn-1", "sessionId": "s-1"}


class Task:
    """A task in a driver of one language, by raw lines, in which numbers keep their digits."""

    def __init__(self, test, language):
        directory = tempfile.TemporaryDirectory()
        test.addCleanup(directory.cleanup)
        self.root = os.path.join(directory.name, "task")
        self.driver = run_cases.Driver([os.path.join(ROOT, "tests/adapters/drive"), language])
        test.addCleanup(self.stop)
        self.said = []
        opened = {"cmd": "open", "id": 0, "root": self.root, "now": NOW, "jitter": 1, "options": OPTIONS, "faults": []}
        self.driver.send(opened)
        self.until(0, {})
        self.next = 1

    def stop(self):
        self.driver.stop()
        for pipe in (self.driver.p.stdout, self.driver.p.stderr):
            pipe.close()

    def until(self, number, answers):
        """The end of a command; a question is answered by the text that is given for its method, or fails."""
        while True:
            heard = self.driver.get()
            if "ask" in heard:
                self.said.append(heard)
                answer = answers.get(heard["method"], '"error":{"kind":"io","message":"the line is gone"}')
                self.driver.p.stdin.write('{"cmd":"answer","ask":%d,%s}\n' % (heard["ask"], answer))
                self.driver.p.stdin.flush()
            elif heard.get("done") == number:
                return heard
            elif "exit" in heard or "bad" in heard:
                raise AssertionError(f"{heard} {''.join(self.driver.err)}")

    def call(self, method, args, answers=None):
        number, self.next = self.next, self.next + 1
        text = args if isinstance(args, str) else json.dumps(args)
        self.driver.p.stdin.write('{"cmd":"call","id":%d,"method":"%s","args":%s}\n' % (number, method, text))
        self.driver.p.stdin.flush()
        return self.until(number, answers or {})

    def file(self, name):
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read()


def text(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def node(script, *arguments):
    command = ["node", "-e", script, os.path.join(ROOT, "bindings-node/lib/execution.js"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Names(unittest.TestCase):
    """The names of EX-BND-01, by the modules that they are in."""

    def names(self):
        """Those of the module `execution`, and those of `execution_result`."""
        clause = re.search(r"^- \*\*EX-BND-01\*\* .*$", text("docs/spec/execution.md"), re.MULTILINE).group()
        of_execution, rest = clause.split(" in the module `execution`")
        of_result = rest.split(" in the module `execution_result`")[0]
        listed, published = (re.findall(r"`(\w+)`", part) for part in (of_execution, of_result))
        self.assertGreater(len(listed), 11)
        self.assertEqual(published, ["reconcileExecutionResult"])
        return listed, published

    def snake(self, name):
        return name if name.isupper() or "_" in name else re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), name)

    def test_ex_bnd_01_javascript_and_python_export_each_name(self):
        exported = set(node("console.log(JSON.stringify(Object.keys(require(process.argv[1]))))"))
        parts = ("execution", "execution_registry", "execution_transport")
        typed = "".join(text(f"bindings-node/lib/{part}.d.ts") for part in parts)
        listed, published = self.names()
        for name in listed:
            self.assertIn(name, exported)
            self.assertRegex(typed, rf"export (function|const|class) {name}\b")
            self.assertIn(self.snake(name), execution.__all__)
            self.assertTrue(hasattr(execution, self.snake(name)))
        self.assertEqual((execution.EXECUTION_VERSION, execution.EXECUTION_CURSOR_BYTES), (1, 4096))
        module = os.path.join(ROOT, "bindings-node/lib/execution_result.js")
        told = node("const m = require(process.argv[2]); console.log(JSON.stringify(Object.entries(m).map(([k, v]) => [k, typeof v])))", module)
        self.assertEqual(told, [[name, "function"] for name in published])
        for name in published:
            self.assertRegex(text("bindings-node/lib/execution_result.d.ts"), rf"export function {name}\b")
            self.assertIn(self.snake(name), execution_result.__all__)
            self.assertTrue(callable(getattr(execution_result, self.snake(name))))
            self.assertTrue(callable(getattr(gallivant.aio, self.snake(name))))

    def test_ex_bnd_01_c_and_rust_have_each_under_its_own_spelling(self):
        header, core = text("include/gallivant.h"), text("core/src/execution/mod.rs")
        # A C name begins with its library and its domain, and what is made is opened or made new; a word that C gives as constants
        # or as a function of JSON is named beside it.
        in_c = {
            "makeExecution": "gallivant_execution_boundary_open",
            "EXECUTION_VERSION": "GALLIVANT_EXECUTION_CONTRACT_VERSION",
            "PROVIDER_STATES": "gallivant_provider_state_name",
            "EXECUTION_LIMITS": "gallivant_execution_limits",
            "EXECUTION_CURSOR_BYTES": "GALLIVANT_EXECUTION_CURSOR_BYTES",
            "executionRegistry": "gallivant_execution_registry_new",
            "executionLive": "`executionLive`",
            "executionRunner": "gallivant_execution_runner",
            "assertExecutionDependency": "gallivant_execution_assert_dependency",
            "dispatchNotSentError": "gallivant_execution_dispatch_not_sent_error",
            "collectionValidationError": "gallivant_execution_collection_validation_error",
            "unsubmittedInitialDispatch": "`unsubmittedInitialDispatch`",
        }
        in_rust = {"makeExecution": "Boundary", "executionRegistry": "ExecutionRegistry"}
        listed, published = self.names()
        self.assertEqual(sorted(in_c), sorted(listed))
        for name in listed:
            self.assertIn(in_c[name], header)
            self.assertRegex(core, rf"\b{in_rust.get(name, self.snake(name))}\b")
        # In C it is a call of the boundary by its name, beside the ports that this machine answers.
        for name in (*published, "gallivant_publication_ports_open", "gallivant_publication_ports_answer"):
            self.assertRegex(header, rf"\b{name}\b")
        for name in published:
            self.assertRegex(text("core/src/publication/mod.rs"), rf"pub use reconcile::{self.snake(name)};")


class Alike(unittest.TestCase):
    def each(self):
        """A task in each language's driver, one after the other. A failure names the language."""
        for language in DRIVERS:
            self.language = language
            yield Task(self, language)

    def _formatMessage(self, message, standard):
        return f"{self.language}: {super()._formatMessage(message, standard)}"

    def setUp(self):
        self.language = "all"

    def test_ex_bnd_44_operator_acts_are_there_in_every_binding(self):
        """The command line comes later."""
        evidence = {"operationId": "op-1", "evidence": "seen in the console by ops"}
        answers = []
        for task in self.each():
            lost = task.call("submit", SUBMIT)
            self.assertEqual(lost["error"]["code"], "EXECUTION_ACCEPTANCE_UNKNOWN")
            adopted = task.call("adopt", {**evidence, "acknowledgement": ACKNOWLEDGED})["ok"]
            again = task.call("submit", SUBMIT)["ok"]
            self.assertEqual({**adopted, "reused": True}, again, "it gives what a submit gives")
            self.assertEqual((adopted["acceptance"], adopted["acknowledgement"]["turnId"]), ("accepted", "turn-1"))
            self.assertEqual([asked["method"] for asked in task.said], ["submit"], "nobody is called")
            answers.append(adopted)
        for task in self.each():
            task.call("submit", SUBMIT)
            absent = task.call("settleAbsent", evidence)["ok"]
            self.assertEqual((absent["operationId"], absent["runId"], absent["acceptance"]), ("op-1", "run-1", "absent"))
            refused = task.call("submit", SUBMIT)["error"]
            self.assertEqual((refused["code"], refused["reason"]), ("EXECUTION_CONFLICT", "absent"))
            answers.append(absent)
        self.assertEqual([len({json.dumps(one, sort_keys=True) for one in part}) for part in (answers[:5], answers[5:])], [1, 1])

    def test_ex_bnd_46_numbers_keep_their_digits_in_every_binding(self):
        digits = {"int": "9007199254740993123", "small": "0.1000000000000000000001", "exponent": "1e400", "trailing": "1.10"}
        foreign = "{" + ",".join(f'"{name}":{number}' for name, number in digits.items()) + "}"
        cursor = "36028797018963969"
        for task in self.each():
            submit = json.dumps(SUBMIT)[:-1] + f',"workflow":{foreign}}}'
            owned = json.dumps({**ACKNOWLEDGED})[:-1] + f',"cursor":{cursor}}}'
            self.assertIn("ok", task.call("submit", submit, {"submit": f'"value":{owned}'}))
            event = '{"eventId":"e-1","sequence":9007199254740995,"type":"output","timestamp":null,"data":%s}' % foreign
            seen = json.dumps({**ACKNOWLEDGED, "state": "running", "observedAt": NOW})[:-1]
            seen += f',"events":[{event}],"cursor":{cursor}7}}'
            report = task.call("startup", "{}", {"inspect": f'"value":{seen}'})
            self.assertIsNone(report["ok"]["error"], report)
            ledger, log = task.file("execution.json"), task.file("run-1/events.jsonl")
            for wanted in (f'"workflow":{foreign}', f'"cursor":{cursor}7', f'"cursor":{cursor}}}'):
                self.assertIn(wanted, ledger.replace('"cursor":%s,' % cursor, '"cursor":%s}' % cursor))
            self.assertIn(f'"data":{foreign}', log)
            self.assertIn("9007199254740995", log)
            asked = task.said[-1]["input"]
            self.assertEqual(asked["cursor"], int(cursor), "what the transport is asked has the digits too")

    def test_ex_bnd_46_integers_beyond_2_to_the_53_are_bigint_or_text_in_javascript(self):
        script = """
        const g = require(process.argv[1]); const fs = require('node:fs')
        const directory = fs.mkdtempSync(require('node:os').tmpdir() + '/g-')
        const shown = value => typeof value + ' ' + String(value)
        const nano = g.intakeReservation({ budgetUsd: 8000000000.000000016, remaining: 8000000000 })
        const types = fs.readFileSync(process.argv[1].replace("execution.js", "journal.d.ts"), 'utf8')
        console.log(JSON.stringify({
          nano: Object.values(nano).map(shown),
          sequence: /sequence\\??: [^\\n]*bigint/.test(types),
          offset: /offset\\??: [^\\n]*bigint/i.test(types),
        }))
        fs.rmdirSync(directory)
        """
        told = node(script)
        self.assertTrue(told["sequence"], "a journal's numbers are typed as bigint")
        self.assertTrue(any(value.startswith("bigint ") for value in told["nano"]), told)

    def test_ex_cost_21_an_amount_is_an_integer_of_nano_dollars_in_every_binding(self):
        cost = "8999999999.999999999"
        nanos = 8999999999999999999
        for task in self.each():
            owned = json.dumps(ACKNOWLEDGED)
            task.call("submit", SUBMIT, {"submit": f'"value":{owned}'})
            seen = json.dumps({**ACKNOWLEDGED, "state": "running", "observedAt": NOW})[:-1] + f',"costUsd":{cost}}}'
            self.assertIsNone(task.call("startup", "{}", {"inspect": f'"value":{seen}'})["ok"]["error"])
            self.assertIn(f'"costUsd":{cost}', task.file("execution.json"), "no binary number was on the way")
            money = task.call("fn:money", '{"amount":"%s","round":"down"}' % cost)["ok"]
            self.assertEqual(money, {"nano": str(nanos), "usd": cost})
        self.assertEqual(execution.nanos(json.loads(cost, parse_float=__import__("decimal").Decimal), round="down"), nanos)
        self.assertIn("int64_t *nanos", text("include/gallivant.h"))
        self.assertRegex(text("core/src/execution/money.rs"), r"pub const fn nanos\(self\) -> i64")
        told = node(
            """
            const g = require(process.argv[1]); const { money } = g
            const told = money(process.argv[2], 'down')
            console.log(JSON.stringify(Object.fromEntries(Object.entries(told).map(([k, v]) => [k, typeof v + ' ' + v]))))
            """,
            cost,
        )
        self.assertIn(f"bigint {nanos}", told.values())


NEVER = """
const { makeExecution } = require(process.argv[1])
const options = JSON.parse(process.argv[2])
const transport = { submit: () => new Promise(() => {}), inspect() {}, collect() {}, cancel() {}, continue() {} }
const task = makeExecution({ ...options, transport, limits: { deadlineMs: 1000 } })
const began = Date.now()
task.submit(JSON.parse(process.argv[3])).catch(error => {
  console.log(JSON.stringify({ code: error.code, reason: error.reason, took: Date.now() - began }))
  process.exit(0)
})
setTimeout(() => {}, 60000)
"""


class Drivers(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = os.path.join(directory.name, "task")
        self.options = {"task_id": "t", "provider": "p", "account": "me", "capabilities": RECORD, "budget_usd": 8}
        self.options.update(health="external", limits={"deadlineMs": 1_000})

    def ended(self, error, began):
        self.assertEqual((error.code, error.reason), ("EXECUTION_ACCEPTANCE_UNKNOWN", "deadline"))
        self.assertLess(time.monotonic() - began, 15)

    def test_ex_tra_35_every_binding_has_drivers_in_its_idiom_and_a_method_that_never_returns_ends(self):
        import asyncio
        import threading

        release = threading.Event()
        self.addCleanup(release.set)

        class Blocking:
            def submit(self, call):
                release.wait(60)

            inspect = collect = cancel = submit
            continue_ = submit

        with execution.make_execution(self.root, transport=Blocking(), **self.options) as task:
            began = time.monotonic()
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError) as raised:
                task.submit(SUBMIT)
            self.ended(raised.exception, began)
        release.set()

        class Awaited:
            async def submit(self, call):
                await asyncio.sleep(60)

            inspect = collect = cancel = submit
            continue_ = submit

        async def awaited():
            task = gallivant.aio.AsyncExecution.make(self.root + "-2", transport=Awaited(), **self.options)
            began = time.monotonic()
            with self.assertRaises(gallivant.ExecutionAcceptanceUnknownError) as raised:
                await task.submit(SUBMIT)
            self.ended(raised.exception, began)

        asyncio.run(awaited())
        options = {**{name: OPTIONS[name] for name in OPTIONS if name != "transport"}, "root": self.root + "-3"}
        told = node(NEVER, json.dumps(options), json.dumps(SUBMIT))
        self.assertEqual((told["code"], told["reason"]), ("EXECUTION_ACCEPTANCE_UNKNOWN", "deadline"))
        # In C and Rust the same is shown by their own suites, over a table of callbacks and over the trait.
        header, core = text("include/gallivant.h"), text("core/src/execution/mod.rs")
        for name in ("gallivant_execution_transport", "gallivant_execution_drive"):
            self.assertIn(name, header)
        self.assertIn("pub use transport::{Transport, TransportCall, check_transport, drive};", core)

    def test_ex_tra_35_the_raw_steps_are_there_in_every_binding(self):
        with execution.make_execution(self.root, transport=type("T", (), dict.fromkeys(
            ["submit", "inspect", "collect", "cancel", "continue_"], lambda self, call: None))(), **self.options) as task:
            step = task.machine("submit", SUBMIT).start()
            self.assertIsInstance(step, execution.Call)
            self.assertEqual(step.method, "submit")
        script = """
        const { makeExecution } = require(process.argv[1])
        const transport = { submit() {}, inspect() {}, collect() {}, cancel() {}, continue() {} }
        const task = makeExecution({ ...JSON.parse(process.argv[2]), transport })
        const machine = task.machine('submit', JSON.parse(process.argv[3]))
        machine.start().then(async step => {
          console.log(JSON.stringify({ kind: step.kind, method: step.method })); await task.close()
        })
        """
        options = {**{name: OPTIONS[name] for name in OPTIONS if name != "transport"}, "root": self.root + "-3"}
        self.assertEqual(node(script, json.dumps(options), json.dumps(SUBMIT)), {"kind": "call", "method": "submit"})
        header = text("include/gallivant.h")
        for verb in ("start", "reply", "fail", "deadline", "abort", "sending"):
            self.assertIn(f"gallivant_execution_machine_{verb}(", header)
        machine = text("core/src/execution/machine.rs")
        for verb in ("start", "reply", "deadline", "abort", "sending"):
            self.assertRegex(machine, rf"pub fn {verb}\(&")


if __name__ == "__main__":
    unittest.main()
