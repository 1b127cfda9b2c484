"""``toolwright tools``: see what a model is offered, lint definitions, judge their changes."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwright.contracts.errors import DefinitionError

if TYPE_CHECKING:
    from toolwright.surfaces.cli.tool_facts import Shown
    from toolwright.tools.definitions import Definition

_LIST_HELP = """List the tools that a model is offered here.

\b
Examples:
  toolwright tools list
  toolwright tools list --all
  toolwright tools list --toolset harness --json
"""
_SHOW_HELP = """Show one tool: what the model reads, its schema and its flags.

\b
Examples:
  toolwright tools show grep
  toolwright tools show Read --toolset harness --json
"""
_LINT_HELP = """Judge how well a model will understand tools. Without names: every built-in tool.

Ends with 1 when a tool has an error or scores below --min-score.

\b
Examples:
  toolwright tools lint
  toolwright tools lint grep read --min-score 90
  toolwright tools lint --file catalog/tools/git_log.json
  toolwright tools lint --module my_package.my_tools --strict
"""
_DIFF_HELP = """Tell compatible from breaking changes between two files with tool definitions.

Each file holds one tool, a list of tools, or an object with "tools". Ends with 1 when a change is breaking.

\b
Examples:
  toolwright tools diff old.json new.json
  toolwright tools diff released.json catalog.json --json
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ToolsetName = Annotated[str | None, typer.Option("--toolset", help="Names and selection to use.")]


def register(app: typer.Typer) -> None:
    """Add the ``tools`` commands."""
    group = typer.Typer(
        help="See, lint and compare tools.", no_args_is_help=True, rich_markup_mode=None, name="tools"
    )
    group.command("list", help=_LIST_HELP)(list_tools)
    group.command("show", help=_SHOW_HELP)(show)
    group.command("lint", help=_LINT_HELP)(lint)
    group.command("diff", help=_DIFF_HELP)(diff)
    app.add_typer(group)


def list_tools(
    every: Annotated[bool, typer.Option("--all", help="Also those not offered, and why.")] = False,
    as_json: AsJson = False,
    toolset: ToolsetName = None,
) -> None:
    """Print the offered tools."""
    from toolwright.surfaces.cli import tool_facts

    rows = [row for row in _known(toolset) if every or not row.reason]
    if as_json:
        _print_json([tool_facts.as_data(row) for row in rows])
    else:
        tool_facts.print_table(rows, with_reasons=every)


def show(
    name: Annotated[str, typer.Argument(help="Any name of the tool.")],
    as_json: AsJson = False,
    toolset: ToolsetName = None,
) -> None:
    """Print one tool."""
    from toolwright.surfaces.cli import tool_facts

    row = tool_facts.find(_known(toolset), name)
    if as_json:
        _print_json(tool_facts.as_data(row, whole=True))
    else:
        tool_facts.print_one(row)


def lint(
    names: Annotated[list[str] | None, typer.Argument(help="Names of tools.")] = None,
    *,
    file: Annotated[Path | None, typer.Option("--file", help="A JSON file with definitions.")] = None,
    module: Annotated[str | None, typer.Option("--module", help="A module or .py file with tools.")] = None,
    as_json: AsJson = False,
    min_score: Annotated[int, typer.Option("--min-score", min=0, max=100, help="Least score.")] = 0,
    strict: Annotated[bool, typer.Option("--strict", help="Every property needs a description.")] = False,
) -> None:
    """Lint definitions and print what was found."""
    from toolwright.surfaces.cli import tool_facts
    from toolwright.tools import lint as linter

    definitions, others = _to_lint(names or [], file, module)
    reports = linter.linted(definitions, others=others, strict=strict)
    if as_json:
        _print_json([tool_facts.report_data(report) for report in reports])
    else:
        tool_facts.print_reports(reports)
    raise typer.Exit(linter.exit_code(reports, min_score=min_score))


def diff(
    old: Annotated[Path, typer.Argument(help="Definitions before.")],
    new: Annotated[Path, typer.Argument(help="Definitions after.")],
    as_json: AsJson = False,
) -> None:
    """Compare two files and print what changed."""
    from toolwright.surfaces.cli import tool_facts
    from toolwright.tools import diff as differ

    changes = differ.compared(_from_file(old), _from_file(new))
    if as_json:
        _print_json([tool_facts.change_data(change) for change in changes])
    else:
        tool_facts.print_changes(changes)
    raise typer.Exit(differ.exit_code(changes))


# --- where tools come from ------------------------------------------------------------------


def _known(toolset: str | None) -> "list[Shown]":
    """Every tool of this project, offered or not."""
    import tempfile

    import anyio

    from toolwright import settings, wiring
    from toolwright.surfaces.cli import tool_facts
    from toolwright.wiring.agents import agents_to_show
    from toolwright.wiring.skills import SessionSkills, project_skills

    chosen: dict[str, Any] = {"tools": {"toolset": toolset}} if toolset else {}
    loaded = settings.load(os.getcwd(), environ=os.environ, cli=chosen)
    with tempfile.TemporaryDirectory() as folder:  # looking leaves nothing behind in the project
        children = agents_to_show(loaded)
        house = wiring.build(
            loaded,
            wiring.Wanted(
                session_dir=folder, children=children, skills=SessionSkills(project_skills(loaded))
            ),
        )
        anyio.run(house.close)
    return tool_facts.shown(house.registry, house.offered, house.left_out)


def _to_lint(names: list[str], file: Path | None, module: str | None) -> "tuple[list[Definition], list[str]]":
    """What is to be linted, and the names it stands beside."""
    if file is not None:
        return _from_file(file), []
    if module is not None:
        return _from_module(module), []
    from toolwright import wiring
    from toolwright.tools.definitions import from_spec

    specs = {name: spec for spec in wiring.describe_builtins() for name in (*spec.aliases, spec.name)}
    for name in names:
        if name not in specs:
            raise DefinitionError(f"there is no built-in tool {name!r}; use --file or --module for others")
    chosen = {specs[name].name: specs[name] for name in names} or {spec.name: spec for spec in specs.values()}
    return [from_spec(spec) for spec in chosen.values()], [spec.name for spec in specs.values()]


def _from_file(path: Path) -> "list[Definition]":
    from toolwright.tools import definitions

    try:
        data = json.loads(path.read_bytes())
    except OSError as problem:
        raise DefinitionError(f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise DefinitionError(f"{path} is not valid JSON: {problem}") from problem
    return definitions.read(data)


def _from_module(name: str) -> "list[Definition]":
    from toolwright.surfaces.cli.modules import tools_of
    from toolwright.tools.definitions import definition_of

    return [definition_of(tool) for tool in tools_of(name)]


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
