"""What ``/proc`` says of the host, kept from programs of a sandbox.

Where the engine is root, so is every program of the sandbox to the kernel's checks of files, whatever
name it has inside. One setting below ``/proc/sys`` would be enough to leave the sandbox. Where the engine
is an ordinary user, the kernel's own checks hold, and what everybody may read or write is left to cover.
"""

import os
import stat
from collections.abc import Iterator
from functools import cache
from typing import Final

_PROC: Final = "/proc"
_TELLING: Final = ("keys", "key-users", "sched_debug", "timer_list")
"""Files that everybody may read and nobody in a sandbox should."""
_NOT_OF_THE_HOST: Final = ("self", "thread-self", "net", "sysvipc")
_BY_ANYBODY: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@cache
def host_settings() -> tuple[str, ...]:
    """Arguments that make settings read-only and cover what nobody in a sandbox should read."""
    return tuple(_arguments(root=os.geteuid() == 0))


def _arguments(*, root: bool) -> Iterator[str]:
    writable = _BY_ANYBODY if root else stat.S_IWOTH
    with os.scandir(_PROC) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.isdigit() or entry.name in _NOT_OF_THE_HOST:
                continue
            if entry.is_dir(follow_symlinks=False):
                if _holds_a_setting(entry.path, writable):
                    yield from ("--ro-bind", entry.path, entry.path)
            elif entry.name in _TELLING or _is_guarded(entry.path, writable, root=root):
                yield from ("--ro-bind", os.devnull, entry.path)


def _holds_a_setting(folder: str, writable: int) -> bool:
    """Whether any file below may be written."""
    for place, _, names in os.walk(folder):
        if any(os.lstat(os.path.join(place, name)).st_mode & writable for name in names):
            return True
    return False


def _is_guarded(path: str, writable: int, *, root: bool) -> bool:
    mode = os.lstat(path).st_mode
    read_by_root_alone = root and not mode & stat.S_IROTH
    return stat.S_ISREG(mode) and (read_by_root_alone or bool(mode & writable))
