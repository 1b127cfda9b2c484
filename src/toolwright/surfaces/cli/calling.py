"""The work behind ``toolwright call``."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
import orjson

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.ids import new_id
from toolwright.contracts.tool import CallResult, Failed, Tool, ToolCall
from toolwright.settings import Loaded, load
from toolwright.surfaces.cli.asking import Nobody, TerminalApprover
from toolwright.surfaces.cli.modules import tools_of
from toolwright.surfaces.cli.showing import Screen
from toolwright.surfaces.rendering.session_items import FRAMES_PER_SECOND
from toolwright.tool_calls.permissions.modes import mode_named
from toolwright.wiring import House, Wanted, build
from toolwright.wiring.skills import LoneAsker, SessionSkills, project_skills
from toolwright.workspaces.roots import refuse_unfit

Form = Literal["terminal", "plain", "json", "raw"]
REFUSALS = frozenset(
    {"permission_denied", "rejected_by_user", "approval_unavailable", "hook_blocked", "classifier_blocked"}
)
DONE, FAILED, REFUSED, INTERRUPTED = 0, 1, 3, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person typed."""

    name: str
    input: str
    form: Form
    folder: str
    batch: str = ""
    mode: str = ""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    toolset: str = ""
    modules: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    session: str = "local"
    may_ask: bool = True
    screen_reader: bool = False
    skill: str = ""
    """The skill that is to be run, offered as a tool or not."""


def run(request: Request) -> int:
    """Carry out what was asked for and return the exit code. May raise ToolwrightError."""
    return anyio.run(_run, request)


async def _run(request: Request) -> int:
    calls = _calls(request)
    screen = Screen(request.form, os.environ, screen_reader=request.screen_reader)
    house = _house(request, screen)
    if not calls:
        screen.notice(f"{request.batch} holds no calls.")
    for notice in house.notices:
        screen.notice(notice)
    try:
        with screen:
            results, interrupted = await _results(house, calls, screen, one=bool(request.name))
    finally:
        await house.close()
    screen.show(house, results)
    if interrupted:
        screen.notice("interrupted; what the calls had started was ended.")
        return INTERRUPTED
    return exit_code(results)


def _house(request: Request, screen: Screen) -> House:
    asks = request.may_ask and sys.stdin.isatty()
    folder = _folder(request)
    loaded = load(folder, environ=dict(os.environ), cli=_settings(request))
    asker = LoneAsker(loaded)
    wanted = Wanted(
        tools=_own_tools(request.modules),
        skills=_skills(loaded, request.skill),
        helper=asker,
        session=_session(request.session),
        approver=TerminalApprover(screen) if asks else Nobody(),
        sink=screen,
        bypass_enabled=request.mode == "bypassPermissions",
    )
    try:
        refuse_unfit([folder])
    except SettingsError as problem:
        raise SettingsError(f"{problem} Name another folder with --dir.") from None
    house = build(loaded, wanted)
    house.ports.stack.push_async_callback(asker.close)
    return house


def _skills(loaded: Loaded, wanted: str) -> SessionSkills:
    """The skills of the project; one that is to be run is the only one, and a tool.

    May raise DefinitionError, SettingsError.
    """
    known = project_skills(loaded)
    if not wanted:
        return SessionSkills(known)
    one = known.find(wanted)
    if not one.skill.can_run:
        remedy = (
            "Trust its project first (toolwright trust)." if not one.skill.trusted else "It is only read."
        )
        raise SettingsError(f"the skill {wanted!r} cannot be run. {remedy}")
    return SessionSkills(replace(known, skills=(replace(one, skill=replace(one.skill, exposed=True)),)))


async def _results(
    house: House, calls: list[ToolCall], screen: Screen, *, one: bool
) -> tuple[tuple[CallResult, ...], bool]:
    """Return the results, and whether the person interrupted the calls."""
    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async with anyio.create_task_group() as group:
            interrupted = anyio.Event()
            group.start_soon(_interrupting, house, signals, interrupted)
            group.start_soon(_ticking, screen)
            results = (await house.call(calls[0]),) if one else (await house.batch(calls)).results
            group.cancel_scope.cancel()
    return results, interrupted.is_set()


