"""Speaking with a program over its standard input and output: what every sandbox promises of it."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.backends.sandboxes.memory import MemoryProcess, MemorySandbox, Scripted
from toolwright.backends.sandboxes.plain import PlainSandbox
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Exit, Limits, Sandbox, Talk

pytestmark = pytest.mark.anyio

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
WITHIN = 20
COMPLAINS = "printf oops >&2; exit 7"


async def _echo(process: MemoryProcess, data: bytes) -> None:
    process.print(data)


SCRIPT = {
    "exec cat": Scripted(runs=True, answers=_echo, ends_with_input=True),
    COMPLAINS: Scripted(errors=b"oops", code=7),
    "printf bye": Scripted(output=b"bye"),
    "exec sleep 600": Scripted(runs=True, stubborn=True),
}


def _scripted(command: Command) -> Scripted:
    if command.argv[0] != "sh":
        raise ToolFailure("file_not_found", f"There is no program named {command.argv[0]!r} here.")
    return SCRIPT[command.argv[2]]


MAKERS: dict[str, Callable[[], Sandbox]] = {
    "memory": lambda: MemorySandbox(_scripted),
    "plain": lambda: PlainSandbox(wall=False, for_models=False),
    "bubblewrap": BubblewrapSandbox,
}


@pytest.fixture(params=MAKERS)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    made = MAKERS[request.param]()
    yield made
    with anyio.fail_after(WITHIN):
        await made.close()


@pytest.fixture
async def plain() -> AsyncIterator[Sandbox]:
    made = MAKERS["plain"]()
    yield made
    with anyio.fail_after(WITHIN):
        await made.close()


def shell(script: str, tmp_path: Path, **fields: Any) -> Command:
    fields = {"writable": (str(tmp_path),), **fields}
    return Command(argv=("sh", "-c", script), cwd=str(tmp_path), env=ENV, **fields)


async def heard(talk: Talk, most: int = 1_000_000) -> bytes:
    """All that is said, or at least ``most`` bytes of it."""
    said = b""
    with anyio.fail_after(WITHIN):
        while len(said) < most and (more := await talk.read()):
            said += more
    return said


async def test_what_is_sent_is_answered_and_the_end_of_input_ends_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    talk = await sandbox.talk(shell("exec cat", tmp_path))
    await talk.send(b"one\n")
    assert await heard(talk, 4) == b"one\n"
    await talk.send(b"two\n")
    assert await heard(talk, 4) == b"two\n"
    talk.end_input()
    talk.end_input()
    with anyio.fail_after(WITHIN):
        assert (await talk.wait()).code == 0
    assert await heard(talk) == b""
    with pytest.raises(BrokenPipeError):
        await talk.send(b"three\n")


async def test_last_words_are_heard_after_the_end(sandbox: Sandbox, tmp_path: Path) -> None:
    talk = await sandbox.talk(shell("printf bye", tmp_path))
    with anyio.fail_after(WITHIN):
        await talk.wait()
    assert await heard(talk) == b"bye"


async def test_complaints_are_kept_apart(sandbox: Sandbox, tmp_path: Path) -> None:
    talk = await sandbox.talk(shell(COMPLAINS, tmp_path))
    with anyio.fail_after(WITHIN):
        end = await talk.wait()
    assert (await heard(talk), talk.errors(), end.code) == (b"", b"oops", 7)


async def test_a_silent_program_can_be_stopped_while_somebody_listens(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    talk = await sandbox.talk(shell("exec sleep 600", tmp_path))
    said: list[bytes] = []

    async def listen() -> None:
        said.append(await talk.read())

    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            await anyio.lowlevel.checkpoint()
            await talk.stop(grace=0.05)
    assert said == [b""]


async def test_listening_can_be_given_up_and_taken_up_again(sandbox: Sandbox, tmp_path: Path) -> None:
    talk = await sandbox.talk(shell("exec cat", tmp_path))
    with anyio.move_on_after(0.01) as scope:
        await talk.read()
    assert scope.cancelled_caught
    await talk.send(b"again")
    assert await heard(talk, 5) == b"again"


async def test_a_program_that_is_not_there_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolFailure) as caught:
        await sandbox.talk(Command(argv=("no-such-program",), cwd=str(tmp_path), env=ENV))
    assert caught.value.code == "file_not_found"


# --- real programs ---------------------------------------------------------------------------------


async def test_nothing_is_lost_however_much_is_said(plain: Sandbox, tmp_path: Path) -> None:
    limits = Limits(output_kept=64 * 1024, output_total=1)
    talk = await plain.talk(shell("head -c 5000000 /dev/zero | tr '\\0' x", tmp_path, limits=limits))
    assert await heard(talk, 6_000_000) == b"x" * 5_000_000


async def test_who_is_not_listened_to_has_to_wait(plain: Sandbox, tmp_path: Path) -> None:
    talk = await plain.talk(shell("head -c 5000000 /dev/zero; touch done", tmp_path))
    with anyio.move_on_after(0.3) as scope:
        await talk.wait()
    assert scope.cancelled_caught
    assert not os.path.exists(tmp_path / "done")
    await heard(talk, 6_000_000)
    with anyio.fail_after(WITHIN):
        assert await talk.wait() == Exit(code=0)


async def test_who_writes_to_a_program_that_does_not_read_is_told_of_its_end(
    plain: Sandbox, tmp_path: Path
) -> None:
    talk = await plain.talk(shell("exec sleep 600", tmp_path))
    broken: list[bool] = []

    async def write() -> None:
        with pytest.raises(BrokenPipeError):
            await talk.send(b"x" * 10_000_000)
        broken.append(True)

    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.lowlevel.checkpoint()
            await talk.stop(grace=0)
    assert broken == [True]
