"""Tools as servers describe them, and questions of which it is known which tool is meant.

The tools asked about, in the file beside this one, are written by hand; ten thousand others are put together
from the words of services.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from toolwright.contracts.tool import (
    NO_PROMISES,
    CallContext,
    CallState,
    Done,
    Input,
    McpOrigin,
    Objection,
    OfferedTool,
    Outcome,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View

DATA: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
_HELP = "The {0} as {1} knows it: an id or a name, exactly as an earlier answer gave it."


class Described:
    """A tool that is only looked at."""

    def __init__(self, server: str, name: str, description: str, arguments: Sequence[str]) -> None:
        properties: dict[str, Any] = {
            word: {"type": "string", "description": _HELP.format(word.replace("_", " "), server)}
            for word in arguments
        }
        self.spec = ToolSpec(
            name=f"mcp.{server}.{name}",
            description=description,
            input_schema={"type": "object", "properties": properties},
            source="mcp",
            mcp=McpOrigin(server, name),
            category="mcp",
        )

    def traits(self, input: Input) -> Traits:
        return NO_PROMISES

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        return Done("")

    def view(self, call: CallState) -> View:
        return View(title=call.tool)


def described(server: str, name: str, description: str, arguments: Sequence[str]) -> OfferedTool:
    tool = Described(server, name, description, arguments)
    wire = f"mcp__{server}__{name}"
    return OfferedTool(tool, wire, wire, description, loaded=False)


def others() -> Iterator[OfferedTool]:
    """Yield tools of other services, in an order that is always the same."""
    for service in DATA["services"]:
        for verb in DATA["verbs"]:
            for thing in DATA["things"]:
                text = f"{verb.capitalize()} a {thing} of {service.capitalize()}."
                yield described(service, f"{verb}_{thing}", text, [f"{thing}_id", "note"])


def tools(count: int) -> list[OfferedTool]:
    """Return so many tools, those that are asked about among them."""
    found = [
        described(one["server"], one["name"], one["description"], one["arguments"])
        for one in DATA["asked_about"]
    ]
    rest = others()
    every = list(rest)
    step = max(len(every) // max(count - len(found), 1), 1)
    return [*found, *every[::step]][:count]


def questions() -> list[tuple[str, str]]:
    """Return questions, each with the canonical name of the tool that is meant."""
    asked = DATA["asked_about"]
    return [
        (question, f"mcp.{one['server']}.{one['name']}") for one in asked for question in one["questions"]
    ]