async def _ticking(screen: Screen) -> None:
    while True:
        screen.tick()
        await anyio.sleep(1 / FRAMES_PER_SECOND)


async def _interrupting(
    house: House, signals: AsyncIterator[signal.Signals], interrupted: anyio.Event
) -> None:
    """Stop the calls at the first Ctrl-C; a second one gives up waiting for them."""
    async for _ in signals:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        house.pipeline.interrupt()


def exit_code(results: Iterable[CallResult]) -> int:
    """Return the worst of: done, failed, refused."""
    code = DONE
    for result in results:
        if isinstance(result.outcome, Failed):
            code = max(code, REFUSED if result.outcome.code in REFUSALS else FAILED)
    return code


# --- what was typed -------------------------------------------------------------------------


def _calls(request: Request) -> list[ToolCall]:
    if request.name:
        text = _text("-") if request.input == "-" else request.input
        return [ToolCall(new_id("call"), request.name, text)]
    lines = enumerate(_text(request.batch).splitlines(), 1)
    return [_line(number, text) for number, text in lines if text.strip()]


def _text(path: str) -> str:
    """Return what stands in a file; ``-`` is standard input."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode()
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as problem:
        raise SettingsError(f"{path} cannot be read: {problem.strerror}.") from problem
    except UnicodeDecodeError as problem:
        where = "standard input" if path == "-" else path
        raise SettingsError(f"{where} is no UTF-8 text: {problem.reason} at byte {problem.start}.") from None


def _line(number: int, text: str) -> ToolCall:
    try:
        line = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise SettingsError(f"line {number} is no JSON: {problem}.") from problem
    if not isinstance(line, dict) or not isinstance(line.get("name"), str):
        raise SettingsError(f'line {number} must be an object like {{"name": "read", "input": {{}}}}.')
    if unknown := line.keys() - {"id", "name", "input"}:
        raise SettingsError(f"line {number}: unknown key {min(unknown)!r}; known: id, name, input.")
    given = line.get("input", {})
    return ToolCall(str(line.get("id") or new_id("call")), line["name"], given)


def _folder(request: Request) -> str:
    folder = os.path.realpath(request.folder)
    if not os.path.isdir(folder):
        raise SettingsError(f"there is no folder {folder}.")
    return folder


def _session(name: str) -> str:
    if not name or not all(char.isalnum() or char in "-_" for char in name):
        raise SettingsError("a session is named by letters, digits, '-' and '_'.")
    return name


def _settings(request: Request) -> dict[str, Any]:
    return settings_written(
        allow=request.allow,
        ask=request.ask,
        deny=request.deny,
        mode=request.mode,
        toolset=request.toolset,
        features=request.features,
    )


def settings_written(
    *,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    deny: tuple[str, ...],
    mode: str,
    toolset: str,
    features: tuple[str, ...],
) -> dict[str, Any]:
    """Return as settings what a person wrote on the command line. May raise SettingsError."""
    rules = {"allow": allow, "ask": ask, "deny": deny}
    permissions: dict[str, Any] = {name: list(texts) for name, texts in rules.items() if texts}
    if mode:
        known = mode_named(mode)
        if known is None:
            raise SettingsError(
                f"there is no mode {mode!r}: default, acceptEdits, plan, dontAsk, bypassPermissions."
            )
        permissions["mode"] = known
    settings: dict[str, Any] = {"permissions": permissions} if permissions else {}
    if toolset:
        settings["tools"] = {"toolset": toolset}
    if features:
        settings["features"] = dict(_gate(text) for text in features)
    return settings


def _gate(text: str) -> tuple[str, bool]:
    name, _, value = text.partition("=")
    if value not in {"", "on", "off"}:
        raise SettingsError(f"--feature {text}: write NAME, NAME=on or NAME=off.")
    return name, value != "off"


def _own_tools(modules: tuple[str, ...]) -> tuple[Tool, ...]:
    return tuple(tool for module in modules for tool in tools_of(module))
