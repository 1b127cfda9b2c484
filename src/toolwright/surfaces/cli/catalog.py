"""``toolwright catalog``: see, check, compare, try and begin catalogs of tools and agents."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwright.contracts.errors import SettingsError

if TYPE_CHECKING:
    from toolwright.catalog.directory.keeping import Catalog, CatalogKeeper
    from toolwright.catalog.directory.reading import FileProblem

_SHOW_HELP = """Show what a catalog defines: tools, agents, rules, servers and skills.

\b
Examples:
  toolwright catalog show
  toolwright catalog show --catalog ./catalog --json
"""
_LINT_HELP = """Read every file of a catalog and say what is wrong, and what a model may stumble over.

Ends with 1 when a file cannot be used.

\b
Examples:
  toolwright catalog lint --catalog ./catalog
  toolwright catalog lint --catalog ./catalog --strict
"""
_DIFF_HELP = """Tell compatible from breaking changes between two catalogs.

Ends with 1 when a change is breaking: a tool was removed, or takes less than it did.

\b
Examples:
  toolwright catalog diff ./released ./catalog
"""
_TEST_HELP = """Run one tool of a catalog in a folder, as an agent would, and print what came of it.

Rules of the catalog hold; what would be asked is refused. Ends with 1 when the call failed.

\b
Examples:
  toolwright catalog test git_log '{"limit": 3}'
  toolwright catalog test my_tool '{"query": "x"}' --catalog ./catalog --module my_package.my_tools
"""
_INIT_HELP = """Write the catalog that comes with the package into a new folder, to be changed there.

\b
Examples:
  toolwright catalog init ./catalog
"""
Folder = Annotated[
    str,
    typer.Option("--catalog", metavar="DIR", help="Its directory; without it $CATALOG_DIR, else the stock."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Modules = Annotated[
    list[str] | None, typer.Option("--module", metavar="MODULE", help="A module with platform functions.")
]


def register(app: typer.Typer) -> None:
    """Add the ``catalog`` commands."""
    group = typer.Typer(
        help="See, check, compare and try catalogs of tools and agents.",
        no_args_is_help=True,
        rich_markup_mode=None,
        name="catalog",
    )
    group.command("show", help=_SHOW_HELP)(show)
    group.command("lint", help=_LINT_HELP)(lint)
    group.command("diff", help=_DIFF_HELP)(diff)
    group.command("test", help=_TEST_HELP)(try_tool)
    group.command("init", help=_INIT_HELP)(init)
    app.add_typer(group)


def show(catalog: Folder = "", module: Modules = None, as_json: AsJson = False) -> None:
    """Print a catalog."""
    found = _read(catalog, module).current
    if as_json:
        _print_json(_data(found))
        return
    typer.echo(found.folder)
    for tool in found.tools:
        runs = f"{tool.kind} {tool.ref}".strip()
        asks = ", asks before every call" if tool.confirm else ""
        typer.echo(f"tool    {tool.name}  ({runs}{asks})")
    for agent in found.agents:
        count = "all tools" if agent.tools is None else f"{len(agent.tools)} tools"
        typer.echo(f"agent   {agent.name}  ({count}): {agent.description}")
    for rule in found.rules:
        typer.echo(f"rule    {rule.id}: {rule.effect} {rule.tool}")
    for server in found.servers:
        typer.echo(f"server  {server.name}  ({server.transport}, {server.auth_method})")
    for skill in found.skills:
        typer.echo(f"skill   {skill.name}: {skill.description}")


def lint(
    catalog: Folder = "",
    module: Modules = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings end with 1 as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what is wrong with a catalog."""
    from toolwright.wiring.catalog import findings

    keeper = _read(catalog, module)
    errors = keeper.last.problems
    warnings = [*keeper.last.warnings, *findings(keeper.current)]
    if as_json:
        _print_json({"errors": [*map(_problem, errors)], "warnings": [*map(_problem, warnings)]})
    else:
        for severity, problems in (("error", errors), ("warning", warnings)):
            for one in problems:
                typer.echo(f"{one.file}: {severity}: {one.error}: {one.message}")
        typer.echo(
            f"{len(keeper.current.tools)} tools: {len(errors)} errors, {len(warnings)} warnings", err=True
        )
    raise typer.Exit(int(bool(errors) or (strict and bool(warnings))))


