"""Fetches the harnesses with npm into a cache outside the source tree."""
from __future__ import annotations

import os
import subprocess

from harnesses import Harness


def cache_directory() -> str:
    """`GALLIVANT_E2E_CACHE`, or `gallivant-e2e` in the user's cache directory."""
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.abspath(os.environ.get("GALLIVANT_E2E_CACHE") or os.path.join(user, "gallivant-e2e"))


def fetch(harness: Harness, cache: str) -> tuple[str | None, str]:
    """The directory that holds the harness's package, or None and why it could not be had.

    A directory exists only complete: npm works in another one, which is renamed in the end. Install scripts are not
    run; each harness's file names the program that works without them.
    """
    name = f"{harness.package.lstrip('@').replace('/', '-')}-{harness.version}"
    prefix = os.path.join(cache, name)
    if os.path.isdir(prefix):
        return prefix, ""
    part = prefix + f".part-{os.getpid()}"
    os.makedirs(part)
    print(f"fetching {harness.package}@{harness.version} into {cache}", flush=True)
    command = ["npm", "install", "--prefix", part, "--ignore-scripts", "--no-audit", "--no-fund",
               f"{harness.package}@{harness.version}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return None, "npm did not fetch the package in 15 minutes"
    if done.returncode != 0:
        return None, f"npm could not fetch the package: {last_line(done.stdout)}"
    os.rename(part, prefix)
    return prefix, ""


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no word from npm"
