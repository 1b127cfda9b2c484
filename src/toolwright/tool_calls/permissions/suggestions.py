"""What "always allow" may mean for one call, as changes that a person can accept."""

import os.path
import re
from collections.abc import Iterable

from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import ToolSpec
from toolwright.tool_calls.permissions.families import EDIT, READ, pascal
from toolwright.tool_calls.permissions.host_rules import PREFIX
from toolwright.tool_calls.permissions.path_patterns import escaped
from toolwright.tool_calls.permissions.rules import write_rule
from toolwright.tool_calls.permissions.subject import PathJudge, Subject, TouchedPath


def suggested(
    subject: Subject, *, uncovered: Iterable[TouchedPath], paths: PathJudge
) -> tuple[RuleChange, ...]:
    """Return the narrowest lasting permissions that would cover a call, commands apart.

    ``uncovered`` are the paths for which nothing speaks yet.
    """
    open_paths = tuple(uncovered)
    if open_paths:
        return _for_paths(open_paths, paths)
    if subject.hosts:
        name = pascal(subject.spec.name)
        return _adding(write_rule(name, PREFIX + host) for host in dict.fromkeys(subject.hosts))
    return whole_tool(subject.spec)


def whole_tool(spec: ToolSpec) -> tuple[RuleChange, ...]:
    """Return the offer to allow every call of a tool."""
    return _adding([tool_rule(spec)])


def tool_rule(spec: ToolSpec) -> str:
    """Return the rule that names a whole tool."""
    if spec.mcp is None:
        return spec.name
    server, tool = (re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (spec.mcp.server, spec.mcp.tool))
    return f"mcp__{server}__{tool}"


def path_rule(touched: TouchedPath) -> str:
    """Return the rule for one path: what is read opens its folder, what is written only itself."""
    if touched.access != "read":
        return write_rule(pascal(EDIT), "/" + escaped(touched.path))
    folder = os.path.dirname(touched.path)
    if folder.count("/") <= 1:
        return write_rule(pascal(READ), "/" + escaped(touched.path))
    return write_rule(pascal(READ), f"/{escaped(folder)}/**")


def _for_paths(uncovered: tuple[TouchedPath, ...], paths: PathJudge) -> tuple[RuleChange, ...]:
    edits = [touched for touched in uncovered if touched.access != "read"]
    offers = _adding(dict.fromkeys(path_rule(touched) for touched in uncovered))
    if len(edits) == len(uncovered) and all(paths.inside(touched.path) for touched in edits):
        return (RuleChange("setMode", mode="acceptEdits"), *offers)
    return offers


def _adding(rules: Iterable[str]) -> tuple[RuleChange, ...]:
    return (RuleChange("addRules", rules=tuple(rules)),)
