"""Searching a workspace: asks ripgrep where it is installed, pure Python where it is not.

Ripgrep walks by path, so a file could be swapped for a link to somewhere else while it runs. Nothing it
says is taken on trust: every line and file handed on is looked up again through a checked handle.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.workspaces.pattern_process import OutOfTime
from toolwright.workspaces.plain_search import list_files, search_plainly
from toolwright.workspaces.ripgrep import Run, run_ripgrep
from toolwright.workspaces.searching import (
    BadPattern,
    FileHits,
    Found,
    Hit,
    Search,
    listing_arguments,
    read_answer,
    ripgrep_arguments,
)

EXCLUDED = (".git", ".toolwright/sessions", ".toolwright/worktrees")
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Absolute paths, newest first."""

    paths: list[str]
    cut: Literal["time", "size"] | None = None


async def find_matches(workspace: Workspace, path: str, search: Search, *, program: str | None) -> Found:
    """Answer ``search`` below ``path`` (absolute). Files come newest first with absolute paths.

    ``program`` is the ``rg`` to ask; None searches in Python.
    May raise BadPattern and ToolFailure ``file_not_found``.
    """
    _refuse_nul(search)
    if program is None:
        found = await anyio.to_thread.run_sync(lambda: search_plainly(workspace, path, search))
        return await anyio.to_thread.run_sync(lambda: _arranged(workspace, path, found))
    with ExitStack() as stack:
        target, directory, handles = await anyio.to_thread.run_sync(lambda: _opened(workspace, path, stack))
        run = await run_ripgrep(
            program,
            ripgrep_arguments(search, target),
            directory=directory,
            handles=handles,
            seconds=SECONDS,
        )
        _refuse_bad_pattern(run)
        narrows = bool(run.out) and not handles and _overrules(search)
        beside = await _listing(program, search, directory=directory) if narrows else None
        return await anyio.to_thread.run_sync(lambda: _arranged(workspace, path, _read(search, run, beside)))


def _refuse_nul(search: Search) -> None:
    """No argument of a program can hold NUL; the search without one answers the same."""
    if "\0" in search.pattern:
        raise BadPattern("a pattern cannot hold NUL; write \\x00 to search for one")
    if "\0" in (search.glob or "") + (search.type or ""):
        raise BadPattern("a glob or file type cannot hold NUL")


def _overrules(search: Search) -> bool:
    """Whether the glob lets ripgrep find what ignore files or the type leave out."""
    widens = search.glob is not None and not search.glob.startswith("!")
    return widens and (search.respect_ignore or search.type is not None)


async def _listing(program: str, search: Search, *, directory: int) -> Run:
    """List the files that would be searched without the glob."""
    words = listing_arguments(search.excluded, respect_ignore=search.respect_ignore, type=search.type)
    return await run_ripgrep(program, words, directory=directory, seconds=SECONDS)


def _read(search: Search, run: Run, beside: Run | None) -> Found:
    """Read an answer of ripgrep, and keep what it lists besides, too. Takes a while for many megabytes."""
    files = read_answer(search, run.out)
    if beside is None:
        return Found(files, run.cut)
    names = beside.out.decode("utf-8", "surrogateescape").split("\0")
    listed = {name.removeprefix("./") for name in names}
    return Found([file for file in files if file.path in listed], run.cut or beside.cut)


def _opened(workspace: Workspace, path: str, stack: ExitStack) -> tuple[str, int, tuple[int, ...]]:
    """Open what is searched: a folder by its handle, a single file as a handle handed to the program."""
    info = workspace.info(path)
    if info is None:
        raise ToolFailure("file_not_found", f"Nothing is at {path}.")
    if info.kind == "directory":
        return ".", stack.enter_context(workspace.directory(path)), ()
    file = stack.enter_context(workspace.open(path))
    slash = os.open("/", os.O_PATH | os.O_DIRECTORY)
    stack.callback(os.close, slash)
    return f"/proc/self/fd/{file.fileno()}", slash, (file.fileno(),)


def _refuse_bad_pattern(run: Run) -> None:
    if run.code == 2 and run.err and not run.out:
        raise BadPattern(run.err.removeprefix("rg: "))


def _arranged(workspace: Workspace, path: str, found: Found) -> Found:
    """Make paths absolute, leave out what is hidden or no longer there, put the newest first."""
    below = path if path.endswith("/") else f"{path}/"
    files = [
        FileHits(path if _is_single(file) else below + file.path, file.hits, file.count)
        for file in found.files
    ]
    return replace(found, files=[files[place] for place in _newest_first(workspace, [f.path for f in files])])


def _is_single(file: FileHits) -> bool:
    """Whether a file was searched by its handle: then it is what was asked about itself."""
    return not file.path or file.path.startswith("/proc/self/fd/")


