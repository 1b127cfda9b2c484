"""The stored sessions of a project, as commands look at them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.storage import UnknownSession

if TYPE_CHECKING:
    from toolwright.sessions.service import Sessions
    from toolwright.settings import Loaded

Folder = Annotated[str, typer.Option("--dir", metavar="FOLDER", help="The folder whose sessions are meant.")]


def existing_sessions(folder: str = ".") -> "Loaded":
    """Return the settings of a project that has sessions. Raises UnknownSession when it has none yet."""
    loaded = settings_here(folder)
    if not has_sessions(loaded):
        raise UnknownSession(f"There are no sessions yet in {loaded.data_folder}.")
    return loaded


def settings_here(folder: str = ".") -> "Loaded":
    """Return the settings of a folder, by default that in which the command is called."""
    from toolwright import settings

    project = os.path.realpath(folder)
    if not os.path.isdir(project):
        raise SettingsError(f"there is no folder {project}.")
    return settings.load(project, environ=os.environ)


def has_sessions(loaded: "Loaded") -> bool:
    """Whether a database is there; opening one would make it."""
    from toolwright.wiring.storage import database_path

    return os.path.exists(database_path(loaded))


async def meant(sessions: "Sessions", loaded: "Loaded", words: str) -> str:
    """Return the id of the session a person means; without words the one of the folder that was used last.

    Raises UnknownSession.
    """
    from toolwright.sessions.finding import session_meant

    if words:
        return await session_meant(sessions.store, words)
    cards = await sessions.store.cards(project=loaded.project, limit=1)
    if not cards:
        raise UnknownSession(f"There are no sessions yet in {loaded.project}.")
    return cards[0].session_id


@asynccontextmanager
async def opened(folder: str) -> "AsyncIterator[tuple[Loaded, Sessions]]":
    """Open the sessions of a folder to look into them. Raises UnknownSession when there are none yet."""
    from toolwright.wiring.storage import sessions_at_rest

    loaded = existing_sessions(folder)
    async with sessions_at_rest(loaded) as sessions:
        yield loaded, sessions
