"""The journal of a run: events and pages, projection, windows of lines, checking, results, retention."""

import copy
import json
import os
import pickle
import threading
import unittest

import gallivant
from gallivant import journal as module
from gallivant import words
from gallivant.journal import (
    Event,
    Journal,
    LogReader,
    Owner,
    PendingBatch,
    Position,
    Projection,
    Row,
    check,
    read_run_result,
    read_run_result_json,
    retention_candidates,
)
from gallivant.redaction import Redactor
from gallivant.testing import TestHost

from .journal_support import OWNER, RunCase
from .support import run_python, start_python

DAY_MS = 86_400_000


class Events(RunCase):
    def test_ex_jrn_04_numbers_and_data_keep_their_digits(self):
        large = 90071992547409930001
        self.journal().append(
            [
                Event("a", "provider", "t", {"n": large, "f": 0.1}, provider_sequence=large, timestamp=1.5),
                Event("b", "local", "t", data_json='{"cost": 1.10, "far": 1e400}'),
                *Event.page_from_json('[{"id":"c","provenance":"boundary","type":"t","data":1.50,"providerSequence":7}]'),
                Event("d", "provider", "t"),
            ]
        )
        with open(self.path("events.jsonl")) as log:
            a, b, c, d = log.read().splitlines()
        self.assertIn(f'"providerSequence":{large},"provenance":"provider","timestamp":1.5,"type":"t"', a)
        self.assertIn(f'"data":{{"n":{large},"f":0.1}}', a)
        self.assertIn('"data":{"cost":1.10,"far":1e400}', b)
        self.assertIn('"providerSequence":7,"provenance":"boundary"', c)
        self.assertIn('"data":1.50', c)
        self.assertIn('"providerSequence":null', d)
        self.assertIn('"data":null', d)

    def test_an_event_tells_what_it_was_made_of_and_does_not_change(self):
        data = {"a": [1, None]}
        event = Event("e", "provider", "t", data, provider_sequence=3, timestamp=4.5)
        data["a"].append("later")
        self.assertEqual((event.id, event.provenance, event.type), ("e", "provider", "t"))
        self.assertEqual((event.data, event.data_json, event.reason), ({"a": [1, None]}, '{"a":[1,null]}', None))
        self.assertEqual((event.provider_sequence, event.timestamp), (3, 4.5))
        gap = Event("g", "boundary", reason=words.GAP_RETAINED)
        self.assertEqual((gap.type, gap.data, gap.data_json, gap.reason), (None, None, None, "retained"))
        for value in (event, gap, OWNER):
            same = (copy.deepcopy(value), pickle.loads(pickle.dumps(value)), eval(repr(value), vars(module)))
            for other in same:
                self.assertEqual((other, hash(other)), (value, hash(value)))
        self.assertNotEqual(event, gap)
        with self.assertRaises(AttributeError):
            event.id = "f"

    def test_ex_jrn_10_every_gap_has_its_word_and_no_other_is_taken(self):
        gaps = [value for name, value in vars(words).items() if name.startswith("GAP_")]
        self.journal().append([Event(f"g-{reason}", "boundary", reason=reason) for reason in gaps])
        self.assertEqual([(one["type"], one["data"]["reason"]) for one in self.records()], [("gap", one) for one in gaps])

    def test_what_is_no_event_is_refused_before_anything_is_written(self):
        for wrong in (
            lambda: Event("e", "provider"),
            lambda: Event("e", "provider", "t", reason="retained"),
            lambda: Event("e", "nobody", "t"),
            lambda: Event("e", "provider", reason="lost"),
            lambda: Event("e", "provider", "t", timestamp=float("nan")),
            lambda: Event.page_from_json('[{"id":"e","type":"t"}]'),
            lambda: self.journal().append([{"id": "e", "provenance": "provider"}]),
        ):
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                wrong()
            self.assertEqual(raised.exception.reason, "event")
        for wrong in (
            lambda: Event("e", "provider", "t", data_json="{"),
            lambda: Event("e", "provider", "t", {1: "a", "1": "b"}),
            lambda: Event.page_from_json("{}"),
        ):
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                wrong()
            self.assertEqual(raised.exception.reason, "shape")
        for kind, wrong in (
            (TypeError, lambda: Event("e", "provider", "t", object())),
            (TypeError, lambda: Event("e", "provider", "t", 1, data_json="1")),
            (TypeError, lambda: Event("e", "provider", "t", provider_sequence=True)),
            (TypeError, lambda: Event("e", "provider", "t", timestamp="now")),
            (ValueError, lambda: Event("e", "provider", "t", float("inf"))),
            (gallivant.InputError, lambda: Event("\ud800", "provider", "t")),
            (TypeError, lambda: self.journal().append(Event("e", "provider", "t"))),
            (TypeError, lambda: self.journal().append([Event("e", "provider", "t"), {"id": "f"}])),
            (TypeError, lambda: self.journal().append([object()])),
            (gallivant.ExecutionInputError, lambda: self.journal().append([Event("", "provider", "t")])),
            (gallivant.ExecutionInputError, lambda: self.journal().append([Event("e", "local", "t", timestamp=0, provider_sequence=-1)])),
        ):
            with self.assertRaises(kind):
                wrong()
        self.assertEqual(os.listdir(self.run_directory), [])

    def test_half_a_surrogate_pair_in_data_makes_no_page_unreadable(self):
        self.journal().append([Event("e", "provider", "t", "cut \ud83d")])
        self.assertEqual(self.records()[0]["data"], "cut \ufffd")

    def test_ex_jrn_09_events_are_redacted_before_any_byte_is_written(self):
        journal = self.journal(secrets=["hunter2!"])
        journal.append([Event("e hunter2!", "provider", "t", {"hunter2!": ["Bearer abc", "hunter2!"]})])
        text = json.dumps(self.records())
        self.assertNotIn("hunter2!", text)
        self.assertIn("[redacted]", text)
        with open(self.path("journal.json")) as checkpoint:
            self.assertNotIn("hunter2!", checkpoint.read())
        self.assertNotIn("hunter2!", repr(journal))


