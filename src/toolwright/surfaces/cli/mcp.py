"""``toolwright mcp``: servers that bring tools, set up, looked at and approved; and ours for others."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.cli import mcp_login, mcp_serve

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from toolwright.contracts.mcp_servers import ServerRecords
    from toolwright.settings import Loaded
    from toolwright.tools.mcp.choosing import Choice
    from toolwright.wiring.server_files import FileScope
    from toolwright.wiring.server_trials import Trial

Result = TypeVar("Result")

_LIST = """List the MCP servers that are set up here, and whether they may start.

\b
Examples:
  toolwright mcp list
  toolwright mcp list --connect
  toolwright mcp list --json
"""
_GET = """Show one server: where it is written, and what it runs or where it leads.

Values of variables and headers are not shown.

\b
Example:
  toolwright mcp get github
"""
_ADD = """Set up a server: a program with its arguments behind '--', or an address.

A value such as ${TOKEN} is taken from the environment when the server starts, so that no file holds it.

\b
Examples:
  toolwright mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolwright mcp add docs https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  toolwright mcp add old https://mcp.example.com/sse --type sse --scope project
"""
_REMOVE = """Take a server out of the file it is written in.

\b
Example:
  toolwright mcp remove files
"""
_TEST = """Connect to a server, say what it is and list its tools; with --tool, call one of them.

No rules are asked: the call is yours.

\b
Examples:
  toolwright mcp test files
  toolwright mcp test files --tool list_directory --input '{"path": "."}'
"""
_APPROVE = """Let servers start that a project brings, or accept tools that have changed.

What is approved is the entry exactly as it is written now. With --tools the server is started, and what its
tools have become is shown beside what was accepted.

