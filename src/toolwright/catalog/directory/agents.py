"""The definition of an agent: ``agents/<name>/agent.json`` with its system prompt beside it (pure)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwright.catalog.directory.fields import Fields, Unfit, filled, text, texts
from toolwright.catalog.values import NAME
from toolwright.contracts.definitions import AgentDefinition

PROMPT: Final = "system-prompt.md"
TOOLSET: Final = "catalog"


def read_agent(
    data: Mapping[str, Any], folder: str, prompt: Callable[[str], str | None]
) -> tuple[AgentDefinition, tuple[str, ...]]:
    """Return an agent and what its author should know. May raise Unfit; ``prompt`` reads a file beside it.

    Nothing of the tools is in it yet: those are the catalog's.
    """
    fields = Fields(data)
    name = fields.need("name", _name)
    if name != folder:
        raise Unfit("invalid_field", f"name is {name!r}, but the folder is {folder!r}: they must be the same")
    description = fields.need("description", filled)
    model = fields.get("model", text, default="") or ""
    tools = fields.get("tools", texts)
    system = _system(fields.get("system_prompt_path", _beneath), prompt)
    agent = AgentDefinition(
        name=name,
        description=description,
        system=system,
        replaces_prompt=bool(system),
        model=model,
        toolset=TOOLSET,
        tools=tools,
        origin=f"agents/{folder}/agent.json",
    )
    return agent, fields.unread()


def _system(written: str | None, prompt: Callable[[str], str | None]) -> str:
    found = prompt(written or PROMPT)
    if found is None and written is not None:
        raise Unfit("missing_file", f"system_prompt_path leads to {written!r}, which is not there")
    return (found or "").strip()


def _name(value: Any) -> str:
    name = filled(value)
    if not NAME.fullmatch(name):
        raise Unfit("invalid_field", f"{name[:80]!r} is no name for an agent")
    return name


def _beneath(value: Any) -> str:
    path = filled(value)
    if path.startswith("/") or ".." in path.split("/"):
        raise Unfit("invalid_field", "leads out of the agent's own folder")
    return path