class Values(unittest.TestCase):
    def test_what_calls_answer_compares_by_its_fields_and_is_copied_pickled_and_shown(self):
        position, row = Position(offset=7, sequence=1), Row(id="1", kind="line", text="one")
        gap = module.Gap(first=2, last=1, reason="corrupt-record", start=3, end=3)
        pending = PendingBatch(records=2, kept=1)
        values = [
            position,
            row,
            gap,
            pending,
            module.Placed(sequence=1, how="known"),
            module.Appended(placed=[module.Placed(sequence=1, how="known")], end=position),
            module.Recovered(kept=1, gap=True, end=position),
            module.Projected(first=1, next=2**63, bytes=3),
            module.Window(rows=[row], before="1", after=None),
            module.Checked(end=position, records=1, gaps=[gap], pending=pending),
            module.Frame(id="1", event="line", data='{"id":"1","kind":"line","text":"one"}'),
            module.Frame(event="heartbeat", data=""),
        ]
        for value in values:
            for same in (copy.deepcopy(value), pickle.loads(pickle.dumps(value)), eval(repr(value), vars(module))):
                self.assertEqual((same, hash(same)), (value, hash(value)))
            self.assertEqual([other == value for other in values].count(True), 1)
            with self.assertRaises(AttributeError):
                value.another = 1


