"""Value classes: immutable, compared by their fields, shown, copied and pickled."""

import ast
import copy
import pickle
import re
import unittest

import gallivant
from gallivant import words

from .support import CLAIMANT, SeatCase

RECORD = {
    "schema": "st2.harness-state.v1",
    "agent": "worker",
    "harness": "claude",
    "state": "active",
    "blocked_on": "none",
    "input_buffer": "unknown",
    "ask": "none",
    "incarnation": "tok",
    "seq": 2**64 - 1,
    "since_ms": 1,
    "written_at_ms": 2**53 + 1,
    "transitions": 3,
}

STATE = gallivant.State(state="idle", blocked_on="none", input_buffer="empty", ask="none", since_ms=5, valid_until_ms=9)
PROCESS = gallivant.ProcessIdentity(pid=1, start=2, boot="b", pid_namespace="p", host="h")
EXTENSION = gallivant.Extension(
    boot_id="b", boot_ms=2, awake_ms=1, host="h", event_ms=1, evidence="hook", children=["c"], late=3, process=PROCESS
)
LEFT_OUT = gallivant.LeftOut(too_deep=1, example="a: permission denied")
ENTRY = gallivant.FleetEntry(path="a/b", state=STATE)

VALUES = [
    gallivant.Options(schema="s", also_accepted_schemas=["t"], stale_ms=1, lock_wait_ms=2, probe_budget_ms=3),
    gallivant.Observation("active", blocked_on="human", ask="question", reason="why", exit="exit 1"),
    gallivant.Record(**RECORD),
    gallivant.Record(**RECORD, extension=EXTENSION),
    EXTENSION,
    STATE,
    gallivant.TriedRow(clause="HS-70", question="nothing stands there", matched=True),
    LEFT_OUT,
    ENTRY,
    gallivant.FleetView(entries=[ENTRY], left_out=LEFT_OUT, valid_until_ms=2**64 - 1),
    gallivant.SeatChange(path=".", state=STATE),
    gallivant.Change(seats=[gallivant.SeatChange(path=".")], left_out=LEFT_OUT, noticing="notified"),
    gallivant.Claim(sequence=7, swept=1, floor_damage="damaged"),
    gallivant.Report(outcome="refused", refusal="superseded"),
    gallivant.Heartbeat(outcome="skipped", skip="absent"),
    gallivant.Tick(outcome="not-due", due_at_ms=5),
    gallivant.HookReport(event="Stop", kind="observed", word="landed", report=gallivant.Report(outcome="landed")),
    PROCESS,
    gallivant.SessionEnvironment(agent_dir="/a", agent="a", harness="h", token="t", pty_session="", sequence=4),
]


class Values(unittest.TestCase):
    def test_a_copy_and_an_unpickled_value_are_equal_and_have_the_same_hash(self):
        for value in VALUES:
            with self.subTest(type(value).__name__):
                for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                    self.assertEqual(pickle.loads(pickle.dumps(value, protocol)), value)
                for same in (copy.copy(value), copy.deepcopy(value)):
                    self.assertEqual(same, value)
                    self.assertEqual(hash(same), hash(value))

    def test_values_of_two_classes_and_of_other_fields_differ(self):
        for one in VALUES:
            for other in VALUES:
                self.assertEqual(one == other, one is other)
                self.assertEqual(one != other, one is not other)
        self.assertNotEqual(gallivant.Tick(outcome="renewed"), "renewed")
        self.assertNotEqual(gallivant.Observation("idle"), gallivant.Observation("idle", reason=""))

    def test_the_repr_is_how_the_value_is_written(self):
        scope = {name: getattr(gallivant, name) for name in gallivant.__all__}
        for value in VALUES:
            self.assertEqual(eval(repr(value), scope), value)

    def test_a_value_is_immutable(self):
        for value in VALUES:
            field = repr(value).split("(", 1)[1].split("=", 1)[0]
            with self.assertRaises(AttributeError):
                setattr(value, field, None)
            with self.assertRaises(AttributeError):
                value.another = 1

    def test_integers_of_64_bits_are_exact(self):
        record = gallivant.Record(**RECORD)
        self.assertEqual(record.seq, 2**64 - 1)
        self.assertEqual(record.written_at_ms, 2**53 + 1)

    def test_what_was_refused_or_skipped_is_false(self):
        self.assertTrue(gallivant.Report(outcome="landed"))
        self.assertTrue(gallivant.Report(outcome="coalesced"))
        self.assertFalse(gallivant.Report(outcome="refused", refusal="unclaimed"))
        self.assertTrue(gallivant.Heartbeat(outcome="landed"))
        self.assertFalse(gallivant.Heartbeat(outcome="skipped", skip="ended"))

    def test_a_record_tells_its_observation(self):
        observation = gallivant.Record(**{**RECORD, "state": "resting", "reason": "r"}).observation
        self.assertEqual(observation, gallivant.Observation("unknown", reason="r"))


