"""Redaction: texts, bytes, values, and streams in every cutting."""

import io
import threading
import unittest

import gallivant
from gallivant import redaction
from gallivant.redaction import MARK, Redactor, Writer, sanitize


class Texts(unittest.TestCase):
    def test_ex_red_01_values_and_strings_are_copied_without_secrets(self):
        given = {"a": ["hunter2!", 1, True, None, {"b": "a hunter2! b"}], "n": 2**63 + 1, "f": 0.1}
        copy = sanitize(given, ["hunter2!", ""])
        self.assertEqual(copy, {"a": [MARK, 1, True, None, {"b": f"a {MARK} b"}], "n": 2**63 + 1, "f": 0.1})
        self.assertEqual(given["a"][0], "hunter2!")
        self.assertEqual(sanitize("a hunter2! b", [b"hunter2!"]), f"a {MARK} b")
        self.assertEqual(sanitize("ghp_0123456789abcdef"), MARK)
        self.assertEqual(Redactor(["k"]).value({"k": 1, "[redacted]": 2}), {MARK: 1, MARK + "#2": 2})

    def test_ex_red_02_patterns_may_be_left_out(self):
        text = "hunter2! ghp_0123456789abcdef"
        self.assertEqual(Redactor(["hunter2!"]).text(text), f"{MARK} {MARK}")
        self.assertEqual(Redactor(["hunter2!"], patterns=False).text(text), f"{MARK} ghp_0123456789abcdef")
        self.assertEqual(Redactor().texts(["a", "Bearer abc"]), ["a", f"Bearer {MARK}"])

    def test_ex_red_06_the_list_stays_as_it_is_and_may_be_any_iterable(self):
        secrets = ["b", "a", "b"]
        Redactor(secrets)
        self.assertEqual(secrets, ["b", "a", "b"])
        self.assertEqual(Redactor(secret for secret in ("xyz", b"\xff\xfe")).data(b"\xff\xfexyz"), 2 * MARK.encode())
        for one in ("hunter2!", b"hunter2!"):
            with self.assertRaises(TypeError):
                Redactor(one)

    def test_ex_red_23_an_empty_secret_and_what_is_no_string_are_refused_by_position(self):
        for secrets in (["hunter2!", ""], ["hunter2!", None], ["hunter2!", 7], [b"hunter2!", b""]):
            with self.assertRaises(gallivant.ExecutionInputError) as raised:
                Redactor(secrets)
            self.assertEqual((raised.exception.code, raised.exception.reason), ("EXECUTION_INPUT", "secret"))
            self.assertIn("position=`1`", str(raised.exception))
            self.assertNotIn("hunter", str(raised.exception))

    def test_what_json_does_not_have_is_refused(self):
        with self.assertRaises(ValueError):
            Redactor().value([float("nan")])
        with self.assertRaises(gallivant.ExecutionInputError) as raised:
            Redactor(["hunter2!"]).json("[hunter2!]")
        self.assertEqual(raised.exception.reason, "shape")
        self.assertNotIn("hunter", str(raised.exception))
        self.assertEqual(Redactor().value(["\ud800"]), ["\ufffd"])

    def test_nothing_shows_what_is_secret(self):
        redactor = Redactor(["hunter2!"])
        self.assertNotIn("hunter", repr(redactor) + repr(redactor.stream()))


class Streams(unittest.TestCase):
    TEXT = b"a first-line-of-it\r\nsecond-line-of-it b\n  second-line-of-it\nBearer abc, sk-"
    WANTED = b"a [redacted] b\n  [redacted]\nBearer [redacted], sk-"

    def setUp(self):
        self.redactor = Redactor(["first-line-of-it\nsecond-line-of-it"])

    def test_ex_red_12_every_cutting_gives_the_same(self):
        for size in range(1, len(self.TEXT) + 1):
            pieces = [self.TEXT[at : at + size] for at in range(0, len(self.TEXT), size)]
            stream = self.redactor.stream()
            self.assertEqual(b"".join(map(stream.push, pieces)) + stream.finish(), self.WANTED)
            # A finished stream begins another text.
            self.assertEqual(stream.push_all(pieces) + stream.finish(), self.WANTED)
            self.assertEqual(stream.held_back, 0)
        self.assertEqual(self.redactor.most_held_back, 2055)

    def test_a_writer_hands_out_the_rest_on_every_way_out(self):
        for raises in (False, True):
            out = io.BytesIO()
            try:
                with Writer(self.redactor, out.write) as writer:
                    writer.write(self.TEXT[:30])
                    writer.writelines([self.TEXT[30:40], self.TEXT[40:].decode()])
                    if raises:
                        raise KeyError("on its way")
            except KeyError:
                self.assertTrue(raises)
            self.assertEqual(out.getvalue(), self.WANTED)
            writer.close()
            self.assertEqual(out.getvalue(), self.WANTED)
            with self.assertRaises(ValueError):
                writer.write(b"more")

    def test_threads_may_share_a_redactor(self):
        answers = []

        def work():
            answers.extend({self.redactor.data(self.TEXT) for _ in range(200)})

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(answers), {self.WANTED})

    def test_the_module_is_a_part_of_the_package(self):
        self.assertIs(gallivant.redaction, redaction)


if __name__ == "__main__":
    unittest.main()
