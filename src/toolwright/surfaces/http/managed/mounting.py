"""What a session finds below ``/mnt``: files that it was given, and a place for those that it makes."""

import os
import re
import unicodedata
from collections.abc import AsyncIterator
from typing import Final

from anyio.to_thread import run_sync

from toolwright.contracts.mounts import Mount
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.managed import outputs
from toolwright.surfaces.http.problems import Problem

UPLOADS: Final = "/mnt/session/uploads"
OUTPUTS: Final = "/mnt/session/outputs"
_GIVEN: Final = "uploads"
_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_LONGEST_PART: Final = 255


def path_of(written: str | None, file_id: str) -> str:
    """Return where a file is mounted: whatever is written lies below one folder. May raise Problem."""
    path = unicodedata.normalize("NFC", written or file_id)
    parts = path.removeprefix(UPLOADS).strip("/").split("/")
    fits = all(part not in {"", ".", ".."} and len(part.encode()) <= _LONGEST_PART for part in parts)
    if _UNFIT.search(path) or not fits:
        raise Problem("invalid", f"mount_path: {path[:80]!r} is no path below {UPLOADS}")
    return "/".join((UPLOADS, *parts))


def check_apart(paths: "list[str]") -> None:
    """Raise Problem where two files would lie at one path, or one inside another."""
    known = set(paths)
    if len(known) < len(paths):
        raise Problem("invalid", "mount_path: two files would lie at one path")
    for path in paths:
        above = os.path.dirname(path)
        while len(above) > len(UPLOADS):
            if above in known:
                raise Problem("invalid", f"mount_path: {above} is a file already")
            above = os.path.dirname(above)


def usual_mounts(house: House, session_id: str) -> tuple[Mount, ...]:
    """Return what every session finds. Makes nothing."""
    folder = house.mounts_of(session_id)
    return (
        Mount(
            path=UPLOADS,
            folder=os.path.join(folder, _GIVEN),
            about="Files that the user gave you for this session.",
        ),
        Mount(
            path=OUTPUTS,
            folder=os.path.join(folder, outputs.FOLDER),
            writable=True,
            about="What you write here the user can download. Put finished files here.",
        ),
    )


async def make_folders(mounts: "tuple[Mount, ...]") -> None:
    """Make the folders of mounts."""

    def work() -> None:
        for mount in mounts:
            os.makedirs(mount.folder, mode=0o700, exist_ok=True)

    await run_sync(work)


def place_of(house: House, session_id: str, path: str) -> str:
    """Return where a mounted file lies on this machine."""
    return os.path.join(house.mounts_of(session_id), _GIVEN, path.removeprefix(UPLOADS).lstrip("/"))


async def lay(place: str, pieces: AsyncIterator[bytes]) -> None:
    """Write a file in pieces where nothing is. May raise FileExistsError, OSError."""
    await run_sync(lambda: os.makedirs(os.path.dirname(place), exist_ok=True))
    with await run_sync(open, place, "xb") as file:
        async for piece in pieces:
            await run_sync(file.write, piece)
        await run_sync(file.flush)
        await run_sync(os.fsync, file.fileno())


async def take_away(place: str) -> None:
    """Remove a mounted file, and folders that held nothing else. Safe to repeat."""

    def work() -> None:
        try:
            os.unlink(place)
            folder = os.path.dirname(place)
            while os.path.basename(folder) != _GIVEN:
                os.rmdir(folder)
                folder = os.path.dirname(folder)
        except OSError:
            return  # it is not there, or the folder holds more

    await run_sync(work)
