"""Views as plain text."""

import re

import pytest
from hypothesis import HealthCheck, given, settings

from toolwright.contracts.view import Collapsible, Line, Link, Node, Output, Path, Stack, Table, Text
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.surfaces.rendering.safety import APPROVAL

from .every_node import ONE_OF_EACH, any_node

EXPECTED = [
    "hello",
    "see src/a.py:3docs (https://example.com)[new]",
    "# Title\n\nSome *words* and a [link](https://example.com/x).",
    "    7 print(1)\n    8 print(2)",
    "Publishes the branch\n$ git push --force\n(in /w)",
    "red plain",
    "a.py +1 −1\n@@ -1,2 +1,2 @@\n keep\n-old\n+new",
    "name | size\na.py | 12\nb.py | 3",
    "key: value\nmore:\n  a\n  b",
    "1. one\n2. two",
    "root\n  child\n    leaf",
    "a.py:4",
    "https://example.com/path",
    "[image 20×10: a chart]",
    "[MCP]",
    "Downloading 50 % (3 s, 3 s left, 5 MB)",
    "[x] plan\n[>] build\n[ ] ship",
    "first\n… 1 more line",
    "title\n  child",
    "a\nb",
    "the start\n[52,000 characters, 900 lines in /kept/c1.txt]",
]


@pytest.mark.parametrize(
    ("node", "text"),
    list(zip(ONE_OF_EACH, EXPECTED, strict=True)),
    ids=[type(n).__name__ for n in ONE_OF_EACH],
)
def test_every_node_as_text(node: Node, text: str) -> None:
    assert render_plain(node) == text


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(node=any_node)
def test_no_control_character_is_ever_written(node: Node) -> None:
    for text in (render_plain(node), render_plain(node, safety=APPROVAL)):
        assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text) is None


def test_a_line_stays_one_line() -> None:
    assert render_plain(Line((Text("a\nb"), Path("c\nd")))) == "a⏎bc‹U+000A›d"


def test_in_an_approval_nothing_is_folded_away_and_paths_are_the_real_ones() -> None:
    node = Stack((Collapsible(Text("short"), Text("everything")), Path("/etc/shadow", display="notes.txt")))

    assert render_plain(node, safety=APPROVAL) == "everything\n/etc/shadow"


def test_a_link_always_shows_where_it_leads() -> None:
    assert render_plain(Link("https://evil.example/", "https://bank.example/")) == (
        "https://bank.example/ (https://evil.example/)"
    )


def test_rows_longer_than_the_heading_are_whole() -> None:
    assert render_plain(Table((), (("a", "b"), ("c",)))) == "a | b\nc"


def test_output_without_colours_asked_for_has_none() -> None:
    assert render_plain(Output("\x1b[31mred\x1b[0m\x1b[2J")) == "red‹U+001B›[2J"
