"""Commands that only read: which programs, which of their options are refused, which files they name."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from toolwright.shell.git_read_only import git_reads
from toolwright.shell.operands import operands_of
from toolwright.shell.sed import prints_a_range, sed_parts
from toolwright.shell.units import Dynamic, Word, plain_word


@dataclass(frozen=True, slots=True)
class Reader:
    """One program: letters refused in any cluster, long options refused with all abbreviations, and whether
    its arguments name files."""

    short: str = ""
    long: tuple[str, ...] = ()
    files: bool = True


_TALKERS = [
    "pwd", "whoami", "true", "false", ":", "basename", "dirname", "id", "uname", "nproc", "groups",
    "arch", "seq", "expr", "sleep", "tty", "echo",
]  # fmt: skip
_PLAIN_READERS = [
    "head", "tail", "stat", "df", "nl", "cut", "paste", "tr", "comm", "cmp", "tac", "realpath",
    "readlink", "od", "strings", "fold", "rev",
]  # fmt: skip
_SUMS = [
    "md5sum", "sha1sum", "sha256sum", "cksum",
]  # fmt: skip
_GREPS = [
    "grep", "egrep", "fgrep",
]  # fmt: skip

READERS: dict[str, Reader] = {
    **{name: Reader(files=False) for name in _TALKERS},
    **{name: Reader() for name in _PLAIN_READERS},
    **{name: Reader("c", ("--check",)) for name in _SUMS},
    **{name: Reader("fR", ("--file", "--exclude-from", "--dereference-recursive")) for name in _GREPS},
    "printf": Reader("v", files=False),
    "which": Reader("is", ("--read-alias", "--read-functions"), files=False),
    "cat": Reader(),
    "ls": Reader(),
    "wc": Reader("", ("--files0-from",)),
    "du": Reader("LX", ("--files0-from", "--exclude-from", "--dereference")),
    "diff": Reader("XS", ("--exclude-from", "--from-file", "--to-file", "--starting-file")),
    "column": Reader(),
    "file": Reader("mfC", ("--magic-file", "--files-from", "--compile")),
    "sort": Reader("oT", ("--output", "--compress-program", "--temporary-directory", "--files0-from")),
    "rg": Reader("zfL", ("--pre", "--pre-glob", "--hostname-bin", "--search-zip", "--file", "--ignore-file",
                         "--follow")),
    "tree": Reader("olR", ("--output", "--fromfile", "--fromtabfile", "--infofile", "--gitfile")),
}  # fmt: skip
"""Programs whose arguments follow the ordinary rules for options."""

_FIND_REFUSED = frozenset({
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
    "-files0-from", "-follow", "-L", "-H",
})  # fmt: skip
_DATE = re.compile(
    r"\+.*|-[uR]|-I.*|--utc|--universal|--rfc-(?:email|3339=.*)|--iso-8601(?:=.*)?|--date=.*", re.DOTALL
)
_TEST_FILES = frozenset({
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-h", "-L",
})  # fmt: skip
_LITERALS = frozenset({Dynamic.STATUS})

Files = tuple[Word, ...]
"""The files a command reads; the permission rules judge them."""


def files_read(words: tuple[Word, ...], *, at_start: bool) -> Files | None:
    """The files read by a command that only reads, or None when it may do more.

    ``at_start`` says that it runs in the directory where the command line started.
    """
    if not words or words[0].text is None:
        return None
    name = words[0].text
    if name in READERS:
        return _ordinary(words, READERS[name])
    if name == "git":
        return git_reads(words) if at_start else None
    special = _SPECIAL.get(name)
    return special(words) if special is not None else None


def _ordinary(words: tuple[Word, ...], reader: Reader) -> Files | None:
    harmless = _LITERALS if not reader.files else frozenset()
    if not all(word.kinds <= harmless for word in words[1:]):
        return None
    options = words[0].text not in {"echo", "true", "false", ":", "expr", "seq", "sleep"}
    if options and any(refused(word, reader.short, reader.long) for word in _options(words)):
        return None
    if not reader.files:
        return ()
    return tuple(operand.word for operand in operands_of(words))


def _options(words: tuple[Word, ...]) -> Iterable[Word]:
    """Words that may be options. ``--`` behind an option may be the value of it and end nothing."""
    for before, word in pairwise(words):
        if word.text == "--" and not before.shape.startswith("-"):
            return
        if word.shape.startswith("-"):
            yield word


def refused(word: Word, short: str, long: tuple[str, ...]) -> bool:
    """Whether an option is refused: by name, by abbreviation, or inside a cluster of letters."""
    text = word.shape
    if text.startswith("--"):
        name = text.partition("=")[0]
        return any(option.startswith(name) for option in long)
    return any(letter in short for letter in text[1:])


def _uniq(words: tuple[Word, ...]) -> Files | None:
    operands = operands_of(words)
    if not _literal(words) or any(operand.access != "read" for operand in operands):
        return None
    return tuple(operand.word for operand in operands)


def _cd(words: tuple[Word, ...]) -> Files | None:
    operands = [word for word in words[1:] if word.text not in {"--", "-L", "-P"}]
    if not _literal(words) or len(operands) > 1:
        return None
    target = operands[0] if operands else plain_word("~")
    return None if (target.text or "-").startswith("-") else (target,)


def _find(words: tuple[Word, ...]) -> Files | None:
    if not _literal(words) or any(word.text in _FIND_REFUSED for word in words[1:]):
        return None
    if any(word.shape.startswith("-") and "files0" in word.shape for word in words[1:]):
        return None
    files = tuple(operand.word for operand in operands_of(words))
    return files or (plain_word("."),)


def _sed(words: tuple[Word, ...]) -> Files | None:
    parts = sed_parts(words)
    if parts is None or not _literal(words) or [word.text for word in words[1:2]] != ["-n"]:
        return None
    if any(word.shape.startswith("-") for word in words[2:]) or not all(map(prints_a_range, parts[0])):
        return None
    return parts[1]


def _date(words: tuple[Word, ...]) -> Files | None:
    place = 1
    while place < len(words):
        text = words[place].text
        if text == "-d" and place + 1 < len(words) and words[place + 1].literal:
            place += 2
        elif text is not None and _DATE.fullmatch(text):
            place += 1
        else:
            return None
    return ()


def _test(words: tuple[Word, ...]) -> Files | None:
    """Only ``[ -f file ]`` and its like: other operators may evaluate what they are given."""
    texts = [word.text for word in words[1:] if word.text not in {"]", "]]"}]
    if texts[:1] == ["!"]:
        texts = texts[1:]
    if len(texts) != 2 or texts[0] not in _TEST_FILES or texts[1] is None:
        return None
    return (plain_word(texts[1]),)


def _command(words: tuple[Word, ...]) -> Files | None:
    """``command -v name`` prints where a program is."""
    return () if _literal(words) and [word.text for word in words[1:2]] in (["-v"], ["-V"]) else None


def _literal(words: tuple[Word, ...]) -> bool:
    return all(word.literal for word in words)


_SPECIAL: dict[str, Callable[[tuple[Word, ...]], Files | None]] = {
    "uniq": _uniq,
    "cd": _cd,
    "find": _find,
    "sed": _sed,
    "date": _date,
    "test": _test,
    "[": _test,
    "[[": _test,
    "command": _command,
}
