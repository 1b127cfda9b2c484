"""Running ripgrep on an open directory handle, bounded in time and output."""

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import anyio
from anyio.abc import Process

MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """What ripgrep printed; ``cut`` says which bound ended it early."""

    code: int
    out: bytes
    err: str
    cut: Literal["time", "size"] | None = None


@lru_cache(maxsize=1)
def find_ripgrep() -> str | None:
    """Return the ``rg`` of this installation, else of the system, else None."""
    bundled = os.path.join(sysconfig.get_path("scripts"), "rg")
    return bundled if os.access(bundled, os.X_OK) else shutil.which("rg")


async def run_ripgrep(
    program: str,
    arguments: Sequence[str],
    *,
    directory: int,
    handles: Sequence[int] = (),
    seconds: float = 20.0,
    most_bytes: int = MOST_BYTES,
) -> Run:
    """Run ``rg`` inside the directory behind the handle ``directory``; links are never followed."""
    process = await anyio.open_process(
        [program, "--no-config", "--no-follow", "--no-messages", *arguments],
        stdin=subprocess.DEVNULL,
        cwd=f"/proc/self/fd/{directory}",
        env={"LANG": "C.UTF-8"},
        pass_fds=tuple(handles),
    )
    out = bytearray()
    err = bytearray()
    cut: Literal["time", "size"] | None = None
    try:
        with anyio.move_on_after(seconds) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(_collect, process, "stderr", err, 64 * 1024)
                await _collect(process, "stdout", out, most_bytes)
                if len(out) >= most_bytes:
                    cut = "size"
                    process.kill()
            await process.wait()
        if scope.cancelled_caught:
            cut = "time"
    finally:
        await _end(process)
    return Run(process.returncode or 0, bytes(out), err.decode("utf-8", "replace").strip(), cut)


async def _collect(process: Process, stream: Literal["stdout", "stderr"], into: bytearray, most: int) -> None:
    source = getattr(process, stream)
    async for chunk in source:
        into.extend(chunk[: most - len(into)])
        if len(into) >= most and stream == "stdout":
            return


async def _end(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.aclose()
