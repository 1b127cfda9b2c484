"""The text of rules: every form, who may use it, and what is said about the rest."""

from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwright.contracts.errors import RuleError
from toolwright.contracts.permissions import Behavior, Rule, RuleSet
from toolwright.tool_calls.permissions.rules import (
    LoadedRules,
    Notice,
    Parameter,
    RuleSection,
    load_rules,
    parameter,
    parse_rule,
    write_rule,
)

NAMES = {
    "bash": "bash",
    "Bash": "bash",
    "read": "read",
    "Read": "read",
    "View": "read",
    "edit": "edit",
    "Edit": "edit",
    "write": "write",
    "Write": "write",
    "multi_edit": "multi_edit",
    "MultiEdit": "multi_edit",
    "notebook_edit": "notebook_edit",
    "NotebookEdit": "notebook_edit",
    "apply_patch": "apply_patch",
    "ApplyPatch": "apply_patch",
    "glob": "glob",
    "Glob": "glob",
    "grep": "grep",
    "Grep": "grep",
    "list_dir": "list_dir",
    "web_fetch": "web_fetch",
    "WebFetch": "web_fetch",
    "web_search": "web_search",
    "WebSearch": "web_search",
    "skill": "skill",
    "Skill": "skill",
    "agent": "agent",
    "Agent": "agent",
    "deploy": "deploy",
}
EVERY: tuple[Behavior, ...] = ("allow", "ask", "deny")
RESTRICTING: tuple[Behavior, ...] = ("ask", "deny")


def read(text: str, behavior: Behavior = "deny") -> tuple[str, str | None]:
    rule = parse_rule(text, behavior=behavior, source="user", names=NAMES)
    return rule.tool, rule.content


@pytest.mark.parametrize("behavior", EVERY)
@pytest.mark.parametrize(
    ("text", "tool", "content"),
    [
        ("Bash", "bash", None),
        ("bash", "bash", None),
        ("Bash()", "bash", None),
        ("Bash(*)", "bash", None),
        (" Bash ", "bash", None),
        ("Bash(npm run *)", "bash", "npm run *"),
        ("Bash(npm run:*)", "bash", "npm run:*"),
        (r"Bash(echo \(a\))", "bash", "echo (a)"),
        (r"Bash(echo \\ a)", "bash", r"echo \ a"),
        (r"Bash(echo \\)", "bash", "echo \\"),
        (r"Bash(ls \*.py)", "bash", r"ls \*.py"),
        ('Bash(node -e "f(1)")', "bash", 'node -e "f(1)"'),
        ("Read(./src/**)", "read", "./src/**"),
        ("View(./src/**)", "read", "./src/**"),
        ("Edit(/docs/*.md)", "edit", "/docs/*.md"),
        ("Write(/docs/*.md)", "edit", "/docs/*.md"),
        ("MultiEdit(a)", "edit", "a"),
        ("NotebookEdit(a)", "edit", "a"),
        ("ApplyPatch(a)", "edit", "a"),
        ("Glob(src/**)", "read", "src/**"),
        ("Grep(src/**)", "read", "src/**"),
        ("list_dir(src/**)", "read", "src/**"),
        ("Write", "write", None),
        ("WebFetch(domain:example.com)", "web_fetch", "domain:example.com"),
        ("WebFetch", "web_fetch", None),
        ("WebSearch", "web_search", None),
        ("mcp__github", "mcp__github", None),
        ("mcp__github__*", "mcp__github__*", None),
        ("mcp__github__search", "mcp__github__search", None),
        ("mcp__github__get_*", "mcp__github__get_*", None),
        ("mcp__My Server__get", "mcp__My Server__get", None),
        ("Agent(reviewer)", "agent", "reviewer"),
        ("Skill(plugin:review)", "skill", "plugin:review"),
        ("Skill(review *)", "skill", "review *"),
        ("EnterWorktree", "enter_worktree", None),
        ("deploy(staging)", "deploy", "staging"),
    ],
)
def test_every_behaviour_reads_the_form(
    behavior: Behavior, text: str, tool: str, content: str | None
) -> None:
    rule = parse_rule(text, behavior=behavior, source="project", names=NAMES, base="/p")
    assert rule == Rule(tool, content, behavior, "project", text, "/p")


