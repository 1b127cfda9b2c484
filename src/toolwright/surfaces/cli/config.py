"""``toolwright config``: every setting in force, and where it comes from."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from toolwright.settings import Loaded, Origin
    from toolwright.tool_calls.credentials import Masking

_SHOW = """Show every setting in force. Secrets are masked.

With --origin also the file, option or variable each comes from, and the weaker ones it overrides.
KEY is one setting, such as limits.rounds, or a section of them.

\b
Examples:
  toolwright config show
  toolwright config show limits --origin
  toolwright config show --origin --json
"""
_MASKED_SECTIONS = frozenset({"headers", "env"})
_MASK = "[redacted]"
_NARROWEST_TABLE = 76


def register(app: typer.Typer) -> None:
    """Add the command group ``config``."""
    group = typer.Typer(help="See the settings in force.", no_args_is_help=True)
    group.callback()(_group)  # a group with one command stays a group
    group.command("show", help=_SHOW)(show)
    app.add_typer(group, name="config")


def _group() -> None:
    """See the settings in force."""


def show(
    key: Annotated[str | None, typer.Argument(help="A setting or a section; by default all.")] = None,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each comes from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print settings."""
    from toolwright import settings

    loaded = settings.load(os.getcwd(), environ=os.environ)
    chosen = _chosen(loaded, key)
    hide = _hiding(loaded)
    if as_json:
        _print_json(chosen, hide, with_origin=origin)
    else:
        _print_table(chosen, hide, with_origin=origin)
    for notice in loaded.notices:
        typer.echo(f"note: {hide(notice)}", err=True)


def _chosen(loaded: "Loaded", key: str | None) -> "list[Origin]":
    from toolwright import settings

    every = settings.every_origin(loaded)
    section = [one for one in every if key is None or one.key.startswith(f"{key}.")]
    return section or [settings.origin_of(loaded, key or "")]


def _hiding(loaded: "Loaded") -> "Masking":
    from toolwright.tool_calls.credentials import Masking, secret_values

    return Masking(secret_values(loaded.environ), formats=True)


def _masked(value: Any, hide: "Masking", name: str = "") -> Any:
    """Plain data without secrets: those known, those that look like one, and all that headers hold."""
    from toolwright.tool_calls.credentials import secret_values

    if isinstance(value, Mapping):
        return {str(key): _masked(inner, hide, _below(name, str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner, hide, name) for inner in value]
    if not isinstance(value, str):
        return value
    named = name.rpartition(".")[2].replace("-", "_")
    if name.startswith("*") or secret_values({named: value}):
        return _MASK
    return hide(value)


def _below(name: str, key: str) -> str:
    """A name that starts with ``*`` stands within headers or variables, where every value may be a secret."""
    return f"*.{key}" if name.startswith("*") or name.rpartition(".")[2] in _MASKED_SECTIONS else key


def _print_json(chosen: "list[Origin]", hide: "Masking", *, with_origin: bool) -> None:
    import orjson

    if not with_origin:
        data: Any = {one.key: _masked(one.value, hide, one.key) for one in chosen}
    else:
        data = [
            {
                "key": one.key,
                "value": _masked(one.value, hide, one.key),
                "sources": [_said(said, one.key, hide) for said in one.sources],
                "overridden": [_said(said, one.key, hide) for said in one.overridden],
            }
            for one in chosen
        ]
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


def _said(said: Any, key: str, hide: "Masking") -> dict[str, Any]:
    return {"source": said.source, "where": said.where, "value": _masked(said.value, hide, key)}


def _print_table(chosen: "list[Origin]", hide: "Masking", *, with_origin: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from toolwright.surfaces.cli.tables import console

    out = console()
    if out.width < _NARROWEST_TABLE:
        for one in chosen:
            out.print(_narrow(one, hide, with_origin=with_origin))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("SETTING", "VALUE", *(("FROM",) if with_origin else ())):
        table.add_column(title, overflow="fold")
    for one in chosen:
        is_set = one.said[0].source != "default"
        cells = [Text(one.key, "bold" if is_set else ""), Text(_shown(one.value, one.key, hide))]
        if with_origin:
            cells.append(_from(one, hide))
        table.add_row(*cells)
    out.print(table)


def _narrow(one: "Origin", hide: "Masking", *, with_origin: bool) -> Any:
    """A setting where a table has no room: its name, then the rest below it."""
    from rich.text import Text

    is_set = one.said[0].source != "default"
    shown = Text.assemble((one.key, "bold" if is_set else ""), f" {_shown(one.value, one.key, hide)}")
    shown.overflow = "fold"
    for line in _from(one, hide).split("\n") if with_origin and is_set else ():
        shown.append("\n  ").append_text(line)
    return shown


def _from(one: "Origin", hide: "Masking") -> Any:
    from rich.text import Text

    found = Text()
    for number, said in enumerate(one.sources):
        found.append("\n" if number else "")
        found.append(_place(said), "dim" if said.source == "default" else "green")
    for said in one.overridden:
        value = _shown(said.value, one.key, hide)
        found.append(f"\noverrides {value} from {_place(said)}", "yellow")
    return found


def _place(said: Any) -> str:
    return str(said.where) if said.source in {"default", "cli"} else f"{said.where} ({said.source})"


def _shown(value: Any, key: str, hide: "Masking") -> str:
    import orjson

    from toolwright.surfaces.rendering.safety import marked

    return marked(orjson.dumps(_masked(value, hide, key)).decode())