def _newest_first(workspace: Workspace, paths: Sequence[str]) -> list[int]:
    """The places of ``paths`` in the order of their files, without those hidden or gone. Blocking."""
    is_hidden, look = workspace.is_hidden, os.lstat  # one search may find ten thousand files
    place_of = workspace.on_disk if workspace.mounts else str
    dated: list[tuple[int, str, int]] = []
    for place, path in enumerate(paths):
        if is_hidden(path):
            continue
        try:
            dated.append((-look(place_of(path)).st_mtime_ns, path, place))
        except OSError:
            continue
    dated.sort()
    return [place for _, _, place in dated]


def verified(workspace: Workspace, entries: list[tuple[FileHits, Hit]]) -> list[tuple[FileHits, Hit]]:
    """Keep the lines that a checked handle finds at their place, too. Blocking."""
    kept: list[tuple[FileHits, Hit]] = []
    for path, lines in _by_file(entries):
        try:
            with workspace.open(path) as file:
                kept.extend(pair for pair in lines if _holds(file.fileno(), pair[1]))
        except ToolFailure:
            continue  # replaced by something that may not be read: not part of the answer
    return kept


def _by_file(entries: list[tuple[FileHits, Hit]]) -> Iterator[tuple[str, list[tuple[FileHits, Hit]]]]:
    start = 0
    for index in range(1, len(entries) + 1):
        if index == len(entries) or entries[index][0] is not entries[start][0]:
            yield entries[start][0].path, entries[start:index]
            start = index


def _holds(handle: int, hit: Hit) -> bool:
    mark = os.pread(handle, 3, 0)
    if mark[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        whole = os.pread(handle, 64 * 1024 * 1024, 0).decode("utf-16", "replace")
        return hit.text.decode("utf-8", "replace").rstrip("\r") in whole
    skip = 3 if mark == b"\xef\xbb\xbf" else 0
    wanted = hit.text
    return any(os.pread(handle, len(wanted), hit.offset + start) == wanted for start in {0, skip})


def existing(workspace: Workspace, files: list[FileHits]) -> list[FileHits]:
    """Keep the files that open as regular files inside the workspace. Blocking."""
    kept = []
    for file in files:
        try:
            with workspace.open(file.path):
                kept.append(file)
        except ToolFailure:
            continue  # see `verified`
    return kept


async def find_files(
    workspace: Workspace,
    path: str,
    expression: re.Pattern[str],
    *,
    program: str | None,
    respect_ignore: bool = True,
) -> FoundFiles:
    """Return the files below the folder ``path`` whose relative path matches ``expression``."""
    if program is None:
        return await anyio.to_thread.run_sync(
            lambda: _listed_plainly(workspace, path, expression, respect_ignore=respect_ignore)
        )
    words = listing_arguments(EXCLUDED, respect_ignore=respect_ignore)
    with ExitStack() as stack:
        directory = await anyio.to_thread.run_sync(lambda: stack.enter_context(workspace.directory(path)))
        run = await run_ripgrep(program, words, directory=directory, seconds=SECONDS)
    names = run.out.decode("utf-8", "surrogateescape")
    return await anyio.to_thread.run_sync(lambda: _selected(workspace, path, names, expression, run.cut))


def _selected(
    workspace: Workspace,
    path: str,
    names: str,
    expression: re.Pattern[str],
    cut: Literal["time", "size"] | None,
) -> FoundFiles:
    # One pass in the regex engine over all names at once: names are `./path`, ended by NUL.
    whole = re.compile(rf"(?:(?<=\0)|\A)\./((?:{expression.pattern})(?=\0))", re.DOTALL)
    paths = [os.path.join(path, match.group(1)) for match in whole.finditer(names)]
    return FoundFiles(_sorted(workspace, paths), cut)


def _sorted(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    return [paths[place] for place in _newest_first(workspace, paths)]


def _listed_plainly(
    workspace: Workspace, path: str, expression: re.Pattern[str], *, respect_ignore: bool
) -> FoundFiles:
    start = len(path.rstrip("/")) + 1
    found: list[str] = []
    cut: Literal["time"] | None = None
    files = list_files(
        workspace,
        path,
        excluded=EXCLUDED,
        respect_ignore=respect_ignore,
        deadline=time.monotonic() + SECONDS,
    )
    try:
        # `extend` keeps what came before the walk ran out of time.
        found.extend(file.path for file in files if expression.fullmatch(file.path[start:]))
    except OutOfTime:
        cut = "time"
    return FoundFiles(_sorted(workspace, found), cut)


__all__ = [
    "EXCLUDED",
    "BadPattern",
    "FoundFiles",
    "existing",
    "find_files",
    "find_matches",
    "verified",
]
