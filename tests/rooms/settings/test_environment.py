"""Settings that the environment gives: they count last, and a wrong one is told once."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.settings import Loaded, Settings, load
from toolwright.settings.environment import VARIABLES, read_environment
from toolwright.settings.origins import origin_of, setting_keys


def read(tmp_path: Path, environ: dict[str, str], cli: dict[str, Any] | None = None) -> Loaded:
    return load(str(tmp_path / "project"), environ={"HOME": str(tmp_path), **environ}, cli=cli)


def test_every_variable_gives_a_setting_that_there_is() -> None:
    assert {variable.key for variable in VARIABLES} <= set(setting_keys(Settings()))


@pytest.mark.parametrize(
    ("environ", "key", "expected"),
    [
        ({"TOOLWRIGHT_MAX_SUBAGENT_DEPTH": "0"}, "max_depth", 0),
        ({"TOOLWRIGHT_MAX_SUBAGENT_DEPTH": "5"}, "max_depth", 5),
        ({"TOOLWRIGHT_MAX_SUBAGENTS": " 2 "}, "max_running", 2),
        ({"TASK_MAX_OUTPUT_LENGTH": "5000"}, "max_result_chars", 5_000),
        ({"TASK_MAX_OUTPUT_LENGTH": "9999999"}, "max_result_chars", 160_000),
        ({"TOOLWRIGHT_MAX_SUBAGENTS": ""}, "max_running", 20),
    ],
)
def test_variables_for_children(tmp_path: Path, environ: dict[str, str], key: str, expected: int) -> None:
    loaded = read(tmp_path, environ)
    assert getattr(loaded.settings.children, key) == expected
    assert loaded.notices == ()


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("TOOLWRIGHT_MAX_SUBAGENT_DEPTH", "deep", "max_depth"),
        ("TOOLWRIGHT_MAX_SUBAGENT_DEPTH", "-1", "max_depth"),
        ("TOOLWRIGHT_MAX_SUBAGENTS", "0", "max_running"),
        ("TOOLWRIGHT_MAX_SUBAGENTS", "²", "max_running"),
        ("TASK_MAX_OUTPUT_LENGTH", "3", "max_result_chars"),
        ("TASK_MAX_OUTPUT_LENGTH", "9" * 5_000, "max_result_chars"),
    ],
)
def test_a_wrong_value_falls_back_to_the_default_with_one_notice(
    tmp_path: Path, name: str, text: str, key: str
) -> None:
    loaded = read(tmp_path, {name: text})
    assert loaded.settings == Settings()
    assert len(loaded.notices) == 1
    assert name in loaded.notices[0]
    assert "whole number" in loaded.notices[0]


def test_the_second_name_counts_where_the_first_is_wrong() -> None:
    names = {"TOOLWRIGHT_MAX_TOOL_CONCURRENCY": "x", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "3"}
    found = read_environment(names)
    assert [(one.key, one.value) for one in found.given] == [("concurrency.max", 3)]
    assert len(found.notices) == 1


def test_a_file_or_an_option_counts_before_the_environment(tmp_path: Path) -> None:
    environ = {"TOOLWRIGHT_MAX_SUBAGENTS": "2"}
    assert read(tmp_path, environ, {"children": {"max_running": 3}}).settings.children.max_running == 3
    assert read(tmp_path, environ, {"children": {"max_depth": 1}}).settings.children.max_running == 2
    user = tmp_path / ".config/toolwright/settings.json"
    user.parent.mkdir(parents=True)
    user.write_text(json.dumps({"children": {"max_running": 4}}))
    assert read(tmp_path, environ).settings.children.max_running == 4


@pytest.mark.parametrize(
    ("environ", "cli", "folder"),
    [
        ({}, {}, "project/.toolwright"),
        ({"TOOLWRIGHT_HOME": "{tmp}/data"}, {}, "data"),
        ({"TOOLWRIGHT_HOME": "{tmp}/data"}, {"data_dir": "~/other"}, "other"),
        ({}, {"data_dir": "inside"}, "project/inside"),
    ],
)
def test_where_sessions_are_kept(
    tmp_path: Path, environ: dict[str, str], cli: dict[str, Any], folder: str
) -> None:
    filled = {name: value.format(tmp=tmp_path) for name, value in environ.items()}
    assert read(tmp_path, filled, cli).data_folder == str(tmp_path / folder)


def test_hosts_that_a_variable_opens_count_beside_those_of_files(tmp_path: Path) -> None:
    variable = {"TOOLWRIGHT_EGRESS_ALLOW": "127.0.0.1, tools.internal\t10.9.0.0/16,,"}
    alone = read(tmp_path, variable)
    assert alone.settings.network.allow_private == ("127.0.0.1", "tools.internal", "10.9.0.0/16")
    both = read(tmp_path, variable, cli={"network": {"allow_private": ["10.0.0.0/8", "127.0.0.1"]}})
    assert both.settings.network.allow_private == (
        "10.0.0.0/8", "127.0.0.1", "tools.internal", "10.9.0.0/16",
    )  # fmt: skip
    origin = origin_of(both, "network.allow_private")
    assert [(one.source, one.counts) for one in origin.said] == [("cli", True), ("environment", True)]


@pytest.mark.parametrize(
    ("environ", "key", "expected"),
    [
        ({"MCP_TIMEOUT": "5000"}, "connect_timeout_ms", 5_000),
        ({"MCP_TOOL_TIMEOUT": "90000"}, "tool_timeout_ms", 90_000),
        ({"TOOLWRIGHT_MCP_TOOL_IDLE_TIMEOUT": "0"}, "tool_idle_timeout_ms", 0),
        ({"MAX_MCP_OUTPUT_TOKENS": "1000"}, "max_output_tokens", 1_000),
        ({"MAX_MCP_OUTPUT_TOKENS": "none"}, "max_output_tokens", 25_000),
    ],
)
def test_variables_for_servers_of_tools(
    tmp_path: Path, environ: dict[str, str], key: str, expected: int
) -> None:
    assert getattr(read(tmp_path, environ).settings.mcp, key) == expected


def test_a_project_that_nobody_trusts_opens_no_host_and_brings_no_server(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".toolwright"
    folder.mkdir(parents=True)
    written = {"network": {"allow_private": ["10.0.0.0/8"]}, "mcp": {"servers": {"x": {"command": "y"}}}}
    (folder / "settings.json").write_text(json.dumps(written))
    loaded = read(tmp_path, {})
    assert (loaded.settings.network.allow_private, loaded.settings.mcp.servers) == ((), {})
