"""A sandbox that runs nothing: programs are answered from a script. For tests."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from toolwright.backends.sandboxes.spool import Spool
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Exit, Process, SandboxReport, Talk

if TYPE_CHECKING:
    from toolwright.contracts.ports import Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """What a program does. One that ``runs`` goes on until it is stopped or told to finish."""

    output: bytes = b""
    errors: bytes = b""
    code: int = 0
    signal: int | None = None
    runs: bool = False
    stubborn: bool = False
    """Ignores everything but a kill."""
    ends_with_input: bool = False
    """Ends when its standard input is closed."""
    answers: "Callable[[MemoryProcess, bytes], Awaitable[None]] | None" = None
    """Called with what is sent to its standard input."""


Script = Mapping[tuple[str, ...], Scripted] | Callable[[Command], Scripted]


class MemoryProcess:
    """Implements ``Process`` and ``Talk`` without one."""

    def __init__(self, pid: int, command: Command, scripted: Scripted) -> None:
        self.pid = pid
        self.command = command
        self._scripted = scripted
        self._output = Spool(command.limits.output_kept)
        self._errors = Spool(command.limits.output_kept)
        self._news = anyio.Event()
        self._ended = anyio.Event()
        self._exit: Exit | None = None
        self._over = False
        self._read = 0
        self.print(scripted.output if not command.merge_stderr else scripted.output + scripted.errors)
        self._errors.write(b"" if command.merge_stderr else scripted.errors)
        if self._over:
            self.finish(137, 9)
        elif not scripted.runs:
            self.finish(scripted.code, scripted.signal)

    def print(self, data: bytes) -> None:
        """Let the program print something."""
        self._output.write(data)
        self._over = self._output.total > self.command.limits.output_total
        self._tell()

    def finish(self, code: int = 0, number: int | None = None) -> None:
        """Let the program end. Safe to repeat; the first end counts."""
        if self._exit is None:
            dropped = self._output.dropped + self._errors.dropped
            total = self._output.total + self._errors.total
            self._exit = Exit(code, number, total, dropped, "output" if self._over else None)
            self._ended.set()
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    def output(self) -> bytes:
        return self._output.kept()

    def errors(self) -> bytes:
        return self._errors.kept()

    def output_since(self, offset: int) -> tuple[bytes, int]:
        return self._output.since(offset)

    async def wait_output(self, offset: int) -> None:
        while self._output.total <= offset and not self._ended.is_set():
            await self._news.wait()

    async def send(self, data: bytes) -> None:
        if self._exit is not None or not self.command.keep_stdin_open:
            raise BrokenPipeError("standard input is closed")
        if self._scripted.answers is not None:
            await self._scripted.answers(self, data)

    async def wait(self) -> Exit:
        while self._exit is None:
            await self._ended.wait()
        return self._exit

    async def read(self) -> bytes:
        await self.wait_output(self._read)
        data, self._read = self._output.since(self._read)
        return data

    def end_input(self) -> None:
        if self.command.keep_stdin_open and self._scripted.ends_with_input:
            self.finish(self._scripted.code)

    async def stop(self, *, grace: float = 2.0) -> Exit:
        await anyio.lowlevel.checkpoint()
        number = 9 if self._scripted.stubborn or not grace else 2
        self.finish(128 + number, number)
        return await self.wait()


class MemorySandbox:
    """Answers ``start`` from a script and remembers every command."""

    def __init__(self, script: Script | None = None, *, problem: str = "") -> None:
        """With ``problem`` it reports that no sandbox can be had."""
        self._script: Script = script if script is not None else {}
        self._problem = problem
        self.commands: list[Command] = []
        self.processes: list[MemoryProcess] = []

    async def report(self) -> SandboxReport:
        remedy = "Give the test a sandbox." if self._problem else ""
        return SandboxReport(not self._problem, "memory", (), self._problem, remedy)

    async def start(self, command: Command) -> Process:
        return await self._start(command)

    async def talk(self, command: Command) -> Talk:
        return await self._start(replace(command, keep_stdin_open=True, merge_stderr=False))

    async def _start(self, command: Command) -> MemoryProcess:
        await anyio.lowlevel.checkpoint()
        if self._problem:
            raise ToolFailure("unsupported", self._problem, hint="Give the test a sandbox.")
        scripted = self._scripted(command)
        self.commands.append(command)
        process = MemoryProcess(len(self.commands), command, scripted)
        self.processes.append(process)
        return process

    def _scripted(self, command: Command) -> Scripted:
        if callable(self._script):
            return self._script(command)
        if command.argv not in self._script:
            raise ToolFailure("file_not_found", f"There is no program named {command.argv[0]!r} here.")
        return self._script[command.argv]

    async def close(self) -> None:
        for process in self.processes:
            await process.stop(grace=0)


if TYPE_CHECKING:
    _: Sandbox = MemorySandbox()
