"""Where the commands of a session run, and whom they and its servers of tools may reach."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from toolwright.contracts.definitions import AgentDefinition, EnvironmentDefinition
from toolwright.contracts.events import InputAccepted, PackagesInstalled, ServerChanged
from toolwright.contracts.ids import new_id
from toolwright.sessions.journal import Journal
from toolwright.settings import Loaded
from toolwright.wiring.house import House
from toolwright.wiring.packages import Installing, told, with_packages
from toolwright.wiring.rights import Member
from toolwright.workspaces.network import host_matches


def in_environment(
    loaded: Loaded,
    environment: EnvironmentDefinition | None,
    agent: AgentDefinition | None = None,
    *,
    packages: str = "",
) -> Loaded:
    """Return settings as they are in an environment, which alone says whom commands may reach there.

    ``packages`` is the folder in which its packages lie.
    """
    if environment is None:
        return loaded
    environment = with_packages(environment, loaded.settings.packages.hosts)
    servers = hosts_of(agent) if agent is not None and environment.mcp_hosts else ()
    listed = (*environment.hosts, *servers)
    hosts = {"open": ("*",), "closed": (), "listed": listed}[environment.network]
    shown = (packages,) if packages and environment.packages else ()
    sandbox = loaded.settings.sandbox.model_copy(
        update={"allowed_hosts": hosts, "readable": (*loaded.settings.sandbox.readable, *shown)}
    )
    return replace(loaded, settings=loaded.settings.model_copy(update={"sandbox": sandbox}))


def hosts_of(agent: AgentDefinition) -> tuple[str, ...]:
    """Return the hosts of an agent's servers of tools."""
    return tuple(host for entry in agent.mcp_servers.values() if (host := _host(entry)))


def _host(entry: Any) -> str:
    return urlsplit(str(entry.get("url", ""))).hostname or "" if isinstance(entry, Mapping) else ""


def reachable(
    agent: AgentDefinition, environment: EnvironmentDefinition | None
) -> tuple[AgentDefinition, tuple[ServerChanged, ...]]:
    """Return an agent with the servers that its environment lets it reach, and what is told of others."""
    if environment is None or environment.network == "open" or environment.mcp_hosts:
        return agent, ()
    kept, refused = {}, []
    for name, entry in agent.mcp_servers.items():
        host = _host(entry)
        if not host or any(host_matches(host, pattern) for pattern in environment.hosts):
            kept[name] = entry
            continue
        why = f"The environment does not let the session reach {host}: it is not among its hosts."
        refused.append(ServerChanged(name=name, status="failed", reason=why))
    return (replace(agent, mcp_servers=kept), tuple(refused)) if refused else (agent, ())


def reaching(line: tuple[Member, ...], journal: Journal) -> tuple[Member, ...]:
    """Leave out the servers that the environment keeps the session from, and say so."""
    agent, refused = reachable(line[-1].agent, journal.state.created.environment)
    for event in refused:
        journal.record(event)
    return (*line[:-1], replace(line[-1], agent=agent)) if refused else line


async def install(environment: EnvironmentDefinition, folder: str, house: House, journal: Journal) -> None:
    """Install the packages of the environment; what is missing then is told to client and model."""
    missing: list[PackagesInstalled] = []
    installing = Installing(
        environment=environment,
        folder=folder,
        sandbox=house.ports.sandbox,
        settings=house.loaded.settings.packages,
    )
    async for event in installing.results():
        journal.record(event)
        missing += [event] if event.problem else []
    if missing:
        news = InputAccepted(
            input_id=new_id("input"), content=told(missing), source="notification", quiet=True
        )
        journal.record(news)
