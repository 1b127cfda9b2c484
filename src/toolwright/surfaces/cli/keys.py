"""``toolwright keys``: who may come in at the doors of the server."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from toolwright.catalog.access_keys import AccessKeys, Scope

Result = TypeVar("Result")

_CREATE = """Make a key and print it, this once. A running server takes it at once.

A key opens one workspace: agents, sessions, vaults and files of one are never seen from another.

\b
Examples:
  toolwright keys create --label laptop
  toolwright keys create --workspace team-a --scope admin --days 90
"""
_LIST = """List the keys of a workspace, without what they are.

\b
Example:
  toolwright keys list --workspace team-a
"""
_REVOKE = """Let a key open nothing any more; running servers stop taking it within seconds.

\b
Example:
  toolwright keys revoke key_3f2a
"""
Workspace = Annotated[str, typer.Option("--workspace", help="Which workspace.")]
Data = Annotated[str, typer.Option("--data", metavar="DIR", help="The data folder of the server.")]
_DAY = 86_400.0


def register(app: typer.Typer) -> None:
    """Add the ``keys`` commands."""
    group = typer.Typer(help="Keys of the server.", no_args_is_help=True, rich_markup_mode=None)
    group.command("create", help=_CREATE)(create)
    group.command("list", help=_LIST)(list_keys)
    group.command("revoke", help=_REVOKE)(revoke)
    app.add_typer(group, name="keys")


def create(
    label: Annotated[str, typer.Option("--label", help="What it is for.")] = "",
    workspace: Workspace = "default",
    scope: Annotated[str, typer.Option("--scope", help="admin, write or read.")] = "write",
    days: Annotated[float | None, typer.Option("--days", min=0.0, help="How long it is good.")] = None,
    data: Data = "",
) -> None:
    """Make a key."""
    reach = _scope(scope)
    lasts = None if days is None else days * _DAY
    _, written = _with_keys(
        data, lambda keys: keys.create(workspace=workspace, label=label, scope=reach, lasts=lasts)
    )
    typer.echo(written)


def list_keys(
    workspace: Workspace = "default",
    data: Data = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List keys."""
    found = _with_keys(data, lambda keys: keys.list(workspace))
    if as_json:
        import orjson

        typer.echo(orjson.dumps(list(found), option=orjson.OPT_INDENT_2).decode())
        return
    for key in found:
        ends = "" if key.expires_at is None else f"  until {_day(key.expires_at)}"
        typer.echo(
            f"{key.key_id}  …{key.last_four}  {key.scope:5}  {_day(key.created_at)}{ends}  {key.label}"
        )
    if not found:
        typer.echo(f"There is no key to the workspace {workspace!r} yet: toolwright keys create.", err=True)


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As 'keys list' shows it.")],
    workspace: Workspace = "default",
    data: Data = "",
) -> None:
    """Revoke a key."""
    _with_keys(data, lambda keys: keys.revoke(key_id, workspace=workspace))
    typer.echo(f"{key_id} opens nothing any more.")


def _scope(written: str) -> "Scope":
    match written:
        case "admin" | "write" | "read":
            return written
        case _:
            raise typer.BadParameter("--scope is admin, write or read.")


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at))


def _with_keys(data: str, work: "Callable[[AccessKeys], Awaitable[Result]]") -> Result:
    async def whole() -> Result:
        from toolwright.surfaces.server_settings import Serving, settings_of
        from toolwright.wiring.server_stores import open_server_stores

        async with open_server_stores(settings_of(Serving(environ=os.environ, data=data))) as stores:
            return await work(stores.keys)

    return asyncio.run(whole())
