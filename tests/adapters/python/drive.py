"""The test driver of the execution layer over the Python package: the protocol of `tests/vectors/execution/README.md`.

`drive.py` goes through `gallivant.execution.Execution`, `drive.py --asyncio` through `gallivant.aio.AsyncExecution`. The runner is
the transport, the process host and the clock. Nothing here judges anything.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

import gallivant
from gallivant import aio, execution
from gallivant.testing import TestHost

CRASHED = 86
IS_ASYNC = "--asyncio" in sys.argv[1:]
REMOTE = {"prepare", "submit", "inspect", "continue", "collect", "cancel", "lookup", "recoverResponse"}
LOCAL = {"spawn", "observe", "signal", "outcome"}

say_lock = threading.Lock()


def say(line: str) -> None:
    """Writes one line, whole and at once, whoever else writes."""
    with say_lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def members(line: str) -> dict[str, str]:
    """The members of a JSON object, each as the text that it came as: numbers keep their digits."""
    decoder, space = json.JSONDecoder(), re.compile(r"\s*")
    found: dict[str, str] = {}
    at = line.index("{") + 1
    while True:
        at = space.match(line, at).end()  # type: ignore[union-attr]
        if line[at] == "}":
            return found
        name, at = decoder.raw_decode(line, at)
        at = space.match(line, line.index(":", at) + 1).end()  # type: ignore[union-attr]
        _, end = decoder.raw_decode(line, at)
        found[name] = line[at:end]
        at = space.match(line, end).end()  # type: ignore[union-attr]
        at += line[at] == ","


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def refusal(error: gallivant.GallivantError) -> str:
    told = {name: getattr(error, name) for name in ("code", "reason", "remedy", "message")}
    told.update(runId=getattr(error, "run_id", None), operationId=getattr(error, "operation_id", None))
    return json.dumps(told)


def refused(message: str) -> gallivant.ExecutionInputError:
    return gallivant.ExecutionInputError(message, remedy="correct the script")


class Question:
    """A question to the runner, and who waits for its answer."""

    def __init__(self, call: execution.TransportCall | None) -> None:
        self.call = call
        self.answer: queue.Queue[dict[str, str] | None] = queue.Queue()


class Desk:
    """The questions that are open."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.open: dict[int, Question] = {}

    def ask(self, port: str, method: str, input_json: str, call: execution.TransportCall | None = None) -> Any:
        """Asks, and waits until the question is answered or its call is over."""
        number, question = next(self.numbers), Question(call)
        self.open[number] = question

        def over() -> None:
            self.open.pop(number, None)
            say(f'{{"aborted":{number}}}')
            question.answer.put(None)

        forget = call.signal.on_fire(over) if call is not None else lambda: None
        say(f'{{"ask":{number},"port":"{port}","method":{json.dumps(method)},"input":{input_json}}}')
        answer = question.answer.get()
        self.open.pop(number, None)
        forget()
        if answer is None:
            raise execution.TransportError("aborted", "the call is over")
        if "error" in answer:
            error = json.loads(answer["error"])
            raise execution.TransportError(
                error.get("kind"),
                error.get("message", ""),
                retry_after_ms=error.get("retryAfterMs"),
                code=error.get("code"),
            )
        return answer.get("value", "null")

    def hear(self, number: int, message: dict[str, str]) -> None:
        question = self.open.get(number)
        if question is None:
            say(f'{{"refused":{number}}}')
        elif message["cmd"] == '"sending"':
            if question.call is not None:
                question.call.sending()
        else:
            # One question has one answer.
            del self.open[number]
            question.answer.put(message)


