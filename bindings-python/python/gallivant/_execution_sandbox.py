"""Whether the sandbox of verification works on this machine."""

from __future__ import annotations

from . import _native
from ._execution_json import value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, Union

    Path = Union[str, PathLike[str]]


def sandbox_readiness(
    scratch: Path | None = None, *, runtime: Path | None = None, runtime_programs: Path | None = None
) -> dict[str, Any]:
    """Checks that results could be verified on this machine, and gives the evidence, `{driver, probe}`, for your own records. Probes
    the sandbox in throw-away directories below `scratch` (that of the system), runs no code of a repository and leaves nothing
    behind. `runtime` is an installation that commands may read later, `runtime_programs` the directory of its programs. Takes as
    long as a dozen processes; a signal handler that raises ends it.

    Raises `ExecutionVerificationSandboxError` for whatever is not a proof; its remedy says what this system lacks.
    """
    evidence: dict[str, Any] = value_of(_native.sandbox_readiness_json(scratch, runtime, runtime_programs))
    return evidence
