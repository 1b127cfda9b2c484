"""Where a command writes what it exports: standard output, or a new file that nobody else can read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from toolwright.contracts.errors import SettingsError


@contextmanager
def exported_to(path: str | None) -> Iterator[BinaryIO]:
    """Open the file, which must not exist; it is taken away again when the command fails."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise SettingsError(f"{path} exists already; nothing was written over it.") from None
    except OSError as problem:
        raise SettingsError(f"{path} cannot be written: {problem.strerror}.") from problem
    with os.fdopen(handle, "wb") as file:
        try:
            yield file
        except BaseException:
            os.unlink(path)
            raise
