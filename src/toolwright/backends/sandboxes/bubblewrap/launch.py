"""Start bubblewrap in two steps: it sets everything up, waits until it is bounded, and only then runs."""

import contextlib
import json
import os
import signal
import subprocess
from typing import Final, Self

import anyio

from toolwright.backends.sandboxes.bubblewrap.tree import NamespaceTree
from toolwright.backends.sandboxes.running import Pipes, RunningProcess
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command

_READY_WITHIN: Final = 10.0


class Start:
    """One start in progress. Leaving it early ends what was started and closes every handle."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._pipes = Pipes(command)
        self._open: set[int] = set()
        self._child: subprocess.Popen[bytes] | None = None
        self._status = -1
        self._go = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            self.abandon()
            self._pipes.close()
        for fd in tuple(self._open):
            self._close(fd)

    def spawn(self, program: str, args: list[str], filter_program: bytes) -> None:
        """Start bubblewrap; it sets everything up and waits before it runs the command.

        Called in the event loop's own thread: the sandbox dies with the thread that started it.
        """
        self._status, status = self._pipe()
        block, self._go = self._pipe()
        given = self._memory(b"".join(arg.encode("utf-8", "surrogateescape") + b"\0" for arg in args))
        rules = self._memory(filter_program)
        theirs = (status, block, given, rules)
        options = {"--args": given, "--seccomp": rules, "--info-fd": status, "--block-fd": block}
        own = [text for name, fd in options.items() for text in (name, str(fd))]
        self._child = subprocess.Popen(
            [program, *own, "--", *self._command.argv],
            stdin=self._pipes.child_input,
            stdout=self._pipes.child_output,
            stderr=self._pipes.child_error,
            pass_fds=theirs,
            env={},
            start_new_session=True,
        )
        for fd in theirs:
            self._close(fd)
        self._pipes.close_theirs()

    async def init_pid(self) -> int:
        """The sandbox's pid 1 as we see it. May raise ToolFailure when there is none."""
        line = b""
        with anyio.move_on_after(_READY_WITHIN):
            while b"}" not in line:
                await anyio.wait_readable(self._status)
                data = os.read(self._status, 4096)
                if not data:
                    break
                line += data
        if b"}" not in line:
            raise ToolFailure("unsupported", self._complaint())
        return int(json.loads(line)["child-pid"])

    def running(self, tree: NamespaceTree) -> RunningProcess:
        if self._child is None:
            raise RuntimeError("nothing was spawned")
        process = RunningProcess(self._child, self._pipes, tree, self._command)
        os.write(self._go, b"\n")
        return process

    def abandon(self) -> None:
        """End bubblewrap and what it has begun.

        It is stopped first: one that is merely killed may leave a child that does not yet know that it
        shall die with its parent.
        """
        if self._child is None or self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        for pid in _children(self._child.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._child.kill()
        self._child.wait()

    def _complaint(self) -> str:
        try:
            said = os.read(self._pipes.output if self._pipes.error is None else self._pipes.error, 2000)
        except BlockingIOError:
            said = b""
        return said.decode(errors="replace").strip() or "bubblewrap did not start in time."

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        return ends

    def _memory(self, data: bytes) -> int:
        fd = os.memfd_create("sandbox", os.MFD_CLOEXEC)
        self._open.add(fd)
        with os.fdopen(os.dup(fd), "wb") as writer:
            writer.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def _close(self, fd: int) -> None:
        self._open.discard(fd)
        os.close(fd)


def _children(parent: int) -> list[int]:
    """Processes that a process has started and that have not been handed on."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == parent]


def _parent(name: str) -> int | None:
    try:
        with open(f"/proc/{name}/stat", "rb") as stat:
            return int(stat.read().rpartition(b") ")[2].split()[1])
    except OSError:
        return None
