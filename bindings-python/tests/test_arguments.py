"""What Python can hold and the library cannot is one error at every entry point, and a wrong type a `TypeError`."""

import ast
import asyncio
import hashlib
import inspect
import json
import os
import unittest

import gallivant
from gallivant import _native, aio, words

from .execution_support import CAPABILITY
from .support import CLAIMANT, PACKAGE, SeatCase

LONE = "half\ud800"
# Out of range for every integer that a call takes.
NUMBERS = (2**64, -(2**63) - 1, 10**5000)
# These would end the process that runs the tests, or take standard input from it.
NOT_CALLED = {"arm_hook_deadline", "serve_hook", "panic"}
# Any value will do where these stand, and none of them is text or a number.
NOT_CONVERTED = {"environ", "session", "function", "args", "kwargs", "payload", "options", "host", "exception_type", "traceback"}
# A number of seconds, of which every float that is a number is one.
NOT_CONVERTED |= {"timeout"}
# Chance is any float, what is asked at a point any function, and a registry or a store an object of its class.
NOT_CONVERTED |= {"jitter", "points", "registry", "scopes", "store"}
# Numbers of an event keep whatever digits they have, and a page holds no text but within its events.
NOT_CONVERTED |= {"provider_sequence", "timestamp", "page"}
# What is no probe at all is told so in the probe's own words, and what is no answer of one is a `TypeError`.
PROBING = {None, "Reader", "Fleet", "Watch"}


def entry_points():
    """Every function, constructor and method of the native module's stub: class, name, and the parameters' types."""
    with open(os.path.join(PACKAGE, "gallivant/_native.pyi")) as stub:
        tree = ast.parse(stub.read())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield None, node.name, parameters(node)
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                named = isinstance(member, ast.FunctionDef) and (
                    not member.name.startswith("_") or member.name == "__new__"
                )
                if named and not any("property" in ast.unparse(mark) for mark in member.decorator_list):
                    yield node.name, member.name, parameters(member)


def parameters(function):
    """The parameters that take text, a path or a number: by name, `text` or `number`."""
    given = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    found = {}
    for parameter in given:
        if parameter.annotation is None or parameter.arg in NOT_CONVERTED:
            continue
        kind = ast.unparse(parameter.annotation)
        if "SupportsIndex" in kind or "int" in kind.split(" | "):
            found[parameter.arg] = "number"
        elif "str" in kind or "Path" in kind:
            found[parameter.arg] = "text"
    return found


