"""Follow symbolic links in text: to choose and to judge a path, never to open it.

A path may lie in a mount. Then its links are read where the mount's folder really is, and what they say is
meant as a call sees it: a link cannot lead from one mount to what lies beside its folder on this machine.
"""

import errno
import os
from collections.abc import Sequence

from toolwright.contracts.mounts import Mount
from toolwright.workspaces.names import inside

_TRIES = 16
_MOST_CROSSINGS = 40


def on_disk(path: str, mounts: Sequence[Mount] = ()) -> str:
    """Where the absolute ``path`` lies on this machine. Follows nothing."""
    mount = mount_of(path, mounts)
    return path if mount is None else mount.folder + path[len(mount.path) :]


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """The innermost mount that holds the absolute ``path``."""
    holding = [mount for mount in mounts if inside(path, mount.path)]
    return max(holding, key=lambda mount: len(mount.path), default=None)


def followed(path: str, mounts: Sequence[Mount] = ()) -> str:
    """Where the absolute ``path`` leads, as far as it exists; a loop is left in place.

    Raises OSError ``ELOOP`` when links change faster than they can be read.
    """
    for _ in range(_MOST_CROSSINGS if mounts else 1):
        mount = mount_of(path, mounts)
        if mount is None:
            end = _real(path)
        else:
            folder = _real(mount.folder)
            real = _real(mount.folder + path[len(mount.path) :])
            end = mount.path + real[len(folder) :] if inside(real, folder) else real
        if end == path or not mounts:
            return end
        path = end
    return path


def _real(path: str) -> str:
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError as error:
            # What was a link a moment ago is none any more: look again.
            if error.errno not in {errno.EINVAL, errno.ENOENT}:
                raise
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
