"""Charters: deny before what needs a person, ask, allow, risks; and everything else runs."""

from collections.abc import Mapping
from typing import Any

import pytest

from toolwright.contracts.definitions import Charter, CharterRule
from toolwright.contracts.permissions import Rule, RuleSet
from toolwright.contracts.tool import McpOrigin, Objection, ToolSpec, Touch, Traits
from toolwright.tool_calls.permissions.charters import judge_by, refused_tools
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath

POLICY = Policy(roots=("/work",), cwd="/work", original_cwd="/work", home="/home/me")
SPEC = ToolSpec(name="write_file", description="", input_schema={}, source="catalog")
BASH = ToolSpec(name="bash", description="", input_schema={}, source="catalog")


def subject(
    spec: ToolSpec = SPEC,
    *,
    input: Mapping[str, Any] | None = None,
    writes: str = "",
    command: str | None = None,
    hosts: tuple[str, ...] = (),
    **more: Any,
) -> Subject:
    paths = (TouchedPath(writes, "write"),) if writes else ()
    touches = tuple(Touch("path", path.path, "write") for path in paths)
    given = dict(input or ({"command": command} if command else {}))
    traits = Traits(command=command, touches=touches, **more)
    return Subject(
        spec=spec,
        offered_name=spec.name,
        input=given,
        raw_input=given,
        traits=traits,
        paths=paths,
        hosts=hosts,
    )


def decided(
    about: Subject,
    *rules: CharterRule,
    policy: Policy = POLICY,
    hosts: tuple[str, ...] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> str:
    charter = Charter(rules=rules, hosts=hosts)
    judge = judge_by(charter, "coder", size_of=lambda path: (sizes or {}).get(path, 0))
    return judge.decide(policy, about).behavior


def rule(effect: Any, tool: str = "*", **when: Any) -> CharterRule:
    return CharterRule(id="r", effect=effect, tool=tool, **when)


def test_what_nothing_speaks_against_runs() -> None:
    assert decided(subject(writes="/work/a")) == "allow"
    assert decided(subject(BASH, command="make test && ls | wc -l")) == "allow"


def test_writing_outside_is_asked_about_unless_a_rule_opens_the_place() -> None:
    outside = subject(writes="/tmp/build/x/y")
    assert decided(outside) == "ask"
    assert decided(outside, rule("allow", "write_file", paths=("/tmp/build/**",))) == "allow"
    assert decided(outside, rule("allow", "write_file", paths=("/tmp/other/**",))) == "ask"


def test_a_link_out_of_an_allowed_place_is_not_covered_by_its_rule() -> None:
    spellings = TouchedPath("/tmp/build/link", "write", hops=("/etc/passwd",))
    about = Subject(
        spec=SPEC,
        offered_name="write_file",
        input={},
        raw_input={},
        traits=Traits(touches=(Touch("path", "/tmp/build/link", "write"),)),
        paths=(spellings,),
    )
    assert decided(about, rule("allow", paths=("/tmp/build/**",))) == "ask"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ((rule("allow"), rule("ask"), rule("deny")), "deny"),
        ((rule("allow"), rule("ask")), "ask"),
        ((rule("deny", "bash"), rule("allow")), "allow"),
        ((rule("deny", "write_*"),), "deny"),
        ((rule("deny", agents=("writer",)),), "allow"),
        ((rule("deny", agents=("cod*",)),), "deny"),
        ((rule("deny", sources=("mcp",)),), "allow"),
        ((rule("deny", sources=("platform",)),), "deny"),
        ((rule("deny", input={"/mode": ("append", "x")}),), "deny"),
        ((rule("deny", input={"/mode": (True,)}),), "allow"),
        ((rule("deny", input={"/mode": ("append",), "/path": ("other",)}),), "allow"),
        ((rule("ask", paths=("*.txt",)),), "ask"),
        ((rule("ask", paths=("*.md",)),), "allow"),
        ((rule("deny", hosts=("*.example.com",)),), "allow"),
    ],
)
def test_rules_are_heard_by_effect_and_all_their_conditions_hold(
    rules: tuple[CharterRule, ...], expected: str
) -> None:
    about = subject(writes="/work/a.txt", input={"path": "a.txt", "mode": "append"})
    assert decided(about, *rules) == expected


def test_what_needs_a_person_is_asked_whatever_allows_it() -> None:
    spec = ToolSpec(name="pay", description="", input_schema={}, source="catalog", needs_person=True)
    assert decided(subject(spec), rule("allow")) == "ask"
    assert decided(subject(spec), rule("deny")) == "deny"


