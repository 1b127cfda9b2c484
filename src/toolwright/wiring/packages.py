"""Packages of an environment: put beside a session once, by the managers that are there, for its commands.

Nothing is installed into the machine. Each manager works locked in, as every command does, in a folder of
the session that all agents of it share, and reaches nothing but where packages come from.
"""

import json
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import anyio
from anyio.to_thread import run_sync

from toolwright.contracts.definitions import EnvironmentDefinition
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import PackagesInstalled
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import Command, Limits, Sandbox
from toolwright.settings.sections import PackageSettings
from toolwright.tools.commands.setup import SYSTEM_PATH

log = logging.getLogger(__name__)
ORDER: Final = ("apt", "cargo", "gem", "go", "npm", "pip")
FOLDER: Final = "packages"
_DONE: Final = "installed.json"
_WITHIN: Final = 600.0
_SHOWN: Final = 1_500
_LIMITS: Final = Limits(processes=512, cpu_seconds=1_200, output_kept=256 * 1024)
_NO_HOSTS: Final = "packages.hosts in the settings of the server names no host that they could come from"
_NEEDS_ROOT: Final = (
    "it installs into the machine and needs its root, which sessions are not given. Have it installed where "
    "the engine runs"
)


@dataclass(frozen=True, slots=True)
class _Manager:
    """How one manager installs into a folder of its own."""

    program: str
    words: tuple[str, ...]
    each: bool = False
    """It takes one package at a time."""
    env: Mapping[str, str] | None = None
    suffix: str = ""
    """Put behind a package that names no version."""


_MANAGERS: Final[Mapping[str, _Manager]] = {
    "cargo": _Manager("cargo", ("install", "--root", "{folder}"), env={"CARGO_HOME": "{folder}/home"}),
    "gem": _Manager(
        "gem", ("install", "--no-document", "--install-dir", "{folder}", "--bindir", "{folder}/bin")
    ),
    "go": _Manager(
        "go", ("install",), each=True, suffix="@latest",
        env={"GOBIN": "{folder}/bin", "GOPATH": "{folder}/path", "GOCACHE": "{folder}/cache"},
    ),
    "npm": _Manager(
        "npm", ("install", "--global", "--prefix", "{folder}", "--no-audit", "--no-fund"),
        env={"npm_config_cache": "{folder}/cache", "npm_config_update_notifier": "false"},
    ),
    "pip": _Manager(
        "python3",
        ("-m", "pip", "install", "--no-input", "--no-cache-dir", "--disable-pip-version-check",
         "--no-warn-script-location", "--target", "{folder}"),
    ),
}  # fmt: skip


def packages_folder(session_folder: str) -> str:
    """Return where the packages of a session lie; ``session_folder`` is that of the first of its family."""
    return os.path.join(session_folder, FOLDER)


def variables(folder: str, packages: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what commands need in their environment to find packages."""
    if not packages:
        return {}
    tools = [os.path.join(folder, manager, "bin") for manager in ORDER if manager in packages]
    found = {"PATH": ":".join([*tools, SYSTEM_PATH])}
    if "pip" in packages:
        found["PYTHONPATH"] = os.path.join(folder, "pip")
    if "npm" in packages:
        found["NODE_PATH"] = os.path.join(folder, "npm", "lib", "node_modules")
    if "gem" in packages:
        found["GEM_PATH"] = os.path.join(folder, "gem")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Installing:
    """Installs the packages of one session."""

    environment: EnvironmentDefinition
    folder: str
    sandbox: Sandbox
    settings: PackageSettings

    async def results(self) -> AsyncIterator[PackagesInstalled]:
        """Install what is not there yet, and yield what came of each manager.

        What was tried once is not tried again: a session that goes on has what it had.
        """
        done = await run_sync(_done, self.folder)
        for manager in ORDER:
            names = self.environment.packages.get(manager, ())
            if names and manager not in done:
                done[manager] = await self._install(manager, names)
                await run_sync(_note, self.folder, done)
                yield PackagesInstalled(manager=manager, packages=tuple(names), problem=done[manager])

    async def _install(self, name: str, packages: Sequence[str]) -> str:
        """Return what went wrong, nothing when all is there."""
        manager = _MANAGERS.get(name)
        if manager is None:
            return _NEEDS_ROOT
        if self.environment.network != "open" and not self._hosts:
            return _NO_HOSTS
        own = os.path.join(self.folder, name)
        named = [f"{package}{manager.suffix}" if "@" not in package else package for package in packages]
        try:
            await run_sync(partial(os.makedirs, own, mode=0o700, exist_ok=True))
            for some in [[package] for package in named] if manager.each else [named]:
                problem = await _run(self.sandbox, self._command(manager, own, some))
                if problem:
                    return problem
        except OSError as fault:
            return f"its folder cannot be written: {fault.strerror}"
        except ToolFailure as failure:
            return f"{manager.program} cannot be started: {failure.message}"
        return ""

    def _command(self, manager: _Manager, folder: str, packages: Sequence[str]) -> Command:
        words = [word.format(folder=folder) for word in manager.words]
        own = {name: value.format(folder=folder) for name, value in (manager.env or {}).items()}
        env = {"PATH": SYSTEM_PATH, "HOME": os.path.join(os.sep, "tmp"), "LANG": "C.UTF-8"}
        return Command(
            argv=(manager.program, *words, *packages),
            cwd=folder,
            env={**env, **own, **self.settings.environ},
            network=self._network,
            limits=_LIMITS,
            writable=(folder,),
        )

    @property
    def _network(self) -> NetworkAccess:
        if self.environment.network == "open":
            return NetworkAccess("public")
        return NetworkAccess("hosts", self._hosts)

    @property
    def _hosts(self) -> tuple[str, ...]:
        return (*self.settings.hosts, *self.environment.hosts)


async def _run(sandbox: Sandbox, command: Command) -> str:
    process = await sandbox.start(command)
    try:
        with anyio.fail_after(_WITHIN):
            end = await process.wait()
    except TimeoutError:
        return f"{command.argv[0]} took longer than {_WITHIN:g} seconds"
    finally:
        with anyio.CancelScope(shield=True):
            await process.stop(grace=0)
    if end.code == 0:
        return ""
    said = process.output().decode(errors="replace").strip()
    return f"{command.argv[0]} ended with exit code {end.code}: {said[-_SHOWN:]}"


def _done(folder: str) -> dict[str, str]:
    try:
        with open(os.path.join(folder, _DONE), encoding="utf-8") as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        log.warning("what was installed in %s cannot be read, and is installed again: %s", folder, problem)
        return {}


def _note(folder: str, done: Mapping[str, str]) -> None:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    place = os.path.join(folder, _DONE)
    with open(f"{place}.new", "w", encoding="utf-8") as file:
        json.dump(done, file)
    os.replace(f"{place}.new", place)


def told(missing: Sequence[PackagesInstalled]) -> str:
    """Return what a model is told of packages that are not there."""
    lines = [f"- {event.manager}: {', '.join(event.packages)}: {event.problem}" for event in missing]
    return "\n".join(["These packages of the environment could not be installed:", *lines])


def with_packages(environment: EnvironmentDefinition, hosts: Sequence[str]) -> EnvironmentDefinition:
    """Return an environment whose commands may also reach where packages come from, if it says so."""
    if environment.network != "listed" or not environment.package_hosts:
        return environment
    return replace(environment, hosts=tuple(dict.fromkeys((*environment.hosts, *hosts))))
