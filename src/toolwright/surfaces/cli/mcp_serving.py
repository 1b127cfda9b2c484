"""The work behind ``toolwright mcp serve``."""

import asyncio
import difflib
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.errors import SettingsError
from toolwright.settings import Loaded, load
from toolwright.surfaces.cli.calling import settings_written
from toolwright.surfaces.cli.modules import tools_of
from toolwright.surfaces.mcp.offering import Offering
from toolwright.wiring.house import describe_builtins
from toolwright.workspaces.roots import refuse_unfit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person typed."""

    environ: Mapping[str, str]
    folder: str
    names: tuple[str, ...] | None
    modules: tuple[str, ...]
    agents: bool
    skills: bool
    model: str
    mode: str
    allow: tuple[str, ...]
    ask: tuple[str, ...]
    deny: tuple[str, ...]
    toolset: str
    features: tuple[str, ...]


def run(asked: Asked) -> None:
    """Serve until the client has gone. May raise ToolwrightError."""
    loaded = _loaded(asked)
    for notice in loaded.notices:
        print(f"toolwright: {notice}", file=sys.stderr)
    offering = Offering(
        tools=tuple(tool for module in asked.modules for tool in tools_of(module)),
        builtins=_names(asked.names),
        agents=asked.agents,
        skills=asked.skills,
        bypass_enabled=asked.mode == "bypassPermissions",
    )
    asyncio.run(_serve(loaded, offering, asked.model))


async def _serve(loaded: Loaded, offering: Offering, model: str) -> None:
    from toolwright.surfaces.mcp.stdio import serve_stdio

    task = asyncio.ensure_future(serve_stdio(loaded, offering, model=model))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def _loaded(asked: Asked) -> Loaded:
    folder = os.path.realpath(asked.folder)
    if not os.path.isdir(folder):
        raise SettingsError(f"there is no folder {folder}.")
    try:
        refuse_unfit([folder])
    except SettingsError as problem:
        raise SettingsError(f"{problem} Name another folder with --dir.") from None
    spoken: dict[str, Any] = settings_written(
        allow=asked.allow,
        ask=asked.ask,
        deny=asked.deny,
        mode=asked.mode,
        toolset=asked.toolset,
        features=asked.features,
    )
    if asked.model:
        spoken["model"] = asked.model
    return load(folder, environ=asked.environ, cli=spoken)


def _names(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return names of built-in tools, each of which there is. May raise SettingsError."""
    if names is None:
        return None
    known = {name for spec in describe_builtins() for name in (spec.name, *spec.aliases)}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`toolwright tools list` shows all"
            raise SettingsError(f"there is no built-in tool {name!r}; {hint}")
    return names
