"""Names close to one that does not exist."""

import posixpath
from difflib import get_close_matches
from itertools import islice

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.workspaces.names import printable

MOST_NAMES = 3
_LOOKED_AT = 5000


def require_folder(workspace: Workspace, path: str) -> None:
    """Insist that a folder is at an absolute path. Raises ToolFailure that says what is there instead."""
    info = workspace.info(path)
    if info is None:
        raise missing(workspace, path)
    if info.kind != "directory":
        hint = f"Give the folder it is in: {posixpath.dirname(path)}."
        raise ToolFailure("not_a_directory", f"{path} is not a folder.", hint=hint)


def missing(workspace: Workspace, path: str) -> ToolFailure:
    """The failure for a file that is not there, with the names that may have been meant."""
    near = _near(workspace, path)
    hint = "Did you mean " + " or ".join(near) + "?" if near else f"The working directory is {workspace.cwd}."
    return ToolFailure("file_not_found", f"{path} does not exist.", hint=hint, details={"near": near})


def _near(workspace: Workspace, path: str) -> list[str]:
    folder, name = posixpath.split(path)
    try:
        names = [posixpath.basename(entry.path) for entry in islice(workspace.entries(folder), _LOOKED_AT)]
    except ToolFailure:
        return []  # without the folder there is nothing to be near to
    folded = {other.casefold(): other for other in sorted(names)}
    close = get_close_matches(name.casefold(), folded, MOST_NAMES, 0.6)
    stem = posixpath.splitext(name)[0].casefold()
    close += [other for other in folded if posixpath.splitext(other)[0] == stem and other not in close]
    return [printable(posixpath.join(folder, folded[other])) for other in close[:MOST_NAMES]]
