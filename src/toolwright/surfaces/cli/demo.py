"""``toolwright demo``: watch an agent do a real task, with a model that is scripted."""

from typing import Annotated

import typer

from toolwright.surfaces.cli.drawing_options import Details, Plain, ScreenReader, form, verbosity

_HELP = """Watch an agent find and mend a fault in a sample project. Needs no key and no network.

Only the model is not real: it follows a script, and looks at results to see how to go on. Tools, permission
rules, sandbox and log are those of every session. Works on a copy in a new temporary folder, and asks once
before it changes a file; where nobody can be asked, a rule allows just that.

Ends like 'toolwright run'.

\b
Examples:
  toolwright demo
  toolwright demo --no-input --plain
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help=_HELP)(demo)


def demo(
    details: Details = "normal",
    plain: Plain = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Do not ask.")] = False,
    screen_reader: ScreenReader = False,
) -> None:
    """Do the sample task."""
    from toolwright.surfaces.cli.demonstration import demonstrate
    from toolwright.surfaces.cli.running import RunRequest

    request = RunRequest(
        task="",
        form=form(json=False, plain=plain),
        details=verbosity(details),
        may_ask=not no_input,
        screen_reader=screen_reader,
    )
    raise typer.Exit(demonstrate(request))
