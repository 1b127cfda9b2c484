"""Second places in which a repository is checked out, for agents that work beside others."""

import os
import shutil
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread

from toolwright.contracts.children import Worktree
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Sandbox
from toolwright.tools.commands.following import ended_with_call
from toolwright.tools.commands.git import HARDENED
from toolwright.tools.commands.printed import plain, shortened
from toolwright.tools.commands.setup import PLACE_FOR_TEMPORARY, SYSTEM_PATH, protected_in

FOLDER: Final = os.path.join(".toolwright", "worktrees")
_BRANCH: Final = "toolwright/{}"
_WITHIN: Final = 100.0
_ENV: Final = {
    "PATH": SYSTEM_PATH,
    "HOME": PLACE_FOR_TEMPORARY,
    "LANG": "C.UTF-8",
    "GIT_TERMINAL_PROMPT": "0",
}


class GitWorktrees:
    """Work trees of git below ``.toolwright/worktrees`` of a project, each on a branch of its own.

    Git runs locked in: it may write the new folder and its own one, without what it would obey later.
    """

    def __init__(self, sandbox: Callable[[], Sandbox]) -> None:
        """``sandbox`` is asked for when there is something to run."""
        self._sandbox = sandbox

    async def made(self, project: str, name: str) -> Worktree:
        """Make one, or find the one of this name. May raise ToolFailure."""
        repository = await anyio.to_thread.run_sync(_repository_of, project)
        base = (await self._git(project, repository, ("rev-parse", "--verify", "HEAD"))).strip()
        path, branch = os.path.join(project, FOLDER, name), _BRANCH.format(name)
        tree = Worktree(path=path, branch=branch, base=base, repository=repository)
        await self.restored(project, tree)
        return tree

    async def restored(self, project: str, tree: Worktree) -> None:
        """See that one that was taken away is there again. May raise ToolFailure."""
        if await _is_there(os.path.join(tree.path, ".git")):
            return
        await anyio.to_thread.run_sync(_make_folder, tree.path)
        known = await self._knows(project, tree)
        start = (tree.path, tree.branch) if known else ("-b", tree.branch, tree.path, tree.base)
        await self._git(project, tree.repository, ("worktree", "add", "--force", *start), into=tree.path)

    async def given_back(self, project: str, tree: Worktree) -> bool:
        """Take one away unless it holds changes; return whether it stays. What cannot be told stays."""
        if not await _is_there(tree.path):
            return False
        try:
            if await self._is_changed(tree):
                return True
            await anyio.to_thread.run_sync(shutil.rmtree, tree.path)
            await self._git(project, tree.repository, ("worktree", "remove", "--force", tree.path))
            await self._git(project, tree.repository, ("branch", "-D", tree.branch))
        except (ToolFailure, OSError):
            return await _is_there(tree.path)
        return False

    async def _is_changed(self, tree: Worktree) -> bool:
        status = ("status", "--porcelain", "--untracked-files=normal")
        if (await self._git(tree.path, tree.repository, status, changes=False)).strip():
            return True
        count = ("rev-list", "--count", f"{tree.base}..HEAD")
        return (await self._git(tree.path, tree.repository, count, changes=False)).strip() != "0"

    async def _knows(self, project: str, tree: Worktree) -> bool:
        try:
            wanted = ("rev-parse", "--verify", "--quiet", f"refs/heads/{tree.branch}")
            return bool(await self._git(project, tree.repository, wanted, changes=False))
        except ToolFailure:
            return False

    async def _git(
        self,
        folder: str,
        repository: str,
        arguments: tuple[str, ...],
        *,
        into: str = "",
        changes: bool = True,
    ) -> str:
        """Return what git printed. May raise ToolFailure when it fails or takes too long."""
        writable = tuple(place for place in (repository, into) if place) if changes else ()
        command = Command(
            argv=(*HARDENED, *arguments),
            cwd=folder,
            env=_ENV,
            writable=writable,
            readable=tuple(place for place in (folder, repository) if place not in writable),
            protected=protected_in(repository) if changes else (),
            merge_stderr=False,
        )
        process = await self._sandbox().start(command)
        async with ended_with_call(process):
            with anyio.move_on_after(_WITHIN):
                end = await process.wait()
                if end.code == 0:
                    return plain(process.output())
                said = shortened(plain(process.errors()).strip(), 1000)
                raise ToolFailure("command_failed", said or f"git ended with exit code {end.code}.")
        raise ToolFailure("timeout", f"git {arguments[0]} took more than {_WITHIN:g} s.")


async def _is_there(path: str) -> bool:
    return await anyio.to_thread.run_sync(os.path.lexists, path)


def _repository_of(project: str) -> str:
    repository = os.path.join(project, ".git")
    if os.path.islink(repository) or not os.path.isdir(repository):
        raise ToolFailure(
            "unsupported",
            f"{project} is not the top of a git repository, so no work tree can be made of it.",
            hint="Start the agent without isolation.",
        )
    return repository


def _make_folder(path: str) -> None:
    above = os.path.dirname(path)
    os.makedirs(path, mode=0o700, exist_ok=True)
    ignoring = os.path.join(above, ".gitignore")
    if not os.path.lexists(ignoring):
        with open(ignoring, "x", encoding="utf-8") as file:
            file.write("*\n")
