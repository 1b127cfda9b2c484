"""The work behind ``toolwright sessions fork`` and ``rm``."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from toolwright.contracts.errors import SettingsError
from toolwright.sessions.finding import session_meant
from toolwright.surfaces.cli.session_options import short_id
from toolwright.surfaces.cli.stored import meant, opened
from toolwright.surfaces.rendering.safety import EVERYDAY


async def fork(words: str, folder: str, at: int | None, title: str) -> None:
    """Begin a session with what another one holds, and print its id. May raise ToolwrightError."""
    async with opened(folder) as (loaded, sessions):
        session_id = await meant(sessions, loaded, words)
        new = await sessions.fork(session_id, at=at, title=title)
    print(new)
    print(f'go on with: toolwright run --resume {short_id(new)} "…"', file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Going:
    """A session that shall be removed."""

    session_id: str
    title: str
    children: int


async def going(written: Sequence[str], folder: str) -> list[Going]:
    """Return the sessions that are meant. May raise ToolwrightError."""
    async with opened(folder) as (_, sessions):
        ids = [await session_meant(sessions.store, words) for words in written]
        return [
            Going(
                session_id,
                (await sessions.store.card(session_id)).title,
                len(await sessions.family(session_id)) - 1,
            )
            for session_id in dict.fromkeys(ids)
        ]


def confirmed(sessions: Sequence[Going]) -> bool:
    """Ask the person at the terminal. Raises SettingsError where there is none."""
    if not sys.stdin.isatty():
        raise SettingsError("nobody can be asked here: add --yes to remove them.")
    for one in sessions:
        with_children = f" and its children ({one.children})" if one.children else ""
        print(f"{short_id(one.session_id)} {EVERYDAY.line(one.title)}{with_children}", file=sys.stderr)
    what = "this session" if len(sessions) == 1 else f"these {len(sessions)} sessions"
    if typer.confirm(f"Remove {what} for good?", err=True):
        return True
    print("Nothing was removed.", file=sys.stderr)
    return False


async def remove(sessions: Sequence[Going], folder: str) -> None:
    """Remove sessions with their children and files. May raise ToolwrightError."""
    from toolwright.wiring.storage import remove_with_files

    gone: set[str] = set()
    async with opened(folder) as (loaded, service):
        for one in sessions:
            if one.session_id not in gone:  # it may have been the child of one before it
                gone.update(await remove_with_files(service, loaded, one.session_id))
    print(f"{len(gone)} session{'' if len(gone) == 1 else 's'} removed")
