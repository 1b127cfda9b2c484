"""The text of permission rules: ``Bash(git diff *)``, ``Read(./src/**)``, ``mcp__github``.

::

    rule      = tool-part [ "(" content ")" ]
    tool-part = name | alias | glob
    content   = text; "\\(", "\\)" and "\\\\" stand for the character itself

What cannot be read is an error that names file, position and rule. What can be read but will not do
what its writer may expect comes back as a notice.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from toolwright.contracts.errors import RuleError
from toolwright.contracts.permissions import Behavior, Rule, RuleSet, RuleSource
from toolwright.tool_calls.permissions.families import (
    EDIT,
    FETCH,
    READ,
    SHELLS,
    WITHOUT_CONTENT,
    canonical,
    family,
    pascal,
)
from toolwright.tool_calls.permissions.host_rules import check_host_pattern, host_pattern
from toolwright.tool_calls.permissions.path_patterns import expression, read_pattern

_BEHAVIORS: tuple[Behavior, ...] = ("allow", "ask", "deny")
_MAIN_FIELDS = frozenset({"command", "file_path", "path", "notebook_path", "url"})
_PARAMETER = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*(.*?)\s*", re.DOTALL)
_NAME = re.compile(r"[^\s()\\,\"'\x00-\x1f]+(?: [^\s()\\,\"'\x00-\x1f]+)*")
_MCP_SERVER = re.compile(r"mcp(?:__|\.)(.+?)(?:(?:__|\.).*)?\Z")
_ESCAPED = re.compile(r"\\([()\\])")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know about a rule that was read."""

    message: str
    rule: str
    position: str

    def __str__(self) -> str:
        return f"{self.position}: {self.rule!r}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSection:
    """The rule lists of one source, as written. ``origin`` is the file that errors name."""

    source: RuleSource
    origin: str = ""
    base: str = ""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    trusted: bool = True
    """Whether the project was trusted; the allow rules of a ``project`` section wait for that."""


