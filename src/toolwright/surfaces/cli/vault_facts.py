"""What may be told of vaults, and which one a person means."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from toolwright.contracts.vaults import Credential, UnknownVault, Vault

if TYPE_CHECKING:
    from toolwright.vaults.service import Vaults

_MANY = 3


@dataclass(frozen=True, slots=True)
class Contents:
    """A vault and what is in it, without any secret."""

    vault: Vault
    credentials: Sequence[Credential]


async def everything(vaults: "Vaults") -> list[Contents]:
    """Return all vaults that are in use."""
    return [
        Contents(vault, await _active(vaults, vault))
        for vault in await vaults.list()
        if vault.archived_at is None
    ]


async def vault_for(vaults: "Vaults", name: str, *, may_make: bool) -> Vault:
    """Return the vault of this name, made now if it may be. May raise UnknownVault."""
    there = any(vault.name == name and vault.archived_at is None for vault in await vaults.list())
    return await vaults.create(name) if may_make and not there else await vaults.find(name)


async def credential_meant(vaults: "Vaults", begins: str) -> Credential:
    """Return the one credential whose id begins like this. May raise UnknownVault."""
    found = await _credentials_meant(vaults, begins)
    if len(found) != 1:
        wrong = "There is no credential" if not found else f"{len(found)} credentials have an id that begins"
        raise UnknownVault(f"{wrong} {begins[:80]!r}; 'toolwright vault list' shows them.")
    return found[0]


async def removal(vaults: "Vaults", what: str) -> tuple[str, "Callable[[Vaults], Awaitable[None]]"]:
    """Return in words what a person wants deleted, and what deletes it. May raise UnknownVault."""
    named = [vault for vault in await vaults.list() if what in (vault.name, vault.vault_id)]
    if not named and (await _credentials_meant(vaults, what)):
        credential = await credential_meant(vaults, what)
        words = f"the credential {credential.credential_id} for {credential.server_url}"
        return words, lambda now: now.remove_credential(credential.credential_id)
    vault = await vaults.find(what)
    inside = len(await vaults.credentials(vault.vault_id))
    words = f"the vault {vault.name!r} and {inside} credential{'' if inside == 1 else 's'} in it"
    return words, lambda now: now.remove(vault.vault_id)


async def _credentials_meant(vaults: "Vaults", begins: str) -> list[Credential]:
    whole = f"credential_{begins.removeprefix('credential_')}"
    return [
        credential
        for contents in await everything(vaults)
        for credential in contents.credentials
        if len(begins) >= _MANY and credential.credential_id.startswith(whole)
    ]


async def _active(vaults: "Vaults", vault: Vault) -> list[Credential]:
    return [one for one in await vaults.credentials(vault.vault_id) if one.archived_at is None]


def data(found: Sequence[Contents]) -> list[dict[str, Any]]:
    """Return everything for a machine."""
    return [
        {**asdict(one.vault), "credentials": [asdict(credential) for credential in one.credentials]}
        for one in found
    ]


def print_json(found: Sequence[Contents]) -> None:
    """Print everything for a machine."""
    import orjson

    typer.echo(orjson.dumps(data(found), option=orjson.OPT_INDENT_2).decode())


def print_table(found: Sequence[Contents]) -> None:
    """Print everything for a person."""
    from rich.table import Table

    from toolwright.surfaces.cli.tables import console
    from toolwright.surfaces.rendering.safety import marked

    if not found:
        typer.echo("There are no vaults. 'toolwright vault add URL' makes one and puts a secret into it.")
        return
    table = Table(box=None, pad_edge=False, header_style="")
    for title in ("VAULT", "CREDENTIAL", "KIND", "SERVER", "ENDS WITH", "GOOD UNTIL"):
        table.add_column(title, overflow="fold")
    for one in found:
        rows = [_row(credential) for credential in one.credentials] or [("", "", "(empty)", "", "")]
        for place, row in enumerate(rows):
            table.add_row(marked(one.vault.name) if place == 0 else "", *map(marked, row))
    console().print(table)


def _row(credential: Credential) -> tuple[str, str, str, str, str]:
    ends = credential.expires_at
    until = "" if ends is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(ends))
    renewed = " (renewed)" if credential.refresh is not None else ""
    kind = f"header {credential.header}" if credential.kind == "header" else credential.kind
    return credential.credential_id, kind, credential.server_url, credential.last_four, f"{until}{renewed}"
