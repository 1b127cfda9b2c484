"""From services and settings to a command that can be started in a workspace."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import BackgroundWork, Clock, Command, Limits, Sandbox, Workspace
from toolwright.contracts.tool import Traits
from toolwright.tools.commands.traits import command_traits
from toolwright.tools.services import Services

_LOG = logging.getLogger(__name__)

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROTECTED: Final = (".git/hooks", ".git/config", ".toolwright")
"""Inside every root: what other programs would run or obey later."""
PROTECTED_IF_THERE: Final = (
    ".git/commondir",
    ".git/config.worktree",
    ".gitconfig",
    ".mcp.json",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".vscode",
    ".idea",
    ".devcontainer",
    ".agents/skills",
    ".claude/skills",
)
"""The same, but nothing is put in their place where they are missing: a person would stumble over it."""
PROTECTED_IN_REPOSITORY: Final = ("hooks", "config", "config.worktree", "commondir", "info")
"""Inside the folder of git behind a work tree."""
PLACE_FOR_TEMPORARY: Final = os.path.join(os.sep, "tmp")
OUTPUT_KEPT: Final = 16 * 1024 * 1024
"""Bytes of the output of one command that stay, to be shown or stored."""

_QUIET: Final = {
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
    "TOOLWRIGHT": "1",
}
"""Keeps programs from waiting for a person, and tells them who runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSetup:
    """How commands run in one session."""

    sandbox: Sandbox
    background: BackgroundWork
    clock: Clock
    session_dir: str
    unprotected: Sandbox | None = None
    """Set where the operator lets the model ask for a run outside the sandbox."""
    network: NetworkAccess = field(default_factory=NetworkAccess)
    readable: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    default_timeout_ms: int = 120_000
    max_timeout_ms: int = 600_000
    output_length: int = 30_000
    benign: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    destructive: tuple[str, ...] = ()
    """Commands that a person is warned of, besides the usual ones."""
    background_allowed: bool = True
    repository: str = ""
    """The folder of git behind a work tree: what is committed there is kept in it."""
    limits: Limits = field(default_factory=Limits)

    def seconds(self, timeout_ms: int | None) -> float:
        """The time a command may take, moved into what is allowed."""
        wanted = self.default_timeout_ms if timeout_ms is None else timeout_ms
        return min(max(wanted, 1), self.max_timeout_ms) / 1000

    def traits(self, command: str, *, open_world: bool = False, alone: bool) -> Traits:
        """What a call promises that runs ``command`` here; ``alone`` keeps it from running beside others."""
        network = open_world or self.network.kind != "none"
        return command_traits(command, network=network, alone=alone, destructive=self.destructive)

    def output_path(self, task_id: str) -> str:
        """Where the output of a background task is written."""
        return os.path.join(self._tasks_folder, f"{task_id}.out")

    @property
    def _tasks_folder(self) -> str:
        return os.path.join(self.session_dir, "tasks")

    def command(
        self,
        workspace: Workspace,
        argv: tuple[str, ...],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        writable: tuple[str, ...] = (),
        keep_stdin_open: bool = False,
        merge_stderr: bool = True,
    ) -> Command:
        """A command that may write the roots of the workspace and ``writable``, and read what background
        tasks have printed."""
        roots = tuple(root for root in workspace.roots if workspace.contains(root, "write"))
        shown = tuple(root for root in workspace.roots if root not in roots)
        kept_in = (self.repository,) if self.repository else ()
        return Command(
            argv=argv,
            cwd=workspace.cwd,
            env={**self.environment(), **(env or {})},
            stdin=stdin,
            keep_stdin_open=keep_stdin_open,
            network=self.network,
            limits=self.limits,
            writable=(*roots, *kept_in, *writable),
            readable=(*shown, *self.readable, self._tasks_folder),
            protected=(
                *(place for root in roots for place in _protected(root)),
                *(place for folder in kept_in for place in protected_in(folder)),
            ),
            mounts=workspace.mounts,
            merge_stderr=merge_stderr,
        )

    def reading_command(self, workspace: Workspace, argv: tuple[str, ...]) -> Command:
        """A command that may read the roots of the workspace, write nothing and reach nobody."""
        return Command(
            argv=argv,
            cwd=workspace.cwd,
            env=self.environment(),
            limits=self.limits,
            readable=(*workspace.roots, *((self.repository,) if self.repository else ()), *self.readable),
            mounts=tuple(replace(mount, writable=False) for mount in workspace.mounts),
            merge_stderr=False,
        )

    def environment(self) -> dict[str, str]:
        """The whole environment of a command: nothing of the engine's own."""
        return {
            "PATH": SYSTEM_PATH,
            "HOME": PLACE_FOR_TEMPORARY,
            "LANG": "C.UTF-8",
            **_QUIET,
            **self.env,
        }


