"""Searching and listing files without ripgrep: the same answers in pure Python, more slowly.

Blocking: runs in a thread. Folders are opened by handle and links are not followed.
"""

import re
import time
from collections.abc import Iterator
from typing import Literal

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileInfo, Workspace
from toolwright.workspaces.globs import compiled
from toolwright.workspaces.ignored import IgnoreFile, is_ignored, read_rules
from toolwright.workspaces.pattern_process import OutOfTime, PatternProcess
from toolwright.workspaces.searching import BadPattern, FileHits, Found, Hit, Search

MOST_FILE_BYTES = 64 * 1024 * 1024
NOTICE = "ripgrep is not installed: Python's regular expressions were used instead of Rust's."

TYPES = {
    "py": "*.{py,pyi}",
    "js": "*.{js,jsx,mjs,cjs,vue}",
    "ts": "*.{ts,tsx,mts,cts}",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.{java,jsp}",
    "c": "*.{c,h}",
    "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}",
    "md": "*.{md,markdown,mdx}",
    "json": "*.json",
    "yaml": "*.{yaml,yml}",
    "toml": "*.toml",
    "html": "*.{html,htm}",
    "css": "*.{css,scss}",
    "sh": "*.{sh,bash,zsh}",
    "sql": "*.sql",
    "txt": "*.txt",
}


def list_files(
    workspace: Workspace, folder: str, *, excluded: tuple[str, ...], respect_ignore: bool, deadline: float
) -> Iterator[FileInfo]:
    """Yield the regular files below ``folder``. Raises OutOfTime after ``deadline`` (monotonic)."""
    pending: list[tuple[str, str, tuple[IgnoreFile, ...]]] = [(folder, "", ())]
    while pending:
        if time.monotonic() > deadline:
            raise OutOfTime
        here, relative, ignores = pending.pop()
        try:
            entries = sorted(workspace.entries(here), key=lambda entry: entry.path)
        except ToolFailure:
            continue  # gone or replaced while walking: not part of the answer
        if respect_ignore:
            ignores = _with_own_rules(workspace, entries, relative, ignores)
        for entry in entries:
            name = entry.path.rsplit("/", 1)[-1]
            inner = f"{relative}/{name}" if relative else name
            is_folder = entry.kind == "directory"
            if name in excluded or inner in excluded or is_ignored(inner, is_folder=is_folder, files=ignores):
                continue
            if is_folder:
                pending.append((entry.path, inner, ignores))
            elif entry.kind == "file":
                yield entry


def _with_own_rules(
    workspace: Workspace, entries: list[FileInfo], relative: str, ignores: tuple[IgnoreFile, ...]
) -> tuple[IgnoreFile, ...]:
    for entry in entries:
        if entry.path.rsplit("/", 1)[-1] in {".gitignore", ".ignore", ".rgignore"} and entry.kind == "file":
            try:
                with workspace.open(entry.path) as file:
                    text = file.read(1024 * 1024).decode("utf-8", "replace")
            except ToolFailure:
                continue  # an ignore file that may not be read ignores nothing
            ignores = (*ignores, IgnoreFile(relative, read_rules(text)))
    return ignores


def search_plainly(workspace: Workspace, target: str, search: Search, *, seconds: float = 20.0) -> Found:
    """Answer ``search`` for a file or folder given as absolute path. May raise BadPattern and ToolFailure."""
    deadline = time.monotonic() + seconds
    info = workspace.info(target)
    found: list[FileHits] = []
    cut: Literal["time", "size"] | None = None
    try:
        with PatternProcess(search, deadline) as pattern:
            for path, relative in _candidates(workspace, target, search, info, deadline):
                if hits := _search_file(workspace, path, relative, search, pattern):
                    found.append(hits)
                if time.monotonic() > deadline:
                    raise OutOfTime
    except OutOfTime:
        cut = "time"
    return Found(found, cut, NOTICE)


def _candidates(
    workspace: Workspace, target: str, search: Search, info: FileInfo | None, deadline: float
) -> Iterator[tuple[str, str]]:
    if info is None:
        raise ToolFailure("file_not_found", f"Nothing is at {target}.")
    if info.kind == "file":
        yield target, ""
        return
    globs = tuple(text for text in (search.glob, _type_glob(search.type)) if text)
    wanted = [(compiled((glob.removeprefix("!"),)), not glob.startswith("!")) for glob in globs]
    files = list_files(
        workspace, target, excluded=search.excluded, respect_ignore=search.respect_ignore, deadline=deadline
    )
    for file in files:
        relative = file.path[len(target.rstrip("/")) + 1 :]
        if all(bool(expression.fullmatch(relative)) is fits for expression, fits in wanted):
            yield file.path, relative


def _type_glob(name: str | None) -> str | None:
    if name is not None and name not in TYPES:
        raise BadPattern(f"unknown file type {name!r}; without ripgrep these are known: {', '.join(TYPES)}")
    return TYPES[name] if name else None


def _search_file(
    workspace: Workspace, path: str, relative: str, search: Search, pattern: PatternProcess
) -> FileHits | None:
    try:
        with workspace.open(path) as file:
            data = file.read(MOST_FILE_BYTES)
    except ToolFailure:
        return None  # not a regular file, or gone
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data[:8192]:
        return None
    if search.mode == "files_with_matches":
        return FileHits(relative, [], 1) if pattern.found(data) else None
    return _matching_lines(data, relative, search, pattern.spans(data))


def _matching_lines(
    data: bytes, relative: str, search: Search, spans: list[tuple[int, int]]
) -> FileHits | None:
    if not spans:
        return None
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    if starts[-1] == len(data):
        starts.pop()
    matches = _by_line(starts, spans)
    if search.mode == "count":
        return FileHits(relative, [], len(matches))
    if search.only_matching:
        hits = [
            Hit(line + 1, start, data[start:end], True, start - starts[line] + 1)
            for line, spans in matches.items()
            for start, end in spans
        ]
        return FileHits(relative, hits, len(hits))
    return FileHits(relative, _with_context(data, starts, matches, search), len(matches))


def _by_line(starts: list[int], spans: list[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Sort matches under the lines they begin in; lines that they go on into match, too."""
    by_line: dict[int, list[tuple[int, int]]] = {}
    line = 0
    for start, end in spans:
        while line + 1 < len(starts) and starts[line + 1] <= start:
            line += 1
        by_line.setdefault(line, []).append((start, end))
        last = line
        while last + 1 < len(starts) and starts[last + 1] < end:
            last += 1
            by_line.setdefault(last, [])
    return by_line


def _with_context(
    data: bytes, starts: list[int], matches: dict[int, list[tuple[int, int]]], search: Search
) -> list[Hit]:
    wanted: set[int] = set()
    for line in matches:
        wanted.update(range(max(0, line - search.before), min(len(starts), line + search.after + 1)))
    hits = []
    for line in sorted(wanted):
        start = starts[line]
        end = starts[line + 1] - 1 if line + 1 < len(starts) else len(data)
        spans = matches.get(line)
        column = spans[0][0] - start + 1 if spans else 0
        hits.append(Hit(line + 1, start, data[start:end].rstrip(b"\n"), line in matches, column))
    return hits
