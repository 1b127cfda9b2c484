"""Follow symbolic links in text: to choose and to judge a path, never to open it."""

import errno
import os

_TRIES = 16


def followed(path: str) -> str:
    """Where the absolute ``path`` leads, as far as it exists; a loop is left in place.

    Raises OSError ``ELOOP`` when links change faster than they can be read.
    """
    for _ in range(_TRIES):
        try:
            return os.path.realpath(path)
        except OSError as error:
            # What was a link a moment ago is none any more: look again.
            if error.errno not in {errno.EINVAL, errno.ENOENT}:
                raise
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
