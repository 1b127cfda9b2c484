"""The doctor's looks: what works, what is missing, what is broken, and that nothing is left behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.backends.sandboxes.bubblewrap import binary
from toolwright.wiring import health
from toolwright.wiring.health import Check, Level, examine, judged_space

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def looked(project: Path, **environ: str) -> dict[str, Check]:
    variables = {"HOME": str(project.parent / "home"), "PATH": "/usr/bin:/bin", **environ}
    found = await examine(str(project), variables)
    return {check.name: check for check in found.checks}


def put(project: Path, name: str, data: Any, *, own: bool = False) -> Path:
    folder = project.parent / "home/.config/toolwright" if own else project / ".toolwright"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def everything_in(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


@pytest.mark.sandbox
async def test_where_all_is_well_nothing_is_broken_and_nothing_is_left_behind(project: Path) -> None:
    before = everything_in(project.parent)
    checks = await looked(project)
    assert {name: check.level for name, check in checks.items() if check.level not in {"ok", "warning"}} == {
        "Web search": "note",
        "MCP servers": "note",
    }
    assert "seccomp" in checks["Sandbox"].says
    assert checks["Database"].says == "none yet; one can be made"
    assert everything_in(project.parent) == before


async def test_a_sandbox_that_cannot_be_had_is_broken_and_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "found", lambda: ())
    check = (await looked(project))["Sandbox"]
    assert check.level == "broken"
    assert "bubblewrap is not installed" in check.says
    assert check.remedy


async def test_commands_without_a_sandbox_are_warned_of(project: Path) -> None:
    put(project, "settings.json", {"sandbox": {"kind": "unsafe_plain_process"}}, own=True)
    check = (await looked(project))["Sandbox"]
    assert (check.level, check.remedy) == ("warning", 'Set sandbox.kind to "bubblewrap".')


@pytest.mark.parametrize(
    ("environ", "model", "level", "says", "remedy"),
    [
        (
            {},
            "",
            "warning",
            "none is set up, so run and chat need --model",
            "Set ANTHROPIC_API_KEY or OPENAI_API_KEY",
        ),
        (
            {"ANTHROPIC_API_KEY": "k" * 20},
            "",
            "ok",
            "anthropic/claude-sonnet-5 (ANTHROPIC_API_KEY is set); it was not asked",
            "",
        ),
        ({}, "openai/o9", "warning", "openai/o9 (the setting `model`)", "Set OPENAI_API_KEY to its key."),
        ({}, "ollama/qwen3", "ok", "ollama/qwen3 (the setting `model`); it was not asked", ""),
        ({}, "qwen3", "warning", "'qwen3' does not say who is asked", "Mend the setting `model`."),
        ({}, "scripted/none.json", "warning", "scripted/none.json (", "There is no file "),
    ],
)
async def test_the_model_that_would_be_asked_is_told_with_what_it_lacks(
    project: Path, environ: dict[str, str], model: str, level: Level, says: str, remedy: str
) -> None:
    if model:
        put(project, "settings.json", {"model": model}, own=True)
    check = (await looked(project, **environ))["Model"]
    assert (check.level, check.says.startswith(says), check.remedy.startswith(remedy)) == (level, True, True)


async def test_keys_are_named_and_never_shown(project: Path) -> None:
    providers = {
        "work": {"base_url": "http://127.0.0.1:1", "key_env": "WORK_KEY"},
        "more": {"key_env": "MORE"},
    }
    put(project, "settings.json", {"model": "work/x", "models": {"providers": providers}}, own=True)
    check = (await looked(project, WORK_KEY="tr0ub4dor-and-3", OPENAI_API_KEY="tr0ub4dor-and-4"))["Model"]
    assert check.level == "ok"
    assert check.details == (
        "OPENAI_API_KEY is set, for openai",
        "WORK_KEY is set, for work",
        "MORE is not set, for more",
    )


async def test_settings_that_cannot_be_read_are_broken_and_the_rest_is_looked_at(project: Path) -> None:
    path = put(project, "settings.json", {"limits": {"round": 3}})
    checks = await looked(project)
    assert checks["Settings"].level == "broken"
    assert checks["Settings"].says.startswith(f"{path}: unknown setting 'limits.round'.")
    assert checks["Agents"].level == "ok"


async def test_settings_that_are_held_back_are_warned_of(project: Path) -> None:
    path = put(project, "settings.json", {"agent": "theirs"})
    check = (await looked(project))["Settings"]
    assert (check.level, check.remedy) == ("warning", "Read them, then run: toolwright trust")
    assert check.says == "1 file, project not trusted"
    assert check.details[0] == str(path)
    put(project, "settings.json", {"trusted_projects": [str(project)]}, own=True)
    (project / ".toolwright/settings.json").unlink()
    assert (await looked(project))["Settings"].says == "1 file, project trusted"


async def test_a_data_folder_that_cannot_be_written_is_broken(project: Path) -> None:
    (project / "file").write_text("")
    checks = await looked(project, TOOLWRIGHT_HOME=str(project / "file/inside"))
    assert checks["Data folder"].level == checks["Database"].level == "broken"
    assert "cannot be written: Not a directory" in checks["Data folder"].says


@pytest.mark.parametrize(
    ("free", "level"), [(0, "broken"), (64 * 2**20, "warning"), (2**30 - 1, "warning"), (2**30, "ok")]
)
async def test_room_on_the_disk(free: int, level: Level) -> None:
    assert judged_space("/data", free).level == level


async def test_a_database_that_is_none_is_broken(project: Path) -> None:
    put(project, "toolwright.db", "this is no database, but long enough to look at " * 40)
    check = (await looked(project))["Database"]
    assert (check.level, check.remedy) == ("broken", "Run: toolwright db check")


async def test_an_agent_that_is_not_there_is_broken_and_faulty_files_are_warned_of(project: Path) -> None:
    put(project, "settings.json", {"agent": "nobody"}, own=True)
    check = (await looked(project))["Agents"]
    assert (check.level, check.says) == ("broken", "there is no agent 'nobody', which the settings name")
    assert check.remedy == "Set agent to one of: explore, general, main, plan"
    put(project, "settings.json", {}, own=True)
    wrong = put(project, "agents/wrong.md", "---\ntols: x\n---\n")
    put(project, "agents/rules.md", "---\ndescription: d\ndeny: ['Bash(']\n---\n")
    check = (await looked(project))["Agents"]
    assert check.level == "warning"
    assert check.details[0].startswith(f"{wrong}:2: 'tols'")
    assert "rules.md: deny[0]: rule 'Bash('" in check.details[1]


async def test_programs_that_are_missing_or_do_not_run_are_warned_of(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = project.parent / "bin"
    empty.mkdir()
    broken = empty / "git"
    monkeypatch.setattr(health, "find_ripgrep", lambda: None)
    checks = await looked(project, PATH=str(empty))
    assert (checks["git"].level, checks["ripgrep"].level) == ("warning", "warning")
    assert "not found" in checks["git"].says
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert (await looked(project, PATH=str(empty)))["git"].says == f"{broken} ends with 3"
    broken.write_text("no program at all")
    assert "does not run" in (await looked(project, PATH=str(empty)))["git"].says


@pytest.mark.parametrize(
    ("environ", "level", "said"),
    [
        ({}, "note", "no service is set up"),
        ({"BRAVE_API_KEY": "a-key-that-is-secret"}, "ok", "Brave is set up"),
        ({"SEARXNG_URL": "http://127.0.0.1:8888"}, "ok", "Searxng is set up"),
        ({"SEARXNG_URL": "no address"}, "warning", "SEARXNG_URL cannot be used"),
    ],
)
async def test_search_services(project: Path, environ: dict[str, str], level: Level, said: str) -> None:
    check = (await looked(project, **environ))["Web search"]
    assert (check.level, said in check.says) == (level, True)
    assert "secret" not in str(check)
