"""What an exit code means for the command that ended with it. Pure."""

import posixpath
import signal
from collections.abc import Mapping
from typing import Final

from toolwright import shell
from toolwright.shell.units import Analysis, Unit

_BENIGN: Final[Mapping[str, str]] = {
    "grep": "no line matched",
    "egrep": "no line matched",
    "fgrep": "no line matched",
    "rg": "no line matched",
    "git grep": "no line matched",
    "diff": "the files differ",
    "git diff": "the files differ",
    "cmp": "the files differ",
    "test": "the condition is false",
    "[": "the condition is false",
    "[[": "the condition is false",
    "find": "some folders could not be read",
}
"""Programs for which exit code 1 is an answer and not a failure."""

_WITH_SUBCOMMAND: Final = ("git",)


def interpretation(command: str, code: int, benign: Mapping[str, tuple[int, ...]]) -> str | None:
    """Say what a code other than 0 means when it is no failure; None when it is one.

    The last simple command of a line decides. ``benign`` adds codes by program.
    """
    analysis = shell.analyse(command)
    if not analysis.parsable or not analysis.units:
        return None
    last = _last_unit(analysis)
    for name in _names(last):
        if code == 1 and name in _BENIGN:
            return _BENIGN[name]
        if code in benign.get(name, ()):
            return f"{name} ended with {code}, which is set to be no failure"
    return None


def described(code: int) -> str:
    """``Exit code 137 (SIGKILL)``: the number, and the signal that it stands for."""
    if not 128 < code < 128 + signal.NSIG:
        return f"Exit code {code}"
    try:
        return f"Exit code {code} ({signal.Signals(code - 128).name})"
    except ValueError:
        return f"Exit code {code}"


def _last_unit(analysis: Analysis) -> Unit:
    """The command written last; what substitutions run comes before it in time."""
    return max(analysis.units, key=lambda unit: analysis.command.rfind(unit.source))


def _names(unit: Unit) -> tuple[str, ...]:
    program = posixpath.basename(unit.program or "")
    if unit.kind == "test":
        program = program or "[["
    if program not in _WITH_SUBCOMMAND:
        return (program,)
    words = (word.text or "" for word in unit.words[1:])
    subcommand = next((word for word in words if not word.startswith("-")), "")
    return (f"{program} {subcommand}", program)