class Arguments(SeatCase):
    def test_hs_07_the_defaults_are_those_of_existing_deployments(self):
        options = gallivant.Options()
        self.assertEqual(options.schema, "st2.harness-state.v1")
        self.assertEqual(options.also_accepted_schemas, ())
        self.assertEqual((options.stale_ms, options.refresh_ms, options.future_skew_ms), (900_000, 300_000, 60_000))
        self.assertEqual(options.lock_wait_ms, 10_000)
        self.assertEqual(options.wrapperless_prefixes, ("claude-session-",))
        self.assertEqual(options.probe_budget_ms, 100)

    def test_the_documented_defaults_are_the_real_ones(self):
        options = gallivant.Options()
        said = dict(re.findall(r"^- `(\w+)`: .*?Default\s+`(.*?)`", gallivant.Options.__doc__, re.MULTILINE | re.DOTALL))
        fields = [name for name in vars(gallivant.Options) if not name.startswith("_")]
        self.assertEqual(sorted(said), sorted(fields))
        for name, default in said.items():
            with self.subTest(name):
                self.assertEqual(ast.literal_eval(default), getattr(options, name))
                of_attribute = getattr(gallivant.Options, name).__doc__
                self.assertEqual(re.search("Default `(.*?)`", of_attribute).group(1), default)
                if name.endswith("_ms"):
                    self.assertIn("in ms", of_attribute)

    def test_every_option_arrives(self):
        given = {
            "schema": "own",
            "also_accepted_schemas": ("a", "b"),
            "stale_ms": 1,
            "refresh_ms": 2,
            "future_skew_ms": 3,
            "lock_wait_ms": 4,
            "wrapperless_prefixes": ("p-",),
            "probe_budget_ms": 5,
        }
        options = gallivant.Options(**given)
        self.assertEqual({name: getattr(options, name) for name in given}, given)

    def test_hs_05_the_schema_to_write_and_those_to_accept_are_options(self):
        gallivant.claim(self.seat, **CLAIMANT, options=gallivant.Options(schema="st.harness-state.v1"))
        self.assertEqual(self.record()["schema"], "st.harness-state.v1")
        self.assertEqual(gallivant.Reader(self.seat).read().reason, words.UNKNOWN_UNSUPPORTED_SCHEMA)
        accepting = gallivant.Options(also_accepted_schemas=["st.harness-state.v1"])
        self.assertEqual(gallivant.Reader(self.seat, options=accepting).read().reason, words.UNKNOWN_CLAIMED)

    def test_an_observation_has_the_defaults_of_the_core(self):
        observation = gallivant.Observation("idle")
        self.assertEqual(observation.blocked_on, words.BLOCKED_ON_NONE)
        self.assertEqual(observation.input_buffer, words.INPUT_BUFFER_UNKNOWN)
        self.assertEqual(observation.ask, words.ASK_NONE)
        self.assertIsNone(observation.reason)
        self.assertIsNone(observation.exit)

    def test_a_word_that_does_not_exist_is_refused_and_nothing_is_written(self):
        writer = self.claimed()
        before = self.bytes()
        for wrong in (
            {"observation": "Idle"},
            {"observation": "idle", "blocked_on": "humans"},
            {"observation": "idle", "input_buffer": "full"},
            {"observation": "idle", "ask": "Permission"},
        ):
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                writer.observe(**wrong)
            self.assertEqual(raised.exception.reason, "word")
        self.assertEqual(self.bytes(), before)

    def test_keywords_beside_a_whole_observation_are_refused(self):
        writer = self.claimed()
        whole = gallivant.Observation("idle")
        refining = {"blocked_on": "none", "input_buffer": "empty", "ask": "none", "reason": "", "exit": ""}
        for keyword, word in refining.items():
            with self.assertRaises(gallivant.HarnessStateInputError) as raised:
                writer.observe(whole, **{keyword: word})
            self.assertEqual(raised.exception.reason, "keywords")
        self.assertTrue(writer.observe(whole))

    def test_arguments_of_the_wrong_type_are_type_errors(self):
        with self.assertRaises(TypeError):
            gallivant.claim(1, **CLAIMANT)
        with self.assertRaises(TypeError):
            gallivant.claim(self.seat, "worker", "claude", "tok", gallivant.Options())
        with self.assertRaises(TypeError):
            gallivant.Observation(None)
        with self.assertRaises(TypeError):
            gallivant.Report(outcome="landed", floor_failure=ValueError())


if __name__ == "__main__":
    unittest.main()
