"""``POST /rpc``, ``GET /tools``, ``POST /admin/reload-catalog``, ``GET /health``: everything around turns."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from toolwright.contracts.content import text_of
from toolwright.contracts.definitions import ToolEntry
from toolwright.contracts.errors import SettingsError, ToolwrightError
from toolwright.contracts.tool import CallResult, Done, Failed
from toolwright.surfaces.http.engine.desk import Desk
from toolwright.surfaces.http.engine.dialect import plain_body
from toolwright.surfaces.http.engine.words import told_error
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Method, Route, Visit
from toolwright.turns.results import error_of
from toolwright.wiring.catalog import told
from toolwright.wiring.single_calls import called_once

_NO_METHOD: Final = "METHOD_NOT_FOUND"
_DENIED: Final = frozenset({
    "permission_denied", "rejected_by_user", "approval_unavailable", "hook_blocked", "classifier_blocked",
})  # fmt: skip
_STATUS: Final[Mapping[str, int]] = {
    "MCP_CONNECTION_FAILED": 502,
    "MCP_TOKEN_EXPIRED": 401,
    "MCP_TOOL_ERROR": 502,
}
_MEMORY: Final[tuple[tuple[Method, str], ...]] = (
    ("POST", "/memory/knowledge/search"),
    ("POST", "/memory/episodes/search"),
    ("POST", "/memory/social/search"),
    ("GET", "/memory/soul"),
    ("GET", "/memory/soul/full"),
    ("GET", "/memory/export"),
    ("POST", "/memory/import"),
)


# --- one call ---------------------------------------------------------------------------------


async def rpc(visit: Visit) -> Response:
    """Run one tool without an agent."""
    asked = await plain_body(visit)
    method, params = asked.get("method"), asked.get("params")
    if not isinstance(method, str) or not method:
        raise Problem("invalid", "method: takes a text such as tool.read_file")
    if not isinstance(params, dict):
        raise Problem("invalid", "params: takes an object")
    prefix, _, name = method.partition(".")
    if prefix == "memory":
        raise Problem("unsupported", "There is no long-term memory here; use tool.memory_search.")
    desk = visit.house.part(Desk)
    entry = desk.catalog.tool(name) if prefix == "tool" else None
    if entry is None:
        raise Problem("not_found", f"There is no method {method[:80]!r}.", code=_NO_METHOD)
    return _answer(await _called(visit, desk, entry, params, asked.get("task_id")))


async def _called(
    visit: Visit, desk: Desk, entry: ToolEntry, params: Mapping[str, Any], task_id: object
) -> CallResult:
    folder = ""
    if task_id is not None:
        if not isinstance(task_id, str):
            raise Problem("invalid", "task_id: takes a text")
        task = await desk.task(visit.workspace, task_id)
        folder = (await visit.house.works.sessions.state(task.session_id)).created.project
    agent = desk.agent("general")
    notes = visit.house.works.notes.of(visit.workspace)
    return await called_once(visit.house.loaded, agent, entry.name, params, folder=folder, notes=notes)


def _answer(result: CallResult) -> Response:
    outcome = result.outcome
    if isinstance(outcome, Done):
        value = text_of(result.content) if outcome.data is None else outcome.data
        return JSONResponse({"result": value})
    if not isinstance(outcome, Failed):
        return _refused(
            403, {"error": "PERMISSION_DENIED", "message": "The call needs a person, and nobody is asked."}
        )
    if outcome.code in _DENIED:
        return _refused(403, {"error": "PERMISSION_DENIED", "message": outcome.message})
    error = told_error(error_of(outcome), is_server=result.tool.startswith("mcp."))
    return _refused(_STATUS.get(error["error"], 422), error)


def _refused(status: int, error: Mapping[str, Any]) -> Response:
    return JSONResponse(dict(error), status_code=status)


# --- what there is ----------------------------------------------------------------------------


async def tools(visit: Visit) -> dict[str, Any]:
    """List the tools of the catalog."""
    return {"tools": [_tool(entry) for entry in visit.house.part(Desk).catalog.tools]}


def _tool(entry: ToolEntry) -> dict[str, Any]:
    ref: Any = entry.ref
    if entry.kind == "mcp":
        server, _, action = entry.ref.partition("/")
        ref = {"server": server, "action": action}
    return {
        "name": entry.name,
        "description": entry.description,
        "input_schema": entry.input_schema,
        "source": entry.kind,
        "ref": ref or None,
        "requires_permission": entry.confirm == "permission",
        "high_cost": entry.confirm == "cost",
        "deprecated": entry.deprecated or None,
        "version": entry.version,
        "available": entry.kind != "skill",
    }


async def agents(visit: Visit) -> dict[str, Any]:
    """List the agents of the catalog."""
    desk = visit.house.part(Desk)
    return {
        "agents": [
            {
                "name": agent.name,
                "description": agent.description,
                "model": agent.model or None,
                "tools": agent.tools,
            }
            for agent in desk.agents
        ],
        "default": desk.options.default_agent,
    }


async def reload(visit: Visit) -> dict[str, Any]:
    """Read the catalog anew."""
    return told(await visit.house.part(Desk).reload())


async def no_memory(visit: Visit) -> Response:
    """Say that there is no such memory."""
    del visit
    raise Problem("unsupported", "Long-term memory is not served here.")


async def health(desk: Desk) -> Response:
    """Say whether turns can be run; asks no model."""
    house = desk.house
    subsystems = {
        "database": await _database(desk),
        "llm_provider": _provider(desk),
        "asset_directory": "ok",
        "catalog": "ok" if desk.catalog.tools or desk.catalog.agents else "error",
    }
    failing = [name for name in ("database", "llm_provider") if subsystems[name] != "ok"]
    ready = not failing and not house.draining
    status = "ok" if ready else "draining" if house.draining else "error"
    uptime = house.clock.monotonic() - desk.started_at
    told_body = {"status": status, "uptime_seconds": round(uptime, 3), "subsystems": subsystems}
    return JSONResponse(told_body, status_code=200 if ready else 503)


async def _database(desk: Desk) -> str:
    try:
        await desk.house.works.store.cards(limit=1)
    except ToolwrightError:
        return "error"
    return "ok"


def _provider(desk: Desk) -> str:
    """Whether there is a model to ask; nobody is asked for that."""
    try:
        desk.house.works.lookup("")
    except SettingsError:
        return "error"
    return "ok"


ROUTES: Final = (
    Route(method="POST", path="/rpc", handler=rpc, summary="Call one tool", group="tools", scope="write"),
    Route(method="GET", path="/tools", handler=tools, summary="List tools", group="tools"),
    Route(method="GET", path="/agents", handler=agents, summary="List agents", group="tools"),
    Route(
        method="POST", path="/admin/reload-catalog", handler=reload, summary="Read the catalog anew",
        group="admin", scope="write",
    ),
    *(
        Route(method=method, path=path, handler=no_memory, summary="Not served", group="memory")
        for method, path in _MEMORY
    ),
)  # fmt: skip
