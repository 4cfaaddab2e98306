"""Checks what packages/build.sh has built, as somebody who gets it would: python3 check.py DIST

Each artefact is listed, and holds what it should and nothing else; the native files need no newer glibc than packages/FLOOR says,
which is read out of the versions of their symbols; and each is installed into an empty place, where a small program uses it.
Needs what build.sh needs, and gcc, pkg-config and groff.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import users

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


VERSION = re.search(r'^version = "(.*)"$', read("Cargo.toml"), re.MULTILINE)[1]
FLOOR = tuple(int(part) for part in read("packages/FLOOR").split("."))
MACHINE = os.uname().machine
# What a native file may ask of the machine besides its own folder.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libgcc_s.so.1"}


def fail(message):
    sys.exit(f"packages/check.py: {message}")


def said(what):
    print(f"packages: {what}", flush=True)


def run(*command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def one(dist, pattern):
    found = glob.glob(os.path.join(dist, pattern))
    if len(found) != 1:
        fail(f"{pattern}: {len(found)} files")
    return found[0]


def compare(what, found, wanted):
    found, wanted = set(found), set(wanted)
    if found != wanted:
        fail(f"{what} has {sorted(found - wanted)} and lacks {sorted(wanted - found)}")


def tracked(*paths):
    """The files of the source below these paths."""
    return run("git", "-C", ROOT, "ls-files", "--", *paths).split()


def own_files(crate):
    """The files of a crate as an archive has them: the folder of error pages is a link, behind which the pages are."""
    pages = f"{crate}/src/error/pages"
    found = set(tracked(crate))
    if pages in found:
        found = found - {pages} | {f"{pages}/{os.path.basename(page)}" for page in tracked("docs/errors")}
    return sorted(found)


def native(path):
    """That a native file runs where glibc is as old as the floor, and that it names none of the builder's folders."""
    versions = re.findall(r"Name: GLIBC_([0-9.]+)\b", run("readelf", "--version-info", "--wide", path))
    newest = max(tuple(int(part) for part in version.split(".")) for version in versions)
    if newest > FLOOR:
        fail(f"{path} needs glibc {newest}, more than {FLOOR}")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", path)))
    loader = {name for name in needed if name.startswith("ld-linux")}
    if needed - loader - LIBRARIES:
        fail(f"{path} needs {sorted(needed - loader - LIBRARIES)}")
    with open(path, "rb") as file:
        bytes_ = file.read()
    for folder in {ROOT, os.path.expanduser("~")} - {"/"}:
        if f"{folder}/".encode() in bytes_:
            fail(f"{path} names {folder}")
    # The supervisor stays for as long as a run.
    if os.path.basename(path) == "gallivant-supervise" and len(bytes_) > 1_000_000:
        fail(f"{path} has {len(bytes_)} bytes, more than a million")
    return ".".join(map(str, newest)), len(bytes_)


def wheel(dist, work):
    path = one(dist, f"gallivant-{VERSION}-*.whl")
    tags = os.path.basename(path)[: -len(".whl")].split("-")[2:]
    compare("the wheel's name", tags[:2], ["cp39", "abi3"])
    if f"manylinux_{FLOOR[0]}_{FLOOR[1]}_{MACHINE}" not in tags[2].split("."):
        fail(f"the wheel is for {tags[2]}")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        archive.extractall(os.path.join(work, "wheel"))
    info = f"gallivant-{VERSION}.dist-info"
    own = [name[len("bindings-python/python/"):] for name in tracked("bindings-python/python")]
    compare("the wheel", [name for name in names if not name.startswith(info)], [*own, "gallivant/_native.abi3.so", "gallivant/gallivant-supervise"])
    for part in ("METADATA", "RECORD", "WHEEL", "entry_points.txt"):
        if f"{info}/{part}" not in names:
            fail(f"the wheel has no {part}")
    if not any(name.startswith(info) and name.endswith("LICENSE") for name in names):
        fail("the wheel has no licence")
    newest, size = native(os.path.join(work, "wheel/gallivant/_native.abi3.so"))
    native(os.path.join(work, "wheel/gallivant/gallivant-supervise"))
    users.python(run, os.path.join(work, "python"), path, VERSION)
    said(f"wheel: {len(names)} files, {tags[2]}, needs glibc {newest}, native module {size} bytes; installed and used")


