"""Trying an MCP server: what it says of itself, its tools, one call, and what has changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from toolwright.contracts.content import text_of
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import Done, Failed
from toolwright.surfaces.cli import mcp_facts

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import ServerView
    from toolwright.wiring.server_trials import Trial

_LINE = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of looking at a server."""

    view: "ServerView"
    tools: tuple[tuple[str, str], ...]
    """Names as the server gives them, and what they are for."""
    called: str = ""
    result: str = ""
    failed: bool = False

    @property
    def works(self) -> bool:
        return self.view.status == "connected" and not self.failed


def read_input(text: str) -> Mapping[str, Any]:
    """Return the input of a call. Raises SettingsError."""
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise SettingsError(f"--input is not valid JSON: {problem}.") from None
    if not isinstance(data, dict):
        raise SettingsError("--input is a JSON object.")
    return data


async def looked(trial: "Trial", name: str, tool: str, input: Mapping[str, Any]) -> Seen:
    """Meet a server and look at it. May raise SettingsError for a tool that is not there."""
    (view,) = await trial.met([name])
    tools = tuple(
        (one.spec.mcp.tool, one.spec.description.partition("] ")[2])
        for one in trial.tools(name)
        if one.spec.mcp is not None
    )
    if not tool or view.status != "connected":
        return Seen(view, tools)
    outcome = await trial.called(name, tool, input)
    if isinstance(outcome, Failed):
        said = (
            text_of(outcome.content) if outcome.content is not None else f"{outcome.code}: {outcome.message}"
        )
        return Seen(view, tools, tool, said, failed=True)
    return Seen(view, tools, tool, text_of(outcome.content) if isinstance(outcome, Done) else "")


def print_seen(seen: Seen, *, as_json: bool) -> None:
    """Print what came of it."""
    from toolwright.surfaces.rendering.safety import marked

    if as_json:
        facts = seen.view.facts
        mcp_facts.print_json(
            {
                "name": seen.view.name,
                **mcp_facts.view_as_data(seen.view),
                "server": {"name": facts.name, "version": facts.version, "protocol": facts.protocol},
                "tools": [name for name, _ in seen.tools],
                **(
                    {"called": seen.called, "result": seen.result, "failed": seen.failed}
                    if seen.called
                    else {}
                ),
            }
        )
        return
    for line in _told(seen):
        typer.echo(marked(line))


def _told(seen: Seen) -> list[str]:
    view, facts = seen.view, seen.view.facts
    lines = [f"{view.name}: {view.status.replace('_', ' ')}" + (f" ({view.reason})" if view.reason else "")]
    if view.status != "connected":
        return lines
    also = [word for word, has in (("resources", facts.resources), ("prompts", facts.prompts)) if has]
    lines.append(f"{facts.name} {facts.version}, protocol {facts.protocol}".rstrip())
    lines.append(f"{len(seen.tools)} tools" + (f", {', '.join(also)}" if also else ""))
    lines += [f"  {name:<28} {_first_line(about)}".rstrip() for name, about in seen.tools]
    lines += [f"  left out: {what}" for what in view.left_out]
    lines += [f"  changed since it was accepted: {name}" for name in view.held_back]
    if seen.called:
        lines += ["", f"{seen.called} {'failed' if seen.failed else 'answered'}:", seen.result]
    return lines


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


async def accepted(trial: "Trial", *, name: str, yes: bool) -> None:
    """Show what became of a server's tools, and accept what a person agrees to. May raise SettingsError."""
    from toolwright.surfaces.rendering.safety import marked

    (view,) = await trial.met([name])
    if view.status != "connected":
        raise SettingsError(f"the server {name!r} is {view.status.replace('_', ' ')}: {view.reason}")
    held = trial.servers.held_back(name)
    if not held:
        typer.echo(f"No tool of {name} has changed since it was accepted.")
    for one in held:
        typer.echo(f"{one.now.name}\n{marked(one.difference)}")
        if yes or typer.confirm(f"Accept {one.now.name} as it is now?"):
            await trial.servers.accept(name, one.now.name)
            typer.echo(f"{one.now.name} is accepted.")
