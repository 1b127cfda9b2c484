"""Where agents are found: the nearest wins, a broken file stands alone, strangers' files are held back."""

import os
from pathlib import Path

import pytest

from toolwright.catalog.folders import BUILTIN_FOLDER, KnownAgents, known_agents, read_agent_file
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.errors import DefinitionError
from toolwright.tools.manifest import MANIFEST

BUILTIN = ["explore", "general", "main", "plan"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".toolwright/agents").mkdir(parents=True)
    return folder


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "home/.config/toolwright"
    (folder / "agents").mkdir(parents=True)
    return folder


def put(folder: Path, name: str, *lines: str, body: str = "Do it.") -> str:
    inner = folder / ("agents" if folder.name == "toolwright" else ".toolwright/agents")
    path = inner / name
    path.write_text("\n".join(["---", "description: d", *lines, "---", body]))
    return str(path)


def known(project: Path, user: Path, *, trusted: bool = True) -> KnownAgents:
    return known_agents(str(project), str(user), trusted=trusted)


def test_the_built_in_agents_are_there_and_whole(tmp_path: Path) -> None:
    found = known_agents(str(tmp_path / "nothing"), str(tmp_path / "nobody"), trusted=False)
    assert [agent.definition.name for agent in found.agents] == BUILTIN
    assert found.broken == ()
    assert found.notices == ()
    for agent in found.agents:
        assert agent.where == "built in"
        assert agent.definition.description
        assert agent.definition.system


def test_built_in_agents_name_tools_that_exist_and_lookers_have_no_tool_that_changes_anything() -> None:
    found = known_agents("/nowhere", "/nowhere", trusted=False)
    names = {entry.name for entry in MANIFEST}
    for name in ("explore", "plan"):
        definition = found.find(name).definition
        assert definition.permission_mode == "plan"
        assert definition.tools is not None
        assert set(definition.tools) <= names - {
            "bash", "write", "edit", "multi_edit", "apply_patch", "notebook_edit", "http_request", "send_file"
        }  # fmt: skip
    assert found.find("general").definition.tools is None


def test_the_nearest_agent_of_a_name_wins_and_says_whom_it_hides(project: Path, user: Path) -> None:
    near = put(project, "explore.md", "name: explore", body="near")
    far = put(user, "mine.md", "name: explore", body="far")
    found = known(project, user).find("explore")
    assert (found.where, found.definition.system, found.definition.origin) == ("project", "near", near)
    assert found.hides == (far, os.path.join(BUILTIN_FOLDER, "explore.md"))


def test_a_broken_file_is_named_and_leaves_the_others_in_place(project: Path, user: Path) -> None:
    broken = put(project, "broken.md", "tols: read")
    put(project, "sound.md")
    found = known(project, user)
    assert [agent.definition.name for agent in found.agents] == sorted([*BUILTIN, "sound"])
    assert [str(one) for one in found.broken] == [
        f"{broken}:3: 'tols' is no key of an agent. Did you mean 'tools'?"
    ]
    with pytest.raises(DefinitionError, match=r"Its file cannot be used:\n.*'tols' is no key"):
        found.find("broken")


def test_an_unknown_name_is_answered_with_a_near_one(project: Path, user: Path) -> None:
    with pytest.raises(DefinitionError, match=r"there is no agent 'explorer'\. Did you mean 'explore'"):
        known(project, user).find("explorer")
    with pytest.raises(DefinitionError, match="Known: explore, general, main, plan"):
        known(project, user).find("zzz")


def test_two_files_of_one_folder_cannot_share_a_name(project: Path, user: Path) -> None:
    first = put(project, "a.md", "name: twin", body="first")
    second = put(project, "b.md", "name: twin", body="second")
    found = known(project, user)
    assert found.find("twin").definition.system == "first"
    assert [str(one) for one in found.broken] == [f"{second}: the name 'twin' is taken by {first}."]


CAREFREE = (
    'allow: ["Bash"]',
    "deny: [Read(.env)]",
    "ask: [Edit]",
    "permission_mode: bypassPermissions",
    "hooks: {PreToolUse: []}",
    "mcp_servers: [shared]",
)


