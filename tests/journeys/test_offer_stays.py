"""What a model is sent depends on tools alone: no mode and no rule about contents changes a byte of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright import Toolbox, build_tool
from toolwright.contracts.tool import McpOrigin, Tool

OWN = build_tool(name="own", description="Do it.", input_schema={}, call=lambda input: str(input))
SERVER = build_tool(
    name="mcp.notes.get",
    description="Get it.",
    input_schema={},
    call=lambda input: str(input),
    source="mcp",
    mcp=McpOrigin("notes", "get"),
)
TOOLS: tuple[Tool | str, ...] = (OWN, SERVER, "bash", "read", "edit", "web_fetch")
NAMES = st.sampled_from(["own", "mcp__notes__get", "mcp__*", "Bash", "read", "Edit", "web_fetch", "*"])
WITH_CONTENT = st.sampled_from(
    ["Bash(rm *)", "Bash(git push *)", "read(src/**)", "Edit(//etc/**)", "web_fetch(domain:example.org)"]
)
RULES = st.lists(st.one_of(NAMES, WITH_CONTENT), max_size=4)
MODES = st.sampled_from(["default", "acceptEdits", "plan", "dontAsk"])


def payload(folder: Path, **rules: Any) -> bytes:
    return Toolbox(TOOLS, workspace=str(folder), **rules).payload


@given(allow=RULES, ask=RULES, deny=st.lists(WITH_CONTENT, max_size=4), mode=MODES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_modes_and_rules_about_contents_change_no_byte(
    tmp_path: Path, allow: list[str], ask: list[str], deny: list[str], mode: str
) -> None:
    assert payload(tmp_path, allow=allow, ask=ask, deny=deny, mode=mode) == payload(tmp_path)


@pytest.mark.parametrize(
    ("rule", "gone"),
    [
        ("Bash", "bash"),
        ("Bash(*)", "bash"),
        ("Shell", "bash"),
        ("own", "own"),
        ("mcp__notes", "mcp__notes__get"),
        ("mcp__notes__*", "mcp__notes__get"),
        ("mcp__*", "mcp__notes__get"),
        ("*", "read"),
    ],
)
def test_a_deny_rule_without_content_takes_the_tool_out(tmp_path: Path, rule: str, gone: str) -> None:
    name = f'"name":"{gone}"'.encode()
    assert name in payload(tmp_path)
    assert name not in payload(tmp_path, deny=[rule])


def test_what_the_engine_itself_supplies_is_taken_out_by_the_star_alone(tmp_path: Path) -> None:
    supplied = build_tool(
        name="task.return", description="Return.", input_schema={}, call=lambda input: "", source="runtime"
    )

    def offered(rule: str) -> int:
        return len(Toolbox([supplied], workspace=str(tmp_path), deny=[rule]).offered.tools)

    assert [offered(rule) for rule in ("task.return", "task*", "TaskReturn", "*")] == [1, 1, 1, 0]
