"""The work behind ``toolwright mcp login``: what a person is told, and where they come back."""

import asyncio
import sys
import time
import webbrowser
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from toolwright.contracts.errors import SettingsError
from toolwright.surfaces.cli.loopback import redirect_to, waiting
from toolwright.vaults.addresses import host_of
from toolwright.vaults.oauth.signing_in import Wishes
from toolwright.wiring.server_logins import Login, login_at

if TYPE_CHECKING:
    from toolwright.contracts.mcp import ServerDefinition
    from toolwright.contracts.mcp_servers import ServerView
    from toolwright.contracts.vaults import Credential
    from toolwright.settings import Loaded
    from toolwright.vaults.oauth.authorizing import Attempt

_ANY_PORT = 8_123
"""Named in an address that nobody listens at: a person pastes it."""
_LONGEST = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRequest:
    """What a person typed."""

    vault: str = ""
    scopes: tuple[str, ...] = ()
    again: bool = False
    browser: bool = True
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    wait: float = 300.0

    @property
    def wishes(self) -> Wishes:
        """What of it concerns the login itself."""
        return Wishes(client_id=self.client_id, client_secret=self.client_secret, scopes=self.scopes)


async def logged_in(loaded: "Loaded", server: "ServerDefinition", request: LoginRequest) -> bool:
    """Let a person log in; whether the server lets us in now. May raise SettingsError and VaultError."""
    async with login_at(loaded, server, vault=request.vault) as login:
        before = await login.stands()
        if before.status == "connected" and not (request.again or request.scopes):
            _say(f"{server.name} lets us in already, with {_tools(before)}. Say --again to log in anew.")
            return True
        if before.status not in {"connected", "needs_auth"}:
            _say(f"{server.name}: {before.status.replace('_', ' ')} ({before.reason})")
            return False
        kept = await (_by_browser if request.browser else _by_hand)(login, before, request)
        return _told(login, kept, await login.stands())


async def _by_browser(login: Login, before: "ServerView", request: LoginRequest) -> "Credential":
    async with waiting(await login.wanted_port()) as back:
        attempt = await login.begin(back.redirect_uri, before, request.wishes)
        back.fits = attempt.is_answer
        _show(attempt)
        opening = asyncio.create_task(asyncio.to_thread(webbrowser.open, attempt.url))
        opening.add_done_callback(_opened)
        try:
            async with asyncio.timeout(request.wait):
                address = await back.address()
        except TimeoutError:
            raise SettingsError(
                f"nobody came back within {request.wait:g} s. Where the browser is on another machine, say "
                "--no-browser."
            ) from None
        return await login.finish(attempt, address)


def _opened(opening: "asyncio.Task[bool]") -> None:
    if not opening.cancelled() and (opening.exception() is not None or not opening.result()):
        _say("No browser could be opened: open the address yourself, or say --no-browser.")


async def _by_hand(login: Login, before: "ServerView", request: LoginRequest) -> "Credential":
    port = await login.wanted_port() or _ANY_PORT
    attempt = await login.begin(redirect_to(port), before, request.wishes)
    _show(attempt)
    _say(f"Your browser ends at an address that begins with {attempt.redirect_uri}, where no page is.")
    typer.echo("Paste that address here: ", err=True, nl=False)
    address = await asyncio.to_thread(sys.stdin.readline, _LONGEST)
    return await login.finish(attempt, address.strip())


def _show(attempt: "Attempt") -> None:
    asked = f", for {' '.join(attempt.scopes)}" if attempt.scopes else ""
    _say(f"Log in at {host_of(attempt.url)}{asked}:")
    _say(f"\n  {attempt.url}\n")


def _told(login: Login, kept: "Credential", after: "ServerView") -> bool:
    """Say what came of it."""
    renewed = "renewed by itself" if kept.refresh is not None else "good until it ends: log in again then"
    ends = f", ends {_moment(kept.expires_at)}" if kept.expires_at is not None else ""
    _say(f"The token is in the vault {login.vault.name!r} as {kept.credential_id}{ends}; {renewed}.")
    if after.status != "connected":
        _say(f"{login.server.name} still does not let us in: {after.reason}")
        return False
    typer.echo(f"Logged in at {login.server.name}: {_tools(after)}.")
    return True


def _tools(view: "ServerView") -> str:
    return f"{view.tools} tool{'' if view.tools == 1 else 's'}"


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _say(text: str) -> None:
    typer.echo(text, err=True)