@pytest.mark.parametrize("behavior", RESTRICTING)
@pytest.mark.parametrize(
    ("text", "tool", "content"),
    [
        ("*", "*", None),
        ("B*", "B*", None),
        ("mcp__*", "mcp__*", None),
        ("mcp__git*__x", "mcp__git*__x", None),
        ("Bash(run_in_background:true)", "bash", "run_in_background:true"),
        ("Agent(model : opus*)", "agent", "model : opus*"),
        ("WebFetch(prompt:*secret*)", "web_fetch", "prompt:*secret*"),
        ("WebSearch(query:*salary*)", "web_search", "query:*salary*"),
        ("Write(content:*key*)", "write", "content:*key*"),
        ("mcp__*(repo:secret)", "mcp__*", "repo:secret"),
    ],
)
def test_only_ask_and_deny_read_the_form(
    behavior: Behavior, text: str, tool: str, content: str | None
) -> None:
    assert read(text, behavior) == (tool, content)


@pytest.mark.parametrize("text", ["*", "B*", "mcp__*", "mcp__git*__x", "mcp.*"])
def test_globs_are_ignored_as_allow_rules_with_a_notice(text: str) -> None:
    loaded = load_rules([RuleSection(source="user", origin="u.json", allow=(text,))], NAMES)
    assert loaded == LoadedRules(
        RuleSet(),
        (
            Notice(
                "ignored: an allow rule must name its tool or MCP server",
                text,
                "u.json: permissions.allow[0]",
            ),
        ),
    )
    with pytest.raises(RuleError, match="must name its tool"):
        read(text, "allow")


@pytest.mark.parametrize("text", ["WebSearch(query:x)", "WebFetch(prompt:x)", "EnterWorktree(x:y)"])
def test_input_fields_cannot_be_named_by_allow_rules(text: str) -> None:
    with pytest.raises(RuleError):
        read(text, "allow")


@pytest.mark.parametrize("behavior", EVERY)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "()",
        "(x)",
        "Bash(",
        "Bash(rm",
        r"Bash(rm\)",
        "Bash)",
        "Bash(rm) x",
        "Bash(f(1))",
        "Bash, Edit",
        "Bash Edit",
        "Ba\nsh",
        "Bash(command:rm *)",
        "Bash(command : rm *)",
        "Read(file_path:/etc/*)",
        "Edit(path:/etc/*)",
        "NotebookEdit(notebook_path:x)",
        "WebFetch(url:http://x)",
        "WebFetch(example.com)",
        "WebFetch(domain:http://x)",
        "WebFetch(domain:)",
        "WebFetch(domain:a..b)",
        "WebFetch(domain:a.b:443)",
        "WebSearch(cats)",
        "Read(!secret)",
        "Read(*/../x)",
        "Read([z-a])",
    ],
)
def test_what_cannot_be_read_is_an_error(behavior: Behavior, text: str) -> None:
    with pytest.raises(RuleError):
        read(text, behavior)


def test_a_glob_takes_no_content_but_an_input_field() -> None:
    with pytest.raises(RuleError):
        read("B*(rm *)", "deny")


def test_an_error_names_position_and_rule() -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule(
            "Bash(rm", behavior="deny", source="cli", names=NAMES, position="s.json: permissions.deny[2]"
        )
    assert str(caught.value) == "s.json: permissions.deny[2]: rule 'Bash(rm': the closing ')' is missing"


def test_loading_reports_every_bad_rule_at_once() -> None:
    sections = [
        RuleSection(source="user", origin="u.json", deny=("Bash(rm", "Read")),
        RuleSection(source="cli", allow=("(x)",)),
    ]
    with pytest.raises(RuleError) as caught:
        load_rules(sections, NAMES)
    assert str(caught.value).splitlines() == [
        "u.json: permissions.deny[0]: rule 'Bash(rm': the closing ')' is missing",
        "cli: permissions.allow[0]: rule '(x)': expected Tool or Tool(content)",
    ]


