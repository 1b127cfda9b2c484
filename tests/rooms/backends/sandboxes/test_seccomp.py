"""The filter, run instruction by instruction for both machines."""

import errno
import struct

import pytest

from toolwright.backends.sandboxes.bubblewrap.seccomp import program
from toolwright.backends.sandboxes.bubblewrap.syscalls import FORBIDDEN, MACHINES

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LIMIT = 4096
BOTH = pytest.mark.parametrize("machine", MACHINES)


def verdict(
    machine: str, call: str | int, *arguments: int, inet: bool = False, audit: int | None = None
) -> int:
    """What the kernel would do: run the program on what it would be given."""
    code = program(machine, inet=inet)
    assert code is not None
    kind = MACHINES[machine]
    number = kind.numbers[call] if isinstance(call, str) else call
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, kind.audit if audit is None else audit, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", code))
    assert len(instructions) < LIMIT
    at = loaded = 0
    while True:
        operation, when_true, when_false, operand = instructions[at]
        if operation == 0x20:
            (loaded,) = struct.unpack_from("=I", data, operand)
        elif operation == 0x06:
            return int(operand)
        else:
            holds = {0x15: loaded == operand, 0x35: loaded >= operand, 0x45: bool(loaded & operand)}[
                operation
            ]
            at += when_true if holds else when_false
        at += 1


@BOTH
def test_forbidden_calls_fail(machine: str) -> None:
    known = [name for name in FORBIDDEN if name in MACHINES[machine].numbers]
    assert len(known) > 45
    assert {verdict(machine, name) for name in known} == {ERRNO | errno.EPERM}


@BOTH
def test_calls_that_cannot_be_judged_do_not_exist(machine: str) -> None:
    assert {verdict(machine, name) for name in ("clone3", "openat2")} == {ERRNO | errno.ENOSYS}


@BOTH
@pytest.mark.parametrize("number", [0, 1, 9, 60, 172, 173, 222, 231, 400, 439, 500])
def test_other_calls_pass(machine: str, number: int) -> None:
    named = set(MACHINES[machine].numbers.values())
    if number not in named:
        assert verdict(machine, number) == ALLOW


@BOTH
@pytest.mark.parametrize(("call", "plain"), [("clone", 0x11), ("unshare", 0x400)])
def test_no_new_user_namespace(machine: str, call: str, plain: int) -> None:
    assert verdict(machine, call, plain) == ALLOW
    assert verdict(machine, call, plain | 0x10000000) == ERRNO | errno.EPERM


@BOTH
@pytest.mark.parametrize(
    ("family", "without", "with_inet"),
    [
        (1, True, True),
        (2, False, True),
        (10, False, True),
        (16, False, False),
        (17, False, False),
        (40, False, False),
        (0, False, False),
    ],
)
def test_families_of_sockets(machine: str, family: int, without: bool, with_inet: bool) -> None:
    wanted = {True: ALLOW, False: ERRNO | errno.EAFNOSUPPORT}
    assert verdict(machine, "socket", family) == wanted[without]
    assert verdict(machine, "socket", family, inet=True) == wanted[with_inet]
    assert verdict(machine, "socket", family | 0xFFFFFFFF00000000 & ~0xFFFFFFFF) == wanted[without]


@BOTH
@pytest.mark.parametrize(
    ("request_", "allowed"), [(0x5412, False), (0x541C, False), (0x5401, True), (0x5413, True)]
)
def test_no_keys_are_put_into_a_terminal(machine: str, request_: int, allowed: bool) -> None:
    wanted = ALLOW if allowed else ERRNO | errno.EPERM
    assert verdict(machine, "ioctl", 0, request_) == wanted
    assert verdict(machine, "ioctl", 0, request_ | 0x100000000) == wanted


@BOTH
@pytest.mark.parametrize(
    ("call", "arguments", "allowed"),
    [
        ("chmod", (0, 0o755), True),
        ("chmod", (0, 0o4755), False),
        ("fchmod", (0, 0o2755), False),
        ("fchmod", (0, 0o1777), True),
        ("fchmodat", (0, 0, 0o4755), False),
        ("fchmodat2", (0, 0, 0o4755, 0), False),
        ("creat", (0, 0o4755), False),
        ("mknodat", (0, 0, 0o104755), False),
        ("mknodat", (0, 0, 0o100644), True),
        ("open", (0, 0o100, 0o4755), False),
        ("open", (0, 0, 0o4755), True),
        ("openat", (0, 0, 0o101, 0o644), True),
        ("openat", (0, 0, 0o101, 0o4755), False),
        ("openat", (0, 0, 0o20200001, 0o2755), False),
        ("openat", (0, 0, 0, 0o7777), True),
    ],
)
def test_no_set_id_file(machine: str, call: str, arguments: tuple[int, ...], allowed: bool) -> None:
    if call in MACHINES[machine].numbers:
        assert verdict(machine, call, *arguments) == (ALLOW if allowed else ERRNO | errno.EPERM)


def test_another_calling_convention_is_no_way_around() -> None:
    assert verdict("x86_64", 39, audit=0x40000003) == KILL
    assert verdict("x86_64", 39, audit=MACHINES["aarch64"].audit) == KILL
    assert verdict("x86_64", 0x40000000 | 39) == ERRNO | errno.ENOSYS
    assert verdict("aarch64", 0, audit=0x40000028) == KILL


def test_an_unknown_machine_has_no_filter() -> None:
    assert program("vax", inet=False) is None
