"""The system prompt: which parts, in which order, the same bytes for the same inputs."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.catalog.context_files import ContextFile, ContextFiles
from toolwright.contracts.definitions import AgentDefinition, RunLimits, SkillDefinition
from toolwright.contracts.mounts import Mount
from toolwright.turns.prompt import PromptInputs, Surroundings, part_text, system_parts

WHOLE = Path(__file__).with_name("whole_prompt.md")
HERE = Surroundings(
    cwd="/srv/app/web",
    platform="Linux 6.8, x86_64",
    date="2026-11-19",
    more_folders=("/srv/shared",),
    git_branch="main",
)
BARE = PromptInputs(agent=AgentDefinition(), surroundings=HERE)
FULL = PromptInputs(
    agent=AgentDefinition(name="reviewer", system="Read the whole change first.\n"),
    surroundings=HERE,
    tool_sections=("# Tasks\n\nKeep the list of tasks up to date.\n", " ", "# Shell\n\nPrefer other tools."),
    context=ContextFiles(
        files=(
            ContextFile("/home/jo/.config/toolwright/AGENTS.md", "user", "Answer in German.", 17),
            ContextFile("/srv/app/AGENTS.md", "project", "Run the tests with make test.", 900),
        ),
        left_out=("/srv/app/CLAUDE.md",),
    ),
    limits=RunLimits(
        rounds=200,
        calls=1000,
        calls_per_tool={"web_fetch": 20, "bash": 300},
        tokens=2_000_000,
        cost=1.5,
        seconds=3600,
    ),
    is_child=True,
)


def heads(parts: tuple[str, ...]) -> list[str]:
    return [part.splitlines()[0] for part in parts]


def test_the_whole_prompt_is_the_one_that_was_agreed_on() -> None:
    assert "\n\n".join(system_parts(FULL)) + "\n" == WHOLE.read_text()


def test_parts_stand_in_their_order() -> None:
    assert heads(system_parts(FULL)) == [
        part_text("identity"),
        "# Whom you work for",
        "# Tasks",
        "# Your instructions",
        "# Where you are",
        "# What is known about this project",
        "# Limits",
    ]


def test_what_there_is_nothing_to_say_about_has_no_part() -> None:
    assert heads(system_parts(BARE)) == [part_text("identity"), "# Where you are"]


@pytest.mark.parametrize("name", ["identity", "work", "child", "context"])
def test_our_own_texts_are_there_and_name_no_tool(name: str) -> None:
    text = part_text(name)
    assert text == text.strip() != ""
    assert "`" not in text  # tools have other names in other toolsets


def test_the_same_inputs_give_the_same_bytes_in_another_process() -> None:
    program = (
        "from toolwright.contracts.definitions import AgentDefinition, RunLimits\n"
        "from toolwright.turns.prompt import PromptInputs, Surroundings, system_parts\n"
        "limits = RunLimits(calls_per_tool={'b': 2, 'a': 1, 'c': 3})\n"
        "here = Surroundings(cwd='/x', platform='p', date='2026-11-19')\n"
        "inputs = PromptInputs(agent=AgentDefinition(system='s'), surroundings=here, limits=limits)\n"
        "print(repr(system_parts(inputs)))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert said != {b""}


def test_what_changes_late_leaves_all_before_it_untouched() -> None:
    before = system_parts(FULL)
    assert system_parts(replace(FULL, limits=RunLimits(rounds=1)))[:-1] == before[:-1]
    assert system_parts(replace(FULL, context=ContextFiles()))[:5] == before[:5]
    moved = system_parts(replace(FULL, surroundings=replace(HERE, cwd="/elsewhere")))
    assert [new == old for new, old in zip(moved, before, strict=True)] == [
        True, True, True, True, False, True, True,
    ]  # fmt: skip


def test_an_agent_may_replace_our_own_words_but_not_the_facts() -> None:
    agent = AgentDefinition(system="You are a parrot.", replaces_prompt=True)
    parts = system_parts(replace(FULL, agent=agent))
    assert heads(parts) == [
        "You are a parrot.",
        "# Whom you work for",
        "# Tasks",
        "# Where you are",
        "# What is known about this project",
        "# Limits",
    ]
    assert part_text("work") not in "\n".join(parts)


def test_nothing_can_be_replaced_by_nothing() -> None:
    agent = AgentDefinition(system=" ", replaces_prompt=True)
    assert heads(system_parts(replace(BARE, agent=agent)))[0] == part_text("identity")


def test_a_folder_without_a_repository_says_so() -> None:
    [*_, last] = system_parts(replace(BARE, surroundings=replace(HERE, git_branch=None)))
    assert "- Git branch at that time: no repository" in last


@given(st.text(max_size=60))
def test_no_name_of_a_folder_or_branch_begins_a_line(name: str) -> None:
    odd = replace(HERE, cwd=f"/x{name}", git_branch=f"b{name}", more_folders=())
    [*_, part] = system_parts(replace(BARE, surroundings=odd))
    assert len(part.splitlines()) == 6


@given(
    st.lists(st.sampled_from(["<", "/", " ", "context_file", "CONTEXT_FILE", ">", "\n", "x"]), max_size=12)
)
def test_no_context_file_can_end_itself_or_begin_another(pieces: list[str]) -> None:
    text = "".join(pieces)
    file = ContextFile('/x/a"b>.md', "untrusted project", text, len(text))
    [*_, part] = system_parts(replace(BARE, context=ContextFiles(files=(file,))))
    marks = re.findall(r"<\s*/?\s*context_file.*", part, re.IGNORECASE)
    assert marks == ['<context_file path="/x/a&quot;b&gt;.md" from="untrusted project">', "</context_file>"]


def test_a_context_file_made_of_blanks_takes_no_time() -> None:
    text = "<" + " " * 200_000
    file = ContextFile("/x", "project", text, len(text))
    assert text in system_parts(replace(BARE, context=ContextFiles(files=(file,))))[-1]


def test_skills_and_mounts_are_told_of_and_begin_no_lines_of_their_own() -> None:
    skill = SkillDefinition(name="forms", description="Fills in\n# forms.", path="/mnt/skills/forms")
    agent = AgentDefinition(system="Be brief.", replaces_prompt=True, skill_folders=(skill,))
    mounts = (
        Mount(path="/mnt/in", folder="/srv/data/in", about="Given\n# to you."),
        Mount(path="/mnt/out", folder="/srv/data/out", writable=True),
    )
    inputs = PromptInputs(agent=agent, surroundings=None, mounts=mounts)
    own, skills, folders = system_parts(inputs)
    assert own == "Be brief."
    assert skills == f"{part_text('skills')}\n\n- forms (/mnt/skills/forms/SKILL.md): Fills in # forms."
    assert folders == (
        "# Folders besides your own\n\n- /mnt/in (read only): Given # to you.\n- /mnt/out (read and write)"
    )
    unseen = system_parts(replace(inputs, commands_see_mounts=False))[-1]
    assert "Tools for files see them; commands do not." in unseen
    assert "/srv/data" not in "".join(system_parts(inputs))
