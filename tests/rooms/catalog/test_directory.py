"""A catalog in a directory: what its files may say, and what becomes of it when they change."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.catalog.directory.keeping import STOCK, CatalogKeeper
from toolwright.contracts.errors import SettingsError

TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "implementation": {"kind": "platform", "ref": "grep"},
}


def write(folder: Path, name: str, data: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "tools/look_up.json", TOOL)
    write(
        tmp_path,
        "agents/clerk/agent.json",
        {"name": "clerk", "description": "Looks up.", "tools": ["look_*"]},
    )
    write(tmp_path, "agents/clerk/system-prompt.md", "You look things up.\n")
    rule = {"id": "no", "effect": "deny", "tool": "bash", "when": {"argv": ["rm"]}}
    write(tmp_path, "permissions.json", {"version": 1, "rules": [rule]})
    server = {"server_name": "slack", "transport": "streamable_http", "url": "https://mcp.example.com"}
    write(tmp_path, "servers/slack.json", server)
    write(tmp_path, "skills/tidy-up/skill.json", {"description": "Tidies up.", "expose_as_tool": True})
    return tmp_path


def test_every_file_is_read(folder: Path) -> None:
    keeper = CatalogKeeper(str(folder))
    assert keeper.open().problems == ()
    found = keeper.current
    assert [(tool.name, tool.kind, tool.ref) for tool in found.tools] == [
        ("look_up", "platform", "grep"),
        ("tidy_up", "skill", "tidy-up"),
    ]
    (clerk,) = found.agents
    assert (clerk.system, clerk.replaces_prompt, clerk.tools) == ("You look things up.", True, ("look_*",))
    assert [(rule.id, rule.argv) for rule in found.rules] == [("no", ("rm",))]
    assert [server.name for server in found.servers] == ["slack"]
    assert [skill.name for skill in found.skills] == ["tidy-up"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "Look Up"}, "invalid_field"),
        ({"name": "x" * 65}, "invalid_field"),
        ({"description": "  "}, "invalid_field"),
        ({"input_schema": {"type": "string"}}, "invalid_schema"),
        ({"input_schema": []}, "invalid_field"),
        ({"implementation": {"kind": "magic", "ref": "x"}}, "invalid_field"),
        ({"implementation": {"kind": "platform"}}, "missing_field"),
        ({"implementation": {"kind": "mcp", "ref": "slack.send"}}, "invalid_field"),
        ({"requires_permission": "yes"}, "invalid_field"),
    ],
)
def test_an_entry_that_is_written_wrongly_is_named_with_its_error(
    folder: Path, change: dict[str, Any], error: str
) -> None:
    write(folder, "tools/other.json", {**TOOL, "name": "other", **change})
    (problem,) = CatalogKeeper(str(folder)).reload().problems
    assert (problem.file, problem.error) == ("tools/other.json", error)
    assert problem.message


def test_an_entry_without_implementation_is_an_extractor(folder: Path) -> None:
    entry = {name: value for name, value in TOOL.items() if name != "implementation"}
    write(folder, "tools/look_up.json", entry)
    keeper = CatalogKeeper(str(folder))
    keeper.open()
    tool = keeper.current.tool("look_up")
    assert tool is not None
    assert tool.kind == "extractor"


def test_a_field_that_nobody_knows_is_a_warning(folder: Path) -> None:
    write(folder, "tools/look_up.json", {**TOOL, "colour": "red", "$schema": "x"})
    (warning,) = CatalogKeeper(str(folder)).open().warnings
    assert "colour" in warning.message


def test_a_broken_file_leaves_its_last_good_version(folder: Path) -> None:
    keeper = CatalogKeeper(str(folder))
    keeper.open()
    write(folder, "tools/look_up.json", "{")
    found = keeper.reload()
    assert [(problem.file, problem.error) for problem in found.problems] == [
        ("tools/look_up.json", "invalid_json")
    ]
    assert keeper.current.tool("look_up") is not None
    write(folder, "tools/look_up.json", {**TOOL, "description": "Other words."})
    assert keeper.reload().problems == ()
    tool = keeper.current.tool("look_up")
    assert tool is not None
    assert tool.description == "Other words."


def test_a_file_that_was_never_good_is_absent_and_a_deleted_one_is_gone(folder: Path) -> None:
    keeper = CatalogKeeper(str(folder))
    keeper.open()
    before = keeper.current
    write(folder, "tools/new.json", "[1]")
    (folder / "tools" / "look_up.json").unlink()
    keeper.reload()
    assert [tool.name for tool in keeper.current.tools] == ["tidy_up"]
    assert before.tool("look_up") is not None, "a snapshot that is in use stays what it was"


def test_of_two_tools_with_one_name_the_first_path_counts(folder: Path) -> None:
    write(folder, "tools/a.json", {**TOOL, "description": "The first."})
    keeper = CatalogKeeper(str(folder))
    (problem,) = keeper.open().problems
    assert (problem.file, problem.error) == ("tools/look_up.json", "duplicate_name")
    tool = keeper.current.tool("look_up")
    assert tool is not None
    assert tool.description == "The first."


def test_rules_that_cannot_be_read_keep_a_server_from_starting_but_not_from_going_on(folder: Path) -> None:
    keeper = CatalogKeeper(str(folder))
    keeper.open()
    write(
        folder, "permissions.json", {"rules": [{"effect": "deny", "tool": "bash", "when": {"moon": "full"}}]}
    )
    assert [problem.file for problem in keeper.reload().problems] == ["permissions.json"]
    assert [rule.id for rule in keeper.current.rules] == ["no"]
    with pytest.raises(SettingsError, match=r"permissions\.json.*moon"):
        CatalogKeeper(str(folder)).open()


def test_a_directory_that_is_not_there_is_said_so_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        CatalogKeeper(str(tmp_path / "missing")).open()
    keeper = CatalogKeeper(str(folder))
    keeper.open()
    folder.rename(tmp_path.parent / f"{tmp_path.name}-away")
    assert keeper.reload().problems
    assert keeper.current.tools


def test_an_agent_must_be_named_as_its_folder_and_keep_to_it(folder: Path) -> None:
    write(folder, "agents/other/agent.json", {"name": "else", "description": "x"})
    write(
        folder, "agents/sly/agent.json", {"name": "sly", "description": "x", "system_prompt_path": "../../x"}
    )
    errors = {problem.file: problem.message for problem in CatalogKeeper(str(folder)).reload().problems}
    assert "must be the same" in errors["agents/other/agent.json"]
    assert "leads out" in errors["agents/sly/agent.json"]


def test_a_change_of_any_file_changes_the_fingerprint(folder: Path) -> None:
    keeper = CatalogKeeper(str(folder))
    before = keeper.fingerprint()
    assert keeper.fingerprint() == before
    write(folder, "agents/clerk/system-prompt.md", "Other words than these.")
    assert keeper.fingerprint() != before


def test_the_catalog_that_comes_along_is_whole() -> None:
    found = CatalogKeeper().open()
    assert (found.problems, found.warnings) == ((), ())
    assert found.after.folder == STOCK
    assert [agent.name for agent in found.after.agents] == ["analyst", "coder", "researcher", "writer"]
