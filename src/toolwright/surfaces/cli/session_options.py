"""What ``run`` and ``chat`` share: the options of a session, its engine, and which session is meant."""

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolwright.contracts.errors import SettingsError

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider
    from toolwright.contracts.permissions import Mode
    from toolwright.surfaces.approving import Approve
    from toolwright.surfaces.engine import Engine, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a person typed."""

    folder: str = "."
    model: str = ""
    agent: str = ""
    mode: str = ""
    toolset: str = ""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_rounds: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    tools: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    continues: bool = False
    resume: str = ""


def engine_for(
    options: SessionOptions,
    *,
    approve: "Approve | None" = None,
    answers_later: bool = False,
    provider: "ModelProvider | None" = None,
) -> "Engine":
    """Return the engine that a person wants, not open yet; ``provider`` is asked instead of a model by name.

    May raise ToolwrightError.
    """
    from toolwright.surfaces.cli.modules import tools_of
    from toolwright.surfaces.engine import Engine

    if options.continues and options.resume:
        raise SettingsError("--continue and --resume exclude each other.")
    folder = _folder(options.folder)
    settings = _settings(options)
    if provider is None:
        _refuse_no_model(folder, settings, options)
    own = tuple(tool for module in options.tools for tool in tools_of(module))
    return Engine(
        model=provider or options.model,
        workspace=folder,
        agent=options.agent,
        tools=(*_all_builtins(), *own) if own else None,
        allow=options.allow,
        ask=options.ask,
        deny=options.deny,
        mode=_mode(options.mode),
        approve=approve,
        answers_later=answers_later,
        vaults=options.vaults,
        settings=settings,
    )


async def session_of(engine: "Engine", options: SessionOptions) -> "Session":
    """Return the session meant: the last one, a named one, or a new one. May raise ToolwrightError."""
    from toolwright.sessions.finding import session_meant

    if options.continues:
        cards = await engine.sessions(limit=1)
        if not cards:
            raise SettingsError("there is no session to continue in this folder; start one with a task.")
        session = await engine.open(cards[0].session_id)
    elif options.resume:
        session = await engine.open(await session_meant(engine.works.store, options.resume))
    else:
        session = await engine.session()
    await _choose_model(session, options.model)
    return session


def short_id(session_id: str) -> str:
    """Return as much of an id as a person needs to type."""
    return session_id.removeprefix("session_")[:8]


def way_back(command: str, folder: str, session_id: str) -> str:
    """Say which session it was, and how a command goes on with it."""
    short = short_id(session_id)
    there = "" if folder == "." else f"--dir {shlex.quote(folder)} "
    return f"session {short} · go on with: toolwright {command} {there}--resume {short}"


async def _choose_model(session: "Session", model: str) -> None:
    """Let a model that was named be that of the session, also when it is resumed without naming it."""
    if model and (await session.state()).conversation.model != model:
        await session.choose_model(model)


def _refuse_no_model(folder: str, settings: dict[str, Any], options: SessionOptions) -> None:
    """Say at once that nobody can be asked, before a session begins that cannot go on."""
    from toolwright.settings import load
    from toolwright.wiring.models import default_choice, meant

    if options.model or not (options.agent or options.continues or options.resume):
        loaded = load(folder, environ=dict(os.environ), cli=settings)
        meant(loaded, options.model or default_choice(loaded).written)


def _folder(given: str) -> str:
    from toolwright.workspaces.roots import refuse_unfit

    folder = os.path.realpath(given)
    if not os.path.isdir(folder):
        raise SettingsError(f"there is no folder {folder}.")
    try:
        refuse_unfit([folder])
    except SettingsError as problem:
        raise SettingsError(f"{problem} Name another folder with --dir.") from None
    return folder


def _settings(options: SessionOptions) -> dict[str, Any]:
    limits = {
        "rounds": options.max_rounds,
        "calls": options.max_calls,
        "cost": options.max_cost,
        "seconds": options.max_seconds,
    }
    given = {name: value for name, value in limits.items() if value is not None}
    settings: dict[str, Any] = {"limits": given} if given else {}
    if options.toolset:
        settings["tools"] = {"toolset": options.toolset}
    return settings


def _mode(written: str) -> "Mode":
    from toolwright.tool_calls.permissions.modes import mode_named

    mode = mode_named(written or "default")
    if mode is None:
        raise SettingsError(
            f"there is no mode {written!r}: default, acceptEdits, plan, dontAsk, bypassPermissions."
        )
    return mode


def _all_builtins() -> list[str]:
    from toolwright.wiring import describe_builtins

    return [spec.name for spec in describe_builtins()]
