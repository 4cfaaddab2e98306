"""A result that becomes a branch: the end of `make demo`.

A repository is made, with a script that greets nobody. The coordinator of `examples/node-coordinator` has a provider's agent mend it,
takes the manifest that comes back, commits it, runs the approved command over it in the sandbox, pushes the branch to a bare
repository beside it and opens a pull request in its book. Then the repository and the run's own evidence are read. Where no sandbox
works, nothing is published, and that is said.
"""
import hashlib
import json
import os
import subprocess

from paid_work import COORDINATOR, SERVER, Program

BEFORE, AFTER = "echo hello\n", "echo hello, world\n"
CHECKS = "sh greet.sh | grep -qx 'hello, world'\n"
WORK = {"lines": 2, "everyMs": 50, "costUsd": 0.25, "page": 100}
WHO = {"name": "A Coordinator", "email": "coordinator@example.org"}


def sha256(text):
    """As manifests and approvals have it."""
    return hashlib.sha256(text.encode()).hexdigest()


def git(where, *arguments):
    """What Git says, with nothing of the user's configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{who}_NAME": WHO["name"], f"GIT_{who}_EMAIL": WHO["email"]})
    return subprocess.run(["git", "-C", where, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def make_repository(place):
    """A bare repository with one commit, and what an operator writes down of it; the files of both."""
    origin, work, described = (os.path.join(place, name) for name in ("origin.git", "work", "repository.json"))
    git(place, "init", "-q", "--bare", "--initial-branch=main", origin)
    git(place, "init", "-q", "--initial-branch=main", work)
    with open(os.path.join(work, "greet.sh"), "w", encoding="utf-8") as script:
        script.write(BEFORE)
    git(work, "add", "greet.sh")
    git(work, "commit", "-q", "-m", "Greet")
    git(work, "push", "-q", origin, "main")
    with open(os.path.join(place, "checks"), "w", encoding="utf-8") as checks:
        checks.write(CHECKS)
    repository = {"repo": "demo/greeting", "origin": origin, "base": "main", "author": WHO, "checks": "checks", "approvedHash": sha256(CHECKS)}
    with open(described, "w", encoding="utf-8") as file:
        json.dump(repository, file)
    return origin, described


def publication(place, say, relay, wait_for):
    """The whole of it, in an empty directory that is there; `say`, `relay` and `wait_for` are the demo's."""
    # Here and not above, so that a package which is not built is told in the demo's own line.
    from gallivant import errors
    from gallivant.execution import sandbox_readiness

    try:
        sandbox_readiness()
    except errors.ExecutionVerificationSandboxError as missing:
        say("demo", f"no sandbox works here, so that no result is verified and none is published; {missing.remedy}")
        return
    say("demo", "a task that ends in a branch: the result is applied, verified in a sandbox, and pushed")
    origin, described = make_repository(place)
    programs = []
    try:
        provider = Program("provider", relay, SERVER, os.path.join(place, "provider.json"))
        programs.append(provider)
        file = {"path": "greet.sh", "beforeHash": sha256(BEFORE), "afterHash": sha256(AFTER), "text": AFTER}
        provider.ask("/control/agents", {**WORK, "files": [file], "pr": {"title": "Greet the world", "body": "Nobody was greeted."}})
        root = os.path.join(place, "root")
        options = ["--port", "0", "--progress-ms", "1000", "--repository", described]
        coordinator = Program("coordinator", relay, COORDINATOR, root, provider.address, *options)
        programs.append(coordinator)
        wanted = {"prompt": "greet the world", "budgetUsd": 1, "publish": True}
        task = coordinator.ask("/tasks", wanted, {"Idempotency-Key": "wish-1"})["id"]
        wait_for(lambda: coordinator.ask(f"/tasks/{task}")["phase"] == "ended", 60)
        done = coordinator.ask(f"/tasks/{task}")
        outcome, branch = done["publication"], done["branch"]
        if outcome["status"] != "published":
            raise SystemExit(f"the demo's result was not published: {outcome}")
        for command in done["result"]["verification"]["commands"]:
            say("evidence", f"{command['command']}: exit {command['exitCode']}, in {command['sandbox']['driver']}, no network, no home")
        count = git(origin, "rev-list", "--count", f"main..{branch}")
        say("repository", f"{branch}: {count} commit, {git(origin, 'log', '-1', '--format=%h by %an', branch)}; {git(origin, 'show', f'{branch}:greet.sh')}")
        say("requests", f"{len(os.listdir(os.path.join(root, 'requests')))} in all: {outcome['pr']['title']}, to {outcome['pr']['base']}")
    finally:
        for program in programs:
            program.kill()