def test_rules_of_the_settings_count_too() -> None:
    denied = Rule("write_file", None, "deny", "managed", "write_file")
    policy = Policy(roots=("/work",), cwd="/work", original_cwd="/work", rules=RuleSet(deny=(denied,)))
    assert decided(subject(writes="/work/a"), rule("allow"), policy=policy) == "deny"


def test_in_a_run_that_never_asks_a_question_is_a_refusal() -> None:
    policy = Policy(roots=("/work",), cwd="/work", original_cwd="/work", mode="dontAsk")
    assert decided(subject(writes="/etc/x"), policy=policy) == "deny"
    assert decided(subject(writes="/work/x"), policy=policy) == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -rf build", "allow"),
        ("rm -rf /etc/x", "ask"),
        ("rm -r -f ../x", "ask"),
        ("sudo rm --recursive --force /srv", "ask"),
        ("cd /srv && rm -fr x", "ask"),
        ("sh -c 'rm -rf /srv/x'", "ask"),
        ("rm -rf $WHERE", "ask"),
        ("rm /etc/x", "allow"),
        ("echo x | xargs rm -rf", "ask"),
        ("find /srv -name x -exec rm -rf {} +", "ask"),
        ("find /srv -delete", "ask"),
        ("find build -delete", "allow"),
        ("find . -delete", "ask"),
        ("shred secret", "ask"),
        ("chmod -R 777 .", "ask"),
        ("chmod +x run.sh", "allow"),
        ("chown --recursive me .", "ask"),
        ("echo x > big.txt", "ask"),
        ("echo x >> big.txt", "allow"),
        ("echo x > small.txt", "allow"),
        ("echo x > /dev/null", "allow"),
        ("$PROGRAM x", "ask"),
        ("echo 'unclosed", "ask"),
        ("echo $((1 + 2))", "allow"),
        ("python3 -c 'print(1)'", "allow"),
    ],
)
def test_commands_that_cannot_be_undone_are_asked_about(command: str, expected: str) -> None:
    sizes = {"/work/big.txt": 10_000, "/work/small.txt": 3}
    assert decided(subject(BASH, command=command), sizes=sizes) == expected


@pytest.mark.parametrize(
    ("effect", "argv", "command", "expected"),
    [
        ("ask", ("kubectl", "*"), "kubectl get pods", "ask"),
        ("ask", ("kubectl", "*"), "ls; /usr/bin/kubectl get pods", "ask"),
        ("ask", ("kubectl", "*"), "kubectl", "allow"),
        ("deny", ("git", "push"), "cd x && git push origin", "deny"),
        ("allow", ("chmod", "-R"), "chmod -R 755 .", "allow"),
        ("allow", ("chmod", "-R"), "chmod -R 755 . && shred x", "ask"),
    ],
)
def test_a_rule_about_arguments_sees_every_command_of_a_line(
    effect: str, argv: tuple[str, ...], command: str, expected: str
) -> None:
    assert decided(subject(BASH, command=command), rule(effect, "bash", argv=argv)) == expected


def test_a_host_that_is_not_on_the_list_is_asked_about() -> None:
    about = subject(hosts=("example.com",))
    assert decided(about) == "allow"
    assert decided(about, hosts=("example.com",)) == "allow"
    assert decided(about, hosts=("example.org",)) == "ask"
    assert decided(about, rule("allow", hosts=("*.com", "example.com")), hosts=()) == "allow"


def test_a_server_that_warns_of_its_tool_is_believed() -> None:
    spec = ToolSpec(
        name="mcp.s.drop", description="", input_schema={}, source="mcp", mcp=McpOrigin("s", "drop")
    )
    assert decided(subject(spec, destructive=True)) == "ask"
    assert decided(subject(spec)) == "allow"


def test_what_a_tool_refuses_or_wants_asked_is_heard() -> None:
    from dataclasses import replace

    about = subject(writes="/work/a")
    assert decided(replace(about, objection=Objection("deny", "no"))) == "deny"
    assert decided(replace(about, objection=Objection("ask", "sure?"))) == "ask"


def test_a_tool_that_is_denied_whatever_it_is_called_with_is_not_offered() -> None:
    charter = Charter(rules=(rule("deny", "ba*"), rule("deny", "write_file", paths=("/x",))))
    refused = refused_tools(charter, "coder")
    assert "by rule r" in refused(BASH, "bash")
    assert refused(SPEC, "write_file") == ""
