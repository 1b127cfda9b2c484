"""The ``toolwright`` command: puts the commands together and turns our errors into exit codes."""

import sys
from typing import Annotated

import typer

from toolwright.contracts.errors import ToolwrightError
from toolwright.surfaces.cli import (
    agents,
    call,
    catalog,
    chat,
    config,
    db,
    demo,
    doctor,
    evals,
    keys,
    mcp,
    permissions,
    run,
    serve,
    sessions,
    skills,
    tools,
    trust,
    vault,
)

USAGE, INTERRUPTED = 2, 130


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"toolwright {version('toolwright')}")
        raise typer.Exit


def application() -> typer.Typer:
    """Return the command line as a Typer application."""
    app = typer.Typer(
        name="toolwright",
        help="A self-hosted agent engine built around its tools.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help is quick, fits every width and can be copied
    )

    @app.callback(context_settings={"help_option_names": ["-h", "--help"]})
    def root(
        version: Annotated[
            bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
        ] = False,
    ) -> None:
        del version

    for command in (
        demo,
        run,
        chat,
        sessions,
        call,
        tools,
        permissions,
        evals,
        trust,
        agents,
        skills,
        catalog,
        config,
        vault,
        db,
        doctor,
        serve,
        keys,
        mcp,
    ):
        command.register(app)
    return app


def main() -> None:
    """Run the command line. Bad settings, rules and tools end with exit code 2 and one clear line."""
    try:
        application()()
    except ToolwrightError as problem:
        print(f"toolwright: {problem}", file=sys.stderr)
        sys.exit(USAGE)
    except KeyboardInterrupt:
        print("toolwright: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
