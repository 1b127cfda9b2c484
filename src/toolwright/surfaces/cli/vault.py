"""``toolwright vault``: keep credentials for servers, sealed; none of them is ever shown again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from toolwright.contracts.vaults import CredentialKind
    from toolwright.vaults.service import Vaults

Result = TypeVar("Result")
USUAL_VAULT = "default"

_KEY = """Make the master key that all vaults are sealed with, in a file that only you can read.

Where there is one already, a new one is put before it; say 'toolwright vault rewrap' afterwards. Without the
key no secret can be opened again: keep a copy of the file apart from your backups of the database.

\b
Examples:
  toolwright vault key
  toolwright vault key --file /safe/vault.key
"""
_CREATE = """Make an empty vault.

\b
Example:
  toolwright vault create work
"""
_ADD = """Put a credential for one server into a vault. The secret is read from the terminal, or from a pipe.

A secret is never an argument, so that no list of processes and no history of a shell holds it. For 'oauth'
give a JSON object: access_token, and optionally expires_in, refresh_token, token_endpoint, client_id,
client_secret, scope.

\b
Examples:
  toolwright vault add https://mcp.example.com/mcp
  printenv EXAMPLE_TOKEN | toolwright vault add https://mcp.example.com/mcp --vault work
  toolwright vault add https://api.example.com/mcp --kind header --header X-Api-Key
  toolwright vault add https://mcp.example.com/mcp --kind oauth < token.json
"""
_ROTATE = """Put another value in the place of a credential's. Sessions send it with their next request.

\b
Example:
  printenv NEW_TOKEN | toolwright vault rotate credential_3f2a
"""
_LIST = """List vaults and what is in them: addresses, kinds, the last four characters of long secrets.

\b
Examples:
  toolwright vault list
  toolwright vault list --json
"""
_RM = """Delete a vault with all that is in it, or one credential. What is deleted cannot be brought back.

\b
Examples:
  toolwright vault rm credential_3f2a
  toolwright vault rm work --yes
"""
_REWRAP = """Seal all vaults with the newest master key. Afterwards older keys are no longer needed.

\b
Example:
  toolwright vault key && toolwright vault rewrap
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VaultName = Annotated[str, typer.Option("--vault", metavar="NAME", help="The vault.")]
Given = Annotated[str, typer.Argument(metavar="CREDENTIAL", help="Its id, or how it begins.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the ``vault`` commands."""
    group = typer.Typer(
        help="Keep credentials for servers, sealed.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("key", help=_KEY)(key)
    group.command("create", help=_CREATE)(create)
    group.command("add", help=_ADD)(add)
    group.command("rotate", help=_ROTATE)(rotate)
    group.command("list", help=_LIST)(list_vaults)
    group.command("rm", help=_RM)(rm)
    group.command("rewrap", help=_REWRAP)(rewrap)
    app.add_typer(group, name="vault")


def key(
    file: Annotated[str, typer.Option("--file", metavar="PATH", help="Another place for it.")] = "",
) -> None:
    """Make a master key."""
    from toolwright.surfaces.cli.stored import settings_here
    from toolwright.vaults.master_keys import FILE_VARIABLE, write_key
    from toolwright.wiring.vaults import usual_key_file

    usual = usual_key_file(settings_here())
    path = file or usual
    keys = write_key(path)
    typer.echo(f"The master key {keys.current} is in {path}. Keep a copy of it in a safe place.")
    if path != usual:
        typer.echo(f"Set {FILE_VARIABLE}={path} where the engine runs.")
    if len(keys.keys) > 1:
        typer.echo("Say 'toolwright vault rewrap' to seal all vaults with it.")


def create(name: Annotated[str, typer.Argument(help="A name for it.")]) -> None:
    """Make a vault."""
    vault = _with_vaults(lambda vaults: vaults.create(name))
    typer.echo(f"{vault.vault_id}  {name}")


def add(
    server_url: Annotated[str, typer.Argument(metavar="URL", help="The address it is for.")],
    vault: VaultName = USUAL_VAULT,
    kind: Annotated[str, typer.Option("--kind", help="bearer, header or oauth.")] = "bearer",
    header: Annotated[str, typer.Option("--header", help="Which header, for the kind header.")] = "",
    name: Annotated[str, typer.Option("--name", help="What to call it.")] = "",
) -> None:
    """Put a credential into a vault."""
    from toolwright.surfaces.cli.secret_input import read_given

    given = read_given(_kind(kind, header))

    async def added(vaults: "Vaults") -> str:
        from toolwright.surfaces.cli.vault_facts import vault_for

        into = await vault_for(vaults, vault, may_make=vault == USUAL_VAULT)
        credential = await vaults.add(
            into.vault_id,
            given.kind,
            server_url,
            given.secret,
            name=name,
            header=header or "Authorization",
            expires_at=given.expires_at,
            refresh=given.refresh,
        )
        return f"{credential.credential_id}  {credential.kind} for {credential.server_url} in {into.name}"

    typer.echo(_with_vaults(added))


def rotate(credential: Given) -> None:
    """Put another value in place."""
    from toolwright.surfaces.cli.secret_input import read_given
    from toolwright.surfaces.cli.vault_facts import credential_meant

    known = _with_vaults(lambda vaults: credential_meant(vaults, credential))
    given = read_given(known.kind)

    async def rotated(vaults: "Vaults") -> None:
        await vaults.rotate(known.credential_id, given.secret, expires_at=given.expires_at)

    _with_vaults(rotated)
    typer.echo(f"{known.credential_id} has another value; running sessions send it from now on.")


def list_vaults(as_json: AsJson = False) -> None:
    """List vaults."""
    from toolwright.surfaces.cli import vault_facts

    found = _with_vaults(vault_facts.everything)
    if as_json:
        vault_facts.print_json(found)
    else:
        vault_facts.print_table(found)


def rm(
    what: Annotated[str, typer.Argument(metavar="NAME|CREDENTIAL", help="A vault or a credential.")],
    yes: Yes = False,
) -> None:
    """Delete a vault or a credential."""
    from toolwright.surfaces.cli.vault_facts import removal

    words, remove = _with_vaults(lambda vaults: removal(vaults, what))
    if not yes and not typer.confirm(f"Delete {words}?"):
        typer.echo("Nothing was deleted.")
        raise typer.Exit(1)
    _with_vaults(remove)
    typer.echo(f"Deleted {words}.")


def rewrap() -> None:
    """Seal all vaults with the newest key."""
    changed = _with_vaults(lambda vaults: vaults.rewrap())
    typer.echo(f"{changed} vaults were sealed with the newest master key; the others were already.")


def _kind(written: str, header: str) -> "CredentialKind":
    match written:
        case "bearer" | "oauth":
            if header:
                raise typer.BadParameter(f"--header goes with --kind header, not with {written}.")
            return written
        case "header":
            if not header:
                raise typer.BadParameter("--kind header needs --header NAME.")
            return written
        case _:
            raise typer.BadParameter("--kind is bearer, header or oauth.")


def _with_vaults(work: "Callable[[Vaults], Awaitable[Result]]") -> Result:
    """Open the vaults of this project for one piece of work."""

    async def whole() -> Result:
        from toolwright.surfaces.cli.stored import settings_here
        from toolwright.wiring.vaults import open_vaults

        async with open_vaults(settings_here()) as vaults:
            return await work(vaults)

    return asyncio.run(whole())
