"""The tutorial, followed as it stands: its commands in one shell, its output line by line, its code in its file."""
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks():
    with open(os.path.join(ROOT, "docs/tutorial.md"), encoding="utf-8") as page:
        return [(block["mark"], block["language"], block["text"]) for block in BLOCK.finditer(page.read())]


def told(line):
    """The words of a line, with one word for any age and one for any time of day."""
    line = re.sub(r"\b\d+[smhd]\b", "AGE", " ".join(line.split()))
    return re.sub(r"\b\d\d:\d\d:\d\d\.\d+", "TIME", line)


class Tutorial(unittest.TestCase):
    def test_every_block_is_run_or_compared(self):
        kinds = [("by hand" if mark == "by hand" else language) for mark, language, _ in blocks()]
        self.assertEqual(set(kinds), {"by hand", "sh", "text", "python"})
        # What is not run here has run before these tests can.
        self.assertEqual([text for mark, _, text in blocks() if mark == "by hand"], ["make build\n"])

    def test_its_code_is_that_of_the_file(self):
        for mark, language, text in blocks():
            if language == "python":
                with open(os.path.join(ROOT, mark), encoding="utf-8") as file:
                    self.assertIn(text, file.read())

    def test_its_commands_show_what_it_says(self):
        script = ["set -eu"]
        wanted = []
        for mark, language, text in blocks():
            if language == "sh" and mark != "by hand":
                # A line between the blocks, so that what one has shown is compared with its own text.
                script += [text, "echo '=='"]
                wanted.append([])
            elif language == "text":
                wanted[-1] = [told(line) for line in text.splitlines()]
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)], cwd=ROOT, text=True, timeout=300,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "NO_COLOR": "1"},
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        shown = [[told(line) for line in part.splitlines()] for part in done.stdout.split("==\n")]
        self.assertEqual(len(shown), len(wanted) + 1, done.stdout)
        compared = 0
        for block, lines in zip(shown, wanted):
            for line in lines:
                self.assertTrue(any(line in told for told in block), f"{line!r} is not in {block}")
                compared += 1
        self.assertGreater(compared, 6)


if __name__ == "__main__":
    unittest.main()
