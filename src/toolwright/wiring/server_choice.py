"""The MCP servers of a project: read from every place where they may be written, and chosen."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import orjson

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.mcp import ServerDefinition, ServerScope
from toolwright.contracts.mcp_servers import ServerRecords
from toolwright.settings import Loaded
from toolwright.tools.mcp.choosing import Choice, Written, choose, named_only
from toolwright.tools.mcp.entries import Misfit, Place
from toolwright.workspaces.names import inside

PROJECT_FILE: Final = ".mcp.json"
_LONGEST_FILE: Final = 1024 * 1024
_KEY: Final = "mcpServers"


async def chosen_servers(
    loaded: Loaded,
    records: ServerRecords,
    *,
    agent: AgentDefinition | None = None,
    own: Mapping[str, Any] | None = None,
    with_files: bool = True,
) -> Choice:
    """Return the servers that count for an agent in a project; ``own`` are those of the program itself.

    Blocking for as long as small files are read. May raise SettingsError: approvals cannot be read.
    """
    written = [*_of_settings(loaded), *_of_agent(loaded, agent), *_of_program(loaded, own)]
    problems: list[str] = []
    if with_files:
        written += _of_project(loaded, problems)
    approved = await records.approved(loaded.project) if written else {}

    def is_approved(server: ServerDefinition) -> bool:
        return bool(server.digest) and approved.get(server.name) == server.digest

    choice = choose(written, is_approved)
    return Choice(choice.servers, (*problems, *choice.problems), choice.notices)


def _of_settings(loaded: Loaded) -> Iterator[Written]:
    for layer in loaded.layers:
        entries = layer.data.get("mcp", {}).get("servers")
        if entries:
            yield Written(_place(loaded, cast(ServerScope, layer.source), layer.origin), entries)


def _of_agent(loaded: Loaded, agent: AgentDefinition | None) -> Iterator[Written]:
    """What an agent brings; one that a project brings is no better than the project."""
    entries = named_only(agent.mcp_servers) if agent is not None else {}
    if agent is not None and entries:
        of_project = bool(agent.origin) and inside(agent.origin, loaded.project)
        scope: ServerScope = "project" if of_project else "agent"
        yield Written(_place(loaded, scope, agent.origin or f"agent {agent.name}"), entries)


def _of_program(loaded: Loaded, own: Mapping[str, Any] | None) -> Iterator[Written]:
    if own:
        entries = {
            name: given if isinstance(given, Mapping) else {"instance": given} for name, given in own.items()
        }
        yield Written(_place(loaded, "code", "the program"), entries)


def _of_project(loaded: Loaded, problems: list[str]) -> Iterator[Written]:
    path = os.path.join(loaded.project, PROJECT_FILE)
    try:
        entries = read_project_file(path)
    except Misfit as misfit:
        problems.append(f"{path}: {misfit}")
        return
    if entries:
        yield Written(_place(loaded, "project", path), entries)


def read_project_file(path: str) -> Mapping[str, Any]:
    """Return the entries of a project's own file, nothing when there is none. Blocking.

    Raises Misfit, which says what is wrong with it.
    """
    try:
        with open(path, "rb") as file:
            text = file.read(_LONGEST_FILE + 1)
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise Misfit(f"it cannot be read: {problem.strerror}.") from problem
    if len(text) > _LONGEST_FILE:
        raise Misfit("it is too long to be a list of servers.")
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise Misfit(f"it is not valid JSON: {problem}.") from problem
    entries = data.get(_KEY) if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise Misfit(f'it must hold an object with "{_KEY}".')
    return entries


def _place(loaded: Loaded, scope: ServerScope, origin: str) -> Place:
    return Place(
        scope=scope,
        origin=origin,
        environ=loaded.environ,
        folder=loaded.project,
        trusted=loaded.trusted or scope not in {"project", "local"},
        sandboxed=loaded.settings.mcp.sandbox,
    )
