"""Which files a recognised program would reach, read from its arguments."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from toolwright.shell.scripts import SHELLS
from toolwright.shell.sed import edits_in_place, sed_parts
from toolwright.shell.units import Word, value_of
from toolwright.shell.wrappers import program_name

FileAccess = Literal["read", "write", "create", "delete"]


@dataclass(frozen=True, slots=True)
class Operand:
    word: Word
    access: FileAccess


READERS = frozenset({
    "cat", "head", "tail", "wc", "stat", "du", "df", "nl", "cut", "paste", "tr", "comm", "cmp", "tac",
    "rev", "realpath", "readlink", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "b2sum",
    "grep", "egrep", "fgrep", "diff", "od", "strings", "fold", "column", "ls", "uniq", "file", "find",
    "sort", "rg", "tree", "sed", "cd", "less", "more", "most", "xxd", "hexdump", "hd", "base64", "base32",
    "awk", "gawk", "mawk", "nawk", "bat", "batcat", "zcat", "bzcat", "xzcat", "zless", "zgrep", "gzip",
    "gunzip", "bzip2", "xz", "zstd", "jq", "yq", "vi", "vim", "nvim", "nano", "emacs", "view", "ed", "ex",
    "source", ".", "fmt", "pr", "expand", "unexpand", "shuf", "split", "csplit", "join", "look", "iconv",
    "ag", "ack", "dd", "tar", "zip", "cpio", "scp", "rsync", "pandoc", "open", "xdg-open",
})  # fmt: skip
_PATTERN_FIRST = frozenset({
    "grep", "egrep", "fgrep", "rg", "zgrep", "ag", "ack", "awk", "gawk", "mawk", "nawk", "sed", "jq",
    "yq", "tr",
})  # fmt: skip
"""Programs whose first operand is no file, unless an option already gave it."""
_PATTERN_OPTIONS = ("-e", "-f", "--regexp", "--file", "--expression", "--files")
_WRITERS: dict[str, FileAccess] = {
    "tee": "write", "touch": "create", "mkdir": "create", "truncate": "write", "chmod": "write",
    "chown": "write", "chgrp": "write", "rm": "delete", "rmdir": "delete", "unlink": "delete",
    "shred": "delete", "mkfifo": "create", "mknod": "create", "setfacl": "write", "chattr": "write",
}  # fmt: skip
_COPIERS = frozenset({
    "cp", "mv", "ln", "install", "rsync", "scp",
})  # fmt: skip
_FIND_VALUES = frozenset({
    "-newer", "-anewer", "-cnewer", "-samefile",
})  # fmt: skip


def operands_of(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    """The files a command names, as far as its program is known. More are named rather than fewer."""
    name = program_name(words)
    if name in _WRITERS:
        return tuple(Operand(word, _WRITERS[name]) for word in _plain(words))
    if name in _COPIERS:
        return _copied(words)
    if name == "sed":
        return _edited(words)
    if name == "find":
        return _searched(words)
    if name == "dd":
        return _named_by_prefix(words)
    if name == "git":
        return _versioned(words)
    if name in READERS or name in SHELLS:
        return _read(name, words)
    return ()


def _plain(words: tuple[Word, ...]) -> list[Word]:
    """The words that are no options."""
    found: list[Word] = []
    options = True
    for word in words[1:]:
        if options and word.text == "--":
            options = False
        elif not options or not word.shape.startswith("-") or word.text == "-":
            found.append(word)
    return found


def _read(name: str, words: tuple[Word, ...]) -> tuple[Operand, ...]:
    plain = _plain(words)
    given = any(word.shape.startswith(_PATTERN_OPTIONS) for word in words[1:])
    if name in _PATTERN_FIRST and not given:
        plain = plain[1:]
    found = [Operand(word, "read") for word in (*plain, *_attached_values(words))]
    if name == "sort":
        outputs = [value for option, value in pairwise(words) if option.text in {"-o", "--output"}]
        found.extend(Operand(word, "write") for word in outputs)
    if name == "uniq" and len(plain) > 1:
        found.append(Operand(plain[-1], "write"))
    return tuple(found)


def _attached_values(words: tuple[Word, ...]) -> list[Word]:
    """The values of ``--option=value``."""
    return [value_of(word) for word in words[1:] if word.shape.startswith("--") and "=" in word.shape]


def _copied(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    moves = program_name(words) == "mv"
    plain = [*_plain(words), *_attached_values(words)]
    if any(word.shape.startswith(("-t", "--target")) for word in words[1:]):
        return tuple(Operand(word, access) for word in plain for access in _BOTH)
    *sources, target = plain or [words[0]]
    found = [Operand(word, "read") for word in sources]
    if moves:
        found.extend(Operand(word, "delete") for word in sources)
    found.append(Operand(target, "write"))
    found.extend(Operand(_below(target, source), "write") for source in sources)
    return tuple(found)


_BOTH: tuple[FileAccess, ...] = ("read", "write")


def _below(target: Word, source: Word) -> Word:
    """Where a file lands when the target is a directory."""
    if target.text is None or source.text is None:
        return target
    name = source.text.rstrip("/").rsplit("/", 1)[-1]
    text = f"{target.text.rstrip('/') or '/'}/{name}"
    return Word(target.source, text, text, text)


def _edited(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    parts = sed_parts(words)
    files = parts[1] if parts is not None else tuple(_plain(words)[1:])
    found = [Operand(word, "read") for word in files]
    if edits_in_place(words):
        found.extend(Operand(word, "write") for word in (files if parts is not None else _plain(words)))
    return tuple(found)


def _searched(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    found: list[Word] = []
    expression = False
    for before, word in pairwise(words):
        text = word.shape
        expression = expression or (text.startswith(("-", "(", "!", ")")) and text not in {"-H", "-L", "-P"})
        if not expression or before.text in _FIND_VALUES or (before.text or "").startswith("-newer"):
            found.append(word)
    removes = any(word.text == "-delete" for word in words)
    access: tuple[FileAccess, ...] = ("read", "delete") if removes else ("read",)
    return tuple(Operand(word, kind) for word in found if not word.shape.startswith("-") for kind in access)


def _named_by_prefix(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    found: list[Operand] = []
    for word in words[1:]:
        for prefix, access in _DD.items():
            if word.shape.startswith(prefix):
                text = word.text[len(prefix) :] if word.text is not None else None
                rest = Word(
                    word.source, text, word.shape[len(prefix) :], word.spelled[len(prefix) :], word.kinds
                )
                found.append(Operand(rest, access))
    return tuple(found)


_DD: dict[str, FileAccess] = {"if=": "read", "of=": "write"}
_GIT_READERS = frozenset({
    "diff", "show", "cat-file", "blame", "log", "grep", "annotate", "archive",
})  # fmt: skip


def _versioned(words: tuple[Word, ...]) -> tuple[Operand, ...]:
    """Files git prints; ``revision:path`` names one too."""
    if len(words) < 2 or words[1].text not in _GIT_READERS:
        return ()
    found: list[Operand] = []
    for word in (*_plain(words)[1:], *_attached_values(words)):
        found.append(Operand(word, "read"))
        if word.text is not None and ":" in word.text:
            text = word.text.rsplit(":", 1)[1]
            found.append(Operand(Word(word.source, text, text, text), "read"))
    return tuple(found)
