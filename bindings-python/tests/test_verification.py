"""Verification: whether the sandbox works here."""

import pathlib
import tempfile
import unittest

import gallivant
from gallivant import execution


class Readiness(unittest.TestCase):
    def test_ex_ver_37_readiness_gives_evidence_or_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as place:
            try:
                evidence = execution.sandbox_readiness(place)
            except gallivant.ExecutionVerificationSandboxError as refused:
                print("no sandbox works on this machine: the refusal was checked instead")
                self.assertTrue(refused.remedy)
            else:
                self.assertEqual(evidence["probe"]["status"], "passed")
                self.assertTrue(evidence["driver"])
            self.assertEqual(list(pathlib.Path(place).iterdir()), [])

    def test_ex_ver_38_what_is_no_proof_refuses_with_a_remedy(self):
        with self.assertRaises(gallivant.ExecutionVerificationSandboxError) as raised:
            execution.sandbox_readiness(pathlib.Path("/nonexistent/place"))
        self.assertIn("then resume", raised.exception.remedy)
        with self.assertRaises(gallivant.ExecutionInputError):
            execution.sandbox_readiness(runtime="/usr")
        with self.assertRaises(TypeError):
            execution.sandbox_readiness(7)


if __name__ == "__main__":
    unittest.main()