def _protected(root: str) -> tuple[str, ...]:
    found = (os.path.join(root, name) for name in PROTECTED_IF_THERE)
    return (
        *(os.path.join(root, name) for name in PROTECTED),
        *(place for place in found if os.path.lexists(place)),
    )


def protected_in(repository: str) -> tuple[str, ...]:
    """Return what stays as it is in a folder of git, those of its other work trees included."""
    trees = os.path.join(repository, "worktrees")
    try:
        places = [repository, *(entry.path for entry in os.scandir(trees))]
    except OSError:
        places = [repository]
    found = (os.path.join(place, name) for place in places for name in (*PROTECTED_IN_REPOSITORY, "gitdir"))
    return tuple(place for place in found if os.path.lexists(place))


def setup_of(services: Services, options: Mapping[str, Any]) -> CommandSetup:
    """Read options, settings and environment; a value that cannot be used is named in the log once."""
    bash = {**services.settings.get("bash", {}), **options}
    sandbox = services.settings.get("sandbox", {})
    environ = services.environ
    longest = _positive(environ, "BASH_MAX_TIMEOUT_MS", 600_000)
    usual = _positive(environ, "BASH_DEFAULT_TIMEOUT_MS", 120_000)
    length = min(_positive(environ, "BASH_MAX_OUTPUT_LENGTH", 30_000), 150_000)
    named = {name: environ[name] for name in ("TZ",) if environ.get(name)}
    return CommandSetup(
        sandbox=services.sandbox,
        background=services.background,
        clock=services.clock,
        session_dir=services.session_dir,
        unprotected=services.unprotected if bash.get("allow_unsandboxed") else None,
        network=_network(tuple(sandbox.get("allowed_hosts", ()))),
        readable=tuple(sandbox.get("readable", ())),
        env={**named, **bash.get("env", {})},
        default_timeout_ms=min(usual, longest),
        max_timeout_ms=longest,
        output_length=length,
        benign={name: tuple(codes) for name, codes in bash.get("benign_exit_codes", {}).items()},
        destructive=tuple(bash.get("destructive", ())),
        repository=services.repository,
        background_allowed=environ.get("TOOLWRIGHT_DISABLE_BACKGROUND_TASKS", "0") not in {"1", "true"},
        limits=Limits(
            memory=_positive(environ, "TOOLWRIGHT_TOOL_MEMORY_LIMIT", Limits().memory),
            output_kept=OUTPUT_KEPT,
        ),
    )


def require_background(setup: CommandSetup) -> None:
    """Raise ToolFailure where background tasks are switched off."""
    if not setup.background_allowed:
        raise ToolFailure("unsupported", "Background tasks are switched off here.")


def _network(hosts: tuple[str, ...]) -> NetworkAccess:
    if not hosts:
        return NetworkAccess()
    return NetworkAccess("public") if "*" in hosts else NetworkAccess("hosts", hosts)


def _positive(environ: Mapping[str, str], name: str, default: int) -> int:
    written = environ.get(name, "").strip()
    if written.isascii() and written.isdigit() and int(written[:18]) > 0:
        return int(written[:18])
    if written:
        _LOG.warning("%s=%r is no positive number; %d is used", name, written, default)
    return default
