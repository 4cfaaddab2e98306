"""The guide to local runs, followed with the real harness from start to end, in its network namespace. Started by `run.py`.

    python3 local_guide.py ROOT HARNESS RUN EXECUTABLE

The page's own paths hold: `/srv` is the run's in a namespace of mounts. Every block of the page's part on Claude Code is
used as it stands, in Python and in Node, over one task.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import IO

from harnesses import ROOT, Start, guide_block
from stage import SETTLE, Stage, await_that, main

PAGE = "local-runs.md"
COMMAND = os.path.join(os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target"), "release/gallivant")
#: How long one command may take, in seconds.
PATIENCE = 60

#: The page's block stops the run of a boundary that is made as in the page's program.
STOP = """
with make_execution("/srv/tasks/1", runner={}, task_id="task-1", provider="claude", account="me", capabilities=RECORD,
                    health="external") as execution:
    stop(execution, execution.current()["runId"])
"""


class GuideStage(Stage):
    def starts(self) -> tuple[Start, ...]:
        return (Start(()),)

    def drive(self, start: Start, status: str) -> None:
        # The page has its hooks installed by a command.
        os.unlink(os.path.join(self.place.project, ".claude/settings.json"))
        srv = self.place.path("srv")
        for name in ("work", "agents"):
            os.makedirs(os.path.join(srv, name))
        os.makedirs(os.path.join(srv, "programs/node_modules"))
        subprocess.run(["mount", "--bind", srv, "/srv"], check=True)
        subprocess.run(["mount", "--bind", self.place.project, "/srv/work"], check=True)
        subprocess.run(["mount", "--bind", self.place.path("agents"), "/srv/agents"], check=True)
        os.symlink(self.executable, self.place.path("bin", "claude"))
        os.symlink(COMMAND, self.place.path("bin", "gallivant"))
        os.symlink(os.path.join(ROOT, "bindings-node"), "/srv/programs/node_modules/gallivant")
        program, stop = (guide_block(PAGE, "python", number) for number in range(2))
        self.place.write("/srv/programs/coordinator.py", program)
        self.place.write("/srv/programs/coordinator.mjs", guide_block(PAGE, "js"))
        boundary = program.partition("with make_execution")[0]
        self.place.write("/srv/programs/stop.py", f"{boundary}{stop}{STOP}")
        self.follow()
        time.sleep(SETTLE)

    def follow(self) -> None:
        install, run, state = (guide_block(PAGE, "sh", number) for number in range(3))
        self.shell(install, "")
        well = "exit=0 cost=0.00044 denied=0 session="
        session = self.shell(run, f"ok=True {well}").rpartition("session=")[2].strip()
        self.shell(state, "ended")
        # The second turn is Node's, in the session of the first.
        self.shell('node coordinator.mjs "Please do job-second"', f"ok=true {well}{session}")
        # The third loses its coordinator in the middle of a tool, and is found by the next one, which is told to begin
        # something else and does not.
        begun = os.path.join(self.place.project, "begun")
        with open(self.place.path("killed.output"), "wb") as output:
            killed = self.coordinate("Please do job-slow", output)
            if not await_that(lambda: os.path.exists(begun), PATIENCE):
                self.problems.append("the tool never began")
            os.killpg(killed.pid, signal.SIGKILL)
            killed.wait()
        self.shell('node coordinator.mjs "Please do job-never"', f"ok=true {well}{session}")
        # The fourth is stopped by another program than its coordinator.
        os.unlink(begun)
        with open(self.place.path("stopped.output"), "wb") as output:
            coordinator = self.coordinate("Please do job-long", output)
            if not await_that(lambda: os.path.exists(begun), PATIENCE):
                self.problems.append("the tool never began")
            self.shell("python3 stop.py", "cancelled")
            if coordinator.wait(PATIENCE) != 0:
                self.problems.append("the coordinator did not see that its run was stopped")

    def coordinate(self, prompt: str, output: IO[bytes]) -> subprocess.Popen:
        return subprocess.Popen(["python3", "coordinator.py", prompt], cwd="/srv/programs", env=self.around(),
                                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)

    def around(self) -> dict[str, str]:
        return {**self.environment(), "PYTHONPATH": os.path.join(ROOT, "bindings-python/python")}

    def shell(self, text: str, says: str) -> str:
        """Runs a block in a shell, and answers what it printed, which has to hold what is given."""
        try:
            done = subprocess.run(["bash", "-euc", text], cwd="/srv/programs", env=self.around(), text=True, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            self.problems.append(f"not over after {PATIENCE} s: {text.strip()}")
            return ""
        if done.returncode != 0 or says not in done.stdout:
            self.problems.append(f"{text.strip()} ended with {done.returncode}, without `{says}`: {done.stdout[-1500:]}")
        return done.stdout


if __name__ == "__main__":
    main(GuideStage, *sys.argv[1:])
