"""Which paths are accepted. What is given is looked up byte for byte: nothing is decoded or expanded."""

import os
import posixpath
import re

from toolwright.contracts.errors import ToolFailure

LONGEST_COMPONENT = 255
LONGEST_PATH = 4096
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def normalised(path: str, cwd: str) -> str:
    """Return ``path`` as absolute text without ``.``, ``..`` and doubled slashes.

    Looks at no disk. Raises ToolFailure for names that are never accepted.
    """
    _refuse_unless_acceptable(path)
    joined = posixpath.normpath(posixpath.join(cwd, path))
    # POSIX keeps two leading slashes apart from one; Linux does not.
    whole = "/" + joined.lstrip("/")
    if len(os.fsencode(whole)) > LONGEST_PATH:
        raise _refused(path, f"it is longer than {LONGEST_PATH} bytes")
    return whole


def inside(path: str, folder: str) -> bool:
    """Whether the normalised ``path`` is ``folder`` or lies below it. Text only."""
    return path == folder or folder == "/" or path.startswith(folder + "/")


def printable(path: str) -> str:
    """The path as text that can always be encoded; bytes that are no UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refuse_unless_acceptable(path: str) -> None:
    if not path:
        raise _refused(path, "it is empty")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise _refused(path, "it cannot be written as bytes") from error
    if _CONTROL.search(path):
        raise _refused(path, "it holds a control character")
    if len(encoded) > LONGEST_PATH:
        raise _refused(path, f"it is longer than {LONGEST_PATH} bytes")
    if any(len(part) > LONGEST_COMPONENT for part in encoded.split(b"/")):
        raise _refused(path, f"a part of it is longer than {LONGEST_COMPONENT} bytes")


def _refused(path: str, why: str) -> ToolFailure:
    shown = ascii(path if len(path) <= 100 else path[:100] + "…")
    return ToolFailure("validation_failed", f"The path {shown} is not accepted: {why}.")