def sdist(dist, work):
    path = one(dist, f"gallivant-{VERSION}.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    # The Python half lies where the build looks for it; the sources of both crates lie as they do here.
    wanted = ["PKG-INFO", "pyproject.toml", "Cargo.toml", "Cargo.lock", "LICENSE", "README.md"]
    wanted += [name[len("bindings-python/"):] for name in tracked("bindings-python/python")]
    wanted += [*own_files("core"), *tracked("bindings-python/src", "bindings-python/Cargo.toml")]
    if missing := [name for name in wanted if name not in names]:
        fail(f"the sdist lacks {missing}")
    if alien := [name for name in names if name.endswith((".so", ".pyc", ".whl", "gallivant-supervise")) or "/target/" in name]:
        fail(f"the sdist has {alien}")
    # One target folder an archive: the files in it have all the same time, by which cargo would take the crates of another
    # archive for these.
    with open(path, "rb") as archive:
        target = os.path.join(dist, "../sdist", hashlib.sha256(archive.read()).hexdigest()[:16])
    for older in set(glob.glob(os.path.join(os.path.dirname(target), "*"))) - {target}:
        shutil.rmtree(older) if os.path.isdir(older) else os.remove(older)
    # Not the release's own profile: that it builds is what is asked, and optimised it is above.
    environment = {
        **os.environ, "CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0", "CARGO_TARGET_DIR": target,
    }
    environment.pop("PYTHONPATH", None)
    built = os.path.join(work, "from-sdist")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, path, env=environment)
    users.python(run, os.path.join(work, "python-sdist"), one(built, "gallivant-*.whl"), VERSION)
    said(f"sdist: {len(names)} files; built, installed and used")


def node(dist, work):
    cpu = run("node", "-p", "process.arch").strip()
    name = f"gallivant-linux-{cpu}-gnu"
    main, own = (os.path.join(dist, f"{package}-{VERSION}.tgz") for package in ("gallivant", name))
    with tarfile.open(main) as archive:
        wanted = [path[len("bindings-node/"):] for path in tracked("bindings-node/lib")] + ["LICENSE", "README.md", "package.json"]
        compare("the Node package", archive.getnames(), [f"package/{path}" for path in wanted])
        count = len(wanted)
    binary = f"gallivant.linux-{cpu}-gnu.node"
    with tarfile.open(own) as archive:
        compare(name, archive.getnames(), [f"package/{path}" for path in ("LICENSE", "README.md", "package.json", binary, "gallivant-supervise")])
        for part in (binary, "gallivant-supervise"):
            archive.extract(f"package/{part}", os.path.join(work, "node-native"))
    newest, size = native(os.path.join(work, "node-native/package", binary))
    native(os.path.join(work, "node-native/package/gallivant-supervise"))
    users.node(run, os.path.join(work, "node"), [own, main], name)
    said(f"npm: {count} files and {name}, needs glibc {newest}, native module {size} bytes; installed and used")


def c(dist, work):
    path = one(dist, f"libgallivant-{VERSION}-linux-{MACHINE}.tar.xz")
    into = os.path.join(work, "c")
    with tarfile.open(path) as archive:
        names = [name.partition("usr/local/")[2] for name in archive.getnames()]
        archive.extractall(into)
    major = VERSION.split(".")[0]
    files = {
        "include/gallivant.h", "lib/libgallivant.a", "lib/libgallivant.so", f"lib/libgallivant.so.{major}",
        f"lib/libgallivant.so.{VERSION}", "lib/gallivant-supervise", "lib/pkgconfig/gallivant.pc", "share/man/man3/gallivant.3",
    }
    compare("the C tree", [name for name in names if not os.path.isdir(os.path.join(into, "usr/local", name))], files)
    newest, size = native(os.path.join(into, f"usr/local/lib/libgallivant.so.{VERSION}"))
    native(os.path.join(into, "usr/local/lib/gallivant-supervise"))
    listed = run("nm", "-D", "--defined-only", os.path.join(into, "usr/local/lib/libgallivant.so"))
    compare("the shared library", [line.split()[2] for line in listed.splitlines()], read("ffi/symbols.txt").split())
    users.c(run, into, work, VERSION)
    said(f"c: {len(files)} files, needs glibc {newest}, shared library {size} bytes; linked shared and static, man page read")


def crates(dist, work):
    counts = []
    for crate, folder in (("gallivant-core", "core"), ("libgallivant", "ffi")):
        with tarfile.open(os.path.join(dist, f"{crate}-{VERSION}.crate")) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
            archive.extractall(os.path.join(work, "crates"))
        made = {"Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"}
        own = {name[len(folder) + 1:] for name in own_files(folder)}
        compare(crate, set(names) - made, own)
        counts.append(len(names))
    users.rust(run, os.path.join(work, "crates"), os.path.dirname(dist), VERSION, read("Cargo.toml"))
    said(f"crates: {counts[0]} and {counts[1]} files; built from their archives, and used by a program")


def main(dist):
    work = tempfile.mkdtemp()
    try:
        for check in (wheel, node, c, crates, sdist):
            check(dist, work)
    finally:
        shutil.rmtree(work)
    print("all packages checked")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
