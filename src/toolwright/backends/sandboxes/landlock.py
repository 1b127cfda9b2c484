"""A wall that the kernel keeps around a process that was started without a sandbox.

Landlock binds the thread that asks for it and everything that thread starts. So the thread here is
made for one start and ends with it; no code of ours runs between fork and exec.
"""

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

from toolwright.contracts.ports import Command

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_NO_NEW_PRIVILEGES: Final = 38

_WRITE_FILE: Final = 1 << 1
_CHANGE_FOLDERS: Final = sum(1 << bit for bit in range(4, 13))
"""Remove, and make every kind of entry."""
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_TCP: Final = 0b11
"""Bind and connect."""
_SCOPED: Final = 0b11
"""Abstract sockets and signals stay among the processes behind the wall."""

_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_FOLDERS: Final = ("/dev/pts", os.path.join("/dev", "shm"), os.path.join(os.sep, "tmp"))

Value = TypeVar("Value")


@cache
def version() -> int:
    """The version of Landlock that the kernel speaks; 0 where there is none."""
    found = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION))
    return max(found, 0)


def behind_wall(command: Command, start: Callable[[], Value]) -> Value:
    """Call ``start`` in a thread that may write only where the command may. May raise what it raises."""

    def work() -> Value:
        _restrict(command)
        return start()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


def _restrict(command: Command) -> None:
    """Bind this thread, for good. May raise OSError."""
    handled = _handled()
    network = _TCP if version() >= 4 and command.network.kind == "none" else 0
    scoped = _SCOPED if version() >= 6 else 0
    attributes = struct.pack("=QQQ", handled, network, scoped)[: _attribute_size()]
    ruleset = _checked(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path, access in _allowed(command, handled):
            _allow(ruleset, path, access)
        if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no-new-privileges was refused")
        _checked(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _handled() -> int:
    handled = _WRITE_FILE | _CHANGE_FOLDERS
    if version() >= 2:
        handled |= _REFER
    if version() >= 3:
        handled |= _TRUNCATE
    return handled


def _attribute_size() -> int:
    return 24 if version() >= 6 else 16 if version() >= 4 else 8


def _allowed(command: Command, handled: int) -> Iterator[tuple[str, int]]:
    for path in (*_FOLDERS, *command.writable):
        yield path, handled
    for name in _DEVICES:
        yield f"/dev/{name}", handled & (_WRITE_FILE | _TRUNCATE)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _checked(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, handle), 0)
    finally:
        os.close(handle)


def _checked(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
