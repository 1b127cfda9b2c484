"""Where the logs of sessions are kept, and what opens, checks and copies them."""

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from anyio.to_thread import run_sync

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.ids import new_id

if TYPE_CHECKING:
    from toolwright.backends.storage.sqlite import SqliteEvents
    from toolwright.contracts.storage import DatabaseReport
    from toolwright.sessions.journal import Journal
    from toolwright.sessions.live import Furnished
    from toolwright.sessions.service import Sessions
    from toolwright.settings import Loaded

DATABASE: Final = "toolwright.db"
_IGNORED: Final = f"/{DATABASE}*\n/sessions/\n/mounts/\n/settings.local.json\n/.gitignore\n"


def database_path(loaded: "Loaded") -> str:
    """Return the file that keeps the logs of a project's sessions, whether it is there yet or not."""
    return os.path.join(loaded.data_folder, DATABASE)


def make_data_folder(loaded: "Loaded") -> None:
    """Make the folder of the database. In a project, what is kept there is hidden from git and searches.

    Blocking. May raise OSError.
    """
    folder = loaded.data_folder
    os.makedirs(folder, mode=0o700, exist_ok=True)
    ignoring = os.path.join(folder, ".gitignore")
    if os.path.dirname(folder) == loaded.project and not os.path.lexists(ignoring):
        with open(ignoring, "w", encoding="utf-8") as file:
            file.write(_IGNORED)


def session_folder(loaded: "Loaded", session_id: str) -> str:
    """Return the folder in which a session keeps its files: large results, what calls leave behind."""
    return os.path.join(loaded.data_folder, "sessions", session_id)


def mounts_folder(loaded: "Loaded", session_id: str) -> str:
    """Return the folder that holds what is mounted for one session alone."""
    return os.path.join(loaded.data_folder, "mounts", session_id)


def open_events(path: str) -> "SqliteEvents":
    """Return the store in a file. It is an async context; entering it makes the file and migrates it."""
    from toolwright.backends.storage.sqlite import SqliteEvents

    return SqliteEvents(path)


@asynccontextmanager
async def sessions_at_rest(loaded: "Loaded") -> "AsyncIterator[Sessions]":
    """Open the sessions of a project to look into them, fork and remove them. None of them is run."""
    from toolwright.backends.clock.system import SystemClock
    from toolwright.backends.dispatch.in_process import InProcessDispatch
    from toolwright.sessions.service import Sessions

    async with open_events(database_path(loaded)) as store:
        sessions = Sessions(
            store, InProcessDispatch(), clock=SystemClock(), furnish=_nothing, owner=new_id("visitor")
        )
        try:
            yield sessions
        finally:
            await sessions.close()


async def remove_with_files(sessions: "Sessions", loaded: "Loaded", session_id: str) -> Sequence[str]:
    """Remove a session, its children and the files of all of them; return the ids of what went.

    May raise SessionBusy, UnknownSession, StoreUnavailable, or OSError for files that cannot be removed.
    """
    family = await sessions.family(session_id)
    await sessions.remove(session_id)
    places = (session_folder, mounts_folder)
    await run_sync(_remove_folders, [place(loaded, member) for member in family for place in places])
    return family


def _remove_folders(folders: Sequence[str]) -> None:
    for folder in folders:
        if os.path.lexists(folder):
            shutil.rmtree(folder)


def check_database(path: str) -> "DatabaseReport":
    """Check a database and every log in it, changing nothing. May raise StoreUnavailable."""
    from toolwright.backends.storage.sqlite.checking import checked

    return checked(path)


def back_up(path: str, target: str) -> None:
    """Copy a database while it is in use. May raise StoreUnavailable; never writes over anything."""
    from toolwright.backends.storage.sqlite import copying

    copying.back_up(path, target)


def restore(backup: str, path: str) -> str:
    """Put a backup in the place of a database; return where that one is now. May raise StoreUnavailable."""
    from toolwright.backends.storage.sqlite import copying

    return copying.put_in_place(backup, path)


async def _nothing(journal: "Journal") -> "Furnished":
    raise EngineFault(f"session {journal.state.session_id} was opened to be looked at, not to be run")
