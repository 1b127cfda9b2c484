"""The work behind ``toolwright sessions export`` and ``verify``."""

import os
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Literal

from toolwright.contracts.errors import SettingsError
from toolwright.sessions.codec import decoded
from toolwright.sessions.exporting import checked, document_lines, exported_lines
from toolwright.surfaces.cli.output import exported_to
from toolwright.surfaces.cli.stored import meant, opened
from toolwright.surfaces.rendering.markdown import transcript_as_markdown

if TYPE_CHECKING:
    from toolwright.contracts.storage import EventStore
    from toolwright.settings import Loaded
    from toolwright.tool_calls.credentials import Masking

Format = Literal["json", "jsonl", "markdown"]


async def export(words: str, folder: str, form: Format, output: str | None) -> None:
    """Write a session and its children. May raise ToolwrightError."""
    async with opened(folder) as (loaded, sessions):
        session_id = await meant(sessions, loaded, words)
        family = await sessions.family(session_id)
        with exported_to(output) as file:
            async for line in _lines(sessions.store, family, form, _masking(loaded)):
                file.write(line)


def _masking(loaded: "Loaded") -> "Masking":
    from toolwright.tool_calls.credentials import Masking, secret_values

    environ = loaded.environ
    named = [provider.key_env for provider in loaded.settings.models.providers.values()]
    return Masking((*secret_values(environ), *(environ.get(name, "") for name in named)), formats=True)


async def _lines(
    store: "EventStore", family: Sequence[str], form: Format, scrub: "Masking"
) -> AsyncIterator[bytes]:
    match form:
        case "json":
            async for line in document_lines(store, family[0], family[1:], scrub=scrub):
                yield line
        case "jsonl":
            for member in family:
                async for line in exported_lines(store, member, scrub=scrub):
                    yield line
        case "markdown":
            for member in family:
                records = [decoded(member, entry) for entry in await store.read(member)]
                yield scrub(transcript_as_markdown(records)).encode()


def verify(path: str) -> bool:
    """Check an exported file, and say what was found. May raise SettingsError."""
    try:
        with open(path, "rb") as file:
            found = checked(file)
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror}.") from problem
    if found.problem or not found.entries:
        print(f"broken: {found.problem or 'there is no entry in ' + os.path.basename(path)}")
        return False
    sessions = "1 session" if found.sessions == 1 else f"{found.sessions} sessions"
    hidden = f"; {found.scrubbed} had secrets taken out and cannot be checked" if found.scrubbed else ""
    print(f"ok: {sessions} with {found.entries:,} entries, every hash fits{hidden}")
    return True
