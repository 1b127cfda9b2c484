"""Ask git about a repository, with everything off that could make it run something else."""

import posixpath
import re
from typing import Final

import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.tools.commands.following import ended_with_call
from toolwright.tools.commands.printed import plain, shortened
from toolwright.tools.commands.setup import CommandSetup

HARDENED: Final = (
    "git",
    "--no-optional-locks",
    "--no-pager",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "gpg.program=false",
    "-c", "log.showSignature=false",
    "-c", "diff.external=",
    "-c", "protocol.allow=never",
    "-c", "safe.directory=*",
)  # fmt: skip
_REF: Final = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_./@{}^~+:-]{0,249}")
_WITHIN: Final = 30.0


def checked_ref(ref: str) -> str:
    """A name of a commit as git writes them. May raise ToolFailure."""
    if not _REF.fullmatch(ref):
        raise ToolFailure(
            "validation_failed",
            f"{ref!r} is not the name of a commit.",
            hint="Give a branch, a tag, a hash, or such as `HEAD~3` or `main..feature`.",
        )
    return ref


async def repository_of(workspace: Workspace) -> Workspace:
    """The workspace standing in a repository: the working directory's, else the first root's that is one."""
    found = await anyio.to_thread.run_sync(_repository_folder, workspace)
    if found is None:
        raise ToolFailure("file_not_found", "There is no git repository in the workspace.")
    return workspace if found == workspace.cwd else workspace.with_cwd(found)


def _repository_folder(workspace: Workspace) -> str | None:
    return next((folder for folder in _folders(workspace) if _is_repository(workspace, folder)), None)


def _folders(workspace: Workspace) -> list[str]:
    folders = []
    folder = workspace.cwd
    while workspace.contains(folder):
        folders.append(folder)
        folder = posixpath.dirname(folder)
    return [*folders, *workspace.roots]


def _is_repository(workspace: Workspace, folder: str) -> bool:
    try:
        return workspace.info(posixpath.join(folder, ".git")) is not None
    except ToolFailure:
        return False


async def answered(setup: CommandSetup, repository: Workspace, arguments: tuple[str, ...]) -> bytes:
    """What git printed. May raise ToolFailure when it fails, prints too much or takes too long."""
    command = setup.reading_command(repository, (*HARDENED, *arguments))
    process = await setup.sandbox.start(command)
    async with ended_with_call(process):
        with anyio.fail_after(_WITHIN):
            end = await process.wait()
    if end.code:
        said = shortened(plain(process.errors()).strip(), 1000)
        raise ToolFailure("command_failed", said or f"git ended with exit code {end.code}.")
    if end.dropped_bytes:
        raise ToolFailure(
            "output_limit", "git printed too much.", hint="Ask about one path or fewer commits."
        )
    return process.output()
