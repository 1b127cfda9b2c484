"""What a model reads of skills: bounded lists, instructions with arguments, prompts with input."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.catalog import skill_texts
from toolwright.contracts.skills import Skill


def skill(name: str, about: str = "d", **more: Any) -> Skill:
    return Skill(name=name, description=about, **more)


def test_everything_is_listed_while_there_is_room() -> None:
    listed = skill_texts.listing([skill("a", "First."), skill("b", "Second.", when_to_use="Often.")], 1_000)
    assert listed == "- a: First.\n- b: Second. Often."


def test_a_strangers_skill_is_marked() -> None:
    listed = skill_texts.listing([skill("a", trusted=False)], 1_000)
    assert listed == "- a (from this project, which is not trusted): d"


def test_a_description_stays_on_its_line() -> None:
    assert skill_texts.listing([skill("a", "one\n- b: two")], 1_000) == "- a: one - b: two"


def test_the_longest_descriptions_are_cut_first() -> None:
    listed = skill_texts.listing([skill("a", "x" * 500), skill("b", "short")], 105)
    assert listed == f"- a: {'x' * 99}…\n- b: short"


def test_without_room_only_names_are_listed() -> None:
    listed = skill_texts.listing([skill(f"s{number}", "x" * 100) for number in range(10)], 200)
    assert listed.split("\n") == [f"- s{number}" for number in range(10)]


def test_so_many_names_are_cut_with_a_way_on() -> None:
    listed = skill_texts.listing([skill(f"{number:060}") for number in range(500)], 8_000, search="find_it")
    assert len(listed) < 26_000
    assert listed.endswith("more; find them with find_it")


@given(st.lists(st.integers(0, 3_000), max_size=60), st.integers(0, 20_000))
def test_descriptions_never_take_more_than_there_is(lengths: list[int], most: int) -> None:
    skills = [skill(f"s{number}", "x" * length) for number, length in enumerate(lengths)]
    lines = skill_texts.listing(skills, most).split("\n")
    assert sum(len(line.partition(": ")[2]) for line in lines) <= most
    assert sum(line.startswith("- s") for line in lines) == len(skills)


def test_the_budget_is_a_share_of_the_window() -> None:
    assert skill_texts.budget(200_000) == 8_000
    assert skill_texts.budget(8_000) == skill_texts.LEAST_CHARS


@pytest.mark.parametrize(
    ("instructions", "arguments", "text"),
    [
        ("Do $ARGUMENTS now", "a b", "Do a b now"),
        ("Do $ARGUMENTS now", "", "Do  now"),
        ("First $0, then $ARGUMENTS[1]", "'a b' c", "First a b, then c"),
        ("awk '{print $1}'", "", "awk '{print $1}'"),
        ("awk '{print $3}'", "x", "awk '{print $3}'\n\nARGUMENTS: x"),
        ("Fix $issue in $place; $HOME", "7 src", "Fix 7 in src; $HOME"),
        ("Fix $issue in $place", "7", "Fix 7 in "),
        ("Nothing", "x y", "Nothing\n\nARGUMENTS: x y"),
        ("Nothing", " ", "Nothing"),
        ("Say $0", "it's", "Say it's"),
        ("Run ${SKILL_DIR}/a.py in ${SESSION_ID} ${OTHER}", "", "Run /s/a.py in s1 ${OTHER}"),
        ("Do $0", "'$ARGUMENTS ${SKILL_DIR}'", "Do $ARGUMENTS ${SKILL_DIR}"),
    ],
)
def test_arguments_are_put_in(instructions: str, arguments: str, text: str) -> None:
    one = skill("a", instructions=instructions, arguments=("issue", "place"), folder="/s")
    assert skill_texts.with_arguments(one, arguments, session_id="s1") == text


def test_input_is_put_into_a_prompt_once() -> None:
    text = skill_texts.rendered("Say {{ a }} {{b}} {{gone}}.", {"a": "{{b}}", "b": [1, "ü"]})
    assert text == 'Say {{b}} [1, "ü"] .'


def test_input_that_a_prompt_does_not_name_follows_as_json() -> None:
    text = skill_texts.rendered("Say {{a}}.", {"a": "x", "b": 1})
    assert text == 'Say x.\n\n```json\n{\n  "b": 1\n}\n```'


def test_what_a_script_printed_is_put_in() -> None:
    assert skill_texts.rendered("Of {{script_output}}!", {}, script_output="it") == "Of it!"
