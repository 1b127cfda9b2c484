"""A catalog put to use: what it is checked against, how it differs, and the agents that come of it."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from toolwright.catalog.directory.keeping import STOCK, CatalogKeeper
from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.wiring.catalog import (
    agent_of,
    catalog_keeper,
    changes_between,
    findings,
    load_platform_modules,
    told,
)

SCHEMAS = Path(STOCK).parent / "schemas"


def entry(name: str = "log", **changes: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"limit": {"type": "integer", "description": "How many."}}}
    return {
        "name": name,
        "description": "Return the last commits of the current branch. Use it to see what changed lately.",
        "input_schema": schema,
        "implementation": {"kind": "platform", "ref": "git_log"},
        **changes,
    }


def keeper_of(folder: Path, *entries: dict[str, Any]) -> CatalogKeeper:
    (folder / "tools").mkdir(parents=True, exist_ok=True)
    for one in entries:
        (folder / "tools" / f"{one['name']}.json").write_text(json.dumps(one))
    return catalog_keeper(str(folder))


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        (
            {"implementation": {"kind": "platform", "ref": "git_lock"}},
            "unknown_ref",
            "did you mean 'git_log'",
        ),
        (
            {"input_schema": {"type": "object", "properties": {"limit": {"type": "numbr"}}}},
            "invalid_schema",
            "",
        ),
        (
            {"input_schema": {"type": "object", "properties": {"most": {}}}},
            "invalid_schema",
            "takes no 'most'",
        ),
        (
            {"implementation": {"kind": "platform", "ref": "read_file"}, "input_schema": {"type": "object"}},
            "invalid_schema",
            "needs 'path'",
        ),
    ],
)
def test_an_entry_that_could_not_run_is_an_error(
    tmp_path: Path, changes: dict[str, Any], error: str, said: str
) -> None:
    (problem,) = keeper_of(tmp_path, entry(**changes)).reload().problems
    assert problem.error == error
    assert said in problem.message


def test_a_member_that_the_entry_decides_need_not_be_in_the_schema(tmp_path: Path) -> None:
    fixed = {"kind": "platform", "ref": "read_file", "with": {"path": "README.md"}}
    found = keeper_of(tmp_path, entry(implementation=fixed, input_schema={"type": "object"})).open()
    assert found.problems == ()


def test_the_linter_and_names_that_lead_nowhere_are_warnings(tmp_path: Path) -> None:
    keeper = keeper_of(tmp_path, entry(description="Log."))
    agent = tmp_path / "agents" / "clerk"
    agent.mkdir(parents=True)
    (agent / "agent.json").write_text(
        json.dumps({"name": "clerk", "description": "x", "tools": ["log", "lgo", "slack.*"]})
    )
    assert keeper.open().problems == ()
    found = [(one.file, one.message) for one in findings(keeper.current)]
    assert any(file == "tools/log.json" for file, _ in found)
    assert ("agents/clerk/agent.json", "the tool 'lgo' is not in the catalog") in found


def test_changes_are_told_with_their_class(tmp_path: Path) -> None:
    before = keeper_of(tmp_path / "old", entry("kept"), entry("gone"), entry("same")).open().after
    narrower = {**entry()["input_schema"], "required": ["limit"]}
    wider = {
        "type": "object",
        "properties": {**entry()["input_schema"]["properties"], "path": {"type": "string"}},
    }
    after = keeper_of(
        tmp_path / "new",
        entry("kept", input_schema=narrower),
        entry("same", input_schema=wider),
        entry("come"),
    )
    changes = changes_between(before, after.open().after)
    assert (changes.added, changes.removed, changes.is_breaking) == (("come",), ("gone",), True)
    assert {one.tool: one.is_breaking for one in changes.changed} == {"kept": True, "same": False}


def test_a_reload_tells_what_a_client_needs(tmp_path: Path) -> None:
    keeper = keeper_of(tmp_path, entry())
    keeper.open()
    (tmp_path / "tools" / "broken.json").write_text("{")
    keeper_of(tmp_path, entry("more"))
    data = told(keeper.reload())
    assert (data["status"], data["tools"], data["changes"]["added"]) == ("reloaded", 2, ["more"])
    assert [(one["file"], one["error"]) for one in data["errors"]] == [("tools/broken.json", "invalid_json")]


def test_an_agent_has_all_that_its_session_needs() -> None:
    catalog = catalog_keeper().open().after
    coder = agent_of(catalog, "coder")
    assert coder.entries == catalog.tools
    assert coder.charter is not None
    assert sorted(agent.name for agent in coder.roster) == ["analyst", "general", "researcher", "writer"]
    assert all(agent.entries is None for agent in coder.roster), "they have what their parent has"
    with pytest.raises(DefinitionError, match="Did you mean 'coder'"):
        agent_of(catalog, "codr")


def test_modules_add_platform_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stall_tools.py").write_text(
        "from toolwright import platform_tool\n"
        "@platform_tool('stall.price_of', read_only=True)\n"
        "def price_of(item: str) -> dict:\n"
        "    return {'item': item, 'price': 3}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    load_platform_modules(["stall_tools"])
    sys.modules.pop("stall_tools")
    fits = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
    work = {"kind": "platform", "ref": "stall.price_of"}
    keeper = keeper_of(tmp_path / "c", entry("price", implementation=work, input_schema=fits))
    assert keeper.open().problems == ()
    keeper = keeper_of(tmp_path / "d", entry("price", implementation=work))
    (problem,) = keeper.open().problems
    assert "takes no 'limit'" in problem.message


def test_a_module_that_is_not_there_is_said_so() -> None:
    with pytest.raises(SettingsError, match="no_such_module_here"):
        load_platform_modules(["no_such_module_here"])


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.stem)
def test_the_schemas_for_editors_are_schemas(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("path", sorted(Path(STOCK).rglob("*.json")), ids=lambda path: path.stem)
def test_the_files_that_come_along_fit_the_schemas_they_name(path: Path) -> None:
    data = json.loads(path.read_text())
    schema = (path.parent / data["$schema"]).resolve()
    assert schema.parent == SCHEMAS.resolve()
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(data)
