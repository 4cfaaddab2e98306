"""Exceptions and words against the core's tables."""

import copy
import errno
import os
import pickle
import sys
import traceback
import unittest

import gallivant
from gallivant import _native, errors, words

from .support import CLAIMANT, SeatCase, held_lock, run_python


DOMAINS = {
    "HARNESS_STATE_": gallivant.HarnessStateError,
    "EXECUTION_": gallivant.ExecutionError,
    "IDEMPOTENCY_": gallivant.IdempotencyError,
}


def class_name(code):
    """The name that a code's class has, by rule."""
    bare = code[len("GALLIVANT_") :] if code.startswith("GALLIVANT_") else code
    return "".join(part.capitalize() for part in bare.split("_")) + "Error"


def domain_of(code):
    """The class above a code's, by its prefix."""
    return next((base for prefix, base in DOMAINS.items() if code.startswith(prefix)), gallivant.GallivantError)


class Table(unittest.TestCase):
    def test_every_code_of_the_core_has_its_class(self):
        for name, _number, kind, _remedy, _page in _native.codes():
            with self.subTest(name):
                found = getattr(gallivant, class_name(name))
                self.assertEqual(found.code, name)
                self.assertEqual(found.kind, kind)
                self.assertTrue(found.__doc__)
                self.assertEqual(found.__bases__, (domain_of(name),))

    def test_every_class_has_its_code_in_the_core(self):
        names = {class_name(row[0]) for row in _native.codes()} | {"GallivantError"} | {base.__name__ for base in DOMAINS.values()}
        self.assertEqual(set(errors.__all__), names)
        self.assertEqual({name for name in gallivant.__all__ if name.endswith("Error")}, names)

    def test_every_code_is_made_into_its_class_with_all_its_attributes(self):
        for name, _number, kind, remedy, _page in _native.codes():
            error = errors._from_native(name, kind, "why", "what happened", remedy, 5, "/a/file", "a-1", "run-1", "op-1")
            self.assertIs(type(error), getattr(gallivant, class_name(name)))
            self.assertEqual((error.code, error.kind, error.reason), (name, kind, "why"))
            self.assertEqual((error.message, error.remedy, error.os_error), ("what happened", remedy, 5))
            self.assertEqual((error.file, error.resource), ("/a/file", "a-1"))
            if isinstance(error, gallivant.ExecutionError):
                self.assertEqual((error.run_id, error.operation_id), ("run-1", "op-1"))
            else:
                self.assertFalse(hasattr(error, "run_id") or hasattr(error, "operation_id"))
            self.assertEqual(str(error), f"{name} (why): what happened")
            shown = "".join(traceback.format_exception_only(type(error), error))
            self.assertIn(f"{name} (why): what happened\n", shown)
            if sys.version_info >= (3, 11):
                self.assertEqual(shown.splitlines()[1:], [f"remedy: {remedy}"])

    def test_a_code_of_the_future_falls_to_its_parent(self):
        for code, parent in {
            "HARNESS_STATE_TOMORROW": gallivant.HarnessStateError,
            "EXECUTION_TOMORROW": gallivant.ExecutionError,
            "IDEMPOTENCY_TOMORROW": gallivant.IdempotencyError,
            "ELSEWHERE_TOMORROW": gallivant.GallivantError,
        }.items():
            error = errors._from_native(code, "refused", None, "new", "update", None, None, None, None, None)
            self.assertIs(type(error), parent)
            self.assertEqual((error.code, error.kind), (code, "refused"))
            self.assertEqual(parent.code, "")

    def test_the_words_are_those_of_the_core(self):
        core = _native.words()
        for prefix, wanted in core.items():
            constants = {name: value for name, value in vars(words).items() if name.startswith(prefix + "_")}
            self.assertEqual(sorted(constants.values()), sorted(wanted), prefix)
            for name, value in constants.items():
                said = value[len("GALLIVANT_") :].lower() if prefix == "VARIABLE" else value.replace("-", "_")
                self.assertEqual(name, f"{prefix}_{said}".upper())
        listed = {name.rsplit("_", 1)[0] for name in vars(words) if name.isupper()}
        prefixes = (*core, "OUTCOME", "HOOK_KIND")
        self.assertEqual([name for name in listed if not name.startswith(prefixes)], [])

    def test_an_error_about_no_run_says_so(self):
        made = gallivant.ExecutionUnresolvedError("made here")
        told = errors._from_native("EXECUTION_UNRESOLVED", "unresolved", None, "told", "look", None, None, None, None, "op-1")
        self.assertEqual((made.run_id, made.operation_id), (None, None))
        self.assertEqual((told.run_id, told.operation_id), (None, "op-1"))
        self.assertEqual((pickle.loads(pickle.dumps(told)).operation_id, copy.copy(told).run_id), ("op-1", None))

    def test_an_error_survives_pickle_and_copy(self):
        with self.assertRaises(gallivant.HarnessStateEmptyTokenError) as raised:
            gallivant.Writer("x", agent="a", harness="h", token="")
        error = raised.exception
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            self.assertIs(type(same), type(error))
            self.assertEqual(vars(same), vars(error))
            self.assertEqual(str(same), str(error))


