"""Searching file contents: the question, how ripgrep is asked, and how its answer is read. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

SearchMode = Literal["files_with_matches", "content", "count"]
LONGEST_LINE = 500


class BadPattern(ValueError):
    """The regular expression was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One search. ``excluded`` are globs never descended into."""

    pattern: str
    mode: SearchMode = "files_with_matches"
    ignore_case: bool = False
    only_matching: bool = False
    before: int = 0
    after: int = 0
    multiline: bool = False
    glob: str | None = None
    type: str | None = None
    excluded: tuple[str, ...] = (".git",)
    respect_ignore: bool = True


@dataclass(frozen=True, slots=True)
class Hit:
    """One printed line: a match, or context of one. ``offset`` is where its text starts in the file."""

    line: int
    offset: int
    text: bytes
    matches: bool
    column: int = 0


@dataclass(slots=True)
class FileHits:
    """All that was found in one file; ``path`` is relative to the folder searched."""

    path: str
    hits: list[Hit]
    count: int


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search, files in no order."""

    files: list[FileHits]
    cut: Literal["time", "size"] | None = None
    notice: str = ""


def ripgrep_arguments(search: Search, target: str) -> list[str]:
    """Return the argument vector that asks ripgrep for ``search`` in ``target``."""
    words = ["--null", "--hidden", "--no-require-git", "--color=never", *_mode_words(search)]
    if search.ignore_case:
        words.append("--ignore-case")
    if search.multiline:
        words += ["--multiline", "--multiline-dotall"]
    if not search.respect_ignore:
        words.append("--no-ignore")
    words += [f"--glob={glob}" for glob in _globs(search)]
    if search.type:
        words.append(f"--type={search.type}")
    return [*words, "--regexp", search.pattern, "--", target]


def listing_arguments(
    excluded: tuple[str, ...], *, respect_ignore: bool, type: str | None = None
) -> list[str]:
    """Return the argument vector that asks ripgrep for the files below its directory."""
    words = ["--files", "--null", "--hidden", "--no-require-git"]
    words += [] if respect_ignore else ["--no-ignore"]
    words += [f"--type={type}"] if type else []
    return [*words, *(f"--glob=!{name}" for name in excluded), "--", "."]


def _mode_words(search: Search) -> list[str]:
    if search.mode == "files_with_matches":
        return ["--files-with-matches"]
    if search.mode == "count":
        return ["--count", "--with-filename"]
    words = ["--no-heading", "--with-filename", "--line-number", "--byte-offset", "--column"]
    if search.only_matching:
        words.append("--only-matching")
    if search.before:
        words.append(f"--before-context={search.before}")
    if search.after:
        words.append(f"--after-context={search.after}")
    return words


def _globs(search: Search) -> list[str]:
    wanted = [search.glob] if search.glob else []
    return wanted + [f"!{name}" for name in search.excluded]


def read_answer(search: Search, out: bytes) -> list[FileHits]:
    """Read what ripgrep printed for ``search``."""
    if search.mode == "files_with_matches":
        return [FileHits(_path(name), [], 1) for name in out.split(b"\0") if name]
    if search.mode == "count":
        return _read_counts(out)
    return _read_lines(out)


def _read_counts(out: bytes) -> list[FileHits]:
    files = []
    for line in out.split(b"\n"):
        name, found, number = line.partition(b"\0")
        if found and number.isdigit():
            files.append(FileHits(_path(name), [], int(number)))
    return files


_MATCH = re.compile(rb"(\d+):(\d+):(\d+):")
_CONTEXT = re.compile(rb"(\d+)-(\d+)-")


def _read_lines(out: bytes) -> list[FileHits]:
    files: dict[bytes, FileHits] = {}
    for line in out.split(b"\n"):
        name, found, rest = line.partition(b"\0")
        if not found:
            continue
        file = files.get(name)
        if file is None:
            file = files[name] = FileHits(_path(name), [], 0)
        if hit := _read_hit(rest):
            file.hits.append(hit)
            file.count += hit.matches
    return list(files.values())


def _read_hit(rest: bytes) -> Hit | None:
    if match := _MATCH.match(rest):
        number, column, offset = (int(group) for group in match.groups())
        return Hit(number, offset, rest[match.end() :], True, column)
    if match := _CONTEXT.match(rest):
        number, offset = (int(group) for group in match.groups())
        return Hit(number, offset, rest[match.end() :], False)
    return None


def _path(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape").removeprefix("./")


def page(files: list[FileHits], offset: int, limit: int) -> list[tuple[FileHits, Hit]]:
    """Return the entries ``offset`` to ``offset + limit`` of all lines; a limit of 0 means all the rest."""
    taken: list[tuple[FileHits, Hit]] = []
    skip = offset
    for file in files:
        if skip >= len(file.hits):
            skip -= len(file.hits)
            continue
        room = len(file.hits) if limit == 0 else limit - len(taken)
        taken.extend((file, hit) for hit in file.hits[skip : skip + room])
        skip = 0
        if limit and len(taken) >= limit:
            break
    return taken


def shown(hit: Hit) -> str:
    """Return the text of a line, a window around the match when the line is long."""
    text = hit.text.rstrip(b"\r").decode("utf-8", "replace")
    if len(text) <= LONGEST_LINE:
        return text
    match = len(hit.text[: max(hit.column - 1, 0)].decode("utf-8", "replace"))  # columns count bytes
    start = max(0, match - LONGEST_LINE // 2)
    end = min(len(text), start + LONGEST_LINE)
    left = f"… (+{start}) " if start else ""
    right = f" … (+{len(text) - end})" if end < len(text) else ""
    return left + text[start:end] + right


def lines_text(entries: list[tuple[FileHits, Hit]], *, name: Callable[[str], str], numbers: bool) -> str:
    """Return ``path:line:text`` lines, ``-`` for context, and ``--`` between separate places."""
    out: list[str] = []
    previous: tuple[FileHits, Hit] | None = None
    context = any(not hit.matches for _, hit in entries)
    for file, hit in entries:
        if context and previous and (previous[0] is not file or hit.line > previous[1].line + 1):
            out.append("--")
        mark = ":" if hit.matches else "-"
        number = f"{hit.line}{mark}" if numbers else ""
        out.append(f"{name(file.path)}{mark}{number}{shown(hit)}")
        previous = (file, hit)
    return "\n".join(out)
