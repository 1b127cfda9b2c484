"""Agent definitions: every key in every spelling, and errors that name line, key and remedy."""

import json
from typing import Any

import pytest

from toolwright.catalog.agents import read_agent
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.definitions import AgentDefinition, RunLimits

WHOLE = """\
---
name: reviewer
description: "Reviews a change: all of it."
tools: Read, Grep, Bash
disallowedTools: [WebFetch, "mcp__*"]
model: anthropic/some-model
effort: off
maxTokens: 4000
toolset: harness
permissionMode: dontAsk
maxTurns: 12
background: true
isolation: worktree
agents: []
skills: house-style, tests
mcpServers:
  - shared
  - own: {command: serve}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check}]
allow: ["Bash(git diff *)"]
ask: Edit(src/**), Bash(git push *, now)
deny: [Read(.env)]
limits:
  calls: 40
  callsPerTool: {bash: 5}
  tokens: 100000
  cost: 1.5
  seconds: 600
replaces_prompt: true
---

Read the change.

Say what is wrong.
"""

DEFINITION = AgentDefinition(
    name="reviewer",
    description="Reviews a change: all of it.",
    system="Read the change.\n\nSay what is wrong.",
    replaces_prompt=True,
    model="anthropic/some-model",
    effort="off",
    max_tokens=4000,
    toolset="harness",
    tools=("Read", "Grep", "Bash"),
    disallowed_tools=("WebFetch", "mcp__*"),
    permission_mode="dontAsk",
    allow=("Bash(git diff *)",),
    ask=("Edit(src/**)", "Bash(git push *, now)"),
    deny=("Read(.env)",),
    limits=RunLimits(
        rounds=12, calls=40, calls_per_tool={"bash": 5}, tokens=100_000, cost=1.5, seconds=600.0
    ),
    background=True,
    isolation="worktree",
    agents=(),
    skills=("house-style", "tests"),
    mcp_servers={"shared": {}, "own": {"command": "serve"}},
    hooks={"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check"}]}]},
    origin="reviewer.md",
)


def test_every_key_is_read() -> None:
    read = read_agent("reviewer.md", WHOLE.encode())
    assert read.definition == DEFINITION
    assert read.notices == ()


def test_a_file_with_nothing_but_a_text_is_an_agent_named_like_the_file() -> None:
    read = read_agent("agents/helper.md", b"---\n---\nHelp.\n")
    assert read.definition == AgentDefinition(name="helper", system="Help.", origin="agents/helper.md")
    assert read.notices == ("agents/helper.md: there is no description, so nobody can tell when to use it.",)


KEYED: dict[str, Any] = {
    "name": "x",
    "description": "d",
    "system": "Do it.",
    "tools": ["read"],
    "limits": {"rounds": 2},
    "permission_mode": "manual",
    "model": "inherit",
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.json", json.dumps(KEYED)),
        ("x.json", json.dumps({"prompt" if key == "system" else key: value for key, value in KEYED.items()})),
        (
            "x.toml",
            'name = "x"\ndescription = "d"\nprompt = "Do it."\ntools = ["read"]\nmaxTurns=2\nmode = "manual"',
        ),
        ("x.md", "---\ndescription: d\ntools: read\nmax_turns: 2\npermission-mode: default\n---\nDo it.\n"),
        ("x.md", "---\ndescription: d\ntools: read\nmax_turns: 2\nmode: default\nsystem: Do it.\n---\n"),
    ],
)
def test_the_same_agent_in_every_format(path: str, text: str) -> None:
    read = read_agent(path, text.encode())
    assert read.definition == AgentDefinition(
        name="x",
        description="d",
        system="Do it.",
        tools=("read",),
        limits=RunLimits(rounds=2),
        permission_mode="default",
        origin=path,
    )


