"""One journal in several languages: what one appends and projects every other reads, byte for byte and row for row.

Run by `make test` after `make build`. The adapters' protocol is in `tests/adapters/journal.md`; a language takes part once
its name is in `LANGUAGES`. GALLIVANT_JOURNAL_KILLS is how many writers of each language are killed (20), GALLIVANT_SEED what
is rolled.
"""
import concurrent.futures
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOURNAL = os.path.join(ROOT, "tests/adapters/journal")
LANGUAGES = ["rust", "c", "python", "node"]
KILLS = int(os.environ.get("GALLIVANT_JOURNAL_KILLS", "20"))
SEED = int(os.environ.get("GALLIVANT_SEED", "1"))

OWNER = {"taskId": "t-1", "runId": "r-1", "provider": "acme", "jobId": "j-1", "turnId": None}
SECRET = "hunter2!"
NOW_MS = 1_780_000_000_000

# As texts: numbers beyond every type of every language, texts that break lines, secrets, gaps, and one that is too long.
PAGE = (
    '[{"id":"e-1","provenance":"provider","type":"output","data":"one\\r\\ntwo\\u2028 \\ud83d\\ude00 \\u0000",'
    '"providerSequence":90071992547409930001,"timestamp":1780000000000.50},'
    '{"id":"e-2","provenance":"local","type":"cost","data":{"b":1.10,"a":[1e400,18446744073709551616,-0]}},'
    '{"id":"e-3","provenance":"boundary","reason":"provider-gap"},'
    '{"id":"e-hunter2!","provenance":"provider","type":"output","data":["hunter2!","Bearer abc",null,true]},'
    '{"id":"e-1","provenance":"provider","type":"output","data":"again"},'
    '{"id":"e-5","provenance":"provider","type":"output","data":"%s"}]' % ("x" * 70_000)
)
PLACED = [[1, "recorded"], [2, "recorded"], [3, "recorded"], [4, "recorded"], [1, "known"], [5, "oversized"]]


def lines(first, count, padding=0):
    """The text of a page of lines, each with its number and so much more."""
    event = '{"id":"n-%d","provenance":"provider","type":"output","data":"line %d%s"}'
    return "[%s]" % ",".join(event % (number, number, "." * padding) for number in range(first, first + count))


def difference(found, wanted):
    """Where two lists differ first, and in what; None where they are equal."""
    pairs = enumerate(itertools.zip_longest(found, wanted))
    return next((place for place in pairs if place[1][0] != place[1][1]), None)


