"""What a sandboxed program sees: arguments of bubblewrap, worked out from a command.

The root is empty. Programs and libraries of the host are shown read-only, then the directories
that the command names, shallow ones first, so that a deeper one lies on top of its parent.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from toolwright.backends.sandboxes.bubblewrap.host_proc import host_settings
from toolwright.backends.sandboxes.bubblewrap.own_files import ETC_FOLDERS
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command

SYSTEM_DIRS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
TMP: Final = os.path.join(os.sep, "tmp")
"""Where programs expect to write; inside it is the session's own directory."""

_SHM: Final = os.path.join("/dev", "shm")
_SHARED_MEMORY: Final = 256 * 1024**2
_NEVER_SHOWN: Final = ("/proc/", "/sys/", "/dev/", "/run/", "/boot/")

Kind = Literal["show", "open", "protect"]


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    kind: Kind
    folder: str = ""
    """What lies there, where it is not the directory of that path."""

    @property
    def order(self) -> tuple[int, int]:
        """Shallow first; at one place protection comes last, and so lies on top."""
        return (self.path.count("/"), ("show", "open", "protect").index(self.kind))


def system_arguments(etc: str) -> list[str]:
    """Arguments that show programs and libraries of the host, and ``etc`` as its ``/etc``."""
    args: list[str] = []
    for path in SYSTEM_DIRS:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            args += ["--ro-bind", path, path]
    args += ["--ro-bind", etc, "/etc"]
    for path in (f"/etc/{name}" for name in ETC_FOLDERS):
        if os.path.isdir(path):
            args += ["--ro-bind", path, path]
    args += ["--proc", "/proc", "--dev", "/dev"]
    args += ["--size", str(_SHARED_MEMORY), "--tmpfs", _SHM]
    return [*args, *host_settings()]


def command_arguments(command: Command, empty: str) -> list[str]:
    """Arguments that show what the command names. ``empty`` is an empty directory of ours.

    May raise ToolFailure for a directory that no sandbox may show.
    """
    places = [_Place(_acceptable(path), "show") for path in command.readable]
    places += [_Place(_acceptable(path), "open") for path in command.writable]
    places += [
        _Place(_acceptable(mount.path), "open" if mount.writable else "show", mount.folder)
        for mount in command.mounts
    ]
    places += _protection(command)
    args: list[str] = []
    for place in sorted(dict.fromkeys(places), key=lambda place: place.order):
        args += _arguments(place, empty)
    return args


def places_to_hold(command: Command) -> Iterator[tuple[str, str]]:
    """Places that are covered, each with the writable directory it lies in."""
    for place in _protection(command):
        root = _root_of(place.path, command.writable)
        if place.kind == "protect" and root is not None:
            yield root, place.path


def _acceptable(path: str) -> str:
    normal = _normal(path)
    if not os.path.isabs(path) or normal == "/" or f"{normal}/".startswith(_NEVER_SHOWN):
        raise ToolFailure("unsupported", f"{path!r} cannot be shown inside the sandbox.")
    return normal


def _normal(path: str) -> str:
    """The one spelling of a path; two slashes at the start mean nothing to the kernel."""
    return "/" + os.path.normpath(path).lstrip("/")


def _arguments(place: _Place, empty: str) -> Iterator[str]:
    folder = place.folder or place.path
    if place.kind == "open":
        yield from ("--bind", folder, place.path)
    elif os.path.exists(folder):
        yield from ("--ro-bind", folder, place.path)
    elif place.kind == "protect":
        yield from ("--ro-bind", empty, place.path)


def _protection(command: Command) -> list[_Place]:
    """Places that keep protected paths as they are, whatever is done to their parents.

    A directory on the way down is bound to itself: a mount point cannot be renamed, so nobody can
    move it aside and put another in its place. A path that is missing is covered by an empty
    directory, a file where a directory was expected stays as it is (``.git`` of a linked work tree
    says where the repository is), and a link, which cannot be covered, makes its directory read-only.
    """
    places: list[_Place] = []
    for path in map(_normal, command.protected):
        root = _root_of(path, command.writable)
        if root is None:
            continue
        on_the_way = _between(root, path)
        link = next((step for step in (*on_the_way, path) if os.path.islink(step)), None)
        file = next((step for step in on_the_way if os.path.isfile(step)), None)
        if link is not None:
            places.append(_Place(os.path.dirname(link), "protect"))
        elif file is not None:
            places.append(_Place(file, "protect"))
        elif all(os.path.isdir(step) for step in on_the_way):
            places += [_Place(step, "open") for step in on_the_way]
            places.append(_Place(path, "protect"))
    return places


def _root_of(path: str, writable: tuple[str, ...]) -> str | None:
    roots = [_normal(root) for root in writable]
    holding = [root for root in roots if path != root and path.startswith(root + "/")]
    return max(holding, key=len, default=None)


def _between(root: str, path: str) -> list[str]:
    steps = []
    step = os.path.dirname(path)
    while len(step) > len(root):
        steps.append(step)
        step = os.path.dirname(step)
    return steps[::-1]
