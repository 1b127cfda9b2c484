"""``toolwright mcp login`` and ``logout``: a person signs in at a server, and the token goes into a vault."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from toolwright.contracts.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolwright.contracts.mcp import ServerDefinition
    from toolwright.settings import Loaded

_LOGIN = """Log in at a server: your browser opens, you agree, and the token is kept in a vault.

Tokens are renewed by themselves, and running sessions use them with their next request. With --no-browser the
address is printed instead; open it anywhere, and paste the address you end up at, though no page is there.

\b
Examples:
  toolwright mcp login docs
  toolwright mcp login docs --no-browser
  toolwright mcp login docs --again --scope files:write
  toolwright mcp login docs --client-id 7f3a --client-secret --vault work
"""
_LOGOUT = """Give the token of a server back, and forget it.

\b
Example:
  toolwright mcp logout docs
"""
_WAITS = 300

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the server.")]
VaultName = Annotated[
    str, typer.Option("--vault", metavar="NAME", help="The vault, else the first of the settings.")
]


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("login", help=_LOGIN)(login)
    group.command("logout", help=_LOGOUT)(logout)


def login(
    name: Name,
    vault: VaultName = "",
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="Ask for this; may be repeated.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also where the server lets us in.")] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, read another.")
    ] = False,
    client_id: Annotated[
        str, typer.Option("--client-id", metavar="ID", help="As whom, where you registered a client.")
    ] = "",
    client_secret: Annotated[
        bool, typer.Option("--client-secret", help="Read the client's secret from the terminal.")
    ] = False,
    wait: Annotated[int, typer.Option("--wait", metavar="S", min=1, help="Wait for the browser.")] = _WAITS,
) -> None:
    """Log in at a server."""
    from toolwright.surfaces.cli.logging_in import LoginRequest, logged_in
    from toolwright.surfaces.cli.stored import settings_here

    if client_secret and not client_id:
        raise typer.BadParameter("--client-secret goes with --client-id.")
    request = LoginRequest(
        vault=vault,
        scopes=_scopes(scope or ()),
        again=again,
        browser=not no_browser,
        client_id=client_id,
        client_secret=_secret() if client_secret else "",
        wait=wait,
    )
    loaded = settings_here()
    if not asyncio.run(logged_in(loaded, _server(loaded, name), request)):
        raise typer.Exit(1)


def logout(name: Name, vault: VaultName = "") -> None:
    """Log out at a server."""
    from toolwright.surfaces.cli.stored import settings_here

    loaded = settings_here()
    typer.echo(asyncio.run(_logged_out(loaded, _server(loaded, name), vault)))


async def _logged_out(loaded: "Loaded", server: "ServerDefinition", vault: str) -> str:
    from toolwright.wiring.server_logins import login_at

    async with login_at(loaded, server, vault=vault, may_make=False) as login:
        gone = await login.log_out()
        if gone is None:
            return f"Nobody is logged in at {server.name}, as far as the vault {login.vault.name!r} knows."
        return f"Logged out at {server.name}: {gone.credential_id} is forgotten."


def _server(loaded: "Loaded", name: str) -> "ServerDefinition":
    from toolwright.surfaces.cli import mcp_facts
    from toolwright.wiring.mcp import server_records
    from toolwright.wiring.server_choice import chosen_servers

    choice = asyncio.run(chosen_servers(loaded, server_records(loaded.environ)))
    chosen = mcp_facts.found(choice, name)
    if chosen.status == "pending_approval":
        raise SettingsError(f"{name} waits for approval: toolwright mcp approve {name}.")
    if chosen.status == "disabled":
        raise SettingsError(f"{name} is switched off.")
    return chosen.server


def _scopes(written: "Sequence[str]") -> tuple[str, ...]:
    return tuple(scope for words in written for scope in words.split())


def _secret() -> str:
    from toolwright.surfaces.cli.secret_input import read_given

    return read_given("bearer").secret.value
