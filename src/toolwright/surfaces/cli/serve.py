"""``toolwright serve``: the engine over HTTP."""

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from toolwright.surfaces.http.app import House

_SERVE = """Serve the engine over HTTP: one process, no other server needed.

Listens on this machine only, unless something in front of it speaks TLS (--behind-proxy). The first start
without any key makes one and prints it once; TOOLWRIGHT_API_KEY gives one from outside. Ctrl-C, or SIGTERM,
lets running sessions come to rest first; what they were at goes on with the next start.

\b
Examples:
  toolwright serve
  toolwright serve --port 8080 --data ./data --model anthropic/claude-sonnet-5
  toolwright serve --catalog ./catalog --watch
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help=_SERVE)(serve)


def serve(
    host: Annotated[str, typer.Option("--host", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes any that is free.")] = 8000,
    data: Annotated[str, typer.Option("--data", metavar="DIR", help="Where everything is kept.")] = "",
    model: Annotated[str, typer.Option("--model", help="Ask this model, whatever agents name.")] = "",
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Another host name it is reached under.")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Something in front of it speaks TLS.")
    ] = False,
    catalog: Annotated[
        str,
        typer.Option("--catalog", metavar="DIR", help="Tools and agents; else $CATALOG_DIR, else the stock."),
    ] = "",
    watch: Annotated[
        bool, typer.Option("--watch", help="Read the catalog anew when a file of it changes.")
    ] = False,
) -> None:
    """Serve."""
    from toolwright.surfaces.engine_variables import grace_of
    from toolwright.surfaces.http.log_lines import level_of, telling
    from toolwright.surfaces.http.serving import serve as serving
    from toolwright.surfaces.server_settings import Serving

    environ = {**_dotenv(), **os.environ}
    asked = Serving(
        environ=environ,
        host=host,
        port=port,
        data=data,
        model=model,
        hosts=tuple(name or ()),
        behind_proxy=behind_proxy,
        catalog=catalog,
        watch=watch,
        grace=grace_of(environ),
    )
    with telling(level_of(environ)):
        asyncio.run(serving(asked, ready=_ready))


def _dotenv() -> dict[str, str]:
    """Return what a ``.env`` file here says; the environment of the process goes before it."""
    from toolwright.surfaces.engine_variables import read_dotenv

    try:
        with open(".env", encoding="utf-8") as file:
            return read_dotenv(file.read())
    except FileNotFoundError:
        return {}


async def _ready(house: "House", address: str) -> None:
    typer.echo(f"toolwright serves at {address}, data in {house.loaded.data_folder}", err=True)
    if not await house.keys.any_key():
        _, written = await house.keys.create(label="first key", scope="admin")
        typer.echo(f"Nobody had a key yet. This one is shown once: {written}", err=True)
