"""How sessions are drawn: the options that several commands share."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from toolwright.surfaces.cli.run_screen import Form
    from toolwright.surfaces.rendering.calls import Verbosity

Details = Annotated[
    str, typer.Option(metavar="HOW", help="How much of calls to show: compact, normal or full.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Print without colour, fit for a log.")]
ScreenReader = Annotated[
    bool, typer.Option("--screen-reader", help="Words only: no boxes, bars and spinners.")
]
Events = Annotated[bool, typer.Option("--json", help="Print one line of JSON for each event.")]


def verbosity(written: str) -> "Verbosity":
    """Return how much of calls to show. Raises BadParameter."""
    match written:
        case "compact" | "normal" | "full":
            return written
        case _:
            raise typer.BadParameter("--details is compact, normal or full")


def form(*, json: bool, plain: bool) -> "Form":
    """Return the form to print in. Raises BadParameter."""
    if json and plain:
        raise typer.BadParameter("--json and --plain exclude each other")
    return "json" if json else "plain" if plain else "terminal"
