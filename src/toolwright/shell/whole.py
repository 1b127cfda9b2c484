"""Questions about a whole command that tools ask."""

import re
from itertools import pairwise

from toolwright.shell.operands import operands_of
from toolwright.shell.read_only import files_read
from toolwright.shell.units import START, Analysis, Redirect, Word

_PRINTERS = frozenset({
    "cat", "nl", "head", "tail", "sed", "grep", "rg",
})  # fmt: skip
_AROUND = frozenset({"-A", "-B", "-C", "-m"})
_BEFORE_A_NUMBER: dict[str, frozenset[str]] = {
    "head": frozenset({"-n", "-c"}),
    "tail": frozenset({"-n", "-c"}),
    "grep": _AROUND,
    "rg": _AROUND,
}
_NUMBER = re.compile(r"[+-]?\d{1,18}")


def paths_read(analysis: Analysis) -> tuple[str, ...] | None:
    """The files a read-only command names, as written; None when it is not read-only."""
    if not analysis.parsable or analysis.flags or not analysis.units:
        return None
    found: list[str] = []
    for unit in analysis.units:
        files = None if unit.assignments else files_read(unit.words, at_start=unit.trails == START)
        if files is None:
            return None
        found.extend(word.spelled for word in files)
    for redirect in analysis.redirects:
        if is_free(redirect):
            continue
        if redirect.operator != "<" or redirect.target is None or redirect.target.text is None:
            return None
        found.append(redirect.target.text)
    return tuple(found)


def is_free(redirect: Redirect) -> bool:
    """A redirect that reaches no file: ``2>&1``, ``>/dev/null``, text given in the command itself."""
    if redirect.heredoc is not None:
        return redirect.descriptor in {"", "0"}
    target = redirect.target.text if redirect.target is not None else None
    if redirect.operator == ">&" and redirect.descriptor in {"", "1", "2"} and target in {"1", "2"}:
        return True
    writes = redirect.operator in {">", ">>", "&>", "&>>", ">|"} and redirect.descriptor in {"", "1", "2"}
    return writes and target == "/dev/null"


def _without_values(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words without numbers that belong to the option before them."""
    options = _BEFORE_A_NUMBER.get(words[0].text or "", frozenset())
    values = [value for option, value in pairwise(words) if option.text in options]
    return tuple(word for word in words if word not in values or not _NUMBER.fullmatch(word.shape))


def single_file_read(analysis: Analysis) -> str | None:
    """The one file whose text the command prints; None for anything else."""
    if not analysis.parsable or analysis.flags or len(analysis.units) != 1 or analysis.redirects:
        return None
    unit = analysis.units[0]
    if unit.kind != "command" or unit.assignments or unit.program not in _PRINTERS or analysis.background:
        return None
    if files_read(unit.words, at_start=True) is None:
        return None
    files = [operand.word.text for operand in operands_of(_without_values(unit.words))]
    return files[0] if len(files) == 1 and files[0] not in {None, "-"} else None
