"""A started program: its pipes, its end, and how everything it started is ended."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol

import anyio

from toolwright.backends.sandboxes.spool import Spool
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command, Exit

_CHUNK = 256 * 1024
_LAST_READS = 64
"""Reads after the end; what a pipe can hold is far less."""


class Tree(Protocol):
    """Everything a command started, as its sandbox sees it. No method may block or raise."""

    def interrupt(self, number: int) -> None:
        """Send a signal to the command and whatever shares its process group."""
        ...

    def kill(self) -> None:
        """End everything, whatever it did to hide. Safe to repeat."""
        ...

    def clear(self, done: Callable[[], None]) -> None:
        """The command has ended: end what it left, and call ``done`` in the event loop once nothing is
        alive. Called once."""
        ...

    def over_memory(self) -> bool:
        """Whether the kernel ended something of it for its memory. Asked once, at the end."""
        ...

    def release(self) -> None:
        """Give back what the tree held. Called once, at the end."""
        ...


class Pipes:
    """The ends of the pipes that stay with us, and the ends that the child gets."""

    def __init__(self, command: Command) -> None:
        self.send: int | None = None
        self.error: int | None = None
        self._theirs: list[int] = []
        self.output, self.child_output = self._pair()
        self.child_error = self.child_output
        if not command.merge_stderr:
            self.error, self.child_error = self._pair()
        self.child_input = self._input(command)

    def _pair(self) -> tuple[int, int]:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        self._theirs.append(theirs)
        return ours, theirs

    def _input(self, command: Command) -> int:
        if command.keep_stdin_open:
            theirs, self.send = os.pipe()
            os.set_blocking(self.send, False)
        elif command.stdin is not None:
            theirs = _filled(command.stdin)
        else:
            theirs = os.open(os.devnull, os.O_RDONLY)
        self._theirs.append(theirs)
        return theirs

    def close_theirs(self) -> None:
        for fd in self._theirs:
            os.close(fd)
        self._theirs.clear()

    def close(self) -> None:
        self.close_theirs()
        for fd in (self.output, self.error, self.send):
            if fd is not None:
                os.close(fd)


def _filled(data: bytes) -> int:
    """Return a handle positioned at the start of ``data``: nothing has to be fed while it is read."""
    fd = os.memfd_create("input", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as writer:
        writer.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Readiness:
    """Lets one task wait for a handle that a callback may close meanwhile."""

    def __init__(
        self, watch: Callable[[int, Callable[[], None]], None], unwatch: Callable[[int], bool]
    ) -> None:
        self._watch = watch
        self._unwatch = unwatch
        self._ready: asyncio.Event | None = None

    async def wait(self, fd: int) -> None:
        """Return when the handle is ready, or closed. Safe to cancel."""
        ready = self._ready = asyncio.Event()
        self._watch(fd, ready.set)
        try:
            await ready.wait()
        finally:
            if self._ready is ready:
                self._ready = None
                self._unwatch(fd)

    def close(self, fd: int) -> None:
        """Close the handle and wake whoever waits for it."""
        ready, self._ready = self._ready, None
        if ready is not None:
            self._unwatch(fd)
            ready.set()
        os.close(fd)


class RunningProcess:
    """Implements ``Process``, and ``Talk`` once somebody speaks with it.

    Lives in callbacks of the event loop: it owns no task.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", pipes: Pipes, tree: Tree, command: Command) -> None:
        self._loop = asyncio.get_running_loop()
        self._child = child
        self._tree = tree
        self._limits = command.limits
        self._output = Spool(command.limits.output_kept)
        self._errors = Spool(command.limits.output_kept)
        self._limit: Literal["output", "memory"] | None = None
        self._news = anyio.Event()
        self._ended = anyio.Event()
        self._exit: Exit | None = None
        self._send_fd = pipes.send
        self._output_fd = pipes.output
        self._spoken_fd: int | None = None
        self._more_words = Readiness(self._loop.add_reader, self._loop.remove_reader)
        self._writable = Readiness(self._loop.add_writer, self._loop.remove_writer)
        self._last_words = b""
        self._readers: dict[int, Spool] = {pipes.output: self._output}
        if pipes.error is not None:
            self._readers[pipes.error] = self._errors
        for fd in self._readers:
            self._loop.add_reader(fd, self._readable, fd)
        self._pidfd = os.pidfd_open(child.pid)
        self._loop.add_reader(self._pidfd, self._exited)
        self.on_end: list[Callable[[], None]] = []

    @property
    def pid(self) -> int:
        return self._child.pid

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
        view = memoryview(data)
        while view:
            if self._send_fd is None:
                raise BrokenPipeError("standard input is closed")
            try:
                view = view[os.write(self._send_fd, view) :]
            except BlockingIOError:
                await self._writable.wait(self._send_fd)

    async def wait(self) -> Exit:
        await self._ended.wait()
        return self._require_exit()

    async def stop(self, *, grace: float = 2.0) -> Exit:
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                if not self._ended.is_set():
                    self._tree.interrupt(number)
                with anyio.move_on_after(grace):
                    await self._ended.wait()
        finally:
            if not self._ended.is_set():
                self._tree.kill()
        return await self.wait()

    # --- speaking with it ---

    def speak(self) -> None:
        """From here on ``read`` hands output over and it is not kept. Called once, right after the start."""
        self._last_words = self._output.kept()
        if self._readers.pop(self._output_fd, None) is not None:
            self._loop.remove_reader(self._output_fd)
            self._spoken_fd = self._output_fd

    async def read(self) -> bytes:
        """Return what it printed next, empty once nothing more will come."""
        while True:
            said, self._last_words = self._last_words, b""
            if said or self._spoken_fd is None:
                return said
            try:
                data = os.read(self._spoken_fd, _CHUNK)
            except BlockingIOError:
                await self._more_words.wait(self._spoken_fd)
                continue
            if data:
                return data
            self._end_of_words()

    def _end_of_words(self) -> None:
        fd, self._spoken_fd = self._spoken_fd, None
        if fd is not None:
            self._more_words.close(fd)

    def end_input(self) -> None:
        """Close standard input. Safe to repeat."""
        fd, self._send_fd = self._send_fd, None
        if fd is not None:
            self._writable.close(fd)

    def _require_exit(self) -> Exit:
        if self._exit is None:
            raise RuntimeError("the process has not ended")
        return self._exit

    def _readable(self, fd: int) -> bool:
        """Take one chunk; False when nothing more is there now."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._drop_reader(fd)
            return False
        self._readers[fd].write(data)
        if self._limit is None and self._output.total + self._errors.total > self._limits.output_total:
            self._limit = "output"
            self._tree.kill()
        self._tell()
        return True

    def _drop_reader(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        os.close(fd)
        del self._readers[fd]

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    def _exited(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._child.wait()
        self.end_input()
        self._tree.clear(self._finish)

    def _finish(self) -> None:
        for fd in tuple(self._readers):
            for _ in range(_LAST_READS):
                if not self._readable(fd):
                    break
            if fd in self._readers:
                self._drop_reader(fd)
        self._keep_last_words()
        if self._tree.over_memory() and self._limit is None:
            self._limit = "memory"
        self._tree.release()
        self._exit = self._exit_of(self._child.returncode)
        self._ended.set()
        self._tell()
        for call in self.on_end:
            call()

    def _keep_last_words(self) -> None:
        """Take what is left in the pipe of a program that is spoken with; its reader may come later."""
        if self._spoken_fd is None:
            return
        with contextlib.suppress(BlockingIOError):
            for _ in range(_LAST_READS):
                self._last_words += os.read(self._spoken_fd, _CHUNK)
        self._end_of_words()

    def _exit_of(self, returncode: int) -> Exit:
        """Read the shell's convention: 128 and the number of the signal."""
        code = returncode if returncode >= 0 else 128 - returncode
        number = code - 128 if 128 < code < 128 + signal.NSIG else None
        return Exit(
            code=code,
            signal=number,
            output_bytes=self._output.total + self._errors.total,
            dropped_bytes=self._output.dropped + self._errors.dropped,
            limit=self._limit,
        )


def spoken_with(command: Command) -> Command:
    """The command as ``talk`` starts it."""
    return replace(command, keep_stdin_open=True, merge_stderr=False)


def require_program(command: Command) -> None:
    """Refuse a program that is not there, before anything is started."""
    program = command.argv[0] if command.argv else ""
    if "/" in program:
        found = os.access(os.path.join(command.cwd, program), os.X_OK)
    else:
        path = command.env.get("PATH", os.defpath)
        found = any(os.access(os.path.join(part, program), os.X_OK) for part in path.split(":") if program)
    if not found:
        raise ToolFailure("file_not_found", f"There is no program named {program!r} here.")