@pytest.mark.parametrize(
    ("written", "tools", "agents"),
    [
        ("tools: '*'", ("*",), None),
        ("tools: []", (), None),
        ("tools: [mcp.github.*, read]", ("mcp.github.*", "read"), None),
        ("tools: Agent(worker, checker), Read", ("Agent", "Read"), ("worker", "checker")),
        ("tools: [agent(worker), read]\nagents: worker", ("agent", "read"), ("worker",)),
        ("description: d", None, None),
    ],
)
def test_tools_are_names_patterns_and_agents_in_brackets(
    written: str, tools: tuple[str, ...] | None, agents: tuple[str, ...] | None
) -> None:
    definition = read_agent("x.md", f"---\n{written}\n---\n".encode()).definition
    assert (definition.tools, definition.agents) == (tools, agents)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("tols: read", "2: 'tols' is no key of an agent. Did you mean 'tools'?"),
        ("permisionMode: plan", "2: 'permisionMode' is no key of an agent. Did you mean 'permission_mode'?"),
        ("zzz: 1", "2: 'zzz' is no key of an agent. Known here: agents, allow, ask"),
        ("name: two words", "2: 'name' takes a name, not 'two words': letters"),
        ("name: ../up", "2: 'name' takes a name, not '../up'"),
        ("name: 12", "2: 'name' takes a text, not 12; put it into quotes."),
        ("name:", "2: 'name' has no value; give it one or take the key out."),
        ("description: [a]", "2: 'description' takes a text, not a list"),
        ("tools: {read: true}", "2: 'tools' takes a list, or a text with commas, not keys with values."),
        ("tools: read,, grep", "2: 'tools' has an empty entry; write [] for none."),
        ("tools: ''", "2: 'tools' has an empty entry; write [] for none."),
        ("tools: [read, 3]", "2: 'tools' takes a text, not 3"),
        ("tools: Bash(git *)", "list 'Bash' here and put 'Bash(git *)' under 'allow'"),
        ("tools: Agent(a)\nagents: b", "3: 'agents' and Agent(...) under 'tools' name different agents"),
        ("disallowed_tools: Agent(a)", "2: 'disallowed_tools' takes names of tools only"),
        ("model: two words", "2: 'model' takes one word"),
        ("permissionMode: yolo", "takes one of default, acceptEdits, plan, dontAsk, auto, bypassPermissions"),
        ("effort: huge", "2: 'effort' takes one of off, low, medium, high, not 'huge'."),
        ("background: yes", "2: 'background' takes true or false, not 'yes'."),
        ("background: 1", "2: 'background' takes true or false, not 1."),
        ("max_turns: 0", "2: 'max_turns' takes a whole number from 1 on, not 0."),
        ("max_turns: true", "takes a whole number from 1 on, not true."),
        ("max_turns: 2.5", "takes a whole number from 1 on, not 2.5."),
        ("max_turns: 3\nlimits: {rounds: 4}", "2: 'max_turns' and 'limits.rounds' differ; keep one."),
        ("max_turns: 3\nmaxTurns: 3", "3: 'maxTurns' says the same as another key; keep one 'max_turns'."),
        ("limits:\n  rouns: 4", "3: 'limits.rouns' is no key of an agent. Did you mean 'rounds'?"),
        ("limits:\n  cost: -1", "3: 'limits.cost' takes a number above 0, not -1."),
        ("limits:\n  calls_per_tool: {bash: 0}", "3: 'limits.calls_per_tool' takes a whole number"),
        ("limits: 3", "2: 'limits' takes keys with values, not 3."),
        ("hooks: [a]", "2: 'hooks' takes keys with values, not a list."),
        ("mcp_servers: [{a b: {}}]", "2: 'mcp_servers' takes a name, not 'a b'"),
        ("mcp_servers: [a, a]", "2: 'mcp_servers' names the server 'a' twice."),
        ("mcp_servers: {a: on}", "2: 'mcp_servers' takes keys with values, not 'on'."),
        ("allow: [' ']", "2: 'allow' takes permission rules such as"),
        ('allow: ["a\\nb"]', "2: 'allow' takes permission rules such as"),
        ("system: Do.", "2: 'system' stands beside a text below the front matter; keep one."),
    ],
)
def test_what_is_wrong_is_named_with_line_key_and_remedy(written: str, said: str) -> None:
    with pytest.raises(WrittenWrongly) as wrong:
        read_agent("x.md", f"---\n{written}\n---\nDo.\n".encode())
    assert len(wrong.value.problems) == 1, str(wrong.value)
    assert str(wrong.value).startswith("x.md:")
    assert said in str(wrong.value)


def test_everything_that_is_wrong_is_told_at_once_in_the_order_of_the_lines() -> None:
    with pytest.raises(WrittenWrongly) as wrong:
        read_agent("x.md", b"---\nlimits:\n  rounds: no\neffort: 3\nnmae: x\n---\n")
    assert [problem.line for problem in wrong.value.problems] == [3, 4, 5]


def test_a_file_whose_name_is_no_name_needs_one() -> None:
    with pytest.raises(WrittenWrongly, match="'name' is missing, and the file's own name 'my agent'"):
        read_agent("my agent.md", b"---\ndescription: d\n---\n")
    assert read_agent("my agent.md", b"---\nName: mine\n---\n").definition.name == "mine"


def test_keys_that_mean_nothing_here_are_read_over_and_told() -> None:
    read = read_agent("x.md", b"---\ndescription: d\ncolor: blue\n---\n")
    assert read.notices == ("x.md: the key 'color' has no meaning here and is left out.",)


def test_json_and_toml_name_the_key() -> None:
    with pytest.raises(WrittenWrongly, match=r"^x\.json: 'limits\.rounds' takes a whole number"):
        read_agent("x.json", b'{"limits": {"rounds": "many"}}')
