"""Settings that the environment may give. They count where no file and no option says otherwise."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting and the variables that may give it, the first one first.

    A number below ``least`` or one that is none is wrong; one above ``most`` counts as ``most``.
    """

    key: str
    names: tuple[str, ...]
    least: int | None = None
    most: int | None = None
    """Without ``least`` the variable is a text."""
    several: bool = False
    """Texts, with commas between them. They count beside what files say."""


VARIABLES: tuple[Variable, ...] = (
    Variable(
        "concurrency.max", ("TOOLWRIGHT_MAX_TOOL_CONCURRENCY", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY"), 1
    ),
    Variable("children.max_depth", ("TOOLWRIGHT_MAX_SUBAGENT_DEPTH",), 0, 10),
    Variable("children.max_running", ("TOOLWRIGHT_MAX_SUBAGENTS",), 1, 100),
    Variable("children.max_result_chars", ("TASK_MAX_OUTPUT_LENGTH",), 100, 160_000),
    Variable("tool_search.mode", ("ENABLE_TOOL_SEARCH",)),
    Variable("network.allow_private", ("TOOLWRIGHT_EGRESS_ALLOW",), several=True),
    Variable("mcp.connect_timeout_ms", ("MCP_TIMEOUT",), 1),
    Variable("mcp.tool_timeout_ms", ("MCP_TOOL_TIMEOUT",), 1),
    Variable("mcp.tool_idle_timeout_ms", ("TOOLWRIGHT_MCP_TOOL_IDLE_TIMEOUT",), 0),
    Variable("mcp.max_output_tokens", ("MAX_MCP_OUTPUT_TOKENS",), 1),
    Variable("data_dir", ("TOOLWRIGHT_HOME",)),
    Variable("model", ("TOOLWRIGHT_MODEL",)),
    Variable("models.record_to", ("TOOLWRIGHT_RECORD_TO",)),
)


@dataclass(frozen=True, slots=True)
class FromEnvironment:
    """One setting that a variable gives."""

    key: str
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Environment:
    """What the environment says about settings."""

    given: tuple[FromEnvironment, ...] = ()
    notices: tuple[str, ...] = ()


def read_environment(environ: Mapping[str, str]) -> Environment:
    """Read every variable. One with a wrong value is left out and noted once. Must not raise."""
    given: list[FromEnvironment] = []
    notices: list[str] = []
    for variable in VARIABLES:
        for name in variable.names:
            text = environ.get(name, "").strip()
            if not text:
                continue
            value = _value(variable, text)
            if value is not None:
                given.append(FromEnvironment(variable.key, name, value))
                break
            notices.append(
                f"{name}={text[:40]!r} is not used: it takes a whole number from {variable.least} on."
            )
    return Environment(tuple(given), tuple(notices))


def _value(variable: Variable, text: str) -> Any:
    if variable.several:
        return tuple(part for part in re.split(r"[,\s]+", text) if part)
    if variable.least is None:
        return text
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) >= variable.least):
        return None
    return int(text) if variable.most is None else min(int(text), variable.most)


def concurrency_limit(environ: Mapping[str, str]) -> int | None:
    """Return the limit the environment asks for; anything but a whole number from 1 on is left out."""
    for one in read_environment(environ).given:
        if one.key == "concurrency.max":
            return int(one.value)
    return None
