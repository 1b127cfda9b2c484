"""What commands show of MCP servers; values of variables and headers are not among it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from toolwright.contracts.errors import SettingsError

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import ServerView
    from toolwright.tools.mcp.choosing import Choice, Chosen

_NOTHING = "There are no MCP servers here. 'toolwright mcp add NAME -- COMMAND' sets one up."
_STATES = {
    "connecting": "may start",
    "pending_approval": "waits for approval",
    "not_configured": "no address",
}


def found(choice: "Choice", name: str) -> "Chosen":
    """Return the server of a name. Raises SettingsError, which says what there is."""
    chosen = choice.find(name)
    if chosen is not None:
        return chosen
    broken = next((problem for problem in choice.problems if repr(name) in problem), "")
    known = ", ".join(one.server.name for one in choice.servers) or "none"
    raise SettingsError(broken or f"there is no MCP server {name!r}. Servers: {known}.")


# --- for people ---------------------------------------------------------------------------------------


def print_table(choice: "Choice", views: "Sequence[ServerView]") -> None:
    """Print all servers."""
    from rich.table import Table

    from toolwright.surfaces.cli.tables import console
    from toolwright.surfaces.rendering.safety import marked

    if not choice.servers and not choice.problems:
        typer.echo(_NOTHING)
        return
    standing = {view.name: view for view in views}
    table = Table(box=None, pad_edge=False, header_style="")
    for title in ("SERVER", "TYPE", "FROM", "STATE", "RUNS OR LEADS TO"):
        table.add_column(title, overflow="fold")
    for chosen in choice.servers:
        server = chosen.server
        state = _state(chosen, standing.get(server.name))
        row = (server.name, server.transport, server.scope, state, server.target or "(no address)")
        table.add_row(*(marked(cell, strict=True) for cell in row))
    if choice.servers:
        console().print(table)
    print_notices(choice)


def print_notices(choice: "Choice") -> None:
    """Print what a person should know about what is written."""
    from toolwright.surfaces.rendering.safety import marked

    for line in (*choice.problems, *choice.notices):
        typer.echo(f"toolwright: {marked(line)}", err=True)


def _state(chosen: "Chosen", view: "ServerView | None") -> str:
    if view is None or view.status == "connecting":
        return _STATES.get(chosen.status, chosen.status.replace("_", " "))
    told = view.status.replace("_", " ")
    if view.status == "connected":
        told += f", {view.tools} tools"
    if view.held_back:
        told += f", {len(view.held_back)} changed"
    return f"{told}: {view.reason}" if view.reason else told


def print_one(chosen: "Chosen") -> None:
    """Print one server."""
    from toolwright.surfaces.rendering.safety import marked

    for name, value in _lines(chosen):
        typer.echo(f"{name:<14}{marked(value, strict=True)}")


def _lines(chosen: "Chosen") -> Iterator[tuple[str, str]]:
    server = chosen.server
    yield "server", server.name
    yield "state", _STATES.get(chosen.status, chosen.status.replace("_", " "))
    yield "type", server.transport
    yield "written in", f"{server.origin or 'the program'} ({server.scope})"
    yield ("runs" if server.transport == "stdio" else "leads to"), server.target or "(no address)"
    if server.transport == "stdio":
        yield "works in", server.cwd
        yield "sandbox", "yes" if server.sandbox is not None else "no"
    for title, names in (("variables", server.env), ("headers", server.headers)):
        if names:
            yield title, ", ".join(names)
    if server.takes:
        yield "takes", ", ".join(server.takes)
    if server.headers_helper:
        yield "headers from", server.headers_helper
    flags = ("trusted", "parallel", "shared", "always_load", "restart", "handshake")
    said = [flag.replace("_", " ") for flag in flags if getattr(server, flag)]
    if said:
        yield "is", ", ".join(said)
    if server.timeout is not None:
        yield "timeout", f"{server.timeout:g} s"
    if server.sampling is not None:
        yield "asks a model", f"at most {server.sampling.daily_limit} times a day"
    for hidden in chosen.hides:
        yield "in place of", hidden


def agreed(chosen: "Chosen", *, yes: bool) -> bool:
    """Show what would start, and ask whether it may."""
    print_one(chosen)
    if yes or typer.confirm(f"Let {chosen.server.name} start?"):
        return True
    typer.echo("It may not start.")
    return False


# --- for machines -------------------------------------------------------------------------------------


def as_data(choice: "Choice", views: "Sequence[ServerView]") -> dict[str, Any]:
    """Return all servers."""
    standing = {view.name: view for view in views}
    servers = []
    for chosen in choice.servers:
        data = dict(one_as_data(chosen))
        view = standing.get(chosen.server.name)
        if view is not None:
            data |= view_as_data(view)
        servers.append(data)
    return {"servers": servers, "problems": list(choice.problems), "notices": list(choice.notices)}


def one_as_data(chosen: "Chosen") -> Mapping[str, Any]:
    """Return one server."""
    server = chosen.server
    return {
        "name": server.name,
        "type": server.transport,
        "scope": server.scope,
        "origin": server.origin,
        "status": _ready(chosen),
        "target": server.target or "(no address)",
        "variables": list(server.env),
        "headers": list(server.headers),
        "takes": list(server.takes),
        "sandbox": server.sandbox is not None,
        "trusted": server.trusted,
        "hides": list(chosen.hides),
    }


def _ready(chosen: "Chosen") -> str:
    return "may_start" if chosen.status == "connecting" else chosen.status


def view_as_data(view: "ServerView") -> dict[str, Any]:
    """Return how a server stands."""
    return {
        "status": view.status,
        "reason": view.reason,
        "tools": view.tools,
        "held_back": list(view.held_back),
        "left_out": list(view.left_out),
    }


def print_json(data: Any) -> None:
    """Print data."""
    import orjson

    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
