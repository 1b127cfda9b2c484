"""What "always allow" offers: narrow, and true to what it says."""

import pytest

from toolwright.contracts.permissions import RuleChange, RuleSet
from toolwright.contracts.tool import McpOrigin, ToolSpec, Traits
from toolwright.tool_calls.permissions.changes import changed
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath
from toolwright.tool_calls.permissions.suggestions import suggested, whole_tool

CWD = "/work/app"
POLICY = Policy(cwd=CWD, original_cwd=CWD, home="/home/ann", roots=(CWD,))


def subject(
    name: str, *paths: TouchedPath, hosts: tuple[str, ...] = (), mcp: McpOrigin | None = None
) -> Subject:
    spec = ToolSpec(name=name, description="", input_schema={}, mcp=mcp)
    return Subject(
        spec=spec, offered_name=name, input={}, raw_input={}, traits=Traits(), paths=paths, hosts=hosts
    )


def offered(call: Subject) -> tuple[RuleChange, ...]:
    return suggested(call, uncovered=call.paths, paths=PathRules(POLICY))


def adding(*rules: str) -> RuleChange:
    return RuleChange("addRules", rules=rules)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (subject("deploy"), (adding("deploy"),)),
        (subject("mcp.git_hub.get", mcp=McpOrigin("git hub", "get.it")), (adding("mcp__git_hub__get_it"),)),
        (subject("web_fetch", hosts=("x.org", "x.org")), (adding("WebFetch(domain:x.org)"),)),
        (subject("read", TouchedPath("/data/sub/x", "read")), (adding("Read(//data/sub/**)"),)),
        (subject("read", TouchedPath("/etc/passwd", "read")), (adding("Read(//etc/passwd)"),)),
        (subject("read", TouchedPath("/x", "read")), (adding("Read(//x)"),)),
        (subject("edit", TouchedPath("/data/a.py", "write")), (adding("Edit(//data/a.py)"),)),
        (
            subject("edit", TouchedPath(f"{CWD}/a[1].py", "create")),
            (RuleChange("setMode", mode="acceptEdits"), adding(r"Edit(//work/app/a\\[1\\].py)")),
        ),
        (
            subject("patch", TouchedPath(f"{CWD}/a", "write"), TouchedPath("/data/sub/b", "read")),
            (adding(f"Edit(/{CWD}/a)", "Read(//data/sub/**)"),),
        ),
    ],
)
def test_offers(call: Subject, expected: tuple[RuleChange, ...]) -> None:
    assert offered(call) == expected


@pytest.mark.parametrize("name", ["a.py", "a*b", "[x]", "a(b)", "a\\b", "!x", "?", " s "])
def test_an_accepted_offer_covers_the_path_and_no_other(name: str) -> None:
    path = f"/data/{name}"
    change = offered(subject("edit", TouchedPath(path, "write")))[-1]
    after = PathRules(changed(POLICY, [change], names={}))
    assert after.allowed(path, "write")
    assert not after.allowed("/data/aXb", "write")
    assert not after.allowed(f"{path}/x", "write")


def test_a_whole_tool_can_be_offered() -> None:
    assert whole_tool(subject("deploy").spec) == (adding("deploy"),)
    assert changed(POLICY, [adding("deploy")], names={}).rules != RuleSet()
