"""Everything that runs in one sandbox: it ends when the first process of its pid namespace ends."""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import Callable, Iterator

from toolwright.backends.sandboxes.bubblewrap.cgroups import Group
from toolwright.contracts.ports import Limits


class NamespaceTree:
    """Implements ``Tree`` by the sandbox's own pid 1, which the kernel ends together with all others."""

    def __init__(self, init_pid: int, group: Group | None) -> None:
        self._pid = init_pid
        self._pidfd: int | None = os.pidfd_open(init_pid)
        self._group = group

    def interrupt(self, number: int) -> None:
        """Signal the sandbox's session; its pid 1 is immune to all but a kill.

        As long as it is alone the command has not begun yet, and there is nobody to ask politely.
        """
        if _has_begun(self._pid):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, number)
        else:
            self.kill()

    def kill(self) -> None:
        if self._pidfd is None:
            return
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return

    def clear(self, done: Callable[[], None]) -> None:
        self.kill()
        if self._pidfd is None:
            done()
            return
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pidfd, self._gone, loop, done)

    def _gone(self, loop: asyncio.AbstractEventLoop, done: Callable[[], None]) -> None:
        if self._pidfd is not None:
            loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)  # it became ours if we are the first process of a container
        done()

    def over_memory(self) -> bool:
        return self._group is not None and self._group.killed_for_memory()

    def release(self) -> None:
        if self._group is not None:
            self._group.remove()


def _has_begun(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as children:
            return bool(children.read().strip())
    except OSError:
        return True


def limit(pid: int, limits: Limits) -> None:
    """Bound one process and all it will start. May raise OSError."""
    for kind, wanted in _values(limits):
        _, hard = resource.prlimit(pid, kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.prlimit(pid, kind, (value, value))


def _values(limits: Limits) -> Iterator[tuple[int, int]]:
    """``RLIMIT_DATA`` and not ``RLIMIT_AS``: reserving address space without using it does no harm,
    and several language runtimes start with reserving a lot."""
    yield resource.RLIMIT_CORE, 0
    yield resource.RLIMIT_CPU, limits.cpu_seconds
    yield resource.RLIMIT_DATA, limits.memory
    yield resource.RLIMIT_FSIZE, limits.file_size
    yield resource.RLIMIT_NOFILE, limits.open_files
    yield resource.RLIMIT_NPROC, limits.processes
