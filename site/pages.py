"""The pages of the documentation: which there are, what they link to, and which places a page has.

Used by the test of the links (`test_links.py`) and by the builder of the site (`build.py`). Links are those of Markdown outside
of code; what leads to another host is not looked at.
"""
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where every page of a folder stands in the site, the line of SUMMARY.md says so.
EVERY = re.compile(r"^(\s*)<!-- every page of (\S+) -->$")
CHAPTER = re.compile(r"^\s*(?:- )?\[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)$")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def title(path):
    """The text of a page's first heading."""
    return HEADING.search(read(path))[1]


def listed(folder):
    """The pages of a folder, in the order of their names."""
    names = sorted(name for name in os.listdir(os.path.join(ROOT, folder)) if name.endswith(".md"))
    return [f"{folder}/{name}" for name in names]


def chapters():
    """Every page of the site: its path from the root of the source. An index of a folder is made by the builder."""
    found = []
    for line in read("site/SUMMARY.md").splitlines():
        if every := EVERY.match(line):
            found += listed(every[2])
        elif chapter := CHAPTER.match(line):
            found.append(chapter["path"])
    return found


def is_made(path):
    """Whether a page is none of the source: the index of a folder."""
    return path.endswith("/index.md") and not os.path.exists(os.path.join(ROOT, path))


def links(text):
    """What a text links to, in its order, but for other hosts."""
    text = CODE.sub("", FENCE.sub("", text))
    return [link for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]


def anchors(text):
    """The places of a page that a link can name: each heading in lower case, with `-` for white space, without other signs."""
    seen = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = "".join(
            "-" if sign.isspace() else sign.lower() for sign in words.strip() if sign.isalnum() or sign in "-_" or sign.isspace()
        )
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield slug if count == 0 else f"{slug}-{count}"


def target(page, link):
    """Where a link of a page leads: a path from the root of the source, and a place in it."""
    path, _, place = link.partition("#")
    if not path:
        return page, place
    return os.path.normpath(os.path.join(os.path.dirname(page), path)), place
