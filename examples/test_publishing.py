"""The example's coordinator from a task to a pushed branch: what is there in the end, and what is left when it is killed on the way,
stopped, or handed something hostile. GALLIVANT_PUBLICATION_KILLS is how many of the kills come (10), GALLIVANT_SEED what is rolled (1).
"""
import collections
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/interop"))
from coordinators import NODE, PYTHON, Process, Provider, exchange, until

sys.path.insert(0, os.path.join(ROOT, "bindings-python/python"))
from gallivant import errors
from gallivant.execution import sandbox_readiness

SEED = int(os.environ.get("GALLIVANT_SEED", "1"))
# So many kills come while a publication is under way, in one of its steps.
KILLS = int(os.environ.get("GALLIVANT_PUBLICATION_KILLS", "10"))
STEPS = ["applying", "applying", "verifying", "verified", "verified", "verified"]
ENDS = ("published", "blocked")
# Without a namespace to be had: what the sandbox is made of.
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
# The last one would fail if it ever ran again over a checkout.
CHECKS = "# What every result has to pass.\ngrep -q two README\nsleep 0.1; echo ran >>ran; test $(wc -l <ran) = 1\n"
GIT = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def has_sandbox():
    try:
        sandbox_readiness()
    except errors.ExecutionVerificationSandboxError:
        return False
    return True


