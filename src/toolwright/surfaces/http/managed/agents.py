"""Agents: made, changed in versions, archived; never deleted."""

from dataclasses import replace
from typing import Any, Final

from pydantic import Field

from toolwright.contracts.documents import Document, VersionConflict, Wanted
from toolwright.contracts.ids import new_id
from toolwright.surfaces.http.managed.agent_rules import check_agent
from toolwright.surfaces.http.managed.agent_shapes import (
    AgentChange,
    AgentGiven,
    AgentReference,
    AgentShown,
    CoordinatorGiven,
    SelfReference,
    SkillGiven,
    fitting_metadata,
    shown_model,
    shown_servers,
    shown_tools,
)
from toolwright.surfaces.http.managed.dialect import stale
from toolwright.surfaces.http.managed.pages import DatedQuery, Page, PageQuery, cut, page_of, place
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Query, Route, Visit

KIND: Final = "agent"


class AgentQuery(Query):
    version: int | None = Field(None, ge=1)


async def create(visit: Visit) -> dict[str, Any]:
    """Make an agent."""
    given = await visit.body(AgentGiven)
    now = visit.house.clock.now()
    agent = Document(kind=KIND, id=new_id("agent"), workspace=visit.workspace, created_at=now, updated_at=now)
    body = {
        "name": given.name,
        "description": given.description or None,
        "system": given.system or None,
        "model": shown_model(given.model),
        "tools": shown_tools(given.tools),
        "mcp_servers": shown_servers(given.mcp_servers),
        "skills": await pinned_skills(visit, given.skills),
        "metadata": given.metadata or {},
        "multiagent": await _roster(visit, given.multiagent, agent),
    }
    check_agent(body)
    agent = replace(agent, body=body)
    await visit.house.documents.add(agent)
    return shown(agent)


