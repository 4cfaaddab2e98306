"""The README's code is the examples' code, and what it links to exists."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"<!-- (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Readme(unittest.TestCase):
    def test_every_block_is_a_part_of_its_file(self):
        readme = read("README.md")
        blocks = BLOCK.findall(readme)
        self.assertGreaterEqual(len(blocks), 5)
        code = [block for block in re.findall(r"```(\w+)\n", readme)]
        self.assertEqual(len(code), len(blocks), "every block of code names its file")
        for path, text in blocks:
            with self.subTest(path):
                self.assertIn(text, read(path))

    def test_every_named_block_of_a_guide_is_a_part_of_its_file(self):
        for page, count in [("docs/guides/transport.md", 6), ("docs/guides/coordinator.md", 5)]:
            blocks = BLOCK.findall(read(page))
            self.assertEqual(len(blocks), count, page)
            for path, text in blocks:
                with self.subTest(f"{page}: {path}"):
                    self.assertIn(text, read(path))

    def test_every_link_of_every_page_leads_somewhere(self):
        pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
            pages += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
        pages += ["examples/node-coordinator/README.md", "examples/python-coordinator/README.md"]
        for page in pages:
            if page.startswith("docs/spec"):
                continue
            for link in LINK.findall(read(page)):
                with self.subTest(f"{page}: {link}"):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, os.path.dirname(page), link)))


if __name__ == "__main__":
    unittest.main()