def test_folding_says_which_rule_it_became() -> None:
    loaded = load_rules(
        [RuleSection(source="user", origin="u", deny=("Write(a)", "Grep(b)", "Edit(c)"))], NAMES
    )
    assert [(rule.tool, rule.written) for rule in loaded.rules.deny] == [
        ("edit", "Write(a)"),
        ("read", "Grep(b)"),
        ("edit", "Edit(c)"),
    ]
    assert [str(notice) for notice in loaded.notices] == [
        "u: permissions.deny[0]: 'Write(a)': treated as Edit(a), which governs this tool too",
        "u: permissions.deny[1]: 'Grep(b)': treated as Read(b), which governs this tool too",
    ]


@pytest.mark.parametrize(
    ("behavior", "text", "warned"),
    [
        ("deny", "Bsh", True),
        ("ask", "Bsh(x)", True),
        ("allow", "Bsh", False),
        ("deny", "my_tool", False),
        ("deny", "B*", False),
        ("deny", "Bash", False),
    ],
)
def test_a_rule_that_names_no_known_tool_is_noticed(behavior: Behavior, text: str, warned: bool) -> None:
    sections: dict[Behavior, RuleSection] = {
        "allow": RuleSection(source="user", allow=(text,)),
        "ask": RuleSection(source="user", ask=(text,)),
        "deny": RuleSection(source="user", deny=(text,)),
    }
    notices = load_rules([sections[behavior]], NAMES).notices
    assert [notice.message for notice in notices] == (["no tool is named Bsh"] if warned else [])


def test_names_of_the_grammar_are_known_without_their_tools() -> None:
    rule = parse_rule("MultiEdit(x)", behavior="deny", source="user", names={})
    assert (rule.tool, rule.content) == ("edit", "x")


def test_sources_are_united_in_order() -> None:
    sections = [
        RuleSection(source="managed", deny=("Bash(rm *)",), base="/m"),
        RuleSection(source="user", deny=("Bash(dd *)",), base="/u"),
    ]
    rules = load_rules(sections, NAMES).rules
    assert [(rule.written, rule.source, rule.base) for rule in rules.deny] == [
        ("Bash(rm *)", "managed", "/m"),
        ("Bash(dd *)", "user", "/u"),
    ]


def test_managed_rules_only_silences_other_allow_rules_and_nothing_else() -> None:
    sections = [
        RuleSection(source="managed", allow=("Read",)),
        RuleSection(source="user", allow=("Bash",), ask=("Edit",), deny=("Write",)),
    ]
    loaded = load_rules(sections, NAMES, managed_rules_only=True)
    written = [
        [rule.written for rule in rules]
        for rules in (loaded.rules.allow, loaded.rules.ask, loaded.rules.deny)
    ]
    assert written == [["Read"], ["Edit"], ["Write"]]
    assert [notice.message for notice in loaded.notices] == ["ignored: only managed allow rules count here"]


def test_allow_rules_of_a_project_wait_for_trust() -> None:
    untrusted = RuleSection(source="project", allow=("Bash",), ask=("Edit",), deny=("Write",), trusted=False)
    loaded = load_rules([untrusted], NAMES)
    assert (len(loaded.rules.allow), len(loaded.rules.ask), len(loaded.rules.deny)) == (0, 1, 1)
    assert [notice.message for notice in loaded.notices] == ["ignored until this project is trusted"]


@given(st.text(min_size=1))
def test_written_rules_read_back_the_same(content: str) -> None:
    assume(content.strip() not in {"", "*"})
    assume(parameter(content) is None)
    rule = parse_rule(write_rule("deploy", content), behavior="allow", source="user", names=NAMES)
    assert (rule.tool, rule.content) == ("deploy", content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("model:opus", Parameter("model", "opus")),
        (" model : opus ", Parameter("model", "opus")),
        ("model:", Parameter("model", "")),
        ("npm run:x", None),
        ("//a:b", None),
        (None, None),
    ],
)
def test_the_field_form_is_recognised(content: str | None, expected: Parameter | None) -> None:
    assert parameter(content) == expected


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for behavior in EVERY:
        with suppress(RuleError):
            parse_rule(text, behavior=behavior, source="user", names=NAMES)
