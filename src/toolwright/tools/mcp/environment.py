"""What the program of a server sees of our environment: what it needs to run, and nothing secret (pure)."""

from collections.abc import Mapping
from typing import Final

from toolwright.tools.commands.setup import PLACE_FOR_TEMPORARY

PROJECT_VARIABLE: Final = "TOOLWRIGHT_PROJECT_DIR"
_PASSED: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR",
)  # fmt: skip
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def program_environment(
    environ: Mapping[str, str], own: Mapping[str, str], *, project: str, sandboxed: bool
) -> dict[str, str]:
    """Return the whole environment of a server's program; ``own`` is what its entry says."""
    passed = {name: environ[name] for name in _PASSED if environ.get(name)}
    passed |= {name: value for name, value in environ.items() if name.startswith("LC_") and value}
    if sandboxed:
        passed["HOME"] = PLACE_FOR_TEMPORARY
        passed.pop("TMPDIR", None)
    return {"PATH": _PATH, **passed, PROJECT_VARIABLE: project, **own}
