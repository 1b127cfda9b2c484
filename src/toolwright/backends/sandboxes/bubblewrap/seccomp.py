"""Assemble the filter that stands between a sandboxed program and the kernel.

A seccomp filter is a classic BPF program: it reads the number of a system call and its arguments
and returns what the kernel shall do. It is built here from a list of rules, without a library.
"""

import errno
import os
import struct
from functools import lru_cache
from typing import Final

from toolwright.backends.sandboxes.bubblewrap.syscalls import FORBIDDEN, MACHINES

_LOAD: Final = 0x20
"""BPF_LD | BPF_W | BPF_ABS"""
_EQUAL: Final = 0x15
_ANY_BIT: Final = 0x45
"""BPF_JMP | BPF_JSET | BPF_K: some of these bits are set"""
_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06

_NUMBER_AT: Final = 0
_MACHINE_AT: Final = 4

_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000

_NEW_USER_NAMESPACE: Final = 0x10000000
_PUSH_INPUT: Final = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX put keys into a terminal that somebody else reads."""
_CREATES_FILE: Final = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE"""
_SET_ID: Final = 0o6000
_UNIX, _INET, _INET6 = 1, 2, 10

Instruction = tuple[int, int, int, int]
"""Code, jump when true, jump when false, operand."""


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _argument(index: int) -> Instruction:
    """Load the low half of an argument; all that is judged here fits in it."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _when_call(number: int, body: list[Instruction]) -> list[Instruction]:
    """Run ``body`` for one call; a body that falls through continues with the number loaded again."""
    body = [*body, (_LOAD, 0, 0, _NUMBER_AT)]
    return [(_EQUAL, 0, len(body), number), *body]


def _never(error: int) -> list[Instruction]:
    return [_refuse(error)]


def _not_with_bits(index: int, bits: int) -> list[Instruction]:
    return [_argument(index), (_ANY_BIT, 0, 1, bits), _refuse(errno.EPERM)]


def _not_equal(index: int, *values: int) -> list[Instruction]:
    body = [_argument(index)]
    for value in values:
        body += [(_EQUAL, 0, 1, value), _refuse(errno.EPERM)]
    return body


def _only_families(families: tuple[int, ...]) -> list[Instruction]:
    body = [_argument(0)]
    for left, family in zip(range(len(families), 0, -1), families, strict=True):
        body.append((_EQUAL, left, 0, family))
    return [*body, _refuse(errno.EAFNOSUPPORT)]


def _no_set_id_file(flags: int, mode: int) -> list[Instruction]:
    return [
        _argument(flags),
        (_ANY_BIT, 0, 3, _CREATES_FILE),
        _argument(mode),
        (_ANY_BIT, 0, 1, _SET_ID),
        _refuse(errno.EPERM),
    ]


def _rules(*, inet: bool) -> dict[str, list[Instruction]]:
    """What is refused, by name of the call. A call that the filter cannot judge does not exist."""
    rules = {name: _never(errno.EPERM) for name in FORBIDDEN}
    rules |= {name: _never(errno.ENOSYS) for name in ("clone3", "openat2")}
    rules |= {name: _not_with_bits(0, _NEW_USER_NAMESPACE) for name in ("clone", "unshare")}
    rules["ioctl"] = _not_equal(1, *_PUSH_INPUT)
    rules["socket"] = _only_families((_UNIX, _INET, _INET6) if inet else (_UNIX,))
    for name, index in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2)):
        rules[name] = _not_with_bits(index, _SET_ID)
    for name, index in (("creat", 1), ("mknod", 1), ("mknodat", 2)):
        rules[name] = _not_with_bits(index, _SET_ID)
    rules["open"] = _no_set_id_file(1, 2)
    rules["openat"] = _no_set_id_file(2, 3)
    return rules


@lru_cache(maxsize=4)
def program(machine: str, *, inet: bool) -> bytes | None:
    """Return the filter for a machine as packed instructions; None for a machine it does not know."""
    kind = MACHINES.get(machine)
    if kind is None:
        return None
    code: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, kind.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if kind.foreign_bit:
        code += [(_AT_LEAST, 0, 1, kind.foreign_bit), _refuse(errno.ENOSYS)]
    for name, body in _rules(inet=inet).items():
        if name in kind.numbers:
            code += _when_call(kind.numbers[name], body)
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def local_program(*, inet: bool) -> bytes | None:
    """The filter for the machine we run on."""
    return program(os.uname().machine, inet=inet)