class Appending(RunCase):
    def test_ex_jrn_06_a_page_that_is_repeated_adds_nothing(self):
        page = [Event("a", "provider", "t", 1), Event("b", "provider", "t", 2), Event("a", "provider", "t", 3)]
        with Journal.open(self.run_directory, OWNER, Redactor()) as journal:
            first = journal.append(page)
            self.assertEqual([(one.sequence, one.how) for one in first.placed], [(1, "recorded"), (2, "recorded"), (1, "known")])
            size = os.stat(self.path("events.jsonl")).st_size
            self.assertEqual(first.end, Position(offset=size, sequence=2))
            again = journal.append(iter(page))
            self.assertEqual({one.how for one in again.placed}, {words.PLACED_KNOWN})
            self.assertEqual((again.end, journal.append([])), (first.end, module.Appended(placed=[], end=first.end)))
            self.assertEqual((journal.owner, journal.directory), (OWNER, self.run_directory))
        dictionaries = [{"id": "c", "provenance": "local", "type": "t", "data": [2**70]}, {"id": "b", "provenance": "local", "type": "t"}]
        self.assertEqual([one.how for one in self.journal().append(dictionaries).placed], ["recorded", "known"])
        self.assertEqual(self.records()[2]["data"], [2**70])

    def test_ex_jrn_08_what_is_too_long_becomes_a_gap(self):
        appended = self.journal().append([Event("long", "provider", "t", "x" * 70_000)])
        self.assertEqual(appended.placed[0].how, words.PLACED_OVERSIZED)
        self.assertEqual(self.records()[0]["data"], {"reason": words.GAP_OVERSIZED_RECORD})

    def test_another_owner_is_another_key(self):
        self.journal().append([Event("a", "provider", "t")])
        other = Journal.open(self.run_directory, Owner(task_id="t-1", run_id="r-1", provider="acme"), Redactor())
        self.assertEqual(other.append([Event("a", "provider", "t")]).placed[0].how, "recorded")
        other.close()

    def test_threads_share_a_journal_and_each_event_is_there_once(self):
        journal, placed = self.journal(), []

        def work(name):
            for number in range(10):
                page = [Event(f"{name}-{number}", "local", "t"), Event(f"all-{number}", "local", "t")]
                placed.extend(one.sequence for one in journal.append(page).placed if one.how == "recorded")

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(placed), list(range(1, 51)))
        self.assertEqual(len({record["eventId"] for record in self.records()}), 50)

    def test_a_journal_that_is_closed_or_in_a_forked_child_is_refused_and_closing_again_does_nothing(self):
        journal, projection, reader = self.journal(), Projection.open(self.run_directory), self.reader()
        journal.append([Event("a", "provider", "t")])
        pid = os.fork()
        if pid == 0:
            said = []
            for use in (journal.recover, lambda: journal.append([]), projection.catch_up):
                try:
                    use()
                except gallivant.ExecutionInputError as refused:
                    said.append(refused.reason)
            journal.close()
            projection.close()
            window = reader.tail()
            os._exit(0 if said == ["forked"] * 3 and window.rows == () else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(journal.append([Event("b", "provider", "t")]).end.sequence, 2)
        for one, use in ((journal, journal.recover), (projection, projection.catch_up), (reader, reader.tail)):
            one.close()
            one.close()
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                use()
            self.assertEqual(raised.exception.reason, "closed")

    def test_ex_jrn_13_what_a_crash_left_is_recovered(self):
        crash = [{"on": "sync", "nth": 1, "name": "events.jsonl", "do": "crash"}]
        killed = start_python(
            "import sys, json\n"
            "from gallivant.journal import Event, Journal, Owner\n"
            "from gallivant.redaction import Redactor\n"
            "from gallivant.testing import TestHost\n"
            "owner = Owner(task_id='t-1', run_id='r-1', provider='acme', job_id='j-1', turn_id='u-1')\n"
            "journal = Journal.open(sys.argv[1], owner, Redactor(), host=TestHost(faults=json.loads(sys.argv[2])))\n"
            "journal.append([Event('a', 'provider', 't', 1), Event('b', 'provider', 't', 2)])\n",
            self.run_directory,
            json.dumps(crash),
        )
        killed.communicate()
        self.assertEqual(killed.returncode, -9)
        checked = check(self.run_directory)
        self.assertEqual((checked.records, checked.pending, checked.end.sequence), (0, PendingBatch(records=2, kept=2), 0))
        recovered = self.journal().recover()
        self.assertEqual((recovered.kept, recovered.gap, recovered.end.sequence), (2, False, 2))
        self.assertEqual(self.journal().recover(), module.Recovered(kept=0, gap=False, end=recovered.end))

    def test_ex_jrn_20_a_damaged_journal_is_refused_and_a_directory_that_is_not_there(self):
        self.journal().append([Event("a", "provider", "t")])
        os.truncate(self.path("events.jsonl"), 3)
        for use in (lambda: self.journal().append([]), self.journal().recover, lambda: check(self.run_directory)):
            with self.assertRaises(gallivant.ExecutionJournalError) as raised:
                use()
            self.assertEqual(raised.exception.reason, "short")
        missing = os.path.join(self.root, "none")
        for run_id, use in (
            (OWNER.run_id, lambda: Journal.open(missing, OWNER, Redactor())),
            ("none", lambda: Projection.open(missing)),
            ("none", lambda: LogReader.open(missing)),
            ("none", lambda: module.Replay.open(missing)),
            ("none", lambda: check(missing)),
            ("none", lambda: read_run_result(missing)),
        ):
            with self.assertRaises(gallivant.ExecutionUnknownRunError) as raised:
                use()
            self.assertEqual((raised.exception.run_id, raised.exception.operation_id), (run_id, None))

    def test_ex_jrn_82_a_step_that_fails_is_an_error_and_the_repeated_page_appends_the_same(self):
        host = TestHost(faults=[{"on": "sync", "nth": 1, "name": "events.jsonl", "do": "error", "errno": "EIO"}])
        journal, page = self.journal(host=host), [Event("a", "provider", "t")]
        with self.assertRaises(gallivant.ExecutionIoError) as raised:
            journal.append(page)
        self.assertIsNotNone(raised.exception.os_error)
        self.assertEqual(journal.append(page).placed[0].how, "recorded")


class Lines(RunCase):
    def test_ex_jrn_62_windows_hold_rows_with_their_cursors(self):
        with Journal.open(self.run_directory, OWNER, Redactor()) as journal, Projection.open(self.run_directory) as lines:
            journal.append([Event(str(number), "provider", "output", f"line {number}") for number in range(1, 1001)])
            journal.append([Event("gap", "boundary", reason="provider-gap")])
            projected = lines.catch_up()
            self.assertEqual((projected.first, projected.next), (1, 1002))
            self.assertEqual(projected.bytes, os.stat(self.path("job.log")).st_size)
            self.assertEqual((lines.catch_up(), lines.directory), (projected, self.run_directory))
        reader = self.reader()
        tail = reader.tail()
        self.assertEqual((len(tail.rows), tail.before, tail.after), (400, "602", "1001"))
        self.assertEqual(tail.rows[0], Row(id="602", kind="line", text="line 602"))
        self.assertEqual(tail.rows[-1], Row(id="1001", kind="gap"))
        older = reader.history(tail.before)
        self.assertEqual([older.rows[0].id, older.rows[-1].id, older.before], ["202", "601", "202"])
        self.assertEqual([row.text for row in reader.lines(limit=2).rows], ["line 1", "line 2"])
        after = reader.lines("399", 10_000)
        self.assertEqual((after.rows[0].id, len(after.rows), after.after), ("400", 400, "799"))
        self.assertEqual((reader.lines("1001").rows, reader.directory), ((), self.run_directory))
        for wrong in (lambda: reader.history("1002"), lambda: reader.lines("x")):
            with self.assertRaises(gallivant.ExecutionInputError):
                wrong()

    def test_ex_jrn_29_what_is_trimmed_is_a_gap_with_its_reason(self):
        self.counts(100)
        trimmed = self.project(keep_bytes=500)
        self.assertLessEqual(trimmed.bytes, 500)
        rows = self.reader().tail().rows
        self.assertEqual(rows[0], Row(kind="gap", reason=words.GAP_RETAINED))
        self.assertEqual(rows[1].id, str(trimmed.first))

    def test_a_run_without_lines_has_an_empty_window(self):
        self.assertEqual(self.reader().tail(), module.Window(rows=[]))
        with self.reader() as reader:
            self.assertEqual(reader.lines().rows, ())

    def test_reading_lets_other_threads_run_and_threads_share_a_reader(self):
        self.counts(400)
        reader, windows = self.reader(), []
        threads = [threading.Thread(target=lambda: windows.extend(reader.tail() for _ in range(20))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(windows, [windows[0]] * 80)


class Checking(RunCase):
    def test_ex_jrn_84_gaps_are_told_with_numbers_and_byte_ranges(self):
        self.says("one", "two", "three")
        self.journal().append([Event("gap", "boundary", reason="provider-gap")])
        with open(self.path("events.jsonl"), "rb") as log:
            lines = log.read().splitlines(keepends=True)
        start = len(lines[0])
        with open(self.path("events.jsonl"), "r+b") as log:
            log.seek(start + 20)
            log.write(b"#")
        checked = check(self.run_directory)
        recorded = sum(map(len, lines[:3]))
        self.assertEqual(
            checked.gaps,
            (
                module.Gap(first=2, last=2, reason=words.GAP_CORRUPT_RECORD, start=start, end=start + len(lines[1])),
                module.Gap(first=4, last=4, reason=words.GAP_PROVIDER_GAP, start=recorded, end=recorded + len(lines[3])),
            ),
        )
        self.assertEqual((checked.records, checked.end.sequence, checked.pending), (2, 4, None))
        seen = []
        visited = check(self.run_directory, visit=seen.append)
        self.assertEqual((tuple(seen), visited.gaps, visited.records), (checked.gaps, (), 2))

        def raising(gap):
            seen.append(gap)
            raise KeyError("on its way")

        with self.assertRaises(KeyError):
            check(self.run_directory, visit=raising)
        self.assertEqual(len(seen), 3, "what raised is called no more")

    def test_an_empty_run_has_an_empty_journal(self):
        self.assertEqual(check(self.run_directory).end, Position(offset=0, sequence=0))


class Results(RunCase):
    def test_ex_jrn_56_a_result_is_read_redacted_and_with_its_digits(self):
        self.assertIsNone(read_run_result(self.run_directory))
        self.assertIsNone(read_run_result_json(self.run_directory))
        with open(self.path("result.json"), "w") as result:
            result.write('{"version":1,"outcome":{"ok":true,"cost":1.10,"note":"ghp_0123456789abcdef","diagnostics":"x"}}')
        read = read_run_result(self.run_directory)
        self.assertEqual(read["outcome"], {"ok": True, "cost": 1.1, "note": "[redacted]"})
        self.assertEqual(read["cost"], 1.1)
        self.assertIn('"cost":1.10', read_run_result_json(self.run_directory))
        with open(self.path("result.json"), "w") as result:
            result.write('{"version":9}')
        with self.assertRaises(gallivant.ExecutionVersionError):
            read_run_result(self.run_directory)

    def test_ex_jrn_52_candidates_of_retention_are_listed_and_nothing_is_removed(self):
        with open(self.path("provider.log"), "w") as log:
            log.write("raw")
        with open(self.path("sensitive-redactions.json"), "w") as redactions:
            json.dump({"version": 1, "expiresAt": DAY_MS, "secrets": []}, redactions)
        with open(self.path("result.json"), "w") as result:
            result.write("{}")
        os.mkdir(os.path.join(self.root, "r-2"))
        before = sorted(os.listdir(self.run_directory))
        self.assertEqual(retention_candidates(self.root, host=TestHost(wall_ms=DAY_MS - 1)), [])
        self.assertEqual(retention_candidates(self.root), ["r-1"])
        self.assertEqual(sorted(os.listdir(self.run_directory)), before)


class Module(unittest.TestCase):
    def test_everything_public_is_documented_and_names_its_module(self):
        for name in module.__all__:
            value = getattr(module, name)
            self.assertTrue(value.__doc__, name)
            if isinstance(value, type):
                self.assertEqual((value.__module__, value.__qualname__), ("gallivant.journal", name))
                for member, definition in vars(value).items():
                    if not member.startswith("_"):
                        self.assertTrue(definition.__doc__, f"{name}.{member}")
        self.assertEqual(module.__all__, sorted(module.__all__))

    def test_the_docstring_of_the_module_runs(self):
        block = "".join(line[4:] for line in module.__doc__.splitlines(keepends=True) if line.startswith("    "))
        self.assertEqual("1 hello\n", run_python("import os, sys, tempfile\nfrom gallivant.journal import *\n"
            "from gallivant.redaction import Redactor\n"
            "directory, secrets, last_event_id = tempfile.mkdtemp(), ['s'], None\n" + block + "        break\n"))


if __name__ == "__main__":
    unittest.main()
