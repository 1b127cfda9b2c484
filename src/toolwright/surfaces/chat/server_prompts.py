"""Prompts of MCP servers as commands: ``/mcp__server__prompt sea "two words"``."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolwright.contracts.content import Content
from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.mcp import ListedPrompt
from toolwright.contracts.mcp_servers import McpServers
from toolwright.tools.mcp.access import prompt_line
from toolwright.tools.mcp.parts import Reader, read_prompt

if TYPE_CHECKING:
    from toolwright.turns.parts import TurnParts

PREFIX = "mcp__"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A prompt, and the server that has it."""

    server: str
    prompt: ListedPrompt

    @property
    def command(self) -> str:
        """What is typed behind the slash."""
        return f"{PREFIX}{self.server}__{_NOT_IN_NAMES.sub('_', self.prompt.name)}"


async def filled_in(parts: "TurnParts", written: str) -> Content:
    """Return the prompt that a command names, with its gaps filled. May raise SettingsError."""
    command, _, rest = written.partition(" ")
    found = await all_prompts(parts)
    meant = next((one for one in found if one.command.casefold() == command.casefold()), None)
    if meant is None or parts.servers is None or parts.blobs is None:
        known = ", ".join(f"/{one.command}" for one in found) or "no connected server has any"
        raise SettingsError(f"there is no prompt /{command}. Prompts: {known}.")
    arguments = arguments_of(meant.prompt, rest)
    try:
        answer = await parts.servers.get_prompt(meant.server, meant.prompt.name, arguments)
    except ToolFailure as failure:
        raise SettingsError(failure.message) from failure
    reader = Reader(parts.blobs, meant.server)
    if all(message.role == "user" for message in answer.messages):
        return await reader.content([message.part for message in answer.messages])
    return await read_prompt(reader, answer)


async def all_prompts(parts: "TurnParts") -> Sequence[Found]:
    """Return the prompts of all servers that are connected; one that fails has none."""
    servers = parts.servers
    if servers is None:
        return ()
    having = [view.name for view in servers.views() if view.status == "connected" and view.facts.prompts]
    return [Found(name, prompt) for name in having for prompt in await _prompts(servers, name)]


async def _prompts(servers: McpServers, name: str) -> Sequence[ListedPrompt]:
    try:
        return await servers.list_prompts(name)
    except ToolFailure:
        return ()


def listing(found: Sequence[Found]) -> str:
    """Return a line for each prompt (pure)."""
    lines = (f"/{one.command}  {prompt_line(one.prompt)}" for one in found)
    return "\n".join(lines) or "no connected MCP server has prompts."


def arguments_of(prompt: ListedPrompt, written: str) -> Mapping[str, str]:
    """Read what stands behind a command: words in the order of the gaps, or ``gap=words`` (pure).

    The last gap takes all words that are left. May raise SettingsError for a gap that has to be filled.
    """
    names = [argument.name for argument in prompt.arguments]
    given: dict[str, str] = {}
    plain: list[str] = []
    for word in _words(written):
        name, equals, text = word.partition("=")
        if equals and name in names:
            given[name] = text
        else:
            plain.append(word)
    free = [name for name in names if name not in given]
    for place, name in enumerate(free):
        rest = plain[place:] if place == len(free) - 1 else plain[place : place + 1]
        if rest:
            given[name] = " ".join(rest)
    missing = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if missing:
        raise SettingsError(f"the prompt {prompt.name} needs {', '.join(missing)}.")
    return given


def _words(written: str) -> list[str]:
    try:
        return shlex.split(written)
    except ValueError:  # a quotation mark that stands alone
        return written.split()
