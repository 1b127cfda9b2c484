"""What all tools that change files share: loading, the rule to read before writing, saving."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.ports import FileVersion, ReadMark, Workspace
from toolwright.tools.services import Services
from toolwright.workspaces.files import version_of
from toolwright.workspaces.text import SNIFFED, UTF8, TextFile, decoded, looks_binary

LARGEST_EDITED = 50 * 1024 * 1024

ReadRule = Literal["always", "when_readable_without_prompt", "never"]
_RULES: tuple[ReadRule, ...] = get_args(ReadRule)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as it is on disk now."""

    path: str
    data: bytes
    version: FileVersion
    mode: int
    file: TextFile


def read_rule(services: Services, options: Mapping[str, Any]) -> ReadRule:
    """The setting ``read_before_write`` of the section ``files``, or the option of that name."""
    given = options.get("read_before_write", services.settings.get("files", {}).get("read_before_write"))
    if given is None:
        return "when_readable_without_prompt"
    for rule in _RULES:
        if given == rule:
            return rule
    raise SettingsError(f"read_before_write is one of {', '.join(_RULES)}, not {given!r}.")


def target(workspace: Workspace, path: str) -> str:
    """The absolute path of a file to change. Raises ToolFailure when it may not even be read."""
    whole = workspace.absolute(path)
    if workspace.is_hidden(whole):
        raise ToolFailure("permission_denied", f"{whole} may not be read, so it may not be written either.")
    return whole


def load(workspace: Workspace, path: str) -> Loaded | None:
    """Read a whole file for changing; None when there is none. Raises ToolFailure."""
    info = workspace.info(path)
    if info is None:
        return None
    if info.size > LARGEST_EDITED:
        raise ToolFailure(
            "file_too_large",
            f"{path} has {info.size:,} bytes; files of up to {LARGEST_EDITED:,} can be changed.",
        )
    with workspace.open(path) as file:
        data = file.read()
        version = version_of(file.info, data)
    text = TextFile("", UTF8) if looks_binary(data[:SNIFFED]) else decoded(data)
    return Loaded(path, data, version, info.mode, text)


def require_read(workspace: Workspace, loaded: Loaded, rule: ReadRule, *, whole: bool) -> bool:
    """Insist that the session has read the file; tell whether it is still the version that was read.

    Raises ToolFailure ``not_read_yet``. With ``whole`` a part does not count, whatever the rule.
    """
    mark = workspace.read_state.get(loaded.path)
    if mark is None:
        if rule == "never" or (rule != "always" and not workspace.contains(loaded.path)):
            return True
        raise _not_read(f"{loaded.path} exists and has not been read yet.")
    if whole and not mark.whole:
        raise _not_read(f"{loaded.path} has been read only in part.")
    return mark.version.sha256 == loaded.version.sha256


def _not_read(message: str) -> ToolFailure:
    return ToolFailure("not_read_yet", message, hint="Read the whole file first, then try again.")


def changed(path: str) -> ToolFailure:
    return ToolFailure(
        "file_changed", f"{path} has changed on disk since it was read.", hint="Read it again first."
    )


def save(
    workspace: Workspace,
    path: str,
    data: bytes,
    *,
    before: Loaded | None,
    known: bool,
    mode: int | None = None,
) -> None:
    """Write a file over the version that was loaded, and remember what the session knows of it now.

    ``known``: the model gave the whole content. Else it knows the whole only if it knew the version before.
    """
    info = workspace.write(path, data, expected=before.version if before else None, mode=mode)
    mark = workspace.read_state.get(path)
    same = mark is not None and before is not None and mark.version.sha256 == before.version.sha256
    whole = known or (same and mark is not None and mark.whole)
    workspace.read_state.put(path, ReadMark(version_of(info, data), whole=whole))


async def checked(plan: Callable[..., object], *arguments: Any) -> None:
    """Work out in a thread whether a call makes sense, doing nothing.

    Places outside the workspace and hidden ones are no objection: whether they may be reached is decided
    later, and the work itself plans once more.
    """
    import anyio.to_thread

    try:
        await anyio.to_thread.run_sync(partial(plan, *arguments))
    except ToolFailure as failure:
        if failure.code not in {"path_outside_workspace", "permission_denied"}:
            raise