def diff(
    old: Annotated[Path, typer.Argument(help="The catalog before.")],
    new: Annotated[Path, typer.Argument(help="The catalog after.")],
    module: Modules = None,
    as_json: AsJson = False,
) -> None:
    """Print how two catalogs differ."""
    from toolwright.wiring.catalog import changes_between

    changes = changes_between(_read(str(old), module).current, _read(str(new), None).current)
    if as_json:
        _print_json(changes.as_data())
    else:
        for name in changes.added:
            typer.echo(f"compatible  {name}: added")
        for name in changes.removed:
            typer.echo(f"breaking    {name}: removed")
        for one in changes.changed:
            for change in one.changes:
                where = f"{one.tool}.{change.path}" if change.path else one.tool
                typer.echo(f"{change.kind:<11} {where}: {change.message}")
    raise typer.Exit(int(changes.is_breaking))


def try_tool(
    name: Annotated[str, typer.Argument(help="The tool.")],
    input: Annotated[str, typer.Argument(help="Its input as JSON.")] = "{}",
    *,
    catalog: Folder = "",
    folder: Annotated[str, typer.Option("--dir", metavar="FOLDER", help="The folder to work in.")] = ".",
    module: Modules = None,
    as_json: AsJson = False,
) -> None:
    """Run one tool of a catalog."""
    import anyio

    from toolwright.surfaces.cli.catalog_trying import tried

    keeper = _read(catalog, module)
    result = anyio.run(tried, keeper.current, name, input, os.path.realpath(folder))
    if as_json:
        _print_json(result.as_data())
    else:
        typer.echo(result.text)
    raise typer.Exit(int(result.failed))


def init(
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet, or is empty.")],
) -> None:
    """Copy the stock catalog."""
    import shutil

    from toolwright.catalog.directory.keeping import STOCK

    if folder.exists() and any(folder.iterdir()):
        raise SettingsError(f"{folder} is not empty; nothing was written.")
    schemas = os.path.join(os.path.dirname(STOCK), "schemas")
    shutil.copytree(STOCK, folder, dirs_exist_ok=True)
    shutil.copytree(schemas, folder / "schemas", dirs_exist_ok=True)
    for path in folder.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name != "schemas":  # the schemas lie within now, not beside
            path.write_text(text.replace('"../', '"', 1), encoding="utf-8")
    typer.echo(f"A catalog is in {folder}; serve it with: toolwright serve --catalog {folder}")


# --- parts ----------------------------------------------------------------------------------


def _read(folder: str, modules: list[str] | None) -> "CatalogKeeper":
    from toolwright.wiring.catalog import catalog_keeper, load_platform_modules

    load_platform_modules(modules or ())
    keeper = catalog_keeper(folder or os.environ.get("CATALOG_DIR", ""))
    found = keeper.reload()
    missing = [problem for problem in found.problems if not problem.file]
    if missing:
        raise SettingsError(f"{keeper.folder}: {missing[0].message}.")
    return keeper


def _data(found: "Catalog") -> dict[str, Any]:
    return {
        "folder": found.folder,
        "tools": [
            {"name": tool.name, "kind": tool.kind, "ref": tool.ref, "description": tool.description}
            for tool in found.tools
        ],
        "agents": [
            {"name": agent.name, "description": agent.description, "tools": agent.tools}
            for agent in found.agents
        ],
        "rules": [{"id": rule.id, "effect": rule.effect, "tool": rule.tool} for rule in found.rules],
        "servers": [server.name for server in found.servers],
        "skills": [skill.name for skill in found.skills],
    }


def _problem(one: "FileProblem") -> dict[str, str]:
    return {"file": one.file, "error": one.error, "message": one.message}


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