class Raised(SeatCase):
    """Each code of the domain, by what raises it."""

    def raises(self, kind, call, *arguments, **keywords):
        with self.assertRaises(kind) as raised:
            call(*arguments, **keywords)
        error = raised.exception
        self.assertIs(type(error), kind)
        self.assertTrue(error.message)
        self.assertNotIn("\n", error.message)
        self.assertTrue(error.remedy)
        return error

    def test_hs_33_the_state_unknown_is_refused(self):
        self.raises(gallivant.HarnessStateUnknownStateError, self.claimed().observe, "unknown")

    def test_hs_34_a_live_state_needs_a_pty_session(self):
        writer = gallivant.Writer(self.seat, **CLAIMANT)
        self.raises(gallivant.HarnessStateUnfencedError, writer.observe, "idle")
        self.assertIsNone(self.record())

    def test_hs_35_an_ask_is_one_and_needs_a_human(self):
        writer = self.claimed()
        human = {"blocked_on": "human"}
        self.raises(gallivant.HarnessStateUnknownAskError, writer.observe, "active", ask="unknown", **human)
        self.raises(gallivant.HarnessStateAskWithoutHumanError, writer.observe, "active", ask="permission")

    def test_hs_54a_the_placeholder_cannot_be_spelled(self):
        writer = self.claimed()
        self.raises(gallivant.HarnessStateReservedReasonError, writer.observe, "ended", reason="superseded")

    def test_hs_08_the_empty_token_is_refused_at_construction(self):
        kind = gallivant.HarnessStateEmptyTokenError
        empty = {**CLAIMANT, "token": ""}
        self.raises(kind, gallivant.Writer, self.seat, **empty)
        self.raises(kind, gallivant.claim, self.seat, **empty)
        self.raises(kind, gallivant.claim_wrapperless, self.seat, **empty)
        self.raises(kind, gallivant.Session.start, self.seat, **empty)
        self.assertFalse(os.path.exists(self.seat))

    def test_hs_65_a_wrapperless_claim_needs_a_wrapperless_token(self):
        self.raises(gallivant.HarnessStateBadTokenError, gallivant.claim_wrapperless, self.seat, **CLAIMANT)

    def test_hs_58_no_sequence_is_left(self):
        os.mkdir(self.seat)
        with open(os.path.join(self.seat, ".harness-state.seq"), "w") as floor:
            floor.write(f"{2**64 - 1}\n")
        error = self.raises(gallivant.HarnessStateSequenceExhaustedError, gallivant.claim, self.seat, **CLAIMANT)
        self.assertEqual(error.kind, "refused")
        self.assertIsNone(self.record())

    def test_a_failed_system_call_is_io_with_its_number(self):
        with open(self.seat, "w"):
            pass
        error = self.raises(gallivant.HarnessStateIoError, gallivant.claim, self.seat, **CLAIMANT)
        self.assertEqual(error.os_error, errno.ENOTDIR)

    def test_hs_28_a_directory_in_the_records_place_is_io(self):
        os.makedirs(os.path.join(self.seat, "harness-state"))
        self.raises(gallivant.HarnessStateIoError, gallivant.claim, self.seat, **CLAIMANT)

    def test_hs_21_a_file_system_without_locks_is_refused_with_nothing_written(self):
        host = gallivant.testing.TestHost(faults=[{"on": "try_lock", "repeat": True, "do": "error", "errno": "ENOLCK"}])
        self.raises(gallivant.HarnessStateLockingError, gallivant.claim, self.seat, **CLAIMANT, host=host)
        self.assertIsNone(self.record())

    def test_hs_21_a_lock_that_stays_held_is_busy_with_nothing_written(self):
        writer = self.claimed(options=gallivant.Options(lock_wait_ms=50))
        before = self.bytes()
        with held_lock(self.seat):
            error = self.raises(gallivant.HarnessStateBusyError, writer.observe, "idle")
        self.assertEqual(error.kind, "busy")
        self.assertEqual(self.bytes(), before)

    def test_an_error_without_descriptors_is_the_error_itself(self):
        self.claimed()
        said = run_python(
            "import os, resource, sys, gallivant\n"
            "options = gallivant.Options(lock_wait_ms=50)\n"
            "writer = gallivant.Writer(sys.argv[1], 'worker', 'claude', 'tok', sequence=1, options=options)\n"
            "probing = os.open('/', os.O_RDONLY)\n"
            "os.close(probing)\n"
            "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (probing, hard))\n"
            "try: writer.ended('exit 0')\n"
            "except Exception as error: print(type(error).__name__, error.os_error)\n",
            self.seat,
        )
        self.assertEqual(said, f"HarnessStateIoError {errno.EMFILE}\n")

    def test_a_list_of_faults_that_cannot_be_used_is_input(self):
        error = self.raises(gallivant.InputError, gallivant.testing.TestHost, faults=[{"on": "teatime", "do": "error"}])
        self.assertEqual(error.kind, "input")

    def test_a_panic_is_internal_and_prints_nothing(self):
        said = run_python(
            "import sys, gallivant\n"
            "sys.stderr = sys.stdout\n"
            "try: gallivant.testing.panic()\n"
            "except gallivant.InternalError as error:\n"
            "    print(error.code, error.kind, 'as the test asked' in error.message)\n"
        )
        self.assertEqual(said, "GALLIVANT_INTERNAL internal True\n")
        quiet = run_python(
            "import os, gallivant\n"
            "os.dup2(1, 2)\n"
            "try: gallivant.testing.panic()\n"
            "except gallivant.InternalError: pass\n"
        )
        self.assertEqual(quiet, "")


if __name__ == "__main__":
    unittest.main()
