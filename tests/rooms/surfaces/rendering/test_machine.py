"""Views as JSON."""

import json
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, cast, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from toolwright.contracts.tool import CallState, ToolSpec, Traits
from toolwright.contracts.view import Diff, Hunk, Items, Line, Node, ProgressBar, Stack, Text, Tree, View
from toolwright.sessions.view_json import KINDS, NotAView, from_json
from toolwright.surfaces.rendering import machine
from toolwright.surfaces.rendering.machine import call_to_json, changed_members, schema, to_json

from .every_node import ONE_OF_EACH, any_node

VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_every_kind_of_node_is_covered_here() -> None:
    assert {type(node) for node in ONE_OF_EACH} == set(get_args(Node)) == set(KINDS.values())


@pytest.mark.parametrize("node", ONE_OF_EACH, ids=lambda node: type(node).__name__)
def test_every_node_comes_back_from_json(node: Node) -> None:
    written = json.loads(json.dumps(to_json(node)))

    VALIDATOR.validate(written)
    assert from_json(written) == node


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(node=any_node)
def test_any_tree_comes_back_from_json(node: Node) -> None:
    written = json.loads(json.dumps(to_json(node)))

    VALIDATOR.validate(written)
    assert from_json(written) == node


@pytest.mark.parametrize(
    ("node", "written"),
    [
        (Text("a"), {"n": "Text", "text": "a", "style": "plain"}),
        (Items((Text("a"),)), {"n": "List", "items": [to_json(Text("a"))], "ordered": False}),
        (ProgressBar("a", fraction=0.5), {"n": "Progress", "text": "a", "fraction": 0.5}),
        (
            Diff("p", (Hunk(1, 0, 1, 1, ("+a",)),), 1, 0),
            {
                "n": "Diff",
                "path": "p",
                "hunks": [{"old_start": 1, "old_lines": 0, "new_start": 1, "new_lines": 1, "lines": ["+a"]}],
                "summary": {"added": 1, "removed": 0},
            },
        ),
    ],
)
def test_shapes(node: Node, written: dict[str, Any]) -> None:
    assert to_json(node) == written


def test_the_shipped_schema_is_the_generated_one() -> None:
    shipped = FilePath(machine.__file__).with_name("view.schema.json")

    assert json.loads(shipped.read_text()) == schema()


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ({"n": "Hologram", "text": "fallback", "depth": 3}, Text("fallback")),
        ({"n": "Hologram"}, Text("")),
        ({"n": "Hologram", "text": 3}, Text("")),
        ({"n": "Stack", "children": [{"n": "Hologram", "text": "x"}]}, Stack((Text("x"),))),
        ({"n": "Line", "parts": [{"n": "Sticker", "text": "x"}]}, Line((Text("x"),))),
        ({"n": "Text", "text": "a", "later_member": 1}, Text("a")),
        ({"n": "Progress", "text": "a", "elapsed": 3}, ProgressBar("a", elapsed=3.0)),
    ],
)
def test_what_later_versions_write_is_drawn_as_text(written: dict[str, Any], node: Node) -> None:
    assert from_json(written) == node


@pytest.mark.parametrize(
    "written",
    [
        None,
        [],
        {},
        {"n": 3},
        {"n": "Text"},
        {"n": "Text", "text": 3},
        {"n": "Text", "text": "a", "style": "blinking"},
        {"n": "Stack", "children": {"n": "Text", "text": "a"}},
        {"n": "Stack", "children": ["a"]},
        {"n": "KeyValue", "items": [["only a key"]]},
        {"n": "Line", "parts": [{"n": "Stack", "children": []}]},
        {"n": "Tree", "label": "a", "children": [{"n": "Para", "text": "b"}]},
        {"n": "Diff", "path": "a", "hunks": [3], "summary": {"added": 1, "removed": 1}},
        {"n": "Image", "ref": "r", "media_type": "m", "width": True, "height": 1},
    ],
)
def test_what_is_no_view_is_refused(written: object) -> None:
    with pytest.raises(NotAView):
        from_json(written)


@pytest.mark.parametrize("value", ["text", View("title"), Text(cast(Any, ["x"])), Text(cast(Any, b"x"))])
def test_writing_refuses_what_is_no_node(value: Any) -> None:
    with pytest.raises(NotAView):
        to_json(value)


def test_trees_without_end_are_cut_off() -> None:
    deep: Node = Text("bottom")
    for _ in range(500):
        deep = Stack((deep,))
    tree = Tree("bottom")
    for _ in range(500):
        tree = Tree("more", (tree,))

    for node in (deep, tree):
        assert "bottom" not in json.dumps(to_json(node))
        from_json(json.loads(json.dumps(to_json(node))))
    written: dict[str, Any] = {"n": "Text", "text": "bottom"}
    for _ in range(500):
        written = {"n": "Stack", "children": [written]}
    assert "bottom" not in repr(from_json(written))


def state(**more: Any) -> CallState:
    return CallState(call_id="c1", tool="bash", offered_name="Bash", input={}, phase="running", **more)


def test_a_call_is_written_with_everything_a_console_needs() -> None:
    spec = ToolSpec(name="bash", description="", input_schema={}, source="builtin", display_name="Shell")

    written = call_to_json(
        View("Ran ls", activity="Running ls", use=Text("ls"), summary="3 lines"),
        state(),
        seq=4,
        spec=spec,
        traits=Traits(read_only=True),
    )

    assert written == {
        "tool_use_id": "c1",
        "tool": "bash",
        "offered_name": "Bash",
        "display_name": "Shell",
        "source": "builtin",
        "category": "core_io",
        "phase": "running",
        "flags": {"read_only": True, "destructive": False, "open_world": False},
        "title": "Ran ls",
        "activity": "Running ls",
        "use": {"n": "Text", "text": "ls", "style": "plain"},
        "progress": None,
        "result": None,
        "error": None,
        "rejected": None,
        "summary": "3 lines",
        "folds": False,
        "duration": None,
        "seq": 4,
    }


def test_patches_applied_in_order_give_the_later_view() -> None:
    views = [
        call_to_json(View("a", progress=Text(str(number)) if number else None), state(), seq=number)
        for number in range(4)
    ]

    current = dict(views[0])
    for before, after in pairwise(views):
        patch = changed_members(before, after)
        assert set(patch["set"]) == {"progress"}
        current |= patch["set"] | {"seq": patch["seq"]}

    assert current == views[-1]
