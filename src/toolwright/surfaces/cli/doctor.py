"""``toolwright doctor``: what works here, what is missing, and how to get it."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from toolwright.wiring.health import Check, Health

_HELP = """Say what works here, what is missing and how to get it.

Everything is tried: a program runs in the sandbox, files are written, the database is opened. Nothing is left
behind. Ends with 1 when something that is needed fails.

\b
Examples:
  toolwright doctor
  toolwright doctor --json
"""
_SIGNS = {"ok": "✓", "note": "·", "warning": "!", "broken": "✗"}
_STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "broken": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", help=_HELP)(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try everything and print what was found."""
    from dataclasses import replace

    import anyio

    from toolwright.wiring.health import examine

    health = anyio.run(examine, os.getcwd(), os.environ)
    health = replace(health, checks=(*health.checks, _terminal()))
    if as_json:
        _print_json(health)
    else:
        _print(health)
    if not health.works:
        raise typer.Exit(1)


def _terminal() -> "Check":
    """What the terminal can show; asked of the streams and variables alone."""
    from toolwright.surfaces.cli.tables import console
    from toolwright.wiring.health import Check

    out = console()
    encoding = (getattr(sys.stdout, "encoding", "") or "ascii").lower()
    if not out.is_terminal:
        says = "none: output is plain, and questions can only be answered where there is one"
        return Check("Terminal", "note", says)
    colours = out.color_system or "no colours"
    says = f"{out.width} columns, {colours}, {encoding}"
    if not encoding.startswith("utf"):
        return Check("Terminal", "warning", says, "Use a UTF-8 locale, such as LANG=C.UTF-8.")
    return Check("Terminal", "ok", says)


def _print_json(health: "Health") -> None:
    from dataclasses import asdict

    import orjson

    data = {
        "works": health.works,
        "project": health.project,
        "checks": [asdict(one) for one in health.checks],
    }
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


def _print(health: "Health") -> None:
    from importlib.metadata import version

    from rich.text import Text

    from toolwright.surfaces.cli.tables import console
    from toolwright.surfaces.rendering.safety import marked

    out = console()
    head = f"toolwright {version('toolwright')} in {marked(health.project, strict=True)}"
    out.print(Text(head, "bold"), soft_wrap=True)
    out.print()
    if out.is_terminal:
        out.print(_grid(health.checks, with_signs=out.encoding.startswith("utf")))
    else:
        for check in health.checks:
            out.print(f"{check.level:<8} {check.name:<12} {_told(check, ' ' * 22).plain}", soft_wrap=True)
    out.print()
    out.print(_summary(health), soft_wrap=True)


def _grid(checks: "tuple[Check, ...]", *, with_signs: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for check in checks:
        style = _STYLES[check.level]
        sign = _SIGNS[check.level] if with_signs else check.level
        grid.add_row(Text(sign, style), Text(check.name, "bold"), _told(check))
    return grid


def _told(check: "Check", indent: str = "") -> "Text":
    """What was found, then its details, then what to do: one line each."""
    from rich.text import Text

    from toolwright.surfaces.rendering.safety import marked

    told = Text(marked(check.says))
    for detail in check.details:
        told.append(f"\n{indent}{marked(detail)}", "dim" if check.level == "ok" else "")
    if check.remedy:
        told.append(f"\n{indent}To do: {marked(check.remedy)}", _STYLES[check.level])
    return told


def _summary(health: "Health") -> "Text":
    from rich.text import Text

    broken = [check.name for check in health.checks if check.level == "broken"]
    warned = [check.name for check in health.checks if check.level == "warning"]
    if broken:
        return Text(f"Needed and broken: {', '.join(broken)}.", "bold red")
    if warned:
        return Text(f"Everything that is needed works. Worth a look: {', '.join(warned)}.", "yellow")
    return Text("Everything works.", "green")