def test_an_agent_of_an_untrusted_project_permits_nothing(project: Path, user: Path) -> None:
    path = put(project, "bold.md", *CAREFREE)
    careful = known(project, user, trusted=False)
    held = careful.find("bold").definition
    assert (held.allow, held.hooks, held.mcp_servers, held.permission_mode) == ((), {}, {}, None)
    assert (held.ask, held.deny, held.system) == (("Edit",), ("Read(.env)",), "Do it.")
    assert [notice.startswith(f"{path}: its allow rules") for notice in careful.notices] == [True]
    whole = known(project, user, trusted=True).find("bold").definition
    assert (whole.allow, whole.permission_mode) == (("Bash",), "bypassPermissions")


@pytest.mark.parametrize("mode", ["plan", "dontAsk", "default"])
def test_a_careful_mode_of_an_untrusted_project_counts(project: Path, user: Path, mode: str) -> None:
    put(project, "careful.md", f"permission_mode: {mode}")
    found = known(project, user, trusted=False)
    assert found.find("careful").definition.permission_mode == mode
    assert found.notices == ()


def test_an_untrusted_project_cannot_take_the_place_of_an_agent_of_the_user(
    project: Path, user: Path
) -> None:
    theirs = put(project, "main.md", body="theirs")
    put(user, "main.md", "deny: [Bash]", body="mine")
    found = known(project, user, trusted=False)
    assert found.find("main").definition.system == "mine"
    assert found.find("main").hides[0] == theirs
    assert "your own agent with the same name is used until the project is trusted" in found.notices[0]
    assert known(project, user, trusted=True).find("main").definition.system == "theirs"


def test_a_link_that_leads_out_of_the_project_is_not_read(project: Path, user: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: secret\n---\nkey")
    (project / ".toolwright/agents/link.md").symlink_to(secret)
    os.link(secret, project / ".toolwright/agents/hard.md")
    os.mkfifo(project / ".toolwright/agents/pipe.md")
    (project / ".toolwright/agents/folder.md").mkdir()
    found = known(project, user)
    assert [agent.definition.name for agent in found.agents] == BUILTIN
    assert [one.problems[0].text for one in found.broken] == [
        "cannot be read: it is no plain file.",
        "cannot be read: it has more than one name (hard link).",
        "cannot be read: a link leads out of the project.",
        "cannot be read: it is no plain file.",
    ]


def test_a_folder_that_leads_out_of_the_project_is_not_read(
    project: Path, user: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.md").write_text("---\n---\n")
    (project / ".toolwright/agents").rmdir()
    (project / ".toolwright/agents").symlink_to(outside)
    assert [one.problems[0].text for one in known(project, user).broken] == [
        "cannot be read: a link leads out of the project."
    ]


def test_links_inside_the_project_and_links_of_the_user_are_followed(
    project: Path, user: Path, tmp_path: Path
) -> None:
    (project / "kept.md").write_text("---\nname: kept\n---\n")
    (project / ".toolwright/agents/kept.md").symlink_to(project / "kept.md")
    (tmp_path / "dots.md").write_text("---\nname: dots\n---\n")
    (user / "agents/dots.md").symlink_to(tmp_path / "dots.md")
    found = known(project, user)
    assert {"kept", "dots"} <= {agent.definition.name for agent in found.agents}
    assert found.broken == ()


def test_only_definition_files_are_looked_at(project: Path, user: Path) -> None:
    for name in ("notes.txt", ".hidden.md", "x.md~"):
        (project / ".toolwright/agents" / name).write_text("not an agent")
    assert known(project, user).broken == ()


def test_a_file_named_by_a_person_is_read_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('name = "one"\n')
    assert read_agent_file(str(path)).definition.name == "one"
    with pytest.raises(WrittenWrongly, match=r"nothing\.md: cannot be read: No such file"):
        read_agent_file(str(tmp_path / "nothing.md"))


def test_more_files_than_anybody_writes_are_left_out_and_told(
    project: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwright.catalog.folders.MOST_FILES", 2)
    for name in ("a", "b", "c"):
        put(project, f"{name}.md")
    monkeypatch.setattr("toolwright.catalog.folders.BUILTIN_FOLDER", str(project / "none"))
    found = known(project, user)
    assert [agent.definition.name for agent in found.agents] == ["a", "b"]
    assert [one.problems[0].text for one in found.broken] == [
        "holds more than 2 files; the others are left out."
    ]
