"""Git commands that only read."""

from toolwright.shell.operands import operands_of
from toolwright.shell.units import Word

_READING = frozenset({
    "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "cat-file", "describe", "blame",
    "shortlog", "merge-base", "for-each-ref", "name-rev",
})  # fmt: skip
_REFUSED = (
    "--output", "--ext-diff", "--textconv", "--exec", "--upload-pack", "--receive-pack",
    "--open-files-in-pager", "--no-index", "--output-directory", "--contents", "--ignore-revs-file",
    "--exclude-from", "--exclude-per-directory", "--filters", "--batch-command",
)  # fmt: skip
_REFUSED_SHORT = ("-O", "-X")
_BRANCH_LISTING = frozenset({
    "-a", "-r", "-v", "-vv", "-l", "--all", "--remotes", "--verbose", "--list", "--show-current",
    "--merged", "--no-merged", "--no-color", "--color", "--ignore-case", "--no-column",
})  # fmt: skip


def git_reads(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The files a git command may print, or None when it may do more than read."""
    rest = words[1:]
    if not all(word.literal for word in words):
        return None
    if rest and rest[0].text == "--no-pager":
        rest = rest[1:]
    if not rest:
        return None
    arguments = [word.text or "" for word in rest[1:]]
    match rest[0].text:
        case "branch":
            listing = all(argument in _BRANCH_LISTING for argument in arguments)
            return () if listing else None
        case "remote":
            return () if arguments in ([], ["-v"], ["--verbose"]) else None
        case "stash":
            return () if arguments == ["list"] else None
        case name if name in _READING:
            if any(_refused(argument) for argument in arguments):
                return None
            return tuple(operand.word for operand in operands_of((words[0], _shown(rest[0]), *rest[1:])))
        case _:
            return None


def _shown(name: Word) -> Word:
    """Every reading sub-command names its files as ``show`` does."""
    return Word(name.source, "show", "show", "show")


def _refused(argument: str) -> bool:
    if argument.startswith("--") and len(argument) > 2:
        name = argument.partition("=")[0]
        return any(option.startswith(name) for option in _REFUSED)
    return argument.startswith(_REFUSED_SHORT)