class Port:
    """A transport or a process host whose methods ask the runner."""

    def __init__(self, desk: Desk, port: str, methods: list[str]) -> None:
        for method in methods:
            name = {"continue": "continue_", "recoverResponse": "recover_response"}.get(method, method)
            setattr(self, name, self._asking(desk, port, method))

    @staticmethod
    def _asking(desk: Desk, port: str, method: str) -> Callable[[execution.TransportCall], Any]:
        def ask(call: execution.TransportCall) -> Any:
            input_json = call.input_json
            if port == "transport":
                comma = "" if input_json == "{}" else ","
                input_json = f'{input_json[:-1]}{comma}"deadlineAt":{call.deadline_at}}}'
            return desk.ask(port, method, input_json, call)

        async def ask_awaited(call: execution.TransportCall) -> Any:
            # On a thread beside the loop, which a question that is given up does not keep.
            return await asyncio.to_thread(ask, call)

        return ask_awaited if IS_ASYNC else ask


class Driver:
    """The boundary that is open."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.host = TestHost()
        self.execution: Any = None
        if IS_ASYNC:
            self.loop = asyncio.new_event_loop()
            threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def hear(self, message: dict[str, str]) -> None:
        command, number = json.loads(message["cmd"]), message.get("id", "null")
        if command == "open":
            self.finish(number, lambda: self.open(message))
        elif command == "call":
            # On a thread of its own: it may ask, and its answer has to be heard.
            work = lambda: self.call(json.loads(message["method"]), message.get("args", "{}"))  # noqa: E731
            threading.Thread(target=self.finish, args=(number, work), daemon=True).start()
        elif command == "clock":
            self.host.set_wall_ms(json.loads(message["now"]))
        elif command in ("answer", "sending"):
            self.desk.hear(json.loads(message["ask"]), message)
        elif command == "drop":
            threading.Thread(target=self.finish, args=(number, self.drop), daemon=True).start()

    def finish(self, number: str, work: Callable[[], str]) -> None:
        try:
            say(f'{{"done":{number},"ok":{work()}}}')
        except (gallivant.GallivantError, TypeError) as failed:
            # A keyword or an argument that no function has.
            error = refused(str(failed)) if isinstance(failed, TypeError) else failed
            say(f'{{"done":{number},"error":{refusal(error)}}}')

    def awaited(self, result: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(result, self.loop).result() if IS_ASYNC else result

    def open(self, message: dict[str, str]) -> str:
        options = json.loads(message["options"])
        given = members(message["options"])
        faults, hits = json.loads(message.get("faults", "[]")), dict[str, int]()

        def point(name: str) -> str:
            hits[name] = hits.get(name, 0) + 1
            for fault in faults:
                if fault["point"] == name and fault.get("nth", 1) == hits[name]:
                    if fault["action"] == "crash":
                        os._exit(CRASHED)
                    if fault["action"] == "fail":
                        return "fail"
                    self.desk.ask("fault", name, "{}")
            return "go"

        self.host = TestHost(
            wall_ms=json.loads(message["now"]), jitter=json.loads(message.get("jitter", "1")), points=point
        )
        if "transport" in options:
            methods = options.pop("transport")["methods"]
            options["transport"] = Port(self.desk, "transport", [name for name in methods if name in REMOTE])
        if options.pop("runner", None):
            options["runner"] = Port(self.desk, "process", sorted(LOCAL))
        # As it came: no digit of it is to be lost.
        options["capabilities"] = given.get("capabilities", "null")
        keywords = {snake(name): value for name, value in options.items()}
        make: Any = aio.AsyncExecution.make if IS_ASYNC else execution.make_execution
        self.execution = make(json.loads(message["root"]), host=self.host, **keywords)
        return "true"

    def call(self, method: str, args: str) -> str:
        if method.startswith("fn:"):
            name = method[len("fn:") :]
            if snake(name) not in execution.__all__:
                return execution.function_json(name, args)
            function = getattr(execution, snake(name))
            return json.dumps(function(**{snake(name): value for name, value in json.loads(args).items()}), default=float)
        if self.execution is None:
            raise refused("no boundary is open")
        return str(self.awaited(self.execution.call_json(method, "{}" if args == "null" else args)))

    def drop(self) -> str:
        boundary, self.execution = self.execution, None
        if boundary is not None:
            self.awaited(boundary.close())
        return "true"


def main() -> None:
    driver = Driver()
    for line in sys.stdin:
        driver.hear(members(line))
    # What still runs is left as by a crash.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
