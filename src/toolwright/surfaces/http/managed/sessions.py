"""Sessions: made, shown, listed, changed, archived, deleted."""

from dataclasses import replace
from typing import Any, Final

from toolwright.contracts.documents import Add, Document
from toolwright.contracts.events import SessionCreated
from toolwright.contracts.ids import new_id
from toolwright.contracts.storage import UnknownSession
from toolwright.sessions.state import SessionState
from toolwright.surfaces.http.managed import memory_mounts, resources
from toolwright.surfaces.http.managed.agent_rules import check_agent
from toolwright.surfaces.http.managed.agent_shapes import (
    fitting_metadata,
    shown_model,
    shown_servers,
    shown_tools,
)
from toolwright.surfaces.http.managed.agents import KIND as AGENT
from toolwright.surfaces.http.managed.agents import pinned_skills
from toolwright.surfaces.http.managed.agents import shown as shown_agent
from toolwright.surfaces.http.managed.compiling import definition
from toolwright.surfaces.http.managed.desk import Desk
from toolwright.surfaces.http.managed.environments import KIND as ENVIRONMENT
from toolwright.surfaces.http.managed.environments import definition as environment_definition
from toolwright.surfaces.http.managed.event_bodies import whole_usage
from toolwright.surfaces.http.managed.file_contents import filled_as_written
from toolwright.surfaces.http.managed.histories import written
from toolwright.surfaces.http.managed.sending import checked, deliver
from toolwright.surfaces.http.managed.session_shapes import (
    AgentNamed,
    AgentOverridden,
    SessionChange,
    SessionDeleted,
    SessionGiven,
    SessionShown,
)
from toolwright.surfaces.http.managed.skill_mounts import with_skills, with_those_of
from toolwright.surfaces.http.managed.standing import whole_status
from toolwright.surfaces.http.managed.told import Voice
from toolwright.surfaces.http.managed.vaults import ours
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Visit

KIND: Final = "session"
_RUNNING: Final = "The session is running; interrupt it first."
_NOT_IN_SNAPSHOT: Final = frozenset({"metadata", "created_at", "updated_at", "archived_at"})


