"""What the command line says about tools: rows, tables and texts."""

import dataclasses
import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import NO_PROMISES, Offered, Tool, ToolSpec
from toolwright.surfaces.cli.tables import console
from toolwright.tools.diff import ToolChange
from toolwright.tools.lint import Report
from toolwright.tools.registry import LeftOut, Registry
from toolwright.tools.visibility import full_description

_STYLES = {"error": "red", "warning": "yellow", "advice": "cyan"}
_CHANGE_STYLES = {"breaking": "red", "compatible": "green", "note": "yellow"}
_PROMISES = ("read_only", "destructive", "concurrency_safe", "open_world", "pre_approved")
_PLAIN_FLAGS = ("always_load", "defer", "needs_person", "idempotent", "polling", "strict")


@dataclass(frozen=True, slots=True)
class Shown:
    """One tool on a list. ``reason`` says why it is not offered; a tool that is not built has no spec."""

    name: str
    category: str
    reason: str = ""
    wire_name: str = ""
    description: str = ""
    spec: ToolSpec | None = None
    flags: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name a person may use."""
        return (self.name, self.wire_name, *((self.spec.name, *self.spec.aliases) if self.spec else ()))


def shown(registry: Registry, offered: Offered, left_out: Iterable[LeftOut]) -> list[Shown]:
    """Offered tools in the order a model sees them, then the others by name."""
    rows = [
        Shown(
            name=item.name,
            category=item.tool.spec.category,
            wire_name=item.wire_name,
            description=item.description,
            spec=item.tool.spec,
            flags=flags_of(item.tool),
        )
        for item in offered.tools
    ]
    present = {item.tool.spec.name for item in offered.tools}
    hidden = [_hidden(tool) for tool in registry.tools if tool.spec.name not in present]
    missing = [Shown(item.name, item.category, item.reason) for item in left_out]
    return [*rows, *sorted((*hidden, *missing), key=lambda row: row.name)]


def find(rows: Iterable[Shown], name: str) -> Shown:
    """The row with this name. Raises DefinitionError with a near name when there is none."""
    rows = list(rows)
    for row in rows:
        if name in row.names:
            return row
    known = {spelling for row in rows for spelling in row.names if spelling}
    near = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "see: toolwright tools list --all"
    raise DefinitionError(f"there is no tool {name!r}; {hint}")


def flags_of(tool: Tool) -> tuple[str, ...]:
    """Flags of a tool; promises are those for a plain input, and another input may get others."""
    fixed = [name for name in _PLAIN_FLAGS if getattr(tool.spec, name)]
    try:
        traits = tool.traits(_plain_input(tool.spec))
    except (KeyError, TypeError, AttributeError, ValueError):
        traits = NO_PROMISES
    promised = [name for name in _PROMISES if getattr(traits, name)]
    return tuple(name.replace("_", " ") for name in (*promised, *fixed))


def as_data(row: Shown, *, whole: bool = False) -> dict[str, Any]:
    """A row as JSON data; ``whole`` adds texts and schemas."""
    data: dict[str, Any] = {
        "name": row.name,
        "category": row.category,
        "offered": not row.reason,
        "reason": row.reason,
        "flags": list(row.flags),
    }
    if row.spec is not None:
        data |= {"canonical_name": row.spec.name, "wire_name": row.wire_name, "source": row.spec.source}
        data |= {"aliases": list(row.spec.aliases)}
    if whole and row.spec is not None:
        data |= {"description": row.description, "input_schema": row.spec.input_schema}
        data |= {"output_schema": row.spec.output_schema, "result_limit": row.spec.result_limit}
        data |= {"timeout": row.spec.timeout, "interrupt": row.spec.interrupt, "version": row.spec.version}
    return data


def report_data(report: Report) -> dict[str, Any]:
    """A lint report as JSON data."""
    findings = [dataclasses.asdict(finding) for finding in report.findings]
    return {"tool": report.tool, "score": report.score, "findings": findings}


def change_data(change: ToolChange) -> dict[str, Any]:
    """A change as JSON data."""
    return {"tool": change.tool, **dataclasses.asdict(change.change)}


# --- for people -----------------------------------------------------------------------------


def print_table(rows: Iterable[Shown], *, with_reasons: bool) -> None:
    """One line for each tool."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("NAME", "CATEGORY", "FLAGS", *(("NOT OFFERED BECAUSE",) if with_reasons else ())):
        table.add_column(title, overflow="fold")
    for row in rows:
        style = "dim" if row.reason else ""
        cells = [row.name, row.category, ", ".join(row.flags), *((row.reason,) if with_reasons else ())]
        table.add_row(*(Text(cell, style) for cell in cells))
    console().print(table)


def print_one(row: Shown) -> None:
    """Everything about one tool."""
    from rich.text import Text

    out = console()
    out.print(Text(row.name, "bold"), Text(row.category, "dim"))
    if row.reason:
        out.print(Text(f"Not offered: {row.reason}", "yellow"))
    if row.spec is None:
        return
    facts = {
        "canonical name": row.spec.name,
        "aliases": ", ".join(row.spec.aliases),
        "flags": ", ".join(row.flags),
        "result limit": "none" if row.spec.result_limit is None else f"{row.spec.result_limit:,} characters",
        "timeout": "the engine's ceiling" if row.spec.timeout is None else f"{row.spec.timeout:g} s",
    }
    for label, value in facts.items():
        if value:
            out.print(Text(f"{label}: ", "dim") + Text(value))
    out.print()
    out.print(Text(row.description), soft_wrap=True)
    out.print()
    schema = json.dumps(row.spec.input_schema, indent=2, ensure_ascii=False, default=dict)
    out.print(Text(schema, "cyan"), soft_wrap=True)


def print_reports(reports: Iterable[Report]) -> None:
    """Scores and findings."""
    from rich.text import Text

    out = console()
    for report in reports:
        style = _STYLES.get(report.worst, "green")
        out.print(Text(f"{report.score:>3}", style) + Text(f"  {report.tool}", "bold"))
        for finding in report.findings:
            where = f" {finding.property}" if finding.property else ""
            head = Text(f"     {finding.severity}", _STYLES[finding.severity])
            out.print(head + Text(f" {finding.rule}{where}: {finding.message} {finding.fix}"), soft_wrap=True)


def print_changes(changes: list[ToolChange]) -> None:
    """Changes, one line each."""
    from rich.text import Text

    out = console()
    if not changes:
        out.print("No changes.")
    for item in changes:
        change = item.change
        where = f"{item.tool}.{change.path}" if change.path else item.tool
        head = Text(f"{change.kind:<10}", _CHANGE_STYLES[change.kind])
        out.print(head + Text(f" {where}: {change.message} [{change.rule}]"), soft_wrap=True)


def _hidden(tool: Tool) -> Shown:
    spec = tool.spec
    reason = "left out by the toolset, the settings or a deny rule"
    return Shown(spec.name, spec.category, reason, "", full_description(spec), spec, flags_of(tool))


def _plain_input(spec: ToolSpec) -> dict[str, Any]:
    """The smallest input: required properties only, each with a value of its type."""
    properties = spec.input_schema.get("properties", {})
    return {name: _plain_value(properties.get(name, {})) for name in spec.input_schema.get("required", ())}


def _plain_value(schema: Any) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("format") in {"uri", "url"}:
        return "https://example.org/"
    number = schema.get("minimum", 1)
    return {"integer": number, "number": number, "boolean": False, "array": [], "object": {}}.get(
        schema.get("type"), "x"
    )
