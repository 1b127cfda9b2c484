"""Which rules speak of a tool, and of one call of it: names, globs, MCP servers, input fields."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolwright.contracts.permissions import Rule, RuleSet
from toolwright.contracts.tool import ToolSpec
from toolwright.tool_calls.permissions.families import (
    EDIT,
    FETCH,
    READ,
    SHELL,
    SHELLS,
    family,
    pascal,
)
from toolwright.tool_calls.permissions.host_rules import host_matches, host_pattern
from toolwright.tool_calls.permissions.rules import parameter
from toolwright.tool_calls.permissions.subject import Subject
from toolwright.tool_calls.permissions.wildcards import covers, covers_words


def removing(rules: RuleSet, spec: ToolSpec, offered_name: str = "") -> Rule | None:
    """Return the deny rule that removes a tool altogether, so that it is not even offered."""
    names = _names(spec, offered_name)
    for rule in rules.deny:
        whole = rule.content is None and (spec.source != "runtime" or rule.tool == "*")
        if whole and _names_tool(rule.tool, names):
            return rule
    return None


def refusing(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return the first deny or ask rule that speaks of this call, paths and commands apart."""
    if not rules:
        return None
    names = _names(subject.spec, subject.offered_name)
    if command_of(subject) is not None:
        names |= {SHELL, pascal(SHELL)}
    for rule in rules:
        if rule.content is None:
            if _names_tool(rule.tool, names):
                return rule
        elif _refuses_content(rule, rule.content, names, subject):
            return rule
    return None


def granting(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """Return the first allow rule that covers this call by its name or its own content."""
    for rule in rules:
        if not _grants_tool(rule.tool, subject.spec):
            continue
        if rule.content is None or _grants_content(rule.content, subject):
            return rule
    return None


def granting_host(rules: Iterable[Rule], spec: ToolSpec, host: str) -> Rule | None:
    """Return the first allow rule of this very tool for a host."""
    for rule in rules:
        pattern = host_pattern(rule.content)
        if pattern is not None and _grants_tool(rule.tool, spec) and host_matches(pattern, host):
            return rule
    return None


def command_of(subject: Subject) -> str | None:
    """Return the command line a call would run, also of a shell that broke its promise to tell."""
    if subject.traits.command is not None or subject.spec.name not in SHELLS:
        return subject.traits.command
    command = subject.input.get("command")
    return command if isinstance(command, str) else None


def shell_rules(rules: RuleSet, spec: ToolSpec) -> RuleSet:
    """Return the rules about commands: those of the shell, and those of this tool, as if of the shell."""
    tools = {SHELL, spec.name}

    def chosen(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(_as_shell(rule) for rule in rules if rule.tool in tools)

    return RuleSet(chosen(rules.allow), chosen(rules.ask), chosen(rules.deny))


def _as_shell(rule: Rule) -> Rule:
    if rule.tool == SHELL:
        return rule
    return Rule(SHELL, rule.content, rule.behavior, rule.source, rule.written, rule.base)


def _names(spec: ToolSpec, offered_name: str) -> set[str]:
    """Every name under which a deny or ask rule may speak of a tool."""
    names = {spec.name, pascal(spec.name), offered_name, *spec.aliases} - {""}
    if spec.mcp:
        for server in _spellings(spec.mcp.server):
            names |= {f"mcp__{server}", f"mcp.{server}"}
            for tool in _spellings(spec.mcp.tool):
                names |= {f"mcp__{server}__{tool}", f"mcp.{server}.{tool}"}
    return names


def _names_tool(part: str, names: set[str]) -> bool:
    return part in names or ("*" in part and any(covers(part, name) for name in names))


def _grants_tool(part: str, spec: ToolSpec) -> bool:
    """An allow rule counts for exactly the tool it names: text that merely looks alike grants nothing."""
    if spec.mcp is None:
        return part == spec.name
    if part == spec.name:
        return part.startswith("mcp.")
    for separator in ("__", "."):
        head, *names = part.split(separator, 2)
        if head == "mcp" and names:
            server, tool = names[0], names[1] if len(names) > 1 else "*"
            return server in _spellings(spec.mcp.server) and any(
                covers(tool, name) for name in _spellings(spec.mcp.tool)
            )
    return False


def _spellings(name: str) -> tuple[str, str]:
    """An MCP name as the server wrote it, and as it is offered."""
    return name, re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _refuses_content(rule: Rule, content: str, names: set[str], subject: Subject) -> bool:
    host = host_pattern(content)
    if host is not None and (rule.tool == FETCH or _names_tool(rule.tool, names)):
        return any(host_matches(host, given) for given in subject.hosts)
    if not _names_tool(rule.tool, names):
        return False
    if _has_field(content, subject.raw_input) or _has_field(content, subject.input):
        return True
    return _is_generic(subject) and _is_subject(content, subject)


def _grants_content(content: str, subject: Subject) -> bool:
    if host_pattern(content) is not None or not _is_generic(subject):
        return False
    return _is_subject(content, subject)


def _is_generic(subject: Subject) -> bool:
    """Whether content is compared with a text of the tool's choice: paths, hosts, commands are not."""
    name = subject.spec.name
    return family(name) not in {READ, EDIT} and name != FETCH and command_of(subject) is None


def _is_subject(content: str, subject: Subject) -> bool:
    text = subject.traits.subject
    if text is None:
        text = _first_text(subject.spec.input_schema, subject.input)
    return text is not None and covers_words(content, text)


def _first_text(schema: Mapping[str, Any], input: Mapping[str, Any]) -> str | None:
    for name, shape in schema.get("properties", {}).items():
        if isinstance(shape, Mapping) and shape.get("type") == "string":
            value = input.get(name)
            return value if isinstance(value, str) else None
    return None


def _has_field(content: str, input: Mapping[str, Any]) -> bool:
    wanted = parameter(content)
    if wanted is None or wanted.name not in input:
        return False
    value = input[wanted.name]
    if isinstance(value, str):
        return covers(wanted.value, value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 and 1e0 are 1, to a rule as to the tool
    if isinstance(value, bool | int | float):
        return covers(wanted.value, json.dumps(value)) or _is_number(value, wanted.value)
    return False


def _is_number(value: float, written: str) -> bool:
    """Whether a rule means this number, in whatever way it writes it."""
    if isinstance(value, bool):
        return False
    try:
        return float(written) == value
    except ValueError:
        return False
