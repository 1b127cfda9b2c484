"""Every key of an agent definition: what it takes and what it becomes. The one table of them."""

import re
from dataclasses import dataclass
from typing import Any

from toolwright.catalog import values
from toolwright.catalog.values import Misfit, Reader

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WITH_CONTENT = re.compile(r"(?P<tool>[^()]+)\((?P<content>.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Key:
    """One key. ``takes`` and ``means`` are for people."""

    name: str
    read: Reader
    takes: str
    means: str


@dataclass(frozen=True, slots=True)
class ToolNames:
    """What ``tools`` lists: tools, and the agents that stand behind ``Agent(...)`` in brackets."""

    tools: tuple[str, ...]
    agents: tuple[str, ...] | None = None


def canonical(key: str) -> str:
    """``disallowedTools`` and ``disallowed-tools`` as ``disallowed_tools``."""
    return _HUMP.sub("_", key).replace("-", "_").lower()


def tool_names(value: Any) -> ToolNames:
    """Names and patterns of tools; ``Agent(a, b)`` also names agents. Other brackets belong into a rule."""
    tools: list[str] = []
    agents: list[str] | None = None
    for entry in values.rules(value):
        found = _WITH_CONTENT.fullmatch(entry)
        if found is None:
            tools.append(values.word(entry))
        elif found["tool"] in {"Agent", "agent", "Task"}:
            tools.append(found["tool"])
            agents = [*(agents or ()), *values.names(found["content"])]
        else:
            raise Misfit(
                f"takes names of tools, not {entry!r}; "
                f"list {found['tool']!r} here and put {entry!r} under 'allow'."
            )
    return ToolNames(tuple(tools), None if agents is None else tuple(agents))


def _plain_tools(value: Any) -> tuple[str, ...]:
    found = tool_names(value)
    if found.agents is not None:
        raise Misfit("takes names of tools only; put agents and rules under 'agents' and 'deny'.")
    return found.tools


def _model(value: Any) -> str:
    found = values.word(value)
    return "" if found == "inherit" else found


_MODE = values.one_of(
    "default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions", also={"manual": "default"}
)

KEYS: tuple[Key, ...] = (
    Key("name", values.name, "a name", "Its name; without it, that of the file."),
    Key("description", values.text, "a text", "When to use it, for whoever picks an agent."),
    Key(
        "tools",
        tool_names,
        "names or patterns",
        "The tools offered; without it all. `Agent(a, b)` also names agents it may start.",
    ),
    Key("disallowed_tools", _plain_tools, "names or patterns", "Tools taken away from those."),
    Key("agents", values.names, "names", "The agents it may start; without it all, `[]` none."),
    Key("model", _model, "a model", "Its model; `inherit` or nothing: as the session or the parent has it."),
    Key(
        "effort",
        values.one_of("off", "low", "medium", "high"),
        "`off`, `low`, `medium`, `high`",
        "How much the model may think.",
    ),
    Key("max_tokens", values.count, "a number", "The longest answer."),
    Key("toolset", values.word, "a toolset", "The names its tools are offered under."),
    Key(
        "permission_mode",
        _MODE,
        "a mode",
        "How asks are treated. A child can only be stricter than its parent.",
    ),
    Key("allow", values.rules, "rules", "Rules that allow, only while it runs."),
    Key("ask", values.rules, "rules", "Rules that ask."),
    Key("deny", values.rules, "rules", "Rules that deny."),
    Key("max_turns", values.count, "a number", "The same as `limits.rounds`."),
    Key("limits", values.mapping, "keys of their own", "How much one run may use, see below."),
    Key("background", values.flag, "`true`, `false`", "Runs in the background when nobody says otherwise."),
    Key(
        "isolation",
        values.one_of("none", "worktree"),
        "`none`, `worktree`",
        "Whether it works in a git worktree of its own.",
    ),
    Key(
        "skills",
        values.words,
        "names or folders",
        "Skills whose instructions it has from the start; a folder is named with a `/`, from its file on.",
    ),
    Key(
        "mcp_servers",
        values.servers,
        "servers by name",
        "MCP servers that it brings, or names of such that are set up.",
    ),
    Key("hooks", values.mapping, "hooks", "Hooks, written as in the settings, only while it runs."),
    Key(
        "replaces_prompt",
        values.flag,
        "`true`, `false`",
        "Its instructions stand in place of the engine's own.",
    ),
    Key("system", values.text, "a text", "Its instructions. In markdown they stand below the front matter."),
)
LIMIT_KEYS: tuple[Key, ...] = (
    Key("rounds", values.count, "a number", "Requests to the model."),
    Key("calls", values.count, "a number", "Tool calls."),
    Key("calls_per_tool", values.counts, "numbers by tool", "Calls of single tools."),
    Key("tokens", values.count, "a number", "All tokens of all answers."),
    Key("cost", values.amount, "a number", "Dollars, where prices are known."),
    Key("seconds", values.amount, "a number", "Time of running; waiting for a person does not count."),
)
OTHER_NAMES = {
    "prompt": "system",
    "instructions": "system",
    "allowed_tools": "tools",
    "max_rounds": "max_turns",
    "mode": "permission_mode",
}
"""Names in use elsewhere that mean the same."""
WITHOUT_MEANING = frozenset({"color"})
"""Keys in use elsewhere that are read over."""
