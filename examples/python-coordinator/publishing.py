"""How the result of a task becomes a branch and a pull request, in Python: the counterpart of
`examples/node-coordinator/publishing.mjs`, over the same files. A coordinator in each language may work on one root, and whichever
comes first publishes a result; what the other finds then is published.

The file that describes the repository has the members that `publishing.mjs` tells of; `repo`, `origin` and `base` stand in the task
too, as they were when it was made. A task that is to be published has `publish` in its `task.json`: `{repo, origin, base, branch, inputHead}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
import urllib.parse
import uuid

from gallivant.execution import TransportError, sandbox_readiness
from gallivant.execution_result import reconcile_execution_result

# Nothing of a user's configuration or of this program's environment takes part: a checkout has to be what its commit says.
GIT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsync",
    "GIT_CONFIG_VALUE_0": "all",
}


class Publishing:
    """The repository that `file` describes, for the tasks below `root`."""

    def __init__(self, root, file):
        with open(file, encoding="utf-8") as described:
            self.repository = json.load(described)
        # Paths may be relative to the file.
        at = os.path.dirname(os.path.abspath(file))
        self.checks = os.path.join(at, self.repository["checks"])
        runtime = self.repository.get("runtime")
        self.runtime = runtime and {name: os.path.join(at, runtime[name]) for name in ("directory", "programs")}
        self.tasks = os.path.join(root, "tasks")
        self.requests = PullRequestBook(os.path.join(root, "requests"))

    def prepare(self, task):
        """Makes sure, before anything is paid for, that what a task will have made can be published: that a result could be verified
        here (EX-VER-39), and that there is a checkout.
        """
        self.check(task)
        runtime = self.runtime or {}
        sandbox_readiness(runtime=runtime.get("directory"), runtime_programs=runtime.get("programs"))
        self.checkout(task)

    def publish(self, task):
        """Goes on with the publication of a task's result from wherever it stands, and gives what it has come to."""
        self.check(task)
        where = task.wanted["publish"]
        plan = {name: where[name] for name in ("repo", "origin", "base", "branch")}
        # The list is read anew each time: what was approved is the file's content and not its name (EX-VER-01).
        with open(self.checks, encoding="utf-8", newline="") as file:
            source = file.read()
        commands = [line for line in source.split("\n") if line.strip() and not line.startswith("#")]
        approved = {"commands": commands, "source": source, "approvedHash": self.repository["approvedHash"]}
        checkout = self.checkout(task)
        scratch = os.path.join(self.tasks, task.name, "scratch")
        os.makedirs(scratch, mode=0o700, exist_ok=True)
        return reconcile_execution_result(
            task.execution,
            task.run_id,
            {**plan, "author": self.repository["author"], "verification": approved},
            checkout=checkout,
            scratch=scratch,
            publisher=self.requests,
            # A stop is in the task's ledger, where the library looks itself.
            entry_stopped=lambda run_id: False,
            runtime=self.runtime,
            environment=os.environ,
        )

    def check(self, task):
        """What was approved for one repository is nothing to another."""
        if task.wanted["publish"]["repo"] != self.repository["repo"]:
            raise OSError("the task is of another repository")

    def checkout(self, task):
        """The task's checkout, at its branch. It gets its name once it is whole, and then only publications change it."""
        where = task.wanted["publish"]
        path = os.path.join(self.tasks, task.name, "checkout")
        if os.path.exists(path):
            return path
        staged = f"{path}.{uuid.uuid4()}"
        clone = ["clone", "--quiet", "--no-local", "--no-tags", "--template=", "--single-branch", "--branch", where["base"]]
        try:
            git(*clone, "--", where["origin"], staged)
            git("-C", staged, "checkout", "--quiet", "-b", where["branch"], where["inputHead"])
            os.rename(staged, path)
        except OSError:
            # Unless somebody who was faster has made the same one.
            if not os.path.exists(path):
                raise
        finally:
            shutil.rmtree(staged, ignore_errors=True)
        sync_directory(os.path.dirname(path))
        return path


class PullRequestBook:
    """Stands for the service that keeps pull requests: a file for each branch, so that there is one request for a branch however
    often it is opened and by whomever.
    """

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def path(self, place):
        """Where the request of a branch is, with the name that `encodeURIComponent` makes."""
        repo, branch = (urllib.parse.quote(place[name], safe="!~*'()") for name in ("repo", "branch"))
        return os.path.join(self.directory, f"{repo}@{branch}.json")

    def find_pull_request(self, call):
        """The request of the branch, durable by now, or None. It is no None that it could not look."""
        with saying_nothing():
            try:
                with open(self.path(call.input), encoding="utf-8") as file:
                    found = json.load(file)
            except FileNotFoundError:
                return None
            sync_directory(self.directory)
            return found

    def create_pull_request(self, call):
        """Opens it unless it is open, and gives what stands."""
        opened = {name: call.input[name] for name in ("repo", "branch", "base", "head", "title", "body")}
        path = self.path(call.input)
        staged = f"{path}.{uuid.uuid4()}"
        with saying_nothing():
            try:
                with open(staged, "x", encoding="utf-8") as file:
                    json.dump({**opened, "openedAt": int(time.time() * 1000)}, file)
                    file.flush()
                    os.fsync(file.fileno())
                with contextlib.suppress(FileExistsError):
                    os.link(staged, path)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(staged)
        return self.find_pull_request(call)


@contextlib.contextmanager
def saying_nothing():
    """A failure of the disk says nothing of what was done."""
    try:
        yield
    except (OSError, ValueError) as failed:
        raise TransportError("io", "the book of pull requests cannot be used") from failed


def git(*arguments):
    """Runs Git; an `OSError` where it could not do it."""
    try:
        subprocess.run(["git", *arguments], env=GIT, capture_output=True, timeout=120, check=True)
    except subprocess.SubprocessError as failed:
        raise OSError("no checkout could be made") from failed


def sync_directory(path):
    """A name is durable when its directory is."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
