"""``toolwright skills``: what is printed and written, and how it ends."""

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.surfaces.cli.main import application

TEXT = "---\nname: letters\ndescription: Writes letters.\n---\nWrite.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(application(), ["skills", *arguments], input=input)


def own(project: Path) -> Path:
    return project.parent / "home/.config/toolwright/skills"


def put(folder: Path, name: str = "letters", text: str = TEXT, **files: str) -> Path:
    inner = folder / name
    inner.mkdir(parents=True)
    (inner / "SKILL.md").write_text(text)
    for path, content in files.items():
        (inner / path.replace("__", ".")).write_text(content)
    return inner


@pytest.mark.usefixtures("project")
def test_the_list_names_the_skills_of_the_package() -> None:
    data = json.loads(run("list", "--json").stdout)
    assert [(one["name"], one["scope"], one["runs"]) for one in data["skills"]] == [
        ("review-changes", "package", True),
        ("summarize-text", "package", True),
        ("table-profile", "package", True),
    ]
    assert data["broken"] == data["notices"] == []


def test_the_list_shows_whose_each_is_and_what_is_wrong(project: Path) -> None:
    put(own(project))
    theirs = put(project / ".toolwright/skills")
    put(project / ".toolwright/skills", "broken", "nothing")
    shown = run("list")
    assert "letters         user" in shown.stdout
    assert f"in place of {theirs}" in shown.stdout
    assert "broken: " in shown.stderr
    assert CliRunner().invoke(application(), ["trust"]).exit_code == 0
    assert "letters         project" in run("list").stdout


def test_a_skill_is_shown_with_its_files(project: Path) -> None:
    folder = put(own(project), tone__md="Be warm.\x1b[31m")
    shown = run("show", "letters").stdout
    assert f"folder: {folder}" in shown
    assert "files: SKILL.md, tone.md" in shown
    assert shown.endswith("\nWrite.\n")
    assert "\x1b" not in run("show", "letters", "--file", "tone.md").stdout
    assert json.loads(run("show", "letters", "--json").stdout)["instructions"] == "Write."
    refused = run("show", "letters", "--file", "../letters/SKILL.md").exception
    assert isinstance(refused, DefinitionError)
    assert "There are: SKILL.md, tone.md" in str(refused)


def test_a_new_skill_is_right_as_it_is(project: Path) -> None:
    result = run("new", "word-count", "--script", "--description", 'Counts: "words".')
    assert result.exit_code == 0
    place = own(project) / "word-count"
    assert result.stdout.startswith(f"{place}\n")
    checked = run("validate", "--strict", "--json")
    assert (checked.exit_code, json.loads(checked.stdout)[0]["findings"]) == (0, [])
    again = run("new", "word-count").exception
    assert isinstance(again, DefinitionError)
    assert "is there already" in str(again)


@pytest.mark.parametrize("name", ["Word", "two words", "-x", "../up", ""])
@pytest.mark.usefixtures("project")
def test_a_new_skill_has_a_good_name(name: str) -> None:
    assert isinstance(run("new", "--", name).exception, DefinitionError)


def test_checking_tells_everything_and_ends_with_one(project: Path) -> None:
    put(own(project))
    other = put(project, "other")
    spare = put(project, "spare", TEXT.replace("letters", "spare").replace("---\nW", "color: red\n---\nW"))
    assert run("validate").exit_code == 0
    bad = run("validate", str(other / "SKILL.md"), "nowhere")
    assert bad.exit_code == 1
    assert "'name' is that of its folder" in bad.stdout
    assert "nowhere" in bad.stdout
    loose, strict = run("validate", str(spare)), run("validate", "--strict", str(spare))
    assert (loose.exit_code, strict.exit_code) == (0, 1)
    assert "line 4: 'color' is no key of a skill" in loose.stdout


def test_a_plain_skill_is_installed_and_removed(project: Path) -> None:
    source = put(project)
    result = run("install", str(source))
    assert result.stdout == f"installed: {own(project) / 'letters'}\n"
    assert (own(project) / "letters/SKILL.md").read_text() == TEXT
    assert run("rm", "letters").stdout == f"removed: {own(project) / 'letters'}\n"
    assert list(own(project).iterdir()) == []
    gone = run("rm", "letters").exception
    assert isinstance(gone, DefinitionError)


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/etc"])
@pytest.mark.usefixtures("project")
def test_only_a_skill_is_removed(name: str) -> None:
    assert isinstance(run("rm", "--", name).exception, DefinitionError)


