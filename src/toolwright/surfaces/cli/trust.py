"""``toolwright trust``: let the settings of a project count in full."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(
        epilog="Example:  toolwright trust ~/src/my-project",
    )
    def trust(
        folder: Annotated[str, typer.Argument(help="The project; by default the current folder.")] = ".",
    ) -> None:
        """Trust a project: its allow rules, hooks and other settings count from now on.

        Until then only its deny and ask rules and its limits do: whoever wrote the project wrote them.
        """
        import os

        from toolwright import settings

        project = os.path.realpath(folder)
        if not os.path.isdir(project):
            typer.echo(f"toolwright: there is no folder {project}.", err=True)
            raise typer.Exit(2)
        path = settings.trust(project, os.environ)
        typer.echo(f"{project} is trusted (noted in {path}).")