class Adapter:
    """One process that answers requests."""

    def __init__(self, language, directory):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([JOURNAL, language], stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        self.tell("open", dir=directory, owner=OWNER, secrets=[SECRET], now_ms=NOW_MS)

    def ask(self, op, **members):
        """The answer; None where the process was killed before it had given it."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"op": op, **members}) + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer.endswith("\n") else None

    def tell(self, op, **members):
        answer = self.ask(op, **members)
        assert answer is not None and answer.pop("ok"), (op, answer)
        return answer

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Directories(unittest.TestCase):
    """Tests with a folder of runs, and adapters in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_directory(self, name="r-1"):
        directory = os.path.join(self.folder, name)
        os.makedirs(directory, exist_ok=True)
        return directory

    def adapter(self, language, directory):
        adapter = Adapter(language, directory)
        self.addCleanup(adapter.end)
        return adapter

    def bytes(self, name, file):
        with open(os.path.join(self.folder, name, file), "rb") as opened:
            return opened.read()


class Journals(Directories):
    def test_ex_jrn_04_every_language_writes_the_same_bytes(self):
        for language in LANGUAGES:
            adapter = self.adapter(language, self.run_directory(language))
            with self.subTest(language):
                self.assertEqual(adapter.tell("append", page=PAGE)["placed"], PLACED)
                adapter.tell("append", page=lines(1, 500))
                adapter.tell("project")
                for file in ("events.jsonl", "journal.json", "job.log", "job.idx", "log-meta.json"):
                    self.assertEqual(self.bytes(language, file), self.bytes(LANGUAGES[0], file), file)
        written = self.bytes(LANGUAGES[0], "events.jsonl").decode()
        for digits in ('"providerSequence":90071992547409930001', "1.10", "1e400", "18446744073709551616", "-0"):
            self.assertIn(digits, written)
        self.assertNotIn(SECRET, written)

    def test_ex_jrn_62_what_one_language_writes_every_language_reads_alike(self):
        asked = [
            ("tail", {}),
            ("history", {"before": "200"}),
            ("lines", {"after": None, "limit": 10}),
            ("lines", {"after": "505", "limit": 10}),
            ("history", {"before": "506"}),
            ("history", {"before": "none"}),
            ("check", {}),
            ("result", {}),
            ("candidates", {"root": self.folder}),
        ]
        for writer in LANGUAGES:
            directory = self.run_directory(writer)
            writing = self.adapter(writer, directory)
            writing.tell("append", page=PAGE)
            writing.tell("append", page=lines(1, 500))
            writing.tell("project")
            with open(os.path.join(directory, "result.json"), "w") as result:
                result.write('{"version":1,"outcome":{"ok":true,"cost":1.10,"note":"ghp_0123456789abcdef"}}')
            answers = {}
            for reader in LANGUAGES:
                reading = self.adapter(reader, directory)
                answers[reader] = [reading.ask(op, **members) for op, members in asked]
                for after in (None, "3", "never"):
                    reading.tell("replay", after=after)
                    answers[reader].append(reading.tell("frames", count=10_000, timeout_ms=0))
            for reader in LANGUAGES:
                with self.subTest(f"{writer} writes, {reader} reads"):
                    self.assertEqual(answers[reader], answers[LANGUAGES[0]])
            tail, check, whole = answers[writer][0], answers[writer][6], answers[writer][9]
            self.assertEqual((len(tail["rows"]), tail["rows"][-1]["text"]), (400, "line 500"))
            self.assertEqual((check["records"], [gap[2] for gap in check["gaps"]]), (503, ["provider-gap", "oversized-record"]))
            self.assertEqual((len(whole["frames"]), whole["resume"]), (505, "505"))
            self.assertEqual(json.loads(whole["frames"][0][2])["text"], "one\r\ntwo\u2028 😀 \0")
            self.assertTrue(whole["frames"][0][3].startswith("id: 1\nevent: line\ndata: {"))

    def test_ex_jrn_06_a_journal_is_handed_from_one_language_to_the_other(self):
        for one, other in itertools.product(LANGUAGES, repeat=2):
            directory = self.run_directory(f"{one}-{other}")
            first, second = self.adapter(one, directory), self.adapter(other, directory)
            with self.subTest(f"{one}, then {other}"):
                for number in range(1, 60, 2):
                    first.tell("append", page=lines(number, 2))
                    placed = second.tell("append", page=lines(number + 1, 2))["placed"]
                    self.assertEqual(placed, [[number + 1, "known"], [number + 2, "recorded"]])
                    (first if number % 4 == 1 else second).tell("project")
                self.assertEqual(second.tell("check")["records"], 61)
                self.assertEqual(first.tell("recover"), second.tell("recover"))
                self.assertEqual(first.tell("tail"), second.tell("tail"))

    def test_ex_jrn_72_a_reader_follows_a_writer_of_another_language_and_misses_nothing(self):
        count = 400

        def follows(languages):
            writer, reader = languages
            directory = self.run_directory(f"{writer}-{reader}-live")
            writing, reading = self.adapter(writer, directory), self.adapter(reader, directory)
            reading.tell("replay", after=None)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                read = pool.submit(reading.tell, "frames", count=count, timeout_ms=120_000)
                for number in range(0, count, 8):
                    writing.tell("append", page=lines(number, 8))
                    writing.tell("project")
                return read.result()

        for languages in itertools.product(LANGUAGES, repeat=2):
            with self.subTest(languages):
                seen = follows(languages)
                texts = [json.loads(data)["text"] for _, _, data, _ in seen["frames"]]
                self.assertEqual(texts, [f"line {number}" for number in range(count)])
                self.assertEqual(seen["resume"], str(count))

    def test_ex_jrn_67_what_one_language_trims_is_a_gap_in_every_other(self):
        for writer in LANGUAGES:
            directory = self.run_directory(writer)
            writing = self.adapter(writer, directory)
            writing.tell("append", page=lines(1, 100))
            writing.tell("project")
            first = writing.tell("trim", keep_bytes=1000)["projected"][0]
            self.assertGreater(first, 50)
            for reader in LANGUAGES:
                reading = self.adapter(reader, directory)
                with self.subTest(f"{writer} trims, {reader} reads"):
                    reading.tell("replay", after="10")
                    frames = reading.tell("frames", count=1000, timeout_ms=0)["frames"]
                    self.assertEqual(frames[0][:2], [None, "gap"])
                    self.assertEqual(json.loads(frames[0][2])["reason"], "retained")
                    self.assertEqual([frame[0] for frame in frames[1:]], [str(number) for number in range(first, 101)])

    def test_ex_jrn_20_what_one_language_refuses_every_other_refuses(self):
        for name, damage in (
            ("short", lambda log: log.truncate(10)),
            ("unknown-bytes", lambda log: (log.seek(0, 2), log.write(b"{}\n"))),
        ):
            directory = self.run_directory(name)
            self.adapter(LANGUAGES[0], directory).tell("append", page=lines(1, 5))
            with open(os.path.join(directory, "events.jsonl"), "r+b") as log:
                damage(log)
            for language in LANGUAGES:
                adapter = self.adapter(language, directory)
                for op, members in (("append", {"page": lines(9, 1)}), ("recover", {}), ("check", {})):
                    with self.subTest(f"{language} {op} {name}"):
                        refused = {"ok": False, "error": "EXECUTION_JOURNAL", "reason": name}
                        self.assertEqual(adapter.ask(op, **members), refused)
                event = {"ok": False, "error": "EXECUTION_INPUT", "reason": "event"}
                self.assertEqual(adapter.ask("append", page='[{"id":"e"}]'), event)


class Follower:
    """What the readers of one run were told, each of which goes on from where the one before it stopped."""

    def __init__(self):
        self.frames, self.last = [], None

    def follow(self, reader, is_over):
        """Reads until nothing more comes after `is_over` was set."""
        reader.tell("replay", after=self.last)
        while True:
            was_over = is_over.is_set()
            read = reader.tell("frames", count=1_000, timeout_ms=10)
            self.frames += read["frames"]
            self.last = read["resume"]
            if was_over:
                return


class Pages:
    """Pages of lines, numbered through, each the next one until it is acknowledged."""

    def __init__(self, dice):
        self.dice, self.texts, self.page = dice, [], None

    def next(self):
        """The text of a page, and the numbers of its lines."""
        if self.page is None:
            first = len(self.texts) + 1
            # The longest page takes several batches.
            count, padding = self.dice.choice((1, 8, 40)), self.dice.choice((0, 100, 5_000))
            self.texts += [f"line {number}{'.' * padding}" for number in range(first, first + count)]
            self.page = lines(first, count, padding), list(range(first, first + count))
        return self.page


class KilledWriters(Directories):
    """Many writers of one run, one after the other, each killed at any moment, and readers all the while."""

    def append(self, writer, pages):
        """Appends a page and projects it: whether the writer lived."""
        page, numbers = pages.next()
        appended = writer.ask("append", page=page)
        if appended is None:
            return False
        self.assertTrue(appended["ok"], appended)
        self.assertEqual([sequence for sequence, _ in appended["placed"]], numbers)
        pages.page = None
        projected = writer.ask("project")
        if projected is None:
            return False
        self.assertTrue(projected["ok"], projected)
        return True

    def test_ex_jrn_18_however_many_writers_are_killed_every_event_stands_once_and_is_read_once(self):
        dice = random.Random(SEED)
        turns = [(writer, dice.choice([other for other in LANGUAGES if other != writer])) for writer in LANGUAGES * KILLS]
        dice.shuffle(turns)
        directory = self.run_directory()
        with self.subTest(GALLIVANT_SEED=SEED):
            pages, frames = self.write_and_read(directory, dice, turns)
            self.assert_each_stands_once(directory, pages.texts, frames, len(turns))

    def write_and_read(self, directory, dice, turns):
        """Kills a writer a turn while another language reads: the pages, and what was read."""
        delays = [dice.uniform(0, 0.03) for _ in turns]
        readers = {language: self.adapter(language, directory) for language in LANGUAGES}
        pages, follower, repeated = Pages(dice), Follower(), 0
        for (language, other), delay in zip(turns, delays):
            writer, is_over = self.adapter(language, directory), threading.Event()
            repeated += pages.page is not None
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                following = pool.submit(follower.follow, readers[other], is_over)
                killing = threading.Timer(delay, writer.process.kill)
                killing.start()
                try:
                    while self.append(writer, pages):
                        pass
                finally:
                    is_over.set()
                    # Whatever it did is done before the next one begins.
                    killing.join()
                    self.assertEqual(writer.process.wait(), -signal.SIGKILL)
            following.result()
        self.assertGreater(repeated, 0, "some pages were not acknowledged")
        self.assertTrue(self.append(self.adapter(LANGUAGES[0], directory), pages))
        follower.follow(readers[LANGUAGES[-1]], is_over)
        return pages, follower.frames

    def assert_each_stands_once(self, directory, texts, frames, kills):
        """What stands in the log, what a check says of it, and what was read of it, of lines with these texts."""
        with open(os.path.join(directory, "events.jsonl"), encoding="utf-8") as log:
            events = [json.loads(line) for line in log]
        numbers = range(1, len(texts) + 1)
        named = [(event["sequence"], event["eventId"]) for event in events]
        self.assertIsNone(difference(named, [(number, f"n-{number}") for number in numbers]))
        # A crash takes at most one event, and a gap stands for it (EX-JRN-17).
        lost = [event["sequence"] for event in events if event["type"] == "gap"]
        self.assertLessEqual(len(lost), kills)
        stands = [None if number in lost else text for number, text in zip(numbers, texts)]
        interrupted = {"reason": "interrupted-append"}
        self.assertIsNone(difference([event["data"] for event in events], [text or interrupted for text in stands]))
        self.assertIsNone(difference([frame[0] for frame in frames], [str(number) for number in numbers]))
        self.assertIsNone(difference([json.loads(frame[2]).get("text") for frame in frames], stands))
        end = [os.path.getsize(os.path.join(directory, "events.jsonl")), len(texts)]
        for language in LANGUAGES:
            checked = self.adapter(language, directory).tell("check")
            gaps = [gap[:3] for gap in checked["gaps"]]
            self.assertEqual(gaps, [[number, number, "interrupted-append"] for number in lost])
            self.assertEqual((checked["records"], checked["pending"]), (len(texts) - len(lost), None))
            self.assertEqual(checked["end"], end)
        if "GALLIVANT_JOURNAL_KILLS" in os.environ:
            print(f"killed writers of journals: {kills} kills, {len(texts)} events, {len(lost)} of them gaps, seed {SEED}")


if __name__ == "__main__":
    unittest.main()