def git(where, *arguments):
    done = subprocess.run(["git", "-C", where, *arguments], env=GIT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def entry(path, before, after):
    """A file of a result, as a manifest has it."""
    return {"path": path, "beforeHash": before and sha256(before), "afterHash": after and sha256(after), "text": after}


FILES = [entry("README", "one\n", "two\n"), entry("src/new", None, "new\n"), entry("old", "old\n", None)]
REQUEST = {"title": "Say two", "body": "It said one."}


class Publishing(unittest.TestCase):
    """A bare repository, a provider whose agents bring a manifest, and a coordinator that publishes it."""

    prefix = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.origin, self.root = self.at("origin.git"), self.at("root")
        for name in ("work", "outside"):
            os.mkdir(self.at(name))
        git(self.folder, "init", "-q", "--bare", "--initial-branch=main", "origin.git")
        # Each push of a branch is a line in its log.
        git(self.origin, "config", "core.logAllRefUpdates", "true")
        git(self.at("work"), "init", "-q", "--initial-branch=main")
        for name, text in (("README", "one\n"), ("old", "old\n"), (".gitignore", "ran\n"), ("checks", CHECKS)):
            self.write(f"work/{name}", text)
        os.symlink(self.at("outside"), self.at("work/link"))
        git(self.at("work"), "add", "-A")
        git(self.at("work"), "commit", "-q", "-m", "first")
        git(self.at("work"), "push", "-q", self.origin, "main")
        self.head = git(self.origin, "rev-parse", "main")
        self.checks(CHECKS)
        self.log = open(self.at("log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        self.provider = Provider(self.at("provider.json"), self.log)
        self.addCleanup(self.provider.end)
        self.brings(FILES)
        self.coordinator = None
        self.start()
        self.addCleanup(lambda: self.coordinator.end())

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)

    def checks(self, text, repo="org/repo"):
        """Approves these commands for a repository."""
        self.write("checks", text)
        author = {"name": "A Coordinator", "email": "coordinator@example.org"}
        approved = {"checks": "checks", "approvedHash": sha256(text)}
        self.write("repository.json", json.dumps({"repo": repo, "origin": "origin.git", "base": "main", "author": author, **approved}))

    def brings(self, files):
        """What every agent makes from now on."""
        self.provider.control("/agents", {"lines": 1, "everyMs": 20, "costUsd": 0.25, "page": 100, "files": files, "pr": REQUEST})

    def start(self):
        command = [*self.prefix, *NODE, self.root, self.provider.address, "--port", "0", "--progress-ms", "1000"]
        self.coordinator = Process([*command, "--repository", self.at("repository.json")], self.log).ready()

    def ask(self, method, path, body=None, headers=()):
        return exchange(self.coordinator.address, method, path, body, headers)

    def create(self, key, publish=True):
        wanted = {"prompt": key, "budgetUsd": 1, "publish": publish}
        status, answer = self.ask("POST", "/tasks", wanted, {"Idempotency-Key": key})
        self.assertEqual(status, 201, answer)
        return answer["id"]

    def until(self, task, condition):
        """The task, once it is as it is wanted."""

        def looked():
            found = self.ask("GET", f"/tasks/{task}")[1]
            return found if condition(found) else None

        try:
            return until(looked, 150)
        except AssertionError as late:
            self.log.seek(0)
            raise AssertionError(f"{self.ask('GET', f'/tasks/{task}')}\n{self.log.read()}") from late

    def published(self, task):
        """Waits for a publication by whom nobody can ask."""
        try:
            until(lambda: self.checkpoint(task) == "published", 150)
        except AssertionError as late:
            self.log.seek(0)
            raise AssertionError(f"{self.checkpoint(task)}\n{self.log.read()}") from late

    def over(self, task):
        return self.until(task, lambda found: found["phase"] == "ended")

    def checkpoint(self, task):
        """How far a publication has come, as it stands on disk; None before it has begun."""
        work = os.path.join(self.root, "tasks", task, "work")
        for name in os.listdir(work) if os.path.exists(work) else ():
            path = os.path.join(work, name, "result-application.json")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return json.load(file)["status"]
        return None

    def branches(self):
        return git(self.origin, "for-each-ref", "--format=%(refname:short)", "refs/heads/task").split()

    def pushes(self, branch):
        return len(git(self.origin, "reflog", "show", f"refs/heads/{branch}").splitlines())

    def requests(self):
        """The book of pull requests, by branch."""
        book = os.path.join(self.root, "requests")
        found = []
        for name in os.listdir(book):
            if name.endswith(".json"):
                with open(os.path.join(book, name), encoding="utf-8") as file:
                    found.append(json.load(file))
        return {request["branch"]: request for request in found}

    def is_published_once(self, task):
        """That exactly one commit, one push and one request have come of a task, which shows what proves it."""
        publication, branch = task["publication"], task["branch"]
        self.assertEqual(publication["status"], "published", task)
        head = git(self.origin, "rev-parse", branch)
        self.assertEqual((head, self.pushes(branch)), (publication["appliedHead"], 1))
        self.assertEqual(git(self.origin, "rev-list", f"main..{branch}").split(), [head])
        changed = git(self.origin, "diff-tree", "-r", "--name-status", "--no-commit-id", head).split()
        self.assertEqual(changed, ["M", "README", "D", "old", "A", "src/new"])
        self.assertEqual(git(self.origin, "show", f"{head}:README"), "two")
        request = self.requests()[branch]
        self.assertEqual(request, publication["pr"])
        self.assertEqual((request["title"], request["base"], request["head"]), ("Say two", "main", head))
        evidence = task["result"]["verification"]
        self.assertEqual((evidence["revision"], [one["exitCode"] for one in evidence["commands"]]), (head, [0, 0]))
        self.assertEqual({one["sandbox"]["probe"]["status"] for one in evidence["commands"]}, {"passed"})


@unittest.skipUnless(has_sandbox(), "no sandbox works on this machine")
class ToABranch(Publishing):
    def test_from_a_task_to_a_pushed_branch(self):
        plain, wanted = self.create("wish-0", publish=False), self.create("wish-1")
        task = self.over(wanted)
        self.is_published_once(task)
        self.assertEqual(git(self.origin, "log", "-1", "--format=%an <%ae>", task["branch"]), "A Coordinator <coordinator@example.org>")
        plain = self.over(plain)
        self.assertEqual((plain["ok"], plain["branch"], plain["publication"]), (True, None, None))
        # Whoever starts later, and whoever asks again, finds it done.
        self.coordinator.end()
        self.start()
        self.assertEqual(self.create("wish-1"), wanted)
        self.is_published_once(self.over(wanted))
        self.assertEqual((self.branches(), list(self.requests())), ([task["branch"]], [task["branch"]]))
        self.assertEqual(self.provider.control()["jobs"], 2)

    def test_what_nobody_has_approved_waits_and_what_is_empty_is_nothing(self):
        self.brings([])
        empty = self.create("wish-1")
        self.until(empty, lambda found: found["job"] is not None)
        self.brings(FILES)
        self.write("checks", f"{CHECKS}true\n")
        waits = self.create("wish-2")

        def refused():
            return self.until(waits, lambda found: found["phase"] == "refused")["error"]

        self.assertEqual(refused()["code"], "EXECUTION_CONFLICT")
        # What was approved for one repository is nothing to another.
        self.checks(CHECKS, "org/another")
        self.coordinator.end()
        self.start()
        self.assertIn("of another repository, repo=`org/repo`", refused()["remedy"])
        self.assertEqual((self.branches(), self.requests()), ([], {}))
        self.checks(CHECKS)
        self.coordinator.end()
        self.start()
        self.is_published_once(self.over(waits))
        self.assertEqual((self.over(empty)["publication"]["status"], len(self.branches())), ("nothing", 1))

    def test_a_hostile_manifest_is_blocked_by_name_and_touches_nothing(self):
        hostile = [
            ("../../../../outside/new", "parent"), (self.at("outside/new"), "absolute"), (".git/hooks/post-commit", "git"),
            (".GIT/config", "git"), ("link/new", "collision"), ("a\\..\\b", "backslash"), ("src/aux.txt", "rewritten"),
        ]
        tasks = []
        for number, (path, _) in enumerate(hostile):
            self.brings([*FILES, entry(path, None, "hostile\n")])
            task = self.create(f"wish-{number}")
            self.until(task, lambda found: found["job"] is not None)
            tasks.append(task)
        for (path, detail), task in zip(hostile, map(self.over, tasks)):
            with self.subTest(path):
                publication = task["publication"]
                self.assertEqual((publication["status"], publication["reason"]), ("blocked", "result-validation"))
                self.assertIn(f"detail=`{detail}", publication["detail"])
                self.assertNotIn(path, json.dumps(publication))
                checkout = os.path.join(self.root, "tasks", task["id"], "checkout")
                self.assertEqual((git(checkout, "rev-parse", "HEAD"), git(checkout, "status", "--porcelain")), (self.head, ""))
                self.assertFalse(os.path.exists(os.path.join(checkout, ".git/hooks")))
        self.assertEqual((os.listdir(self.at("outside")), self.branches(), self.requests()), ([], [], {}))

    def test_a_stop_before_the_push_leaves_no_branch(self):
        self.checks("sleep 5\n")
        self.coordinator.end()
        self.start()
        wanted = self.create("wish-1")
        until(lambda: self.checkpoint(wanted) == "verifying", 150, 0.01)
        self.assertEqual(self.ask("POST", f"/tasks/{wanted}/stop", {"reason": "enough"})[0], 202)
        for _ in range(2):
            task = self.over(wanted)
            self.assertEqual((task["publication"], self.branches(), self.requests()), (None, [], {}))
            self.coordinator.end()
            self.start()

    def test_a_coordinator_in_python_goes_on_with_it_and_beside_it(self):
        first = self.create("wish-1")
        self.until(first, lambda found: found["job"] is not None)
        self.coordinator.end()
        options = ["--progress-ms", "1000", "--repository", self.at("repository.json")]
        other = Process([*PYTHON, self.root, self.provider.address, *options], self.log)
        self.addCleanup(other.end)
        self.published(first)
        self.start()
        second = self.create("wish-2")
        for task in (first, second):
            self.is_published_once(self.over(task))
        self.assertEqual((len(self.branches()), len(self.requests())), (2, 2))
        self.assertEqual(other.end(kill=False), 0)

    def test_asked_to_end_it_lets_a_publication_end_that_has_begun(self):
        self.checks("sleep 5\n")
        self.coordinator.end()
        self.start()
        wanted = self.create("wish-1")
        until(lambda: self.checkpoint(wanted) == "verifying", 150, 0.01)
        self.assertEqual(self.coordinator.end(kill=False), 0)
        self.assertEqual((self.checkpoint(wanted), len(self.branches()), len(self.requests())), ("published", 1, 1))

    def test_killed_in_the_push_it_takes_what_it_has_pushed_and_opened_for_its_own(self):
        hook = os.path.join(self.origin, "hooks/post-receive")
        os.makedirs(os.path.dirname(hook), exist_ok=True)
        with open(hook, "w", encoding="utf-8") as file:
            # The branch has moved, and its answer does not come.
            file.write("#!/bin/sh\ntouch pushed\nwhile [ -e hold ]; do sleep 0.02; done\n")
        os.chmod(hook, 0o755)
        self.write("origin.git/hold", "")
        wanted = self.create("wish-1")
        until(lambda: os.path.exists(self.at("origin.git/pushed")), 150, 0.01)
        # While it is written no stop is accepted (EX-CAN-50).
        self.assertEqual(self.ask("POST", f"/tasks/{wanted}/stop", {"reason": "too late"})[0], 409)
        self.assertEqual(self.requests(), {})
        self.coordinator.end()
        [branch] = self.branches()
        # As one leaves it that has opened a request, and died before it could note that.
        place = {"repo": "org/repo", "branch": branch, "base": "main", "head": git(self.origin, "rev-parse", branch)}
        book = os.path.join(ROOT, "examples/node-coordinator/publishing.mjs")
        opened = f"(await import({json.dumps(book)})).pullRequestBook({json.dumps(self.at('root/requests'))}).createPullRequest"
        text = json.dumps({**place, **REQUEST})
        subprocess.run(["node", "--input-type=module", "-e", f"await Promise.all([1, 2].map(async () => ({opened})({text})))"], check=True)
        self.start()
        self.is_published_once(self.over(wanted))
        os.remove(self.at("origin.git/hold"))

    def test_killed_at_any_moment_of_a_publication_there_is_one_of_each_or_none(self):
        print(f"GALLIVANT_SEED={SEED}")
        dice = random.Random(SEED)
        tasks, at = [], collections.Counter()

        def standing():
            return [status for status in map(self.checkpoint, tasks) if status not in ENDS]

        while sum(at.values()) < KILLS:
            if len(standing()) < 2:
                tasks += [self.create(f"wish-{len(tasks)}-{more}") for more in range(3)]
                # A kill in a dispatch is another matter: what the provider never got stays unresolved.
                for task in tasks[-3:]:
                    self.until(task, lambda found: found["job"] is not None)
            # Somewhere in this step of one of them, or where it has gone from there.
            step = dice.choice(STEPS)
            until(lambda: step in (now := standing()) or not now, 150, 0.003)
            time.sleep(dice.uniform(0.0, 0.1))
            self.coordinator.end()
            # Several are under way at once; what is counted is the kill.
            if found := sorted(filter(None, standing())):
                at[" ".join(found)] += 1
            self.start()
        ended = [self.over(task) for task in tasks]
        published = [task for task in ended if task["publication"]["status"] == "published"]
        for task in published:
            self.is_published_once(task)
        for task in ended:
            checkout = os.path.join(self.root, "tasks", task["id"], "checkout")
            self.assertEqual(git(checkout, "rev-list", "--count", f"{self.head}..HEAD"), "1")
            if task not in published:
                # Killed while commands ran, which nothing runs again by itself (EX-VER-18).
                self.assertEqual(task["publication"]["reason"], "verification-interrupted")
        branches = sorted(task["branch"] for task in published)
        self.assertEqual((sorted(self.branches()), sorted(self.requests())), (branches, branches))
        self.assertEqual(self.provider.control()["jobs"], len(tasks))
        counts = f"{len(tasks)} tasks, {len(published)} published, {len(tasks) - len(published)} interrupted"
        print(f"{sum(at.values())} kills at {dict(at)}: {counts}")
        self.assertGreater(len(published), 0)


@unittest.skipUnless(subprocess.run([*NO_NAMESPACES, "true"], capture_output=True).returncode == 0, "no namespace can be closed here")
class WithoutASandbox(Publishing):
    prefix = NO_NAMESPACES

    def test_without_a_sandbox_nothing_is_cloned_and_nothing_is_paid_for(self):
        wanted = self.create("wish-1")
        task = self.until(wanted, lambda found: found["phase"] == "refused")
        self.assertEqual(task["error"]["code"], "EXECUTION_VERIFICATION_SANDBOX")
        self.assertFalse(os.path.exists(os.path.join(self.root, "tasks", wanted, "checkout")))
        # What asks for no branch is done all the same.
        self.assertTrue(self.over(self.create("wish-2", publish=False))["ok"])
        self.assertEqual((self.provider.control()["jobs"], self.branches()), (1, []))


if __name__ == "__main__":
    unittest.main()
