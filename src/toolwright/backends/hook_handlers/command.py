"""Hook handlers that are programs: JSON on standard input, an answer by exit code and output."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.hooks import HookInput, HookReply, HookTransport

MOST_OUTPUT = 1024 * 1024
_SETTLE_SECONDS = 0.3
"""How long output may still arrive after the program has ended: a child of it may hold the pipe."""
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH(?!_SOCK))(?:_|$|\d)",
    re.IGNORECASE,
)


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables whose names say that they hold a credential."""
    return {name: value for name, value in environ.items() if not _SECRET_NAME.search(name)}


def command_transport(
    settings: Mapping[str, Any], *, environ: Mapping[str, str], project_dir: str
) -> HookTransport:
    """Return the way to a program. ``command`` alone is a shell command line; with ``args`` it is a
    program that is started without a shell. May raise SettingsError."""
    argv = _argv(settings)
    env = {**scrubbed(environ), **_own_variables(settings), "TOOLWRIGHT_PROJECT_DIR": project_dir}

    async def transport(input: HookInput, body: bytes) -> HookReply:
        try:
            with anyio.CancelScope(shield=True):  # a program started while being given up would be lost
                process = await anyio.open_process(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=input.cwd,
                    env=env,
                    start_new_session=True,
                )
        except OSError as error:
            return HookReply(problem=f"could not be started: {error.strerror or error}")
        return await _conversation(process, body)

    return transport


def _argv(settings: Mapping[str, Any]) -> tuple[str, ...]:
    command, args, shell = settings["command"], settings.get("args"), settings.get("shell", "bash")
    if not isinstance(command, str) or not command.strip():
        raise SettingsError("command is no text")
    if args is None:
        if shell not in {"bash", "sh"}:
            raise SettingsError(f"shell is {shell!r}; bash and sh can be used")
        return (shell, "-c", command)
    if not isinstance(args, list | tuple) or not all(isinstance(arg, str) for arg in args):
        raise SettingsError("args is no list of texts")
    return (command, *args)


def _own_variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """Variables written beside the command are meant for it, whatever their names."""
    env = settings.get("env", {})
    if not isinstance(env, Mapping) or not all(isinstance(value, str) for value in env.values()):
        raise SettingsError("env is no object of texts")
    return dict(env)


async def _conversation(process: Process, body: bytes) -> HookReply:
    stdout, stderr = bytearray(), bytearray()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_feed, process, body)
            group.start_soon(_collect, process.stdout, stdout)
            group.start_soon(_collect, process.stderr, stderr)
            code = await process.wait()
            group.cancel_scope.deadline = anyio.current_time() + _SETTLE_SECONDS
    finally:
        await _ended(process)
    return HookReply(exit_code=code, stdout=_text(stdout), stderr=_text(stderr))


async def _ended(process: Process) -> None:
    """Leave nothing behind of a program that was given up; one that ended by itself may leave a child."""
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    with anyio.CancelScope(shield=True):
        await process.aclose()


async def _feed(process: Process, body: bytes) -> None:
    """A handler need not read what it is told."""
    assert process.stdin is not None
    try:
        await process.stdin.send(body)
        await process.stdin.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        return


async def _collect(stream: ByteReceiveStream | None, kept: bytearray) -> None:
    """Read to the end so that the program never blocks; keep only so much."""
    assert stream is not None
    try:
        async for chunk in stream:
            kept.extend(chunk[: MOST_OUTPUT - len(kept)])
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
