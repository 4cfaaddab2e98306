"""Builds the documentation as a site: python3 build.py MDBOOK OUT

Stages every page of SUMMARY.md at its place in the source, so that links mean the same, and beside them the files that pages link to;
makes the index of a folder where it has none; runs mdBook; and follows every link of what mdBook has made.
"""
import html.parser
import os
import shutil
import subprocess
import sys
import tempfile

import pages


def index(folder):
    """The page of a folder: what is in it, by title."""
    names = {"docs/format": "Formats", "docs/errors": "Error codes", "docs/spec": "Specification", "docs/decisions": "Decisions"}
    rows = [f"- [{pages.title(page)}]({os.path.basename(page)})" for page in pages.listed(folder)]
    return f"# {names[folder]}\n\n" + "\n".join(rows) + "\n"


def summary():
    lines = []
    for line in pages.read("site/SUMMARY.md").splitlines():
        if every := pages.EVERY.match(line):
            lines += [f"{every[1]}- [{pages.title(page)}]({page})" for page in pages.listed(every[2])]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def staged(page):
    """A page's text, whose links to folders and to their README lead to the page that mdBook makes of it."""
    text = pages.read(page)
    for link in pages.links(text):
        path, place = pages.target(page, link)
        folder = link.rstrip("/") if os.path.isdir(os.path.join(pages.ROOT, path)) else os.path.dirname(link)
        if folder == link.rstrip("/") or os.path.basename(path) == "README.md":
            to = f"{folder}/index.html" if folder else "index.html"
            text = text.replace(f"]({link})", f"]({to}{'#' + place if place else ''})")
    return text


def put(source, path, text):
    full = os.path.join(source, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


def stage(source):
    put(source, "SUMMARY.md", summary())
    for page in pages.chapters():
        if pages.is_made(page):
            put(source, page, index(os.path.dirname(page)))
            continue
        put(source, page, staged(page))
        for link in pages.links(pages.read(page)):
            path, _ = pages.target(page, link)
            full = os.path.join(pages.ROOT, path)
            if os.path.isfile(full) and not path.endswith(".md"):
                os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
                shutil.copy(full, os.path.join(source, path))


class Page(html.parser.HTMLParser):
    """What a page links to, and the places that it has."""

    def __init__(self):
        super().__init__()
        self.links, self.places = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id":
                self.places.add(value)


def follow(book):
    """The links that lead nowhere, as lines, and how many there are in all."""
    parsed, broken, followed = {}, [], 0
    for folder, _, names in os.walk(book):
        for name in names:
            # What was copied as an example is no page of the site; `print.html` holds all pages, whose links are theirs.
            if name.endswith(".html") and name not in ("print.html", "404.html"):
                path = os.path.join(folder, name)
                parsed[path] = Page()
                with open(path, encoding="utf-8") as file:
                    parsed[path].feed(file.read())
    for path, page in parsed.items():
        for link in page.links:
            if link.partition(":")[0] in ("http", "https", "data", "mailto") or link.startswith("/"):
                continue
            to, _, place = link.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
            followed += 1
            if not os.path.exists(to):
                broken.append(f"{os.path.relpath(path, book)}: {link}")
            elif place and to in parsed and place not in parsed[to].places:
                broken.append(f"{os.path.relpath(path, book)}: {link}: no such place")
    return sorted(set(broken)), followed, len(parsed)


def main(mdbook, out):
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(os.path.join(pages.ROOT, "site/book.toml"), work)
        stage(os.path.join(work, "src"))
        subprocess.run([mdbook, "build", work, "--dest-dir", os.path.abspath(out)], check=True)
    broken, followed, count = follow(out)
    if broken:
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
    if not any(name.startswith("searchindex") for name in os.listdir(out)):
        sys.exit("the site has no search")
    print(f"{count} pages, {followed} links followed, with search: {out}/index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
