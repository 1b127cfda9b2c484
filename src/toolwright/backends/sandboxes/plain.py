"""No sandbox at all. Chosen only by a setting whose name says ``unsafe``; says so in the log each time."""

import asyncio
import logging
import os
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from toolwright.backends.sandboxes import landlock
from toolwright.backends.sandboxes.running import Pipes, RunningProcess, require_program, spoken_with
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Limits, Process, SandboxReport, Talk

if TYPE_CHECKING:
    from toolwright.contracts.ports import Sandbox

_LOG = logging.getLogger(__name__)
_MARK: Final = "TOOLWRIGHT_PROCESS"
"""Put into the environment of everything started, so that what leaves its session is still found."""
_SWEEPS: Final = 200


class PlainSandbox:
    """Runs programs with the rights of the engine: they read what it reads and see what it sees.

    Where the kernel has Landlock a command may at least write only where it may; ``wall=False`` lets it
    do everything. Protected paths are not protected.
    """

    def __init__(self, *, wall: bool = True, for_models: bool = True) -> None:
        """``for_models``: off where only programs that the operator named are started."""
        self._wall = wall and landlock.version() > 0
        self._running: set[RunningProcess] = set()
        if for_models:
            _LOG.warning("commands may run WITHOUT a sandbox, with the rights of this user")

    async def report(self) -> SandboxReport:
        return SandboxReport(
            works=True,
            name="plain",
            layers=("landlock",) if self._wall else (),
            problem="Commands run without a sandbox.",
            remedy="Remove the setting that turned the sandbox off.",
        )

    async def start(self, command: Command) -> Process:
        return await self._start(command)

    async def talk(self, command: Command) -> Talk:
        process = await self._start(spoken_with(command))
        process.speak()
        return process

    async def _start(self, command: Command) -> RunningProcess:
        if command.network.kind == "hosts":
            raise ToolFailure("unsupported", "Without a sandbox the network cannot be limited to some hosts.")
        process = self._spawn(command)
        self._running.add(process)
        process.on_end.append(lambda: self._running.discard(process))
        return process

    async def close(self) -> None:
        for process in tuple(self._running):
            await process.stop(grace=0)

    def _spawn(self, command: Command) -> RunningProcess:
        require_program(command)
        mark = secrets.token_hex(12)
        pipes = Pipes(command)

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                _limited(command),
                cwd=command.cwd,
                env={**command.env, _MARK: mark},
                stdin=pipes.child_input,
                stdout=pipes.child_output,
                stderr=pipes.child_error,
                start_new_session=True,
            )

        try:
            child = landlock.behind_wall(command, start) if self._wall else start()
        except OSError as failure:
            pipes.close()
            raise ToolFailure("command_failed", f"Cannot start the program: {failure.strerror}") from failure
        pipes.close_theirs()
        return RunningProcess(child, pipes, MarkedTree(child.pid, f"{_MARK}={mark}".encode()), command)


class MarkedTree:
    """Implements ``Tree`` by session, process group and the mark in the environment."""

    def __init__(self, leader: int, mark: bytes) -> None:
        self._leader = leader
        self._started = _stat(leader)[2]
        self._mark = mark
        self._sweeps = 0

    def interrupt(self, number: int) -> None:
        _signal(os.killpg, self._leader, number)

    def kill(self) -> None:
        _signal(os.killpg, self._leader, signal.SIGKILL)
        self._sweep()

    def clear(self, done: Callable[[], None]) -> None:
        """Sweep until nothing is found; what is being born during one sweep is found by the next."""
        self._sweeps += 1
        if self._sweep() and self._sweeps < _SWEEPS:
            asyncio.get_running_loop().call_later(0.01, self.clear, done)
        else:
            done()

    def _sweep(self) -> bool:
        """Kill every member; whether there was any."""
        members = [int(name) for name in os.listdir("/proc") if name.isdigit() and self._is_member(int(name))]
        for pid in members:
            _signal(os.kill, pid, signal.SIGKILL)
        return bool(members)

    def over_memory(self) -> bool:
        return False

    def release(self) -> None:
        return None

    def _is_member(self, pid: int) -> bool:
        """Whether a process belongs to the session or bears the mark; older ones need no closer look."""
        try:
            state, session, started = _stat(pid)
            if state == b"Z" or started < self._started:
                return False
            if session == self._leader:
                return True
            with open(f"/proc/{pid}/environ", "rb") as environ:
                return self._mark in environ.read().split(b"\0")
        except OSError:
            return False


def _stat(pid: int) -> tuple[bytes, int, int]:
    """State, session and start time of a process. May raise OSError when it is gone."""
    with open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rpartition(b") ")[2].split()
    return fields[0], int(fields[3]), int(fields[19])


def _signal(send: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        send(target, number)
    except (ProcessLookupError, PermissionError):
        return


def _limited(command: Command) -> list[str]:
    """The command behind a shell that lowers its own limits first."""
    steps = [f"ulimit -{letter} {value} 2>/dev/null" for letter, value in _ulimits(command.limits)]
    return ["/bin/sh", "-c", "; ".join([*steps, 'exec "$@"']), "sh", *command.argv]


def _ulimits(limits: Limits) -> Iterator[tuple[str, int]]:
    yield "c", 0
    yield "t", limits.cpu_seconds
    yield "d", limits.memory // 1024
    yield "f", limits.file_size // 512
    yield "n", limits.open_files


if TYPE_CHECKING:
    _: Sandbox = PlainSandbox()
