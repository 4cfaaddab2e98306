"""Four languages contend for one seat while somebody outside the rules damages the record and the floor.

Sequences are distinct, no write of a superseded session lands (HSI-1), and stamps and counters never fall except over
a record that was damaged (HSI-4). GALLIVANT_CONTENTION_SECONDS is how long (3), GALLIVANT_SEED what is rolled.
"""
import collections
import fcntl
import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(ROOT, "tests/adapters/run")
LANGUAGES = ["rust", "c", "python", "node"]
SECONDS = float(os.environ.get("GALLIVANT_CONTENTION_SECONDS", "3"))
SEED = int(os.environ.get("GALLIVANT_SEED", "1"))
GARBAGE = [b"", b"{", b"\0" * 40, b"[]", b"not a number\n"]
PREFIX = "claude-session-"

Call = collections.namedtuple("Call", "language kind sequence started ended")


class Adapter:
    """One language's program, asked a line at a time."""

    def __init__(self, language, directory):
        self.process = subprocess.Popen(
            [RUN, language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self.ask(op="begin", dir=directory)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if not answer["ok"]:
            raise AssertionError(f"{request}: {answer}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=120)
        self.process.stdout.close()


class Contender(threading.Thread):
    """Claims now and then, and lets old sessions of its own speak on."""

    def __init__(self, arena, language):
        super().__init__(name=language)
        self.arena, self.language = arena, language
        self.dice = random.Random(f"{SEED} {language}")
        self.sessions, self.calls, self.answers, self.failure = [], [], collections.Counter(), None

    def run(self):
        try:
            adapter = Adapter(self.language, self.arena.directory)
            try:
                self.arena.started.wait()
                while not self.arena.over():
                    if not self.sessions or self.dice.random() < 0.15:
                        self.claim(adapter)
                    else:
                        self.speak(adapter)
            finally:
                adapter.close()
        except Exception as failure:  # the test reports it
            self.failure = failure

    def timed(self, adapter, kind, sequence, request):
        started = time.monotonic()
        answer = adapter.ask(**request)
        call = Call(self.language, kind, sequence, started, time.monotonic())
        return answer, call

    def claim(self, adapter):
        number = len(self.sessions)
        wrapperless = self.dice.random() < 0.3
        token = f"{PREFIX if wrapperless else ''}{self.language}-{number}"
        operation = "claim_wrapperless" if wrapperless and self.dice.random() < 0.5 else "claim"
        request = {"op": operation, "agent": "a", "harness": self.language, "token": token}
        answer, call = self.timed(adapter, "claim", None, request)
        sequence = answer["seq"]
        self.answers["claimed" if sequence is not None else "taken"] += 1
        if sequence is None:
            return
        self.calls.append(call._replace(sequence=sequence))
        writer = f"w{number}"
        opening = {"op": "open", "writer": writer, "agent": "a", "harness": self.language, "pty": "p", "token": token}
        if self.dice.random() < 0.7:
            opening["seq"] = sequence
        adapter.ask(**opening)
        self.sessions.append((writer, sequence))

    def speak(self, adapter):
        recent = self.sessions[-6:]
        writer, sequence = recent[-1] if self.dice.random() < 0.6 else self.dice.choice(recent)
        kind = self.dice.choice(["observe", "observe", "observe", "observe_unless_ended", "heartbeat", "ended"])
        request = {"op": kind, "writer": writer}
        if kind == "ended":
            request["args"] = {"exit": "exit 0"}
        elif kind != "heartbeat":
            state = self.dice.choice(["active", "idle", "ready"])
            request["args"] = {"state": state, "blockedOn": "none", "inputBuffer": "unknown"}
        answer, call = self.timed(adapter, kind, sequence, request)
        self.answers[answer["outcome"]] += 1
        if answer["outcome"] == "landed":
            self.calls.append(call)


class Arena:
    """The seat, and whoever damages and watches it."""

    def __init__(self, directory):
        self.directory = directory
        self.record = os.path.join(directory, "harness-state")
        self.floor = os.path.join(directory, ".harness-state.seq")
        self.started = threading.Event()
        self.ends_at = float("inf")
        # The damage that was done last: its number, and what may be found of it; none for nothing at all.
        self.damage = (0, None)
        self.damaged = collections.Counter()
        self.reads, self.failure = 0, None
        self.contenders = []

    def over(self):
        """When its time is up and everybody had a turn; on a machine that is too busy for that, at ten times its time."""
        late = time.monotonic() - self.ends_at
        return late >= 9 * SECONDS or (late >= 0 and self.has_met_all())

    def has_met_all(self):
        refused = sum(contender.answers["refused:superseded"] for contender in self.contenders)
        turns = (contender.answers[turn] for contender in self.contenders for turn in ("claimed", "landed"))
        damages = (self.damaged[what] for what in ("record", "floor"))
        return refused > 0 and self.reads > 100 and all(turns) and all(damages)

    def watch(self):
        """Reads without a pause: whole records, or the damage as it was done; and nothing falls meanwhile."""
        highest, last, epoch = 0, None, None
        while not self.over():
            before = self.damage
            try:
                with open(self.record, "rb") as file:
                    found = file.read()
            except FileNotFoundError:
                found = None
            if before != self.damage:
                continue
            self.reads += 1
            if epoch != before[0]:
                epoch, last = before[0], None
            if found == before[1] and (found is None or found in GARBAGE):
                continue
            try:
                if found is None:
                    raise AssertionError("the record is missing")
                if not found.endswith(b"\n"):
                    raise AssertionError(f"torn: {found!r}")
                record = json.loads(found)
                now = (record["seq"], record["writtenAtMs"], record["transitions"])
                if last is not None and any(new < old for new, old in zip(now, last)):
                    raise AssertionError(f"it fell from {last} to {now}")
                if now[0] < highest:
                    raise AssertionError(f"sequence {now[0]} after {highest}")
                highest, last = now[0], now
            except Exception as failure:
                self.failure = failure
                return

    def harm(self):
        """Never both at once, which would leave nothing to go on from: so it looks, and damages, under the lock."""
        dice = random.Random(f"{SEED} damage")
        while not self.over():
            time.sleep(dice.uniform(0.002, 0.03))
            with open(os.path.join(self.directory, ".harness-state.lock"), "r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                sequence, floor = self.on_record(), self.on_floor()
                if dice.random() < 0.5:
                    if sequence is not None and sequence >= (floor or 0):
                        self.put(self.floor, dice.choice([None, *GARBAGE]))
                        self.damaged["floor"] += 1
                elif floor is not None and sequence is not None and floor >= sequence:
                    content = dice.choice([None, *GARBAGE])
                    # Twice, because until it is done the old record, a whole one, may still be read.
                    self.damage = (self.damage[0] + 1, content)
                    self.put(self.record, content)
                    self.damage = (self.damage[0] + 1, content)
                    self.damaged["record"] += 1

    def put(self, path, content):
        if content is None:
            if os.path.exists(path):
                os.unlink(path)
            return
        staged = os.path.join(self.directory, "damage")
        with open(staged, "wb") as file:
            file.write(content)
        os.rename(staged, path)

    def on_record(self):
        try:
            with open(self.record, "rb") as file:
                return json.loads(file.read())["seq"]
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def on_floor(self):
        try:
            with open(self.floor, "rb") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None


class Contention(unittest.TestCase):
    def test_hsi_1_four_languages_contend_for_a_seat_that_is_being_damaged(self):
        with tempfile.TemporaryDirectory() as place:
            arena = Arena(os.path.join(place, "agent"))
            os.mkdir(arena.directory)
            contenders = arena.contenders = [Contender(arena, language) for language in LANGUAGES]
            first = Adapter("rust", arena.directory)
            self.assertEqual(first.ask(op="claim", agent="a", harness="rust", token="first")["seq"], 1)
            first.close()
            others = [threading.Thread(target=arena.watch), threading.Thread(target=arena.harm)]
            for thread in [*contenders, *others]:
                thread.start()
            arena.ends_at = time.monotonic() + SECONDS
            arena.started.set()
            for thread in [*contenders, *others]:
                thread.join()
            for failed in [arena, *contenders]:
                self.assertIsNone(failed.failure, f"GALLIVANT_SEED={SEED}: {failed.failure!r}")
            self.judge(arena, contenders)

    def judge(self, arena, contenders):
        calls = sorted((call for contender in contenders for call in contender.calls), key=lambda call: call.started)
        claims = [call for call in calls if call.kind == "claim"]
        sequences = [call.sequence for call in claims]
        self.assertEqual(len(set(sequences)), len(sequences), f"GALLIVANT_SEED={SEED}: a sequence twice")
        # A call that began after a claim had returned comes after it, in whichever language.
        returned = sorted(claims, key=lambda call: call.ended)
        position, highest = 0, 0
        for call in calls:
            while position < len(returned) and returned[position].ended < call.started:
                highest = max(highest, returned[position].sequence)
                position += 1
            self.assertGreaterEqual(call.sequence, highest, f"GALLIVANT_SEED={SEED}: a straggler's write: {call}")
        answers = sum((contender.answers for contender in contenders), collections.Counter())
        for contender in contenders:
            self.assertGreater(contender.answers["claimed"], 0, contender.language)
            self.assertGreater(contender.answers["landed"], 0, contender.language)
        self.assertGreater(answers["refused:superseded"], 0)
        self.assertGreater(min(arena.damaged["record"], arena.damaged["floor"]), 0, arena.damaged)
        self.assertGreater(arena.reads, 100)
        if "GALLIVANT_CONTENTION_SECONDS" in os.environ:
            print(f"contention: {dict(answers)}, {dict(arena.damaged)} damaged, {arena.reads} reads, seed {SEED}")


if __name__ == "__main__":
    unittest.main()
