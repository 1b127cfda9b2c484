"""A way out of a sandbox without network: one socket of the engine's gate, bound into it."""

import asyncio
import importlib.resources
import logging
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import Command

_LOG = logging.getLogger(__name__)

OpenProxy = Callable[[NetworkAccess], AbstractAsyncContextManager[str]]
"""Open a filtering proxy for one process; the value is the path of its UNIX socket."""

SOCKET_INSIDE: Final = "/run/toolwright/gate.sock"
_PORT: Final = 3128
_PYTHONS: Final = ("/usr/bin/python3", "/usr/local/bin/python3")


class ProxyHold:
    """Keeps one proxy open while a process lives. Its own task enters and leaves the context."""

    def __init__(self, open_proxy: OpenProxy, network: NetworkAccess) -> None:
        self._done = asyncio.Event()
        self._path: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(open_proxy, network))
        self._task.add_done_callback(self._settled)

    async def path(self) -> str:
        """The socket's path. May raise what opening the proxy raises."""
        await asyncio.wait((self._path, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not self._path.done():
            self._task.result()
        return self._path.result()

    def release(self) -> None:
        """Let the proxy close. Safe to repeat."""
        self._done.set()

    def on_closed(self, call: Callable[[], None]) -> None:
        """Call this once the proxy is closed."""
        self._task.add_done_callback(lambda _: call())

    async def closed(self) -> None:
        """Return once the proxy is closed."""
        self.release()
        await asyncio.wait([self._task])

    async def _hold(self, open_proxy: OpenProxy, network: NetworkAccess) -> None:
        async with open_proxy(network) as path:
            self._path.set_result(path)
            await self._done.wait()

    def _settled(self, task: asyncio.Task[None]) -> None:
        """A failure after the start has nobody else to tell."""
        failure = None if task.cancelled() else task.exception()
        if failure is not None and self._path.done():
            _LOG.error("a sandbox's proxy did not close well", exc_info=failure)


def inside_python() -> str:
    """The Python that the sandbox can see. May raise ToolFailure."""
    for path in _PYTHONS:
        if os.access(path, os.X_OK):
            return path
    raise ToolFailure(
        "unsupported",
        "A sandboxed command needs /usr/bin/python3 on this machine to reach the network.",
        hint="Install the system's python3 package, or run the command without network.",
    )


def forwarded(command: Command) -> tuple[str, ...]:
    """The argument vector that starts the forwarder and then becomes the command."""
    forwarder = importlib.resources.files(__package__).joinpath("forward.py").read_text("utf-8")
    first = (inside_python(), "-I", "-S", "-c", forwarder, SOCKET_INSIDE, str(_PORT))
    wait_then_become = (
        f'"$1" "$2" "$3" "$4" "$5" "$6" "$7" </dev/null || exit 125; shift {len(first)}; exec "$@"'
    )
    return ("/bin/sh", "-c", wait_then_become, "sh", *first, *command.argv)


def proxy_variables() -> dict[str, str]:
    """Environment that makes ordinary programs use the forwarder."""
    address = f"http://127.0.0.1:{_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    return dict.fromkeys(names, address)
