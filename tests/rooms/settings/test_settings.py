"""Settings: layers, precedence, trust, errors that say what to do, and what is remembered."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.permissions import RuleChange
from toolwright.settings import Loaded, Settings, concurrency_limit, load, remember, trust


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def put(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))


def read(project: Path, home: Path, cli: dict[str, Any] | None = None, **environ: str) -> Loaded:
    return load(str(project), environ={"HOME": str(home), **environ}, cli=cli)


def user_file(home: Path) -> Path:
    return home / ".config" / "toolwright" / "settings.json"


def trusted(project: Path, home: Path, **more: Any) -> None:
    put(user_file(home), {"trusted_projects": [str(project)], **more})


def test_without_files_everything_has_its_default(project: Path, home: Path) -> None:
    assert read(project, home).settings == Settings()


def test_the_strongest_layer_gives_a_value(project: Path, home: Path) -> None:
    trusted(project, home, concurrency={"max": 1}, tool_output={"preview_chars": 111})
    put(project / ".toolwright/settings.json", {"concurrency": {"max": 2}})
    assert read(project, home).settings.concurrency.max == 2
    put(project / ".toolwright/settings.local.json", {"concurrency": {"max": 3}})
    assert read(project, home).settings.concurrency.max == 3
    loaded = read(project, home, cli={"concurrency": {"max": 4}})
    assert loaded.settings.concurrency.max == 4
    assert loaded.settings.tool_output.preview_chars == 111
    assert [layer.source for layer in loaded.layers] == ["cli", "local", "project", "user"]


UNTRUSTED = {
    "permissions": {"allow": ["Bash"], "deny": ["Read(.env)"], "ask": ["Edit"], "mode": "acceptEdits"},
    "hooks": {"PreToolUse": []},
    "sandbox": {"kind": "unsafe_plain_process"},
    "network": {"allow_private": ["10.0.0.0/8"]},
    "trusted_projects": ["/"],
    "quotas": {"rounds": 3},
    "tools": {"disabled": ["bash"], "toolset": "harness"},
}


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_an_untrusted_project_can_only_make_the_engine_more_careful(
    project: Path, home: Path, name: str
) -> None:
    put(project / ".toolwright" / name, {**UNTRUSTED, "trusted_projects": [str(project)]})
    loaded = read(project, home)
    assert loaded.settings == Settings.model_validate(
        {
            "permissions": {"deny": ["Read(.env)"], "ask": ["Edit"]},
            "quotas": {"rounds": 3},
            "tools": {"disabled": ["bash"]},
        }
    )
    assert len(loaded.notices) == 1
    assert "toolwright trust" in loaded.notices[0]


def test_an_untrusted_project_brings_no_disabled_tool_back(project: Path, home: Path) -> None:
    put(user_file(home), {"tools": {"disabled": ["bash"]}, "limits": {"rounds": 9}})
    put(project / ".toolwright/settings.json", {"tools": {"disabled": []}, "limits": {"rounds": 10}})
    held_back = read(project, home)
    assert held_back.settings.tools.disabled == ("bash",)
    assert held_back.settings.limits.rounds == 9
    assert "its lower limits count until the project is trusted" in held_back.notices[0]
    trust(str(project), {"HOME": str(home)})
    assert read(project, home).settings.tools.disabled == ()
    assert read(project, home).settings.limits.rounds == 10


def test_trusting_a_project_is_noted_by_the_user_and_makes_all_of_it_count(project: Path, home: Path) -> None:
    put(project / ".toolwright/settings.json", UNTRUSTED)
    put(user_file(home), {"concurrency": {"max": 7}})
    path = trust(str(project), {"HOME": str(home)})
    loaded = read(project, home)
    assert path == str(user_file(home))
    assert loaded.trusted
    assert loaded.notices == ()
    assert loaded.settings.permissions.allow == ("Bash",)
    assert loaded.settings.concurrency.max == 7


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "must hold a JSON object"),
        ({"concurency": {}}, "unknown setting 'concurency'. Did you mean 'concurrency'?"),
        ({"concurrency": {"mix": 1}}, "unknown setting 'concurrency.mix'. Did you mean 'max'?"),
        ({"concurrency": {"max": 0}}, "'concurrency.max': Input should be greater than or equal to 1"),
        ({"permissions": {"mode": "yolo"}}, "'permissions.mode': Input should be 'default'"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(project: Path, home: Path, data: Any, said: str) -> None:
    put(user_file(home), data)
    with pytest.raises(SettingsError) as error:
        read(project, home)
    assert said in str(error.value)
    assert str(user_file(home)) in str(error.value)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "4"}, 4),
        ({"TOOLWRIGHT_MAX_TOOL_CONCURRENCY": "2", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "4"}, 2),
        ({"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "0"}, None),
        ({"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "many"}, None),
        ({"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "²"}, None),
    ],
)
def test_the_environment_may_limit_concurrency(environ: dict[str, str], expected: int | None) -> None:
    assert concurrency_limit(environ) == expected


def test_the_environment_counts_unless_settings_say_otherwise(project: Path, home: Path) -> None:
    variable = {"CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY": "4"}
    assert read(project, home, None, **variable).settings.concurrency.max == 4
    cli = {"concurrency": {"max": 5}}
    assert read(project, home, cli, **variable).settings.concurrency.max == 5


CHANGES = [
    (RuleChange("addRules", rules=("A", "B")), {"allow": ["X", "A", "B"]}),
    (RuleChange("addRules", behavior="deny", rules=("A",)), {"allow": ["X"], "deny": ["A"]}),
    (RuleChange("replaceRules", rules=("A",)), {"allow": ["A"]}),
    (RuleChange("removeRules", rules=("X",)), {"allow": []}),
    (RuleChange("setMode", mode="plan"), {"allow": ["X"], "mode": "plan"}),
    (RuleChange("addDirectories", directories=("/d",)), {"allow": ["X"], "additional_directories": ["/d"]}),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_a_lasting_change_is_written_into_its_file_and_nothing_else_is_lost(
    project: Path, home: Path, change: RuleChange, expected: dict[str, Any]
) -> None:
    put(user_file(home), {"permissions": {"allow": ["X"]}, "cleanup_days": 5})
    loaded = read(project, home)
    change = RuleChange(
        change.kind, change.behavior, change.rules, change.mode, change.directories, destination="user"
    )
    path = remember(loaded, change)
    assert json.loads(Path(path).read_text()) == {"permissions": expected, "cleanup_days": 5}
    assert [file.name for file in user_file(home).parent.iterdir()] == ["settings.json"]
