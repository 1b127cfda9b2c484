"""The promises, limits and names of the file tools, one row a tool."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from toolwright.contracts.tool import NO_PROMISES, Touch, Traits

DELETING = "*** Begin Patch\n*** Delete File: a\n*** End Patch"
MOVING = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: c\n+x\n*** End Patch"


def reading(*paths: str) -> Traits:
    return Traits(read_only=True, concurrency_safe=True, touches=tuple(Touch("path", path) for path in paths))


def writing(path: str, *, destructive: bool = False) -> Traits:
    return Traits(destructive=destructive, touches=(Touch("path", path, "write"),))


PROMISES: list[tuple[str, dict[str, Any], Traits]] = [
    ("read", {"file_path": "a"}, reading("a")),
    ("list_dir", {}, reading(".")),
    ("list_dir", {"path": "src"}, reading("src")),
    ("send_file", {"paths": ["a", "b"]}, reading("a", "b")),
    ("edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, writing("a")),
    ("multi_edit", {"file_path": "a", "edits": []}, writing("a")),
    ("write", {"file_path": "/nowhere/new", "content": ""}, writing("/nowhere/new")),
    ("write", {"file_path": "/etc/hostname", "content": ""}, writing("/etc/hostname", destructive=True)),
    ("write", {"file_path": "relative", "content": ""}, writing("relative", destructive=True)),
    ("notebook_edit", {"notebook_path": "a"}, writing("a")),
    ("notebook_edit", {"notebook_path": "a", "edit_mode": "delete"}, writing("a", destructive=True)),
    ("apply_patch", {"patch": DELETING}, Traits(destructive=True, touches=(Touch("path", "a", "delete"),))),
    (
        "apply_patch",
        {"patch": MOVING},
        Traits(
            touches=(Touch("path", "a", "delete"), Touch("path", "b", "create"), Touch("path", "c", "create"))
        ),
    ),
    ("apply_patch", {"patch": "no patch"}, replace(NO_PROMISES, destructive=True)),
]


@pytest.mark.parametrize(("name", "input", "traits"), PROMISES)
def test_each_input_is_promised_exactly_this(
    desk: Any, name: str, input: dict[str, Any], traits: Traits
) -> None:
    assert desk.tool(name).traits(input) == traits


@dataclass(frozen=True)
class Row:
    always_load: bool
    defer: bool
    result_limit: int | None
    interrupt: str


ROWS = {
    "read": Row(always_load=True, defer=False, result_limit=None, interrupt="block"),
    "write": Row(always_load=True, defer=False, result_limit=20_000, interrupt="block"),
    "edit": Row(always_load=True, defer=False, result_limit=20_000, interrupt="block"),
    "multi_edit": Row(always_load=False, defer=True, result_limit=20_000, interrupt="block"),
    "apply_patch": Row(always_load=False, defer=True, result_limit=20_000, interrupt="block"),
    "notebook_edit": Row(always_load=False, defer=True, result_limit=20_000, interrupt="block"),
    "list_dir": Row(always_load=False, defer=True, result_limit=30_000, interrupt="block"),
    "send_file": Row(always_load=False, defer=True, result_limit=2_000, interrupt="block"),
}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_each_tool_is_as_its_row_says(desk: Any, name: str) -> None:
    spec = desk.tool(name).spec
    assert Row(spec.always_load, spec.defer, spec.result_limit, spec.interrupt) == ROWS[name]
    assert (spec.name, spec.category, spec.source, spec.needs_person, spec.blocking) == (
        name,
        "core_io",
        "builtin",
        False,
        True,
    )


INPUTS = {
    "read": {"file_path", "offset", "limit", "pages"},
    "write": {"file_path", "content"},
    "edit": {"file_path", "old_string", "new_string", "replace_all"},
    "multi_edit": {"file_path", "edits"},
    "apply_patch": {"patch"},
    "notebook_edit": {"notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"},
    "list_dir": {"path", "depth", "limit", "ignore"},
    "send_file": {"paths", "caption", "display"},
}


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_each_property_is_there_and_described(desk: Any, name: str) -> None:
    schema = desk.tool(name).spec.input_schema
    assert set(schema["properties"]) == INPUTS[name]
    for text in schema["properties"].values():
        assert text["description"]
        assert "Returns" not in text["description"]


def test_the_names_of_other_harnesses_are_aliases(desk: Any) -> None:
    assert {name: desk.tool(name).spec.aliases for name in ("read", "write", "edit", "list_dir")} == {
        "read": ("Read", "View", "FileRead", "read_file"),
        "write": ("Write", "FileWrite", "Create", "write_file"),
        "edit": ("Edit", "FileEdit", "Replace", "str_replace", "edit_file"),
        "list_dir": ("ListDir", "LS", "list_files"),
    }


@pytest.mark.parametrize("name", sorted(ROWS))
def test_views_take_input_that_is_still_arriving(desk: Any, name: str) -> None:
    for partial in ({}, {"file_path": 3, "edits": [None, {}], "paths": "x", "patch": None, "content": None}):
        assert desk.view(name, partial).title