async def create(visit: Visit) -> dict[str, Any]:
    """Make a session; with initial events it begins at once."""
    given = await visit.body(SessionGiven)
    agent, members = await _agent(visit, given.agent)
    environment = await _environment(visit, given.environment_id)
    await _check_vaults(visit, given.vault_ids)
    events = checked(await filled_as_written(visit, given.initial_events), only=("user.message",))
    now, session_id = visit.house.clock.now(), new_id("sesn")
    body = {
        "agent": agent,
        "environment_id": environment.id,
        "title": given.title,
        "metadata": given.metadata or {},
        "vault_ids": list(given.vault_ids),
    }
    document = Document(
        kind=KIND, id=session_id, workspace=visit.workspace, created_at=now, updated_at=now, body=body
    )
    furnished = await resources.furnish(visit, session_id, given.resources, [agent, *members])
    project = await visit.house.session_folder(session_id)

    def about(created: SessionCreated) -> SessionCreated:
        return replace(
            created,
            workspace=visit.workspace,
            vaults=tuple(map(ours, given.vault_ids)),
            environment=environment_definition(environment),
            mounts=furnished.mounts,
        )

    await visit.house.works.sessions.create(
        with_skills(definition(agent, members), agent, members, furnished.skills),
        project=project,
        title=given.title or "",
        session_id=session_id,
        about=about,
    )
    await visit.house.documents.change(Add(document), *furnished.changes)
    if events:
        await deliver(visit, session_id, events)
    return await shown(visit, document)


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a session."""
    return await shown(visit, await session_of(visit))


async def update(visit: Visit) -> dict[str, Any]:
    """Change title, notes, or the tools of a session that is not running."""
    change, session = await visit.body(SessionChange), await session_of(visit)
    if "vault_ids" in change.model_fields_set:
        raise Problem("invalid", "vault_ids: cannot be changed")
    if session.archived_at is not None:
        raise Problem("invalid", "The session is archived.")
    body = dict(session.body)
    if "title" in change.model_fields_set:
        body["title"] = change.title
    if change.metadata is not None:
        merged = {**body["metadata"], **change.metadata}
        body["metadata"] = fitting_metadata({k: value for k, value in merged.items() if value is not None})
    if change.agent is not None:
        body["agent"] = await _with_tools(visit, session, change)
    if body == session.body:
        return await shown(visit, session)
    changed = {
        name: body[name] for name in ("title", "metadata", "agent") if body[name] != session.body[name]
    }
    session = replace(session, body=body, updated_at=visit.house.clock.now())
    await visit.house.documents.replace(session)
    if changed.get("title"):
        await visit.house.works.sessions.retitle(session.id, body["title"])
    await visit.house.works.sessions.note(session.id, changed)
    return await shown(visit, session)


async def _with_tools(visit: Visit, session: Document, change: SessionChange) -> dict[str, Any]:
    """Give the agent of a session other tools; return its snapshot. May raise Problem."""
    await _refuse_running(visit, session, "agent: cannot be changed while the session is running")
    agent = dict(session.body["agent"])
    given = change.agent
    if given is not None and given.tools is not None:
        agent["tools"] = shown_tools(given.tools)
    if given is not None and given.mcp_servers is not None:
        agent["mcp_servers"] = shown_servers(given.mcp_servers)
    check_agent(agent)
    if agent != session.body["agent"]:
        members = _members(agent)
        state = await state_of(visit, session.id)
        changed = with_those_of(definition(agent, members), state.agent)
        await visit.house.works.sessions.change_agent(session.id, changed)
    return agent


async def archive(visit: Visit) -> dict[str, Any]:
    """End a session; its history stays."""
    session = await session_of(visit)
    if session.archived_at is None:
        await _refuse_running(visit, session)
        await memory_mounts.settle(visit, session.id)
        await visit.house.works.sessions.end(session.id, "archived")
        at = visit.house.clock.now()
        session = replace(session, archived_at=at, updated_at=at)
        await visit.house.documents.replace(session)
    return await shown(visit, session)


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a session with all it holds."""
    session = await session_of(visit)
    await _refuse_running(visit, session)
    await memory_mounts.settle(visit, session.id)
    await _tell_deleted(visit, session)
    await visit.house.remove_session(session.id)
    await visit.house.documents.remove(visit.workspace, KIND, session.id)
    return {"id": session.id, "type": "session_deleted"}


async def _refuse_running(visit: Visit, session: Document, why: str = _RUNNING) -> None:
    """Raise Problem while any thread runs; one that has told its end is waited for."""
    sessions = visit.house.works.sessions
    state = await state_of(visit, session.id)
    if whole_status(state, busy=sessions.is_busy(session.id)) in {"running", "rescheduling"}:
        raise Problem("invalid", why)
    await sessions.idle(session.id)


async def _tell_deleted(visit: Visit, session: Document) -> None:
    """End the streams of a session and its threads; their last word is that it is gone."""
    desk, at = visit.house.part(Desk), visit.house.clock.now()
    for log_id in await visit.house.works.sessions.family(session.id):
        told = Voice(log_id).told(Voice(log_id).id("deleted", ""), "session.deleted", at, {}, is_last=True)
        desk.streams.put(log_id, written(told))
        desk.streams.end(log_id)
        desk.histories.forget(log_id)


# --- finding and showing ---


async def session_of(visit: Visit) -> Document:
    """Return the session a path names. May raise Problem."""
    id = visit.path("session_id")
    found = await visit.house.documents.get(visit.workspace, KIND, id)
    if found is None:
        raise Problem("not_found", f"There is no session {id[:80]}.")
    return found


async def state_of(visit: Visit, session_id: str) -> SessionState:
    """Return what is known of a session. May raise Problem."""
    try:
        return await visit.house.works.sessions.state(session_id)
    except UnknownSession:
        raise Problem("not_found", f"There is no session {session_id[:80]}.") from None


