"""Where skills are found: the nearest wins, a broken one stands alone, strangers' ones are held back."""

import os
from pathlib import Path

import pytest

from toolwright.catalog.skill_folders import (
    PACKAGE_FOLDER,
    KnownSkills,
    SkillPlace,
    known_skills,
    read_skill_folder,
    usual_places,
)
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.errors import DefinitionError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def put(folder: Path, name: str, *lines: str, body: str = "Do it.", description: str = "d") -> str:
    inner = folder / name
    inner.mkdir(parents=True)
    front = [f"name: {name}", f"description: {description}", *lines]
    (inner / "SKILL.md").write_text("\n".join(["---", *front, "---", body]))
    return str(inner)


def places(project: Path, home: Path, *, trusted: bool) -> tuple[SkillPlace, ...]:
    found = usual_places(str(project), str(home / ".config/toolwright"), str(home), trusted=trusted)
    return tuple(place for place in found if place.scope != "package")


def known(project: Path, home: Path, *, trusted: bool = True) -> KnownSkills:
    return known_skills(places(project, home, trusted=trusted))


def test_skills_are_found_in_every_place(project: Path, home: Path) -> None:
    put(project / ".toolwright/skills", "a")
    put(project / ".agents/skills", "b")
    put(project / ".claude/skills", "c")
    put(home / ".config/toolwright/skills", "d")
    put(home / ".agents/skills", "e")
    found = known(project, home)
    assert [(one.name, one.scope) for one in found.all] == [
        ("a", "project"),
        ("b", "project"),
        ("c", "project"),
        ("d", "user"),
        ("e", "user"),
    ]
    assert found.broken == ()


def test_the_nearest_of_one_name_is_used(project: Path, home: Path) -> None:
    near = put(project / ".toolwright/skills", "a", description="near")
    far = put(project / ".agents/skills", "a", description="far")
    users = put(home / ".config/toolwright/skills", "a", description="user")
    (one,) = known(project, home).skills
    assert one.skill.folder == near
    assert one.hides == (far, users)


def test_a_strangers_skill_takes_no_place_and_permits_nothing(project: Path, home: Path) -> None:
    folder = put(project / ".toolwright/skills", "a", "allowed-tools: Bash")
    (Path(folder) / "skill.json").write_text('{"expose_as_tool": true}')
    (Path(folder) / "script.py").write_text("print(1)")
    put(project / ".toolwright/skills", "b", description="theirs")
    put(home / ".config/toolwright/skills", "b", description="mine")
    found = known(project, home, trusted=False)
    theirs, mine = found.all
    assert (theirs.trusted, theirs.allowed_tools, theirs.exposed, theirs.can_run) == (False, (), False, False)
    assert (mine.description, mine.trusted) == ("mine", True)
    assert any("until the project is trusted" in notice for notice in found.notices)
    assert known(project, home).all[0].allowed_tools == ("Bash",)


def test_a_broken_skill_stands_alone(project: Path, home: Path) -> None:
    folder = put(project / ".toolwright/skills", "a")
    (Path(folder) / "SKILL.md").write_text("nothing")
    put(project / ".toolwright/skills", "b")
    found = known(project, home)
    assert [one.name for one in found.all] == ["b"]
    (broken,) = found.broken
    assert broken.path == f"{folder}/SKILL.md"
    with pytest.raises(DefinitionError, match="cannot be used"):
        found.find("a")


def test_an_unknown_skill_is_answered_with_what_there_is(project: Path, home: Path) -> None:
    put(project / ".toolwright/skills", "review")
    with pytest.raises(DefinitionError, match="Did you mean 'review'"):
        known(project, home).find("reveiw")


def test_a_skill_of_a_project_does_not_lead_out_of_it(project: Path, home: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", "a")
    folder = project / ".toolwright/skills"
    folder.mkdir(parents=True)
    (folder / "a").symlink_to(outside)
    (folder / "b").mkdir()
    (folder / "b/SKILL.md").symlink_to(f"{outside}/SKILL.md")
    found = known(project, home)
    assert found.all == ()
    assert [Path(one.path).relative_to(folder).parts[0] for one in found.broken] == ["a", "b"]


def test_a_user_may_keep_a_skill_elsewhere(home: Path, project: Path, tmp_path: Path) -> None:
    folder = home / ".config/toolwright/skills"
    folder.mkdir(parents=True)
    (folder / "a").symlink_to(put(tmp_path / "outside", "a"))
    assert [one.name for one in known(project, home).all] == ["a"]


def test_links_are_no_files_of_a_skill(tmp_path: Path) -> None:
    folder = Path(put(tmp_path, "a"))
    (folder / "references").mkdir()
    (folder / "references/x.md").write_text("x")
    (folder / "references/passwd").symlink_to("/etc/passwd")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("x")
    os.mkfifo(folder / "pipe")
    assert read_skill_folder(str(folder)).skill.files == ("SKILL.md", "references/x.md")


def test_a_skill_of_too_many_files_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path, "a")
    for number in range(1_001):
        (Path(folder) / f"{number}.txt").touch()
    with pytest.raises(WrittenWrongly, match="more than 1,000 files"):
        read_skill_folder(folder)


def test_one_folder_alone_may_be_named(tmp_path: Path) -> None:
    folder = put(tmp_path, "a")
    found = known_skills([SkillPlace("agent", folder, alone=True)])
    assert [(one.name, one.scope) for one in found.all] == [("a", "agent")]


def test_any_scope_can_be_held(tmp_path: Path) -> None:
    """Scopes are names that a door gives; their order is the order of precedence."""
    scopes = ("character", "profile", "preset", "global")
    for scope in scopes:
        put(tmp_path / scope, "a", description=scope)
        put(tmp_path / scope, f"only-{scope}")
    found = known_skills([SkillPlace(scope, str(tmp_path / scope)) for scope in scopes])
    assert {one.name: one.scope for one in found.all} == {
        "a": "character",
        **{f"only-{scope}": scope for scope in scopes},
    }


def test_what_comes_with_the_engine_keeps_every_rule() -> None:
    found = known_skills([SkillPlace("package", PACKAGE_FOLDER)])
    assert found.broken == ()
    assert [(one.skill.name, one.findings) for one in found.skills if one.findings] == []
