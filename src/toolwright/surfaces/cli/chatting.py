"""The work behind ``toolwright chat``."""

import os
import sys
from dataclasses import dataclass, replace

import anyio

from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.cli.session_options import SessionOptions, engine_for, session_of, way_back
from toolwright.surfaces.rendering.calls import Verbosity

_GRACE = 0.5
_TO_BE_PICKED = "to be picked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a person typed that concerns one conversation only."""

    task: str = ""
    pick: bool = False
    details: Verbosity = "normal"
    screen_reader: bool = False


def chat_at_terminal(request: ChatRequest, options: SessionOptions) -> None:
    """Talk until the person leaves. May raise ToolwrightError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError('chat needs a terminal; without one use toolwright run "TASK".')
    if os.environ.get("TERM", "") in {"", "dumb", "unknown"}:
        raise SettingsError('this terminal cannot be drawn on (see TERM); use toolwright run "TASK".')
    if request.pick and (options.continues or options.resume):
        raise SettingsError("--pick, --continue and --resume exclude each other.")
    left = anyio.run(_chat, request, options)
    if left is not None:
        print(way_back("chat", options.folder, left))


async def _chat(request: ChatRequest, options: SessionOptions) -> str | None:
    """Talk; return the id of the session that was talked to last, None when nothing is left of it."""
    from toolwright.surfaces.chat.talking import picked, talked

    if request.pick:
        options = replace(options, resume=_TO_BE_PICKED)
    async with engine_for(options, answers_later=True) as engine:
        if request.pick:
            chosen = await picked(engine, screen_reader=request.screen_reader)
            if chosen is None:
                return None
            options = replace(options, resume=chosen)
        left = await talked(
            engine,
            await session_of(engine, options),
            first=request.task,
            details=request.details,
            screen_reader=request.screen_reader,
        )
        await engine.close(grace=_GRACE)
        return left
