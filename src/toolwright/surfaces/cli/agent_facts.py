"""What the command line says about agents. Their texts may be a stranger's, so all of it is made safe."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import typer

from toolwright.catalog.folders import KnownAgent, KnownAgents
from toolwright.contracts.definitions import AgentDefinition
from toolwright.settings import Loaded
from toolwright.surfaces.cli.tables import console
from toolwright.surfaces.rendering.safety import marked

if TYPE_CHECKING:
    from toolwright.surfaces.cli.agent_reports import FileReport

_LONGEST_DESCRIPTION = 100


# --- as data --------------------------------------------------------------------------------


def list_data(known: KnownAgents) -> dict[str, Any]:
    """All agents as JSON data."""
    return {
        "agents": [agent_data(agent) for agent in known.agents],
        "broken": [{"file": one.path, "problem": str(one)} for one in known.broken],
        "notices": list(known.notices),
    }


def agent_data(agent: KnownAgent, *, whole: bool = False) -> dict[str, Any]:
    """One agent as JSON data; ``whole`` adds all that its file says."""
    definition = agent.definition
    data: dict[str, Any] = {
        "name": definition.name,
        "description": definition.description,
        "where": agent.where,
        "origin": definition.origin,
        "hides": list(agent.hides),
        "model": definition.model,
        "tools": definition.tools,
    }
    return data | dataclasses.asdict(definition) if whole else data


def print_json(data: Any) -> None:
    """Print data as JSON."""
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


# --- for people -----------------------------------------------------------------------------


def print_list(known: KnownAgents) -> None:
    """One line for each agent, and for each file that it hides."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("AGENT", "FROM", "TOOLS", "DESCRIPTION"):
        table.add_column(title, overflow="fold")
    for agent in known.agents:
        definition = agent.definition
        description = Text(_shortened(marked(definition.description)))
        for path in agent.hides:
            description.append(f"\nin place of {marked(path, strict=True)}", "yellow")
        table.add_row(Text(definition.name, "bold"), agent.where, _tools(definition), description)
    console().print(table)


def print_notes(known: KnownAgents, loaded: Loaded) -> None:
    """What a person should know, on standard error."""
    for broken in known.broken:
        typer.echo(marked(f"broken: {broken}"), err=True)
    for notice in (*loaded.notices, *known.notices):
        typer.echo(marked(f"note: {notice}"), err=True)


def print_agent(agent: KnownAgent) -> None:
    """Everything about one agent."""
    from rich.text import Text

    out = console()
    definition = agent.definition
    out.print(Text(definition.name, "bold"), Text(agent.where, "dim"))
    for label, value in (("file", definition.origin), *(("in place of", path) for path in agent.hides)):
        out.print(Text(f"{label}: ", "dim") + Text(marked(value, strict=True)), soft_wrap=True)
    for label, value in _facts(definition):
        out.print(Text(f"{label}: ", "dim") + Text(marked(value)), soft_wrap=True)
    if definition.system:
        out.print()
        out.print(Text(marked(definition.system)), soft_wrap=True)


def print_reports(found: "Sequence[FileReport]") -> None:
    """One line for each file, and one for each finding."""
    from rich.text import Text

    out = console()
    if not found:
        out.print("There is no agent file in this project or among your own.")
    for report in found:
        word, style = ("broken", "bold red") if report.is_broken else ("ok", "green")
        out.print(Text(f"{word:<7}", style) + Text(marked(report.path, strict=True)), soft_wrap=True)
        for finding in report.findings:
            style = "red" if finding.severity == "error" else "yellow"
            out.print(Text(f"  {finding.severity:<8} ", style) + Text(marked(finding.text)), soft_wrap=True)


def _facts(definition: AgentDefinition) -> Iterator[tuple[str, str]]:
    """What the definition says, in the words of its file; what it does not say is left out."""
    plain = AgentDefinition()
    shown_elsewhere = {"name", "system", "origin"}
    for field in dataclasses.fields(definition):
        value = getattr(definition, field.name)
        if field.name in shown_elsewhere or value == getattr(plain, field.name):
            continue
        if field.name == "limits":
            for limit in dataclasses.fields(value):
                if getattr(value, limit.name) != getattr(plain.limits, limit.name):
                    yield f"limits.{limit.name}", _written(getattr(value, limit.name))
        else:
            yield field.name, _written(value)


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _tools(definition: AgentDefinition) -> str:
    if definition.tools is None:
        return "all" if not definition.disallowed_tools else "all but some"
    return f"{len(definition.tools)} listed" if definition.tools else "none"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_DESCRIPTION else f"{line[: _LONGEST_DESCRIPTION - 1]}…"
