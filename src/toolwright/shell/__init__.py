"""What a shell command would do, found without running it. Pure; knows no rules."""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.shell.reach import Reach
    from toolwright.shell.units import Analysis

__all__ = [
    "analyse",
    "is_background",
    "is_destructive",
    "is_read_only",
    "paths_read",
    "program_names",
    "reach_of",
    "single_file_read",
]


@lru_cache(maxsize=256)
def analyse(command: str) -> "Analysis":
    """The units, redirects and flags of a command. Never raises; text it cannot trust is not ``parsable``."""
    from toolwright.shell.analysis import analysed

    return analysed(command)


@lru_cache(maxsize=256)
def reach_of(command: str) -> "Reach":
    """Everything a command would run, through wrappers and scripts."""
    from toolwright.shell.reach import reach

    return reach(analyse(command))


def is_read_only(analysis: "Analysis") -> bool:
    """Whether, going by programs and options alone, the command changes nothing.

    Which files it may read is for the permission rules to say: see ``paths_read``.
    """
    return paths_read(analysis) is not None


def paths_read(analysis: "Analysis") -> tuple[str, ...] | None:
    """The files a read-only command names, as written; None when it is not read-only."""
    from toolwright.shell.whole import paths_read

    return paths_read(analysis)


def is_destructive(analysis: "Analysis", also: tuple[str, ...] = ()) -> bool:
    """Whether anything the command would run cannot be undone; ``also`` names commands besides the usual."""
    from toolwright.shell.destructive import destructive

    found = reach_of(analysis.command)
    return any(destructive(reached.words, also) for reached in found.programs)


def program_names(analysis: "Analysis") -> tuple[str, ...]:
    """The programs the command names, in order, without repeats."""
    names = (unit.program for unit in analysis.units)
    return tuple(dict.fromkeys(name for name in names if name))


def is_background(analysis: "Analysis") -> bool:
    """Whether something is left running with ``&``."""
    return analysis.background


def single_file_read(analysis: "Analysis") -> str | None:
    """The one file whose text the command prints (``cat f``, ``sed -n 1,9p f``); None for anything else."""
    from toolwright.shell.whole import single_file_read

    return single_file_read(analysis)