@dataclass(frozen=True, slots=True)
class LoadedRules:
    rules: RuleSet
    notices: tuple[Notice, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """The form ``Tool(param:value)``: one top-level input field, and what its value must be."""

    name: str
    value: str


def parse_rule(
    text: str,
    *,
    behavior: Behavior,
    source: RuleSource,
    names: Mapping[str, str],
    base: str = "",
    position: str = "",
) -> Rule:
    """Read one rule. ``names`` leads from every name and alias of a tool to its canonical name.

    Raises RuleError, also for an allow rule that could never count.
    """
    try:
        rule, notices = _read(text, behavior, names)
        if rule is None:
            raise RuleError(notices[0])
    except RuleError as problem:
        where = f"{position}: " if position else ""
        raise RuleError(f"{where}rule {text!r}: {problem}") from None
    return Rule(rule.tool, rule.content, behavior, source, text, base)


def load_rules(
    sections: Iterable[RuleSection], names: Mapping[str, str], *, managed_rules_only: bool = False
) -> LoadedRules:
    """Unite the rules of all sources. Raises one RuleError that lists every rule that cannot be read."""
    found: dict[Behavior, list[Rule]] = {behavior: [] for behavior in _BEHAVIORS}
    notices: list[Notice] = []
    problems: list[str] = []
    for section in sections:
        for behavior, text, position in _written(section):
            try:
                rule, said = _read(text, behavior, names)
            except RuleError as problem:
                problems.append(f"{position}: rule {text!r}: {problem}")
                continue
            silenced = _silenced(section, behavior, managed_rules_only)
            notices += [Notice(message, text, position) for message in (*said, silenced) if message]
            if rule is not None and not silenced:
                found[behavior].append(
                    Rule(rule.tool, rule.content, behavior, section.source, text, section.base)
                )
    if problems:
        raise RuleError("\n".join(problems))
    rules = RuleSet(tuple(found["allow"]), tuple(found["ask"]), tuple(found["deny"]))
    return LoadedRules(rules, tuple(notices))


def write_rule(tool: str, content: str | None = None) -> str:
    """Return the text of a rule; reading it gives the same tool and content."""
    if content is None:
        return tool
    escaped = re.sub(r"([()\\])", r"\\\1", content)
    return f"{tool}({escaped})"


def parameter(content: str | None) -> Parameter | None:
    """Return the ``param:value`` reading of a rule's content, if it has one."""
    found = _PARAMETER.fullmatch(content or "")
    return Parameter(found[1], found[2]) if found else None


def is_glob(tool: str) -> bool:
    """Return whether a tool part stands for more than the tools of one MCP server."""
    server = _MCP_SERVER.match(tool)
    return "*" in (server[1] if server else tool)


@dataclass(frozen=True, slots=True)
class _Read:
    tool: str
    content: str | None


def _read(text: str, behavior: Behavior, names: Mapping[str, str]) -> tuple[_Read | None, tuple[str, ...]]:
    written, content = _parts(text)
    tool = canonical(written, names)
    if is_glob(tool) and behavior == "allow":
        return None, ("ignored: an allow rule must name its tool or MCP server",)
    notices = _unknown(tool, written, behavior, names)
    if content is None:
        return _Read(tool, None), notices
    folded = _checked(tool, content, behavior)
    if folded != tool:
        notices += (f"treated as {pascal(folded)}({content}), which governs this tool too",)
    return _Read(folded, content), notices


def _parts(text: str) -> tuple[str, str | None]:
    name, opening, rest = text.strip().partition("(")
    if not _NAME.fullmatch(name) or (" " in name and not name.startswith("mcp__")):
        raise RuleError("expected Tool or Tool(content)")
    if not opening:
        return name, None
    if not rest.endswith(")") or _ends_escaped(rest[:-1]):
        raise RuleError("the closing ')' is missing")
    content = rest[:-1]
    if content.endswith(")") and not _ends_escaped(content[:-1]):
        raise RuleError("a ')' at the end of the content must be written '\\)'")
    content = _ESCAPED.sub(r"\1", content)
    return name, None if content.strip() in {"", "*"} else content


def _ends_escaped(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _checked(tool: str, content: str, behavior: Behavior) -> str:
    """Check content against the tool it belongs to; return the tool whose rules it is one of."""
    named = parameter(content)
    if named and named.name in ({"command"} if tool in SHELLS else _MAIN_FIELDS):
        raise RuleError(f"{named.name!r} cannot be named; write its value as the content itself")
    host = host_pattern(content)
    if host is not None:
        check_host_pattern(host)
        return tool
    if family(tool) in {READ, EDIT}:
        pattern = read_pattern(content)
        expression(pattern.segments, ("",), anywhere=False, strict=True)
        return tool if named else family(tool)
    needs_parameter = "*" in tool or tool == FETCH or tool in WITHOUT_CONTENT
    if needs_parameter and (behavior == "allow" or not named):
        raise RuleError(_narrower(tool, behavior))
    return tool


def _narrower(tool: str, behavior: Behavior) -> str:
    forms = ["domain:host"] if tool == FETCH else []
    forms += ["param:value"] if behavior != "allow" else []
    if not forms:
        return "this tool takes no content in an allow rule"
    return f"the content must have the form {' or '.join(forms)}"


def _unknown(tool: str, written: str, behavior: Behavior, names: Mapping[str, str]) -> tuple[str, ...]:
    if behavior == "allow" or tool in names or "_" in written or "*" in written:
        return ()
    return (f"no tool is named {written}",)


def _written(section: RuleSection) -> Iterator[tuple[Behavior, str, str]]:
    lists = {"allow": section.allow, "ask": section.ask, "deny": section.deny}
    for behavior in _BEHAVIORS:
        for index, text in enumerate(lists[behavior]):
            yield behavior, text, f"{section.origin or section.source}: permissions.{behavior}[{index}]"


def _silenced(section: RuleSection, behavior: Behavior, managed_rules_only: bool) -> str:
    if behavior != "allow":
        return ""
    if managed_rules_only and section.source != "managed":
        return "ignored: only managed allow rules count here"
    if section.source == "project" and not section.trusted:
        return "ignored until this project is trusted"
    return ""