class Refused(SeatCase):
    def setUp(self):
        super().setUp()
        self.session = gallivant.Session.start(self.seat, "a", "claude", pty_session="p", token="tok")
        self.before = self.bytes()
        snapshot = gallivant.Reader(self.seat).snapshot()
        self.objects = {
            "Cancel": gallivant.Cancel(),
            "OwnershipGuard": None,
            "ProcessIdentity": self.session.attach(os.getpid()),
            "Reader": gallivant.Reader(self.seat),
            "Session": self.session,
            "SessionEnvironment": self.session.environment(),
            "Snapshot": snapshot,
            "TestHost": gallivant.testing.TestHost(),
            "Writer": self.session.writer,
            "CurrentOwnership": None,
            "Record": snapshot.record,
            "State": gallivant.Reader(self.seat).read(),
            "Fleet": gallivant.Fleet(self.seat),
            "Watch": gallivant.Watch.record(self.seat),
            "Redactor": gallivant.redaction.Redactor(),
        }
        self.objects.update(self.of_a_store())
        self.objects.update(self.of_a_run())
        self.objects.update(self.of_a_task())
        self.addCleanup(self.objects["Watch"].close)
        self.before = self.bytes()

    def of_a_store(self):
        """One of each that a store hands out, by class."""
        store = _native.IdempotencyStore.open(os.path.join(os.path.dirname(self.seat), "idempotency.db"))
        reservation = store.begin("good", ["good"], "running", b"")
        with store.begin("good", ["good"], "marked", b"") as marked:
            marked.effect_starting()
        store.begin("good", ["good"], "finished", b"").complete("good", b"")
        named = [reservation, *(store.begin("good", ["good"], key, b"") for key in ("running", "marked", "finished"))]
        return {type(one).__name__: one for one in (store, *named)}

    def of_a_run(self):
        """One of each that a run has, by class."""
        self.run_directory = os.path.join(os.path.dirname(self.seat), "run")
        os.mkdir(self.run_directory)
        opened = [
            _native.Journal.open(self.run_directory, self.good("owner"), gallivant.redaction.Redactor()),
            *(kind.open(self.run_directory) for kind in (_native.Projection, _native.LogReader, _native.Replay)),
        ]
        for one in opened:
            self.addCleanup(one.close)
        return {type(one).__name__: one for one in (*opened, _native.Event("e", "local", "t"))}

    def of_a_task(self):
        """One of each that a task has, by class."""
        options = json.dumps(
            {
                "taskId": "t",
                "provider": "memory",
                "account": "a",
                "capabilities": CAPABILITY,
                "transport": {"methods": ["submit", "inspect", "collect"]},
            }
        )
        boundary = _native.Boundary(os.path.join(os.path.dirname(self.seat), "task"), options)
        machine = boundary.call("startup", "{}", _native.AbortToken())
        self.addCleanup(boundary.close)
        health = _native.HealthStore(os.path.join(os.path.dirname(self.seat), "health"))
        source = "[]"
        plan = {
            "repo": "r",
            "branch": "b",
            "base": "main",
            "author": {"name": "n", "email": "e"},
            "verification": {"commands": [], "source": source, "approvedHash": hashlib.sha256(source.encode()).hexdigest()},
            "checkout": self.seat,
            "scratch": self.seat,
        }
        ports = _native.PublicationPorts(boundary, json.dumps(plan), _native.AbortToken())
        lanes = (_native.Lane(1, 1), _native.DispatchLane(health, [], 1))
        handed_out = (machine, health.begin("good", "good"), ports, *lanes)
        return {type(one).__name__: one for one in (boundary, *handed_out, health, _native.ExecutionRegistry())}

    def good(self, name):
        """A value that is in order, by the parameter's name."""
        return {
            "directory": self.seat,
            "path": self.seat,
            "root": self.seat,
            "state": "idle",
            "observation": "idle",
            "blocked_on": "none",
            "input_buffer": "empty",
            "ask": "none",
            "harness": "claude",
            "faults_json": "[]",
            "input_json": "{}",
            "options_json": "{}",
            "method": "inspect",
            "probe": "alive",
            "scope": ["good"],
            "body": b"",
            "answer": b"",
            "provenance": "provider",
            "text": "[]",
            "owner": _native.Owner(task_id="t", run_id="r", provider="p"),
            "redactor": gallivant.redaction.Redactor(),
            "store": self.objects.get("HealthStore"),
            "scopes": [],
        }.get(name, "good")

    def call(self, owner, name, changed, value):
        """Calls an entry point with everything in order but one argument."""
        if owner is None:
            function = getattr(_native, name)
        elif name == "__new__":
            function = getattr(_native, owner)
        else:
            of_class = inspect.ismethoddescriptor(vars(getattr(_native, owner))[name])
            function = getattr(self.objects[owner] if of_class else getattr(_native, owner), name)
        given = dict(self.required(owner, name))
        given[changed] = value
        return function(**given)

    def required(self, owner, name):
        with open(os.path.join(PACKAGE, "gallivant/_native.pyi")) as stub:
            tree = ast.parse(stub.read())
        body = tree.body
        if owner is not None:
            body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
        function = next(node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
        positional = function.args.posonlyargs + function.args.args
        without_default = positional[: len(positional) - len(function.args.defaults)]
        keywords = zip(function.args.kwonlyargs, function.args.kw_defaults)
        wanted = without_default + [parameter for parameter, default in keywords if default is None]
        for parameter in wanted:
            if parameter.arg in ("self", "cls"):
                continue
            kind = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
            if parameter.arg == "payload":
                yield parameter.arg, b"{}"
            elif parameter.arg in ("environ", "session"):
                yield parameter.arg, self.session.to_env()
            elif "SupportsGetItem" in kind:
                yield parameter.arg, []
            elif kind in ("LeftOut", "State", "Position", "AbortToken", "Boundary"):
                values = {"LeftOut": gallivant.LeftOut(), "State": self.objects["State"]}
                values["Position"] = _native.Position(offset=0, sequence=0)
                values["AbortToken"] = _native.AbortToken()
                values["Boundary"] = self.objects.get("Boundary")
                yield parameter.arg, values[kind]
            elif "SupportsIndex" in kind:
                yield parameter.arg, 1
            elif "bool" in kind:
                yield parameter.arg, False
            else:
                yield parameter.arg, self.good(parameter.arg)

    def test_every_text_and_every_number_of_every_entry_point(self):
        tried = {"text": 0, "number": 0}
        for owner, name, takes in entry_points():
            if name in NOT_CALLED:
                continue
            for parameter, kind in takes.items():
                bad = (LONE,) if kind == "text" else NUMBERS
                lists = ("also_accepted_schemas", "wrapperless_prefixes", "children", "scope", "secrets", "texts")
                if parameter in lists:
                    bad = ([LONE],)
                elif parameter == "random":
                    bad = tuple([number] for number in NUMBERS)
                for value in bad:
                    with self.subTest(f"{owner or ''}.{name}({parameter}=)"):
                        with self.assertRaises(gallivant.InputError) as raised:
                            self.call(owner, name, parameter, value)
                        error = raised.exception
                        self.assertEqual(error.reason, "unicode" if kind == "text" else "out-of-range")
                        self.assertIsInstance(error.__cause__, (UnicodeEncodeError, OverflowError))
                        self.assertNotIn("\ud800", str(error))
                        tried[kind] += 1
                with self.subTest(f"{owner or ''}.{name}({parameter}=object())"), self.assertRaises(TypeError):
                    if parameter == "probe" and owner in PROBING:
                        with self.assertRaises(gallivant.HarnessStateInputError):
                            self.call(owner, name, parameter, object())
                        raise TypeError
                    self.call(owner, name, parameter, object())
        # So that a stub that is read wrongly does not pass for one without parameters.
        self.assertGreater(tried["text"], 70)
        self.assertGreater(tried["number"], 60)
        self.assertEqual(self.bytes(), self.before)

    def test_the_message_tells_the_number_and_never_the_text(self):
        with self.assertRaises(gallivant.InputError) as raised:
            gallivant.Options(stale_ms=-1)
        self.assertIn("value=`-1`", raised.exception.message)
        with self.assertRaises(gallivant.InputError) as raised:
            gallivant.Options(stale_ms=10**5000)
        self.assertIn("bits=`16610`", raised.exception.message)
        with self.assertRaises(gallivant.InputError) as raised:
            gallivant.Writer(self.seat, **{**CLAIMANT, "token": "secret\udc80"})
        self.assertIn("position=`6`", raised.exception.message)
        self.assertNotIn("secret", "".join(map(str, (raised.exception, raised.exception.__cause__))))

    def test_a_path_of_bytes_that_are_no_unicode_is_a_path(self):
        odd = os.path.join(os.path.dirname(self.seat), os.fsdecode(b"\xff"))
        gallivant.claim(odd, **CLAIMANT)
        self.assertEqual(gallivant.Reader(odd).read().reason, words.UNKNOWN_CLAIMED)
        self.assertEqual(gallivant.Reader(odd).path, odd)

    def test_awaited_calls_refuse_the_same(self):
        async def call():
            writer = aio.Writer.from_environment(self.session.environment())
            with self.assertRaises(gallivant.InputError):
                await writer.observe(LONE)
            with self.assertRaises(gallivant.InputError):
                await aio.claim(self.seat, **{**CLAIMANT, "token": LONE})

        asyncio.run(call())
        self.assertEqual(self.bytes(), self.before)


if __name__ == "__main__":
    unittest.main()