\b
Examples:
  toolwright mcp approve github
  toolwright mcp approve --all --yes
  toolwright mcp approve github --tools
  toolwright mcp approve github --revoke
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the server.")]
Scope = Annotated[str, typer.Option("--scope", help="user, project or local.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the ``mcp`` commands."""
    group = typer.Typer(
        name="mcp",
        help="Tools of other servers, and ours for others.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("list", help=_LIST)(list_servers)
    group.command("get", help=_GET)(get)
    group.command("add", help=_ADD)(add)
    group.command("remove", help=_REMOVE)(remove)
    group.command("test", help=_TEST)(try_out)
    group.command("approve", help=_APPROVE)(approve)
    mcp_login.add_to(group)
    mcp_serve.add_to(group)
    app.add_typer(group)


def list_servers(
    connect: Annotated[bool, typer.Option("--connect", help="Start them and say how they stand.")] = False,
    as_json: AsJson = False,
) -> None:
    """List servers."""
    from toolwright.surfaces.cli import mcp_facts

    loaded = _settings()
    choice = _choice(loaded)
    views = _trying(loaded, (), lambda trial: trial.met(())) if connect and choice.servers else ()
    if as_json:
        mcp_facts.print_json(mcp_facts.as_data(choice, views))
    else:
        mcp_facts.print_table(choice, views)


def get(name: Name, as_json: AsJson = False) -> None:
    """Show one server."""
    from toolwright.surfaces.cli import mcp_facts

    chosen = mcp_facts.found(_choice(_settings()), name)
    if as_json:
        mcp_facts.print_json(mcp_facts.one_as_data(chosen))
    else:
        mcp_facts.print_one(chosen)


def add(
    name: Name,
    target: Annotated[list[str], typer.Argument(metavar="COMMAND…|URL", help="A program, or an address.")],
    kind: Annotated[str, typer.Option("--type", help="stdio, http, sse or ws.")] = "",
    scope: Scope = "user",
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="NAME=VALUE", help="A variable.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="'NAME: VALUE'", help="A header.")
    ] = None,
    timeout: Annotated[int | None, typer.Option("--timeout", help="Milliseconds a call may take.")] = None,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Run the program locked in.")] = False,
) -> None:
    """Set up a server."""
    from toolwright.surfaces.cli.mcp_entries import entry_of
    from toolwright.wiring.server_files import add_server

    place = _scope(scope)
    entry = entry_of(target, kind=kind, env=env or (), headers=header or ())
    if timeout is not None:
        entry["timeout"] = timeout
    if sandbox:
        entry["sandbox"] = True
    loaded = _settings()
    path = add_server(loaded, place, name, entry)
    typer.echo(f"{name} is written in {path}.")
    if place == "project":
        _record(loaded, name, entry)
        typer.echo("It is approved here; others who use the project approve it themselves.")
    if place == "local" and not loaded.trusted:
        typer.echo("It does not count until the project is trusted: toolwright trust.")


def remove(
    name: Name, scope: Annotated[str, typer.Option("--scope", help="user, project or local.")] = ""
) -> None:
    """Take a server out of its file."""
    from toolwright.wiring.server_files import remove_server

    path = remove_server(_settings(), name, _scope(scope) if scope else None)
    typer.echo(f"{name} is taken out of {path}.")


def try_out(
    name: Name,
    tool: Annotated[str, typer.Option("--tool", metavar="TOOL", help="Call this tool.")] = "",
    given: Annotated[str, typer.Option("--input", metavar="JSON", help="Its input.")] = "{}",
    as_json: AsJson = False,
) -> None:
    """Try a server."""
    from toolwright.surfaces.cli import mcp_facts, mcp_trying

    loaded = _settings()
    mcp_facts.found(_choice(loaded), name)
    input = mcp_trying.read_input(given)
    seen = _trying(loaded, (name,), lambda trial: mcp_trying.looked(trial, name, tool, input))
    mcp_trying.print_seen(seen, as_json=as_json)
    if not seen.works:
        raise typer.Exit(1)


def approve(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Servers.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait for it.")] = False,
    tools: Annotated[bool, typer.Option("--tools", help="Changed tools, not the server itself.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take an approval back.")] = False,
    yes: Yes = False,
) -> None:
    """Approve servers or their changed tools."""
    from toolwright.surfaces.cli import mcp_facts, mcp_trying

    loaded = _settings()
    choice = _choice(loaded)
    waiting = [one for one in choice.servers if one.status == "pending_approval"]
    meant = waiting if every else [mcp_facts.found(choice, name) for name in names or ()]
    if not meant:
        raise SettingsError("name a server, or say --all; 'toolwright mcp list' shows which wait.")
    for chosen in meant:
        server = chosen.server
        if revoke:
            _run(_records(loaded).approve(loaded.project, server.name, ""))
            typer.echo(f"{server.name} may not start here any more.")
        elif tools:
            _trying(loaded, (server.name,), partial(mcp_trying.accepted, name=server.name, yes=yes))
        elif mcp_facts.agreed(chosen, yes=yes):
            _run(_records(loaded).approve(loaded.project, server.name, server.digest))
            typer.echo(f"{server.name} may start from now on, as long as its entry stays as it is.")


# --- what the commands share ------------------------------------------------------------------------


def _settings() -> "Loaded":
    from toolwright.surfaces.cli.stored import settings_here

    return settings_here()


def _scope(written: str) -> "FileScope":
    from toolwright.wiring.server_files import SCOPES

    found = next((scope for scope in SCOPES if scope == written), None)
    if found is None:
        raise typer.BadParameter("--scope is user, project or local.")
    return found


def _records(loaded: "Loaded") -> "ServerRecords":
    from toolwright.wiring.mcp import server_records

    return server_records(loaded.environ)


def _choice(loaded: "Loaded") -> "Choice":
    from toolwright.wiring.server_choice import chosen_servers

    return _run(chosen_servers(loaded, _records(loaded)))


def _record(loaded: "Loaded", name: str, entry: Mapping[str, Any]) -> None:
    """Whoever writes an entry themselves has seen it."""
    from toolwright.tools.mcp.entries import entry_digest

    _run(_records(loaded).approve(loaded.project, name, entry_digest(entry)))


def _run(work: "Coroutine[Any, Any, Result]") -> Result:
    return asyncio.run(work)


def _trying(loaded: "Loaded", names: Sequence[str], work: "Callable[[Trial], Awaitable[Result]]") -> Result:
    """Start servers for one look at them."""

    async def whole() -> Result:
        from toolwright.wiring.server_trials import tried

        async with tried(loaded, names) as trial:
            return await work(trial)

    return asyncio.run(whole())