async def shown(visit: Visit, session: Document) -> dict[str, Any]:
    """Return a session as it is shown."""
    state = await state_of(visit, session.id)
    total, archived = state.conversation.total, session.archived_at
    ends = archived or visit.house.clock.now()
    return {
        "id": session.id,
        "type": "session",
        **session.body,
        "resources": await resources.all_shown(visit.house, session.workspace, session.id),
        "status": whole_status(state, busy=visit.house.works.sessions.is_busy(session.id)),
        "outcome_evaluations": [],
        "stats": {
            "active_seconds": total.seconds,
            "duration_seconds": max(ends - session.created_at, 0.0),
        },
        "usage": whole_usage(total),
        "budget": None,
        "deployment_id": None,
        "created_at": written_time(session.created_at),
        "updated_at": written_time(max(session.updated_at, state.updated_at)),
        "archived_at": None if archived is None else written_time(archived),
    }


# --- what a session is made of ---


async def _agent(
    visit: Visit, given: str | AgentNamed | AgentOverridden
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the snapshot of an agent, and those of its roster. May raise Problem."""
    named = AgentNamed(type="agent", id=given, version=None) if isinstance(given, str) else given
    found = await visit.house.documents.get(visit.workspace, AGENT, named.id, version=named.version)
    if found is None:
        raise Problem("invalid", f"agent: there is no agent {named.id[:80]} at that version")
    if found.archived_at is not None or await _is_archived(visit, named.id):
        raise Problem("invalid", "agent: it is archived")
    agent = snapshot(found)
    if isinstance(named, AgentOverridden):
        agent |= await _overrides(visit, named)
        check_agent({**agent, "metadata": {}})
    roster = agent["multiagent"]
    if roster is not None:
        agent["multiagent"] = {**roster, "agents": await _pinned(visit, roster["agents"])}
    return agent, _members(agent)


def _members(agent: dict[str, Any]) -> list[dict[str, Any]]:
    roster = agent["multiagent"]
    return [] if roster is None else list(roster["agents"])


async def _is_archived(visit: Visit, id: str) -> bool:
    newest = await visit.house.documents.get(visit.workspace, AGENT, id)
    return newest is not None and newest.archived_at is not None


async def _pinned(visit: Visit, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for entry in entries:
        member = await visit.house.documents.get(
            visit.workspace, AGENT, entry["id"], version=entry["version"]
        )
        if member is None:
            raise Problem("invalid", f"agent: {entry['id']} of its roster is gone")
        found.append({name: value for name, value in snapshot(member).items() if name != "multiagent"})
    return found


def snapshot(agent: Document) -> dict[str, Any]:
    """Return an agent as a session keeps it."""
    return {name: value for name, value in shown_agent(agent).items() if name not in _NOT_IN_SNAPSHOT}


async def _overrides(visit: Visit, given: AgentOverridden) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    said = given.model_fields_set
    if given.model is not None:
        changed["model"] = shown_model(given.model)
    if "system" in said:
        changed["system"] = given.system or None
    if "tools" in said:
        changed["tools"] = shown_tools(given.tools)
    if "mcp_servers" in said:
        changed["mcp_servers"] = shown_servers(given.mcp_servers)
    if "skills" in said:
        changed["skills"] = await pinned_skills(visit, given.skills)
    return changed


async def _environment(visit: Visit, id: str) -> Document:
    found = await visit.house.documents.get(visit.workspace, ENVIRONMENT, id)
    if found is None:
        raise Problem("invalid", f"environment_id: there is no environment {id[:80]}")
    if found.archived_at is not None:
        raise Problem("invalid", "environment_id: it is archived", code="environment_archived")
    return found


async def _check_vaults(visit: Visit, ids: tuple[str, ...]) -> None:
    for id in ids:
        found = await visit.house.vaults.store.vault(visit.workspace, ours(id))
        if found is None or found.vault.archived_at is not None:
            raise Problem("invalid", f"vault_ids: there is no vault {id[:80]} in use")


_ONE: Final = "/v1/sessions/{session_id}"
ROUTES: Final = (
    Route(
        method="POST", path="/v1/sessions", handler=create, summary="Make a session", group="sessions",
        body=SessionGiven, returns=SessionShown, scope="write",
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a session", group="sessions",
        returns=SessionShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change a session", group="sessions",
        body=SessionChange, returns=SessionShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a session", group="sessions",
        returns=SessionDeleted, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="End a session", group="sessions",
        returns=SessionShown, scope="write",
    ),
)  # fmt: skip
