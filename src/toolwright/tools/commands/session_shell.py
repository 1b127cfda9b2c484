"""A bash that stays: commands go in by its standard input, and a mark tells where each one's output ends."""

import codecs
import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

import anyio

from toolwright.contracts.ports import Exit, Process
from toolwright.contracts.tool import CallContext, Progress
from toolwright.tools.commands.setup import OUTPUT_KEPT, CommandSetup

_LOOP: Final = r"""
shopt -u expand_aliases
exec 253>&1
while IFS= read -r -d '' TOOLWRIGHT_MARK && IFS= read -r -d '' TOOLWRIGHT_COMMAND; do
  eval "$TOOLWRIGHT_COMMAND" </dev/null 253>&-
  builtin printf '\036%s %d %s\036' "$TOOLWRIGHT_MARK" "$?" "$PWD" >&253
done
"""
"""The mark takes a way of its own: a command may send the output of the shell elsewhere for good."""
_BASH: Final = ("bash", "--norc", "--noprofile", "-c", _LOOP, "bash")
_SEPARATOR: Final = b"\x1e"
_LONGEST_MARK: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of one command."""

    output: bytes
    code: int | None = None
    cwd: str = ""
    exit: Exit | None = None
    """Set when the shell itself ended."""
    timed_out: bool = False
    dropped: int = 0
    """Bytes of output that are no longer there."""


@dataclass(slots=True)
class CommandOutput:
    """Output of one command up to its mark: head and tail of it stay in memory."""

    mark: bytes
    most: int = OUTPUT_KEPT
    """Bytes that are kept."""
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    rest: bytes = b""
    """From what may be the start of the mark on."""
    found: tuple[int, str] | None = None

    def write(self, data: bytes) -> bytes:
        """Take more output; returns what surely belongs to the command."""
        data = self.rest + data
        start = data.find(_SEPARATOR + self.mark)
        if start >= 0:
            self._read_mark(data[start:])
            own, self.rest = data[:start], data[start:]
        else:
            own, self.rest = self._without_beginning(data)
        self._keep(own)
        return own

    def text(self) -> bytes:
        note = f"\n[... {self.dropped} bytes of output not kept ...]\n" if self.dropped else ""
        return bytes(self.head) + note.encode() + bytes(self.tail)

    def _without_beginning(self, data: bytes) -> tuple[bytes, bytes]:
        """Hold back an end that may grow into the mark."""
        wanted = _SEPARATOR + self.mark
        for length in range(min(len(wanted) - 1, len(data)), 0, -1):
            if wanted.startswith(data[-length:]):
                return data[:-length], data[-length:]
        return data, b""

    def _read_mark(self, data: bytes) -> None:
        inside, closed, _ = data[1:].partition(_SEPARATOR)
        code, _, cwd = inside.removeprefix(self.mark + b" ").partition(b" ")
        if (closed or len(inside) > _LONGEST_MARK) and code.isdigit():
            self.found = (int(code), cwd.decode(errors="surrogateescape"))

    def _keep(self, data: bytes) -> None:
        room = self.most // 2 - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        excess = max(len(self.tail) - self.most // 2, 0)
        del self.tail[:excess]
        self.dropped += excess


class SessionShell:
    """Starts a shell when one is needed and runs one command after another in it."""

    def __init__(self, setup: CommandSetup) -> None:
        self._setup = setup
        self._process: Process | None = None
        self._offset = 0

    async def run(self, command: str, ctx: CallContext, seconds: float) -> Written:
        """Run one command. A command that is cancelled or runs out of time takes the shell with it."""
        process = await self._running(ctx)
        output = CommandOutput(secrets.token_hex(16).encode(), self._setup.limits.output_kept)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self.end)
            with anyio.move_on_after(seconds):
                await self._send(process, output.mark + b"\0" + command.encode() + b"\0")
                written = await self._read(process, output, ctx)
                undo.pop_all()
                return written
        return Written(output=output.text() + output.rest, timed_out=True, dropped=output.dropped)

    async def end(self) -> None:
        """End the shell and all it started."""
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                await process.stop()

    async def _running(self, ctx: CallContext) -> Process:
        if self._process is None:
            command = self._setup.command(ctx.workspace, _BASH, keep_stdin_open=True)
            self._process = await self._setup.sandbox.start(command)
            self._offset = 0
        return self._process

    async def _send(self, process: Process, data: bytes) -> None:
        try:
            await process.send(data)
        except BrokenPipeError:
            return  # it has ended, which reading finds out

    async def _read(self, process: Process, output: CommandOutput, ctx: CallContext) -> Written:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            await process.wait_output(self._offset)
            data, following = process.output_since(self._offset)
            if following == self._offset:
                return await self._over(process, output)
            output.dropped += following - self._offset - len(data)
            self._offset = following
            shown = decoder.decode(output.write(data))
            if shown:
                ctx.report(Progress(output=shown[-16_000:]))
            if output.found is not None:
                code, cwd = output.found
                return Written(output=output.text(), code=code, cwd=cwd, dropped=output.dropped)

    async def _over(self, process: Process, output: CommandOutput) -> Written:
        """The shell ended by itself: ``exit``, or something killed it."""
        self._process = None
        end = await process.wait()
        return Written(output=output.text() + output.rest, code=end.code, exit=end, dropped=output.dropped)
