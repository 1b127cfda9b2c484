"""``toolwright mcp``: servers set up, shown, tried and approved, with real little servers."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.servers.connecting import HERE
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import SettingsError, ToolwrightError
from toolwright.surfaces.cli.main import application
from toolwright.wiring.health import Check, examine

LITTLE = [sys.executable, str(HERE / "little.py")]
SECRET = "very-secret-token-4711"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOKEN", SECRET)
    for name in ("XDG_CONFIG_HOME", "TOOLWRIGHT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return project


def run(*words: str, given: str = "") -> Result:
    result = CliRunner().invoke(application(), ["mcp", *words], input=given)
    assert SECRET not in result.output
    return result


def ok(*words: str, given: str = "") -> str:
    result = run(*words, given=given)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def failure(*words: str) -> ToolwrightError:
    result = run(*words)
    assert isinstance(result.exception, ToolwrightError), result.output
    return result.exception


def servers() -> dict[str, dict[str, Any]]:
    listed = json.loads(CliRunner().invoke(application(), ["mcp", "list", "--json"]).stdout)
    return {server["name"]: server for server in listed["servers"]}


def test_without_servers_the_way_to_one_is_told() -> None:
    assert "toolwright mcp add" in ok("list")
    assert isinstance(failure("get", "nothing"), SettingsError)


def test_a_program_is_set_up_shown_and_taken_out_again(project: Path) -> None:
    said = ok("add", "little", "-e", "KEY=${TOKEN}", "--timeout", "5000", "--sandbox", "--", *LITTLE, "well")
    path = project.parent / "home" / ".config" / "toolwright" / "settings.json"
    assert str(path) in said
    written = json.loads(path.read_text())["mcp"]["servers"]["little"]
    assert written == {
        "command": LITTLE[0], "args": [LITTLE[1], "well"], "env": {"KEY": "${TOKEN}"}, "timeout": 5000,
        "sandbox": True,
    }  # fmt: skip
    assert servers()["little"]["status"] == "may_start"
    shown = ok("get", "little")
    for line in (
        "little.py well",
        "variables     KEY",
        "takes         TOKEN",
        "timeout       5 s",
        "sandbox       yes",
    ):
        assert line in shown
    assert isinstance(failure("add", "little", "--", "true"), SettingsError)
    assert str(path) in ok("remove", "little")
    assert servers() == {}
    assert isinstance(failure("remove", "little"), SettingsError)


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (["https://x.example/mcp"], {"type": "http", "url": "https://x.example/mcp"}),
        (["wss://x.example/"], {"type": "ws", "url": "wss://x.example/"}),
        (["https://x.example/sse", "--type", "sse"], {"type": "sse", "url": "https://x.example/sse"}),
        (
            ["https://x.example/", "-H", "Authorization: Bearer ${TOKEN}", "-H", "X-A:b"],
            {
                "type": "http",
                "url": "https://x.example/",
                "headers": {"Authorization": "Bearer ${TOKEN}", "X-A": "b"},
            },
        ),
        (["true"], {"command": "true"}),
    ],
)
def test_an_entry_is_written_as_it_is_typed(project: Path, words: list[str], entry: dict[str, Any]) -> None:
    ok("add", "srv", *words, "--scope", "project")
    assert json.loads((project / ".mcp.json").read_text()) == {"mcpServers": {"srv": entry}}


@pytest.mark.parametrize(
    "words",
    [
        ["true", "--type", "http"],
        ["https://x.example/", "more"],
        ["https://x.example/", "-e", "A=b"],
        ["true", "-H", "A: b"],
        ["true", "-e", "novalue"],
        ["https://x.example/", "-H", "novalue"],
        ["true", "--scope", "galaxy"],
    ],
)
def test_what_makes_no_entry_is_refused(words: list[str]) -> None:
    assert run("add", "srv", *words).exit_code == 2
    assert servers() == {}


def test_a_name_or_entry_that_cannot_be_used_is_refused_before_it_is_written(project: Path) -> None:
    assert "Call it 'my-server'" in str(failure("add", "my server", "true"))
    assert "no type 'pigeon'" in str(failure("add", "srv", "https://x.example/", "--type", "pigeon"))
    assert servers() == {}


def test_a_local_server_waits_for_trust(project: Path) -> None:
    assert "toolwright trust" in ok("add", "srv", "--scope", "local", "--", "true")
    assert servers() == {}


def test_a_server_is_tried(project: Path) -> None:
    ok("add", "little", "--", *LITTLE, "well")
    said = ok("test", "little", "--tool", "echo", "--input", '{"text": "hello"}')
    assert "little: connected" in said
    assert "2 tools" in said
    assert "echo answered:\nhello" in said
    seen = json.loads(ok("test", "little", "--json"))
    assert (seen["status"], seen["tools"], seen["server"]["protocol"]) == (
        "connected",
        ["echo", "quiet"],
        "2025-06-18",
    )
    assert "connected, 2 tools" in ok("list", "--connect")
    assert "no tool 'nothing'" in str(failure("test", "little", "--tool", "nothing"))
    assert "not valid JSON" in str(failure("test", "little", "--tool", "echo", "--input", "{"))


def test_a_server_that_does_not_work_says_why(project: Path) -> None:
    ok("add", "bad", "--", *LITTLE, "ends_at_once")
    ok("add", "odd", "--", *LITTLE, "error")
    result = run("test", "bad")
    assert (result.exit_code, "no licence found" in result.output) == (1, True)
    failed = run("test", "odd", "--tool", "echo")
    assert (failed.exit_code, "echo failed:" in failed.output) == (1, True)


def test_a_projects_server_is_approved_as_it_is_written(project: Path) -> None:
    entry = {"command": LITTLE[0], "args": [LITTLE[1], "well"]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"little": entry}}))
    assert servers()["little"]["status"] == "pending_approval"
    assert "It may not start." in ok("approve", "little", given="n\n")
    assert servers()["little"]["status"] == "pending_approval"
    assert "may start from now on" in ok("approve", "little", given="y\n")
    assert servers()["little"]["status"] == "may_start"
    changed = {"mcpServers": {"little": {**entry, "env": {"A": "b"}}}}
    (project / ".mcp.json").write_text(json.dumps(changed))
    assert servers()["little"]["status"] == "pending_approval"
    ok("approve", "--all", "--yes")
    assert servers()["little"]["status"] == "may_start"
    ok("approve", "little", "--revoke")
    assert servers()["little"]["status"] == "pending_approval"
    assert "say --all" in str(failure("approve"))


def test_who_adds_a_server_to_the_project_has_approved_it() -> None:
    ok("add", "little", "--scope", "project", "--", *LITTLE, "well")
    assert servers()["little"]["status"] == "may_start"


def test_changed_tools_are_shown_and_accepted(project: Path) -> None:
    words = project / "words"
    words.write_text("Say the same.")
    ok("add", "little", "--", *LITTLE, "changes", str(words))
    ok("test", "little")
    assert "No tool of little has changed" in ok("approve", "little", "--tools")
    words.write_text("Say it all.")
    assert "changed since it was accepted: echo" in ok("test", "little")
    shown = ok("approve", "little", "--tools", given="n\n")
    assert "Description before: Say the same.\nDescription now: Say it all." in shown
    assert "echo is accepted." in ok("approve", "little", "--tools", "--yes")
    assert "changed since" not in ok("test", "little")


def test_entries_that_cannot_be_used_are_told(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"srv": {"url": "https://x"}}}')
    assert "it has an address and no type" in run("list").output
    assert "it has an address and no type" in str(failure("get", "srv"))
    (project / ".mcp.json").write_text("{")
    assert "it is not valid JSON" in run("list").output


@pytest.mark.anyio
async def test_the_doctor_tells_which_are_set_up(project: Path) -> None:
    environ = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin"}

    async def check() -> Check:
        health = await examine(str(project), environ)
        return next(check for check in health.checks if check.name == "MCP servers")

    assert (await check()).says == "none set up"
    (project / ".mcp.json").write_text('{"mcpServers": {"srv": {"command": "true"}}}')
    waiting = await check()
    assert (waiting.level, waiting.says) == ("note", "1 set up, 1 not approved")
    assert "toolwright mcp approve srv" in waiting.remedy
    (project / ".mcp.json").write_text('{"mcpServers": {"srv": {}}}')
    odd = await check()
    assert (odd.level, "it has no command" in odd.details[0]) == ("warning", True)