def test_what_can_run_is_installed_by_a_person_who_says_so(project: Path) -> None:
    source = put(project, text=TEXT.replace("---\nW", "allowed-tools: Bash\n---\nW"), run__sh="#!/bin/sh\n")
    with zipfile.ZipFile(project / "a.zip", "w") as opened:
        for path in source.iterdir():
            opened.write(path, f"letters/{path.name}")
    refused = run("install", "a.zip", "--project")
    assert isinstance(refused.exception, SettingsError)
    assert "scripts: run.sh" in refused.stderr
    assert "lets run unasked, once loaded: Bash" in refused.stderr
    assert not (project / ".toolwright/skills").exists()
    assert run("install", "a.zip", "--project", "--yes").exit_code == 0
    assert (project / ".toolwright/skills/letters/run.sh").exists()


def test_an_archive_that_leads_out_is_refused(project: Path) -> None:
    with zipfile.ZipFile(project / "a.zip", "w") as opened:
        opened.writestr("letters/SKILL.md", TEXT)
        opened.writestr("letters/../../up.txt", "x")
    assert isinstance(run("install", "a.zip").exception, DefinitionError)
    assert not own(project).exists()


RUNS = '{"entry": "a.sh", "expose_as_tool": false}'


def test_a_skill_is_run_with_every_check(project: Path) -> None:
    put(own(project), skill__json=RUNS, a__sh="cat; echo; echo beside $SKILL_DIR >&2")
    refused = run("run", "letters", '{"a": 1}', "--no-input", "--raw")
    assert refused.exit_code == 3
    done = run("run", "letters", '{"a": 1}', "--allow", "letters", "--raw")
    assert (done.exit_code, done.stdout) == (0, '{"a":1}\n')


def test_a_strangers_skill_is_not_run(project: Path) -> None:
    put(project / ".toolwright/skills", skill__json=RUNS, a__sh="echo ran")
    refused = run("run", "letters", "--allow", "letters").exception
    assert isinstance(refused, SettingsError)
    assert "Trust its project first" in str(refused)


@pytest.mark.usefixtures("project")
def test_a_skill_that_asks_a_model_says_how_to_get_one() -> None:
    result = run("run", "summarize-text", '{"text": "x"}', "--raw")
    assert result.exit_code == 1
    assert "ANTHROPIC_API_KEY" in result.stdout


def test_a_skill_asks_the_model_that_settings_name(project: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["In short: x."]))
    settings = project.parent / "home/.config/toolwright/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"model": "nobody/there", "light_model": f"scripted/{script}"}))
    result = run("run", "summarize-text", '{"text": "x"}', "--raw")
    assert (result.exit_code, result.stdout) == (0, "In short: x.\n")


def test_a_skill_offered_as_a_tool_is_called_like_one(project: Path) -> None:
    put(own(project), skill__json='{"entry": "a.sh", "expose_as_tool": true}', a__sh="echo done")
    called = CliRunner().invoke(application(), ["call", "letters", "--allow", "letters", "--raw"])
    assert called.stdout == "done\n"
    listed = CliRunner().invoke(application(), ["tools", "list", "--json"])
    assert "letters" in [tool["name"] for tool in json.loads(listed.stdout)]


def test_a_person_takes_a_skill_up_for_a_run(project: Path, tmp_path: Path) -> None:
    put(own(project), text=TEXT.replace("Write.", "Write to $ARGUMENTS.").replace("---\nW", "x: y\n---\nW"))
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["Done."]))
    arguments = ["run", "--skill", "letters", "Ann and Ben", "--model", f"scripted/{script}", "--json"]
    result = CliRunner().invoke(application(), arguments)
    assert result.exit_code == 0
    assert "Write to Ann and Ben." in result.stdout
    assert "Done." in result.stdout


def test_a_strangers_skill_never_speaks_as_the_person(project: Path) -> None:
    put(project / ".toolwright/skills")
    refused = CliRunner().invoke(application(), ["run", "--skill", "letters"]).exception
    assert isinstance(refused, SettingsError)
    assert "would stand as your words" in str(refused)
