"""Every link of every page leads somewhere, and every page can be found in the site."""
import os
import re
import unittest

import pages

ALSO = ["bindings-python/README.md", "bindings-node/README.md", "core/README.md", "ffi/README.md"]


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_place_in_it(self):
        followed = 0
        for page in [page for page in pages.chapters() if not pages.is_made(page)] + ALSO:
            for link in pages.links(pages.read(page)):
                with self.subTest(f"{page}: {link}"):
                    path, place = pages.target(page, link)
                    full = os.path.join(pages.ROOT, path)
                    self.assertTrue(os.path.exists(full), "there is no such file")
                    if place and path.endswith(".md"):
                        self.assertIn(place, list(pages.anchors(pages.read(path))), "it has no such heading")
                    followed += 1
        self.assertGreater(followed, 150)

    def test_every_page_is_a_chapter_once(self):
        chapters = pages.chapters()
        self.assertEqual(len(chapters), len(set(chapters)))
        for folder, _, names in os.walk(os.path.join(pages.ROOT, "docs")):
            for name in names:
                page = os.path.relpath(os.path.join(folder, name), pages.ROOT)
                with self.subTest(page):
                    self.assertTrue(not page.endswith(".md") or page in chapters, "it is not in site/SUMMARY.md")

    def test_what_a_page_links_to_is_in_the_site(self):
        chapters = pages.chapters()
        for page in chapters:
            for link in [] if pages.is_made(page) else pages.links(pages.read(page)):
                path, _ = pages.target(page, link)
                with self.subTest(f"{page}: {link}"):
                    if os.path.isdir(os.path.join(pages.ROOT, path)):
                        self.assertTrue({f"{path}/index.md", f"{path}/README.md"} & set(chapters), "it has no page of its own")
                    elif path.endswith(".md"):
                        self.assertIn(path, chapters)

    def test_every_file_that_the_core_names_is_on_the_page_of_the_disk(self):
        page, named = pages.read("docs/on-disk.md"), set()
        for folder, _, names in os.walk(os.path.join(pages.ROOT, "core/src")):
            for name in names:
                if name.endswith(".rs"):
                    code = pages.read(os.path.join(folder, name))
                    named.update(re.findall(r'const \w+: &str = "([.\w-]+\.(?:json|jsonl|log|idx|lock|lease|seq))";', code))
        for name in named:
            with self.subTest(name):
                self.assertIn(f"`{name}`", page)
        self.assertGreater(len(named), 20)

    def test_every_proof_of_the_fault_model_is_a_test(self):
        words = set()
        for top in ("tests", "core/src", "bindings-python/tests", "bindings-node/test", "ffi/src", "ffi/tests"):
            for folder, _, names in os.walk(os.path.join(pages.ROOT, top)):
                for name in names:
                    if name.endswith((".rs", ".py", ".mjs", ".c")):
                        words.update(re.findall(r"\w{12,}", pages.read(os.path.join(folder, name))))
        named = 0
        for row in pages.read("docs/fault-model.md").splitlines():
            proofs = row.rpartition(" | ")[2] if row.startswith("| ") else ""
            for proof in re.findall(r"`([a-z0-9_]{12,})`", proofs):
                with self.subTest(proof):
                    self.assertIn(proof, words, "there is no such test")
                    named += 1
        self.assertGreater(named, 100)

    def test_places_are_named_as_readers_name_them(self):
        text = "# A `b` c\n\n```sh\n# none\n```\n## What is done, and how?\n## A b c\n### Two\tfold: `x_y`\n"
        self.assertEqual(list(pages.anchors(text)), ["a-b-c", "what-is-done-and-how", "a-b-c-1", "two-fold-x_y"])

    def test_links_in_code_are_none(self):
        text = "[a](b.md) `[c](d.md)` [e `f`](g.md#h) ![i](j.png)\n```\n[k](l.md)\n```\n[m](https://n)\n"
        self.assertEqual(pages.links(text), ["b.md", "g.md#h"])


if __name__ == "__main__":
    unittest.main()