async def list_agents(visit: Visit) -> dict[str, Any]:
    """List agents, the newest first."""
    asked = visit.query(DatedQuery)
    wanted = Wanted(
        archived=asked.include_archived,
        since=asked.since,
        until=asked.until,
        after=place(asked.page),
        limit=asked.limit,
    )
    return await page_of(visit.house.documents, visit.workspace, KIND, wanted, shown)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return an agent as it is now, or was."""
    version = visit.query(AgentQuery).version
    found = await visit.house.documents.get(visit.workspace, KIND, visit.path("agent_id"), version=version)
    if found is None:
        raise unknown(visit.path("agent_id"))
    return shown(found)


async def update(visit: Visit) -> dict[str, Any]:
    """Change an agent; a change makes a new version."""
    change = await visit.body(AgentChange)
    now = await agent_of(visit, visit.path("agent_id"))
    if change.version is not None and change.version != now.version:
        raise stale(f"version: the agent is at version {now.version}, the request expects {change.version}")
    if now.archived_at is not None:
        raise Problem("invalid", "The agent is archived.")
    body = await _changed(visit, now, change)
    check_agent(body)
    if body == now.body:
        return shown(now)
    body["multiagent"] = _at_version(body["multiagent"], now.id, now.version + 1)
    new = replace(now, body=body, version=now.version + 1, updated_at=visit.house.clock.now())
    try:
        await visit.house.documents.replace(new, expected=now.version, versions=True)
    except VersionConflict as conflict:
        raise stale(f"version: the agent is at version {conflict.found} by now") from conflict
    return shown(new)


async def archive(visit: Visit) -> dict[str, Any]:
    """Archive an agent: nothing new is begun with it."""
    agent = await agent_of(visit, visit.path("agent_id"))
    if agent.archived_at is None:
        at = visit.house.clock.now()
        agent = replace(agent, archived_at=at, updated_at=at)
        await visit.house.documents.replace(agent)
    return shown(agent)


async def versions(visit: Visit) -> dict[str, Any]:
    """List an agent as of all its versions, the newest first."""
    asked, id = visit.query(PageQuery), visit.path("agent_id")
    await agent_of(visit, id)
    after = place(asked.page)
    found = await visit.house.documents.versions(
        visit.workspace, KIND, id, before=None if after is None else int(after[0]), limit=asked.limit + 1
    )
    return cut(found, asked.limit, shown, lambda agent: (float(agent.version), agent.id))


async def agent_of(visit: Visit, id: str) -> Document:
    """Return an agent. May raise Problem."""
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is None:
        raise unknown(id)
    return found


def unknown(id: str) -> Problem:
    """Return the refusal for an agent that is not there."""
    return Problem("not_found", f"There is no agent {id[:80]}.")


def shown(agent: Document) -> dict[str, Any]:
    """Return an agent as it is shown."""
    archived = agent.archived_at
    return {
        "id": agent.id,
        "type": "agent",
        "version": agent.version,
        **agent.body,
        "execution_identity": {"type": "service_account"},
        "created_at": written_time(agent.created_at),
        "updated_at": written_time(agent.updated_at),
        "archived_at": None if archived is None else written_time(archived),
    }


async def _changed(visit: Visit, agent: Document, change: AgentChange) -> dict[str, Any]:
    """Return the body of an agent after a change."""
    body, given = dict(agent.body), change.model_fields_set
    for member in ("name", "description", "system"):
        if member in given:
            body[member] = getattr(change, member) or None
    if change.model is not None:
        body["model"] = shown_model(change.model, before=agent.body["model"])
    if "tools" in given:
        body["tools"] = shown_tools(change.tools)
    if "mcp_servers" in given:
        body["mcp_servers"] = shown_servers(change.mcp_servers)
    if "skills" in given:
        body["skills"] = await pinned_skills(visit, change.skills)
    if "multiagent" in given:
        body["multiagent"] = await _roster(visit, change.multiagent, agent)
    if change.metadata is not None:
        merged = {**body["metadata"], **change.metadata}
        body["metadata"] = fitting_metadata({k: value for k, value in merged.items() if value is not None})
    return body


async def pinned_skills(visit: Visit, skills: tuple[SkillGiven, ...] | None) -> list[dict[str, Any]]:
    """Return skills at a version each. May raise Problem for one that is not there."""
    pinned = []
    for place_in_list, skill in enumerate(skills or ()):
        found = await visit.house.documents.get(visit.workspace, "skill", skill.skill_id)
        version = skill.version
        if found is not None and version in {None, "latest"}:
            version = found.body.get("latest_version_id")
        if found is None or not version:
            raise Problem("invalid", f"skills.{place_in_list}.skill_id: there is no such skill")
        there = await visit.house.documents.get(visit.workspace, "skill_version", version)
        if there is None or there.parent != found.id:
            raise Problem("invalid", f"skills.{place_in_list}.version: there is no such version")
        pinned.append({"type": skill.type, "skill_id": skill.skill_id, "version": version})
    return pinned


async def _roster(visit: Visit, given: CoordinatorGiven | None, agent: Document) -> dict[str, Any] | None:
    """Return whom an agent may start, each at one version. May raise Problem."""
    if given is None:
        return None
    pinned: list[dict[str, Any]] = []
    for number, entry in enumerate(given.agents):
        if isinstance(entry, SelfReference):
            pinned.append({"type": "agent", "id": agent.id, "version": agent.version})
            continue
        reference = AgentReference(id=entry) if isinstance(entry, str) else entry
        pinned.append(await _member(visit, reference, f"multiagent.agents.{number}"))
    if len({member["id"] for member in pinned}) < len(pinned):
        raise Problem("invalid", "multiagent.agents: an agent stands here twice")
    return {"type": "coordinator", "agents": pinned}


def _at_version(roster: dict[str, Any] | None, id: str, version: int) -> dict[str, Any] | None:
    """Return a roster in which the agent itself stands as it is saved now."""
    if roster is None:
        return None
    agents = [{**one, "version": version} if one["id"] == id else one for one in roster["agents"]]
    return {**roster, "agents": agents}


async def _member(visit: Visit, entry: AgentReference, where: str) -> dict[str, Any]:
    found = await visit.house.documents.get(visit.workspace, KIND, entry.id, version=entry.version)
    newest = (
        found if entry.version is None else await visit.house.documents.get(visit.workspace, KIND, entry.id)
    )
    if found is None or newest is None or newest.archived_at is not None:
        raise Problem("invalid", f"{where}: there is no such agent in use")
    if found.body["multiagent"] is not None:
        raise Problem("invalid", f"{where}: an agent with a roster of its own cannot be in one")
    return {"type": "agent", "id": found.id, "version": found.version}


_ONE: Final = "/v1/agents/{agent_id}"
ROUTES: Final = (
    Route(
        method="POST", path="/v1/agents", handler=create, summary="Make an agent", group="agents",
        body=AgentGiven, returns=AgentShown, scope="write",
    ),
    Route(
        method="GET", path="/v1/agents", handler=list_agents, summary="List agents", group="agents",
        query=DatedQuery, returns=Page[AgentShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get an agent", group="agents",
        query=AgentQuery, returns=AgentShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change an agent", group="agents",
        body=AgentChange, returns=AgentShown, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="Archive an agent", group="agents",
        returns=AgentShown, scope="write",
    ),
    Route(
        method="GET", path=f"{_ONE}/versions", handler=versions, summary="List versions of an agent",
        group="agents", query=PageQuery, returns=Page[AgentShown],
    ),
)  # fmt: skip
