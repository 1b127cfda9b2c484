"""``toolwright permissions explain``: for a person, for a program, for many calls at once."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import RuleError
from toolwright.surfaces.cli import permissions

RULES = {
    "allow": ["Bash(npm test *)", "WebFetch(domain:x.org)"],
    "ask": ["Edit(docs/**)"],
    "deny": ["Read(.env)"],
}


def run(*arguments: str, lines: str | bytes | None = None) -> Result:
    app = typer.Typer()
    app.callback()(lambda: None)
    permissions.register(app)
    return CliRunner().invoke(app, ["permissions", "explain", *arguments], input=lines)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(RULES))
    return str(path)


def explained(call: str, rules: str, *arguments: str) -> dict[str, Any]:
    result = run(call, "--rules", rules, "--json", *arguments)
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.output)
    return answer


def test_a_person_reads_verdict_rule_source_and_parts(rules: str) -> None:
    output = run("npm test && make", "--rules", rules).output
    assert output.splitlines()[0] == "ask"
    for text in ("npm test", "Bash(npm test *)", "make", "would be allowed by Bash(make *)"):
        assert text in output
    output = run("cat .env", "--rules", rules).output
    assert output.splitlines()[:2] == ["deny", "rule    Read(.env)  (deny, from cli)"]


def test_a_program_reads_json(rules: str) -> None:
    answer = explained("npm test && make", rules)
    assert (answer["verdict"], answer["rule"], answer["source"]) == ("ask", None, None)
    assert [(part["text"], part["verdict"], part["rule"]) for part in answer["parts"]] == [
        ("npm test", "allow", "Bash(npm test *)"),
        ("make", "ask", None),
    ]


@pytest.mark.parametrize(
    ("call", "tool", "mode", "verdict", "rule"),
    [
        ("a.py", "read", "default", "allow", None),
        (".env", "Read", "bypassPermissions", "deny", "Read(.env)"),
        ("sub/.env", "write", "default", "deny", "Read(.env)"),
        ("docs/a.md", "edit", "acceptEdits", "ask", "Edit(docs/**)"),
        ("src/a.py", "edit", "acceptEdits", "allow", None),
        ('{"file_path": "/etc/hosts"}', "read", "dontAsk", "deny", None),
        ("https://x.org/page", "WebFetch", "default", "allow", "WebFetch(domain:x.org)"),
        ("https://y.org/page", "web_fetch", "default", "ask", None),
        ("anything", "mcp__s__t", "default", "ask", None),
        ("npm test", "bash", "manual", "allow", "Bash(npm test *)"),
    ],
)
def test_other_tools_and_modes(
    rules: str, tmp_path: Path, call: str, tool: str, mode: str, verdict: str, rule: str | None
) -> None:
    answer = explained(call, rules, "--tool", tool, "--mode", mode, "--cwd", str(tmp_path))
    assert (answer["verdict"], answer["rule"]) == (verdict, rule)


def test_a_settings_file_is_read_for_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    further = {"allow": ["Bash(make *)"], "additional_directories": ["/data"], "mode": "plan"}
    path.write_text(json.dumps({"permissions": further, "features": {}}))
    assert explained("make", str(path))["rule"] == "Bash(make *)"
    assert explained("/data/x", str(path), "--tool", "read")["verdict"] == "allow"


def test_notices_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"deny": ["Write(x)"]}))
    assert "treated as Edit(x)" in run("ls", "--rules", str(path)).output


def test_a_batch_answers_line_by_line_and_loses_nothing(tmp_path: Path) -> None:
    lines = [
        json.dumps({"command": "npm test", "rules": {"allow": ["Bash(npm test *)"]}}),
        "nonsense",
        json.dumps(
            {"input": {"command": "rm x"}, "rules": {"deny": ["Bash(rm *)"]}, "mode": "bypassPermissions"}
        ),
        "",
        json.dumps({"tool": "Read", "input": {"file_path": "/etc/hosts"}, "cwd": str(tmp_path)}),
        json.dumps({"command": "ls", "rules": {"deny": ["Bash(rm"]}}),
        json.dumps({"command": "ls", "mode": "no such mode"}),
        json.dumps({"command": 7}),
        json.dumps({"tool": "Read", "input": {}}),
        json.dumps({"command": "ls", "wrong": 1}),
        json.dumps(["ls"]),
        json.dumps({"command": "ls", "rules": {"deny": "Bash"}}),
        json.dumps({"command": "true"}),
    ]
    result = run("--batch", lines="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in result.output.splitlines()]
    assert result.exit_code == 1
    assert answers[0] == {
        "verdict": "allow",
        "rule": "Bash(npm test *)",
        "reason": "allowed by rule Bash(npm test *) (cli)",
    }
    assert [answer.get("verdict") for answer in answers] == [
        "allow",
        None,
        "deny",
        "ask",
        *[None] * 7,
        "allow",
    ]
    assert [answer["line"] for answer in answers if "error" in answer] == [2, 6, 7, 8, 9, 10, 11, 12]


def test_a_batch_may_be_a_file_with_common_rules(rules: str, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b'{"command":"npm test"}\n{"command":"cat .env"}\n{"command":"\xff"}\n')
    result = run("--batch", str(path), "--rules", rules, "--cwd", str(tmp_path))
    answers = [json.loads(line) for line in result.output.splitlines()]
    assert [answer.get("verdict") for answer in answers] == ["allow", "deny", None]
    assert result.exit_code == 1


def test_a_batch_without_broken_lines_ends_well() -> None:
    assert run("--batch", lines='{"command": "true"}\n').exit_code == 0
    assert run("--batch", "-", lines="").output == ""


@pytest.mark.parametrize("content", ["{", "[]", '{"allow": 1}', '{"alow": []}', '{"allow": ["Bash(rm"]}'])
def test_rules_that_cannot_be_read_are_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rules.json"
    path.write_text(content)
    result = run("ls", "--rules", str(path))
    assert isinstance(result.exception, RuleError)
    assert str(path) in str(result.exception)


def test_what_is_missing_is_said() -> None:
    assert run().exit_code == 2
    assert run("--batch", "/no/such/file").exit_code == 2
    assert isinstance(run("ls", "--rules", "/no/such/file").exception, RuleError)
    assert isinstance(run("ls", "--mode", "wild").exception, RuleError)
    assert isinstance(run("{", "--tool", "read").exception, RuleError)


def test_help_has_examples() -> None:
    assert "toolwright permissions explain" in run("--help").output
